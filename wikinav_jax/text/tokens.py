"""Token tables: the token ids of every text on disk, memory-mapped, with the tokens behind spans.

An encoder that is trained reads other texts in every step, so their tokens are made once. A table
is a folder with `header.json`, `ids.npy` (uint16 or int32 [N, L]), `length.npy` (int32 [N]) and
`spans.npy` (uint16 [E, 2]); it is written aside and renamed, so a table that is there is whole.

Axes: N texts, L tokens of the longest allowed text, E spans of characters (anchors of links).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wikinav_jax.common.files import atomic_directory, read_json, write_json
from wikinav_jax.common.progress import progress
from wikinav_jax.text.features import text_hash
from wikinav_jax.text.tokenizer import Tokenizer

FORMAT_VERSION = 1
HEADER_FILE, IDS_FILE, LENGTH_FILE, SPANS_FILE = "header.json", "ids.npy", "length.npy", "spans.npy"
_CHUNK = 2_048  # texts tokenised at once


@dataclasses.dataclass(frozen=True)
class Spans:
    """Spans of characters of N texts, in the order of the texts."""

    indptr: np.ndarray  # int64 [N + 1], spans of text i are indptr[i]:indptr[i + 1]
    characters: np.ndarray  # int [E, 2], start and end in the text; start = end: no span
    shift: np.ndarray  # int [N], characters that stand before the text in what is tokenised


@dataclasses.dataclass(frozen=True)
class TokenTable:
    """A table opened for reading."""

    ids: np.ndarray  # uint16 or int32 [N, L], memory-mapped; padding after `length`
    length: np.ndarray  # int32 [N], tokens of each text, special ones included
    spans: np.ndarray  # uint16 [E, 2], first token and the one after the last; 0, 0: none in reach
    header: dict[str, Any]
    path: Path

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Token ids int32 [n, L] and the mask bool [n, L] of some texts."""
        tokens = np.asarray(self.ids[ids], np.int32)
        return tokens, np.arange(tokens.shape[1])[None] < self.length[ids][:, None]


