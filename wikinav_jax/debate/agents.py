"""An agent: an LSTM that walks the graph to collect arguments. R2D2 paper, section 3.1.

Axes: B debates, d width of the tables (the LSTM is 2d wide), K actions at hand.
"""

from __future__ import annotations

from typing import NamedTuple

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp

from wikinav_jax.debate.environment import Actions
from wikinav_jax.debate.types import Queries


class Memory(NamedTuple):
    """The state of the LSTM."""

    hidden: jax.Array  # float32 [B, 2d]
    cell: jax.Array  # float32 [B, 2d]


def fresh_memory(debates: int, dim: int) -> Memory:
    """The LSTM's state when a debate begins."""
    zero = jnp.zeros((debates, 2 * dim))
    return Memory(zero, zero)


class Agent(nn.Module):
    """One agent with tables of its own.

    It reads [previous relation; current entity; s; p; o]; what does not change during a debate,
    (s, p, o), goes through its weights once (`context`).
    """

    num_entities: int
    num_tokens: int  # 2R + 2 relations, see DebateGraph
    dim: int  # d
    frozen: bool = False  # tables are given and stay (R2D2+)
    sees_object: bool = True  # False: a walker that must find the object
    num_marks: int = 0  # M; beyond the paper: what an edge shows of the object, environment.MARKS

    def setup(self) -> None:
        self.entity = self.param(
            "entity", nn.initializers.xavier_uniform(), (self.num_entities, self.dim)
        )
        self.relation = self.param(
            "relation", nn.initializers.xavier_uniform(), (self.num_tokens, self.dim)
        )
        gates = 4 * 2 * self.dim
        self.read_claim = nn.Dense(gates, name="claim")
        self.read_relation = nn.Dense(gates, use_bias=False, name="last_relation")
        self.read_entity = nn.Dense(gates, use_bias=False, name="here")
        if self.num_marks:
            self.read_arrival = self.param("arrival", nn.initializers.zeros_init(), (gates,))
            self.pull = nn.Dense(self.num_marks, name="pull")
        self.recur = nn.Dense(
            gates, use_bias=False, name="recurrent", kernel_init=nn.initializers.orthogonal()
        )

    def tables(self) -> tuple[jax.Array, jax.Array]:
        """The entity table [N, d] and the relation table [2R + 2, d]."""
        if self.frozen:
            return jax.lax.stop_gradient(self.entity), jax.lax.stop_gradient(self.relation)
        return self.entity, self.relation

    def __call__(self, queries: Queries) -> jax.Array:
        """Touches every parameter, for `init`."""
        context = self.context(queries)
        memory = fresh_memory(queries.subject.shape[0], self.dim)
        arrived = queries.subject == queries.object
        memory, query = self.read(memory, queries.relation, queries.subject, context, arrived)
        return self.relation_scores(query) + self.mark_scores(query).sum(axis=1, keepdims=True)

    def context(self, queries: Queries) -> jax.Array:
        """What the claim adds to the gates at every step, float32 [B, 8d]."""
        entity, relation = self.tables()
        known = [entity[queries.subject], relation[queries.relation]]
        if self.sees_object:
            known.append(entity[queries.object])
        return self.read_claim(jnp.concatenate(known, axis=1))

    def read(
        self,
        memory: Memory,
        previous: jax.Array,
        node: jax.Array,
        context: jax.Array,
        arrived: jax.Array,
    ) -> tuple[Memory, jax.Array]:
        """One step of the LSTM.

        Args:
          memory: of the step before.
          previous: int32 [B], relation of the step before, or START.
          node: int32 [B], current entity.
          context: from `context`.
          arrived: bool [B], whether the current entity is the claim's object; read by agents to
            which it is marked.

        Returns:
          The new memory, and its output float32 [B, 2d]: the query that actions are scored by.
        """
        chex.assert_rank([previous, node], 1)
        entity, relation = self.tables()
        gates = context + self.read_relation(relation[previous]) + self.read_entity(entity[node])
        gates = gates + self.recur(memory.hidden)
        if self.num_marks:
            gates = gates + arrived[:, None] * self.read_arrival[None]
        update, forget, candidate, output = jnp.split(gates, 4, axis=1)
        # Remembering is the default: the bias of 1 of Jozefowicz et al. (2015).
        kept = memory.cell * jax.nn.sigmoid(forget + 1.0)
        cell = kept + jax.nn.sigmoid(update) * jnp.tanh(candidate)
        hidden = jax.nn.sigmoid(output) * jnp.tanh(cell)
        return Memory(hidden, cell), hidden

    def relation_scores(self, query: jax.Array) -> jax.Array:
        """The share of every relation in an action's score, float32 [B, 2R + 2]."""
        return query[:, : self.dim] @ self.tables()[1].T

    def entity_query(self, query: jax.Array) -> jax.Array:
        """float32 [B, d]: an entity's share is its dot product with this."""
        return query[:, self.dim :]

    def mark_scores(self, query: jax.Array) -> jax.Array:
        """What each mark adds to an action's score, float32 [B, M]."""
        return self.pull(query) if self.num_marks else jnp.zeros((query.shape[0], 0))

    def logits(self, query: jax.Array, actions: Actions) -> jax.Array:
        """<output, [relation; entity]> of the actions at hand, float32 [B, K]; -inf where invalid.

        Relations go through one small matrix product, from which scalars are gathered; entities'
        vectors are gathered and never put beside other tensors.
        """
        entity, _ = self.tables()
        of_relation = jnp.take_along_axis(self.relation_scores(query), actions.relation, axis=1)
        of_entity = jnp.einsum("bkd,bd->bk", entity[actions.entity], self.entity_query(query))
        score = of_relation + of_entity
        if self.num_marks:
            marks = actions.marks.astype(score.dtype)
            score = score + jnp.einsum("bkm,bm->bk", marks, self.mark_scores(query))
        return jnp.where(actions.valid, score, -jnp.inf)
