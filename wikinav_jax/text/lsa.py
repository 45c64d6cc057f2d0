"""Latent semantic analysis: TF-IDF and a truncated SVD, the features that need no pretrained model.

Source: Deerwester et al. 1990, https://doi.org/10.1002/(SICI)1097-4571(199009)41:6; the SVD is the
randomised one of Halko et al. 2011, https://arxiv.org/abs/0909.4061, by scikit-learn.

Axes: n texts, V terms, d features.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from wikinav_jax.common.files import atomic_directory, is_altered, read_json, sha256_of, write_json
from wikinav_jax.text.features import FeatureTable, build_table

FORMAT_VERSION = 1
LSA_FILE, IDF_FILE, COMPONENTS_FILE = "lsa.json", "idf.npy", "components.npy"
STOP_WORDS = (None, "english")
CHUNK = 16_384  # texts per pass of transform: bounds the memory of the sparse matrix


@dataclasses.dataclass(frozen=True)
class LsaOptions:
    """What a fit depends on besides its texts."""

    dim: int = 256  # d
    seed: int = 0  # of the randomised SVD
    max_features: int | None = 50_000  # V at most: the terms most frequent over all texts
    min_df: int = 2  # a term stands in at least this many texts
    sublinear_tf: bool = True  # 1 + log(count) in place of the count
    stop_words: str | None = None  # `english` drops scikit-learn's list
    max_ngram: int = 1  # 2: pairs of neighbouring words are terms too
    power_iterations: int = 5  # of the randomised SVD

    def __post_init__(self) -> None:
        for name in ("dim", "min_df", "max_ngram", "max_features"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value} must be at least 1")
        if self.power_iterations < 0:
            raise ValueError(f"power_iterations={self.power_iterations} must be 0 or more")
        if self.stop_words not in STOP_WORDS:
            raise ValueError(f"stop_words={self.stop_words!r} is not one of {STOP_WORDS}")

    def vectorizer(self, terms: Sequence[str] | None = None) -> TfidfVectorizer:
        """An unfitted vectorizer, over the given terms where there are some."""
        return TfidfVectorizer(
            dtype=np.float32,
            max_features=self.max_features,
            min_df=self.min_df,
            sublinear_tf=self.sublinear_tf,
            stop_words=self.stop_words,
            ngram_range=(1, self.max_ngram),
            vocabulary=None if terms is None else {term: i for i, term in enumerate(terms)},
        )


class Lsa:
    """A fitted map from texts to vectors."""

    def __init__(
        self, options: LsaOptions, terms: Sequence[str], idf: np.ndarray, components: np.ndarray
    ) -> None:
        """terms: V strings; idf: float32 [V]; components: float32 [d, V]."""
        if idf.shape != (len(terms),) or components.shape != (options.dim, len(terms)):
            raise ValueError(
                f"idf {idf.shape} and components {components.shape} do not fit {len(terms)} terms "
                f"and dim={options.dim}"
            )
        self.options = options
        self.terms = list(terms)
        self.idf = idf
        self.components = components
        self._vectorizer = options.vectorizer(self.terms)
        self._vectorizer.idf_ = idf

    @property
    def dim(self) -> int:
        """d, the width of a vector."""
        return self.options.dim

    @property
    def header(self) -> dict[str, Any]:
        """Everything that shapes the vectors, for the header of a feature table."""
        digest = hashlib.sha256("\n".join(self.terms).encode("utf-8"))
        digest.update(self.idf.tobytes())
        digest.update(self.components.tobytes())
        return {
            "encoder": "lsa",
            "weights": digest.hexdigest()[:12],
            "pooling": "tfidf",
            "unit_norm": True,
            "lsa": dataclasses.asdict(self.options),
        }

    def transform(self, texts: Sequence[str]) -> np.ndarray:
        """float32 [n, d] with rows of length 1; all zeros for a text without any known term."""
        if isinstance(texts, str):
            raise TypeError("texts is one string; give a list of strings")
        rows = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), CHUNK):
            chunk = [texts[i] for i in range(start, min(start + CHUNK, len(texts)))]
            weights = self._vectorizer.transform(chunk)
            rows[start : start + CHUNK] = normalize(weights @ self.components.T, copy=False)
        return rows

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a folder (JSON and npy, no pickle), whole or not at all."""
        content = {"format_version": FORMAT_VERSION, "options": dataclasses.asdict(self.options)}
        with atomic_directory(path) as folder:
            np.save(folder / IDF_FILE, self.idf, allow_pickle=False)
            np.save(folder / COMPONENTS_FILE, self.components, allow_pickle=False)
            hashes = {name: sha256_of(folder / name) for name in (IDF_FILE, COMPONENTS_FILE)}
            write_json(folder / LSA_FILE, content | {"sha256": hashes, "terms": self.terms})
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Lsa:
        """Reads what `save` wrote.

        Raises:
          FileNotFoundError: a file is missing.
          ValueError: not an LSA folder, another format, or damaged files.
        """
        path = Path(path)
        for name in (LSA_FILE, IDF_FILE, COMPONENTS_FILE):
            if not (path / name).is_file():
                raise FileNotFoundError(f"no LSA model at {path}: {name} is missing; fit it again")
        content = read_json(path / LSA_FILE)
        version = content.get("format_version") if isinstance(content, dict) else None
        if version != FORMAT_VERSION:
            raise ValueError(
                f"{path / LSA_FILE} has format version {version}, this code reads "
                f"{FORMAT_VERSION}: fit it again, or update wikinav_jax"
            )
        for name, sha256 in content.get("sha256", {}).items():
            if is_altered(path / name, sha256, whole=True):
                raise _damage(path, f"{name} was truncated or altered")
        idf, components = (_read(path, name) for name in (IDF_FILE, COMPONENTS_FILE))
        try:
            return cls(LsaOptions(**content["options"]), content["terms"], idf, components)
        except (ValueError, KeyError, TypeError) as error:
            raise _damage(path, str(error)) from error


