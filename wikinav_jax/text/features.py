"""Feature tables: one row per text on disk, memory-mapped, self-describing, built resumably.

A table is a folder with `header.json` and `rows.bin` (row-major, little-endian). While it is
built it is a folder of another name with `progress.json` beside the rows, so a table of the final
name is always whole.

Axes: N texts, d features.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from wikinav_jax.common.files import is_altered, read_json, sha256_of, write_json
from wikinav_jax.common.progress import progress
from wikinav_jax.common.resumable import PROGRESS_FILE, partial_folder, resumable_folder

FORMAT_VERSION = 1
HEADER_FILE = "header.json"
ROWS_FILE = "rows.bin"
DTYPES: dict[str, np.dtype] = {
    "float16": np.dtype(np.float16),
    "float32": np.dtype(np.float32),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
# Set by build_table; a caller's header cannot claim them.
RESERVED = ("format_version", "dtype", "dim", "count", "text_hash")
HASH = "sha256"  # of the rows; likewise


@dataclasses.dataclass(frozen=True)
class FeatureTable:
    """A table opened for reading."""

    array: np.ndarray  # header["dtype"] [N, d], memory-mapped
    header: dict[str, Any]
    path: Path

    def __len__(self) -> int:
        return self.array.shape[0]

    @property
    def dim(self) -> int:
        """d, the width of a row."""
        return self.array.shape[1]

    def rows(self, ids: np.ndarray | slice | None = None) -> np.ndarray:
        """float32 copies of the rows `ids`, all when None: [len(ids), d]."""
        return np.asarray(self.array[slice(None) if ids is None else ids], dtype=np.float32)


def text_hash(texts: Sequence[str]) -> str:
    """Hex SHA-256 of the texts in order; the borders between texts count."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", errors="surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def open_table(
    path: str | os.PathLike[str],
    expected: Mapping[str, Any] | None = None,
    *,
    verify: bool = False,
) -> FeatureTable:
    """Opens a table.

    Args:
      path: the table's folder.
      expected: header fields that must have these values, e.g. encoder, pooling, text_hash.
      verify: compare the rows with their SHA-256 even if they take more than
        `common.files.CHECKED_BYTES` (512 MiB); smaller tables are always compared.

    Raises:
      FileNotFoundError: no table, or one whose building was cut short.
      ValueError: not a table, a newer format, truncated or altered rows, or a field that differs
        from `expected`; the message names the field, both values and the remedy.
    """
    path = Path(path)
    header_path, rows_path = path / HEADER_FILE, path / ROWS_FILE
    if not header_path.is_file() or not rows_path.is_file():
        unfinished = partial_folder(path).is_dir()
        raise FileNotFoundError(
            f"no feature table at {path}"
            + (": its building was cut short; build it again and it resumes" if unfinished else "")
        )
    header = read_json(header_path)
    lacking = [key for key in RESERVED if not isinstance(header, dict) or key not in header]
    if lacking:
        raise ValueError(f"{header_path} lacks {lacking}, so {path} is no feature table")
    if header["format_version"] != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {header['format_version']}, this code reads "
            f"{FORMAT_VERSION}: build the table again, or update wikinav_jax"
        )
    dtype = DTYPES.get(header["dtype"])
    if dtype is None:
        raise ValueError(
            f"{header_path}: dtype {header['dtype']!r} is not one of {sorted(DTYPES)}: "
            "delete the table and build it again"
        )
    for key, value in (expected or {}).items():
        if header.get(key) != value:
            raise ValueError(
                f"the feature table {path} was made with {key}={header.get(key)!r}, but "
                f"{key}={value!r} is wanted: delete the folder to build it again, or set {key} back"
            )
    shape = (header["count"], header["dim"])
    size, needed = rows_path.stat().st_size, shape[0] * shape[1] * dtype.itemsize
    if size != needed:
        raise ValueError(
            f"{rows_path} has {size} bytes where {shape[0]} rows of {shape[1]} {header['dtype']} "
            f"take {needed}: it is {'truncated' if size < needed else 'no table of this header'}; "
            f"delete {path} and build it again"
        )
    if HASH in header and is_altered(rows_path, header[HASH], whole=verify):
        raise ValueError(
            f"{rows_path} was altered: its SHA-256 is not {header[HASH]}; delete {path} and build "
            "it again"
        )
    array = np.memmap(rows_path, dtype, "r", shape=shape) if needed else np.empty(shape, dtype)
    return FeatureTable(array, header, path)


