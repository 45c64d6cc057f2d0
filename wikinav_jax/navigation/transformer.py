"""TransformerPolicy: a policy that reads the whole walk. RFBC paper, section 2.1.

To the policy, a decision at step t is the sequence phi(s_0) … phi(s_t), phi(s_g), read by a causal
Transformer; e_tg is its output at phi(s_g). The places come before the target, so that they do not
see it, and what the layers know of them is the same at every later step and for every target. Two
ways follow, which give the same logits:

  all at once  (`__call__`, training) the places of a walk are read once; each decision adds one
               token, its target, which looks at the places up to its own;
  step by step (`step`, rollouts) keys and values of the places are kept, and a step reads two
               tokens: the new place and the target.

Positions are relative, and attention sees the last `context` places only: a rollout of 100 steps
meets no distance that walks of 20 steps have not trained, and its memory does not grow.

Axes: W walks, L places of a walk, B decisions, C places in reach (`context`), Q tokens that look,
M tokens looked at, A attention heads, w width of a token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from wikinav_jax.navigation.goals import target_vectors
from wikinav_jax.navigation.losses import MASKED
from wikinav_jax.navigation.policies import Dropout, action_scores
from wikinav_jax.navigation.types import NUM_EDGE_KINDS, Memory, NodeFeatures, PolicyInput

PLACE, TARGET = 0, 1  # kinds of tokens


class Layer(nn.Module):
    """One pre-norm Transformer layer, in pieces, for keys come from places or from a memory."""

    width: int
    num_heads: int
    mlp_dim: int
    context: int
    dropout: float

    def setup(self) -> None:
        self.attention_norm = nn.LayerNorm()
        self.query = nn.Dense(self.width)
        self.key_value = nn.Dense(2 * self.width)
        self.output = nn.Dense(self.width)
        self.mlp_norm = nn.LayerNorm()
        self.mlp_in = nn.Dense(self.mlp_dim)
        self.mlp_out = nn.Dense(self.width)
        self.drop = Dropout(self.dropout)
        # A learned preference for each distance, from a token to itself to the farthest in reach.
        shape = (self.num_heads, self.context + 1)
        self.distance = self.param("distance", nn.initializers.zeros, shape)

    def read(self, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """What attention needs of tokens: the normed tokens, their keys and their values."""
        normed = self.attention_norm(x)
        keys, values = jnp.split(self.key_value(normed), 2, axis=-1)
        return normed, keys, values

    def __call__(
        self,
        x: jax.Array,
        normed: jax.Array,
        keys: jax.Array,
        values: jax.Array,
        distance: jax.Array,
        visible: jax.Array,
        *,
        train: bool,
        whole_rows: bool = False,
    ) -> jax.Array:
        """The tokens after the layer, float [B, Q, w].

        Args:
          x: float [B, Q, w].
          normed: float [B, Q, w], from `read`.
          keys: float [B, M, w].
          values: float [B, M, w].
          distance: int [B or 1, Q, M], from a token to what it looks at; entries that are not
            visible may be anything.
          visible: bool [B or 1, Q, M].
          train: whether to drop out.
          whole_rows: how heads are multiplied, see `_scores`; changes the time only.
        """

        score = _scores(self.query(normed), keys, self.num_heads, whole_rows=whole_rows)
        bias = jnp.moveaxis(self.distance[:, jnp.clip(distance, 0, self.context)], 0, 1)
        score = score + jnp.where(visible[:, None], bias, MASKED)  # [B, A, Q, M]
        found = _mixture(jax.nn.softmax(score, axis=-1), values, whole_rows=whole_rows)
        x = x + self.drop(self.output(found), train=train)
        hidden = nn.gelu(self.mlp_in(self.mlp_norm(x)))
        return x + self.drop(self.mlp_out(hidden), train=train)


# Heads are many small matrix products. With a memory of a few places to each walker it is faster to
# multiply rows that hold one head each, and zeros in the place of the others: fewer products,
# though more numbers. Training, which has many, and gradients, is faster head by head.


def _scores(query: jax.Array, keys: jax.Array, num_heads: int, *, whole_rows: bool) -> jax.Array:
    """Scaled query · key of every head; [B, Q, w], [B, M, w] -> [B, A, Q, M]."""
    batch, looking, width = query.shape
    query = query.reshape(batch, looking, num_heads, -1) / math.sqrt(width // num_heads)
    if not whole_rows:
        keys = keys.reshape(*keys.shape[:-1], num_heads, -1)
        return jnp.einsum("bqad,bmad->baqm", query, keys)
    rows = jnp.einsum("bqad,ac->baqcd", query, jnp.eye(num_heads)).reshape(batch, -1, width)
    return jnp.einsum("brw,bmw->brm", rows, keys).reshape(batch, num_heads, looking, -1)


def _mixture(weight: jax.Array, values: jax.Array, *, whole_rows: bool) -> jax.Array:
    """Values weighed by every head; [B, A, Q, M], [B, M, w] -> [B, Q, w]."""
    batch, num_heads, looking, _ = weight.shape
    if not whole_rows:
        values = values.reshape(*values.shape[:-1], num_heads, -1)
        return jnp.einsum("baqm,bmad->bqad", weight, values).reshape(batch, looking, -1)
    rows = jnp.einsum("brm,bmw->brw", weight.reshape(batch, num_heads * looking, -1), values)
    rows = rows.reshape(batch, num_heads, looking, num_heads, -1)
    return jnp.concatenate([rows[:, head, :, head] for head in range(num_heads)], axis=-1)


class Head(nn.Module):
    """From the target's last token to the logits of links."""

    residual: bool
    kind_bias: bool

    @nn.compact
    def __call__(
        self, x: jax.Array, target: jax.Array, features: NodeFeatures, inputs: PolicyInput
    ) -> jax.Array:
        """Logits float32 [E], from float [B, w] and what tells the targets, float [B, d]."""
        width = target.shape[1]
        query = nn.Dense(width, name="query")(nn.LayerNorm(name="norm")(x))  # e_tg
        if self.residual:
            query = query + self.param("residual", nn.initializers.ones, (1, width)) * target
        logits = action_scores(query, features.vectors, inputs)
        if self.kind_bias:
            bias = self.param("kind_bias", nn.initializers.zeros, (NUM_EDGE_KINDS,))
            logits = logits + bias[inputs.actions.kind]
        return logits


