"""The judge: weighs the arguments of a debate. R2D2 paper, section 3.2.

Axes: B debates, A arguments, T steps.
"""

from __future__ import annotations

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp

from wikinav_jax.debate.types import Arguments, Queries

AGGREGATES = ("sum", "mean")


class Judge(nn.Module):
    """Scores arguments without ever seeing the subject, which is masked wherever a path touches it.

    Each argument [r_1; e_1; …; r_T; e_T; p; o] goes through an MLP; a classifier reads their sum.
    """

    num_entities: int
    num_tokens: int
    dim: int
    hidden_dim: int
    path_length: int
    aggregate: str = "sum"
    frozen: bool = False  # tables are given and stay (R2D2+)
    sees_subject: bool = False  # beyond the paper: the classifier also reads (s, p, o) itself
    claim_dim: int = 0  # width of given tables that it reads them from; 0: from the others
    marks_object: bool = False  # beyond the paper: it is told where a path stands at the object
    dropout: float = 0.0  # of an argument's hidden layer

    def setup(self) -> None:
        if self.aggregate not in AGGREGATES:
            raise ValueError(f"aggregate={self.aggregate!r} is not one of {', '.join(AGGREGATES)}")
        table = nn.initializers.xavier_uniform()
        self.entity = self.param("entity", table, (self.num_entities, self.dim))
        self.relation = self.param("relation", table, (self.num_tokens, self.dim))
        width, steps = self.hidden_dim, self.path_length
        # One matrix a step; together they are the first layer on the concatenation.
        fan_in = nn.initializers.variance_scaling(
            1.0, "fan_in", "truncated_normal", batch_axis=(0,)
        )
        self.step_relation = self.param("step_relation", fan_in, (steps, self.dim, width))
        self.step_entity = self.param("step_entity", fan_in, (steps, self.dim, width))
        self.read_claim = nn.Dense(width, name="claim")
        self.second = nn.Dense(width, name="second")
        self.weigh = nn.Dense(width, name="weigh")
        self.decide = nn.Dense(1, name="decide")
        self.drop = nn.Dropout(self.dropout)
        if self.claim_dim:
            self.claim_entity = self.param(
                "claim_entity", table, (self.num_entities, self.claim_dim)
            )
            self.claim_relation = self.param(
                "claim_relation", table, (self.num_tokens, self.claim_dim)
            )
        if self.sees_subject:
            self.read_subject = nn.Dense(width, name="subject")
            self.weigh_subject = nn.Dense(width, use_bias=False, name="weigh_subject")
        if self.marks_object:
            zeros = nn.initializers.zeros_init()
            self.step_object = self.param("step_object", zeros, (steps, width))

    def __call__(
        self,
        queries: Queries,
        arguments: Arguments,
        *,
        train: bool = False,
    ) -> jax.Array:
        """The logit of every debate, float32 [B]."""
        return self.verdict(self.weigh_each(queries, arguments, train=train), queries)

    def weigh_each(
        self, queries: Queries, arguments: Arguments, *, train: bool = False
    ) -> jax.Array:
        """What the MLP makes of each argument, float32 [B, A, hidden]."""
        chex.assert_rank([arguments.relation, arguments.entity, queries.subject], [3, 3, 1])
        entity, relation = self.tables()
        masked = arguments.entity == queries.subject[:, None, None]
        places = jnp.where(masked[..., None], 0.0, entity[arguments.entity])
        known = jnp.concatenate([relation[queries.relation], entity[queries.object]], axis=1)
        hidden = (
            jnp.einsum("batd,tdh->bah", relation[arguments.relation], self.step_relation)
            + jnp.einsum("batd,tdh->bah", places, self.step_entity)
            + self.read_claim(known)[:, None]
        )
        if self.marks_object:
            arrived = arguments.entity == queries.object[:, None, None]
            hidden += jnp.einsum("bat,th->bah", arrived.astype(hidden.dtype), self.step_object)
        hidden = self.drop(nn.relu(hidden), deterministic=not train)
        return nn.relu(self.second(hidden))

    def verdict(
        self,
        weighed: jax.Array,
        queries: Queries,
        heard: jax.Array | None = None,
    ) -> jax.Array:
        """The logit that the claim is true, float32 [B].

        Args:
          weighed: from `weigh_each`.
          queries: leaves [B].
          heard: float32 [A], 0 for arguments that are silenced; all are heard when None.
        """
        count = weighed.shape[1]
        heard = jnp.ones(count) if heard is None else heard
        total = jnp.einsum("bah,a->bh", weighed, heard)
        if self.aggregate == "mean":
            total = total / jnp.maximum(heard.sum(), 1.0)
        return self._classify(total, self._beside(queries))

    def score_each(self, weighed: jax.Array, queries: Queries) -> jax.Array:
        """The judge's score of each argument alone, float32 [B, A]: the agents' rewards."""
        beside = self._beside(queries)
        return self._classify(weighed, None if beside is None else beside[:, None])

    def tables(self) -> tuple[jax.Array, jax.Array]:
        """The entity table [N, d] and the relation table [2R + 2, d]."""
        if self.frozen:
            return jax.lax.stop_gradient(self.entity), jax.lax.stop_gradient(self.relation)
        return self.entity, self.relation

    def _classify(self, total: jax.Array, beside: jax.Array | None) -> jax.Array:
        """Logits [...] of what was heard, float32 [..., hidden]."""
        hidden = self.weigh(total)
        if beside is not None:
            hidden = hidden + beside
        return self.decide(nn.relu(hidden))[..., 0]

    def _beside(self, queries: Queries) -> jax.Array | None:
        """What the judge knows beside the arguments, float32 [B, hidden]; None in the paper."""
        if not self.sees_subject:
            return None
        entity, relation = self.tables()
        if self.claim_dim:
            given = self.claim_entity, self.claim_relation
            entity, relation = jax.lax.stop_gradient(given)
        s, p, o = entity[queries.subject], relation[queries.relation], entity[queries.object]
        triple = [s, p, o, s * o, s * p * o]
        if self.frozen or self.claim_dim:  # TransE's tables, made so that s + p is near o
            triple.append(jnp.abs(s + p - o))
        return self.weigh_subject(nn.relu(self.read_subject(jnp.concatenate(triple, axis=1))))
