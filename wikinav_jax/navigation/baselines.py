"""What a navigator is compared with: choices without learning, in the same evaluation loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from wikinav_jax.navigation.types import NodeFeatures, PolicyInput


def uniform_scorer(params: Any, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
    """Random: every link is alike; logits float32 [E] of zero."""
    del params, features
    return jnp.zeros(inputs.actions.node.shape, jnp.float32)


def cosine_scorer(params: Any, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
    """Greedy: the cosine of phi(link's node) and phi(target), float32 [E]; 0 for a zero vector."""
    del params
    decisions, actions = inputs.decisions, inputs.actions
    # All walkers keep their target, so a target row is read once a decision, not once an action.
    target = unit(features.vectors[decisions.target].astype(jnp.float32))
    rows = unit(features.vectors[actions.node].astype(jnp.float32))
    return jnp.sum(rows * target[actions.decision], axis=-1)


def unit(rows: jax.Array) -> jax.Array:
    """Rows scaled to length 1, zero rows left at zero; float [M, d]."""
    square = jnp.sum(rows * rows, axis=-1, keepdims=True)
    return rows * jnp.where(square > 0, jax.lax.rsqrt(jnp.where(square > 0, square, 1)), 0)
