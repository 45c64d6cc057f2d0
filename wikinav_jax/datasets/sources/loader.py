"""Any corpus for the catalog (data set "corpus"): a path in, the graph of its articles out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wikinav_jax.datasets.building.build import PARSER_VERSION, CorpusBuild
from wikinav_jax.datasets.building.graph import build_graph
from wikinav_jax.datasets.building.source import SourceOptions
from wikinav_jax.datasets.linking import LinkingOptions
from wikinav_jax.datasets.sources.detect import AUTO, find_source, open_source
from wikinav_jax.graph.store import LinkedTextGraph

VERSION = PARSER_VERSION  # raise it (there) when the same corpus gives another graph


def fingerprint_inputs(
    data_dir: Path | None,
    cache_dir: Path,
    *,
    source: str = "",
    source_type: str = AUTO,
    **options: Any,
) -> dict[str, Any]:
    """What the graph depends on beside the options: names, sizes and times of the files.

    Raises:
      ValueError, FileNotFoundError, ImportError: see `open_source`.
    """
    del cache_dir, options
    corpus = open_source(find_source(data_dir, source), source_type)
    return {"kind": corpus.kind, "files": corpus.key()}


def load(
    data_dir: Path | None,
    cache_dir: Path,
    output: Path | None,
    *,
    source: str = "",
    source_type: str = AUTO,
    keep_tables: bool = False,
    keep_code: bool = True,
    base_url: str = "",
    entity_links: bool = True,
    min_commonness: float = LinkingOptions.min_commonness,
    min_link_probability: float = LinkingOptions.min_link_probability,
    held_out: float = LinkingOptions.held_out,
    seed: int = 0,
    target_words: int = 100,
    max_words: int = 120,
    workers: int = 0,
    max_page_seconds: float = 5.0,
    max_page_megabytes: int = 500,
    max_source_megabytes: int = 16,
    log_summary: bool = True,
    extra_meta: dict[str, Any] | None = None,
) -> LinkedTextGraph:
    """Builds the graph of a corpus; see `graph.build_graph` for what its `meta` tells.

    Parsed pages are kept in `cache_dir/corpus` until the graph is saved; a build that was
    interrupted goes on from there.

    Args:
      data_dir: where a relative `source` is looked for as well.
      cache_dir: for parsed pages.
      output: the directory to save to; None keeps the graph in memory.
      source: a MediaWiki XML dump (or a folder with its parts), a ZIM file, a folder of HTML or
        Markdown, or a JSONL file.
      source_type: "mediawiki", "zim", "html", "markdown", "jsonl", or "auto" to find out.
      keep_tables: whether the rows of tables become passages.
      keep_code: whether blocks of code are text.
      base_url: the web address of a folder's root: links to it lead into the folder.
      entity_links: whether mentions of titles, aliases and anchors become edges.
      min_commonness: see `linking.LinkingOptions`.
      min_link_probability: likewise.
      held_out: the share of anchors hidden to measure entity links; 0 measures nothing.
      seed: which anchors are hidden.
      target_words: see `blocks.split_into_blocks`.
      max_words: likewise.
      workers: processes that parse; 0 for one per core. The graph does not depend on it.
      max_page_seconds: what a page may take; one that takes more is left out and listed.
      max_page_megabytes: likewise for memory.
      max_source_megabytes: likewise for the source of a page of HTML, Markdown or JSON.
      log_summary: whether to log the statistics.
      extra_meta: more for `meta.json`.

    Raises:
      ValueError, FileNotFoundError, ImportError: see `open_source` and `build_graph`; or options
        that cannot be.
    """
    options = SourceOptions(
        keep_tables=keep_tables,
        keep_code=keep_code,
        base_url=base_url,
        target_words=target_words,
        max_words=max_words,
        max_seconds=max_page_seconds,
        max_memory=max_page_megabytes << 20,
        max_bytes=max_source_megabytes << 20,
    )
    linking = LinkingOptions(
        min_commonness=min_commonness,
        min_link_probability=min_link_probability,
        held_out=held_out,
        seed=seed,
    )
    path = find_source(data_dir, source)
    corpus = open_source(path, source_type)
    build = CorpusBuild(corpus, Path(cache_dir) / "corpus", options=options, workers=workers)
    command = (
        f"python -m wikinav_jax.main --mode=build --config=configs/build_wiki.py "
        f"--config.source={path.name} --config.source_type={corpus.kind} "
        f"--config.keep_tables={keep_tables} --config.keep_code={keep_code} "
        f"--config.entity_links={entity_links} --config.min_commonness={min_commonness} "
        f"--config.min_link_probability={min_link_probability} "
        f"--config.target_words={target_words} --config.max_words={max_words}"
    )
    return build_graph(
        build,
        output,
        command=command,
        linking=linking if entity_links else None,
        log_summary=log_summary,
        extra_meta=extra_meta,
    )
