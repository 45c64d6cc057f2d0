"""How logits become a move: one compiled function for all decodings, over flat actions.

Axes: B decisions, E flat actions (see types.py). Ties go to the link that stands first among the
node's links, so that a rollout is the same on every device count and batch size.
"""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp
from flax import struct

from wikinav_jax.navigation.losses import segment_max
from wikinav_jax.navigation.types import Actions, Array


class Decoding(struct.PyTreeNode):
    """What to do with logits. The flags are data, not code: decodings share a compiled program."""

    sample: Array  # bool [], draw from the softmax instead of taking the best
    fresh_first: Array  # bool [], only unvisited nodes, as long as there is one
    backtrack: Array  # bool [], when there is none, go back to where it was first reached from


DECODINGS = {
    "sample": Decoding(sample=True, fresh_first=False, backtrack=False),
    "argmax": Decoding(sample=False, fresh_first=False, backtrack=False),
    # With every neighbour visited, the best of them all.
    "no_revisit": Decoding(sample=False, fresh_first=True, backtrack=False),
    "sample_no_revisit": Decoding(sample=True, fresh_first=True, backtrack=False),
    # Depth-first search. Going back costs a step like any move.
    "dfs": Decoding(sample=False, fresh_first=True, backtrack=True),
    "sample_dfs": Decoding(sample=True, fresh_first=True, backtrack=True),
}


def check_decoding(name: str) -> Decoding:
    """The decoding of that name; ValueError lists the names."""
    if name not in DECODINGS:
        raise ValueError(f"decoding={name!r} is not one of {', '.join(DECODINGS)}")
    return DECODINGS[name]


def choose_ranks(
    logits: jax.Array,
    actions: Actions,
    noise_key: jax.Array,
    num_decisions: int,
    decoding: Decoding,
) -> jax.Array:
    """The chosen link of every decision as its rank among the node's links, int32 [B].

    Negative where nothing is chosen: NO_ACTION where the node has no links, and under `backtrack`
    ALL_VISITED where it has no unvisited neighbour. NOT_FINITE where a logit is NaN or infinite.

    Args:
      logits: float [E].
      actions: the links.
      noise_key: typed keys [B], one a decision; the draw of a link depends on its decision's key
        and its rank alone (Gumbel-max), not on what else is in the batch.
      num_decisions: B.
      decoding: how to choose.
    """
    chex.assert_rank([logits, actions.node, noise_key], 1)
    decision, valid = actions.decision, actions.valid
    fresh = valid & (actions.visits == 0)
    has_action = segment_max(valid.astype(jnp.int32), actions, num_decisions) > 0
    has_fresh = segment_max(fresh.astype(jnp.int32), actions, num_decisions) > 0
    eligible = jnp.where(decoding.fresh_first & has_fresh[decision], fresh, valid)
    score = jax.lax.cond(
        decoding.sample,
        lambda: logits + jax.vmap(_gumbel)(noise_key[decision], actions.rank),
        lambda: logits,
    )
    broken = valid & ~jnp.isfinite(logits)
    is_broken = segment_max(broken.astype(jnp.int32), actions, num_decisions) > 0

    highest = segment_max(jnp.where(eligible, score, -jnp.inf), actions, num_decisions)
    best = eligible & (score == highest[decision])
    rank = -segment_max(jnp.where(best, -actions.rank, -(2**30)), actions, num_decisions)
    rank = jnp.where(has_action, rank, NO_ACTION)
    rank = jnp.where(decoding.backtrack & ~has_fresh, ALL_VISITED, rank)
    return jnp.where(is_broken, NOT_FINITE, rank)


NO_ACTION = -1
ALL_VISITED = -2
NOT_FINITE = -3


def _gumbel(key: jax.Array, rank: jax.Array) -> jax.Array:
    return jax.random.gumbel(jax.random.fold_in(key, rank), dtype=jnp.float32)
