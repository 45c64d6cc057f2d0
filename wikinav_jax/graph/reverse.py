"""The reverse graph kept beside a saved graph, so that it is sorted once and then mapped."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging

from wikinav_jax.common.files import atomic_file, is_altered, read_json, sha256_of, write_json
from wikinav_jax.graph.csr import Adjacency, ReverseGraph, read_only, reverse_csr

_META = "reverse.json"


def load_or_build_reverse(
    graph: Adjacency, path: Path | None, files: Mapping[str, Any] | None
) -> ReverseGraph:
    """Maps the cached reverse graph, or builds it and caches it where the directory is writable.

    Args:
      graph: the forward graph.
      path: its directory; None keeps the result in memory only.
      files: the `files` of its meta: the cache is valid only for the same forward arrays.
    """
    if path is None or files is None:
        return reverse_csr(graph)
    forward = [files["indptr.npy"]["sha256"], files["indices.npy"]["sha256"]]
    cached = _load(path, forward)
    if cached is not None:
        return cached
    built = reverse_csr(graph)
    if os.access(path, os.W_OK):
        _save(built, path, forward)
        return _load(path, forward) or built
    return built


def _file_of(path: Path, name: str) -> Path:
    return path / f"reverse_{name}.npy"


def _save(reverse: ReverseGraph, path: Path, forward: list[str]) -> None:
    # Two processes may do this at once. Their files are equal and each takes its name in one
    # rename, and reverse.json comes last, so every interleaving leaves a whole cache.
    listed = {}
    for name, array in reverse._asdict().items():
        with atomic_file(_file_of(path, name)) as temporary, open(temporary, "wb") as file:
            np.save(file, array, allow_pickle=False)
        file_path = _file_of(path, name)
        listed[name] = {"bytes": file_path.stat().st_size, "sha256": sha256_of(file_path)}
    write_json(path / _META, {"forward_sha256": forward, "files": listed})


def _load(path: Path, forward: list[str]) -> ReverseGraph | None:
    """The cached reverse graph; None where it is absent, damaged or of another graph.

    Of files beyond `common.files.CHECKED_BYTES` only the size is checked.
    """
    if not (path / _META).is_file():
        return None
    meta = read_json(path / _META)
    if meta.get("forward_sha256") != forward or "files" not in meta:
        return None
    arrays = {}
    for name in ReverseGraph._fields:
        file = _file_of(path, name)
        listed = meta["files"][name]
        if not file.is_file() or file.stat().st_size != listed["bytes"]:
            return None
        if is_altered(file, listed["sha256"]):
            logging.warning("%s was altered: the reverse graph is built again", file)
            return None
        arrays[name] = read_only(np.load(file, mmap_mode="r", allow_pickle=False))
    return ReverseGraph(**arrays)
