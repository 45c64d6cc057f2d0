"""The pages of a dump by Apache Beam: each file is read, its chunks are parsed anywhere.

The parser is that of the local build, in a process of its own beside Beam's, for only there do the
limits of a page hold: they need a main thread and a memory that is theirs.
"""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam

from wikinav_jax.datasets.building.chunks import PageOptions
from wikinav_jax.datasets.building.pool import ChunkSource, ParserPool
from wikinav_jax.datasets.building.records import EMPTY, Record, read_records, work_on_records
from wikinav_jax.datasets.mediawiki.build import reader_chunks
from wikinav_jax.datasets.mediawiki.dump import DumpReader
from wikinav_jax.datasets.mediawiki.pages import PageParser
from wikinav_jax.datasets.mediawiki.remote import DumpFile, local_copy
from wikinav_jax.datasets.mediawiki.titles import SiteInfo

REPORTS = "reports"
ARTICLES = "articles"
_PAGES_PER_CHUNK = 1 << 18  # a chunk is 4 MB, and no article takes less than 29 bytes


class Pages(NamedTuple):
    """PCollections of (key, record), see `records.EMPTY`. Keys are in the dump's order."""

    articles: Any
    reports: Any


def parse_dump(
    pipeline: Any, files: Sequence[DumpFile], site: SiteInfo, options: PageOptions
) -> Pages:
    """Adds a dump to a pipeline.

    Args:
      pipeline: a `beam.Pipeline`.
      files: of the dump, where all of Beam's workers reach them.
      site: the header of the first one.
      options: how pages are parsed, and what one may take.

    Returns:
      Articles; and one report a chunk or file, with redirects, counts and all that failed.
    """
    starts = []
    start = 0
    for file in files:
        starts.append((file.path, start))
        start += _span(file)
    read = (
        pipeline
        | "Files" >> beam.Create(starts, reshuffle=False)
        | "SpreadFiles" >> beam.Reshuffle()
        | "ReadFile" >> beam.ParDo(ReadFile()).with_outputs(REPORTS, main="chunks")
    )
    parsed = (
        read.chunks
        | "SpreadChunks" >> beam.Reshuffle()
        | "ParsePages" >> beam.ParDo(ParsePages(site, options)).with_outputs(REPORTS, main=ARTICLES)
    )
    reports = (parsed.reports, read.reports) | "AllReports" >> beam.Flatten()
    return Pages(parsed.articles, reports)


def _span(file: DumpFile) -> int:
    """How many keys the chunks of a file may take: they count the bytes read, or one by one.

    No file holds more chunks than bytes: a chunk is at least 256 kB, which no format packs into
    less than a dozen.
    """
    return 2 * file.num_bytes + 4


class ReadFile(beam.DoFn):
    """(path, first key) to chunks (key, pages), keys spread as their places in the file are."""

    def process(self, element: tuple[str, int]) -> Iterator[Any]:
        """See the class."""
        path, first = element
        with local_copy(path) as copy:
            reader = DumpReader(copy)
            key = first
            for chunk in reader_chunks(reader, 0):
                key = max(key + 1, first + reader.bytes_read)
                yield key, chunk.pages
            report = {
                "problems": [problem.replace(str(copy), path) for problem in reader.problems],
                "redirects": [],
                "failed": [list(page) for page in reader.broken_pages],
                "counts": {},
            }
        yield beam.pvalue.TaggedOutput(REPORTS, (key + 1, _report_record(report)))


class ParsePages(beam.DoFn):
    """(key, pages) to (key, record) of articles, and to reports."""

    def __init__(
        self,
        site: SiteInfo,
        options: PageOptions,
        work: Callable[..., None] = work_on_records,
    ):
        """Starts nothing yet.

        Args:
          site: the header of the dump.
          options: how pages are parsed, and what one may take.
          work: the life of the process that parses.
        """
        self._work = work
        self._make_parser = functools.partial(PageParser, site, options)
        self._options = options
        self._pool: ParserPool | None = None
        self._folder: Path | None = None

    def process(self, element: tuple[int, list[bytes]]) -> Iterator[Any]:
        """See the class."""
        key, pages = element
        if self._pool is None:
            self._folder = Path(tempfile.mkdtemp(prefix="wikinav-pages-"))
            self._pool = ParserPool(
                make_parser=self._make_parser,
                options=self._options,
                spill=self._folder,
                workers=1,
                work=self._work,
            )
        assert self._folder is not None
        try:
            list(self._pool.parse([ChunkSource(0, pages, 0)]))
        except BaseException:
            self.teardown()  # Beam may try again, with this object
            raise
        articles, report = read_records(self._folder, 0)
        beam.metrics.Metrics.counter("mediawiki", "pages").inc(len(pages))
        beam.metrics.Metrics.counter("mediawiki", "failed_pages").inc(len(report["failed"]))
        for number, record in enumerate(articles):
            yield key * _PAGES_PER_CHUNK + number, record
        yield beam.pvalue.TaggedOutput(REPORTS, (key, _report_record(report)))

    def teardown(self) -> None:
        """Ends the process."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        if self._folder is not None:
            with contextlib.suppress(OSError):
                shutil.rmtree(self._folder)
            self._folder = None


def _report_record(report: dict[str, Any]) -> Record:
    return {**EMPTY, "report": json.dumps(report, ensure_ascii=False)}
