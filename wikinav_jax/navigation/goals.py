"""What a navigator knows of its target: phi(target), or a sentence of it read by phi_target.

RFBC paper, sections 2.1 and 4 (sentence search): the target is told by one random sentence of its
block, which an encoder of its own, phi_target, maps into the space of phi. Here it starts from the
sentence's features under the same fixed encoder as phi, x, and learns what is missing:

  phi_target(x) = x + FF[x],   FF = 0 at the start,
  loss = behavioural cloning + weight * mean |phi_target(x) - phi(s_g)|^2.

Axes: B decisions, d width of phi, S shards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp

from wikinav_jax.navigation.losses import Metrics, behaviour_cloning_loss
from wikinav_jax.navigation.types import (
    Decisions,
    Memory,
    NavigationBatch,
    NodeFeatures,
    PolicyInput,
    RememberingScorer,
)

_AUXILIARY = "auxiliary"  # the Flax collection of what a policy hands to its loss besides logits
_GOAL = "goal"


def target_vectors(features: NodeFeatures, decisions: Decisions) -> jax.Array:
    """What is known of every decision's target, float [B, d]: its goal row if it has one."""
    if decisions.goal is not None:
        return decisions.goal
    return features.vectors[decisions.target]


class GoalReader(nn.Module):
    """phi_target over fixed features of a sentence: x + FF[x]."""

    hidden_dim: int = 512  # 0: x itself
    dropout: float = 0.1  # of x as FF reads it, and after the hidden layer

    @nn.compact
    def __call__(self, goal: jax.Array, *, train: bool) -> jax.Array:
        """[B, d] -> float32 [B, d]."""
        goal = goal.astype(jnp.float32)
        if not self.hidden_dim:
            return goal
        dropout = nn.Dropout(self.dropout, deterministic=not train)
        # Rows of length 1 have small components: sqrt(d) gives them unit variance.
        x = dropout(goal * goal.shape[1] ** 0.5)
        x = dropout(nn.gelu(nn.Dense(self.hidden_dim)(x)))
        return goal + nn.Dense(goal.shape[1], kernel_init=nn.initializers.zeros)(x)


class GoalPolicy(nn.Module):
    """A policy whose target may be told by a sentence; without one it is the policy alone."""

    policy: nn.Module
    hidden_dim: int = 512  # of GoalReader
    dropout: float = 0.1  # likewise

    @nn.compact
    def __call__(self, features: NodeFeatures, inputs: PolicyInput, *, train: bool) -> jax.Array:
        """Logits float32 [E]."""
        decisions = inputs.decisions
        if decisions.goal is not None:
            goal = GoalReader(self.hidden_dim, self.dropout, name="reader")(
                decisions.goal, train=train
            )
            self.sow(_AUXILIARY, _GOAL, goal)
            inputs = inputs.replace(decisions=decisions.replace(goal=goal))
        logits: jax.Array = self.policy(features, inputs, train=train)
        return logits


@dataclass(frozen=True)
class RememberingGoalScorer:
    """A GoalPolicy around a policy that keeps a memory, as evaluation plays it."""

    policy: GoalPolicy
    inner: RememberingScorer  # of the policy inside

    def __call__(self, params: Any, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
        """Logits float32 [E] of decisions that come with their trails."""
        logits: Any = self.policy.apply({"params": params}, features, inputs, train=False)
        return logits

    def init_memory(self, num_walkers: int) -> Memory:
        """The memory of the policy inside."""
        return self.inner.init_memory(num_walkers)

    def step(
        self, params: Any, features: NodeFeatures, inputs: PolicyInput, memory: Memory
    ) -> tuple[jax.Array, Memory]:
        """Logits float32 [E] and the memory after this step; the sentence is read anew."""
        decisions = inputs.decisions
        if decisions.goal is not None:
            reader = GoalReader(self.policy.hidden_dim, self.policy.dropout)
            known = {"params": params.get("reader", {})}
            goal = reader.apply(known, decisions.goal, train=False)
            inputs = inputs.replace(decisions=decisions.replace(goal=goal))
        return self.inner.step(params["policy"], features, inputs, memory)


def auxiliary_loss(goal: jax.Array, truth: jax.Array) -> jax.Array:
    """|phi_target - phi(s_g)|^2 summed over decisions; float [B, d] twice -> float32 []."""
    chex.assert_rank([goal, truth], 2)
    chex.assert_equal_shape([goal, truth])
    return jnp.sum(jnp.square(goal - truth.astype(jnp.float32)))


@dataclass(frozen=True)
class GoalLoss:
    """The batch loss of a GoalPolicy; takes the place of `losses.batch_loss`."""

    policy: GoalPolicy
    weight: float  # of the auxiliary loss

    def __call__(
        self, params: Any, features: NodeFeatures, batch: NavigationBatch, key: jax.Array
    ) -> tuple[jax.Array, Metrics]:
        """Mean loss over all shards of a batch with leaves [S, …], and the summed metrics.

        The metrics' `loss_sum` is the behavioural-cloning part; `goal_sum` is the auxiliary one.
        """
        chex.assert_rank(batch.taken, 2)

        def one(shard: jax.Array, part: NavigationBatch) -> Metrics:
            logits, found = self.policy.apply(
                {"params": params},
                features,
                part.inputs,
                train=True,
                rngs={"dropout": jax.random.fold_in(key, shard)},
                mutable=[_AUXILIARY],
            )
            (goal,) = found[_AUXILIARY][_GOAL]
            truth = features.vectors[part.inputs.decisions.target]
            cloning = behaviour_cloning_loss(logits, part)
            return {**cloning, "goal_sum": auxiliary_loss(goal, truth)}

        shards = jnp.arange(batch.taken.shape[0])
        sums = jax.tree.map(lambda x: x.sum(), jax.vmap(one)(shards, batch))
        loss = sums["loss_sum"] + self.weight * sums["goal_sum"]
        return loss / sums["count"], sums


BatchLoss = Callable[
    [Any, NodeFeatures, NavigationBatch, jax.Array], tuple[jax.Array, Metrics]
]  # (params, features, batch, key) -> mean loss, summed metrics
