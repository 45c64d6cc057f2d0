"""A graph folder that was built before, as a data set: nothing is copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wikinav_jax.graph.store import LinkedTextGraph, open_graph

VERSION = 1


def load(
    data_dir: Path | None, cache_dir: Path, output: Path, *, path: str = ""
) -> LinkedTextGraph:
    """Opens the graph.

    Args:
      data_dir: where a relative path that is not found from here is looked for as well.
      cache_dir: not used.
      output: not used: the graph stays where it is.
      path: the folder that `graph.store.save_graph` wrote.

    Raises:
      FileNotFoundError: no folder there.
      ValueError: no path was given; not a graph, or a damaged one.
    """
    del cache_dir, output
    return open_graph(_folder(data_dir, path))


def fingerprint_inputs(data_dir: Path | None, cache_dir: Path, *, path: str = "") -> dict[str, Any]:
    """Changes with the graph."""
    del cache_dir
    graph = open_graph(_folder(data_dir, path))
    return {"files": dict(graph.meta["files"])}


def _folder(data_dir: Path | None, path: str) -> Path:
    if not path:
        raise ValueError(
            "the data set 'linked_text' needs options.path: the folder of a graph that was built "
            "before, with meta.json in it"
        )
    folder = Path(path).expanduser()
    if data_dir is not None and not folder.is_dir() and (data_dir / folder).is_dir():
        return data_dir / folder
    return folder
