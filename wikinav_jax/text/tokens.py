"""Token tables: the token ids of every text on disk, memory-mapped, with the tokens behind spans.

An encoder that is trained reads other texts in every step, so their tokens are made once. A table
is a folder with `header.json`, `ids.npy` (uint16 or int32 [N, L]), `length.npy` (int32 [N]) and
`spans.npy` (uint16 [E, 2]), all memory-mapped. It is filled under another name and renamed, so a
table that is there is whole; one whose making was cut short goes on where it was.

Axes: N texts, L tokens of the longest allowed text, E spans of characters (anchors of links).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wikinav_jax.common.files import is_altered, read_json, sha256_of, write_json
from wikinav_jax.common.progress import progress
from wikinav_jax.common.resumable import PROGRESS_FILE, resumable_folder
from wikinav_jax.text.features import text_hash
from wikinav_jax.text.tokenizer import Tokenizer

FORMAT_VERSION = 1
HEADER_FILE, IDS_FILE, LENGTH_FILE, SPANS_FILE = "header.json", "ids.npy", "length.npy", "spans.npy"
_FILES = (IDS_FILE, LENGTH_FILE, SPANS_FILE)
_HASHES = "sha256"  # in the header: file name -> SHA-256
_CHUNK = 2_048  # texts tokenised at once
_CHUNKS_PER_SAVE = 16


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
    length: np.ndarray  # int32 [N], tokens of each text, special ones included; memory-mapped
    # uint16 [E, 2], first token and the one after the last; 0, 0: none in reach; memory-mapped
    spans: np.ndarray
    header: dict[str, Any]
    path: Path

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Token ids int32 [n, L] and the mask bool [n, L] of some texts."""
        tokens = np.asarray(self.ids[ids], np.int32)
        return tokens, np.arange(tokens.shape[1])[None] < self.length[ids][:, None]


def open_tokens(
    path: str | os.PathLike[str], expected: Mapping[str, Any] | None = None
) -> TokenTable:
    """Opens a table; files up to `common.files.CHECKED_BYTES` are compared with their SHA-256.

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
        length = np.load(path / LENGTH_FILE, mmap_mode="r", allow_pickle=False)
        spans = np.load(path / SPANS_FILE, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(
            f"the token table at {path} is damaged ({error}): delete the folder to build it again"
        ) from error
    for name, sha256 in header.get(_HASHES, {}).items():
        if is_altered(path / name, sha256):
            raise ValueError(
                f"{path / name} was altered: its SHA-256 is not {sha256}; delete {path} to build "
                "the table again"
            )
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
    identity: str | None = None,
    desc: str = "Tokens",
) -> TokenTable:
    """The table of some texts; made where there is none, gone on with where it was cut short.

    Args:
      path: the table's folder.
      texts: N texts; only `len` and slices are used, so they may live on disk.
      tokenizer: of the encoder that will read them.
      max_length: L; longer texts are cut.
      header: what shapes the tokens (tokenizer, titles, ...), checked against a table that is
        there; the texts' identity is added.
      spans: of characters, to be found again as spans of tokens.
      identity: what tells these texts from others; None: their hash, for which all are read.
      desc: names the progress bar.

    Raises ValueError as `open_tokens`, and when the spans do not fit the texts; RuntimeError when
    another process is making the same table.
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
    wanted = token_header(
        header,
        max_length=max_length,
        count=len(texts),
        num_spans=len(spans.characters),
        identity=text_hash(texts) if identity is None else identity,
    )
    if path.is_dir():
        return open_tokens(path, wanted)
    with resumable_folder(path) as folder:
        if folder is not None:
            _fill(folder, texts, tokenizer, spans, wanted, desc)
            hashes = {name: sha256_of(folder / name) for name in _FILES}
            write_json(folder / HEADER_FILE, wanted | {_HASHES: hashes})
    return open_tokens(path, wanted)


def token_header(
    header: Mapping[str, Any], *, max_length: int, count: int, num_spans: int, identity: str
) -> dict[str, Any]:
    """The header of a table: N, L and E beside what the caller says, see `build_tokens`."""
    return {
        **header,
        "format_version": FORMAT_VERSION,
        "max_length": max_length,
        "count": count,
        "num_spans": num_spans,
        "text_hash": identity,
    }


