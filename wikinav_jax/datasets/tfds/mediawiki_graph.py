"""From the prepared pages of a dump to its LinkedTextGraph, the one that a local build makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wikinav_jax.common.progress import progress
from wikinav_jax.datasets.building.build import CorpusBuild
from wikinav_jax.datasets.building.chunks import Chunk, ChunkParser
from wikinav_jax.datasets.building.graph import build_graph
from wikinav_jax.datasets.building.pool import ChunkSource
from wikinav_jax.datasets.building.records import article_of, chunk_of
from wikinav_jax.datasets.building.source import Origin, SourceOptions
from wikinav_jax.datasets.linking import LinkingOptions
from wikinav_jax.datasets.mediawiki.build import dump_origin, dump_report
from wikinav_jax.datasets.mediawiki.titles import SiteInfo
from wikinav_jax.graph.linked_text import LinkedTextGraph

_ROWS_PER_CHUNK = 1024
_NUMBERS = ("link_block", "link_start", "link_end")


def build_graph_of_pages(
    builder: Any,
    output: Path | None,
    *,
    cache_dir: Path,
    command: str,
    linking: LinkingOptions | None,
    log_summary: bool = True,
    extra_meta: dict[str, Any] | None = None,
) -> LinkedTextGraph:
    """Joins the pages: titles become nodes, links edges.

    It takes one machine and, as the local build does, some bytes of memory a title; texts go from
    file to file.

    Args:
      builder: a prepared `mediawiki_pages` builder, or what `tfds.builder_from_directory` makes
        of its folder.
      output: the graph's folder; None keeps it in memory.
      cache_dir: for chunks on their way; what another run left there is used again.
      command: see `build_graph`.
      linking: likewise.
      log_summary: likewise.
      extra_meta: likewise.

    Raises:
      ValueError: the builder is of other data, or not prepared; see `build_graph` as well.
    """
    missing = {"articles", "reports"} - set(builder.info.splits)
    if missing:
        raise ValueError(
            f"{builder.data_dir} lacks the splits {', '.join(sorted(missing))}: it is not a "
            "prepared mediawiki_pages data set; prepare it first"
        )
    return build_graph(
        PagesBuild(builder, cache_dir / "mediawiki_pages"),
        output,
        command=command,
        linking=linking,
        log_summary=log_summary,
        extra_meta=extra_meta,
    )


class PagesSource:
    """The `Source` of a prepared data set: pages are parsed already."""

    kind = "mediawiki"
    unit = "page"
    done = 0

    def __init__(self, builder: Any):
        self._builder = builder
        self.label: str = builder.info.full_name
        self.articles = builder.as_data_source(split="articles")
        self.reports = builder.as_data_source(split="reports")
        self.total = len(self.articles)
        self.problems: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self._names: list[str] = list(builder.info.metadata["files"])
        self._site = SiteInfo(**builder.info.metadata["site"])

    def key(self) -> Any:
        """The configuration's name, which tells the dump and the options."""
        return [self.label, self.total, len(self.reports)]

    def chunks(self) -> Iterator[ChunkSource]:
        """Nothing is left to parse."""
        return iter(())

    def make_parser(self, options: SourceOptions) -> Callable[[], ChunkParser]:
        """There is none.

        Raises:
          TypeError: always.
        """
        raise TypeError("prepared pages are parsed already")

    def origin(self) -> Origin:
        """The wiki's name and address."""
        return dump_origin(self._site, self._names)

    def report(self) -> dict[str, Any]:
        """Which wiki it is."""
        return dump_report(self._site, self._names)


class PagesBuild(CorpusBuild):
    """Writes the chunks that `Assembly` reads, from records instead of sources."""

    source: PagesSource

    def __init__(self, builder: Any, spill_dir: Path):
        """Opens the splits.

        Args:
          builder: see `build_graph_of_pages`.
          spill_dir: see `CorpusBuild`.
        """
        options = SourceOptions(**builder.info.metadata["options"])
        super().__init__(PagesSource(builder), spill_dir, options=options, workers=1)

    def parse(self) -> int:
        """Brings the spill folder up to date; returns the number of chunks."""
        articles, reports = _runs(self.source.articles), _runs(self.source.reports)
        with progress(desc="Reading", total=len(articles) + len(reports), unit="chunk") as bar:
            for number, rows in enumerate(articles):
                if self.spill.head(number) is None:
                    # At once: singly they take seven times as long.
                    found = self.source.articles.__getitems__(list(rows))
                    chunk = Chunk(articles=[article_of(_decoded(row)) for row in found])
                    self.spill.write(number, chunk, 0)
                bar.update(1)
            for number, rows in enumerate(reports, len(articles)):
                chunk = Chunk()
                for row in self.source.reports.__getitems__(list(rows)):
                    self._add(json.loads(row["report"]), chunk)
                self.spill.write(number, chunk, 0)
                bar.update(1)
        num_chunks = len(articles) + len(reports)
        self._read_heads(num_chunks)
        return num_chunks

    def _add(self, report: dict[str, Any], merged: Chunk) -> None:
        if "problems" in report:  # of a file
            self.source.problems += report["problems"]
            self.source.failed += [(title, reason) for title, reason in report["failed"]]
            return
        chunk = chunk_of(report)
        merged.redirects += chunk.redirects
        merged.failed += chunk.failed
        merged.counts.update(chunk.counts)


def _runs(split: Any) -> list[range]:
    """The rows of a split in runs of a chunk each."""
    rows = range(len(split))
    return [rows[start : start + _ROWS_PER_CHUNK] for start in rows[::_ROWS_PER_CHUNK]]


def _decoded(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row's bytes as strings, its arrays as lists."""
    decoded: dict[str, Any] = {"page_id": int(row["page_id"]), "title": row["title"].decode()}
    for name in ("texts", "sections", "link_target", "link_fragment"):
        decoded[name] = [value.decode() for value in row[name]]
    for name in _NUMBERS:
        decoded[name] = row[name].tolist()
    return decoded
