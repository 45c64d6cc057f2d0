"""Entity links on anchors that were hidden: how many are found, how many of these are right.

    python -m benchmarks.entity_linking --source=DUMP [--source=…] --json=linking.json

Each corpus is parsed once; then a share of its anchors (by seed) is hidden, mentions are learned
from the others, and the hidden ones are compared with what is linked, for a grid of thresholds.
"rate" is the share of hidden anchors inside the corpus whose characters a mention touches,
"precision" the share of all that a mention touches (also those that lead out of the corpus, which
are wrong) where it leads to the anchor's own article, "links per block" what the whole corpus gets
with all anchors known, beside its own links.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from wikinav_jax.common.files import write_json
from wikinav_jax.datasets.building.assembly import Assembly
from wikinav_jax.datasets.building.build import CorpusBuild
from wikinav_jax.datasets.building.source import SourceOptions
from wikinav_jax.datasets.linking import LinkingOptions
from wikinav_jax.datasets.sources.detect import open_source
from wikinav_jax.graph.linked_text import EdgeKind

DEFAULTS = LinkingOptions()


def measure(
    source: Path, folder: Path, grid: list[LinkingOptions], workers: int
) -> list[dict[str, Any]]:
    """A row for each of the options."""
    build = CorpusBuild(open_source(source), folder, options=SourceOptions(), workers=workers)
    num_chunks = build.parse()
    rows = []
    for options in grid:
        assembly = Assembly(build.spill, num_chunks, build.folder / "assembly")
        assembly.write(options)
        graph = assembly.graph({}, in_memory=True)
        report = graph.meta["entity_linking"]
        held_out = report.get("held_out", {})
        kinds = np.bincount(graph.edge_kind, minlength=len(EdgeKind))
        rows.append(
            {
                "source": source.name,
                "commonness": options.min_commonness,
                "link_probability": options.min_link_probability,
                "hidden": held_out.get("anchors", 0),
                "rate": held_out.get("rate"),
                "precision": held_out.get("precision"),
                "links_per_block": round(report["links"] / graph.num_nodes, 3),
                "own_links_per_block": round(int(kinds[EdgeKind.HYPERLINK]) / graph.num_nodes, 3),
                "mentions": report["mentions"],
                "blocks": graph.num_nodes,
                "seed": options.seed,
            }
        )
        print(_line(rows[-1]), flush=True)
    build.remove_spill()
    return rows


def _line(row: dict[str, Any]) -> str:
    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.1%}"

    return (
        f"| {row['source']} | {row['commonness']} | {row['link_probability']} | {row['hidden']:,} "
        f"| {share(row['rate'])} | {share(row['precision'])} | {row['links_per_block']} "
        f"| {row['own_links_per_block']} |"
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--source", action="append", required=True, help="again for more")
    parser.add_argument("--commonness", default=str(DEFAULTS.min_commonness), help="0.5,0.75")
    parser.add_argument("--link_probability", default=str(DEFAULTS.min_link_probability))
    parser.add_argument("--held_out", type=float, default=DEFAULTS.held_out)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    grid = [
        dataclasses.replace(
            DEFAULTS,
            min_commonness=float(commonness),
            min_link_probability=float(probability),
            held_out=arguments.held_out,
            seed=arguments.seed,
        )
        for commonness in arguments.commonness.split(",")
        for probability in arguments.link_probability.split(",")
    ]
    print(
        "| corpus | commonness | link probability | hidden anchors | rate | precision "
        "| links per block | own links per block |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for source in arguments.source:
            rows += measure(Path(source), Path(folder), grid, arguments.workers)
    if arguments.json:
        write_json(arguments.json, rows)


if __name__ == "__main__":
    main()
