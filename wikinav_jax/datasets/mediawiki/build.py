"""A dump to Documents: parsed in parallel into spill files, then read back with links resolved.

The dump is read once. The first pass parses pages; what it keeps in memory does not grow with the
dump. The second reads the parsed pages in their order, once all redirects are known: only these
(and a bit per page id) are held in memory.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from absl import logging

from wikinav_jax.common.files import fingerprint
from wikinav_jax.common.progress import progress
from wikinav_jax.datasets.documents import Document, Passage, Section
from wikinav_jax.datasets.mediawiki.dump import DumpReader
from wikinav_jax.datasets.mediawiki.pages import PageOptions
from wikinav_jax.datasets.mediawiki.pool import ChunkSource, parse_chunks
from wikinav_jax.datasets.mediawiki.spill import Spill
from wikinav_jax.datasets.mediawiki.titles import resolve_redirects

PARSER_VERSION = 1  # raise it when the same page gives other text or links

# Chunks grow, so that small dumps are shared among workers and large ones have few files.
_FIRST_CHUNK = 256 << 10  # bytes of page sources
_LARGEST_CHUNK = 4 << 20
_MAX_BIT = 1 << 33  # page ids up to here are remembered in a bit each (1 GB at the very most)
_DUMP_SUFFIXES = (".xml", ".xml.bz2", ".xml.gz", ".xml.xz", ".bz2", ".gz", ".xz")


class DumpBuild:
    """One run over a dump. Iterate `documents()`, then read `report()`."""

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
        self._spill = Spill(self.folder)
        self._problems: list[str] = []
        self._failed: list[tuple[str, str]] = []
        self._counts: Counter[str] = Counter()

    def documents(self) -> Iterator[Document]:
        """The articles in the dump's order; targets are titles behind all redirects."""
        num_chunks = self._parse()
        aliases, final = self._resolve(num_chunks)
        seen = _IdSet()
        for index in range(num_chunks):
            for page_id, document in self._spill.documents(index):
                if page_id is not None and not seen.add(page_id):
                    self._counts["pages_with_an_id_seen_before"] += 1
                    continue
                yield Document(
                    document.title,
                    _resolved(document.sections, final),
                    tuple(aliases.get(document.title, ())),
                )

    def report(self) -> dict[str, Any]:
        """What happened, JSON-like and the same for any number of workers."""
        return {
            "wiki": self.site.database or self.site.name,
            "language": self.site.language,
            "files": [path.name for path in self.files],
            "problems": self._problems,
            "failed_pages": [list(page) for page in self._failed],
            "counts": dict(sorted(self._counts.items())),
        }

    def remove_spill(self) -> None:
        """Deletes the parsed chunks."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _parse(self) -> int:
        """Brings the spill folder up to date; returns the number of chunks."""
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
                        head = self._spill.head(chunk.number)
                        if head is not None and head["checksum"] == chunk.checksum:
                            pages_again += len(chunk.pages)
                        else:
                            yield chunk
                    before += path.stat().st_size
                    self._problems += reader.problems
                    self._failed += reader.broken_pages

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
        return num_chunks

    def _resolve(self, num_chunks: int) -> tuple[dict[str, list[str]], dict[str, tuple[str, str]]]:
        """Reads all heads: aliases by title, and redirects to where they end."""
        redirects: dict[str, tuple[str, str]] = {}
        for index in range(num_chunks):
            head = self._spill.head(index)
            if head is None:
                raise ValueError(
                    f"chunk {index} is missing in {self.folder}; was the folder changed by another "
                    "run? Delete it and build again"
                )
            for title, target, fragment in head["redirects"]:
                redirects.setdefault(title, (target, fragment))
            self._failed += [tuple(page) for page in head["failed"]]
            self._counts.update(head["counts"])
        final, cycles, dropped = resolve_redirects(redirects)
        self._counts.update(redirect_cycles=cycles, redirects_in_or_into_cycles=dropped)
        self._counts["failed_pages"] += len(self._failed)
        self._counts["pages_with_an_id_seen_before"] += 0
        aliases: dict[str, list[str]] = {}
        for title in redirects:  # in the dump's order
            target, fragment = final.get(title, ("", ""))
            if target and not fragment:  # with one it is a name for a part of the article
                aliases.setdefault(target, []).append(title)
        self._log()
        return aliases, final

    def _log(self) -> None:
        for problem in self._problems:
            logging.warning("%s", problem)
        for title, reason in self._failed[:20]:
            logging.warning("page %r is left out: %s", title, reason)
        if len(self._failed) > 20:
            logging.warning("%d pages more are left out, see meta.json", len(self._failed) - 20)


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


def _resolved(
    sections: Sequence[Section], final: dict[str, tuple[str, str]]
) -> tuple[Section, ...]:
    """Sections whose anchors lead past redirects; an anchor's own section wins."""
    return tuple(
        Section(
            section.path,
            tuple(
                Passage(
                    passage.text,
                    tuple(
                        dataclasses.replace(
                            anchor,
                            target=final[anchor.target][0],
                            fragment=anchor.fragment or final[anchor.target][1],
                        )
                        if anchor.target in final
                        else anchor
                        for anchor in passage.anchors
                    ),
                )
                if passage.anchors
                else passage
                for passage in section.passages
            ),
        )
        for section in sections
    )


class _IdSet:
    """Page ids in a bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self._large: set[int] = set()

    def add(self, number: int) -> bool:
        """Remembers a number; says whether it is new."""
        if not 0 <= number < _MAX_BIT:
            new = number not in self._large
            self._large.add(number)
            return new
        byte, mask = number >> 3, 1 << (number & 7)
        if byte >= len(self._bits):
            self._bits.extend(bytes(byte + 1 - len(self._bits)))
        new = not self._bits[byte] & mask
        self._bits[byte] |= mask
        return new
