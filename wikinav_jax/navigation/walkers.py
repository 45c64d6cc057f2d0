"""Walkers in slots on one device, and the round in which they take a step.

A slot carries one walker; when its episode ends, the next one waiting takes the slot, so finished
episodes cost nothing. A round moves as many walkers as have their links fit into the flat list of
actions; the others wait for a later round, which changes nothing for them.

Axes: P episodes of this device, K slots, L = budget + 1 nodes of a walk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from wikinav_jax.graph.linked_text import EdgeKind
from wikinav_jax.navigation.decoding import (
    ALL_VISITED,
    NO_ACTION,
    NOT_FINITE,
    Decoding,
    choose_ranks,
)
from wikinav_jax.navigation.device_graph import (
    DeviceGraph,
    expand,
    out_degree,
    with_link_vectors,
)
from wikinav_jax.navigation.types import (
    AT_START,
    NO_NODE,
    Array,
    Decisions,
    Memory,
    NodeFeatures,
    PolicyInput,
    RememberingScorer,
    Scorer,
)

FREE = -1  # `episode` of a slot that carries nobody

# Outcomes of an episode.
WALKING, SUCCESS, BUDGET, DEAD_END, EXHAUSTED, BROKEN = range(6)
OUTCOMES = ("walking", "success", "budget", "dead_end", "exhausted", "broken")


@dataclass(frozen=True)
class RoundSpec:
    """What is fixed when a round is compiled."""

    scorer: Scorer
    budget: int
    low: int  # only walkers at nodes with more links than this; -1 also takes episodes in
    capacity: int  # of the flat list of actions

    @property
    def for_hubs(self) -> bool:
        """A round for nodes that the ordinary capacity cannot hold takes nobody in."""
        return self.low >= 0


class Slots(struct.PyTreeNode):
    """The walkers of this device."""

    episode: Array  # int32 [K], row of the device's episodes, or FREE
    node: Array  # int32 [K]
    target: Array  # int32 [K]
    previous: Array  # int32 [K]
    arrived_by: Array  # uint8 [K]
    run: Array  # int32 [K]
    step: Array  # int32 [K]
    stack: Array  # int32 [K, L], depth-first search's way back to the start
    depth: Array  # int32 [K], index of the walker's own node in `stack`
    memory: Memory  # of a RememberingScorer; () for others


class State(struct.PyTreeNode):
    """Everything that a round changes."""

    slots: Slots
    waiting: Array  # int32 [], first episode that has no slot yet
    outcome: Array  # int8 [P]
    steps: Array  # int32 [P]
    path: Array  # int32 [P + 1, L]; the last row takes the writes of free slots
    rank: Array  # int32 [P + 1, L], place of the link taken from path[p, t]; see choose_ranks


class Episodes(struct.PyTreeNode):
    """The episodes of this device."""

    start: Array  # int32 [P]
    target: Array  # int32 [P]
    number: Array  # int32 [P], the episode's number in the evaluation, for its random draws
    count: Array  # int32 [1], how many of the P rows are episodes
    goal: Array = None  # float [P, d], see Decisions.goal; or None


def initial_state(
    episodes: Episodes, budget: int, num_slots: int, memory_of: RememberingScorer | None = None
) -> State:
    """Nobody walks yet, all episodes wait. `memory_of`: the scorer, if it is a remembering one."""
    rows = episodes.start.shape[0]
    zero = jnp.zeros(num_slots, jnp.int32)
    return State(
        slots=Slots(
            episode=jnp.full(num_slots, FREE, jnp.int32),
            node=zero,
            target=zero,
            previous=zero,
            arrived_by=jnp.zeros(num_slots, jnp.uint8),
            run=zero,
            step=zero,
            stack=jnp.zeros((num_slots, budget + 1), jnp.int32),
            depth=zero,
            memory=() if memory_of is None else memory_of.init_memory(num_slots),
        ),
        waiting=jnp.zeros((), jnp.int32),
        outcome=jnp.full(rows, WALKING, jnp.int8),
        steps=jnp.zeros(rows, jnp.int32),
        path=jnp.full((rows + 1, budget + 1), NO_NODE, jnp.int32),
        rank=jnp.full((rows + 1, budget + 1), NO_ACTION, jnp.int32),
    )


def is_ready(slots: Slots, graph: DeviceGraph, spec: RoundSpec) -> jax.Array:
    """Walkers whose node's links such a round can hold, bool [K]."""
    degree = out_degree(graph, slots.node)
    return (slots.episode != FREE) & (degree > spec.low) & (degree <= spec.capacity)


def can_move(state: State, episodes: Episodes, graph: DeviceGraph, spec: RoundSpec) -> jax.Array:
    """Whether another such round has anything to do, bool []."""
    ready = is_ready(state.slots, graph, spec).any()
    if spec.for_hubs:
        return ready
    is_free = (state.slots.episode == FREE).any()
    return ready | (is_free & (state.waiting < episodes.count[0]))


