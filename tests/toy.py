"""Tiny graphs whose answers are known by hand. Shared by all tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wikinav_jax.graph.csr import csr_from_edges
from wikinav_jax.graph.store import EdgeKind, LinkedTextGraph

HYPERLINK, ENTITY, NEXT, PREVIOUS = EdgeKind

TOY_TITLES = ["Cat", "Mouse", "Café ☕ crème", "קפה שחור", "Island"]
TOY_ARTICLE = [0, 0, 0, 1, 1, 2, 3, 4]
TOY_SECTIONS = ["", "Diet", "Diet > Prey", "", "Enemies", "", "", ""]
TOY_TEXTS = [
    "A cat hunts the mouse.",
    "It likes café crème.",
    "Most prey is a mouse.",
    "A mouse fears the cat.",
    "See café crème and קפה שחור.",
    "Café crème, or קפה שחור with milk.",
    "קפה שחור הוא קפה ללא חלב.",
    "",
]
# (source, target, kind, words of the anchor), in the order in which the graph stores them
TOY_EDGES: list[tuple[int, int, EdgeKind, str]] = [
    (0, 3, HYPERLINK, "mouse"),
    (0, 1, NEXT, ""),
    (1, 5, ENTITY, "café crème"),
    (1, 0, PREVIOUS, ""),
    (1, 2, NEXT, ""),
    (2, 3, HYPERLINK, "mouse"),
    (2, 1, PREVIOUS, ""),
    (3, 0, HYPERLINK, "cat"),
    (3, 4, NEXT, ""),
    (4, 5, HYPERLINK, "café crème"),
    (4, 6, HYPERLINK, "קפה שחור"),
    (4, 3, PREVIOUS, ""),
    (5, 6, HYPERLINK, "קפה שחור"),
]
TOY_DEAD_END, TOY_ISOLATED = 6, 7
# Hops from row to column, worked out by hand; -1: no path.
TOY_DISTANCES = np.array(
    [
        [0, 1, 2, 1, 2, 2, 3, -1],
        [1, 0, 1, 2, 3, 1, 2, -1],
        [2, 1, 0, 1, 2, 2, 3, -1],
        [1, 2, 3, 0, 1, 2, 2, -1],
        [2, 3, 4, 1, 0, 1, 1, -1],
        [-1, -1, -1, -1, -1, 0, 1, -1],
        [-1, -1, -1, -1, -1, -1, 0, -1],
        [-1, -1, -1, -1, -1, -1, -1, 0],
    ],
    np.int32,
)


def toy_graph() -> LinkedTextGraph:
    """Eight blocks of five articles: a cycle, a dead end, an isolated empty text, two scripts."""
    anchors = []
    for source, _, _, words in TOY_EDGES:
        start = TOY_TEXTS[source].lower().index(words) if words else 0
        anchors.append((start, start + len(words)))
    return graph_from_edges(
        [(source, target) for source, target, _, _ in TOY_EDGES],
        len(TOY_TEXTS),
        kinds=[kind for _, _, kind, _ in TOY_EDGES],
        anchors=anchors,
        article=TOY_ARTICLE,
        texts=TOY_TEXTS,
        titles=TOY_TITLES,
        sections=TOY_SECTIONS,
    )


def graph_from_edges(
    edges: Iterable[tuple[int, int]],
    num_nodes: int,
    *,
    kinds: Sequence[int] | None = None,
    anchors: Sequence[tuple[int, int]] | None = None,
    article: Sequence[int] | None = None,
    texts: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    sections: Sequence[str] | None = None,
) -> LinkedTextGraph:
    """A graph from (source, target) pairs; by default one article a node, "node 3 words"."""
    pairs = np.array(list(edges), np.int64).reshape(-1, 2)
    csr = csr_from_edges(
        num_nodes,
        pairs[:, 0],
        pairs[:, 1],
        None if kinds is None else np.array(kinds, np.int64),
        None if anchors is None else np.array(anchors, np.int64).reshape(-1, 2),
    )
    return LinkedTextGraph.from_arrays(
        *csr,
        article=np.arange(num_nodes) if article is None else np.asarray(article),
        texts=[f"node {i} words" for i in range(num_nodes)] if texts is None else texts,
        titles=[f"Article {i}" for i in range(num_nodes)] if titles is None else titles,
        sections=[""] * num_nodes if sections is None else sections,
    )


def line_graph(num_nodes: int) -> LinkedTextGraph:
    """0 -> 1 -> 2 -> ...: every walk is known, and the last node is a dead end."""
    return graph_from_edges([(i, i + 1) for i in range(num_nodes - 1)], num_nodes)


def ring_graph(num_nodes: int) -> LinkedTextGraph:
    """Each node linked to the next and to the one before; no dead ends."""
    edges = [(i, (i + step) % num_nodes) for i in range(num_nodes) for step in (1, -1)]
    return graph_from_edges(edges, num_nodes)


def one_node_graph() -> LinkedTextGraph:
    """One block without any link."""
    return graph_from_edges([], 1)


def hub_graph(num_links: int) -> LinkedTextGraph:
    """Node 0 links to nodes 1..num_links, and each of them back to it."""
    leaves = np.arange(1, num_links + 1)
    hub = np.zeros(num_links, np.int64)
    pairs = np.concatenate([np.stack([hub, leaves], 1), np.stack([leaves, hub], 1)])
    return graph_from_edges(pairs, num_links + 1)


def random_graph(
    num_nodes: int, num_edges: int, seed: int = 0, *, blocks_per_article: int = 3
) -> LinkedTextGraph:
    """Uniformly random hyperlinks (parallel ones and self-links included)."""
    rng = np.random.default_rng(seed)
    article = np.arange(num_nodes) // blocks_per_article
    return graph_from_edges(
        rng.integers(0, num_nodes, (num_edges, 2)),
        num_nodes,
        article=article,
        titles=[f"Article {i}" for i in range(article[-1] + 1)],
        sections=["" if i % blocks_per_article == 0 else "Body" for i in range(num_nodes)],
    )
