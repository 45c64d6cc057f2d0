"""What a graph looks like, in words and numbers."""

from __future__ import annotations

import numpy as np

from wikinav_jax.datasets.building.summary import path_lengths, summary
from wikinav_jax.datasets.statistics import graph_statistics
from wikinav_jax.graph.csr import csr_from_edges
from wikinav_jax.graph.linked_text import LinkedTextGraph


def graph_of(num_nodes: int, src: list[int], dst: list[int]) -> LinkedTextGraph:
    csr = csr_from_edges(num_nodes, np.array(src, int), np.array(dst, int))
    names = [f"Article {i}" for i in range(num_nodes)]
    return LinkedTextGraph.from_arrays(
        **csr._asdict(),
        article=np.arange(num_nodes),
        texts=names,
        titles=names,
        sections=[""] * num_nodes,
    )


def test_path_lengths_on_a_ring():
    """On a ring of five every distance from 0 to 4 is equally likely."""
    ring = graph_of(5, [0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    lengths = path_lengths(ring, num_pairs=2000)
    assert lengths["reachable_share"] == 1
    assert lengths["p50"] == 2
    assert lengths["p100"] == 4
    assert abs(lengths["mean"] - 2) < 0.15
    assert path_lengths(ring, num_pairs=2000) == lengths


def test_path_lengths_without_edges():
    lengths = path_lengths(graph_of(100, [], []), num_pairs=500)
    assert lengths["reachable_share"] < 0.1
    assert lengths.get("mean", 0) == 0


def test_summary():
    graph = graph_of(3, [0, 1], [1, 0])
    dropped = {"links_to_unknown_titles": 7, "documents_without_words": 0}
    meta = {
        "statistics": {**graph_statistics(graph, np.array([2, 2, 2])), "dropped": dropped},
        "path_lengths": path_lengths(graph, num_pairs=300),
    }
    text = summary(meta)
    assert "articles" in text
    assert "dropped: links to unknown titles  7" in text
    assert "documents without words" not in text
    assert "66.7%" in text
    assert "of 300 drawn" in text
    assert "median" in text
