"""The judge's loss and the agents' loss. R2D2 paper, section 3.3.

Axes: B debates, A arguments, T steps.
"""

from __future__ import annotations

from typing import Any

import chex
import jax
import jax.numpy as jnp
import optax


def judge_loss(logits: jax.Array, label: jax.Array, weight: jax.Array) -> dict[str, jax.Array]:
    """Binary cross-entropy of the verdicts.

    Args:
      logits: float32 [B].
      label: float32 [B], 1 or 0.
      weight: float32 [B], 0 leaves a debate out.

    Returns:
      Scalars loss_sum, accuracy_sum and count.
    """
    chex.assert_rank([logits, label, weight], 1)
    loss = optax.sigmoid_binary_cross_entropy(logits, label)
    return {
        "loss_sum": (loss * weight).sum(),
        "accuracy_sum": (((logits > 0) == (label > 0.5)) * weight).sum(),
        "count": weight.sum(),
    }


def square_sum(params: Any, leave_out: tuple[str, ...] = ()) -> jax.Array:
    """The sum of squares of all parameters but those named in `leave_out`, for the L2 penalty."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    kept = [leaf for path, leaf in leaves if path[-1].key not in leave_out]
    return sum((jnp.square(leaf).sum() for leaf in kept), start=jnp.zeros(()))


def reinforce_loss(
    log_prob: jax.Array,
    entropy: jax.Array,
    advantage: jax.Array,
    weight: jax.Array,
    entropy_bonus: jax.Array,
) -> dict[str, jax.Array]:
    """-advantage x log p of the steps of each argument, less the bonus for entropy.

    Williams (1992); the reward of an argument goes to all its steps.

    Args:
      log_prob: float32 [B, A, T], of the steps taken.
      entropy: float32 [B, A, T], nats.
      advantage: float32 [B, A], reward less baseline.
      weight: float32 [B], 0 leaves a debate out.
      entropy_bonus: float32 [], reward of a nat.

    Returns:
      Scalars loss_sum, entropy_sum and count (steps).
    """
    chex.assert_rank([log_prob, entropy, advantage, weight], [3, 3, 2, 1])
    policy = -(advantage[..., None] * log_prob)
    weighed = weight[:, None, None]
    entropy_sum = (entropy * weighed).sum()
    return {
        "loss_sum": (policy * weighed).sum() - entropy_bonus * entropy_sum,
        "entropy_sum": entropy_sum,
        "count": (jnp.ones_like(log_prob) * weighed).sum(),
    }
