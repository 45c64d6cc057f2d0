"""A synthetic graph of the size of a Wikispeedia half, for the navigation benchmarks."""

from __future__ import annotations

import argparse

import numpy as np

from wikinav_jax.graph.csr import csr_from_edges
from wikinav_jax.graph.linked_text import EdgeKind, LinkedTextGraph

BLOCKS_PER_ARTICLE = 30


def add_data_flags(parser: argparse.ArgumentParser, *, width: int) -> None:
    """Flags that say how large the graph and its features are."""
    parser.add_argument("--nodes", type=int, default=66_000)
    parser.add_argument("--edges", type=int, default=200_000, help="about so many")
    parser.add_argument("--width", type=int, default=width, help="of phi")
    parser.add_argument("--hops", type=int, default=3, help="neighbourhood rows (similarity)")
    parser.add_argument("--seed", type=int, default=0)


def synthetic_graph(num_nodes: int, num_edges: int, seed: int) -> LinkedTextGraph:
    """Articles of 30 blocks that follow each other, and hyperlinks to popular articles.

    Popularity falls off as a power law, so some nodes have thousands of in-links; a few blocks are
    lists with hundreds of links.
    """
    rng = np.random.default_rng([seed, 0])
    article = np.arange(num_nodes) // BLOCKS_PER_ARTICLE
    inside = np.flatnonzero(article[1:] == article[:-1])  # i and i + 1 in the same article
    links = max(num_edges - 2 * len(inside), 1)
    num_articles = int(article[-1]) + 1
    popularity = 1 / (10 + rng.permutation(num_articles))
    target = rng.choice(num_articles, links, p=popularity / popularity.sum()) * BLOCKS_PER_ARTICLE
    weight = rng.pareto(1.5, num_nodes) + 1
    source = rng.choice(num_nodes, links, p=weight / weight.sum())
    kinds = np.repeat(
        [EdgeKind.NEXT, EdgeKind.PREVIOUS, EdgeKind.HYPERLINK], [len(inside), len(inside), links]
    )
    csr = csr_from_edges(
        num_nodes,
        np.concatenate([inside, inside + 1, source]),
        np.concatenate([inside + 1, inside, target]),
        kinds,
    )
    return LinkedTextGraph.from_arrays(
        *csr,
        article=article,
        texts=[""] * num_nodes,
        titles=[f"Article {i}" for i in range(num_articles)],
        sections=[""] * num_nodes,
    )


def synthetic_vectors(num_nodes: int, width: int, seed: int) -> np.ndarray:
    """Unit rows, float32 [N, d]; blocks of an article are alike."""
    rng = np.random.default_rng([seed, 1])
    rows = rng.standard_normal((num_nodes, width), dtype=np.float32)
    own = rng.standard_normal((num_nodes // BLOCKS_PER_ARTICLE + 1, width), dtype=np.float32)
    rows += own[np.arange(num_nodes) // BLOCKS_PER_ARTICLE]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
