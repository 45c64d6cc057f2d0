"""`--mode=build` for a corpus: from `config.source` to a graph at `config.output`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from absl import logging
from ml_collections import ConfigDict

from wikinav_jax.common.config import ConfigError, check_folder
from wikinav_jax.common.files import fingerprint
from wikinav_jax.datasets.building.summary import summary
from wikinav_jax.datasets.sources import loader
from wikinav_jax.datasets.sources.detect import find_source
from wikinav_jax.datasets.sources.overview import write_overview
from wikinav_jax.graph.store import FORMAT, open_graph

OVERVIEW = "overview.html"  # beside the graph's files
# Options that a graph does not depend on.
_FREE = ("workers", "max_page_seconds", "max_page_megabytes", "log_summary", "extra_meta")


def run(config: ConfigDict, workdir: Path | None, mode: str) -> None:
    """Builds the graph, prints its statistics and writes a page of plots beside it.

    A graph that stands at `config.output` is left as it is: if it is of the same corpus with the
    same options this says so, else it is an error, unless `config.overwrite` is set.

    Args:
      config: see `configs/build_wiki.py`.
      workdir: what `config.output` is if that is empty.
      mode: "build".

    Raises:
      ConfigError: another mode, no output, or something else stands there.
      ValueError, FileNotFoundError, ImportError: see `loader.load`.
    """
    if mode != "build":
        raise ConfigError(
            f"this config builds a graph: give --mode=build, not {mode!r}; to train on the graph "
            "take --config=configs/corpus.py:built --config.dataset.options.path=OUTPUT"
        )
    output = Path(config.output).expanduser() if config.output else workdir
    if output is None:
        raise ConfigError("config.output is empty: give the folder to build, --config.output=DIR")
    if config.cache_dir:
        check_folder("config.cache_dir", Path(config.cache_dir).expanduser())
    data_dir = Path(config.data_dir).expanduser() if config.data_dir else None
    _check_apart(find_source(data_dir, config.source), output)
    known = inspect.signature(loader.load).parameters
    places = ("data_dir", "cache_dir", "output")
    options = {name: config[name] for name in config if name in known and name not in places}
    key = _key(data_dir, options)
    if not is_free(output, key, config.overwrite):
        graph = open_graph(output)
        if not (output / OVERVIEW).exists():
            write_overview(graph, output / OVERVIEW)
        print(summary(graph.meta))
        print(f"\n{output} is built already, from the same corpus with the same options.")
        return
    cache_dir = Path(config.cache_dir).expanduser() if config.cache_dir else _beside(output)
    graph = loader.load(
        data_dir, cache_dir, output, log_summary=False, extra_meta={"build_key": key}, **options
    )
    for folder in (cache_dir / "corpus", cache_dir if not config.cache_dir else None):
        if folder is not None and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    page = write_overview(graph, output / OVERVIEW)
    print(summary(graph.meta))
    print(f"\nGraph: {output}\nPlots: {page}")


def _key(data_dir: Path | None, options: dict[str, Any]) -> str:
    """Changes with the corpus and with the options that matter."""
    inputs = loader.fingerprint_inputs(data_dir, Path(), **options)
    chosen = {name: value for name, value in options.items() if name not in (*_FREE, "source")}
    return fingerprint({"version": loader.VERSION, "inputs": inputs, "options": chosen})


def is_free(output: Path, key: str, overwrite: bool) -> bool:
    """Whether to build at `output`; False if the same graph stands there.

    Raises:
      ConfigError: something else stands there.
    """
    check_folder("config.output", output)
    if not output.exists():
        return True
    if not any(output.iterdir()):
        return True
    try:
        graph = open_graph(output)
    except (ValueError, FileNotFoundError) as error:
        if _was_graph(output) and overwrite:
            return True
        raise ConfigError(
            f"config.output={output} holds something else than a whole graph ({error}); give "
            "another folder, or empty this one"
        ) from error
    if overwrite:
        logging.info("%s: building anew, as config.overwrite says", output)
        return True
    if graph.meta.get("build_key") == key:
        return False
    raise ConfigError(
        f"config.output={output} holds another graph ({graph.meta['source']}), or one of other "
        "options; give another folder, or --config.overwrite=True"
    )


def _check_apart(source: Path, output: Path) -> None:
    """Refuses an output inside the folder of the source: the next build would read it."""
    inside = output.resolve()
    if source.is_dir() and source.resolve() in inside.parents:
        raise ConfigError(
            f"config.output={output} lies inside the corpus itself, {source}; give a folder "
            "outside of it"
        )


def _was_graph(output: Path) -> bool:
    meta = output / "meta.json"
    return meta.is_file() and FORMAT in meta.read_text(encoding="utf-8", errors="replace")[:1000]


def _beside(output: Path) -> Path:
    """The folder of parsed pages: on the disk that the graph will be on."""
    absolute = output.absolute()
    return absolute.with_name(f".{absolute.name}.build")
