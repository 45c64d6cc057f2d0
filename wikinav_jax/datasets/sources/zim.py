"""Kiwix ZIM files: pages of HTML in an archive, as mwoffliner, zimit and others write them."""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wikinav_jax.datasets.building.chunks import ChunkParser, OtherName
from wikinav_jax.datasets.building.pool import ChunkSource
from wikinav_jax.datasets.building.source import Origin, Page, SourceOptions, cut_chunks
from wikinav_jax.datasets.sources.html import read_html
from wikinav_jax.datasets.sources.html_encoding import decode_html
from wikinav_jax.datasets.sources.links import Link, LinkResolver
from wikinav_jax.datasets.sources.parser import DocumentParser, Parsed

_PAGE_SIZE = 16 << 10  # bytes, a guess: sizes are known only once pages are unpacked
_HTML = ("text/html", "application/xhtml+xml")
_OLD_ARTICLES = ("A/", "C/")  # namespaces of the layout before 2021
_METADATA = ("Title", "Name", "Creator", "Publisher", "Language", "Date", "License", "Source")
_SITE_SUFFIX = re.compile(r"\s+[-–—|]\s+(?:Wikipedia|Wiktionary|Wikivoyage|Wikibooks)[^-–—|]*$")


class ZimSource:
    """A ZIM file."""

    kind = "zim"
    unit = "page"

    def __init__(self, path: Path):
        """Opens the archive.

        Raises:
          ImportError: libzim is not installed.
          ValueError: it is no ZIM file, or a damaged one.
        """
        self.path = path
        self.label = path.name
        self.problems: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self._archive = open_archive(path)
        self.total = self._archive.all_entry_count
        self.done = 0
        self.metadata = {name: _metadata(self._archive, name) for name in _METADATA}
        self._scraper = _metadata(self._archive, "Scraper")

    def key(self) -> Any:
        """The archive's own id, and the file's size."""
        return [self.path.name, str(self._archive.uuid), self.path.stat().st_size]

    def chunks(self) -> Iterator[ChunkSource]:
        """Numbers of entries; the workers read them."""
        return cut_chunks(self._pages())

    def _pages(self) -> Iterator[Page]:
        seed = zlib.crc32(str(self._archive.uuid).encode())
        for number in range(self.total):
            self.done = number + 1
            yield Page(number, _PAGE_SIZE, (seed << 31) + number)

    def make_parser(self, options: SourceOptions) -> Callable[[], ChunkParser]:
        """See `Source.make_parser`."""
        is_wiki = "mwoffliner" in self._scraper.lower()
        return functools.partial(_make_parser, self.path, options, is_wiki)

    def origin(self) -> Origin:
        """Creator, date and licence, where the archive's metadata tells."""
        named = self.metadata
        creator = named["Creator"] or named["Publisher"] or "an unnamed creator"
        return Origin(
            f"ZIM file {self.path.name}: {named['Title'] or named['Name'] or 'no title'} by "
            f"{creator} ({named['Source'] or 'no address given'}, {named['Date'] or 'no date'})",
            named["License"] or "not told by the ZIM file; see the site it comes from",
        )

    def report(self) -> dict[str, Any]:
        """The archive's metadata."""
        return {
            "metadata": {name.lower(): text for name, text in self.metadata.items() if text},
            "scraper": self._scraper,
            "new_namespaces": self._archive.has_new_namespace_scheme,
        }


class ZimReader:
    """Reads the entries of an archive."""

    def __init__(self, path: Path, options: SourceOptions, is_wiki: bool):
        self._archive = open_archive(path)
        self._options = options
        self._is_wiki = is_wiki
        self._is_old = not self._archive.has_new_namespace_scheme

    def read(self, content: Any) -> Parsed | None:
        """Reads an entry by its number; redirects lead from path to path."""
        try:
            entry = self._archive._get_entry_by_id(content)
            path, title = entry.path, entry.title
            if self._is_old and not path.startswith(_OLD_ARTICLES):
                return None
            if entry.is_redirect:
                target = entry.get_redirect_entry()
                name = OtherName(path, target.path, title=title if title != path else "")
                return Parsed(path, title, names=(name,), is_redirect=True)
            item = entry.get_item()
            if not item.mimetype.lower().startswith(_HTML):
                return None
            if item.size > self._options.max_bytes:
                raise ValueError(
                    f"{item.size:,} bytes of HTML; max_bytes={self._options.max_bytes:,}"
                )
            source = bytes(item.content)
        except (RuntimeError, KeyError, IndexError) as error:
            raise ValueError(f"entry {content} cannot be unpacked ({error})") from error
        text, is_clean = decode_html(source)
        resolver = LinkResolver(path, self._options.base_url, keep_query=True)

        def resolve(address: str) -> Link:
            link = resolver.resolve(address)
            if link.reason == "links_of_other_schemes":
                # Older scrapers wrote the title "Star: Trek" as it is.
                inside = resolver.resolve(f"./{address}")
                return inside if self._has(inside.key) else link
            bare = link.key.partition("?")[0]
            if bare != link.key and not self._has(link.key) and self._has(bare):
                return link._replace(key=bare)
            if link.key.endswith("/") and not self._has(link.key):
                return link._replace(key=link.key[:-1] or "/")
            return link

        page = read_html(
            text,
            resolve,
            keep_tables=self._options.keep_tables,
            keep_code=self._options.keep_code,
            is_wiki=self._is_wiki,
        )
        counts = {**page.counts, "pages_in_a_broken_encoding": int(not is_clean)}
        if page.refresh and not any(len(section.passages) > 1 for section in page.sections):
            link = resolve(page.refresh)
            if link.key and link.key != path:
                return Parsed(
                    path,
                    title,
                    names=(OtherName(path, link.key, link.fragment, title),),
                    is_redirect=True,
                )
        shown = title if title and title != path else page.title
        return Parsed(
            path,
            _SITE_SUFFIX.sub("", shown),
            page.sections,
            page.fragments,
            counts=counts,
        )

    def _has(self, path: str) -> bool:
        return bool(path) and self._archive.has_entry_by_path(path)

    def name_of(self, content: Any) -> str:
        """An entry's path, if that can be read."""
        try:
            return self._archive._get_entry_by_id(content).path
        except (RuntimeError, KeyError, IndexError):
            return f"entry {content}"


def open_archive(path: Path) -> Any:
    """libzim's Archive.

    Raises:
      ImportError: libzim is not installed.
      ValueError: it is no ZIM file, or a damaged one.
    """
    try:
        from libzim.reader import Archive
    except ImportError as error:
        raise ImportError(
            "reading ZIM files needs libzim (pip install libzim), which has no wheels for Windows"
        ) from error
    # A ZIM file in parts (.zimaa, .zimab, …) is opened by the name without the letters.
    whole = path.with_suffix(".zim") if re.fullmatch(r"\.zima[a-z]", path.suffix) else path
    try:
        return Archive(whole)
    except RuntimeError as error:
        raise ValueError(
            f"{path} cannot be opened as a ZIM file ({error}); it may be cut off or damaged: "
            "compare its size and checksum with those of the download page"
        ) from error


def _make_parser(path: Path, options: SourceOptions, is_wiki: bool) -> DocumentParser:
    return DocumentParser(ZimReader(path, options, is_wiki), options)


def _metadata(archive: Any, name: str) -> str:
    try:
        return archive.get_metadata(name).decode("utf-8", "replace").strip()
    except (RuntimeError, KeyError):
        return ""
