"""Texts to node features."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.text.toy import make_checkpoint
from wikinav_jax.text.encode import BlockEncoder, load_block_encoder, pool
from wikinav_jax.text.features import build_table
from wikinav_jax.text.pretrained import load_encoder
from wikinav_jax.text.titles import with_titles
from wikinav_jax.text.tokenizer import load_tokenizer

TEXTS = ["the old town", "", "water under the stone bridge, near the hill.", "日本", "river"]
SMALL = {"buckets": (8, 16), "tokens_per_batch": 16}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_checkpoint(tmp_path_factory.mktemp("toy") / "checkpoint")


@pytest.fixture(scope="module")
def encoder(folder) -> BlockEncoder:
    return load_block_encoder(folder, **SMALL)


@functools.cache
def _reference(folder):
    module, params, _ = load_encoder(folder)
    return jax.jit(functools.partial(module.apply, params)), load_tokenizer(folder)


def by_hand(folder, text: str, unit_norm: bool = False) -> np.ndarray:
    """One text alone: tanh of the mean of its token vectors."""
    apply, tokenizer = _reference(folder)
    ids = tokenizer.tokenize([text])[0]
    # Padded to one length, so that every text shares one compilation.
    padded = np.zeros((1, 16), np.int32)
    padded[0, : len(ids)] = ids
    hidden = np.asarray(apply(padded, np.arange(16)[None] < len(ids)))
    features = np.tanh(hidden[0, : len(ids)].mean(axis=0))
    return features / np.linalg.norm(features) if unit_norm else features


def test_features_are_the_papers(folder, encoder):
    features = encoder(TEXTS)
    assert features.shape == (5, encoder.dim) == (5, 16) and features.dtype == np.float32
    for row, text in zip(features, TEXTS, strict=True):
        np.testing.assert_allclose(row, by_hand(folder, text), atol=1e-5)
    assert np.abs(features).max() <= 1


def test_company_and_order_do_not_matter(encoder):
    features = encoder(TEXTS)
    np.testing.assert_allclose(encoder(TEXTS[::-1])[::-1], features, atol=1e-6)
    many = encoder(TEXTS * 9)  # several batches of each length, the last ones not full
    np.testing.assert_allclose(many, np.tile(features, (9, 1)), atol=1e-6)
    assert encoder([]).shape == (0, 16)


def test_long_texts_are_truncated(encoder):
    long = "the river runs under the stone bridge " * 500
    assert np.isfinite(encoder([long])).all()
    np.testing.assert_allclose(encoder([long + "hill"]), encoder([long]), atol=1e-6)


def test_each_length_is_compiled_once(folder):
    encoder = load_block_encoder(folder, **SMALL)
    for count in (1, 3, 20):
        encoder(TEXTS * count)
    # Lengths of the texts fall into the two buckets; the limit of 24 tokens is not reached.
    assert encoder._encode_batch._cache_size() == 2


def test_rows_of_a_batch_hold_equal_tokens_and_fill_every_device(encoder):
    assert encoder.batch_rows(8) == 2 * 4  # four devices in tests
    assert encoder.batch_rows(16) == encoder.batch_rows(24) == 4


def test_unit_norm_cls_and_plain(folder):
    unit = load_block_encoder(folder, unit_norm=True, **SMALL)([TEXTS[0]])
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(unit[0], by_hand(folder, TEXTS[0], unit_norm=True), atol=1e-5)
    plain = load_block_encoder(folder, squash=False, pooling="cls", **SMALL)([TEXTS[0]])
    assert np.abs(plain).max() > 1  # no tanh


def test_bfloat16_is_near_float32(folder, encoder):
    ours = load_block_encoder(folder, dtype="bfloat16", **SMALL)(TEXTS)
    theirs = encoder(TEXTS)
    assert 0 < np.abs(ours - theirs).max() < 0.05
    cosine = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosine.min() > 0.999


def test_pool_by_hand():
    hidden = jnp.asarray([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]], [[5.0, 5.0]] * 3])
    mask = jnp.asarray([[True, True, False], [False] * 3])
    np.testing.assert_array_equal(pool(hidden, mask, "mean"), [[2, 4], [0, 0]])
    np.testing.assert_array_equal(pool(hidden, mask, "cls"), [[1, 2], [5, 5]])


def test_header_says_what_shapes_the_numbers(folder, encoder, tmp_path):
    assert encoder.header == {
        "encoder": "checkpoint",
        "weights": encoder.header["weights"],
        "pooling": "mean",
        "squash": "tanh",
        "unit_norm": False,
        "max_length": 24,
        "compute_dtype": "float32",
    }
    path = tmp_path / "table"
    table = build_table(
        path, TEXTS, encoder, dim=16, header=encoder.header, dtype="float32", chunk_size=2
    )
    np.testing.assert_allclose(table.rows(), encoder(TEXTS), atol=1e-6)
    other = load_block_encoder(folder, unit_norm=True, **SMALL)
    with pytest.raises(ValueError, match="made with unit_norm=False, but unit_norm=True is wanted"):
        build_table(path, TEXTS, other, dim=16, header=other.header, dtype="float32")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float64"}, r"dtype='float64' is not one of \['bfloat16', 'float32'\]"),
        ({"pooling": "max"}, "pooling='max' is not one of"),
        ({"max_length": 25}, "max_length=25 must be from 3 to 24"),
        ({"tokens_per_batch": 0}, "tokens_per_batch=0 must be at least 1"),
        ({"workers": -1}, "workers=-1 must be at least 1"),
    ],
)
def test_options_out_of_range(folder, options, message):
    with pytest.raises(ValueError, match=message):
        load_block_encoder(folder, **options)


def test_a_tokenizer_of_another_checkpoint_is_refused(tmp_path):
    folder = make_checkpoint(tmp_path / "checkpoint")
    with open(folder / "vocab.txt", "a") as file:
        file.write("".join(f"word{i}\n" for i in range(20)))
    with pytest.raises(ValueError, match=r"has 5\d ids but the encoder's table only 40 rows"):
        load_block_encoder(folder)


def test_titles():
    assert with_titles(["A", "", "C"], ["x", "y", ""]) == ["A. x", "y", "C"]
    assert with_titles(["A", ""], ["x", ""], repeats=2) == ["A. A. x", ""]
    assert with_titles(["A"], ["x"], repeats=0) == ["x"]
    with pytest.raises(ValueError, match="repeats=-1"):
        with_titles(["A"], ["x"], repeats=-1)
    with pytest.raises(ValueError, match="argument 2 is longer"):
        with_titles(["A"], ["x", "y"])
