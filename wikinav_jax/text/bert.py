"""One Linen encoder for BERT, MiniLM, RoBERTa and DistilBERT checkpoints.

Sources: BERT (Devlin et al. 2019, https://arxiv.org/abs/1810.04805), RoBERTa (Liu et al. 2019,
https://arxiv.org/abs/1907.11692), DistilBERT (Sanh et al. 2019, https://arxiv.org/abs/1910.01108),
MiniLM (Wang et al. 2020, https://arxiv.org/abs/2002.10957). All four are the same stack of
post-norm layers; they differ in names, in where positions start and in token types.

Axes: B batch, L tokens, H heads, D width of a head, d = H * D hidden width.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from wikinav_jax.common.suggest import did_you_mean

# t, t^3, ..., t^15 of Phi(t) - 1/2 on [-4, 4].
PHI_COEFFICIENTS = (
    0.398200507,
    -0.0650862071,
    0.009051531,
    -0.000885762895,
    5.77963353e-05,
    -2.33931815e-06,
    5.16487592e-08,
    -4.55373768e-10,
)


def gelu_polynomial(x: jax.Array) -> jax.Array:
    """GELU within 1.5e-4 of the exact one: below what rounding its result to bfloat16 does.

    x Phi(x), the normal distribution Phi by an odd polynomial on [-4, 4] (weighted least squares,
    iterated towards the least maximum, exactly 1 at 4) and constant beyond. No division and no
    exponential: on a CPU that saves 8% of the whole encoder's time against the erf form.
    """
    t = jnp.clip(x, -4.0, 4.0)
    u = t * t
    half = jnp.full_like(u, PHI_COEFFICIENTS[-1])
    for coefficient in PHI_COEFFICIENTS[-2::-1]:
        half = half * u + coefficient
    return x * (t * half + 0.5)


def _gelu(x: jax.Array) -> jax.Array:
    return nn.gelu(x, approximate=False)  # the checkpoints were trained with the exact erf form


def _gelu_tanh(x: jax.Array) -> jax.Array:
    return nn.gelu(x, approximate=True)


ACTIVATIONS = {"gelu": _gelu, "gelu_new": _gelu_tanh, "gelu_pytorch_tanh": _gelu_tanh}
ACTIVATIONS |= {"relu": nn.relu, "silu": nn.silu, "swish": nn.silu}

# Per model_type: our field -> the key of config.json.
_BERT_KEYS = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_position_embeddings": "max_position_embeddings",
}
_DISTILBERT_KEYS = {
    "vocab_size": "vocab_size",
    "hidden_size": "dim",
    "num_layers": "n_layers",
    "num_heads": "n_heads",
    "intermediate_size": "hidden_dim",
    "max_position_embeddings": "max_position_embeddings",
}
CONFIG_KEYS = {"bert": _BERT_KEYS, "roberta": _BERT_KEYS, "distilbert": _DISTILBERT_KEYS}
# XLM-RoBERTa and CamemBERT are RoBERTa under other names.
CONFIG_KEYS |= {"xlm-roberta": _BERT_KEYS, "camembert": _BERT_KEYS}
ROBERTA_TYPES = ("roberta", "xlm-roberta", "camembert")


@dataclasses.dataclass(frozen=True)
class EncoderConfig:
    """The shape of a checkpoint, as its config.json states it."""

    family: str  # bert | roberta | distilbert; MiniLM is bert
    vocab_size: int
    hidden_size: int  # d
    num_layers: int
    num_heads: int  # H
    intermediate_size: int
    max_position_embeddings: int  # rows of the position table
    type_vocab_size: int = 0  # 0: no token types (DistilBERT)
    activation: str = "gelu"
    layer_norm_eps: float = 1e-12
    position_offset: int = 0  # RoBERTa counts positions from pad_token_id + 1
    pad_token_id: int = 0
    hidden_dropout: float = 0.1
    attention_dropout: float = 0.1

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in ("type_vocab_size", "position_offset", "pad_token_id") else 1
            if field.type == "int" and (type(value) is not int or value < least):
                raise ValueError(
                    f"{field.name}={value!r} must be a whole number of at least {least}; "
                    "check the checkpoint's config.json"
                )
        if self.hidden_size % self.num_heads:
            raise ValueError(
                f"hidden_size={self.hidden_size} is not a multiple of num_heads={self.num_heads}; "
                "check the checkpoint's config.json"
            )
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation {self.activation!r} is not supported; known: {sorted(ACTIVATIONS)}"
            )
        if self.max_length < 1:
            raise ValueError(
                f"max_position_embeddings={self.max_position_embeddings} leaves no position after "
                f"the offset {self.position_offset}; check the checkpoint's config.json"
            )

    @property
    def max_length(self) -> int:
        """The longest input in tokens, special tokens included."""
        return self.max_position_embeddings - self.position_offset

    @classmethod
    def from_huggingface(cls, raw: Mapping[str, Any], where: str = "config.json") -> EncoderConfig:
        """Reads the dict of a Hugging Face config.json; `where` names it in errors.

        Raises:
          ValueError: unknown model_type, a missing field, or a variant that this encoder would
            compute wrongly (relative positions, decoders).
        """
        model_type = raw.get("model_type")
        if model_type not in CONFIG_KEYS:
            raise ValueError(
                f"{where}: model_type {model_type!r} is not supported; supported: "
                f"{sorted(CONFIG_KEYS)}.{did_you_mean(str(model_type), CONFIG_KEYS)}"
            )
        keys = CONFIG_KEYS[model_type]
        missing = [key for key in keys.values() if key not in raw]
        if missing:
            raise ValueError(
                f"{where} lacks {missing}, needed for model_type {model_type!r}; "
                "it may be truncated or of another library: download the checkpoint again"
            )
        if raw.get("position_embedding_type", "absolute") != "absolute":
            raise ValueError(
                f"{where}: position_embedding_type {raw['position_embedding_type']!r} is not "
                "supported, only 'absolute'"
            )
        if raw.get("is_decoder", False):
            raise ValueError(f"{where}: is_decoder is true, but this is an encoder without a cache")
        shape = {field: raw[key] for field, key in keys.items()}
        if model_type == "distilbert":
            # sinusoidal_pos_embds only changes how the table was initialised; it is stored.
            return cls(
                family="distilbert",
                activation=raw.get("activation", "gelu"),
                pad_token_id=raw.get("pad_token_id") or 0,
                hidden_dropout=raw.get("dropout", 0.1),
                attention_dropout=raw.get("attention_dropout", 0.1),
                **shape,
            )
        roberta = model_type in ROBERTA_TYPES
        pad_token_id = raw.get("pad_token_id")
        if pad_token_id is None:
            pad_token_id = 1 if roberta else 0
        return cls(
            family="roberta" if roberta else "bert",
            type_vocab_size=raw.get("type_vocab_size", 2),
            activation=raw.get("hidden_act", "gelu"),
            layer_norm_eps=raw.get("layer_norm_eps", 1e-12),
            position_offset=pad_token_id + 1 if roberta else 0,
            pad_token_id=pad_token_id,
            hidden_dropout=raw.get("hidden_dropout_prob", 0.1),
            attention_dropout=raw.get("attention_probs_dropout_prob", 0.1),
            **shape,
        )


class Linear(nn.Module):
    """x W + b with operands in `dtype` and float32 sums.

    float32 sums cost nothing on TPU and GPU, and on CPUs with AVX512-BF16 the bfloat16 product
    with a float32 result is twice as fast as the one rounded to bfloat16.
    """

    features: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """x [..., n] -> float32 [..., features]."""
        init = nn.initializers.normal(0.02)
        kernel = self.param("kernel", init, (x.shape[-1], self.features))
        bias = self.param("bias", nn.initializers.zeros_init(), (self.features,))
        y = jax.lax.dot_general(
            x.astype(self.dtype),
            kernel.astype(self.dtype),
            (((x.ndim - 1,), (0,)), ((), ())),
            preferred_element_type=jnp.float32,
        )
        return y + bias.astype(jnp.float32).reshape((1,) * (x.ndim - 1) + (-1,))


class SelfAttention(nn.Module):
    """Softmax attention over the tokens that the mask admits."""

    config: EncoderConfig
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array, bias: jax.Array, deterministic: bool) -> jax.Array:
        """x [B, L, d], bias [B, 1, 1, L] added to the scores -> [B, L, d]."""
        config = self.config
        batch, length, width = x.shape
        head_dim = width // config.num_heads
        qkv = Linear(3 * width, self.dtype, name="qkv")(x).astype(self.dtype)
        qkv = qkv.reshape(batch, length, 3, config.num_heads, head_dim)
        query, key, value = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        scores = jnp.einsum("blhd,bmhd->bhlm", query, key, preferred_element_type=jnp.float32)
        weights = jax.nn.softmax(scores * head_dim**-0.5 + bias, axis=-1)
        weights = nn.Dropout(config.attention_dropout)(weights, deterministic=deterministic)
        mixed = jnp.einsum(
            "bhlm,bmhd->blhd",
            weights.astype(self.dtype),
            value,
            preferred_element_type=jnp.float32,
        )
        return Linear(width, self.dtype, name="output")(mixed.reshape(batch, length, width))


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each with a residual and a norm after it."""

    config: EncoderConfig
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array, bias: jax.Array, deterministic: bool) -> jax.Array:
        """x float32 [B, L, d] -> float32 [B, L, d]."""
        config = self.config
        dropout = partial(nn.Dropout(config.hidden_dropout), deterministic=deterministic)
        norm = partial(nn.LayerNorm, epsilon=config.layer_norm_eps)
        attended = SelfAttention(config, self.dtype, name="attention")(x, bias, deterministic)
        x = norm(name="attention_norm")(x + dropout(attended))
        hidden = Linear(config.intermediate_size, self.dtype, name="intermediate")(x)
        if config.activation == "gelu" and self.dtype == jnp.bfloat16:
            hidden = gelu_polynomial(hidden)
        else:
            hidden = ACTIVATIONS[config.activation](hidden)
        hidden = Linear(config.hidden_size, self.dtype, name="output")(hidden)
        return norm(name="output_norm")(x + dropout(hidden))


