"""What a graph looks like, as the appendix of the navigation paper tells it: for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wikinav_jax.graph.distances import shortest_distances
from wikinav_jax.graph.linked_text import LinkedTextGraph


def path_lengths(graph: LinkedTextGraph, *, num_pairs: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Shortest paths between random blocks.

    Args:
      graph: the graph; its reverse is built for the search.
      num_pairs: how many pairs of blocks are drawn, uniformly.
      seed: of the draw.

    Returns:
      The number of pairs, the share with a path, how many take 0, 1, … hops, and mean and
      percentiles of the hops of those (absent where no pair has a path).
    """
    rng = np.random.default_rng([seed, graph.num_nodes])
    sources, targets = rng.integers(0, graph.num_nodes, (2, num_pairs))
    hops = shortest_distances(graph, sources, targets)
    reached = hops[hops >= 0]
    lengths: dict[str, Any] = {
        "pairs": num_pairs,
        "seed": seed,
        "reachable_share": len(reached) / num_pairs,
        "pairs_by_hops": np.bincount(reached).tolist() if len(reached) else [],
    }
    if len(reached):
        lengths["mean"] = round(float(reached.mean()), 3)
        for percent in (5, 50, 95, 100):
            lengths[f"p{percent}"] = float(np.percentile(reached, percent))
    return lengths


def summary(meta: Mapping[str, Any]) -> str:
    """The statistics of a graph's `meta` as lines of text."""
    rows = summary_rows(meta)
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def summary_rows(meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The statistics of a graph's `meta` as (name, value)."""
    statistics = meta["statistics"]
    edges = statistics["edges_by_kind"]
    paths = meta.get("path_lengths", {})
    rows = [
        ("articles", f"{statistics['articles']:,}"),
        ("blocks", f"{statistics['blocks']:,}"),
        ("words per block", _spread(statistics["words_per_block"])),
        ("edges", f"{statistics['edges']:,}"),
        *((f"  {kind}", f"{count:,}") for kind, count in edges.items()),
        ("out-degree", _spread(statistics["out_degree"])),
        ("in-degree", _spread(statistics["in_degree"])),
        (
            "largest strongly connected part",
            f"{statistics['largest_strongly_connected_share']:.1%}",
        ),
    ]
    if paths:
        rows.append(
            ("pairs with a path", f"{paths['reachable_share']:.1%} of {paths['pairs']} drawn")
        )
    if "p50" in paths:
        rows.append(("  hops", f"median {paths['p50']:.0f}, mean {paths['mean']:.1f}"))
    rows += _entity_rows(meta.get("entity_linking"))
    rows += [
        (f"dropped: {name.replace('_', ' ')}", f"{count:,}")
        for name, count in statistics["dropped"].items()
        if count
    ]
    return rows


def _entity_rows(linking: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """How entity links were made, and how well on anchors that were hidden."""
    if linking is None:
        return []
    rows = [("mentions that may be linked", f"{linking['mentions']:,}")]
    held_out = linking.get("held_out", {})
    if "rate" in held_out:
        right = held_out.get("precision")
        precision = f", {right:.1%} of links there right" if right is not None else ""
        rows.append(
            (
                "  on hidden anchors",
                f"{held_out['rate']:.1%} of {held_out['anchors']:,} linked{precision}",
            )
        )
    return rows


def _spread(spread: Mapping[str, float]) -> str:
    return (
        f"mean {spread['mean']:.1f}, median {spread['p50']:.0f}, 95% {spread['p95']:.0f}, "
        f"99% {spread['p99']:.0f}, most {spread['p100']:.0f}"
    )
