"""The encoder against PyTorch's outputs, and its own invariants."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

from tests.text.toy import FAMILIES, GOLDEN
from wikinav_jax.text.bert import ACTIVATIONS, Encoder, EncoderConfig, gelu_polynomial
from wikinav_jax.text.pretrained import load_encoder

TINY = EncoderConfig("bert", 40, 16, 2, 4, 32, 24, type_vocab_size=2)
RAW = {
    "model_type": "bert",
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 32,
    "max_position_embeddings": 24,
}


def golden(family: str) -> dict[str, np.ndarray]:
    with np.load(GOLDEN / family / "io.npz") as file:
        return dict(file)


@functools.cache
def encoder(family: str, dtype=jnp.float32):
    """A jitted function of ids, mask and types, shared by the tests so that it compiles once."""
    module, params, config = load_encoder(GOLDEN / family, dtype=dtype)
    apply = jax.jit(module.apply)

    def run(ids, mask, types=None) -> np.ndarray:
        if config.type_vocab_size and types is None:
            types = np.zeros_like(ids)
        return np.asarray(apply(params, ids, mask, types if config.type_vocab_size else None))

    return run


def run(family: str, dtype=jnp.float32) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    case = golden(family)
    return encoder(family, dtype)(case["ids"], case["mask"], case["types"]), case


@pytest.mark.parametrize("family", FAMILIES)
def test_equals_pytorch_in_float32(family):
    hidden, case = run(family)
    assert hidden.dtype == np.float32
    assert np.abs(case["hidden"]).max() > 0.5  # not a trivial model
    np.testing.assert_allclose(hidden[case["mask"]], case["hidden"][case["mask"]], atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_is_near_pytorch_in_bfloat16(family):
    hidden, case = run(family, jnp.bfloat16)
    ours, theirs = hidden[case["mask"]], case["hidden"][case["mask"]]
    assert hidden.dtype == np.float32
    error = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
    assert 1e-5 < error < 0.03  # rounding shows, and no more than rounding


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_padding_changes_nothing(family):
    case = golden(family)
    ids, mask = case["ids"][1:2, :7], case["mask"][1:2, :7]
    assert mask.all()
    alone = encoder(family)(ids, mask)
    padded = encoder(family)(case["ids"], case["mask"])
    np.testing.assert_allclose(padded[1:2, :7], alone, atol=2e-6)


def test_masked_ids_change_nothing():
    case = golden("bert")
    scrambled = np.where(case["mask"], case["ids"], 17)
    ours, theirs = (encoder("bert")(ids, case["mask"]) for ids in (case["ids"], scrambled))
    np.testing.assert_array_equal(ours[case["mask"]], theirs[case["mask"]])
    assert np.abs(ours - theirs).max() > 0  # the scrambled ids were read


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_a_row_without_tokens_is_finite(family):
    for dtype in (jnp.float32, jnp.bfloat16):
        hidden = encoder(family, dtype)(np.ones((3, 11), np.int32), np.zeros((3, 11), bool))
        assert np.isfinite(hidden).all()


def test_token_types_default_to_zero():
    module, params, _ = load_encoder(GOLDEN / "bert")
    case = golden("bert")
    without = jax.jit(module.apply)(params, case["ids"], case["mask"])
    np.testing.assert_array_equal(without, encoder("bert")(case["ids"], case["mask"]))


def test_dropout_acts_only_when_asked():
    module, params, _ = load_encoder(GOLDEN / "bert")
    case = golden("bert")

    @jax.jit
    def noisy(key):
        rngs = {"dropout": key}
        return module.apply(params, case["ids"], case["mask"], deterministic=False, rngs=rngs)

    first, second = noisy(jax.random.key(0)), noisy(jax.random.key(1))
    assert np.abs(first - second).max() > 1e-3
    np.testing.assert_array_equal(first, noisy(jax.random.key(0)))


def test_remat_gives_the_same_gradients():
    case = golden("bert")
    _, params, config = load_encoder(GOLDEN / "bert")
    params["params"].pop("layer_1")  # one layer compiles sooner

    def loss_of(remat: bool, deterministic: bool):
        module = Encoder(dataclasses.replace(config, num_layers=1), remat=remat)

        def loss(params):
            rngs = {} if deterministic else {"dropout": jax.random.key(3)}
            hidden = module.apply(
                params, case["ids"], case["mask"], deterministic=deterministic, rngs=rngs
            )
            return (hidden**2 * case["mask"][..., None]).sum()

        return loss

    plain, saving = (jax.jit(jax.grad(loss_of(remat, True)))(params) for remat in (False, True))
    for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(saving), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    for remat in (False, True):
        program = str(jax.make_jaxpr(loss_of(remat, deterministic=False))(params))
        assert ("remat" in program) == remat
        assert "random_bits" in program  # dropout acts inside


def test_initialises_with_the_shapes_that_a_checkpoint_has():
    _, loaded, config = load_encoder(GOLDEN / "bert")
    ids = np.ones((1, 3), np.int32)
    fresh = jax.eval_shape(Encoder(config).init, jax.random.key(0), ids, ids)
    assert jax.tree.map(jnp.shape, fresh) == jax.tree.map(jnp.shape, loaded)


def test_polynomial_gelu_is_within_its_bound():
    x = np.linspace(-12, 12, 40_001).astype(np.float32)
    exact = x * 0.5 * (1 + erf(x.astype(np.float64) / np.sqrt(2)))
    ours = np.asarray(gelu_polynomial(jnp.asarray(x)))
    assert np.abs(ours - exact).max() < 1.5e-4
    np.testing.assert_allclose(ours[x >= 4], x[x >= 4], rtol=1e-6)


def test_activations_are_what_their_names_say():
    x = jnp.linspace(-3, 3, 31)
    exact = x * 0.5 * (1 + erf(np.asarray(x) / np.sqrt(2)))
    np.testing.assert_allclose(ACTIVATIONS["gelu"](x), exact, atol=1e-6)
    tanh = 0.5 * x * (1 + jnp.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(ACTIVATIONS["gelu_new"](x), tanh, atol=1e-6)
    assert np.abs(np.asarray(tanh) - exact).max() > 1e-4


def test_too_long_and_misshaped_inputs_are_refused():
    module, params, _ = load_encoder(GOLDEN / "roberta")
    ids = np.ones((1, 23), np.int32)
    with pytest.raises(ValueError, match=r"23 tokens are above .* limit of 22; truncate"):
        module.apply(params, ids, ids)
    with pytest.raises(ValueError, match=r"\(1, 23\) and mask \(1, 22\)"):
        module.apply(params, ids, ids[:, :22])
    module, params, _ = load_encoder(GOLDEN / "distilbert")
    with pytest.raises(ValueError, match="distilbert has no token types"):
        module.apply(params, ids[:, :5], ids[:, :5], ids[:, :5])


def test_config_reads_every_family():
    bert = EncoderConfig.from_huggingface(RAW)
    assert bert == TINY and bert.max_length == 24
    roberta = EncoderConfig.from_huggingface(RAW | {"model_type": "roberta", "pad_token_id": 1})
    assert (roberta.position_offset, roberta.max_length) == (2, 22)
    distil = {"model_type": "distilbert", "vocab_size": 40, "dim": 16, "n_layers": 2, "n_heads": 4}
    distil |= {"hidden_dim": 32, "max_position_embeddings": 24, "activation": "relu"}
    config = EncoderConfig.from_huggingface(distil)
    assert (config.type_vocab_size, config.activation) == (0, "relu")
    assert dataclasses.replace(config, family="bert", activation="gelu", type_vocab_size=2) == TINY


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "t5"}, r"model_type 't5' is not supported; supported: .*'roberta'"),
        ({"model_type": "robertta"}, r"Did you mean 'roberta'"),
        ({"model_type": None}, r"model_type None is not supported"),
        ({"position_embedding_type": "relative_key"}, "only 'absolute'"),
        ({"is_decoder": True}, "is_decoder is true"),
        ({"hidden_act": "mish"}, r"activation 'mish' is not supported; known: \['gelu'"),
        ({"num_attention_heads": 3}, "hidden_size=16 is not a multiple of num_heads=3"),
        ({"num_hidden_layers": "2"}, "num_layers='2' must be a whole number of at least 1"),
        ({"vocab_size": 0}, "vocab_size=0 must be a whole number of at least 1"),
        ({"model_type": "roberta", "max_position_embeddings": 2}, "leaves no position"),
    ],
)
def test_configs_that_cannot_be_run_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        EncoderConfig.from_huggingface(RAW | change)


def test_missing_config_fields_are_named():
    short = {k: v for k, v in RAW.items() if k not in ("hidden_size", "vocab_size")}
    with pytest.raises(ValueError, match=r"here lacks \['vocab_size', 'hidden_size'\]"):
        EncoderConfig.from_huggingface(short, "here")