class Encoder(nn.Module):
    """Token ids to one vector per token.

    Attributes:
      config: the checkpoint's shape.
      dtype: type of the matrix products' operands; residuals, norms and softmax stay float32.
      remat: recompute each layer in the backward pass, for memory in proportion to one layer.
    """

    config: EncoderConfig
    dtype: Any = jnp.float32
    remat: bool = False

    @nn.compact
    def __call__(
        self,
        ids: jax.Array,
        mask: jax.Array,
        token_types: jax.Array | None = None,
        *,
        deterministic: bool = True,
    ) -> jax.Array:
        """Encodes a batch.

        Args:
          ids: int [B, L] token ids.
          mask: bool or int [B, L], nonzero at tokens and zero at padding. Outputs at padding are
            finite and meaningless; a row without any token is allowed.
          token_types: int [B, L] segment ids, zeros when absent; not for DistilBERT.
          deterministic: no dropout; otherwise an rng named `dropout` is needed.

        Returns:
          The last hidden state, float32 [B, L, d].

        Raises:
          ValueError: L is above the checkpoint's limit, shapes differ, or token types are given
            to a family without them.
        """
        config = self.config
        if ids.ndim != 2 or ids.shape != mask.shape:
            raise ValueError(f"ids {ids.shape} and mask {mask.shape} must both be [B, L]")
        length = ids.shape[1]
        if length > config.max_length:
            raise ValueError(
                f"{length} tokens are above this checkpoint's limit of {config.max_length}; "
                "truncate when tokenising (max_length)"
            )
        table = partial(nn.Embed, features=config.hidden_size)
        x = table(config.vocab_size, name="word_embeddings")(ids)
        positions = table(config.max_position_embeddings, name="position_embeddings")
        if config.family == "roberta":
            # Positions count real tokens only, and padding has its own row of the table.
            count = jnp.cumsum(mask.astype(jnp.int32), axis=1)
            x += positions(jnp.where(mask != 0, count + config.pad_token_id, config.pad_token_id))
        else:
            x += positions(jnp.arange(length))[None]
        if config.type_vocab_size:
            types = table(config.type_vocab_size, name="token_type_embeddings")
            x += types(jnp.zeros_like(ids) if token_types is None else token_types)
        elif token_types is not None:
            raise ValueError(f"{config.family} has no token types: call without token_types")
        x = nn.LayerNorm(epsilon=config.layer_norm_eps, name="embeddings_norm")(x)
        x = nn.Dropout(config.hidden_dropout)(x, deterministic=deterministic)

        # The least finite float, not -inf: a row of padding then gives uniform weights, not NaN.
        bias = jnp.where(mask != 0, 0.0, jnp.finfo(jnp.float32).min / 2)[:, None, None, :]
        layer = nn.remat(EncoderLayer, static_argnums=(3,)) if self.remat else EncoderLayer
        for index in range(config.num_layers):
            x = layer(config, self.dtype, name=f"layer_{index}")(x, bias, deterministic)
        return x
