"""Seconds per 1,000 exact distances, between random nodes and between the ends of walks.

    python -m benchmarks.distances --json distances.json

Searches from both ends (numba) are compared with one NumPy search a source on the same pairs.
Seconds are processor time of all threads together, which hardly depends on what else is running.
"""

from __future__ import annotations

import argparse
import platform
import statistics

import numpy as np

from benchmarks.command import benchmark_parser, run_benchmark
from benchmarks.walks import synthetic_graph, timed
from wikinav_jax.graph.csr import csr_from_edges, edge_sources
from wikinav_jax.graph.distances import shortest_distances
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.walks import sample_forward_walks


def linked_text_graph(num_nodes: int, num_edges: int, seed: int) -> LinkedTextGraph:
    """A synthetic graph without words, which keeps its reverse graph as a real one does."""
    synthetic = synthetic_graph(num_nodes, num_edges, seed)
    csr = csr_from_edges(num_nodes, edge_sources(synthetic), synthetic.indices)
    return LinkedTextGraph.from_arrays(
        **csr._asdict(),
        article=np.arange(num_nodes),
        texts=[""] * num_nodes,
        titles=[str(number) for number in range(num_nodes)],
        sections=[""] * num_nodes,
    )


def measure(args: argparse.Namespace) -> dict:
    """Runs the benchmark."""
    graph = linked_text_graph(args.nodes, args.edges, args.seed)
    rng = np.random.default_rng([args.seed, 1])
    sources = rng.integers(0, args.nodes, args.pairs)
    ends = sample_forward_walks(graph, sources, args.steps, rng).nodes[:, -1]
    few = slice(0, args.numpy_pairs)
    reversal = timed(lambda _: graph.reverse(), 0)
    compilation = timed(lambda _: shortest_distances(graph, sources[:1], ends[:1]), 0)
    rows = []
    for name, targets, cutoff in (
        ("random nodes", rng.integers(0, args.nodes, args.pairs), None),
        ("ends of walks", ends, None),
        (f"ends of walks, cutoff {args.steps}", ends, args.steps),
    ):

        def fast(_: int, targets=targets, cutoff=cutoff) -> np.ndarray:
            return shortest_distances(graph, sources, targets, cutoff=cutoff)

        def reference(_: int, targets=targets, cutoff=cutoff) -> np.ndarray:
            return shortest_distances(
                graph, sources[few], targets[few], cutoff=cutoff, backend="numpy"
            )

        cpu = statistics.median(timed(fast, 0).cpu for _ in range(args.rounds))
        cpu *= 1_000 / args.pairs
        reference_cpu = timed(reference, 0).cpu * 1_000 / len(sources[few])
        found = fast(0)
        rows.append(
            {
                "pairs": name,
                "numba_cpu_seconds_per_1000": cpu,
                "numpy_cpu_seconds_per_1000": reference_cpu,
                "times_numpy": reference_cpu / cpu,
                "reachable": float((found >= 0).mean()),
                "mean_distance": float(found[found >= 0].mean()),
                "max_distance": int(found.max()),
            }
        )
    return {
        "benchmark": "distances",
        "settings": {name: value for name, value in vars(args).items() if name != "json"},
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "reverse_seconds": reversal.wall,
        "compile_seconds": compilation.wall,
        "rows": rows,
    }


def print_table(result: dict) -> None:
    """The result for people."""
    print(
        f"{result['settings']['nodes']:,} nodes, {result['settings']['edges']:,} edges; reversed "
        f"in {result['reverse_seconds']:.2f} s, compiled in {result['compile_seconds']:.2f} s"
    )
    print(f"{'CPU ms per 1,000 pairs':<28}{'numba':>9}{'numpy':>11}{'ratio':>8}{'mean hops':>11}")
    for row in result["rows"]:
        print(
            f"{row['pairs']:<28}{row['numba_cpu_seconds_per_1000'] * 1e3:9.1f}"
            f"{row['numpy_cpu_seconds_per_1000'] * 1e3:11.1f}{row['times_numpy']:8.0f}"
            f"{row['mean_distance']:11.1f}"
        )


def main(argv: list[str] | None = None) -> dict:
    """Parses flags, measures, prints, writes."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--nodes", type=int, default=150_000)
    parser.add_argument("--edges", type=int, default=500_000)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--numpy_pairs", type=int, default=50, help="pairs for the slow reference")
    parser.add_argument("--steps", type=int, default=20, help="steps of the walks; the cutoff")
    parser.add_argument("--rounds", type=int, default=3)
    return run_benchmark(parser, argv, measure, print_table)


if __name__ == "__main__":
    main()
