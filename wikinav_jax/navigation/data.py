"""From a config to the graphs that are walked and the features of their nodes; all on the host.

Axes: N nodes of a graph, d width of phi.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from absl import logging
from ml_collections import ConfigDict

from wikinav_jax.common.config import ConfigError, cache_folder
from wikinav_jax.common.files import fingerprint
from wikinav_jax.datasets.catalog import load_graph
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.subgraph import snowball_subgraph, split_by_article
from wikinav_jax.navigation.config import needs_sentences
from wikinav_jax.navigation.features import prepare_vectors
from wikinav_jax.navigation.sentences import SentenceGoals, SentenceIndex, split_sentences
from wikinav_jax.text.encode import load_block_encoder
from wikinav_jax.text.features import FeatureTable, build_table, text_hash
from wikinav_jax.text.lsa import Lsa, LsaOptions, build_lsa_table, fit_lsa
from wikinav_jax.text.titles import with_titles
from wikinav_jax.training.distributed import first_process_first


@dataclass(frozen=True)
class Part:
    """A graph and what is known of its nodes."""

    graph: LinkedTextGraph
    vectors: np.ndarray  # float32 [N, d], phi before any reading of the graph; d = 0 if learned
    sentences: SentenceGoals | None = None  # where the config asks for sentence search


@dataclass(frozen=True)
class NavigationData:
    """What is trained on and what is evaluated on; features are fitted on `train` alone.

    The two are disjoint halves of `all`; or two graphs, of which the first is `all` as well.
    """

    all: Part
    train: Part
    eval: Part

    @property
    def two_graphs(self) -> bool:
        """Whether evaluation has a graph of its own."""
        return self.all is self.train

    def part(self, name: str) -> Part:
        """The part of that name: "all", "train" or "eval"."""
        part: Part = getattr(self, name)
        return part


def prepare(config: ConfigDict, *, verify: bool = False) -> NavigationData:
    """Loads or builds the graphs, splits the first if it is the only one, and makes the features.

    With `verify`, graphs that are there are read from end to end, to find any damage.

    Raises what the loader of the data set raises (FileNotFoundError, ValueError), and ValueError
    for a split or features that cannot be.
    """
    return first_process_first(lambda: _prepare(config, verify))


def _prepare(config: ConfigDict, verify: bool) -> NavigationData:
    cache = cache_folder(config)
    graph = _load(config, "dataset", verify)
    if config.eval_dataset.name:
        other = _eval_piece(config, _load(config, "eval_dataset", verify))[0]
        whole, held_out = _parts(config, cache, [graph, other], slice(None))
        data = NavigationData(all=whole, train=whole, eval=held_out)
    else:
        data = _split(config, cache, graph)
    logging.info(
        "%s: training on %d blocks with %d links, evaluating on %d with %d; features %d wide",
        config.dataset.name,
        data.train.graph.num_nodes,
        data.train.graph.num_edges,
        data.eval.graph.num_nodes,
        data.eval.graph.num_edges,
        data.train.vectors.shape[1],
    )
    return data


def _load(config: ConfigDict, field: str, verify: bool) -> LinkedTextGraph:
    dataset = config[field]
    for option, what in (("path", "a graph that --mode=build wrote"), ("source", "a corpus")):
        if dataset.options.get(option) == "":
            raise ConfigError(
                f"config.{field}.options.{option} is empty: give the place of {what}, "
                f"--config.{field}.options.{option}=…"
            )
    return load_graph(
        dataset.name,
        data_dir=Path(config.data_dir).expanduser() if config.data_dir else None,
        cache_dir=cache_folder(config),
        options=dataset.options.to_dict(),
        verify=verify,
    )


def _eval_piece(
    config: ConfigDict, graph: LinkedTextGraph
) -> tuple[LinkedTextGraph, np.ndarray | slice]:
    """What of a graph is evaluated on, and its nodes in the graph."""
    most = config.eval_dataset.max_nodes
    if not most or graph.num_nodes <= most:
        return graph, slice(None)
    return snowball_subgraph(graph, most, config.split.seed)


def _split(config: ConfigDict, cache: Path, graph: LinkedTextGraph) -> NavigationData:
    """Disjoint halves of a graph, with features of the whole."""
    if graph.num_articles < 2:
        raise ValueError(
            f"the graph has {graph.num_articles} article; training and evaluation need disjoint "
            "halves of at least one article each: choose a larger corpus"
        )
    (train_graph, train_ids), (eval_graph, eval_ids) = split_by_article(
        graph, tuple(config.split.fractions), config.split.seed
    )
    eval_graph, piece = _eval_piece(config, eval_graph)
    (whole,) = _parts(config, cache, [graph], train_ids)

    def part(graph: LinkedTextGraph, node_ids: np.ndarray) -> Part:
        goals = whole.sentences
        if goals is not None:
            goals = SentenceGoals(goals.index.of_nodes(node_ids), goals.rows)
        return Part(graph, whole.vectors[node_ids], goals)

    return NavigationData(
        all=whole, train=part(train_graph, train_ids), eval=part(eval_graph, eval_ids[piece])
    )


@dataclass(frozen=True)
class _Source:
    """One source of phi."""

    rows: Callable[[LinkedTextGraph], np.ndarray]  # float32 [N, d], made once
    # A table of other texts by the same encoder, made once: (kind of text, texts) -> table.
    read: Callable[[str, Sequence[str]], FeatureTable]


def _parts(
    config: ConfigDict,
    cache: Path,
    graphs: Sequence[LinkedTextGraph],
    train_ids: np.ndarray | slice,
) -> list[Part]:
    """The graphs with their features: the sources of phi, centred and scaled, side by side.

    And, for sentence search, every sentence read by the same sources in the same way. What is
    fitted is fitted on the nodes `train_ids` of the first graph.
    """
    if config.encoder.enabled:  # phi is read from the text, by what the run learns
        return [Part(graph, np.zeros((graph.num_nodes, 0), np.float32)) for graph in graphs]
    sources: dict[str, Callable[[], _Source]] = {
        "lsa": lambda: _lsa(config, cache, graphs[0], train_ids),
        "encoder": lambda: _encoder(config, cache),
        "random": lambda: _random(config, graphs),
    }
    split = [split_sentences(g.texts(None)) if needs_sentences(config) else None for g in graphs]
    columns: list[list[np.ndarray]] = [[] for _ in graphs]
    tables: list[list[tuple[FeatureTable, Callable[[np.ndarray], np.ndarray]]]]
    tables = [[] for _ in graphs]
    for name in config.features.sources:
        source = sources[name]()
        mean = None
        if config.features.center:
            mean = source.rows(graphs[0])[train_ids].mean(axis=0)
        prepared = functools.partial(
            prepare_vectors, mean=mean, unit_norm=config.features.unit_norm
        )
        for number, graph in enumerate(graphs):
            columns[number].append(prepared(source.rows(graph)))
            sentences = split[number]
            if sentences is not None:
                tables[number].append((source.read("sentences", sentences[1]), prepared))
    return [
        Part(
            graph,
            np.concatenate(columns[number], axis=1),
            None if (found := split[number]) is None else _goals(found[0], tables[number]),
        )
        for number, graph in enumerate(graphs)
    ]


def _goals(
    index: SentenceIndex, tables: Sequence[tuple[FeatureTable, Callable[[np.ndarray], np.ndarray]]]
) -> SentenceGoals:
    def rows(numbers: np.ndarray) -> np.ndarray:
        return np.concatenate([prepared(table.rows(numbers)) for table, prepared in tables], axis=1)

    return SentenceGoals(index, rows)


def _block_titles(graph: LinkedTextGraph) -> list[str]:
    titles = graph.article_titles
    return [titles[article] for article in graph.article]


def _lsa(
    config: ConfigDict, cache: Path, graph: LinkedTextGraph, train_ids: np.ndarray | slice
) -> _Source:
    """TF-IDF and truncated SVD, fitted on the texts of training only."""
    features = config.features

    def texts_of(graph: LinkedTextGraph) -> list[str]:
        repeats = features.lsa_title_weight
        return with_titles(_block_titles(graph), graph.texts(None), repeats=repeats)

    texts = texts_of(graph)
    training = [texts[i] for i in np.arange(len(texts))[train_ids]]
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

    return _Source(_once(lambda graph: read("lsa", texts_of(graph)).rows()), read)


def _encoder(config: ConfigDict, cache: Path) -> _Source:
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

    def rows(graph: LinkedTextGraph) -> np.ndarray:
        return read("encoder", with_titles(_block_titles(graph), graph.texts(None))).rows()

    return _Source(_once(rows), read)


def _random(config: ConfigDict, graphs: Sequence[LinkedTextGraph]) -> _Source:
    """Uniform on the unit sphere: features without meaning (RFBC paper, section 4)."""

    def read(kind: str, texts: Sequence[str]) -> FeatureTable:
        raise ConfigError(
            f"features.sources has 'random', which reads no {kind}: leave the sentence tasks out "
            "of evaluate.tasks and sentence.enabled off"
        )

    def rows(graph: LinkedTextGraph) -> np.ndarray:
        place = next(number for number, other in enumerate(graphs) if other is graph)
        stream = [config.seed, graph.num_nodes, *([place] if place else [])]
        size = (graph.num_nodes, config.features.random_dim)
        drawn = np.random.default_rng(stream).standard_normal(size, dtype=np.float32)
        unit: np.ndarray = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit

    return _Source(_once(rows), read)


def _once(
    rows: Callable[[LinkedTextGraph], np.ndarray],
) -> Callable[[LinkedTextGraph], np.ndarray]:
    """The rows of a graph, kept: the first graph's are asked for twice, for their mean."""
    known: dict[int, np.ndarray] = {}

    def found(graph: LinkedTextGraph) -> np.ndarray:
        if id(graph) not in known:
            known[id(graph)] = rows(graph)
        return known[id(graph)]

    return found


def _table_path(name: str, cache: Path, texts: Sequence[str], header: Mapping[str, object]) -> Path:
    """Where the feature table of these texts and this encoder is kept."""
    key = fingerprint({**header, "texts": text_hash(texts)})
    return cache / "features" / f"{name}-{key}"
