"""How fast debates are played and learned from, as ratios measured in one run.

    python -m benchmarks.debate --dataset=fb15k237 --data_dir=DIR [--json=FILE]

Compares, on the same claims and parameters: random walks, windows of a hub's edges, the exact
choice among all edges, and a gradient step through windows. Times are the least of several runs.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from wikinav_jax.common.allocator import keep_freed_memory
from wikinav_jax.common.files import write_json
from wikinav_jax.datasets.knowledge_graphs import load_knowledge_graph
from wikinav_jax.debate.agents import Agent
from wikinav_jax.debate.arguments import Rules, play
from wikinav_jax.debate.data import as_queries
from wikinav_jax.debate.environment import to_device
from wikinav_jax.debate.types import AGENTS
from wikinav_jax.training.mesh import make_mesh, replicate


def least_seconds(function: Any, *arguments: Any, repeats: int) -> float:
    """The least time of several calls of a compiled function, after one that is not counted."""
    jax.block_until_ready(function(*arguments))
    found = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        found.append(time.perf_counter() - begin)
    return min(found)


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="fb15k237")
    parser.add_argument("--data_dir", type=Path, default=None)
    parser.add_argument("--cache_dir", type=Path, default=Path("~/.cache/wikinav_jax").expanduser())
    parser.add_argument("--debates", type=int, default=512)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--width", type=int, default=64, help="edges of a window")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None)
    flags = parser.parse_args()
    keep_freed_memory()

    mesh = make_mesh(jax.devices()[:1])
    kg = load_knowledge_graph(flags.dataset, data_dir=flags.data_dir, cache_dir=flags.cache_dir)
    graph = to_device(kg, mesh)
    agent = Agent(kg.num_entities, graph.num_tokens, flags.dim)
    rows = np.random.default_rng(0).integers(0, len(kg.train), flags.debates)
    queries = replicate(mesh, as_queries(kg.train[rows]))
    params = {
        name: agent.init(jax.random.key(place), queries)["params"]
        for place, name in enumerate(AGENTS)
    }
    key = jax.random.key(0)
    rules = Rules(num_rounds=3, path_length=3, hide="answers", width=flags.width)

    def forward(policy: str) -> Any:
        chosen = dataclasses.replace(rules, policy=policy)
        return jax.jit(lambda p, g, q, k: play(agent, p, g, q, k, chosen))

    def loss(params: Any, graph: Any, queries: Any, key: Any) -> jax.Array:
        _, choices = play(agent, params, graph, queries, key, rules)
        return choices.log_prob.sum() + choices.entropy.sum()

    programs = {
        "random walks": forward("uniform"),
        f"windows of {flags.width}": forward("window"),
        "all edges": forward("all"),
        f"gradient, windows of {flags.width}": jax.jit(jax.grad(loss)),
    }
    steps = flags.debates * rules.num_rounds * len(AGENTS) * rules.path_length
    seconds = {
        name: least_seconds(program, params, graph, queries, key, repeats=flags.repeats)
        for name, program in programs.items()
    }
    base = seconds[f"windows of {flags.width}"]
    print(f"{kg}, {flags.debates} debates, {steps:,} agent steps")
    print(f"{'program':<28}{'seconds':>10}{'steps/s':>12}{'ratio':>8}")
    table = []
    for name, value in seconds.items():
        ratio = value / base
        print(f"{name:<28}{value:>10.3f}{steps / value:>12,.0f}{ratio:>8.2f}")
        table.append({"program": name, "seconds": value, "ratio": ratio})
    if flags.json is not None:
        write_json(flags.json, {"dataset": kg.name, "debates": flags.debates, "rows": table})


if __name__ == "__main__":
    main()
