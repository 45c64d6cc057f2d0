"""MediaWiki XML dumps as a stream of page sources: plain, bz2 (also multistream), gz or xz.

The stream is cut at `<page>` and `</page>` (inside a page these cannot occur: `<` is escaped), so
that a broken page is one broken page, and pages can be parsed by other processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from wikinav_jax.datasets.building.compression import CompressedFile, to_utf8
from wikinav_jax.datasets.mediawiki.titles import SiteInfo

MAX_PAGE_BYTES = 32 << 20  # MediaWiki's own limit for a page is 2 MB
_MAX_HEADER_BYTES = 4 << 20

_PAGE_START = re.compile(rb"<page[\s>]")
_PAGE_END = b"</page>"
_LANGUAGE_IN_ADDRESS = re.compile(r"(?:https?:)?//([a-z][a-z-]+)\.(?:m\.)?wik[a-z]+\.org/")
_TITLE = re.compile(rb"<title>([^<]*)")


class DumpReader:
    """Reads one dump once, from its start to its end.

    What could not be read is told in `problems` (the file) and `broken_pages` (title, reason).
    """

    def __init__(self, path: str | Path, *, max_page_bytes: int = MAX_PAGE_BYTES):
        """Opens the dump and reads its header into `site`.

        Raises:
          FileNotFoundError: there is no such file.
          ValueError: it is no MediaWiki dump, has a DTD, or is packed in a way we do not read.
        """
        self.path = Path(path)
        self.broken_pages: list[tuple[str, str]] = []
        self._max_page_bytes = max_page_bytes
        self._file = CompressedFile(self.path)
        self._stream = to_utf8(iter(self._file), self.path)
        self._buffer = bytearray()
        self.site = self._read_header()

    @property
    def problems(self) -> list[str]:
        """What was wrong with the file, so far."""
        return self._file.problems

    @property
    def num_bytes(self) -> int:
        """The size of the file as it is, compressed or not."""
        return self._file.num_bytes

    @property
    def bytes_read(self) -> int:
        """How much of it was read so far."""
        return self._file.bytes_read

    def pages(self) -> Iterator[bytes]:
        """The source of each page in UTF-8, from `<page>` to `</page>`."""
        buffer = self._buffer
        searched = 0
        while True:
            position = 0
            while (end := buffer.find(_PAGE_END, max(position, searched))) >= 0:
                end += len(_PAGE_END)
                searched = end
                page = self._cut(bytes(buffer[position:end]))
                if page is not None:
                    yield page
                position = end
            del buffer[:position]
            if len(buffer) > self._max_page_bytes:
                self._skip_page()
                searched = 0
                continue
            searched = max(0, len(buffer) - len(_PAGE_END))
            data = next(self._stream, None)
            if data is None:
                break
            buffer += data
        tail = bytes(buffer)
        start = _PAGE_START.search(tail)
        if start:
            title = _title_of(tail[start.start() :])
            self._file.report(f"{self.path} ends inside the page {title!r}, which is left out")
        elif not self._file.problems and b"</mediawiki" not in tail:
            self._file.report(f"{self.path} ends without </mediawiki>: it may have been cut")

    def _cut(self, source: bytes) -> bytes | None:
        """The last page that starts in `source`; pages before it have no end."""
        starts = [match.start() for match in _PAGE_START.finditer(source)]
        if not starts:
            self.broken_pages.append(("", "</page> without <page>"))
            return None
        for start in starts[:-1]:
            self.broken_pages.append((_title_of(source[start:]), "no </page>"))
        return source[starts[-1] :]

    def _skip_page(self) -> None:
        """Reads past a page that is larger than memory should hold."""
        title = _title_of(bytes(self._buffer[:8192]))
        self.broken_pages.append((title, f"its source is over {self._max_page_bytes:,} bytes"))
        while True:
            end = self._buffer.find(_PAGE_END)
            if end >= 0:
                del self._buffer[: end + len(_PAGE_END)]
                return
            del self._buffer[: -len(_PAGE_END)]
            data = next(self._stream, None)
            if data is None:
                self._buffer.clear()
                return
            self._buffer += data

    def _read_header(self) -> SiteInfo:
        while (start := _PAGE_START.search(self._buffer)) is None:
            data = next(self._stream, None)
            if data is None or len(self._buffer) > _MAX_HEADER_BYTES:
                break
            self._buffer += data
        header = bytes(self._buffer[: start.start() if start else _MAX_HEADER_BYTES])
        if not header:
            raise self._file.nothing()
        if b"<mediawiki" not in header:
            damage = "".join(f"; {problem}" for problem in self._file.problems)
            raise ValueError(
                f"{self.path} is no MediaWiki XML dump: there is no <mediawiki> element at its "
                f"start, which reads {header[:60]!r}; give a file such as "
                f"enwiki-latest-pages-articles.xml.bz2{damage}"
            )
        if start is not None:
            del self._buffer[: start.start()]
        return _parse_header(header, self.path)


def _title_of(source: bytes) -> str:
    match = _TITLE.search(source)
    return match[1].decode("utf-8", "replace") if match else ""


def _parse_header(header: bytes, path: Path) -> SiteInfo:
    texts: dict[str, str] = {}
    namespaces: dict[str, int] = {}
    element: list[str] = []
    attributes: list[dict[str, str]] = []
    language = ""

    def start(name: str, values: dict[str, str]) -> None:
        nonlocal language
        element.append(name)
        attributes.append(values)
        if name == "mediawiki":
            language = values.get("xml:lang", "")

    def text(data: str) -> None:
        if element:
            texts[element[-1]] = texts.get(element[-1], "") + data

    def end(name: str) -> None:
        if name == "namespace" and attributes[-1].get("key", "").lstrip("-").isdigit():
            namespaces[texts.get("namespace", "").strip()] = int(attributes[-1]["key"])
        if name == "namespace":
            texts.pop(name, None)
        element.pop()
        attributes.pop()

    parser = _new_parser(str(path))
    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    parser.EndElementHandler = end
    try:
        parser.Parse(header, False)
    except expat.ExpatError as error:
        raise ValueError(
            f"{path} is no MediaWiki XML dump: its header is not well-formed ({error}); "
            "download it again"
        ) from error
    base = texts.get("base", "").strip()
    host = _LANGUAGE_IN_ADDRESS.match(base)
    return SiteInfo(
        name=texts.get("sitename", "").strip(),
        database=texts.get("dbname", "").strip(),
        base=base,
        language=language or (host[1] if host else "en"),
        first_letter=texts.get("case", "first-letter").strip() != "case-sensitive",
        namespaces=namespaces,
    )


def _new_parser(path: str) -> expat.XMLParserType:
    """A parser that refuses DTDs: dumps have none, and entities can be bombs."""

    def refuse(*_: object) -> None:
        raise ValueError(
            f"{path} has a document type declaration, which no MediaWiki dump has; it is refused, "
            "since entities declared there can expand without limit"
        )

    parser = expat.ParserCreate("utf-8")
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.buffer_text = True
    return parser


class PageSource:
    """The fields of a `<page>`; of several revisions the last one counts."""

    __slots__ = ("is_redirect", "model", "namespace", "page_id", "redirect", "text", "title")

    def __init__(self) -> None:
        self.title = ""
        self.namespace: int | None = None
        self.page_id: int | None = None
        self.is_redirect = False
        self.redirect = ""  # the title that <redirect> names; old dumps leave it out
        self.model = "wikitext"
        self.text = ""


def parse_page(source: bytes) -> PageSource:
    """Reads one page.

    Raises:
      ValueError: the XML is not well-formed, or the page has no title.
    """
    page = PageSource()
    path: list[str] = []
    parts: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        path.append(name)
        parts.clear()
        if name == "redirect" and len(path) == 2:
            page.is_redirect = True
            page.redirect = attributes.get("title", "")
        elif name == "revision":
            page.text, page.model = "", "wikitext"

    def end(name: str) -> None:
        path.pop()
        depth = len(path)
        value = "".join(parts)
        parts.clear()
        if depth == 1 and path[0] == "page":
            if name == "title":
                page.title = value.strip()
            elif name == "ns":
                page.namespace = int(value)
            elif name == "id":
                page.page_id = int(value)
        elif path[-1:] == ["revision"]:
            if name == "text":
                page.text = value
            elif name == "model":
                page.model = value.strip()

    parser = _new_parser("a page")
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = parts.append
    try:
        parser.Parse(source, True)
    except expat.ExpatError as error:
        raise ValueError(f"not well-formed XML: {error}") from error
    if not page.title:
        raise ValueError("the page has no title")
    return page
