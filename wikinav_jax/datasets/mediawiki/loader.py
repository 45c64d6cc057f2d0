"""MediaWiki dumps for the catalog: a dump's path in, the graph of its articles out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from absl import logging

from wikinav_jax.datasets.entities import LinkerOptions
from wikinav_jax.datasets.mediawiki.assembly import Assembly
from wikinav_jax.datasets.mediawiki.build import PARSER_VERSION, DumpBuild, dump_files
from wikinav_jax.datasets.mediawiki.pages import PageOptions
from wikinav_jax.datasets.mediawiki.summary import path_lengths, summary
from wikinav_jax.datasets.mediawiki.titles import SiteInfo
from wikinav_jax.graph.store import LinkedTextGraph, open_graph, save_graph

VERSION = PARSER_VERSION  # raise it (there) when the same dump gives another graph

_WIKIMEDIA = (
    "wikipedia.org",
    "wiktionary.org",
    "wikibooks.org",
    "wikiquote.org",
    "wikisource.org",
    "wikinews.org",
    "wikiversity.org",
    "wikivoyage.org",
    "wikimedia.org",
)


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
      entity_links: whether mentions of titles and of redirects' titles become edges.
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
    assembly = Assembly(build.spill, build.parse(), build.folder / "assembly")
    corpus = assembly.corpus
    build.counts.update(corpus.counts)
    if not corpus.num_blocks:
        raise ValueError(
            f"{path} has no article with any text: of {build.counts['pages']} pages "
            f"{build.counts['pages_of_other_namespaces']} are of other namespaces, "
            f"{build.counts['redirects']} redirects, {len(build.failed)} could not be read; is it "
            "a dump of pages-articles?"
        )
    assembly.write(LinkerOptions() if entity_links else None)
    facts = {
        "source": f"MediaWiki dump {', '.join(file.name for file in build.files)} of "
        f"{build.site.name or 'an unnamed wiki'} ({build.site.base or 'no address given'})",
        "licence": licence(build.site),
        "command": f"wikinav_jax.datasets.mediawiki.loader.load(source={path.name!r}, "
        f"keep_tables={keep_tables}, entity_links={entity_links}, target_words={target_words}, "
        f"max_words={max_words})",
    }
    meta: dict[str, Any] = {**facts, "mediawiki": build.report()}
    graph = assembly.graph(meta, in_memory=output is None)
    meta["path_lengths"] = path_lengths(graph)
    logging.info("%s: %r\n%s", path.name, graph, summary(meta))
    names = corpus.num_articles + build.counts["redirects"]
    logging.info(
        "%d titles and redirects (and the headings of articles) took %.0f bytes of memory each",
        names,
        corpus.nbytes / names,
    )
    if output is not None:
        save_graph(
            graph,
            output,
            source=facts["source"],
            licence=facts["licence"],
            command=facts["command"],
        )
        graph = open_graph(output)
    build.remove_spill()
    return graph


def find_source(data_dir: Path | None, source: str) -> Path:
    """The dump's path: as given, or inside `data_dir`.

    Raises:
      ValueError: `source` is empty.
      FileNotFoundError: it is in neither place.
    """
    if not source:
        raise ValueError(
            "source is empty: give the path of a MediaWiki XML dump, for example "
            "--config.source=enwiki-latest-pages-articles.xml.bz2"
        )
    path = Path(source).expanduser()
    places = [path] if data_dir is None or path.is_absolute() else [path, Path(data_dir) / path]
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(
        f"source={source!r} does not exist (looked for {', '.join(map(str, places))}); give the "
        "path of a MediaWiki XML dump"
    )


def licence(site: SiteInfo) -> str:
    """The licence of a wiki's text, where its address tells."""
    if any(name in site.base for name in _WIKIMEDIA):
        return f"CC BY-SA 4.0 (authors in the page histories at {site.base})"
    return f"not told by the dump; see {site.base or 'the wiki it comes from'}"
