"""Walks laid open: at every step all the links that were weighed, for walks.json and `explain`.

Axes: M decisions of a walk, E flat actions (see types.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from wikinav_jax.graph.distances import distances_to, shortest_distances
from wikinav_jax.graph.linked_text import EdgeKind, LinkedTextGraph
from wikinav_jax.navigation.baselines import cosine_scorer
from wikinav_jax.navigation.batches import WalkDecisions, flatten_actions, is_local
from wikinav_jax.navigation.beam import BEAM
from wikinav_jax.navigation.decoding import DECODINGS
from wikinav_jax.navigation.device_graph import to_device, with_link_vectors
from wikinav_jax.navigation.evaluate import Evaluation, Method
from wikinav_jax.navigation.rollout import Walks, run_episodes
from wikinav_jax.navigation.trails import trails_of
from wikinav_jax.navigation.types import (
    AT_START,
    NO_NODE,
    NodeFeatures,
    PolicyInput,
    Scorer,
    Trails,
)
from wikinav_jax.navigation.walkers import OUTCOMES

NUM_ALTERNATIVES = 8  # written down for a step, the most probable first
_LONG_WALK = 25  # successes with more steps than this are not read to the end

Json = dict[str, Any]


def explain_walk(
    graph: LinkedTextGraph,
    features: NodeFeatures,
    method: Method,
    start: int,
    target: int,
    *,
    mesh: Mesh,
    budget: int = 100,
    seed: int = 0,
    task: str = "explain",
) -> Json:
    """Plays one episode and lays it open: an entry of walks.json.

    Raises:
      ValueError: the start is the target, a node is not in the graph, or the decoding is a
        search (depth-first or beam), not a walk.
    """
    _check_decoding(method)
    if start == target:
        raise ValueError(
            f"start and target are the same block, {_name(graph, start)}; give two different ones"
        )
    walks = run_episodes(
        to_device(graph, mesh),
        features,
        method.scorer,
        method.params,
        np.array([start]),
        np.array([target]),
        decoding=method.decoding,
        budget=budget,
        seed=seed,
        mesh=mesh,
        slots=1,
        capacity=256,
    )
    shortest = int(shortest_distances(graph, np.array([start]), np.array([target]))[0])
    return _describe(graph, features, method, walks, 0, target, shortest, budget, task)


def example_walks(
    graph: LinkedTextGraph,
    features: NodeFeatures,
    method: Method,
    evaluation: Evaluation,
    task: str,
    *,
    budget: int = 100,
    num_successes: int = 4,
    num_failures: int = 4,
    seed: int = 0,
) -> list[Json]:
    """Some of the walks that an evaluation scored, successes first: entries of walks.json.

    The choice is uniform, except that successes of 3 to 25 steps come before trivial and endless
    ones where there are any.

    Raises:
      KeyError: the evaluation has no such task and method.
      ValueError: the decoding is a search (depth-first or beam), not a walk.
    """
    _check_decoding(method)
    episodes, walks = evaluation.episodes[task], evaluation.walks[task, method.name, method.label]
    goals = evaluation.goals.get(task)
    rng = np.random.default_rng([seed, 1])
    order = rng.permutation(len(episodes))
    wins = order[walks.success[order]]
    telling = (walks.steps[wins] >= 3) & (walks.steps[wins] <= _LONG_WALK)
    wins = np.concatenate([wins[telling], wins[~telling]])[:num_successes]
    losses = order[~walks.success[order]][:num_failures]
    return [
        _describe(
            graph,
            features,
            method,
            walks,
            int(row),
            int(episodes.target[row]),
            int(episodes.shortest[row]),
            budget,
            task,
            None if goals is None else goals[row],
        )
        for row in [*wins, *losses]
    ]


def can_be_told(method: Method) -> bool:
    """Whether its walks follow one link after the other: no way back, no several paths."""
    return method.decoding != BEAM and not DECODINGS[method.decoding].backtrack


def _check_decoding(method: Method) -> None:
    if not can_be_told(method):
        raise ValueError(
            f"decoding={method.decoding!r} does not follow one link after the other, and the "
            "account of a walk can show nothing else; choose sample, argmax or no_revisit"
        )


def _describe(
    graph: LinkedTextGraph,
    features: NodeFeatures,
    method: Method,
    walks: Walks,
    row: int,
    target: int,
    shortest: int,
    budget: int,
    task: str,
    goal: np.ndarray | None = None,
) -> Json:
    moves = int(walks.steps[row])
    path, rank = walks.path[row, : moves + 1], walks.rank[row, :moves]
    steps = _steps(graph, features, method, path, rank, target, goal) if moves else []
    success = bool(walks.success[row])
    if not success:
        if moves < budget:  # a dead end: nothing to choose from
            steps.append(_stop(graph, int(path[-1])))
        reason = _failure(graph, path, target, OUTCOMES[walks.outcome[row]], budget)
    else:
        reason = "reached the target"
    return {
        "task": task,
        "decoding": method.label,
        "outcome": "success" if success else "failure",
        "start": _place(graph, int(path[0])),
        "target": _place(graph, target),
        "shortest": shortest if shortest >= 0 else None,
        "steps": steps,
        "reason": reason,
    }


def _steps(
    graph: LinkedTextGraph,
    features: NodeFeatures,
    method: Method,
    path: np.ndarray,
    rank: np.ndarray,
    target: int,
    goal: np.ndarray | None,
) -> list[Json]:
    """Every decision of a walk, scored again all at once from what the walker saw."""
    inputs = walk_inputs(graph, path, rank, target, goal)
    inputs = with_link_vectors(features, inputs)
    logits = np.asarray(_scores(method.scorer)(method.params, features, inputs))
    cosine = np.asarray(_scores(cosine_scorer)({}, features, inputs))
    actions = inputs.actions
    steps = []
    for t in range(len(rank)):
        mine = np.flatnonzero(actions.valid & (actions.decision == t))
        score = logits[mine].astype(np.float64)
        probability = np.exp(score - score.max())
        probability /= probability.sum()
        # Stable, so that ties come in the links' order, as in the decodings.
        best = np.argsort(-probability, kind="stable")
        listed = best[:NUM_ALTERNATIVES]
        if rank[t] not in listed:
            listed = np.append(best[: NUM_ALTERNATIVES - 1], rank[t])
        alternatives = []
        for link in listed:
            slot = int(graph.indptr[path[t]]) + int(link)
            node = int(graph.indices[slot])
            span = [int(end) for end in graph.anchor[slot]]
            alternatives.append(
                {
                    "node": node,
                    "title": graph.title(node),
                    "section": graph.section(node),
                    "kind": EdgeKind(graph.edge_kind[slot]).name.lower(),
                    "probability": float(probability[link]),
                    "cosine": float(np.clip(cosine[mine[link]], -1, 1)),
                    "anchor": span if span[1] > span[0] else None,
                    "visited": bool(actions.visits[mine[link]] > 0),
                }
            )
        steps.append(
            {
                **_place(graph, int(path[t])),
                "chosen": int(np.flatnonzero(listed == rank[t])[0]),
                "alternatives": alternatives,
                "num_alternatives": len(mine),
            }
        )
    return steps


def walk_inputs(
    graph: LinkedTextGraph,
    path: np.ndarray,
    rank: np.ndarray,
    target: int,
    goal: np.ndarray | None = None,
) -> PolicyInput:
    """What a walker saw at each of its decisions.

    Args:
      graph: it walked on.
      path: int [M + 1], nodes it stood at.
      rank: int [M], place of the link it took among the links of each node.
      target: node.
      goal: float [d], what told the target in sentence search; else None.

    Returns:
      M decisions padded to a power of two (padding has no actions), with every link, so that few
      sizes are ever compiled.
    """
    moves = len(rank)
    node = path[:-1]
    slot = graph.indptr[node] + rank
    kind = graph.edge_kind[slot]
    run = np.zeros(moves, np.int32)
    history = np.full((moves, moves + 1), NO_NODE, np.int32)
    for t in range(moves):
        run[t] = run[t - 1] + 1 if t and is_local(kind[t - 1]) else 0
        history[t, moves - t :] = path[: t + 1]
    decisions = WalkDecisions(
        node=node,
        target=np.full(moves, target, np.int32),
        edge=slot,
        step=np.arange(moves),
        run=run,
        arrived_by=np.concatenate([[AT_START], kind[:-1]]).astype(np.uint8),
        history=history,
        walk=np.zeros(moves, np.int64),
    )
    links = int((graph.indptr[node + 1] - graph.indptr[node]).sum())
    capacity = 1 << (max(links, 2 * moves, 256) - 1).bit_length()
    inputs = flatten_actions(graph, decisions, capacity, np.random.default_rng(0)).inputs
    extra = max(16, 1 << (moves - 1).bit_length()) - moves
    trails = trails_of(decisions.walk, decisions.step, history[:, 1:])
    padded = jax.tree.map(lambda leaf: np.pad(leaf, (0, extra)), inputs.decisions)
    if goal is not None:
        padded = padded.replace(goal=np.tile(goal, (len(padded.node), 1)))
    trails = Trails(
        nodes=np.pad(trails.nodes, ((0, 0), (0, extra)), constant_values=NO_NODE),
        of_decision=np.pad(trails.of_decision, (0, extra)),
    )
    return PolicyInput(decisions=padded, actions=inputs.actions, trails=trails)


@functools.cache
def _scores(scorer: Scorer) -> Callable[..., jax.Array]:
    return jax.jit(scorer)


def _stop(graph: LinkedTextGraph, node: int) -> Json:
    return {**_place(graph, node), "chosen": None, "alternatives": [], "num_alternatives": 0}


def _place(graph: LinkedTextGraph, node: int) -> Json:
    return {
        "node": node,
        "title": graph.title(node),
        "section": graph.section(node),
        "text": graph.text(node),
    }


def _name(graph: LinkedTextGraph, node: int) -> str:
    section = graph.section(node)
    return f"#{node} ‘{graph.title(node)}{' > ' + section if section else ''}’"


def _failure(
    graph: LinkedTextGraph, path: np.ndarray, target: int, outcome: str, budget: int
) -> str:
    """Why a walk failed, for people."""
    reasons = {
        "budget": f"the budget of {budget} steps was spent",
        "dead_end": f"{_name(graph, int(path[-1]))} has no links to follow",
    }
    distance = distances_to(graph, np.array([target]))[0][path]
    reached = np.flatnonzero(distance >= 0)
    if not len(reached):
        return f"{reasons[outcome]}; no path led from the start to the target"
    nearest = int(reached[np.argmin(distance[reached])])
    if distance[nearest] == distance[0]:
        near = "it never came nearer to the target than at the start"
    else:
        links = int(distance[nearest])
        near = (
            f"it came within {links} link{'s' * (links != 1)} of the target after {nearest} "
            f"step{'s' * (nearest != 1)}, at {_name(graph, int(path[nearest]))}"
        )
    if outcome == "budget" and distance[-1] < 0:
        near += ", and ended where no path leads there"
    return f"{reasons[outcome]}; {near}"
