"""A dump, read once: pages are parsed in parallel, chunk by chunk, into spill files."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from absl import logging

from wikinav_jax.common.files import fingerprint
from wikinav_jax.common.progress import progress
from wikinav_jax.datasets.mediawiki.dump import DumpReader
from wikinav_jax.datasets.mediawiki.pages import PageOptions
from wikinav_jax.datasets.mediawiki.pool import ChunkSource, parse_chunks
from wikinav_jax.datasets.mediawiki.spill import Spill

PARSER_VERSION = 1  # raise it when the same page gives other text or links

# Chunks grow, so that small dumps are shared among workers and large ones have few files.
_FIRST_CHUNK = 256 << 10  # bytes of page sources
_LARGEST_CHUNK = 4 << 20
_DUMP_SUFFIXES = (".xml", ".xml.bz2", ".xml.gz", ".xml.xz", ".bz2", ".gz", ".xz")


class DumpBuild:
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
          spill_dir: where parsed chunks are kept; what another run left there is used again.
          options: how to parse.
          workers: processes; 0 for one per core that this process may use.

        Raises:
          FileNotFoundError, ValueError: see `dump_files` and `DumpReader`.
        """
        if workers < 0:
            raise ValueError(f"workers={workers}: give 0 for one per core, or their number")
        self.files = dump_files(source)
        self.options = options or PageOptions()
        self.workers = workers or num_cores()
        self.site = DumpReader(self.files[0]).site
        self.folder = spill_dir / fingerprint(
            {
                "parser": PARSER_VERSION,
                "options": dataclasses.asdict(self.options),
                "files": [_file_key(path) for path in self.files],
            }
        )
        self.spill = Spill(self.folder)
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self.failed: list[tuple[str, str]] = []  # (title, reason)

    def parse(self) -> int:
        """Brings the spill folder up to date; returns the number of chunks.

        Raises:
          RuntimeError, OSError: see `parse_chunks`.
        """
        total = sum(path.stat().st_size for path in self.files)
        num_chunks = pages = pages_again = 0
        start = time.monotonic()
        with progress(desc="Parsing", total=total, unit="B", unit_scale=True) as bar:

            def chunks() -> Iterator[ChunkSource]:
                nonlocal num_chunks, pages_again
                before = 0
                for path in self.files:
                    reader = DumpReader(path)
                    for chunk in _chunks(reader, num_chunks):
                        num_chunks = chunk.number + 1
                        bar.update(before + reader.bytes_read - bar.n)
                        head = self.spill.head(chunk.number)
                        if head is not None and head["checksum"] == chunk.checksum:
                            pages_again += len(chunk.pages)
                        else:
                            yield chunk
                    before += path.stat().st_size
                    self.problems += reader.problems
                    self.failed += reader.broken_pages

            for _, count in parse_chunks(
                chunks(),
                site=self.site,
                options=self.options,
                spill=self.folder,
                workers=self.workers,
            ):
                pages += count
                bar.set_postfix_str(f"{pages / (time.monotonic() - start):.0f} pages/s")
        seconds = max(time.monotonic() - start, 1e-9)
        logging.info(
            "%s: %d pages parsed in %.1f s (%.0f pages/s, %d workers), %d from an earlier run",
            self.files[0].name,
            pages,
            seconds,
            pages / seconds,
            self.workers,
            pages_again,
        )
        self._read_heads(num_chunks)
        return num_chunks

    def report(self) -> dict[str, Any]:
        """What happened, JSON-like and the same for any number of workers."""
        return {
            "wiki": self.site.database or self.site.name,
            "language": self.site.language,
            "files": [path.name for path in self.files],
            "problems": self.problems,
            "failed_pages": [list(page) for page in self.failed],
            "counts": dict(sorted(self.counts.items())),
        }

    def remove_spill(self) -> None:
        """Deletes the parsed chunks."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read_heads(self, num_chunks: int) -> None:
        for number in range(num_chunks):
            head = self.spill.head(number)
            if head is None:
                raise ValueError(
                    f"chunk {number} is missing in {self.folder}; was the folder changed by "
                    "another run? Delete it and build again"
                )
            self.failed += [tuple(page) for page in head["failed"]]
            self.counts.update(head["counts"])
        self.counts["failed_pages"] += len(self.failed)
        for problem in self.problems:
            logging.warning("%s", problem)
        for title, reason in self.failed[:20]:
            logging.warning("page %r is left out: %s", title, reason)
        if len(self.failed) > 20:
            logging.warning("%d pages more are left out, see meta.json", len(self.failed) - 20)


def dump_files(source: str | Path) -> list[Path]:
    """The files of a dump: itself, or the parts in a folder, by name (numbers as numbers).

    Raises:
      FileNotFoundError: there is no such path, or no dump in the folder.
    """
    path = Path(source)
    if path.is_dir():
        files = [file for file in path.iterdir() if file.name.endswith(_DUMP_SUFFIXES)]
        if not files:
            raise FileNotFoundError(
                f"{path} has no file that ends in {', '.join(_DUMP_SUFFIXES[:4])}; give a dump, or "
                "a folder with the parts of one"
            )
        return sorted(files, key=_natural)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give the path of a MediaWiki XML dump")
    return [path]


def num_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sorts part2 before part10."""
    parts: list[tuple[int, str]] = []
    digits = ""
    for character in path.name + "\0":
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


def _chunks(reader: DumpReader, first: int) -> Iterator[ChunkSource]:
    """Groups a dump's pages by their bytes, which depends on the dump alone."""
    index = first
    pages: list[bytes] = []
    size = checksum = 0
    for page in reader.pages():
        pages.append(page)
        size += len(page)
        checksum = zlib.crc32(page, checksum)
        if size >= min(_LARGEST_CHUNK, _FIRST_CHUNK << min(index // 16, 8)):
            yield ChunkSource(index, pages, checksum)
            index += 1
            pages, size, checksum = [], 0, 0
    if pages:
        yield ChunkSource(index, pages, checksum)
