"""What a graph looks like in numbers, for its `meta` and for whoever chooses options."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from wikinav_jax.graph.store import EdgeKind, LinkedTextGraph

_POINTS = 120
_WORD_BINS = 60
_PERCENTILES = (1, 5, 25, 50, 75, 95, 99, 100)


def graph_statistics(graph: LinkedTextGraph, words: np.ndarray) -> dict[str, Any]:
    """Counts and shapes of a graph, JSON-like.

    Args:
      graph: N blocks.
      words: int [N], words per block.
    """
    in_degree = np.bincount(graph.indices, minlength=graph.num_nodes)
    edges_by_kind = np.bincount(graph.edge_kind, minlength=len(EdgeKind))
    return {
        "articles": graph.num_articles,
        "blocks": graph.num_nodes,
        "edges": graph.num_edges,
        "edges_by_kind": {kind.name.lower(): int(edges_by_kind[kind]) for kind in EdgeKind},
        "words": int(words.sum()),
        "words_per_block": _spread(words),
        "out_degree": _spread(graph.out_degree),
        "in_degree": _spread(in_degree),
        "blocks_without_out_edges": int((graph.out_degree == 0).sum()),
        "blocks_without_in_edges": int((in_degree == 0).sum()),
        "largest_strongly_connected_share": _largest_component(graph) / graph.num_nodes,
    }


def distributions(graph: LinkedTextGraph, words: np.ndarray) -> dict[str, Any]:
    """Shapes to plot, JSON-like: some hundred numbers, whatever the size of the graph.

    Args:
      graph: N blocks.
      words: int [N], words per block.

    Returns:
      Of degrees and blocks per article, `share` of the blocks (or articles) with `at_least` so
      many; of words per block, `counts` of blocks in bins of `width` words from 0 on.
    """
    width = max(1, math.ceil(float(np.percentile(words, 99.5)) / _WORD_BINS))
    bins = np.bincount(np.minimum(words // width, _WORD_BINS + 1), minlength=_WORD_BINS + 2)
    return {
        "out_degree": _survival(graph.out_degree),
        "in_degree": _survival(np.bincount(graph.indices, minlength=graph.num_nodes)),
        "blocks_per_article": _survival(np.bincount(graph.article)),
        "words_per_block": {"width": width, "counts": np.trim_zeros(bins, "b").tolist()},
    }


def _survival(values: np.ndarray) -> dict[str, list]:
    """The share of values that are at least as large as each of some hundred."""
    count = np.bincount(values)
    at_least = count[::-1].cumsum()[::-1] / len(values)
    points = np.flatnonzero(count[1:]) + 1
    if len(points) > _POINTS:
        wanted = np.geomspace(points[0], points[-1], _POINTS)
        points = np.unique(points[np.searchsorted(points, wanted).clip(max=len(points) - 1)])
    return {"at_least": points.tolist(), "share": [round(x, 9) for x in at_least[points].tolist()]}


def _spread(values: np.ndarray) -> dict[str, float]:
    percentiles = np.percentile(values, _PERCENTILES)
    spread = {f"p{p}": float(value) for p, value in zip(_PERCENTILES, percentiles, strict=True)}
    return {"mean": round(float(values.mean()), 3), **spread}


def _largest_component(graph: LinkedTextGraph) -> int:
    """Nodes of the largest set in which every node reaches every other."""
    # scipy takes int32 index pointers where they fit, and copies otherwise.
    ones = np.ones(graph.num_edges, np.int8)
    matrix = csr_array(
        (ones, graph.indices, graph.indptr), shape=(graph.num_nodes, graph.num_nodes)
    )
    _, labels = connected_components(matrix, directed=True, connection="strong")
    return int(np.bincount(labels).max())
