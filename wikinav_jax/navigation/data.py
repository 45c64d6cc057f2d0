"""From a config to the graphs that are walked and the features of their nodes; all on the host.

Axes: N nodes of a graph, d width of phi.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import jax
import numpy as np
from absl import logging
from jax.experimental import multihost_utils
from ml_collections import ConfigDict

from wikinav_jax.common.config import ConfigError
from wikinav_jax.common.files import fingerprint
from wikinav_jax.datasets.catalog import load_graph
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.subgraph import split_by_article
from wikinav_jax.navigation.config import needs_sentences
from wikinav_jax.navigation.features import prepare_vectors
from wikinav_jax.navigation.sentences import SentenceGoals, SentenceIndex, split_sentences
from wikinav_jax.text.encode import load_block_encoder
from wikinav_jax.text.features import FeatureTable, build_table, text_hash
from wikinav_jax.text.lsa import Lsa, LsaOptions, build_lsa_table, fit_lsa
from wikinav_jax.text.titles import with_titles

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """A graph and what is known of its nodes."""

    graph: LinkedTextGraph
    node_ids: np.ndarray  # int64 [N], the nodes of the whole graph
    vectors: np.ndarray  # float32 [N, d], phi before any reading of the graph
    sentences: SentenceGoals | None = None  # where the config asks for sentence search


@dataclass(frozen=True)
class NavigationData:
    """The whole graph and its disjoint halves; features are fitted on `train` alone."""

    all: Part
    train: Part
    eval: Part

    def part(self, name: str) -> Part:
        """The part of that name: "all", "train" or "eval"."""
        part: Part = getattr(self, name)
        return part


def cache_folder(config: ConfigDict) -> Path:
    """Where graphs and features are kept between runs."""
    folder = config.cache_dir or os.environ.get("WIKINAV_CACHE") or "~/.cache/wikinav_jax"
    return Path(folder).expanduser()


def first_process_first(build: Callable[[], T]) -> T:
    """Runs `build` in process 0, then in the others, which find its files already there."""
    if jax.process_count() == 1:
        return build()
    result = build() if jax.process_index() == 0 else None
    multihost_utils.sync_global_devices("wikinav_jax first_process_first")
    return result if result is not None else build()


def prepare(config: ConfigDict) -> NavigationData:
    """Loads or builds the graph, splits it, and loads or builds the features.

    Raises what the loader of the data set raises (FileNotFoundError, ValueError), and ValueError
    for a split or features that cannot be.
    """
    return first_process_first(lambda: _prepare(config))


def _prepare(config: ConfigDict) -> NavigationData:
    cache = cache_folder(config)
    data_dir = Path(config.data_dir).expanduser() if config.data_dir else None
    graph = load_graph(
        config.dataset.name,
        data_dir=data_dir,
        cache_dir=cache,
        options=config.dataset.options.to_dict(),
    )
    if graph.num_articles < 2:
        raise ValueError(
            f"the graph has {graph.num_articles} article; training and evaluation need disjoint "
            "halves of at least one article each: choose a larger corpus"
        )
    (train_graph, train_ids), (eval_graph, eval_ids) = split_by_article(
        graph, tuple(config.split.fractions), config.split.seed
    )
    if config.encoder.enabled:  # phi is read from the text, by what the run learns
        vectors, sentences = np.zeros((graph.num_nodes, 0), np.float32), None
    else:
        vectors, sentences = _features(config, cache, graph, train_ids)
    logging.info(
        "%s: %d blocks, %d links; halves of %d and %d blocks with %d and %d links; "
        "features %d wide",
        config.dataset.name,
        graph.num_nodes,
        graph.num_edges,
        train_graph.num_nodes,
        eval_graph.num_nodes,
        train_graph.num_edges,
        eval_graph.num_edges,
        vectors.shape[1],
    )
    return NavigationData(
        all=Part(graph, np.arange(graph.num_nodes), vectors, sentences),
        train=Part(train_graph, train_ids, vectors[train_ids], _of_nodes(sentences, train_ids)),
        eval=Part(eval_graph, eval_ids, vectors[eval_ids], _of_nodes(sentences, eval_ids)),
    )


def _of_nodes(sentences: SentenceGoals | None, node_ids: np.ndarray) -> SentenceGoals | None:
    if sentences is None:
        return None
    return SentenceGoals(sentences.index.of_nodes(node_ids), sentences.rows)


@dataclass(frozen=True)
class _Source:
    """One source of phi."""

    rows: np.ndarray  # float32 [N, d]
    # A table of other texts by the same encoder, made once: (kind of text, texts) -> table.
    read: Callable[[str, Sequence[str]], FeatureTable]


def _features(
    config: ConfigDict, cache: Path, graph: LinkedTextGraph, train_ids: np.ndarray
) -> tuple[np.ndarray, SentenceGoals | None]:
    """float32 [N, d]: the sources of phi, each centred and scaled as asked, side by side.

    And, for sentence search, every sentence read by the same sources in the same way.
    """
    sources: dict[str, Callable[[], _Source]] = {
        "lsa": lambda: _lsa(config, cache, graph, train_ids),
        "encoder": lambda: _encoder(config, cache, graph),
        "random": lambda: _random(config, graph.num_nodes),
    }
    index: SentenceIndex | None = None
    if needs_sentences(config):
        index, sentences = split_sentences(graph.texts(None))
    columns, tables = [], []
    for name in config.features.sources:
        source = sources[name]()
        mean = source.rows[train_ids].mean(axis=0) if config.features.center else None
        prepared = functools.partial(
            prepare_vectors, mean=mean, unit_norm=config.features.unit_norm
        )
        columns.append(prepared(source.rows))
        if index is not None:
            tables.append((source.read("sentences", sentences), prepared))

    def sentence_rows(numbers: np.ndarray) -> np.ndarray:
        return np.concatenate([prepared(table.rows(numbers)) for table, prepared in tables], axis=1)

    goals = None if index is None else SentenceGoals(index, sentence_rows)
    return np.concatenate(columns, axis=1), goals


def _block_titles(graph: LinkedTextGraph) -> list[str]:
    titles = graph.article_titles
    return [titles[article] for article in graph.article]


def _lsa(config: ConfigDict, cache: Path, graph: LinkedTextGraph, train_ids: np.ndarray) -> _Source:
    """TF-IDF and truncated SVD, fitted on the training half's texts only."""
    features = config.features
    texts = with_titles(_block_titles(graph), graph.texts(None), repeats=features.lsa_title_weight)
    training = [texts[i] for i in train_ids]
    options = LsaOptions(
        dim=features.lsa_dim, seed=config.seed, max_features=features.lsa_max_terms
    )
    key = fingerprint({**asdict(options), "fitted_on": text_hash(training)})
    path = cache / "features" / f"lsa-model-{key}"
    if path.is_dir():
        lsa = Lsa.load(path)
    else:
        logging.info("fitting TF-IDF and a truncated SVD on %d blocks", len(training))
        lsa = fit_lsa(training, options)
        lsa.save(path)

    def read(kind: str, texts: Sequence[str]) -> FeatureTable:
        return build_lsa_table(_table_path(kind, cache, texts, lsa.header), texts, lsa)

    return _Source(read("lsa", texts).rows(), read)


