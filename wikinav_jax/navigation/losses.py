"""Softmax over ragged actions, and the behaviour-cloning loss.

Axes: B decisions, E flat actions (see types.py). Sums and counts come back; means are taken last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp

from wikinav_jax.navigation.types import Actions, NavigationBatch, NodeFeatures

# Finite, so that a decision without valid actions gives no NaN in the gradient.
MASKED = -1e30

ApplyFn = Callable[..., jax.Array]  # (params, features, inputs, key) -> logits [E]
Metrics = dict[str, jax.Array]


def segment_sum(values: jax.Array, actions: Actions, num_decisions: int) -> jax.Array:
    """Sum over each decision's actions; values [E, …] -> [B, …]. Mask the padding beforehand."""
    return jax.ops.segment_sum(
        values, actions.decision, num_decisions, indices_are_sorted=True, mode="promise_in_bounds"
    )


def segment_max(values: jax.Array, actions: Actions, num_decisions: int) -> jax.Array:
    """Maximum over each decision's actions; the dtype's least value where there is none."""
    return jax.ops.segment_max(
        values, actions.decision, num_decisions, indices_are_sorted=True, mode="promise_in_bounds"
    )


def segment_log_softmax(logits: jax.Array, actions: Actions, num_decisions: int) -> jax.Array:
    """Log-probabilities [E] of the actions of each decision; MASKED or less for the padding."""
    chex.assert_rank([logits, actions.decision, actions.valid], 1)
    chex.assert_equal_shape([logits, actions.decision, actions.valid])
    logits = jnp.where(actions.valid, logits, MASKED)
    highest = jax.lax.stop_gradient(segment_max(logits, actions, num_decisions))
    shifted = logits - highest[actions.decision]
    total = segment_sum(jnp.where(actions.valid, jnp.exp(shifted), 0.0), actions, num_decisions)
    return shifted - jnp.log(jnp.maximum(total, 1e-30))[actions.decision]


def behaviour_cloning_loss(logits: jax.Array, batch: NavigationBatch) -> Metrics:
    """-log p(link that the walk took), summed over the decisions of one shard.

    RFBC paper, section 2: sum over a trajectory of -log p(n_{t+1} | n_t, n_T).

    Args:
      logits: float [E].
      batch: one shard (leaves without the shard axis).

    Returns:
      Scalars: loss_sum, accuracy_sum (1 where the taken link has the highest logit; ties count),
      entropy_sum (nats), count.
    """
    actions = batch.inputs.actions
    chex.assert_rank([logits, batch.taken, batch.log_weight], 1)
    chex.assert_equal_shape([logits, actions.node, batch.log_weight])
    num_decisions = batch.taken.shape[0]
    log_prob = segment_log_softmax(logits + batch.log_weight, actions, num_decisions)
    # log_weight stands for several links alike: what one of them gets is less by it.
    single = log_prob - batch.log_weight
    masked = jnp.where(actions.valid, logits, MASKED)
    highest = segment_max(masked, actions, num_decisions)
    prob = jnp.where(actions.valid, jnp.exp(log_prob), 0.0)
    return {
        "loss_sum": -log_prob[batch.taken].sum(),
        "accuracy_sum": (masked[batch.taken] >= highest).astype(jnp.float32).sum(),
        "entropy_sum": -jax.lax.stop_gradient(jnp.where(actions.valid, prob * single, 0.0)).sum(),
        "count": jnp.asarray(num_decisions, jnp.float32),
    }


def batch_loss(
    apply: ApplyFn,
    params: Any,
    features: NodeFeatures,
    batch: NavigationBatch,
    key: jax.Array | None,
) -> tuple[jax.Array, Metrics]:
    """Mean loss over all shards of a batch, and the summed metrics.

    Args:
      apply: logits of one shard, `apply(params, features, inputs, key)`.
      params: of the policy.
      features: of the training graph's nodes.
      batch: leaves [S, …].
      key: typed key, folded with the shard's number, so that no result depends on how shards are
        spread over devices; None for a policy that draws nothing.
    """
    chex.assert_rank(batch.taken, 2)
    num_shards = batch.taken.shape[0]

    def one(shard: jax.Array, part: NavigationBatch) -> Metrics:
        shard_key = None if key is None else jax.random.fold_in(key, shard)
        return behaviour_cloning_loss(apply(params, features, part.inputs, shard_key), part)

    sums = jax.tree.map(lambda x: x.sum(), jax.vmap(one)(jnp.arange(num_shards), batch))
    return sums["loss_sum"] / sums["count"], sums
