"""Learned phi: the text encoder is trained on the navigation task. RFBC paper, section 2.1.

  phi(s) = tanh(mean over tokens of Encoder(title + text of s)),
  a_i    = tanh(mean over the tokens of link i's words in the text of s_t), or a learned vector of
           the link's kind where there are none (next, previous, words that were cut off),
  logit  = e_tg · a_i, with e_tg of any policy that reads phi and a_i.

So a decision reads two texts, whatever its number of links, and a hub costs no more than others.

Axes: U blocks read, L tokens, d width; B decisions and E flat actions as in types.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp

from wikinav_jax.navigation.losses import Metrics, behaviour_cloning_loss
from wikinav_jax.navigation.text_types import BlockTokens, TextBatch
from wikinav_jax.navigation.types import NUM_EDGE_KINDS, NodeFeatures
from wikinav_jax.text.bert import Encoder
from wikinav_jax.text.encode import pool


class BlockReader(nn.Module):
    """phi, and the vectors of links within a block."""

    encoder: Encoder
    frozen: bool = False  # no gradient into the encoder
    dropout: bool = False  # the encoder's own, in training

    def setup(self) -> None:
        shape = (NUM_EDGE_KINDS, self.encoder.config.hidden_size)
        self.kinds = self.param("kinds", nn.initializers.normal(0.1), shape)

    def read(self, blocks: BlockTokens, *, train: bool) -> tuple[jax.Array, jax.Array]:
        """phi float32 [U, d] and running sums over the tokens, float32 [U, L + 1, d]."""
        deterministic = not (train and self.dropout)
        hidden = self.encoder(blocks.ids, blocks.mask, deterministic=deterministic)
        if self.frozen:
            hidden = jax.lax.stop_gradient(hidden)
        phi = jnp.tanh(pool(hidden, blocks.mask, "mean"))
        # The mean over any span is then two gathered rows.
        return phi, jnp.pad(jnp.cumsum(hidden, axis=1), ((0, 0), (1, 0), (0, 0)))

    def links(self, sums: jax.Array, row: jax.Array, span: jax.Array, kind: jax.Array) -> jax.Array:
        """a_i of links, float32 [E, d].

        Args:
          sums: float32 [U, L + 1, d], from `read`.
          row: int [E], the block that the link stands in.
          span: int [E, 2], its tokens; 0, 0 for none.
          kind: int [E], EdgeKind.
        """
        count = (span[:, 1] - span[:, 0])[:, None]
        total = sums[row, span[:, 1]] - sums[row, span[:, 0]]
        return jnp.where(count > 0, jnp.tanh(total / jnp.maximum(count, 1)), self.kinds[kind])

    def __call__(
        self,
        blocks: BlockTokens,
        row: jax.Array,
        span: jax.Array,
        kind: jax.Array,
        *,
        train: bool = False,
    ) -> tuple[jax.Array, jax.Array]:
        """phi float32 [U, d] and a_i float32 [E, d]; see `read` and `links`."""
        phi, sums = self.read(blocks, train=train)
        return phi, self.links(sums, row, span, kind)


class TextPolicy(nn.Module):
    """A reader and a policy, trained together."""

    reader: BlockReader
    policy: nn.Module  # reads phi of nodes and vectors of actions, e.g. FeedForwardPolicy

    def __call__(self, batch: TextBatch, *, train: bool) -> jax.Array:
        """Logits float32 [E] of one shard."""
        inputs = batch.navigation.inputs
        actions = inputs.actions
        row = inputs.decisions.node[actions.decision]
        phi, vectors = self.reader(batch.blocks, row, batch.span, actions.kind, train=train)
        unknown = jnp.zeros(phi.shape[0])  # degrees are of nodes, and these are rows
        features = NodeFeatures(phi, log_out_degree=unknown, log_in_degree=unknown)
        inputs = inputs.replace(actions=actions.replace(vector=vectors))
        logits: jax.Array = self.policy(features, inputs, train=train)
        return logits


@dataclass(frozen=True)
class TextLoss:
    """The batch loss of a TextPolicy."""

    policy: TextPolicy

    def __call__(self, params: Any, batch: TextBatch, key: jax.Array) -> tuple[jax.Array, Metrics]:
        """Mean loss over all shards of a batch with leaves [S, …], and the summed metrics."""
        chex.assert_rank(batch.navigation.taken, 2)

        def one(shard: jax.Array, part: TextBatch) -> Metrics:
            rngs = {"dropout": jax.random.fold_in(key, shard)}
            logits: Any = self.policy.apply({"params": params}, part, train=True, rngs=rngs)
            return behaviour_cloning_loss(logits, part.navigation)

        shards = jnp.arange(batch.navigation.taken.shape[0])
        sums = jax.tree.map(lambda x: x.sum(), jax.vmap(one)(shards, batch))
        return sums["loss_sum"] / sums["count"], sums
