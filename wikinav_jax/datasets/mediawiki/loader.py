"""MediaWiki dumps for the catalog: a dump's path in, the graph of its articles out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wikinav_jax.datasets.linking import LinkingOptions
from wikinav_jax.datasets.mediawiki.build import DumpBuild, dump_files
from wikinav_jax.datasets.mediawiki.pages import PageOptions
from wikinav_jax.datasets.sources.build import PARSER_VERSION
from wikinav_jax.datasets.sources.detect import find_source
from wikinav_jax.datasets.sources.graph import build_graph
from wikinav_jax.graph.store import LinkedTextGraph

VERSION = PARSER_VERSION  # raise it (there) when the same dump gives another graph


def fingerprint_inputs(
    data_dir: Path | None, cache_dir: Path, *, source: str = "", **options: Any
) -> dict[str, Any]:
    """What the graph depends on beside the options: names, sizes and times of the dump's files.

    Raises:
      ValueError, FileNotFoundError: see `find_source`.
    """
    del cache_dir, options
    files = dump_files(find_source(data_dir, source))
    status = [(file.name, file.stat()) for file in files]
    return {"files": [[name, stat.st_size, stat.st_mtime_ns] for name, stat in status]}


def load(
    data_dir: Path | None,
    cache_dir: Path,
    output: Path | None,
    *,
    source: str = "",
    keep_tables: bool = False,
    entity_links: bool = False,
    anchor_mentions: bool = True,
    target_words: int = 100,
    max_words: int = 120,
    workers: int = 0,
    max_page_seconds: float = 5.0,
    max_page_megabytes: int = 500,
) -> LinkedTextGraph:
    """Builds the graph of a dump's articles (namespace 0).

    Parsed pages are kept in `cache_dir/mediawiki` until the graph is saved; a build that was
    interrupted goes on from there. `meta["mediawiki"]` tells what happened: counts, everything
    wrong with the file, and every page that was left out with the reason; `meta["statistics"]` and
    `meta["path_lengths"]` describe the graph and are logged.

    Args:
      data_dir: where a relative `source` is looked for as well.
      cache_dir: for parsed pages.
      output: the directory to save to; None keeps the graph in memory.
      source: the dump (.xml, .xml.bz2, .xml.gz or .xml.xz), or a folder with its parts.
      keep_tables: whether the cells of tables become passages.
      entity_links: whether mentions of titles, redirects' titles and anchors become edges.
      anchor_mentions: whether anchors say what mentions mean (see `linking`), and which count.
      target_words: see `blocks.split_into_blocks`.
      max_words: see `blocks.split_into_blocks`.
      workers: processes that parse; 0 for one per core. The graph does not depend on it.
      max_page_seconds: what a page may take; one that takes more is left out and listed.
      max_page_megabytes: likewise for memory.

    Raises:
      ValueError, FileNotFoundError: there is no source, or it is no dump, or has no articles; the
        words of a block are not 1 <= target_words <= max_words.
    """
    options = PageOptions(
        keep_tables=keep_tables,
        target_words=target_words,
        max_words=max_words,
        max_seconds=max_page_seconds,
        max_memory=max_page_megabytes << 20,
    )
    path = find_source(data_dir, source)
    build = DumpBuild(path, Path(cache_dir) / "mediawiki", options=options, workers=workers)
    command = (
        f"wikinav_jax.datasets.mediawiki.loader.load(source={path.name!r}, "
        f"keep_tables={keep_tables}, entity_links={entity_links}, target_words={target_words}, "
        f"max_words={max_words})"
    )
    linking = LinkingOptions(use_anchors=anchor_mentions) if entity_links else None
    return build_graph(build, output, command=command, linking=linking)
