"""Steps per second of the walk sampler: numba against NumPy on one synthetic graph.

    python -m benchmarks.walks --json walks.json

Every round runs all variants one after another on the same starts, so that a busy machine slows
all of them alike: the ratios of a round are worth more than its figures. `cpu` counts the
processor time of the process instead of the clock, and hardly depends on what else is running.
Needs about 1 GB of memory at the default size.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from benchmarks.command import benchmark_parser, run_benchmark
from wikinav_jax.common.progress import progress
from wikinav_jax.graph.csr import read_only
from wikinav_jax.graph.walks import sample_forward_walks

REFERENCE = "numpy"


class SyntheticGraph(NamedTuple):
    """Edges between uniformly random nodes: every step misses every cache."""

    indptr: np.ndarray  # int64 [N + 1]
    indices: np.ndarray  # int32 [E]


class Timing(NamedTuple):
    """Seconds of one call by the clock and by the process's processor time."""

    wall: float
    cpu: float


def synthetic_graph(num_nodes: int, num_edges: int, seed: int) -> SyntheticGraph:
    """A graph of that size, read-only."""
    rng = np.random.default_rng([seed, 0])
    degree = np.bincount(rng.integers(0, num_nodes, num_edges, np.int32), minlength=num_nodes)
    indptr = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(degree, out=indptr[1:])
    indices = rng.integers(0, num_nodes, num_edges, np.int32)
    return SyntheticGraph(read_only(indptr), read_only(indices))


def make_variants(
    graph: SyntheticGraph, starts: np.ndarray, num_steps: int, threads: int
) -> dict[str, Callable[[int], object]]:
    """Name -> a call that samples all walks from a seed."""
    from wikinav_jax.graph.walk_kernels import walk_interleaved

    nodes = np.empty((len(starts), num_steps + 1), np.int32)
    edges = np.empty((len(starts), num_steps), np.int64)

    def sample(backend, part=starts, **kwargs):
        return lambda seed: sample_forward_walks(
            graph, part, num_steps, np.random.default_rng(seed), backend=backend, **kwargs
        )

    def bare(seed):
        walk_interleaved(*graph, starts, np.uint64(seed), False, nodes, edges)

    variants = {
        REFERENCE: sample("numpy"),
        "numba": sample("numba"),
        "numba, kernel alone": bare,
        "numpy, non-backtracking": sample("numpy", non_backtracking=True),
        "numba, non-backtracking": sample("numba", non_backtracking=True),
    }
    if threads > 1:
        parts = [sample("numba", part) for part in np.array_split(starts, threads)]

        def threaded(seed):
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda part: part(seed), parts))

        variants[f"numba, {threads} threads"] = threaded
    return variants


def timed(call: Callable[[int], object], seed: int) -> Timing:
    """Runs a call once."""
    wall, cpu = time.perf_counter(), time.process_time()
    call(seed)
    return Timing(time.perf_counter() - wall, time.process_time() - cpu)


def measure(args: argparse.Namespace) -> dict:
    """Runs the benchmark; rates are in steps per second."""
    graph = synthetic_graph(args.nodes, args.edges, args.seed)
    starts = np.random.default_rng([args.seed, 1]).integers(0, args.nodes, args.walks)
    variants = make_variants(graph, starts, args.steps, args.threads)

    few = make_variants(graph, starts[:2], args.steps, 1)
    compile_seconds = timed(few["numba"], 0).wall
    timings: dict[str, list[Timing]] = {name: [] for name in variants}
    for seed in progress(range(args.rounds), desc="rounds"):
        for name, call in variants.items():
            timings[name].append(timed(call, seed))

    steps = int(
        sample_forward_walks(graph, starts, args.steps, np.random.default_rng(0)).mask.sum()
    )
    rows = []
    for name, runs in timings.items():
        ratios = [
            reference.wall / run.wall
            for reference, run in zip(timings[REFERENCE], runs, strict=True)
        ]
        rows.append(
            {
                "variant": name,
                "steps_per_second_wall_best": steps / min(run.wall for run in runs),
                "steps_per_second_wall_median": steps / statistics.median(r.wall for r in runs),
                "steps_per_second_cpu_median": steps / statistics.median(r.cpu for r in runs),
                "times_numpy_median": statistics.median(ratios),
                "times_numpy_low": min(ratios),
                "times_numpy_high": max(ratios),
            }
        )
    return {
        "benchmark": "walks",
        "settings": {name: value for name, value in vars(args).items() if name != "json"},
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "steps": steps,
        "compile_seconds": compile_seconds,
        "rows": rows,
    }


def print_table(result: dict) -> None:
    """The result for people, in millions of steps per second."""
    print(
        f"{result['settings']['nodes']:,} nodes, {result['settings']['edges']:,} edges, "
        f"{result['steps']:,} steps a call; compiled in {result['compile_seconds']:.2f} s"
    )
    print(f"{'million steps/s':<26}{'best':>8}{'median':>8}{'cpu':>8}   times numpy (low..high)")
    for row in result["rows"]:
        rates = [row[f"steps_per_second_{kind}"] / 1e6 for kind in
                 ("wall_best", "wall_median", "cpu_median")]  # fmt: skip
        ratio = "{times_numpy_median:.2f} ({times_numpy_low:.2f}..{times_numpy_high:.2f})"
        print(
            f"{row['variant']:<26}" + "".join(f"{rate:8.1f}" for rate in rates),
            ratio.format(**row),
            sep="   ",
        )


def main(argv: list[str] | None = None) -> dict:
    """Parses flags, measures, prints, writes."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--nodes", type=int, default=5_000_000)
    parser.add_argument("--edges", type=int, default=50_000_000)
    parser.add_argument("--walks", type=int, default=200_000, help="walks a call")
    parser.add_argument("--steps", type=int, default=20, help="steps a walk")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    return run_benchmark(parser, argv, measure, print_table)


if __name__ == "__main__":
    main()