def _encoder(config: ConfigDict, cache: Path, graph: LinkedTextGraph) -> _Source:
    """phi of the paper: title and text through a pretrained encoder, mean over tokens, tanh."""
    features = config.features
    encoder = load_block_encoder(
        features.encoder,
        dtype=features.encoder_dtype,
        max_length=features.max_tokens,
        squash=features.tanh,
    )

    def read(kind: str, texts: Sequence[str]) -> FeatureTable:
        return build_table(
            _table_path(kind, cache, texts, encoder.header),
            texts,
            encoder,
            dim=encoder.dim,
            header=encoder.header,
            desc=f"Features ({kind})",
        )

    texts = with_titles(_block_titles(graph), graph.texts(None))
    return _Source(read("encoder", texts).rows(), read)


def _random(config: ConfigDict, num_nodes: int) -> _Source:
    """Uniform on the unit sphere: features without meaning (RFBC paper, section 4)."""

    def read(kind: str, texts: Sequence[str]) -> FeatureTable:
        raise ConfigError(
            f"features.sources has 'random', which reads no {kind}: leave the sentence tasks out "
            "of evaluate.tasks and sentence.enabled off"
        )

    rng = np.random.default_rng([config.seed, num_nodes])
    rows = rng.standard_normal((num_nodes, config.features.random_dim), dtype=np.float32)
    return _Source(rows / np.linalg.norm(rows, axis=1, keepdims=True), read)


def _table_path(name: str, cache: Path, texts: Sequence[str], header: Mapping[str, object]) -> Path:
    """Where the feature table of these texts and this encoder is kept."""
    key = fingerprint({**header, "texts": text_hash(texts)})
    return cache / "features" / f"{name}-{key}"
