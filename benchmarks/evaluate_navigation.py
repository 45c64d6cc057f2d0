"""Seconds that 1,000 evaluation episodes of 100 steps take on the device, for every method.

    python -m benchmarks.evaluate_navigation --json evaluate.json

On a synthetic graph of the size of a Wikispeedia half. The policies are untrained, so they seldom
arrive and walk nearly the whole budget: the worst case. Methods that differ in their decoding only
share a compiled program, so the first of them pays for it. Each method plays again after that,
several times; the table gives the best and the median.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import jax

from benchmarks.navigation_data import add_data_flags, synthetic_graph, synthetic_vectors
from wikinav_jax.common.allocator import keep_freed_memory
from wikinav_jax.common.files import write_json
from wikinav_jax.common.progress import progress
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.device_graph import to_device
from wikinav_jax.navigation.evaluate import Method, baselines_for
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.policies import FeedForwardPolicy, PolicyScorer
from wikinav_jax.navigation.rollout import run_episodes
from wikinav_jax.navigation.similarity import SimilarityPolicy
from wikinav_jax.navigation.tasks import TASKS, draw_episodes
from wikinav_jax.training.mesh import make_mesh

DECODINGS = ("sample", "argmax", "no_revisit")


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Times every method in turn."""
    graph = synthetic_graph(args.nodes, args.edges, args.seed)
    mesh = make_mesh()
    vectors = synthetic_vectors(args.nodes, args.width, args.seed)
    features = make_node_features(graph, vectors, mesh=mesh, hops=args.hops)
    links = to_device(graph, mesh)
    spec = BatchSpec(decisions_per_shard=64)
    sample = WalkSampler(graph, spec, args.seed).shard_at(0, 0).inputs
    methods = list(baselines_for(features))
    for name, policy in (
        ("feed_forward", FeedForwardPolicy(hidden_dims=(args.hidden,))),
        ("similarity", SimilarityPolicy()),
    ):
        init = jax.jit(lambda key, policy=policy: policy.init(key, features, sample, train=False))
        params = init(jax.random.key(args.seed))["params"]
        methods += [Method(name, kind, PolicyScorer(policy), params) for kind in DECODINGS]
    episodes = draw_episodes(graph, TASKS["multistep"], num_episodes=args.episodes, seed=args.seed)
    rows = []
    for method in progress(methods, desc="methods"):
        seconds = []
        for _ in range(args.rounds + 1):
            begin = time.perf_counter()
            walks = run_episodes(
                links,
                features,
                method.scorer,
                method.params,
                episodes.start,
                episodes.target,
                decoding=method.decoding,
                budget=args.budget,
                seed=args.seed,
                mesh=mesh,
            )
            seconds.append(time.perf_counter() - begin)
        rows.append(
            {
                "method": method.name,
                "decoding": method.label,
                "success": float(walks.success.mean()),
                "moves": int(walks.steps.sum()),
                "first_seconds": seconds[0],
                "best_seconds": min(seconds[1:]),
                "median_seconds": statistics.median(seconds[1:]),
            }
        )
    return {
        "benchmark": "evaluate_navigation",
        "settings": {name: value for name, value in vars(args).items() if name != "json"},
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, jax {jax.__version__}",
        "rows": rows,
    }


def print_table(result: dict[str, Any]) -> None:
    """The result for people."""
    settings = result["settings"]
    print(
        f"{settings['episodes']:,} episodes of at most {settings['budget']} steps, "
        f"{settings['nodes']:,} nodes, d = {settings['width']}"
    )
    print(
        f"{'method':<18}{'decoding':<12}{'success':>8}{'moves':>9}"
        f"{'first s':>9}{'best s':>8}{'median s':>10}{'moves/s':>11}"
    )
    for row in result["rows"]:
        print(
            f"{row['method']:<18}{row['decoding']:<12}{row['success']:8.1%}{row['moves']:9,}"
            f"{row['first_seconds']:9.2f}{row['best_seconds']:8.2f}{row['median_seconds']:10.2f}"
            f"{row['moves'] / row['median_seconds']:11,.0f}"
        )


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Parses flags, measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add_data_flags(parser, width=384)
    parser.add_argument("--episodes", type=int, default=1_000)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--hidden", type=int, default=1024, help="width of FF")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the result")
    args = parser.parse_args(argv)
    keep_freed_memory()
    result = measure(args)
    print_table(result)
    if args.json:
        write_json(args.json, result)
    return result


if __name__ == "__main__":
    main()
