"""HTML pages to sections of passages with anchors, in one pass over the parser's events.

lxml's event interface is used, not its tree: memory stays flat and no nesting is too deep (the tree
ends at 2,048 levels, and what lies below is lost without a word).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lxml import etree

from wikinav_jax.datasets.documents import Anchor, Passage, Section
from wikinav_jax.datasets.sources.html_rules import (
    BLOCKS,
    BODY,
    HEADINGS,
    VOID,
    is_boxed,
    is_dropped,
    is_made_by_mediawiki,
    main_part,
)
from wikinav_jax.datasets.sources.links import Link
from wikinav_jax.datasets.sources.sections import SectionWriter

_REFRESH = re.compile(r"\s*\d*(?:\.\d*)?\s*[;,]\s*(?:url\s*=)?\s*[\"']?([^\"']+)", re.IGNORECASE)
_UNUSED = re.compile("[\u200b\u2060\ufeff\u00ad\u200e\u200f\x00-\x08\x0b\x0e-\x1f\x7f]")
_ISSUED = re.compile(
    r"This article is issued from [^.]{1,60}\.\s+The (?:original )?(?:text|article)"
)
_PARSOID_ID = re.compile(r"mw[A-Za-z0-9_-]{2,5}|cite_(?:note|ref)-.*")
_FEW_WORDS = 20


@dataclass
class HtmlPage:
    """What a page says."""

    title: str  # "" if it has none
    sections: tuple[Section, ...]
    fragments: dict[str, tuple[str, ...]]  # ids -> paths of the sections that they stand in
    refresh: str  # the address that the page sends its readers to, or ""
    counts: Counter[str] = field(default_factory=Counter)


def read_html(
    source: str,
    resolve: Callable[[str], Link],
    *,
    keep_tables: bool = False,
    keep_code: bool = True,
    is_wiki: bool = False,
    heading_names: Callable[[str], tuple[str, list[str]]] | None = None,
) -> HtmlPage:
    """Reads a page.

    Args:
      source: the page, decoded (see `html_encoding.decode_html`).
      resolve: turns an address into a key.
      keep_tables: whether tables of data are text: a row a passage, cells parted by ";". Tables
        that lay out the page are always read.
      keep_code: whether blocks of code are text.
      is_wiki: whether MediaWiki made it; found out by itself where the page tells.
      heading_names: from a heading as it stands to its text and the fragments that name it; None
        for the text as it is, which always names it.
    """
    target = _Reader(resolve, keep_tables, keep_code, is_wiki, heading_names)
    parser = etree.HTMLParser(
        target=target, huge_tree=True, encoding="utf-8", remove_comments=True, remove_pis=True
    )
    # Null characters end lxml's text, and a lone surrogate has no UTF-8 form.
    data = source.replace("\0", "\ufffd").encode("utf-8", "replace")
    if not data.strip():
        return HtmlPage("", (), {}, "")
    try:
        parser.feed(data)
        parser.close()
    except etree.ParserError:  # a page of comments alone
        return HtmlPage("", (), {}, "")
    return target.page()


class _Text:
    """The words of a passage as they come, white space collapsed, with the anchors in them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.anchors: list[Anchor] = []
        self.space = False  # whether white space came behind the last word

    def add(self, data: str) -> None:
        words = data.split()
        if not words:
            self.space = True
            return
        if self.length and (self.space or data[0].isspace()):
            self.parts.append(" ")
            self.length += 1
        text = " ".join(words)
        self.parts.append(text)
        self.length += len(text)
        self.space = data[-1].isspace()

    def add_raw(self, data: str) -> None:
        """Adds text whose white space counts."""
        self.parts.append(data)
        self.length += len(data)
        self.space = False

    def start_of_next(self, data: str) -> int:
        """Where the first word of `data` will stand."""
        return self.length + bool(self.length and (self.space or data[0].isspace()))


class _Table:
    __slots__ = ("cells", "is_data", "mark")

    def __init__(self, mark: int):
        self.mark = mark  # of the writer, where it began
        self.is_data = False
        self.cells = 0  # of the row being read