def _read(path: Path, name: str) -> np.ndarray:
    try:
        return np.load(path / name, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        # NumPy's own words, that it may be a pickle and how to allow one, would lead astray.
        raise _damage(path, f"{name} is no readable npy file") from error


def _damage(path: Path, what: str) -> ValueError:
    return ValueError(
        f"the LSA model at {path} is damaged ({what}): delete that folder, and the next run fits "
        "it again"
    )


def fit_lsa(texts: Sequence[str], options: LsaOptions | None = None, **fields: Any) -> Lsa:
    """Fits TF-IDF and the SVD on `texts`: give training texts only, or evaluation leaks in.

    A small corpus has room for fewer dimensions than asked for, below both n and V: then `dim` of
    the result's options is the most that it admits, and a warning tells both.

    Args:
      texts: n texts.
      options: or its fields as keywords: `fit_lsa(texts, dim=128, seed=1)`.

    Raises:
      ValueError: no texts, no term left, or a single text or term.
    """
    options = dataclasses.replace(options or LsaOptions(), **fields)
    if not len(texts):
        raise ValueError("no texts to fit LSA on: the corpus is empty")
    vectorizer = options.vectorizer()
    try:
        weights = vectorizer.fit_transform(texts)
    except ValueError as error:
        # scikit-learn says `empty vocabulary`, or `no terms remain` after min_df.
        if "vocabulary" not in str(error) and "no terms remain" not in str(error):
            raise
        raise ValueError(
            f"no term is left of {len(texts)} texts with min_df={options.min_df} and "
            f"stop_words={options.stop_words!r} ({error}): the corpus is too small, or its texts "
            "hold no words"
        ) from error
    most = min(weights.shape) - 1
    if most < 1:
        raise ValueError(
            f"LSA needs two texts and two terms at least, the corpus has {weights.shape[0]} and "
            f"{weights.shape[1]}: take more texts"
        )
    if options.dim > most:
        logging.warning(
            "LSA with dim=%d (features.lsa_dim of a config) needs more than the %d texts and %d "
            "terms of the corpus: dim=%d is used",
            options.dim,
            *weights.shape,
            most,
        )
        options = dataclasses.replace(options, dim=most)
    svd = TruncatedSVD(options.dim, n_iter=options.power_iterations, random_state=options.seed)
    # One BLAS thread: the same bits on any number of cores, and the sparse products, which take
    # most of the time, have one thread anyway.
    with threadpool_limits(1):
        svd.fit(weights)
    return Lsa(
        options,
        vectorizer.get_feature_names_out().tolist(),
        vectorizer.idf_.astype(np.float32),
        np.ascontiguousarray(svd.components_, dtype=np.float32),
    )


def build_lsa_table(
    path: str | os.PathLike[str], texts: Sequence[str], lsa: Lsa, *, dtype: str = "float16"
) -> FeatureTable:
    """A feature table of `lsa` over texts; arguments and errors as `features.build_table`."""
    return build_table(
        path,
        texts,
        lsa.transform,
        dim=lsa.dim,
        header=lsa.header,
        dtype=dtype,
        chunk_size=CHUNK,
        desc="LSA",
    )
