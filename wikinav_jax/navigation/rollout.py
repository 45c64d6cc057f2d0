"""Episodes on the device: batched, spread over the mesh, every link counted.

An ordinary round holds `capacity` links. A node with more stops the loop, which then runs a round
in a list of the next power of two that holds it, and goes on: **no hub is cut**. No walker's moves
depend on the others (see walkers.py).

Axes: P episodes, L = budget + 1 nodes of a walk.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from wikinav_jax.navigation.decoding import NO_ACTION, Decoding, check_decoding
from wikinav_jax.navigation.device_graph import DeviceGraph, out_degree
from wikinav_jax.navigation.types import NodeFeatures, RememberingScorer, Scorer
from wikinav_jax.navigation.walkers import (
    BROKEN,
    BUDGET,
    FREE,
    SUCCESS,
    Episodes,
    RoundSpec,
    State,
    can_move,
    initial_state,
    move,
)
from wikinav_jax.training.mesh import DATA_AXIS, replicate, replicated, sharded


@dataclass(frozen=True)
class Walks:
    """Finished episodes, on the host."""

    outcome: np.ndarray  # int8 [P], an index into OUTCOMES
    steps: np.ndarray  # int32 [P], moves made
    path: np.ndarray  # int32 [P, L], nodes stood at; NO_NODE after the last
    rank: np.ndarray  # int32 [P, L], place of the link taken from there; see choose_ranks

    @property
    def success(self) -> np.ndarray:
        """bool [P]."""
        return self.outcome == SUCCESS


def run_episodes(
    graph: DeviceGraph,
    features: NodeFeatures,
    scorer: Scorer,
    params: Any,
    start: np.ndarray,
    target: np.ndarray,
    *,
    goal: np.ndarray | None = None,
    decoding: str,
    budget: int,
    seed: int,
    mesh: Mesh,
    slots: int = 256,
    capacity: int = 2048,
) -> Walks:
    """Walks from every start towards its target, at most `budget` moves.

    Args:
      graph: from `to_device`, on the mesh.
      features: of the graph's nodes, on the mesh.
      scorer: gives the links their logits; hashable.
      params: for the scorer, on the mesh (or on the host).
      start: int [P].
      target: int [P], different from the starts.
      goal: float [P, d], what tells each target instead of phi(target); see Decisions.goal.
      decoding: a key of DECODINGS.
      budget: most moves of an episode; 0 fails every episode at its start.
      seed: of sampled moves. Episode p's draws depend on (seed, p, its step) alone.
      mesh: episodes are spread over its devices.
      slots: K, walkers moved together on one device.
      capacity: C of the ordinary round.

    Raises:
      ValueError: no episodes, a bad budget, a start that is its target, or a scorer that gives NaN
        or infinity.
    """
    start, target = np.asarray(start, np.int32), np.asarray(target, np.int32)
    check_episodes(start, target, budget, graph.indptr.shape[0] - 1)
    num_episodes = len(start)
    rule = check_decoding(decoding)
    if goal is not None and (goal.ndim != 2 or len(goal) != num_episodes):
        raise ValueError(
            f"goal has shape {list(goal.shape)}; give one row for each of {num_episodes} episodes"
        )
    if budget == 0:
        return Walks(
            outcome=np.full(num_episodes, BUDGET, np.int8),
            steps=np.zeros(num_episodes, np.int32),
            path=start[:, None],
            rank=np.full((num_episodes, 1), NO_ACTION, np.int32),
        )
    episodes = _spread(mesh, start, target, goal)
    begin, loop = _programs(mesh, budget, slots)
    key = replicate(mesh, jax.random.key(seed))
    memory_of = scorer if isinstance(scorer, RememberingScorer) else None
    state = begin(episodes, memory_of=memory_of)
    ordinary = RoundSpec(scorer, budget, low=-1, capacity=capacity)
    spec = ordinary
    while True:
        state, left, widest = loop(state, episodes, graph, features, params, key, rule, spec=spec)
        if not int(left):
            break
        # What is left stands at nodes that this kind of round does not hold.
        spec = ordinary
        if int(widest) > capacity:
            spec = dataclasses.replace(ordinary, low=capacity, capacity=next_power(int(widest)))
    walks = _fetch(mesh, state, num_episodes)
    if (walks.outcome == BROKEN).any():
        bad = int(np.argmax(walks.outcome == BROKEN))
        raise ValueError(
            f"the policy gave NaN or infinite logits in episode {bad} (from node {start[bad]} to "
            f"{target[bad]}); its parameters or the features of the graph are broken"
        )
    return walks


def next_power(number: int) -> int:
    """The least power of two that is at least `number`."""
    return 1 << (number - 1).bit_length()


def check_episodes(start: np.ndarray, target: np.ndarray, budget: int, num_nodes: int) -> None:
    """Raises ValueError for what `run_episodes` says that it does not play."""
    if start.ndim != 1 or start.shape != target.shape or not len(start):
        raise ValueError(
            f"starts {list(start.shape)} and targets {list(target.shape)} must be one list each, "
            "of the same length, with at least one episode"
        )
    if budget < 0:
        raise ValueError(f"budget={budget} must be at least 0 moves")
    for name, nodes in (("start", start), ("target", target)):
        if nodes.min() < 0 or nodes.max() >= num_nodes:
            raise ValueError(f"a {name} is no node of the graph: it must lie in 0..{num_nodes - 1}")
    if (start == target).any():
        raise ValueError(
            f"{int((start == target).sum())} episodes start at their target; exclude and count them"
        )


def _spread(mesh: Mesh, start: np.ndarray, target: np.ndarray, goal: np.ndarray | None) -> Episodes:
    """Episodes in equal parts over the devices; the last devices' parts may be padded."""
    devices = mesh.size
    rows = -(-len(start) // devices)
    padding = (0, rows * devices - len(start))
    count = np.clip(len(start) - rows * np.arange(devices), 0, rows)
    host = Episodes(
        start=np.pad(start, padding),
        target=np.pad(target, padding),
        number=np.arange(rows * devices, dtype=np.int32),
        count=count.astype(np.int32),
        goal=None if goal is None else np.pad(goal, (padding, (0, 0))),
    )
    # Every process holds all episodes, and gives its devices their parts.
    return jax.tree.map(
        lambda leaf: jax.make_array_from_callback(
            leaf.shape, sharded(mesh), lambda index: leaf[index]
        ),
        host,
    )


def _fetch(mesh: Mesh, state: State, num_episodes: int) -> Walks:
    """Results of all devices (and processes) on this host, in the episodes' order."""
    found = jax.device_get(_gather(mesh)((state.outcome, state.steps, state.path, state.rank)))

    def whole(rows: np.ndarray) -> np.ndarray:
        """Without the spare row at the end of each device's part."""
        parts = rows.reshape(mesh.size, -1, rows.shape[1])[:, :-1]
        return parts.reshape(-1, rows.shape[1])[:num_episodes]

    outcome, steps, path, rank = found
    return Walks(outcome[:num_episodes], steps[:num_episodes], whole(path), whole(rank))


@functools.cache
def _gather(mesh: Mesh) -> Any:
    return jax.jit(lambda tree: tree, out_shardings=replicated(mesh))


@functools.cache
def _programs(mesh: Mesh, budget: int, num_slots: int) -> tuple[Any, Any]:
    """The jitted start and loop for a mesh; cached, so that each shape is traced once."""
    split, whole = P(DATA_AXIS), P()

    def start(episodes: Episodes, memory_of: RememberingScorer | None) -> State:
        def on_device(episodes: Episodes) -> State:
            return _lift(initial_state(episodes, budget, num_slots, memory_of))

        mapped = jax.shard_map(
            on_device, mesh=mesh, in_specs=split, out_specs=split, check_vma=False
        )
        return mapped(episodes)

    def loop(
        state: State,
        episodes: Episodes,
        graph: DeviceGraph,
        features: NodeFeatures,
        params: Any,
        key: jax.Array,
        rule: Decoding,
        spec: RoundSpec,
    ) -> tuple[State, jax.Array, jax.Array]:
        def on_device(
            state: State,
            episodes: Episodes,
            graph: DeviceGraph,
            features: NodeFeatures,
            params: Any,
            key: jax.Array,
            rule: Decoding,
        ) -> tuple[State, jax.Array, jax.Array]:
            state = jax.lax.while_loop(
                lambda s: can_move(s, episodes, graph, spec),
                lambda s: move(s, episodes, graph, features, params, key, rule, spec),
                _drop(state),
            )
            active = state.slots.episode != FREE
            waiting = jnp.maximum(episodes.count[0] - state.waiting, 0)
            widest = jnp.where(active, out_degree(graph, state.slots.node), 0).max()
            # The devices' loops are over: only now do they speak to each other.
            left = jax.lax.psum(active.sum(dtype=jnp.int32) + waiting, DATA_AXIS)
            return _lift(state), left, jax.lax.pmax(widest, DATA_AXIS)

        mapped = jax.shard_map(
            on_device,
            mesh=mesh,
            in_specs=(split, split, whole, whole, whole, whole, whole),
            out_specs=(split, whole, whole),
            check_vma=False,  # the loops of the devices have nothing in common until the sums
        )
        return mapped(state, episodes, graph, features, params, key, rule)

    begin = jax.jit(start, static_argnames="memory_of")
    return begin, jax.jit(loop, static_argnames="spec", donate_argnums=0)


def _lift(state: State) -> State:
    """Gives the scalar an axis, so that it can be split over devices."""
    return state.replace(waiting=state.waiting[None])


def _drop(state: State) -> State:
    return state.replace(waiting=state.waiting[0])
