"""The data sets by name: all that rooms and main need to know of this folder."""

from __future__ import annotations

import inspect
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from absl import logging

from wikinav_jax.common.files import fingerprint
from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.graph.store import VERSION as GRAPH_VERSION
from wikinav_jax.graph.store import LinkedTextGraph, open_graph

_DAY = 24 * 60 * 60  # seconds


class Loader(Protocol):
    """What the module of a data set offers.

    `load(data_dir, cache_dir, output, **options)` builds the graph at `output`; its keyword-only
    parameters are the options. `VERSION` changes when the same input gives another graph.
    `fingerprint_inputs(data_dir, cache_dir, **options)` is a JSON-like value that changes with
    the input files.
    """

    VERSION: int
    load: Callable[..., LinkedTextGraph]
    fingerprint_inputs: Callable[..., dict[str, Any]]


def _python_docs() -> Loader:
    from wikinav_jax.datasets import python_docs

    return cast(Loader, python_docs)


def _wikispeedia() -> Loader:
    from wikinav_jax.datasets import wikispeedia

    return cast(Loader, wikispeedia)


def _wikispeedia_articles() -> Loader:
    from wikinav_jax.datasets import wikispeedia_articles

    return cast(Loader, wikispeedia_articles)


def _corpus() -> Loader:
    from wikinav_jax.datasets.sources import loader

    return cast(Loader, loader)


def _linked_text() -> Loader:
    from wikinav_jax.datasets import linked_text

    return cast(Loader, linked_text)


# Imported on use: a run needs one of them.
LOADERS: dict[str, Callable[[], Loader]] = {
    "corpus": _corpus,
    "linked_text": _linked_text,
    "python_docs": _python_docs,
    "wikispeedia": _wikispeedia,
    "wikispeedia_articles": _wikispeedia_articles,
}
# Graphs already, wherever they lie: nothing is built, and the cache has no copy.
OPENED = frozenset({"linked_text"})


def load_graph(
    name: str,
    *,
    data_dir: Path | None = None,
    cache_dir: Path,
    options: Mapping[str, Any] | None = None,
    verify: bool = False,
) -> LinkedTextGraph:
    """Opens the graph of a data set, building it first if it is not in the cache.

    The cache is `cache_dir/graphs/NAME-FINGERPRINT`; the fingerprint covers the options, the
    loader's version and its input files. A build that is killed leaves no graph, only a hidden
    temporary folder, which a later build removes once it is a day old.

    Args:
      name: a key of LOADERS.
      data_dir: the folder of the raw data; None to download what is public.
      cache_dir: where graphs are kept.
      options: keyword arguments of the loader's `load`.
      verify: read a graph that is there from end to end, see `open_graph`.

    Raises:
      KeyError: no data set has that name.
      ValueError: no option has that name; a cached graph is damaged; what the loader raises.
      FileNotFoundError: the raw data is not where it should be.
    """
    if name not in LOADERS:
        raise KeyError(
            f"no data set is called {name!r}.{did_you_mean(name, LOADERS)} "
            f"There are: {', '.join(sorted(LOADERS))}"
        )
    loader = LOADERS[name]()
    options = dict(options or {})
    _check_options(name, loader, options)
    if name in OPENED:
        graph = loader.load(data_dir, Path(cache_dir), Path(cache_dir), **options)
        return open_graph(graph.path, verify=True) if verify and graph.path else graph
    key = fingerprint(
        {
            "graph_version": GRAPH_VERSION,
            "loader_version": loader.VERSION,
            "options": options,
            "inputs": loader.fingerprint_inputs(data_dir, cache_dir, **options),
        }
    )
    path = Path(cache_dir) / "graphs" / f"{name}-{key}"
    if path.exists():
        logging.info("%s: opening the graph at %s", name, path)
        try:
            return open_graph(path, verify=verify)
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(
                f"the cached graph {path} is damaged ({error}); delete that folder and run again"
            ) from error
    _remove_leftovers(path.parent)
    logging.info("%s: building the graph at %s", name, path)
    start = time.monotonic()
    graph = loader.load(data_dir, Path(cache_dir), path, **options)
    logging.info("%s: %r, built in %.0f s", name, graph, time.monotonic() - start)
    return graph


def _check_options(name: str, loader: Loader, options: Mapping[str, Any]) -> None:
    parameters = inspect.signature(loader.load).parameters.values()
    known = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise ValueError(
                f"data set {name!r} has no option {option!r}.{did_you_mean(option, known)} "
                f"Its options are: {', '.join(known)}"
            )


def _remove_leftovers(folder: Path) -> None:
    """Removes the temporary folders of builds that were killed; young ones may be in use."""
    if not folder.is_dir():
        return
    for leftover in sorted([*folder.glob(".*.tmp"), *folder.glob(".*.old")]):
        if leftover.is_dir() and time.time() - leftover.stat().st_mtime > _DAY:
            logging.info("removing %s, left over from a build that was interrupted", leftover)
            shutil.rmtree(leftover)