def take_in(state: State, episodes: Episodes) -> State:
    """Gives free slots to waiting episodes."""
    slots, rows = state.slots, episodes.start.shape[0]
    free = slots.episode == FREE
    candidate = state.waiting + jnp.cumsum(free) - 1
    enters = free & (candidate < episodes.count[0])
    episode = jnp.where(enters, candidate, slots.episode)
    row = jnp.clip(episode, 0, rows - 1)
    node = jnp.where(enters, episodes.start[row], slots.node)

    def reset(values: jax.Array, initial: int) -> jax.Array:
        return jnp.where(enters, jnp.asarray(initial, values.dtype), values)

    return state.replace(
        slots=slots.replace(
            episode=episode,
            node=node,
            target=jnp.where(enters, episodes.target[row], slots.target),
            previous=reset(slots.previous, NO_NODE),
            arrived_by=reset(slots.arrived_by, AT_START),
            run=reset(slots.run, 0),
            step=reset(slots.step, 0),
            stack=slots.stack.at[:, 0].set(jnp.where(enters, node, slots.stack[:, 0])),
            depth=reset(slots.depth, 0),
        ),
        waiting=state.waiting + enters.sum(dtype=jnp.int32),
        path=state.path.at[jnp.where(enters, row, rows), 0].set(node),
    )


def move(
    state: State,
    episodes: Episodes,
    graph: DeviceGraph,
    features: NodeFeatures,
    params: Any,
    key: jax.Array,
    decoding: Decoding,
    spec: RoundSpec,
) -> State:
    """One round: every walker whose links fit takes one step.

    Args:
      state: of this device.
      episodes: of this device.
      graph: the links.
      features: of the graph's nodes.
      params: of the scorer.
      key: typed key of the evaluation; draws follow from it, the episode's number and its step.
      decoding: how to choose.
      spec: what is fixed at compilation.
    """
    if not spec.for_hubs:
        state = take_in(state, episodes)
    slots, rows = state.slots, episodes.start.shape[0]
    num_slots = slots.node.shape[0]
    row = jnp.where(slots.episode == FREE, rows, slots.episode)  # free slots: the spare row
    ready = is_ready(slots, graph, spec)
    links = jnp.where(ready, out_degree(graph, slots.node), 0)
    moves = ready & (jnp.cumsum(links) <= spec.capacity)

    # 1. What the walkers see, and what they choose.
    actions = expand(graph, slots.node, moves, state.path[row], spec.capacity)
    decisions = Decisions(
        node=slots.node,
        target=slots.target,
        previous=slots.previous,
        arrived_by=slots.arrived_by,
        run=slots.run,
        step=slots.step,
        goal=None if episodes.goal is None else episodes.goal[jnp.minimum(row, rows - 1)],
    )
    inputs = PolicyInput(decisions=decisions, actions=actions)
    inputs = with_link_vectors(features, inputs)
    if isinstance(spec.scorer, RememberingScorer):
        logits, memory = spec.scorer.step(params, features, inputs, slots.memory)
    else:
        logits, memory = spec.scorer(params, features, inputs), slots.memory
    number = episodes.number[jnp.minimum(row, rows - 1)]
    draws = jax.vmap(decision_key, in_axes=(None, 0, 0))(key, number, slots.step)
    rank = choose_ranks(logits, actions, draws, num_slots, decoding)

    # 2. The step: along a link, or back to the parent in a depth-first search.
    forward = moves & (rank >= 0)
    back = moves & (rank == ALL_VISITED) & (slots.depth > 0)
    slot = jnp.where(forward, graph.indptr[slots.node] + rank, 0)
    kind = graph.kind[slot]
    parent = jnp.take_along_axis(slots.stack, jnp.maximum(slots.depth - 1, 0)[:, None], 1)[:, 0]
    node = jnp.where(forward, graph.indices[slot], jnp.where(back, parent, slots.node))
    stepped = forward | back
    step = slots.step + stepped
    depth = slots.depth + forward.astype(jnp.int32) - back.astype(jnp.int32)
    # No link leads back to a parent: to a policy, that move looks like a start.
    arrived_by = jnp.where(forward, kind, jnp.where(back, jnp.uint8(AT_START), slots.arrived_by))
    run = jnp.where(forward & (kind >= EdgeKind.NEXT), slots.run + 1, 0)
    lane = jnp.arange(num_slots)
    stack = slots.stack.at[lane, jnp.where(forward, depth, spec.budget + 1)].set(node, mode="drop")

    # 3. Who is done.
    stuck = jnp.where(decoding.backtrack, EXHAUSTED, DEAD_END)
    outcome = jnp.where(moves & ~stepped, stuck, WALKING)
    outcome = jnp.where(stepped & (step >= spec.budget), BUDGET, outcome)
    outcome = jnp.where(stepped & (node == slots.target), SUCCESS, outcome)
    outcome = jnp.where(moves & (rank == NOT_FINITE), BROKEN, outcome)
    done = outcome != WALKING
    finished = jnp.where(done, row, rows)  # out of bounds: dropped
    return state.replace(
        slots=slots.replace(
            episode=jnp.where(done, FREE, slots.episode),
            node=node,
            previous=jnp.where(stepped, slots.node, slots.previous),
            arrived_by=arrived_by,
            run=jnp.where(stepped, run, slots.run),
            step=step,
            stack=stack,
            depth=depth,
            memory=memory,
        ),
        outcome=state.outcome.at[finished].set(outcome.astype(jnp.int8), mode="drop"),
        steps=state.steps.at[finished].set(step, mode="drop"),
        path=state.path.at[jnp.where(stepped, row, rows), step].set(node),
        rank=state.rank.at[jnp.where(stepped, row, rows), slots.step].set(rank),
    )


def decision_key(key: jax.Array, episode: jax.Array, step: jax.Array) -> jax.Array:
    """The key of one decision, whatever else is on the device."""
    return jax.random.fold_in(jax.random.fold_in(key, episode), step)
