"""Debates played on the device: round by round, pro first, then con; each argument T steps.

Axes: B debates, N rounds, A = 2N arguments, T steps.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wikinav_jax.debate.agents import Agent, fresh_memory
from wikinav_jax.debate.environment import Actions, choose_among_all, step_uniformly, window
from wikinav_jax.debate.types import (
    AGENTS,
    Arguments,
    Choices,
    DebateGraph,
    Params,
    Queries,
    ask,
)

POLICIES = ("window", "all", "uniform")


@dataclasses.dataclass(frozen=True)
class Rules:
    """How debates are played."""

    num_rounds: int  # N, arguments of each agent
    path_length: int  # T, steps of an argument
    hide: str  # which edges are hidden, see environment.HIDING
    policy: str = "window"  # "window" of edges, "all" edges (exact), or "uniform": random walks
    width: int = 64  # edges at hand at most, of "window"
    sample_window: bool = True  # a uniform sample of a hub's edges; False: the first ones
    greedy: bool = False  # the most probable edge instead of a draw, of "all"
    share_previous: bool = False  # an argument begins with the last relation of the one before
    agents: tuple[str, ...] = AGENTS  # who speaks, in this order


class _Carry(NamedTuple):
    memories: Any  # agent -> Memory
    previous: jax.Array  # int32 [B], last relation of anyone


def play(
    agent: Agent,
    params: Params,
    graph: DebateGraph,
    queries: Queries,
    key: jax.Array,
    rules: Rules,
) -> tuple[Arguments, Choices]:
    """Plays one debate a query.

    Args:
      agent: the module that both agents are of.
      params: agent's name -> parameters; of policy "uniform" none are read.
      graph: what is walked.
      queries: leaves [B].
      key: typed key.
      rules: how.

    Returns:
      The arguments, and the log probability and entropy of every step (zeros for the policies
      "all" and "uniform", which nothing is learned from).
    """
    debates = queries.subject.shape[0]
    contexts, memories = {}, {}
    if rules.policy != "uniform":
        for name in rules.agents:
            contexts[name] = ask(agent, params[name], queries, method="context")
            memories[name] = fresh_memory(debates, agent.dim)
    start = jnp.full(debates, graph.start, jnp.int32)

    def argue(carry: _Carry, name: str, key: jax.Array) -> tuple[_Carry, Any]:
        """One argument of one agent."""

        def step(state: Any, t: jax.Array) -> tuple[Any, Any]:
            memory, previous, node = state
            step_key = jax.random.fold_in(key, t)
            zero = jnp.zeros(debates)
            if rules.policy == "uniform":
                relation, entity = step_uniformly(graph, queries, node, step_key, rules.hide)
                return (memory, relation, entity), (relation, entity, zero, zero)
            own = params[name]
            memory, query = ask(
                agent,
                own,
                memory,
                previous,
                node,
                contexts[name],
                node == queries.object,
                method="read",
            )
            if rules.policy == "all":
                relation, entity = choose_among_all(
                    graph,
                    queries,
                    node,
                    ask(agent, own, query, method="relation_scores"),
                    ask(agent, own, query, method="entity_query"),
                    params[name]["entity"],
                    ask(agent, own, query, method="mark_scores"),
                    step_key,
                    rule=rules.hide,
                    greedy=rules.greedy,
                )
                return (memory, relation, entity), (relation, entity, zero, zero)
            window_key, choice_key = jax.random.split(step_key)
            actions = window(
                graph,
                queries,
                node,
                window_key,
                width=rules.width,
                rule=rules.hide,
                sample=rules.sample_window,
                num_marks=agent.num_marks,
            )
            relation, entity, log_prob, entropy = _choose(agent, own, query, actions, choice_key)
            return (memory, relation, entity), (relation, entity, log_prob, entropy)

        previous = carry.previous if rules.share_previous else start
        state = (carry.memories.get(name), previous, queries.subject)
        (memory, previous, _), steps = jax.lax.scan(step, state, jnp.arange(rules.path_length))
        memories = {**carry.memories, name: memory} if name in carry.memories else carry.memories
        return _Carry(memories, previous), steps

    def round_(carry: _Carry, number: jax.Array) -> tuple[_Carry, Any]:
        steps = []
        for place, name in enumerate(rules.agents):
            argument_key = jax.random.fold_in(jax.random.fold_in(key, number), place)
            carry, found = argue(carry, name, argument_key)
            steps.append(found)
        return carry, jax.tree.map(lambda *leaves: jnp.stack(leaves), *steps)

    begin = _Carry(memories, start)
    _, played = jax.lax.scan(round_, begin, jnp.arange(rules.num_rounds))
    # [N, agents, T, B] -> [B, A, T]
    relation, entity, log_prob, entropy = jax.tree.map(
        lambda leaf: jnp.moveaxis(leaf, 3, 0).reshape(debates, -1, rules.path_length), played
    )
    return Arguments(relation, entity), Choices(log_prob, entropy)


def _choose(
    agent: Agent, own: Any, query: jax.Array, actions: Actions, key: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """A draw from the softmax over the actions at hand: relation, entity, log p, entropy."""

    # Recomputed in the backward pass: the gathered vectors of all steps would not fit.
    @jax.checkpoint
    def score(own: Any, query: jax.Array) -> jax.Array:
        return ask(agent, own, query, actions, method="logits")

    log_probs = jax.nn.log_softmax(score(own, query), axis=1)
    noise = jax.random.gumbel(key, log_probs.shape)
    choice = jnp.argmax(jax.lax.stop_gradient(log_probs) + noise, axis=1)[:, None]

    def taken(values: jax.Array) -> jax.Array:
        return jnp.take_along_axis(values, choice, axis=1)[:, 0]

    safe = jnp.where(actions.valid, log_probs, 0.0)
    entropy = -(jnp.where(actions.valid, jnp.exp(safe), 0.0) * safe).sum(axis=1)
    return taken(actions.relation), taken(actions.entity), taken(safe), entropy


def no_arguments(graph: DebateGraph, queries: Queries, path_length: int) -> Arguments:
    """An argument that says nothing: it stays at the (masked) subject. For a judge left alone."""
    shape = (queries.subject.shape[0], 1, path_length)
    return Arguments(
        relation=jnp.full(shape, graph.stay, jnp.int32),
        entity=jnp.broadcast_to(queries.subject[:, None, None], shape),
    )


def repeat(tree: Any, rollouts: int) -> Any:
    """Leaves [Q, …] -> [Q x rollouts, …]: the debates of a query stand side by side."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf, rollouts, axis=0), tree)