class _Reader:
    """Takes the parser's events."""

    def __init__(
        self,
        resolve: Callable[[str], Link],
        keep_tables: bool,
        keep_code: bool,
        is_wiki: bool,
        heading_names: Callable[[str], tuple[str, list[str]]] | None,
    ):
        self._resolve = resolve
        self._keep_tables = keep_tables
        self._keep_code = keep_code
        self._is_wiki = is_wiki
        self._heading_names = heading_names
        self._writer = SectionWriter()
        self._text = _Text()
        self._open: list[tuple[str, int]] = []  # (tag, part of the page that it stands in)
        self._part = BODY
        self._skipped: list[str] = []  # open elements inside one that is dropped, itself included
        self._tables: list[_Table] = []
        self._heading = ""  # "h2" while in one
        self._code = 0  # open <pre> elements
        self._link: Link | None = None
        self._link_start = -1
        self._title: list[str] | None = None
        self._page_title = ""
        self._refresh = ""
        self._counts: Counter[str] = Counter()

    # The parser calls the next four.

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._skipped:
            if tag not in VOID:
                self._skipped.append(tag)
            return
        if not self._is_wiki and is_made_by_mediawiki(tag, attributes):
            self._is_wiki = True
        if tag == "meta":
            self._meta(attributes)
        if tag == "title":
            self._title = [] if not self._page_title else None
        self._part = max(self._part, main_part(tag, attributes)) if attributes else self._part
        if tag in ("main", "article"):
            self._part = max(self._part, main_part(tag, attributes))
        if tag in VOID:
            if tag in ("br", "hr"):
                self._space(tag)
            return
        if self._drops(tag, attributes):
            # What stood in front and what comes behind are still apart if a block stood between.
            if tag in BLOCKS:
                self._flush()
            self._skipped.append(tag)
            return
        self._open.append((tag, self._part))
        if tag in HEADINGS and self._heading:  # one that was never closed
            self._write_heading(int(self._heading[1]))
        if tag in BLOCKS and self._heading:
            self._text.space = True
        elif tag in BLOCKS and tag not in ("td", "th"):
            self._flush()
        self._name(tag, attributes)
        if tag in HEADINGS:
            self._heading = tag
        elif tag == "pre":
            self._flush()
            self._code += 1
        elif tag == "table":
            self._tables.append(_Table(self._writer.mark()))
            self._tables[-1].is_data = self._is_wiki
        elif tag in ("td", "th") and self._tables:
            self._cell(tag)
        elif tag in ("caption", "thead") and self._tables:
            self._tables[-1].is_data = True
        elif tag == "a" and attributes.get("href"):
            self._open_link(attributes)

    def end(self, tag: str) -> None:
        if self._skipped:
            if tag in self._skipped:
                while self._skipped.pop() != tag:
                    pass
            if not self._skipped and tag == "title":
                self._title_ends()
            return
        if tag in VOID or not any(name == tag for name, _ in reversed(self._open)):
            return
        while True:
            name, _ = self._open.pop()
            self._close(name)
            if name == tag:
                break
        self._part = self._open[-1][1] if self._open else BODY

    def data(self, data: str) -> None:
        if self._title is not None:
            self._title.append(data)
        if self._skipped or not data:
            return
        data = _UNUSED.sub("", data)
        if not data:
            return
        raw = bool(self._code)
        if self._link is not None and self._link_start < 0 and not data.isspace():
            before = len(data) - len(data.lstrip()) if raw else 0
            self._link_start = self._text.length + before if raw else self._text.start_of_next(data)
        if raw:
            self._text.add_raw(data)
        else:
            self._text.add(data)

    def close(self) -> None:
        self._flush()

    def page(self) -> HtmlPage:
        """What was read."""
        while self._open:
            self._close(self._open.pop()[0])
        self._flush()
        written = self._writer.finish(self._page_title, _FEW_WORDS)
        self._counts["links"] += written.num_anchors
        return HtmlPage(
            written.title, written.sections, written.fragments, self._refresh, self._counts
        )

    def _drops(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if tag == "pre" and not self._keep_code:
            return True
        if is_dropped(tag, attributes, is_wiki=self._is_wiki, in_main=self._part > BODY):
            return True
        if self._keep_tables or not self._is_wiki:
            return False
        return tag == "table" or bool(attributes and is_boxed(attributes))

    def _close(self, tag: str) -> None:
        if tag == "a":
            self._close_link()
        elif tag == self._heading:
            self._write_heading(int(tag[1]))
        elif tag == "pre":
            self._flush()
            self._code = max(0, self._code - 1)
        elif tag == "table" and self._tables:
            self._flush()
            table = self._tables.pop()
            if table.is_data and not self._keep_tables and self._writer.forget(table.mark):
                self._counts["tables_left_out"] += 1
        elif tag in BLOCKS and tag not in ("td", "th") and not self._heading:
            self._flush()

    def _meta(self, attributes: Mapping[str, str]) -> None:
        if attributes.get("http-equiv", "").lower() == "refresh":
            match = _REFRESH.match(attributes.get("content", ""))
            if match:
                self._refresh = match[1].strip()

    def _title_ends(self) -> None:
        if self._title is not None:
            self._page_title = " ".join("".join(self._title).split())
            self._title = None

    def _name(self, tag: str, attributes: Mapping[str, str]) -> None:
        if attributes:
            name = attributes.get("id") or (attributes.get("name") if tag == "a" else None)
            # Parsoid numbers every element of a wiki's page: nothing leads there.
            if name and not (self._is_wiki and _PARSOID_ID.fullmatch(name)):
                self._writer.name(name)

    def _space(self, tag: str) -> None:
        if self._code:
            self._text.add_raw("\n")
        elif tag == "hr":
            self._flush()
        else:
            self._text.add(" ")

    def _cell(self, tag: str) -> None:
        table = self._tables[-1]
        if tag == "th":
            table.is_data = True
        if self._text.length and table.cells:
            self._close_link()
            self._text.space = False
            self._text.add_raw(";")
            self._text.space = True
        table.cells += 1

    def _open_link(self, attributes: Mapping[str, str]) -> None:
        self._close_link()
        link = self._resolve(attributes["href"])
        if link.key:
            self._link, self._link_start = link, -1
        else:
            self._counts[link.reason] += 1

    def _close_link(self) -> None:
        link, start = self._link, self._link_start
        self._link, self._link_start = None, -1
        if link is not None and 0 <= start < self._text.length:
            self._text.anchors.append(Anchor(start, self._text.length, link.key, link.fragment))

    def _write_heading(self, level: int) -> None:
        link = self._link
        self._close_link()
        text = "".join(self._text.parts).strip()
        own = "" if self._is_wiki else self._resolve("#").key
        # Many sites make each heading a link to itself.
        anchors = [a for a in self._text.anchors if not self._is_wiki and a.target != own]
        self._text = _Text()
        self._heading = ""
        # A link around a heading and more is that of the words that come next.
        self._link = link
        if self._heading_names is not None and text:
            text, names = self._heading_names(text)
            for name in names:
                self._writer.name(name)
        self._writer.heading(level, text, self._part)
        if anchors and link is None:
            # The heading is a link itself, as in lists of pages: that would be lost in a path.
            self._writer.passage(Passage(text, tuple(anchors)), self._part)

    def _flush(self) -> None:
        """Ends the passage that is being read. A link that goes on behind it counts once."""
        if self._link_start >= 0:
            self._close_link()
        if self._tables:
            self._tables[-1].cells = 0
        text, self._text = self._text, _Text()
        if not text.length:
            return
        words = "".join(text.parts)
        anchors = text.anchors
        if self._code:
            words, anchors = _strip_lines(words, anchors)
        if not words or words.isspace() or _ISSUED.match(words):
            return
        self._writer.passage(Passage(words, tuple(anchors)), self._part)


def _strip_lines(text: str, anchors: list[Anchor]) -> tuple[str, list[Anchor]]:
    """Takes empty lines off both ends of a block of code."""
    start = len(text) - len(text.lstrip("\r\n"))
    end = len(text.rstrip())
    moved = []
    for anchor in anchors:
        low, high = max(anchor.start, start), min(anchor.end, end)
        if low < high:
            moved.append(Anchor(low - start, high - start, anchor.target, anchor.fragment))
    return text[start:end], moved