class TransformerPolicy(nn.Module):
    """e_tg = Transformer[phi(s_0) … phi(s_t), phi(s_g)]; a link's logit is e_tg · phi(s_i)."""

    width: int = 128  # w
    num_layers: int = 4
    num_heads: int = 4
    mlp_dim: int = 512
    context: int = 20  # C, places in reach; no more than training walks have steps
    dropout: float = 0.0  # of what every layer adds
    residual: bool = False  # e_tg = w * phi(s_g) + Transformer, with w learned, 1 at the start
    kind_bias: bool = False  # a learned bias per kind of edge

    def setup(self) -> None:
        if self.width % self.num_heads:
            raise ValueError(
                f"width={self.width} is not a multiple of num_heads={self.num_heads}; change "
                "config.policy.transformer"
            )
        for name in ("num_layers", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        self.embed = nn.Dense(self.width)
        self.embed_norm = nn.LayerNorm()
        self.kind = self.param("kind", nn.initializers.normal(0.02), (2, self.width))
        self.layers = [
            Layer(self.width, self.num_heads, self.mlp_dim, self.context, self.dropout)
            for _ in range(self.num_layers)
        ]
        self.head = Head(self.residual, self.kind_bias)

    def _tokens(self, rows: jax.Array, kind: int) -> jax.Array:
        """Rows of phi as tokens; [..., d] -> [..., w]."""
        tokens: jax.Array = self.embed_norm(self.embed(rows))
        return tokens + self.kind[kind].reshape((1,) * (rows.ndim - 1) + (-1,))

    def __call__(self, features: NodeFeatures, inputs: PolicyInput, *, train: bool) -> jax.Array:
        """Logits float32 [E] of all decisions, each walk read once.

        Raises ValueError when the inputs hold no trails.
        """
        if inputs.trails is None:
            raise ValueError(
                "the Transformer reads whole walks, but these decisions come without their trails; "
                "draw them with BatchSpec(trails=True), or play step by step"
            )
        decisions, trail = inputs.decisions, inputs.trails.of_decision
        nodes = jnp.maximum(inputs.trails.nodes, 0)  # [W, L]; past its end a walk is not looked at
        goal = target_vectors(features, decisions)
        places = self._tokens(features.vectors[nodes], PLACE)  # [W, L, w]
        targets = self._tokens(goal, TARGET)[:, None]  # [B, 1, w]

        when = jnp.arange(nodes.shape[1])
        between = (when[:, None] - when[None, :])[None]  # [1, L, L], from place to earlier place
        earlier = (between >= 0) & (between < self.context)
        # A target stands one after its decision's place: `back` places before that is 1 + back.
        back = jnp.arange(self.context)
        at = decisions.step[:, None] - back[None]  # [B, C]
        reach = jnp.concatenate([jnp.ones_like(at[:, :1], bool), at >= 0], axis=1)[:, None]
        away = jnp.arange(self.context + 1)[None, None]  # [1, 1, C + 1], itself first
        row, at = trail[:, None], jnp.maximum(at, 0)

        for number, layer in enumerate(self.layers, start=1):
            normed, keys, values = layer.read(places)
            own, own_key, own_value = layer.read(targets)
            seen_keys = jnp.concatenate([own_key, keys[row, at]], axis=1)
            seen_values = jnp.concatenate([own_value, values[row, at]], axis=1)
            targets = layer(targets, own, seen_keys, seen_values, away, reach, train=train)
            if number < self.num_layers:  # nobody looks at the places after the last layer
                places = layer(places, normed, keys, values, between, earlier, train=train)
        return self.head(targets[:, 0], goal, features, inputs)

    def step(
        self, features: NodeFeatures, inputs: PolicyInput, memory: Memory
    ) -> tuple[jax.Array, Memory]:
        """Logits float32 [E] of walkers that keep a memory, and their memories with this place.

        A walker's memory is right if it was passed through `step` at each of its steps before;
        what it held before step 0 does not matter, nor does a step passed twice.
        """
        decisions = inputs.decisions
        goal = target_vectors(features, decisions)
        place = self._tokens(features.vectors[decisions.node], PLACE)
        x = jnp.stack([place, self._tokens(goal, TARGET)], axis=1)  # [B, 2, w]

        # The memory is a ring of C places; behind them there is room for the target.
        walker = jnp.arange(len(place))
        write = decisions.step % self.context
        back = (decisions.step[:, None] - jnp.arange(self.context)[None]) % self.context
        held = back <= decisions.step[:, None]  # [B, C]
        none = jnp.zeros_like(back[:, :1])
        distance = jnp.stack(
            [jnp.append(back, none, axis=1), jnp.append(back + 1, none, axis=1)], axis=1
        )
        visible = jnp.stack(
            [jnp.append(held, none > 0, axis=1), jnp.append(held, none == 0, axis=1)], axis=1
        )

        kept = []
        for number, (layer, (keys, values)) in enumerate(
            zip(self.layers, memory, strict=True), start=1
        ):
            normed, key, value = layer.read(x)
            keys = keys.at[walker, write].set(key[:, PLACE]).at[:, -1].set(key[:, TARGET])
            values = values.at[walker, write].set(value[:, PLACE]).at[:, -1].set(value[:, TARGET])
            kept.append((keys, values))
            if number == self.num_layers:
                x, normed = x[:, TARGET:], normed[:, TARGET:]
                distance, visible = distance[:, TARGET:], visible[:, TARGET:]
            x = layer(x, normed, keys, values, distance, visible, train=False, whole_rows=True)
        return self.head(x[:, 0], goal, features, inputs), tuple(kept)


@dataclass(frozen=True)
class TransformerScorer:
    """The Transformer as evaluation sees it: whole walks, or step by step with a memory."""

    policy: TransformerPolicy

    def __call__(self, params: Any, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
        """Logits float32 [E] of decisions that come with their trails."""
        logits: Any = self.policy.apply({"params": params}, features, inputs, train=False)
        return logits

    def init_memory(self, num_walkers: int) -> Memory:
        """An empty memory: for each layer keys and values float32 [walkers, C + 1, w]."""
        policy = self.policy
        shape = (num_walkers, policy.context + 1, policy.width)
        return tuple((jnp.zeros(shape), jnp.zeros(shape)) for _ in range(policy.num_layers))

    def step(
        self, params: Any, features: NodeFeatures, inputs: PolicyInput, memory: Memory
    ) -> tuple[jax.Array, Memory]:
        """Logits float32 [E] and the memory after this step."""
        found: Any = self.policy.apply({"params": params}, features, inputs, memory, method="step")
        return found
