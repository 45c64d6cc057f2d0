"""Policies: modules that give every action of every decision a logit.

Axes: B decisions, E flat actions, d width of phi (see types.py). Modules take plain fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from wikinav_jax.navigation.goals import target_vectors
from wikinav_jax.navigation.types import NUM_EDGE_KINDS, NodeFeatures, PolicyInput

ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": nn.relu,
    "gelu": nn.gelu,
    "tanh": jnp.tanh,
}


def activation(name: str) -> Callable[[jax.Array], jax.Array]:
    """The activation function of that name; ValueError lists the names."""
    if name not in ACTIVATIONS:
        raise ValueError(f"activation={name!r} is not one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


class Dropout(nn.Module):
    """Dropout whose rate is a multiple of 1/256.

    One random byte per unit instead of four: on CPU the random bits of an ordinary dropout cost as
    much as the layer before it.
    """

    rate: float

    @nn.compact
    def __call__(self, x: jax.Array, *, train: bool) -> jax.Array:
        if not 0 <= self.rate < 1:
            raise ValueError(f"dropout={self.rate} must be at least 0 and below 1")
        dropped = round(self.rate * 256)
        if not train or dropped == 0:
            return x
        words = -(-x.size // 4)
        bits = jax.random.bits(self.make_rng("dropout"), (words,), jnp.uint32)
        coins = jax.lax.bitcast_convert_type(bits, jnp.uint8).reshape(-1)[: x.size]
        keep = coins.reshape(x.shape) >= dropped
        return jnp.where(keep, x * (256 / (256 - dropped)), 0)


class FeedForwardPolicy(nn.Module):
    """e_tg = FF[phi(s_t), phi(s_g)]; the logit of a link to n_i is e_tg · phi(s_i).

    RFBC paper, section 2.1. The defaults are the paper's; the rest are ablations.
    """

    hidden_dims: tuple[int, ...] = (1024,)
    activation: str = "relu"
    input_scale: float = 1.0  # of phi as FF reads it; sqrt(d) gives unit rows unit variance
    dropout: float = 0.0  # after every hidden layer
    input_dropout: float = 0.0  # of phi(s_t) and phi(s_g)
    residual: bool = False  # e_tg = w * phi(s_g) + FF, with w learned, 1 at the start
    kind_bias: bool = False  # a learned bias per kind of edge

    @nn.compact
    def __call__(self, features: NodeFeatures, inputs: PolicyInput, *, train: bool) -> jax.Array:
        """Logits float32 [E]."""
        decisions, actions = inputs.decisions, inputs.actions
        width = features.vectors.shape[1]
        target = target_vectors(features, decisions)
        x = jnp.concatenate([features.vectors[decisions.node], target], axis=-1)
        x = Dropout(self.input_dropout)(x * self.input_scale, train=train)
        for hidden_dim in self.hidden_dims:
            x = activation(self.activation)(nn.Dense(hidden_dim)(x))
            x = Dropout(self.dropout)(x, train=train)
        query = nn.Dense(width)(x)  # [B, d]
        if self.residual:
            query = query + self.param("residual", nn.initializers.ones, (1, width)) * target
        logits = action_scores(query, features.vectors, inputs)
        if self.kind_bias:
            bias = self.param("kind_bias", nn.initializers.zeros, (NUM_EDGE_KINDS,))
            logits = logits + bias[actions.kind]
        return logits


def action_scores(query: jax.Array, vectors: jax.Array, inputs: PolicyInput) -> jax.Array:
    """query of the action's decision · a_i of the action; [B, d], [N, d] -> float32 [E].

    a_i is the row of the node it leads to, or the action's own vector where it has one.

    One fused gather-multiply-reduce; nothing of size [E, d] is kept for the backward pass but
    what it gathers again.
    """
    actions = inputs.actions
    if actions.vector is not None:
        own = actions.vector * query[actions.decision]
        return jnp.sum(own, axis=-1, dtype=jnp.float32)
    return jnp.sum(vectors[actions.node] * query[actions.decision], axis=-1, dtype=jnp.float32)


@dataclass(frozen=True)
class PolicyScorer:
    """A policy as evaluation sees it: no dropout, hashable."""

    policy: nn.Module

    def __call__(self, params: Any, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
        """Logits float32 [E]."""
        logits: Any = self.policy.apply({"params": params}, features, inputs, train=False)
        return logits


@dataclass(frozen=True)
class PolicyTrainer:
    """A policy as `losses.batch_loss` sees it: with dropout drawn from the given key."""

    policy: nn.Module

    def __call__(
        self, params: Any, features: NodeFeatures, inputs: PolicyInput, key: jax.Array | None
    ) -> jax.Array:
        """Logits float32 [E]."""
        rngs = None if key is None else {"dropout": key}
        logits: Any = self.policy.apply({"params": params}, features, inputs, train=True, rngs=rngs)
        return logits
