"""A dump as a source of chunks of pages."""

from __future__ import annotations

import dataclasses
import functools
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wikinav_jax.datasets.building.build import CorpusBuild
from wikinav_jax.datasets.building.chunks import PageOptions
from wikinav_jax.datasets.building.pool import ChunkSource
from wikinav_jax.datasets.building.source import (
    FIRST_CHUNK,
    LARGEST_CHUNK,
    Origin,
    Page,
    SourceOptions,
    cut_chunks,
)
from wikinav_jax.datasets.mediawiki.dump import DumpReader
from wikinav_jax.datasets.mediawiki.pages import PageParser
from wikinav_jax.datasets.mediawiki.titles import SiteInfo

_FIRST_CHUNK, _LARGEST_CHUNK = FIRST_CHUNK, LARGEST_CHUNK  # bytes of page sources
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
DUMP_SUFFIXES = (".xml", ".xml.bz2", ".xml.gz", ".xml.xz", ".bz2", ".gz", ".xz", ".7z")


class DumpSource:
    """A dump, or the parts of one."""

    kind = "mediawiki"
    unit = "B"

    def __init__(self, source: str | Path):
        """Reads the header.

        Args:
          source: the dump, or a folder with the parts of one.

        Raises:
          FileNotFoundError, ValueError: see `dump_files` and `DumpReader`.
        """
        self.files = dump_files(source)
        self.label = self.files[0].name
        self.site = DumpReader(self.files[0]).site
        self.total = sum(path.stat().st_size for path in self.files)
        self.done = 0
        self.problems: list[str] = []
        self.failed: list[tuple[str, str]] = []

    def key(self) -> Any:
        """Names, sizes and times of the files."""
        return [_file_key(path) for path in self.files]

    def chunks(self) -> Iterator[ChunkSource]:
        """Runs of `<page>` elements."""
        number = before = 0
        for path in self.files:
            reader = DumpReader(path)
            for chunk in reader_chunks(reader, number):
                number = chunk.number + 1
                self.done = before + reader.bytes_read
                yield chunk
            before += path.stat().st_size
            self.problems += reader.problems
            self.failed += reader.broken_pages

    def make_parser(self, options: PageOptions) -> Callable[[], PageParser]:
        """See `Source.make_parser`."""
        return functools.partial(PageParser, self.site, options)

    def origin(self) -> Origin:
        """The wiki's name and address."""
        return dump_origin(self.site, [file.name for file in self.files])

    def report(self) -> dict[str, Any]:
        """Which wiki it is."""
        return dump_report(self.site, [file.name for file in self.files])


class DumpBuild(CorpusBuild):
    """One run over a dump: `parse`, then read `spill`."""

    def __init__(
        self,
        source: str | Path,
        spill_dir: Path,
        *,
        options: PageOptions | None = None,
        workers: int = 0,
    ):
        """Opens the dump.

        Args:
          source: the dump, or a folder with the parts of one.
          spill_dir: see `CorpusBuild`.
          options: how to parse.
          workers: see `CorpusBuild`.

        Raises:
          FileNotFoundError, ValueError: see `dump_files` and `DumpReader`.
        """
        # Dumps have use for no option more than these.
        fields = dataclasses.asdict(options or PageOptions())
        super().__init__(
            DumpSource(source), spill_dir, options=SourceOptions(**fields), workers=workers
        )


def dump_files(source: str | Path) -> list[Path]:
    """The files of a dump: itself, or the parts in a folder, by name (numbers as numbers).

    Raises:
      FileNotFoundError: there is no such path, or no dump in the folder.
    """
    path = Path(source)
    if path.is_dir():
        files = [file for file in path.iterdir() if file.name.endswith(DUMP_SUFFIXES)]
        if not files:
            raise FileNotFoundError(
                f"{path} has no file that ends in {', '.join(DUMP_SUFFIXES[:4])}; give a dump, or "
                "a folder with the parts of one"
            )
        return sorted(files, key=lambda file: natural(file.name))
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give the path of a MediaWiki XML dump")
    return [path]


def dump_origin(site: SiteInfo, names: list[str]) -> Origin:
    """Where a dump comes from, by its header and the names of its files."""
    return Origin(
        f"MediaWiki dump {', '.join(names)} of "
        f"{site.name or 'an unnamed wiki'} ({site.base or 'no address given'})",
        licence(site),
    )


def dump_report(site: SiteInfo, names: list[str]) -> dict[str, Any]:
    """Which wiki it is, for `meta.json`."""
    return {"wiki": site.database or site.name, "language": site.language, "files": names}


def licence(site: SiteInfo) -> str:
    """The licence of a wiki's text, where its address tells."""
    if any(name in site.base for name in _WIKIMEDIA):
        return f"CC BY-SA 4.0 (authors in the page histories at {site.base})"
    return f"not told by the dump; see {site.base or 'the wiki it comes from'}"


def natural(name: str) -> list[tuple[int, str]]:
    """Sorts part2 before part10."""
    parts: list[tuple[int, str]] = []
    digits = ""
    for character in name + "\0":
        if character.isdecimal() and character.isascii():
            digits += character
            continue
        if digits:
            parts.append((int(digits), ""))
            digits = ""
        parts.append((-1, character))
    return parts


def _file_key(path: Path) -> list[Any]:
    status = path.stat()
    return [path.name, status.st_size, status.st_mtime_ns]


def reader_chunks(reader: DumpReader, first: int) -> Iterator[ChunkSource]:
    """Groups a dump's pages by their bytes, which depends on the dump alone."""
    pages = (Page(page, len(page), zlib.crc32(page)) for page in reader.pages())
    return cut_chunks(pages, first, first_size=_FIRST_CHUNK, largest_size=_LARGEST_CHUNK)
