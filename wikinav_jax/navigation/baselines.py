"""What a navigator is compared with: choices without learning, in the same evaluation loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from wikinav_jax.navigation.goals import target_vectors
from wikinav_jax.navigation.types import NodeFeatures, PolicyInput


def uniform_scorer(params: Any, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
    """Random: every link is alike; logits float32 [E] of zero."""
    del params, features
    return jnp.zeros(inputs.actions.node.shape, jnp.float32)


def cosine_scorer(params: Any, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
    """Greedy: the cosine of phi(link's node) and what tells the target; 0 for a zero row."""
    del params
    decisions, actions = inputs.decisions, inputs.actions
    # All walkers keep their target, so a target row is read once a decision, not once an action.
    target = unit(target_vectors(features, decisions).astype(jnp.float32))
    rows = unit(features.vectors[actions.node].astype(jnp.float32))
    return jnp.sum(rows * target[actions.decision], axis=-1)


def lookahead_scorer(params: Any, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
    """Greedy with lookahead: the cosine of phi(target) with the sum of a link's rows, float32 [E].

    The rows are phi and its means 1..H links ahead, each scaled to length 1: what a policy that
    reads the neighbourhood must be compared with.
    """
    del params
    if features.neighbourhood is None:
        raise ValueError(
            "lookahead needs neighbourhood features: make_node_features(..., hops=3) "
            "(config.features.hops)"
        )
    decisions, actions = inputs.decisions, inputs.actions
    target = unit(target_vectors(features, decisions).astype(jnp.float32))
    rows = unit(features.vectors[actions.node].astype(jnp.float32))
    rows = rows + features.neighbourhood[actions.node].astype(jnp.float32).sum(axis=1)
    return jnp.sum(unit(rows) * target[actions.decision], axis=-1)


def unit(rows: jax.Array) -> jax.Array:
    """Rows scaled to length 1, zero rows left at zero; float [..., d]."""
    square = jnp.sum(rows * rows, axis=-1, keepdims=True)
    return rows * jnp.where(square > 0, jax.lax.rsqrt(jnp.where(square > 0, square, 1)), 0)
