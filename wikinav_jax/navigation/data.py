"""From a config to the graphs that are walked and the features of their nodes; all on the host.

Axes: N nodes of a graph, d width of phi.
"""

from __future__ import annotations

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

from wikinav_jax.common.files import fingerprint
from wikinav_jax.datasets.catalog import load_graph
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.subgraph import split_by_article
from wikinav_jax.navigation.features import prepare_vectors
from wikinav_jax.text.encode import load_block_encoder
from wikinav_jax.text.features import build_table, text_hash
from wikinav_jax.text.lsa import Lsa, LsaOptions, build_lsa_table, fit_lsa
from wikinav_jax.text.titles import with_titles

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """A graph and what is known of its nodes."""

    graph: LinkedTextGraph
    node_ids: np.ndarray  # int64 [N], the nodes of the whole graph
    vectors: np.ndarray  # float32 [N, d], phi before any reading of the graph


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
    vectors = _features(config, cache, graph, train_ids)
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
        all=Part(graph, np.arange(graph.num_nodes), vectors),
        train=Part(train_graph, train_ids, vectors[train_ids]),
        eval=Part(eval_graph, eval_ids, vectors[eval_ids]),
    )


def _features(
    config: ConfigDict, cache: Path, graph: LinkedTextGraph, train_ids: np.ndarray
) -> np.ndarray:
    """float32 [N, d]: the sources of phi, each centred and scaled as asked, side by side."""
    sources: dict[str, Callable[[], np.ndarray]] = {
        "lsa": lambda: _lsa_rows(config, cache, graph, train_ids),
        "encoder": lambda: _encoder_rows(config, cache, graph),
        "random": lambda: _random_rows(config, graph.num_nodes),
    }
    columns = []
    for name in config.features.sources:
        rows = sources[name]()
        mean = rows[train_ids].mean(axis=0) if config.features.center else None
        columns.append(prepare_vectors(rows, mean=mean, unit_norm=config.features.unit_norm))
    return np.concatenate(columns, axis=1)


def _block_titles(graph: LinkedTextGraph) -> list[str]:
    titles = graph.article_titles
    return [titles[article] for article in graph.article]


def _lsa_rows(
    config: ConfigDict, cache: Path, graph: LinkedTextGraph, train_ids: np.ndarray
) -> np.ndarray:
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
    return build_lsa_table(_table_path("lsa", cache, texts, lsa.header), texts, lsa).rows()


def _encoder_rows(config: ConfigDict, cache: Path, graph: LinkedTextGraph) -> np.ndarray:
    """phi of the paper: title and text through a pretrained encoder, mean over tokens, tanh."""
    features = config.features
    encoder = load_block_encoder(
        features.encoder,
        dtype=features.encoder_dtype,
        max_length=features.max_tokens,
        squash=features.tanh,
    )
    texts = with_titles(_block_titles(graph), graph.texts(None))
    table = build_table(
        _table_path("encoder", cache, texts, encoder.header),
        texts,
        encoder,
        dim=encoder.dim,
        header=encoder.header,
        desc="Features (encoder)",
    )
    return table.rows()


def _random_rows(config: ConfigDict, num_nodes: int) -> np.ndarray:
    """Uniform on the unit sphere: features without meaning (RFBC paper, section 4)."""
    rng = np.random.default_rng([config.seed, num_nodes])
    rows = rng.standard_normal((num_nodes, config.features.random_dim), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _table_path(name: str, cache: Path, texts: Sequence[str], header: Mapping[str, object]) -> Path:
    """Where the feature table of these texts and this encoder is kept."""
    key = fingerprint({**header, "texts": text_hash(texts)})
    return cache / "features" / f"{name}-{key}"
