"""TF-IDF and SVD features: by hand, against dense linear algebra, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from absl import logging

from wikinav_jax.text.lsa import Lsa, LsaOptions, build_lsa_table, fit_lsa

NOUNS = [
    "river",
    "bridge",
    "stone",
    "water",
    "copper",
    "metal",
    "heat",
    "letter",
    "winter",
    "keeper",
    "hill",
    "town",
    "road",
    "ship",
]


def corpus(count: int = 60) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(NOUNS, 8)) for _ in range(count)]


@pytest.fixture(scope="module")
def lsa() -> Lsa:
    return fit_lsa(corpus(), dim=4, min_df=1)


def dense(lsa: Lsa, text: str) -> np.ndarray:
    """The weights of one text by the definition, [V]."""
    counts = np.array([text.split().count(term) for term in lsa.terms], float)
    weights = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * lsa.idf
    return weights / np.linalg.norm(weights)


def test_vectors_by_definition(lsa):
    texts = corpus()
    assert sorted(NOUNS) == lsa.terms
    frequency = np.array([sum(term in text.split() for text in texts) for term in lsa.terms])
    np.testing.assert_allclose(lsa.idf, np.log((1 + 60) / (1 + frequency)) + 1, rtol=1e-6)
    vectors = lsa.transform(texts)
    assert vectors.shape == (60, 4) and vectors.dtype == np.float32
    for text, vector in zip(texts[:5], vectors, strict=False):
        expected = lsa.components @ dense(lsa, text)
        np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


def test_components_span_the_best_subspace(lsa):
    weights = np.stack([dense(lsa, text) for text in corpus()])
    basis = np.linalg.svd(weights, full_matrices=False)[2][:4]
    kept = np.linalg.norm(lsa.components @ basis.T, axis=1)
    np.testing.assert_allclose(kept, 1, atol=1e-3)


def test_the_same_seed_gives_the_same_bits():
    a, b, c = (fit_lsa(corpus(), dim=4, min_df=1, power_iterations=0, seed=s) for s in (1, 1, 2))
    assert a.components.tobytes() == b.components.tobytes()
    assert a.components.tobytes() != c.components.tobytes()


def test_texts_without_known_words_are_zero(lsa):
    vectors = lsa.transform(["", "日本", "unseen words only", "the ship"])
    assert (vectors[:3] == 0).all()
    np.testing.assert_allclose(np.linalg.norm(vectors[3]), 1, rtol=1e-6)
    assert lsa.transform([]).shape == (0, 4)
    with pytest.raises(TypeError, match="give a list of strings"):
        lsa.transform("the ship")


def test_only_the_texts_of_the_fit_count():
    texts = [*corpus(), "zeppelin zeppelin"]
    assert "zeppelin" in fit_lsa(texts, dim=2, min_df=1).terms
    assert "zeppelin" not in fit_lsa(texts[:-1], dim=2, min_df=1).terms


def test_options_reach_the_vectorizer():
    texts = ["the river and the bridge"] * 3 + ["the stone and the hill"] * 3 + ["a rare word"]
    assert fit_lsa(texts, dim=2, stop_words="english", min_df=3).terms == [
        "bridge",
        "hill",
        "river",
        "stone",
    ]
    pairs = fit_lsa(texts, dim=2, min_df=3, max_ngram=2).terms
    assert "river and" in pairs and "and" in pairs
    assert fit_lsa(texts, dim=2, max_features=3).terms[-1] == "the"
    repeated = ["river river river stone", "stone hill", "hill river"] * 2
    sub, raw = (
        fit_lsa(repeated, dim=2, sublinear_tf=flag).transform(["river river stone"])
        for flag in (True, False)
    )
    assert np.abs(sub - raw).max() > 1e-3


def test_save_and_load_give_the_same_vectors(lsa, tmp_path):
    path = lsa.save(tmp_path / "lsa")
    assert sorted(p.name for p in path.iterdir()) == ["components.npy", "idf.npy", "lsa.json"]
    again = Lsa.load(path)
    assert again.options == lsa.options and again.header == lsa.header
    assert again.transform(corpus()).tobytes() == lsa.transform(corpus()).tobytes()


def test_damaged_models(lsa, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no LSA model at .*lsa\.json is missing"):
        Lsa.load(tmp_path / "absent")
    path = lsa.save(tmp_path / "lsa")
    components = (path / "components.npy").read_bytes()
    altered = bytearray(components)
    altered[-1] ^= 1
    for damaged in (components[:-8], components[:20], b"", altered):
        (path / "components.npy").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"damaged \(components\.npy was truncated or altered"):
            Lsa.load(path)


def test_damaged_models_without_hashes(lsa, tmp_path):
    """As written by earlier versions; and what has right hashes but wrong content."""
    path = lsa.save(tmp_path / "lsa")
    content = json.loads((path / "lsa.json").read_text())
    assert sorted(content.pop("sha256")) == ["components.npy", "idf.npy"]
    (path / "lsa.json").write_text(json.dumps(content))
    assert Lsa.load(path).header == lsa.header
    components = (path / "components.npy").read_bytes()
    for damaged in (components[:-8], components[:20], b"", b"no numbers" * 9):
        (path / "components.npy").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"no readable npy file.*delete that folder") as error:
            Lsa.load(path)
        assert "pickle" not in str(error.value)
    np.save(path / "components.npy", np.zeros((3, 14), np.float32))
    with pytest.raises(ValueError, match=r"components \(3, 14\) do not fit 14 terms and dim=4"):
        Lsa.load(path)
    np.save(path / "components.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="is damaged"):  # a pickle is not run
        Lsa.load(path)
    content = json.loads((path / "lsa.json").read_text())
    (path / "lsa.json").write_text(json.dumps(content | {"format_version": 9}))
    with pytest.raises(ValueError, match="format version 9, this code reads 1"):
        Lsa.load(path)
    (path / "lsa.json").write_text("[]")
    with pytest.raises(ValueError, match="format version None"):
        Lsa.load(path)


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([], {}, "the corpus is empty"),
        (["", " "], {}, "no term is left of 2 texts with min_df=2"),
        (["one", "two", "three"], {"dim": 1}, "no term is left of 3 texts with min_df=2.*lower"),
        (["the", "and"] * 3, {"stop_words": "english"}, "no term is left.*stop_words='english'"),
        (["ship ship"] * 9, {"dim": 2}, "two texts and two terms at least, the corpus has 9 and 1"),
        (["ship town"], {"min_df": 1}, "the corpus has 1 and 2: take more texts"),
        (["ship"], {"dim": 0}, "dim=0 must be at least 1"),
        (["ship"], {"max_features": 0}, "max_features=0 must be at least 1"),
        (["ship"], {"power_iterations": -1}, "power_iterations=-1"),
        (["ship"], {"stop_words": "latin"}, "stop_words='latin' is not one of"),
    ],
)
def test_bad_input(texts, options, message):
    with pytest.raises(ValueError, match=message):
        fit_lsa(texts, **options)


@pytest.mark.parametrize(
    ("texts", "most"),
    [
        (["ship town", "ship", "town ship ship"] * 3, 1),
        (["ship town hill road", "ship town hill", "ship road"], 2),
    ],
)
def test_a_small_corpus_narrows_the_vectors(texts, most, monkeypatch, tmp_path):
    warned = []
    monkeypatch.setattr(logging, "warning", lambda text, *args: warned.append(text % args))
    found = fit_lsa(texts, dim=256)
    assert found.dim == found.options.dim == most
    assert found.transform(texts).shape == (len(texts), most)
    assert np.linalg.norm(found.transform(texts), axis=1) == pytest.approx(1)
    assert Lsa.load(found.save(tmp_path / "lsa")).header == found.header
    assert len(warned) == 1 and "dim=256" in warned[0] and f"dim={most} is used" in warned[0]
    assert fit_lsa(texts, dim=most).dim == most and len(warned) == 1


def test_a_table_of_lsa(lsa, tmp_path):
    texts = corpus()
    table = build_lsa_table(tmp_path / "table", texts, lsa, dtype="float32")
    np.testing.assert_allclose(table.rows(), lsa.transform(texts), atol=1e-6)
    assert table.header["lsa"]["dim"] == 4 and table.header["encoder"] == "lsa"
    other = fit_lsa(corpus(50), dim=4, min_df=1)
    with pytest.raises(ValueError, match="made with weights="):
        build_lsa_table(tmp_path / "table", texts, other, dtype="float32")


def test_default_options_are_valid():
    assert LsaOptions().dim == 256