def build_table(
    path: str | os.PathLike[str],
    texts: Sequence[str],
    encode: Callable[[list[str]], np.ndarray],
    *,
    dim: int,
    header: Mapping[str, Any],
    dtype: str = "float16",
    chunk_size: int = 1024,
    desc: str = "encoding",
) -> FeatureTable:
    """Encodes texts into a table, or opens the one that is there, or finishes a started one.

    Texts go to `encode` longest first in chunks of like length, so that a batch wastes little on
    padding. A finished chunk is on disk before it is counted, so after a kill at any moment the
    next call goes on at the first unfinished chunk and ends with the same bytes.

    Args:
      path: the folder to make.
      texts: N texts; only `len` and indexing are used, so they may live on disk.
      encode: list of n texts -> float [n, dim].
      dim: d, the width of a row.
      header: JSON-like facts about the encoder; a table with other facts is not reused.
      dtype: `float16`, `bfloat16` or `float32`, as stored.
      chunk_size: texts between two saves; a started table keeps the size it was started with.
      desc: label of the progress bar, which counts blocks.

    Raises:
      ValueError: no texts, an unknown dtype, a header with reserved fields, an existing table or
        started one made with other facts, or `encode` returned a wrong shape or values that are
        not finite in `dtype`.
      RuntimeError: another process is building the same table.
    """
    path = Path(path)
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r} is not one of {sorted(DTYPES)}")
    if not len(texts):
        raise ValueError(f"no texts to encode for {path}: the corpus is empty")
    if chunk_size < 1 or dim < 1:
        raise ValueError(f"chunk_size={chunk_size} and dim={dim} must be at least 1")
    claimed = [key for key in (*RESERVED, HASH) if key in header]
    if claimed:
        raise ValueError(f"header fields {claimed} are set by build_table: leave them out")
    full = dict(header) | {
        "format_version": FORMAT_VERSION,
        "dtype": dtype,
        "dim": dim,
        "count": len(texts),
        "text_hash": text_hash(texts),
    }
    if path.exists():
        return open_table(path, full)

    with resumable_folder(path) as partial:
        if partial is not None:
            _encode_chunks(partial, texts, encode, full, chunk_size, desc)
            write_json(partial / HEADER_FILE, full | {HASH: sha256_of(partial / ROWS_FILE)})
    return open_table(path, full)


def _encode_chunks(
    partial: Path,
    texts: Sequence[str],
    encode: Callable[[list[str]], np.ndarray],
    header: Mapping[str, Any],
    chunk_size: int,
    desc: str,
) -> None:
    """Fills `partial`/rows.bin from the first unfinished chunk on."""
    count, dim, dtype = header["count"], header["dim"], DTYPES[header["dtype"]]
    plan = dict(header) | {"chunk_size": chunk_size}
    progress_path, rows_path = partial / PROGRESS_FILE, partial / ROWS_FILE
    done = 0
    if progress_path.is_file() and rows_path.is_file():
        state = read_json(progress_path)
        # Chunks were counted in their old size, so a started table keeps it.
        chunk_size = plan["chunk_size"] = state["plan"]["chunk_size"]
        for key in plan.keys() | state["plan"].keys():
            if plan.get(key) != state["plan"].get(key):
                raise ValueError(
                    f"{partial} was started with {key}={state['plan'].get(key)!r}, but "
                    f"{key}={plan.get(key)!r} is wanted: delete that folder to start again, or "
                    f"set {key} back to go on"
                )
        done = state["chunks_done"]
    size = count * dim * dtype.itemsize
    if not rows_path.is_file() or rows_path.stat().st_size != size:
        done = 0
        with open(rows_path, "wb") as file:
            file.truncate(size)
    rows = np.memmap(rows_path, dtype, "r+", shape=(count, dim))
    # Stable, so the chunks are the same in every run. Characters stand in for tokens.
    lengths = np.fromiter((len(texts[i]) for i in range(count)), np.int64, count)
    order = np.argsort(-lengths, kind="stable")
    first = min(done * chunk_size, count)
    with progress(desc=desc, total=count, initial=first, unit="block") as bar:
        for start in range(first, count, chunk_size):
            ids = order[start : start + chunk_size]
            values = np.asarray(encode([texts[int(i)] for i in ids]))
            if values.shape != (len(ids), dim):
                raise ValueError(
                    f"encode returned shape {values.shape} for {len(ids)} texts; "
                    f"({len(ids)}, {dim}) is needed"
                )
            with np.errstate(over="ignore"):  # an overflow is reported below, with its text
                stored = values.astype(dtype)
            finite = np.isfinite(stored.astype(np.float32)).all(axis=1)
            if not finite.all():
                row = int(ids[np.argmin(finite)])
                raise ValueError(
                    f"the features of text {row} are not finite in {header['dtype']}; "
                    "store them as float32 or bfloat16, or check the encoder"
                )
            rows[ids] = stored
            rows.flush()  # to disk before it is counted
            done = start // chunk_size + 1
            write_json(progress_path, {"plan": plan, "chunks_done": done})
            bar.update(len(ids))