def open_tokens(
    path: str | os.PathLike[str], expected: Mapping[str, Any] | None = None
) -> TokenTable:
    """Opens a table.

    Raises:
      FileNotFoundError: no table there.
      ValueError: another format, damaged files, or a header field that differs from `expected`.
    """
    path = Path(path)
    if not (path / HEADER_FILE).is_file():
        raise FileNotFoundError(f"no token table at {path}; build it first")
    header = read_json(path / HEADER_FILE)
    version = header.get("format_version") if isinstance(header, dict) else None
    if version != FORMAT_VERSION:
        raise ValueError(
            f"{path / HEADER_FILE} has format version {version}, this code reads {FORMAT_VERSION}: "
            "delete the folder to build it again, or update wikinav_jax"
        )
    for key, value in (expected or {}).items():
        if header.get(key) != value:
            raise ValueError(
                f"the token table {path} was made with {key}={header.get(key)!r}, but {key}="
                f"{value!r} is wanted: delete the folder to build it again, or set {key} back"
            )
    try:
        ids = np.load(path / IDS_FILE, mmap_mode="r", allow_pickle=False)
        length = np.load(path / LENGTH_FILE, allow_pickle=False)
        spans = np.load(path / SPANS_FILE, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(
            f"the token table at {path} is damaged ({error}): delete the folder to build it again"
        ) from error
    shapes = (ids.shape, length.shape, spans.shape)
    wanted = (
        (header.get("count"), header.get("max_length")),
        (header.get("count"),),
        (header.get("num_spans"), 2),
    )
    if shapes != wanted:
        raise ValueError(
            f"the token table at {path} holds arrays of shapes {shapes}, its header says {wanted}: "
            "delete the folder to build it again"
        )
    return TokenTable(ids, length, spans, header, path)


def build_tokens(
    path: str | os.PathLike[str],
    texts: Sequence[str],
    tokenizer: Tokenizer,
    *,
    max_length: int,
    header: Mapping[str, Any],
    spans: Spans | None = None,
    desc: str = "Tokens",
) -> TokenTable:
    """The table of some texts; made where there is none.

    Args:
      path: the table's folder.
      texts: N texts.
      tokenizer: of the encoder that will read them.
      max_length: L; longer texts are cut.
      header: what shapes the tokens (tokenizer, titles, ...), checked against a table that is
        there; the texts' hash is added.
      spans: of characters, to be found again as spans of tokens.
      desc: names the progress bar.

    Raises ValueError as `open_tokens`, and when the spans do not fit the texts.
    """
    path = Path(path)
    if spans is None:
        nothing = np.zeros(len(texts), np.int64)
        spans = Spans(np.zeros(len(texts) + 1, np.int64), np.zeros((0, 2), np.int64), nothing)
    if len(spans.indptr) != len(texts) + 1 or len(spans.shift) != len(texts):
        raise ValueError(
            f"spans of {len(spans.indptr) - 1} texts do not fit {len(texts)} texts; give one "
            "(maybe empty) range of spans, and one shift, for every text"
        )
    wanted = {
        **header,
        "max_length": max_length,
        "count": len(texts),
        "num_spans": len(spans.characters),
        "text_hash": text_hash(texts),
    }
    if path.is_dir():
        return open_tokens(path, wanted)
    dtype = np.uint16 if tokenizer.vocab_size <= 2**16 else np.int32
    with atomic_directory(path) as folder:
        ids = np.lib.format.open_memmap(
            folder / IDS_FILE, mode="w+", dtype=dtype, shape=(len(texts), max_length)
        )
        length = np.zeros(len(texts), np.int32)
        found = np.zeros((len(spans.characters), 2), np.uint16)
        with progress(desc=desc, total=len(texts), unit="text") as bar:
            for first in range(0, len(texts), _CHUNK):
                chunk = list(texts[first : first + _CHUNK])
                batch = tokenizer(chunk, max_length=max_length, buckets=(max_length,), offsets=True)
                assert batch.offsets is not None
                part = slice(first, first + len(chunk))
                ids[part] = batch.ids
                length[part] = batch.mask.sum(axis=1)
                for row, slots, characters in _of_chunk(spans, first, len(chunk)):
                    found[slots] = token_spans(
                        batch.offsets[row, : length[first + row]], characters
                    )
                bar.update(len(chunk))
        ids.flush()
        del ids
        np.save(folder / LENGTH_FILE, length, allow_pickle=False)
        np.save(folder / SPANS_FILE, found, allow_pickle=False)
        write_json(folder / HEADER_FILE, {**wanted, "format_version": FORMAT_VERSION})
    return open_tokens(path, wanted)


def _of_chunk(spans: Spans, first: int, count: int) -> Iterator[tuple[int, slice, np.ndarray]]:
    """(row in the chunk, slots of its spans, their characters in what is tokenised)."""
    for row in range(count):
        slots = slice(int(spans.indptr[first + row]), int(spans.indptr[first + row + 1]))
        if slots.stop > slots.start:
            characters = np.asarray(spans.characters[slots], np.int64)
            real = characters[:, 1] > characters[:, 0]
            yield row, slots, np.where(real[:, None], characters + spans.shift[first + row], 0)


def token_spans(offsets: np.ndarray, characters: np.ndarray) -> np.ndarray:
    """The tokens that spans of characters touch; int64 [E, 2], 0, 0 where there are none.

    Args:
      offsets: int [n, 2], characters of every token; special tokens have 0, 0.
      characters: int [E, 2]; an empty span has no tokens.

    A span that is cut off by the end of the tokens keeps those that are there.
    """
    real = np.flatnonzero(offsets[:, 1] > offsets[:, 0])
    if not len(real):
        return np.zeros((len(characters), 2), np.int64)
    starts, ends = offsets[real, 0], offsets[real, 1]
    first = np.searchsorted(ends, characters[:, 0], side="right")
    last = np.searchsorted(starts, characters[:, 1], side="left")
    touched = (last > first) & (characters[:, 1] > characters[:, 0])
    tokens = real[np.stack([np.minimum(first, len(real) - 1), np.maximum(last - 1, 0)], axis=1)]
    return np.where(touched[:, None], tokens + np.array([[0, 1]]), 0)
