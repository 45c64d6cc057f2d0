"""SimilarityPolicy: links are weighed by learned similarities instead of free directions.

A query e_tg that can point anywhere learns the articles of its training graph by heart. This policy
only ever sees how similar the target is to a link's node and to what lies beyond it, under a few
learned weightings of phi's components; with little else to memorise, it carries over to a graph of
other articles.

Axes: B decisions, E flat actions, H hops of the neighbourhood features, P = H + 1 rows of a node,
K similarity heads, J hops against the links, d width of phi.
"""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp

from wikinav_jax.navigation.baselines import unit
from wikinav_jax.navigation.goals import target_vectors
from wikinav_jax.navigation.losses import segment_max, segment_sum
from wikinav_jax.navigation.policies import Dropout
from wikinav_jax.navigation.types import (
    AT_START,
    NUM_EDGE_KINDS,
    Actions,
    NodeFeatures,
    PolicyInput,
)

_MOST_VISITS = 10  # more are all the same
_LONGEST_RUN = 100  # likewise of next/previous moves in a row
_SIMILARITY_SCALE = 4.0  # of cosines, which are small, beside the other inputs


class SimilarityPolicy(nn.Module):
    """Logit of a link from similarities, its kind, degrees, and how it compares with its siblings.

    Needs no fixed number of hops: it reads all rows that the features bring.
    """

    heads: int = 8  # K, similarities sum_i w_ki x_i y_i; the first starts as the cosine
    hidden_dim: int = 64  # of both layers
    dropout: float = 0.1  # between the layers
    siblings: bool = True  # see the mean and the maximum over the node's links
    history: bool = False  # see which links lead back (visits so far, the node before)

    @nn.compact
    def __call__(self, features: NodeFeatures, inputs: PolicyInput, *, train: bool) -> jax.Array:
        """Logits float32 [E]."""
        actions = inputs.actions
        num_decisions = inputs.decisions.node.shape[0]
        weights = self.param("heads", _initial_heads, (self.heads, features.vectors.shape[1]))
        x = jnp.concatenate(
            [
                similarities(weights, features, inputs),
                _link_inputs(features, actions),
                *([_history_inputs(inputs)] if self.history else []),
                _place_inputs(features, inputs)[actions.decision],
            ],
            axis=1,
        )
        x = nn.gelu(nn.Dense(self.hidden_dim, name="link")(x))  # [E, hidden]
        if self.siblings:
            x = jnp.concatenate([x, _over_siblings(x, actions, num_decisions)], axis=1)
        x = Dropout(self.dropout)(x, train=train)
        x = nn.gelu(nn.Dense(self.hidden_dim, name="choice")(x))
        small = nn.initializers.variance_scaling(0.01, "fan_in", "truncated_normal")
        # No bias: the softmax would not see it.
        return nn.Dense(1, use_bias=False, kernel_init=small, name="logit")(x)[:, 0]


def _initial_heads(key: jax.Array, shape: tuple[int, int]) -> jax.Array:
    """float32 [K, d]: the plain cosine, and weightings about it."""
    weights = jnp.abs(1.0 + 0.3 * jax.random.normal(key, shape))
    return weights.at[0].set(1.0)


def similarities(weights: jax.Array, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
    """Link and target, place and target, link and place under each head; [E, (P + 2) K]."""
    decisions, actions = inputs.decisions, inputs.actions
    # The rows are read-only inputs: no gradient goes there, only into the weights.
    target = unit(target_vectors(features, decisions).astype(jnp.float32))  # [B, d]
    here = unit(features.vectors[decisions.node].astype(jnp.float32))
    rows = unit(features.vectors[actions.node].astype(jnp.float32))  # [E, d]
    wanted, left = target[actions.decision], here[actions.decision]
    found = [(rows * wanted) @ weights.T, (rows * left) @ weights.T]
    if features.neighbourhood is not None:
        beyond = features.neighbourhood[actions.node].astype(jnp.float32)  # [E, H, d]
        ahead = (beyond * wanted[:, None]) @ weights.T  # [E, H, K]
        found.append(ahead.reshape(ahead.shape[0], -1))
    if features.inward is not None:
        found += _inward_similarities(weights, features, inputs, rows, here)
    found.append(((here * target) @ weights.T)[actions.decision])
    return _SIMILARITY_SCALE * jnp.concatenate(found, axis=1)


def _inward_similarities(
    weights: jax.Array,
    features: NodeFeatures,
    inputs: PolicyInput,
    rows: jax.Array,
    here: jax.Array,
) -> list[jax.Array]:
    """Links, what lies ahead of them, and the place, each with what links to the target."""
    decisions, actions = inputs.decisions, inputs.actions
    behind = features.inward[decisions.target].astype(jnp.float32)  # [B, J, d]
    ahead = rows[:, None]
    if features.neighbourhood is not None:
        beyond = features.neighbourhood[actions.node].astype(jnp.float32)
        ahead = jnp.concatenate([ahead, beyond], axis=1)  # [E, P, d]
    found = []
    for hop in range(behind.shape[1]):
        near = (ahead * behind[:, hop][actions.decision][:, None]) @ weights.T  # [E, P, K]
        found.append(near.reshape(near.shape[0], -1))
        found.append(((here * behind[:, hop]) @ weights.T)[actions.decision])
    return found


def _link_inputs(features: NodeFeatures, actions: Actions) -> jax.Array:
    """Kind of the link and degrees of its node, [E, NUM_EDGE_KINDS + 2]."""
    degrees = jnp.stack(
        [features.log_out_degree[actions.node], features.log_in_degree[actions.node]], axis=1
    )
    return jnp.concatenate([jax.nn.one_hot(actions.kind, NUM_EDGE_KINDS), degrees], axis=1)


def _history_inputs(inputs: PolicyInput) -> jax.Array:
    """Whether the walk has been at the link's node, how often, and whether just before; [E, 3]."""
    visits = jnp.minimum(inputs.actions.visits, _MOST_VISITS).astype(jnp.float32)
    back = inputs.actions.node == inputs.decisions.previous[inputs.actions.decision]
    return jnp.stack([visits > 0, jnp.log1p(visits), back], axis=1)


def _place_inputs(features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
    """Degrees of the walker's node and how it came there, [B, NUM_EDGE_KINDS + 4]."""
    decisions = inputs.decisions
    run = jnp.minimum(decisions.run, _LONGEST_RUN).astype(jnp.float32)
    numbers = jnp.stack(
        [
            features.log_out_degree[decisions.node],
            features.log_in_degree[decisions.node],
            jnp.log1p(run),
        ],
        axis=1,
    )
    return jnp.concatenate([jax.nn.one_hot(decisions.arrived_by, AT_START + 1), numbers], axis=1)


def _over_siblings(x: jax.Array, actions: Actions, num_decisions: int) -> jax.Array:
    """Mean and maximum over the links of the same decision; [E, c] -> [E, 2 c]."""
    valid = actions.valid[:, None]
    count = segment_sum(actions.valid.astype(x.dtype), actions, num_decisions)
    mean = segment_sum(jnp.where(valid, x, 0), actions, num_decisions)
    mean = mean / jnp.maximum(count, 1)[:, None]
    highest = segment_max(jnp.where(valid, x, -jnp.inf), actions, num_decisions)
    highest = jnp.where((count > 0)[:, None], highest, 0)
    return jnp.concatenate([mean, highest], axis=1)[actions.decision]
