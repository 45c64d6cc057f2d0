"""A graph's statistics as one page of plots and figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wikinav_jax.datasets.building.summary import summary_rows
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.reports.distributions import (
    Plot,
    histogram_plot,
    shares_plot,
    survival_plot,
)
from wikinav_jax.reports.page import write_plots_page

_LISTED = 50  # pages left out that the page names


def write_overview(graph: LinkedTextGraph, path: Path) -> Path:
    """Writes the page from the graph's `meta`, which a build fills.

    Args:
      graph: opened from where it was built.
      path: of the page.
    """
    meta = graph.meta
    facts = [("", summary_rows(meta))]
    report: Mapping[str, Any] = next((meta[kind] for kind in _KINDS if kind in meta), {})
    counts = {name: count for name, count in report.get("counts", {}).items() if count}
    if counts:
        facts.append(
            ("While reading", [(name.replace("_", " "), f"{n:,}") for name, n in counts.items()])
        )
    failed = report.get("failed_pages", [])
    if failed:
        shown = [(str(name), str(reason)) for name, reason in failed[:_LISTED]]
        more = f", the first {_LISTED} of {len(failed):,}" if len(failed) > _LISTED else ""
        facts.append((f"Pages left out{more}", shown))
    facts.append(("Origin", [(name, str(meta[name])) for name in ("source", "licence", "command")]))
    return write_plots_page(
        path,
        f"{graph.num_articles:,} articles, {graph.num_nodes:,} blocks, {graph.num_edges:,} links",
        plots(meta),
        facts,
        eyebrow="Linked text",
        notes=[str(problem) for problem in report.get("problems", [])],
    )


_KINDS = ("mediawiki", "zim", "html", "markdown", "jsonl")


def plots(meta: Mapping[str, Any]) -> list[Plot]:
    """The plots that a graph's `meta` holds the numbers of."""
    shapes = meta["distributions"]

    def points(name: str) -> tuple[list[float], list[float]]:
        return shapes[name]["at_least"], shapes[name]["share"]

    lengths = meta.get("path_lengths", {})
    pairs = lengths.get("pairs", 0)
    words = shapes["words_per_block"]
    made = [
        survival_plot(
            "Links of a block",
            {"out of it": points("out_degree"), "into it": points("in_degree")},
            x_label="links, or more (log)",
            caption="Share of blocks with at least so many links, next and previous among them.",
        ),
        histogram_plot(
            "Words per block",
            words["width"],
            words["counts"],
            x_label="words",
            caption="Share of blocks; the last bin holds all longer ones.",
        ),
        shares_plot(
            "Shortest paths",
            [count / pairs for count in lengths.get("pairs_by_hops", [])] if pairs else [],
            x_label="hops",
            caption=(
                f"Share of {pairs:,} random pairs of blocks; "
                f"{1 - lengths.get('reachable_share', 0):.1%} have no path."
            ),
        ),
        survival_plot(
            "Blocks of an article",
            {"blocks": points("blocks_per_article")},
            x_label="blocks, or more (log)",
            caption="Share of articles with at least so many blocks.",
        ),
    ]
    return [plot for plot in made if plot is not None]
