"""What training walks cost on the host, by the policy they come from.

    python -m benchmarks.trajectories --json trajectories.json
    python -m benchmarks.trajectories --graph=FOLDER   # a saved graph instead of a synthetic one

Processor time of one thread per 1,000 walks (for shortest paths: pairs), and per batch of so many
decisions, all that the sampler does included. The searches release the interpreter's lock, so the
sampler's threads (config.train.workers) share the work.
"""

from __future__ import annotations

import argparse
import platform
import statistics
from pathlib import Path

import numpy as np

from benchmarks.command import benchmark_parser, run_benchmark
from benchmarks.distances import linked_text_graph
from benchmarks.walks import timed
from wikinav_jax.graph.store import open_graph
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.trajectories import TrajectorySource

VARIANTS = (
    ("forward", 1),
    ("reverse", 1),
    ("shortest_walk", 1),
    ("shortest_uniform", 1),
    ("shortest_uniform", 8),
)


def measure(args: argparse.Namespace) -> dict:
    """Runs the benchmark."""
    if args.graph:
        graph = open_graph(args.graph)
    else:
        graph = linked_text_graph(args.nodes, args.edges, args.seed)
    graph.reverse()
    rows = []
    for policy, paths_per_start in VARIANTS:
        how = {"paths_per_start": paths_per_start}
        source = TrajectorySource(graph, policy, min_steps=1, max_steps=args.steps, **how)
        spec = BatchSpec(
            decisions_per_shard=args.decisions, policy=policy, max_walk_steps=args.steps, **how
        )
        sampler = WalkSampler(graph, spec, args.seed)  # also compiles

        def draw(number: int, source: TrajectorySource = source) -> float:
            walks = source.draw(args.walks, np.random.default_rng([args.seed, number]))
            return float(walks.lengths.mean())

        rounds = range(args.rounds)
        walks = statistics.median(timed(draw, number).cpu for number in rounds)
        batch = statistics.median(timed(sampler.batch_at, number).cpu for number in rounds)
        rows.append(
            {
                "policy": policy,
                "paths_per_start": paths_per_start,
                "cpu_ms_per_1000_walks": walks * 1e6 / args.walks,
                "cpu_ms_per_batch": batch * 1e3,
                "mean_steps": draw(0),
            }
        )
    return {
        "benchmark": "trajectories",
        "settings": {name: str(value) for name, value in vars(args).items() if name != "json"},
        "graph": {"nodes": graph.num_nodes, "edges": graph.num_edges},
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "rows": rows,
    }


def print_table(result: dict) -> None:
    """The result for people."""
    graph, decisions = result["graph"], result["settings"]["decisions"]
    print(f"{graph['nodes']:,} nodes, {graph['edges']:,} edges; CPU ms of one thread")
    print(f"{'walks':<34}{'per 1,000':>11}{f'batch of {decisions}':>16}{'mean steps':>12}")
    for row in result["rows"]:
        name = row["policy"]
        if name == "shortest_uniform":
            name += f", {row['paths_per_start']} per start"
        print(
            f"{name:<34}{row['cpu_ms_per_1000_walks']:11.1f}{row['cpu_ms_per_batch']:16.1f}"
            f"{row['mean_steps']:12.1f}"
        )


def main(argv: list[str] | None = None) -> dict:
    """Parses flags, measures, prints, writes."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--graph", type=Path, help="folder of a saved graph; else synthetic")
    parser.add_argument("--nodes", type=int, default=150_000)
    parser.add_argument("--edges", type=int, default=660_000)
    parser.add_argument("--walks", type=int, default=1_000)
    parser.add_argument("--decisions", type=int, default=1_024)
    parser.add_argument("--steps", type=int, default=20, help="of the longest walk")
    parser.add_argument("--rounds", type=int, default=5)
    return run_benchmark(parser, argv, measure, print_table)


if __name__ == "__main__":
    main()