def token_dtype(vocab_size: int) -> type[np.uint16] | type[np.int32]:
    """How ids of that vocabulary are stored."""
    return np.uint16 if vocab_size <= 2**16 else np.int32


def _fill(
    folder: Path,
    texts: Sequence[str],
    tokenizer: Tokenizer,
    spans: Spans,
    header: dict[str, Any],
    desc: str,
) -> None:
    """Fills the arrays from the first text on that progress.json does not count as done."""
    count, max_length = header["count"], header["max_length"]
    files: dict[str, tuple[type, tuple[int, ...]]] = {
        IDS_FILE: (token_dtype(tokenizer.vocab_size), (count, max_length)),
        LENGTH_FILE: (np.int32, (count,)),
        SPANS_FILE: (np.uint16, (header["num_spans"], 2)),
    }
    done = 0
    if (folder / PROGRESS_FILE).is_file():
        before = read_json(folder / PROGRESS_FILE)
        if before["header"] == header and all((folder / name).is_file() for name in files):
            done = before["done"]
    arrays = {
        name: _writable(folder / name, *shape, fresh=not done) for name, shape in files.items()
    }
    with progress(desc=desc, total=count, initial=done, unit="text") as bar:
        for number, first in enumerate(range(done, count, _CHUNK), 1):
            chunk = list(texts[first : first + _CHUNK])
            batch = tokenizer(chunk, max_length=max_length, buckets=(max_length,), offsets=True)
            assert batch.offsets is not None
            rows = slice(first, first + len(chunk))
            arrays[IDS_FILE][rows] = batch.ids
            arrays[LENGTH_FILE][rows] = batch.mask.sum(axis=1)
            ends = np.asarray(spans.indptr[first : rows.stop + 1])
            slots = slice(int(ends[0]), int(ends[-1]))
            row = np.repeat(np.arange(len(chunk)), np.diff(ends))
            characters = np.asarray(spans.characters[slots], np.int64)
            real = characters[:, 1] > characters[:, 0]
            shift = np.asarray(spans.shift[rows], np.int64)[row]
            characters = np.where(real[:, None], characters + shift[:, None], 0)
            arrays[SPANS_FILE][slots] = token_spans(batch.offsets, row, characters)
            bar.update(len(chunk))
            if number % _CHUNKS_PER_SAVE == 0 or rows.stop == count:
                for array in arrays.values():
                    if isinstance(array, np.memmap):
                        array.flush()  # to disk before it is counted
                write_json(folder / PROGRESS_FILE, {"header": header, "done": rows.stop})


def _writable(path: Path, dtype: type, shape: tuple[int, ...], *, fresh: bool) -> np.ndarray:
    if 0 in shape:  # nothing can be mapped, and nothing is there to be written
        np.save(path, np.zeros(shape, dtype), allow_pickle=False)
        return np.zeros(shape, dtype)
    if fresh:
        return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    return np.lib.format.open_memmap(path, mode="r+")


def token_spans(offsets: np.ndarray, row: np.ndarray, characters: np.ndarray) -> np.ndarray:
    """The tokens that spans of characters touch; int64 [E, 2], 0, 0 where there are none.

    Args:
      offsets: int [n, L, 2], characters of every token; special tokens and padding have 0, 0.
      row: int [E], the text that each span is of.
      characters: int [E, 2]; an empty span has no tokens.

    A span that is cut off by the end of the tokens keeps those that are there.
    """
    of_token, token = np.nonzero(offsets[..., 1] > offsets[..., 0])
    if not len(token):
        return np.zeros((len(row), 2), np.int64)
    # Characters of all texts one after the other, so that one search serves all spans.
    width = int(max(offsets.max(), characters.max(initial=0))) + 1
    starts, ends = (offsets[of_token, token].astype(np.int64) + of_token[:, None] * width).T
    wanted = characters + row[:, None] * width
    first = np.searchsorted(ends, wanted[:, 0], side="right")
    last = np.searchsorted(starts, wanted[:, 1], side="left")
    touched = (last > first) & (characters[:, 1] > characters[:, 0])
    tokens = token[np.stack([np.minimum(first, len(token) - 1), np.maximum(last - 1, 0)], axis=1)]
    return np.where(touched[:, None], tokens + np.array([[0, 1]]), 0)
