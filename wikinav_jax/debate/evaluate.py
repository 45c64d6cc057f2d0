"""Debates over many claims, on all devices; every edge may be chosen.

Axes: n claims, Q claims of a chunk, R rollouts, A arguments, T steps, D devices.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from wikinav_jax.common.progress import progress
from wikinav_jax.debate.agents import Agent
from wikinav_jax.debate.arguments import Rules, no_arguments, play, repeat
from wikinav_jax.debate.data import as_queries
from wikinav_jax.debate.judge import Judge
from wikinav_jax.debate.room import Room
from wikinav_jax.debate.types import AGENTS, Arguments, DebateGraph, Params, Queries, ask
from wikinav_jax.training.mesh import DATA_AXIS, replicated, sharded

HEARINGS = ("agents", "walks", "alone")  # what a judge listens to


class Verdicts(NamedTuple):
    """What the judge made of each debate."""

    logit: Any  # float32 [n, R]
    pro_logit: Any  # float32 [n, R], with con silenced
    con_logit: Any  # float32 [n, R], with pro silenced
    scores: Any  # float32 [n, R, A], of each argument alone


@dataclass(frozen=True)
class Debated:
    """Debates over n claims."""

    verdicts: Verdicts
    arguments: Arguments | None  # int32 [n, R, A, T], where they were kept

    @property
    def probability(self) -> np.ndarray:
        """float64 [n]: that the claim is true, the mean over rollouts."""
        return mean_probability(self.verdicts.logit)


def mean_probability(logits: np.ndarray) -> np.ndarray:
    """The mean over rollouts of the judge's probabilities, float64 [n], of logits [n, R]."""
    return (1 / (1 + np.exp(-np.clip(logits.astype(np.float64), -60, 60)))).mean(axis=1)


def debate_claims(
    room: Room,
    params: Params,
    triples: np.ndarray,
    *,
    rollouts: int,
    hearing: str = "agents",
    keep_arguments: bool = False,
    greedy: bool = False,
    seed: int | None = None,
    progress_bar: bool = True,
) -> Debated:
    """Debates each claim `rollouts` times and asks the judge.

    The debates of a chunk of claims are drawn from (seed, number of the chunk), so that one device
    and many find the same.

    Args:
      room: agents, judges and graph.
      params: of all learners.
      triples: int [n, 3].
      rollouts: R.
      hearing: "agents" argue, random "walks" argue, or the judge is left "alone".
      keep_arguments: return the paths too.
      greedy: agents take their most probable edges instead of drawing.
      seed: of the debates; the config's when None.
      progress_bar: show one.

    Raises:
      ValueError: no claims, or an unknown hearing.
    """
    if hearing not in HEARINGS:
        raise ValueError(f"hearing={hearing!r} is not one of {', '.join(HEARINGS)}")
    triples = np.asarray(triples, np.int32)
    if triples.ndim != 2 or triples.shape[1] != 3 or not len(triples):
        raise ValueError(f"triples have the shape {list(triples.shape)}; it must be [n, 3], n > 0")
    size = min(room.config.evaluate.queries, len(triples))
    policy = {"agents": "all", "walks": "uniform", "alone": "alone"}[hearing]
    rules = room.rules(policy=policy, training=False)
    if greedy:
        rules = Rules(**{**rules.__dict__, "greedy": True})
    program = _program(room.mesh, room.agent, room.judge, rules, rollouts, keep_arguments)
    judge = {"agents": "judge", "walks": "judge_walks", "alone": "judge_alone"}[hearing]
    needed = {"judge": params[judge]}
    if hearing == "agents":
        needed |= {name: params[name] for name in AGENTS}
    key = jax.random.key(room.config.seed if seed is None else seed)
    chunks = -(-len(triples) // size)
    rounds = -(-chunks // room.mesh.size)
    padded = np.resize(triples, (rounds * room.mesh.size * size, 3))
    parts: list[Any] = []
    steps = range(rounds)
    bar = progress(steps, desc="Debates", unit="chunk") if progress_bar else steps
    for number in bar:
        rows = slice(number * room.mesh.size * size, (number + 1) * room.mesh.size * size)
        place = np.arange(number * room.mesh.size, (number + 1) * room.mesh.size, dtype=np.int32)
        queries = spread(room.mesh, as_queries(padded[rows]))
        found = program(needed, room.graph, queries, spread(room.mesh, place), key)
        parts.append(jax.device_get(found))
    whole = jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(triples)], *parts)
    verdicts, arguments = whole
    return Debated(verdicts, arguments)


def spread(mesh: Mesh, tree: Any) -> Any:
    """Axis 0 split over the devices; every process holds the whole and gives its devices theirs."""
    return jax.tree.map(
        lambda leaf: jax.make_array_from_callback(
            leaf.shape, sharded(mesh), lambda index: leaf[index]
        ),
        tree,
    )


@functools.cache
def _program(
    mesh: Mesh, agent: Agent, judge: Judge, rules: Rules, rollouts: int, keep: bool
) -> Any:
    """The jitted debate of a chunk a device; cached, so that each shape is traced once."""
    split, whole = P(DATA_AXIS), P()

    def on_device(
        params: Params, graph: DebateGraph, queries: Queries, number: jax.Array, key: jax.Array
    ) -> Any:
        claims = queries.subject.shape[0]
        debated = repeat(queries, rollouts)
        key = jax.random.fold_in(key, number[0])
        if rules.policy == "alone":
            arguments = no_arguments(graph, debated, rules.path_length)
        else:
            arguments, _ = play(agent, params, graph, debated, key, rules)
        bound = params["judge"]
        weighed = ask(judge, bound, debated, arguments, method="weigh_each")
        count = weighed.shape[1]
        is_pro = (jnp.arange(count) % len(rules.agents) == 0).astype(jnp.float32)
        verdict = functools.partial(ask, judge, bound, weighed, debated, method="verdict")
        verdicts = Verdicts(
            logit=verdict(),
            pro_logit=verdict(heard=is_pro),
            con_logit=verdict(heard=1 - is_pro),
            scores=ask(judge, bound, weighed, debated, method="score_each"),
        )
        found = (verdicts, arguments if keep else None)
        return jax.tree.map(lambda leaf: leaf.reshape(claims, rollouts, *leaf.shape[1:]), found)

    mapped = jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(whole, whole, split, split, whole),
        out_specs=split,
        check_vma=False,  # the loops of the devices have nothing in common
    )
    return jax.jit(mapped, out_shardings=replicated(mesh))
