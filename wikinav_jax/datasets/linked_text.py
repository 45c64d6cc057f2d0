"""A graph that was built before (data set "linked_text"), opened by its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wikinav_jax.common.files import read_json
from wikinav_jax.graph.store import LinkedTextGraph, open_graph

VERSION = 1


def fingerprint_inputs(
    data_dir: Path | None, cache_dir: Path, *, path: str = "", **options: Any
) -> dict[str, Any]:
    """The hashes of the graph's files.

    Raises:
      ValueError, FileNotFoundError: see `load`.
    """
    del cache_dir, options
    meta = read_json(_find(data_dir, path) / "meta.json")
    files = meta.get("files", {}) if isinstance(meta, dict) else {}
    return {name: file.get("sha256") for name, file in sorted(files.items())}


def load(
    data_dir: Path | None, cache_dir: Path, output: Path | None, *, path: str = ""
) -> LinkedTextGraph:
    """Opens the graph where it stands; nothing is copied to `output`.

    Args:
      data_dir: where a relative `path` is looked for as well.
      cache_dir: not used.
      output: not used.
      path: the folder that `--mode=build` wrote.

    Raises:
      ValueError: `path` is empty, or the graph is damaged.
      FileNotFoundError: there is no graph.
    """
    del cache_dir, output
    return open_graph(_find(data_dir, path))


def _find(data_dir: Path | None, path: str) -> Path:
    if not path:
        raise ValueError(
            "path is empty: give the folder of a graph that --mode=build wrote, for example "
            "--config.dataset.options.path=graphs/mywiki"
        )
    folder = Path(path).expanduser()
    if not folder.exists() and data_dir is not None and (Path(data_dir) / folder).exists():
        folder = Path(data_dir) / folder
    if not (folder / "meta.json").is_file():
        raise FileNotFoundError(
            f"{folder} is no saved graph (it has no meta.json); build one with "
            "python -m wikinav_jax.main --mode=build --config=configs/build_wiki.py "
            f"--config.source=… --config.output={path}"
        )
    return folder
