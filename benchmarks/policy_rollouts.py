"""Time of a rollout step: the remembering Transformer against the feed-forward policy.

    python -m benchmarks.policy_rollouts --json policy_rollouts.json

Walkers move together on a synthetic graph until the budget of each is spent. Every round plays all
policies one after another, so that a busy machine slows all of them alike: the ratios of a round
are worth more than its figures. `cpu` counts the processor time of the process, not the clock.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.command import benchmark_parser, run_benchmark
from wikinav_jax.common.progress import progress
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.navigation.baselines import uniform_scorer
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.device_graph import to_device
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.policies import FeedForwardPolicy, PolicyScorer
from wikinav_jax.navigation.rollout import run_episodes
from wikinav_jax.navigation.similarity import SimilarityPolicy
from wikinav_jax.navigation.transformer import TransformerPolicy, TransformerScorer
from wikinav_jax.training.mesh import make_mesh, replicate

REFERENCE = "feed_forward"


class Timing(NamedTuple):
    """Seconds by the clock, and of the process's processor time."""

    wall: float
    cpu: float


def synthetic_graph(num_nodes: int, num_links: int, seed: int) -> LinkedTextGraph:
    """Uniformly random links; every node has one at least."""
    rng = np.random.default_rng([seed, 0])
    source = np.concatenate([np.arange(num_nodes), rng.integers(0, num_nodes, num_links)])
    degree = np.bincount(source, minlength=num_nodes)
    links = int(degree.sum())
    return LinkedTextGraph.from_arrays(
        np.concatenate([[0], np.cumsum(degree)]).astype(np.int64),
        rng.integers(0, num_nodes, links).astype(np.int32),
        np.zeros(links, np.uint8),
        np.zeros((links, 2), np.uint16),
        np.arange(num_nodes, dtype=np.int32),
        [""] * num_nodes,
        [str(i) for i in range(num_nodes)],
        [""] * num_nodes,
    )


def make_players(args: argparse.Namespace, graph: LinkedTextGraph, features: Any) -> dict:
    """Name -> (scorer, parameters)."""
    policies = {
        REFERENCE: FeedForwardPolicy(hidden_dims=(args.hidden,)),
        "similarity": SimilarityPolicy(),
        "transformer": TransformerPolicy(
            width=args.width, num_heads=args.heads, mlp_dim=4 * args.width, context=args.context
        ),
    }
    players: dict[str, tuple[Any, Any]] = {"uniform": (uniform_scorer, {})}
    spec = BatchSpec(decisions_per_shard=64, trails=True)
    inputs = jax.tree.map(lambda leaf: leaf[0], WalkSampler(graph, spec, args.seed).batch_at(0))
    for name, policy in policies.items():
        init = jax.jit(
            lambda key, policy=policy: policy.init(key, features, inputs.inputs, train=False)
        )
        transformer = isinstance(policy, TransformerPolicy)
        scorer = TransformerScorer(policy) if transformer else PolicyScorer(policy)
        players[name] = (scorer, init(jax.random.key(args.seed))["params"])
    return players


def measure(args: argparse.Namespace) -> dict:
    """Runs the benchmark."""
    graph = synthetic_graph(args.nodes, args.links, args.seed)
    mesh = make_mesh(jax.devices()[:1])
    rng = np.random.default_rng([args.seed, 1])
    vectors = rng.standard_normal((args.nodes, args.features), np.float32)
    features = make_node_features(graph, vectors / np.sqrt(args.features), mesh=mesh)
    links = to_device(graph, mesh)
    start = rng.integers(0, args.nodes, args.walkers)
    target = (start + 1 + rng.integers(0, args.nodes - 1, args.walkers)) % args.nodes
    players = make_players(args, graph, features)
    players = {
        name: (scorer, replicate(mesh, params)) for name, (scorer, params) in players.items()
    }

    def play(name: str, seed: int) -> Timing:
        """Of a step of all walkers."""
        scorer, params = players[name]
        wall, cpu = time.perf_counter(), time.process_time()
        walks = run_episodes(
            links,
            features,
            scorer,
            params,
            start,
            target,
            decoding=args.decoding,
            budget=args.budget,
            seed=seed,
            mesh=mesh,
            slots=args.walkers,
            capacity=args.capacity,
        )
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        steps = int(walks.steps.max())
        return Timing(wall / steps, cpu / steps)

    for name in players:
        play(name, 0)  # compiles
    times: dict[str, list[Timing]] = {name: [] for name in players}
    for seed in progress(range(1, args.rounds + 1), desc="rounds"):
        for name in players:
            times[name].append(play(name, seed))
    rows = []
    for name, timings in times.items():
        row: dict[str, Any] = {"policy": name}
        for kind in Timing._fields:
            seconds = [getattr(timing, kind) for timing in timings]
            reference = [getattr(timing, kind) for timing in times[REFERENCE]]
            ratios = [a / b for a, b in zip(seconds, reference, strict=True)]
            row |= {
                f"milliseconds_{kind}_best": 1e3 * min(seconds),
                f"milliseconds_{kind}_median": 1e3 * statistics.median(seconds),
                f"times_feed_forward_{kind}_median": statistics.median(ratios),
                f"times_feed_forward_{kind}_low": min(ratios),
                f"times_feed_forward_{kind}_high": max(ratios),
            }
        rows.append(row)
    return {
        "benchmark": "policy_rollouts",
        "settings": {name: value for name, value in vars(args).items() if name != "json"},
        "machine": f"{platform.machine()}, {jax.devices()[0].device_kind}, jax {jax.__version__}",
        "rows": rows,
    }


def print_table(result: dict) -> None:
    """The result for people."""
    settings = result["settings"]
    print(f"{settings['walkers']} walkers, phi {settings['features']} wide, ms a step of them all")
    print(f"{'policy':<14}{'wall':>8}{'cpu':>8}   times feed-forward (low..high): wall, cpu")
    for row in result["rows"]:
        ratios = [
            f"{row[f'times_feed_forward_{kind}_median']:.2f} "
            f"({row[f'times_feed_forward_{kind}_low']:.2f}.."
            f"{row[f'times_feed_forward_{kind}_high']:.2f})"
            for kind in Timing._fields
        ]
        times = "".join(f"{row[f'milliseconds_{kind}_median']:8.2f}" for kind in Timing._fields)
        print(f"{row['policy']:<14}{times}   {', '.join(ratios)}")


def main(argv: list[str] | None = None) -> dict:
    """Parses flags, measures, prints, writes."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--links", type=int, default=60_000)
    parser.add_argument("--features", type=int, default=384, help="width of phi")
    parser.add_argument("--walkers", type=int, default=100)
    parser.add_argument("--budget", type=int, default=100, help="moves of a walker")
    parser.add_argument("--capacity", type=int, default=2048, help="links of a round")
    parser.add_argument("--decoding", default="sample")
    parser.add_argument("--hidden", type=int, default=1024, help="of the feed-forward policy")
    parser.add_argument("--width", type=int, default=128, help="of the Transformer")
    parser.add_argument("--heads", type=int, default=4, help="of the Transformer")
    parser.add_argument("--context", type=int, default=20, help="of the Transformer")
    parser.add_argument("--rounds", type=int, default=7)
    return run_benchmark(parser, argv, measure, print_table)


if __name__ == "__main__":
    main()
