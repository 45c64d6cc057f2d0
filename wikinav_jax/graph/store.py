"""Saving a LinkedTextGraph as a directory, and mapping it back into memory.

The directory is written once: `meta.json` (format, version, counts, source, licence, the command
that built it, size and SHA-256 of each file), `indptr.npy`, `indices.npy`, `edge_kind.npy`,
`anchor.npy`, `article.npy` and `blocks.arrow`. Nothing is pickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wikinav_jax.common.files import (
    atomic_directory,
    is_altered,
    read_json,
    sha256_of,
    write_json,
)
from wikinav_jax.graph.block_table import open_block_table
from wikinav_jax.graph.csr import read_only
from wikinav_jax.graph.linked_text import ARRAYS, EdgeKind, LinkedTextGraph, check_graph

__all__ = ["EdgeKind", "LinkedTextGraph", "open_graph", "save_graph"]

FORMAT = "wikinav_jax.LinkedTextGraph"
VERSION = 1
BLOCKS_FILE = "blocks.arrow"
_EDGES_AT_ONCE = 1 << 24
_RESERVED = ("format", "version", "counts", "source", "licence", "command", "files")


def save_graph(
    graph: LinkedTextGraph,
    path: str | Path,
    *,
    source: str,
    licence: str,
    command: str,
    extra_meta: Mapping[str, Any] | None = None,
) -> Path:
    """Writes a graph as a directory, which appears only when it is complete.

    Args:
      graph: the graph; its own `meta` is kept, less what belongs to the saved file.
      path: the directory; one that stands there is replaced.
      source: where the text comes from, e.g. a URL.
      licence: the licence of the text.
      command: the exact command that builds the graph.
      extra_meta: more JSON for `meta.json`.

    Raises:
      ValueError: source, licence or command is empty, or extra_meta uses a reserved name.
    """
    for name, value in (("source", source), ("licence", licence), ("command", command)):
        if not value.strip():
            raise ValueError(f"{name} is empty: whoever finds the graph must know it")
    extra_meta = dict(extra_meta or {})
    taken = sorted(set(extra_meta) & set(_RESERVED))
    if taken:
        raise ValueError(f"extra_meta uses the reserved names {taken}; rename them")
    path = Path(path)
    with atomic_directory(path) as temporary:
        for name in ARRAYS:
            np.save(temporary / f"{name}.npy", getattr(graph, name), allow_pickle=False)
        graph.blocks.write(temporary / BLOCKS_FILE, graph.article)
        meta: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "counts": _counts(graph),
            "source": source,
            "licence": licence,
            "command": command,
            "files": {
                name: {
                    "bytes": (temporary / name).stat().st_size,
                    "sha256": sha256_of(temporary / name),
                }
                for name in _file_names()
            },
        }
        kept = {key: value for key, value in graph.meta.items() if key not in _RESERVED}
        write_json(temporary / "meta.json", {**meta, **kept, **extra_meta})
    return path


def open_graph(path: str | Path, *, verify: bool = False) -> LinkedTextGraph:
    """Maps a saved graph into memory.

    The version, every file's size, and the SHA-256 of files up to `common.files.CHECKED_BYTES`
    (512 MiB) are always checked. Larger ones are not read here: of a graph of 37 million blocks
    those are the edges and the texts, and same-size damage to them is seen by `verify` only.

    Args:
      path: the directory that `save_graph` wrote.
      verify: also read everything: compare the SHA-256 of each file and check every value.

    Raises:
      FileNotFoundError: no such directory, or one of its files is missing.
      ValueError: not a graph, a newer version, a truncated or altered file.
    """
    path = Path(path)
    if not path.is_dir():
        raise FileNotFoundError(f"{path} is not a directory; build the graph first")
    if not (path / "meta.json").is_file():
        raise FileNotFoundError(f"{path} has no meta.json: it is not a saved graph")
    meta = read_json(path / "meta.json")
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(f"{path / 'meta.json'} does not describe a graph (format is not {FORMAT})")
    if meta.get("version") != VERSION:
        raise ValueError(
            f"{path} has format version {meta.get('version')}, this package reads {VERSION}; "
            "build the graph again, or install the wikinav_jax that wrote it"
        )
    try:
        counts, files = meta["counts"], meta["files"]
        lengths = {
            "indptr": counts["nodes"] + 1,
            "article": counts["nodes"],
            **dict.fromkeys(("indices", "edge_kind", "anchor"), counts["edges"]),
        }
        recorded = {name: (files[name]["bytes"], files[name]["sha256"]) for name in _file_names()}
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path / 'meta.json'} lacks {error}; build the graph again") from error
    for name, (num_bytes, sha256) in recorded.items():
        _check_file(path / name, num_bytes, sha256, whole=verify)
    arrays = {name: _open_array(path / f"{name}.npy", name, lengths[name]) for name in ARRAYS}
    blocks = open_block_table(path / BLOCKS_FILE)
    if len(blocks) != counts["nodes"] or blocks.num_articles != counts["articles"]:
        raise ValueError(
            f"{path / BLOCKS_FILE} holds {len(blocks)} blocks of {blocks.num_articles} articles, "
            f"meta.json says {counts['nodes']} of {counts['articles']}; build the graph again"
        )
    graph = LinkedTextGraph(**arrays, blocks=blocks, meta=meta, path=path)
    if verify:
        check_graph(graph)
        if not np.array_equal(blocks.title_codes(), graph.article):
            raise ValueError(
                f"{path}: article.npy and blocks.arrow disagree; build the graph again"
            )
    return graph


def _check_file(path: Path, num_bytes: int, sha256: str, *, whole: bool) -> None:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; build the graph again")
    if path.stat().st_size != num_bytes:
        raise ValueError(
            f"{path} has {path.stat().st_size:,} bytes, meta.json says {num_bytes:,}: "
            "it is truncated or altered; build the graph again"
        )
    if is_altered(path, sha256, whole=whole):
        raise ValueError(f"{path} was altered: its SHA-256 is not {sha256}; build the graph again")


def _open_array(path: Path, name: str, length: int) -> np.ndarray:
    dtype, trailing = ARRAYS[name]
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path} is not a readable npy file ({error})") from error
    if array.dtype != dtype or array.shape != (length, *trailing):
        raise ValueError(
            f"{path} holds {array.dtype} {list(array.shape)}, expected "
            f"{np.dtype(dtype)} {[length, *trailing]}; build the graph again"
        )
    return read_only(array)


def _counts(graph: LinkedTextGraph) -> dict[str, int]:
    per_kind = np.zeros(len(EdgeKind), np.int64)
    for first in range(0, graph.num_edges, _EDGES_AT_ONCE):  # counting widens what it counts
        part = graph.edge_kind[first : first + _EDGES_AT_ONCE]
        per_kind += np.bincount(part, minlength=len(EdgeKind))
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "articles": graph.num_articles,
        **{kind.name.lower(): int(per_kind[kind]) for kind in EdgeKind},
    }


def _file_names() -> list[str]:
    return [f"{name}.npy" for name in ARRAYS] + [BLOCKS_FILE]
