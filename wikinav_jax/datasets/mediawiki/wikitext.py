"""Wikitext to sections of passages with anchors.

Three passes, each linear in the length of the page: `preprocess.py` takes out what is no text;
`_Inline` reads links and HTML; `_sections` reads headings, lists and paragraphs line by line.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from wikinav_jax.datasets.documents import Anchor, Passage, Section
from wikinav_jax.datasets.mediawiki.characters import (
    DROPPED,
    LINK_END,
    LINK_LABEL,
    LINK_START,
    NOTHING,
    clean_source,
    decode_references,
    drop_invisible,
    unshield,
)
from wikinav_jax.datasets.mediawiki.inline import InlineParser
from wikinav_jax.datasets.mediawiki.names import VARIANTS
from wikinav_jax.datasets.mediawiki.preprocess import (
    choose_variant,
    drop_tables,
    drop_templates,
)
from wikinav_jax.datasets.mediawiki.titles import Titles

_LINK = re.compile(f"{LINK_START}(\\d+){LINK_LABEL}([^{LINK_END}]*){LINK_END}")
_MARKS = re.compile(f"[{LINK_START}-{NOTHING}]")
_LINK_OPENING = re.compile(f"{LINK_START}\\d+{LINK_LABEL}|{LINK_END}")
_QUOTES = re.compile("('{2,})")
_SWITCH = re.compile(r"__([^\s\d_=\[\]<>|{}]+(?:_[^\s\d_=\[\]<>|{}]+)*)__")
_SMALL_SWITCHES = frozenset(("toc", "notoc", "forcetoc", "noeditsection", "nogallery", "noindex"))
_LIST = re.compile(r"[*#:;]+")
_TABLE_START = re.compile(r"[ \t:]*\{\|")
_TABLE_ROW = re.compile(r"[ \t:]*(\{\||\|[-+}]?|!)")
_CELL = re.compile(r"\|\||!!")
# A row of dots that long is no text; finding the sentences around it takes time in its square.
_LONG_RUN = 200
_ENDS = re.compile(f"[.!?…؟۔։।॥።၊။]{{{_LONG_RUN},}}")
_IN_PARENTHESES = re.compile(f"[(（][\\s;,、，；{DROPPED}]*[)）]?")
_AROUND_DROPPED = re.compile(f"[ {DROPPED}]*[{DROPPED}][{DROPPED} ]*")


@dataclass
class ParsedPage:
    """The text of a page. Targets are titles as links name them: redirects are not followed."""

    sections: tuple[Section, ...]
    counts: Counter[str] = field(default_factory=Counter)  # of links, by what became of them


class WikitextParser:
    """Parses pages of one wiki."""

    def __init__(self, titles: Titles, *, keep_tables: bool = False):
        """Prepares the patterns of the wiki's language.

        Args:
          titles: how the wiki reads titles.
          keep_tables: whether each row of a table becomes a passage, its cells parted by ";";
            else tables are dropped.
        """
        self._inline = InlineParser(titles)
        self._keep_tables = keep_tables
        self._has_variants = titles.language.partition("-")[0] in VARIANTS

    def parse(self, source: str, title: str) -> ParsedPage:
        """Parses a page.

        Args:
          source: its wikitext.
          title: its title; `[[#Section]]` leads there.

        Returns:
          Its sections in reading order, the empty ones left out.
        """
        text = drop_templates(clean_source(source), title)
        if self._has_variants:
            text = choose_variant(text)
        left_open = False
        if not self._keep_tables:
            text, left_open = drop_tables(text)
        inline = self._inline.parse(text, title)
        reader = _LineReader(inline.links, keep_tables=self._keep_tables, drop_rows=left_open)
        for line in inline.text.split("\n"):
            reader.read(line)
        return ParsedPage(reader.finish(), inline.counts)


class _LineReader:
    """Collects lines into passages and passages into sections."""

    def __init__(self, links: list[tuple[str, str]], *, keep_tables: bool, drop_rows: bool):
        self._links = links
        self._keep_tables = keep_tables
        self._drop_rows = drop_rows  # a table was left open: its rows are not text
        self._sections: list[Section] = []
        self._path: list[tuple[int, str]] = []  # (level, heading)
        self._passages: list[Passage] = []
        self._paragraph: list[str] = []
        self._open_tables = 0
        self._cells: list[str] = []  # of the row being read

    def read(self, line: str) -> None:
        if line[:1] == DROPPED:
            line = line.lstrip(DROPPED)
        line = line.rstrip(f" \t{DROPPED}")
        if not line:
            if not self._open_tables:
                self._end_paragraph()
            return
        first = line[0]
        if first == "=" and self._heading(line):
            return
        if (self._open_tables or self._drop_rows) and (row := _TABLE_ROW.match(line)):
            self._row(row[1], line[row.end() :])
        elif self._keep_tables and (row := _TABLE_START.match(line)):
            self._end_paragraph()
            self._open_tables += 1
        elif self._open_tables:
            self._cells.append(line.lstrip(" \t*#:;"))
        elif first in "*#:;":
            self._end_paragraph()
            self._add(line[_LIST.match(line).end() :])  # type: ignore[union-attr]
        elif first == "-" and line.startswith("----"):
            self._end_paragraph()
            self._add(line.lstrip("-"))
        else:
            self._paragraph.append(_strip_quotes(line))

    def finish(self) -> tuple[Section, ...]:
        self._end_section()
        return tuple(self._sections)

    def _heading(self, line: str) -> bool:
        length = len(line)
        before = length - len(line.lstrip("="))
        after = length - len(line.rstrip("="))
        level = min(before, after, 6)
        if before == length:  # nothing but signs
            level = min((length - 1) // 2, 6)
        if level < 1:
            return False
        heading = self._passage(_strip_quotes(line[level : length - level]))
        if heading is None:
            return False
        self._end_section()
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, heading.text))
        return True

    def _row(self, sign: str, content: str) -> None:
        """A line of a table. The cells of a row, however many lines they take, are a passage."""
        if self._drop_rows:
            self._end_paragraph()
            return
        if sign in ("|", "!"):
            for cell in _CELL.split(content):
                attributes, pipe, text = cell.partition("|")
                self._cells.append(text if pipe and LINK_START not in attributes else cell)
            return
        self._end_row()
        if sign == "{|":
            self._open_tables += 1
        elif sign == "|}":
            self._open_tables -= 1
        elif sign == "|+":
            self._add(content.rpartition("|")[2])

    def _end_row(self) -> None:
        cells = [cell.strip(f" \t{DROPPED}") for cell in self._cells]
        self._cells = []
        self._add("; ".join(cell for cell in cells if cell))

    def _end_section(self) -> None:
        if self._open_tables:  # a table does not reach over a heading
            self._end_row()
            self._open_tables = 0
        self._end_paragraph()
        if self._passages:
            path = tuple(heading for _, heading in self._path)
            self._sections.append(Section(path, tuple(self._passages)))
            self._passages = []

    def _end_paragraph(self) -> None:
        if self._paragraph:
            text = " ".join(self._paragraph)
            self._paragraph = []
            self._append(self._passage(text))

    def _add(self, line: str) -> None:
        self._append(self._passage(_strip_quotes(line)))

    def _append(self, passage: Passage | None) -> None:
        if passage is not None:
            self._passages.append(passage)

    def _passage(self, raw: str) -> Passage | None:
        """The text of a passage without marks, its links as anchors; None if nothing is left."""
        if "__" in raw:
            raw = _SWITCH.sub(_switch, raw)
        raw = drop_invisible(decode_references(raw))
        raw = " ".join(raw.split())
        if DROPPED in raw:
            raw = _tidy(raw)
        if NOTHING in raw:
            raw = raw.replace(NOTHING, "")
        if len(raw) > _LONG_RUN:
            raw = _ENDS.sub(lambda match: match[0][:3], raw)
        raw = unshield(raw)
        if LINK_START not in raw:
            return Passage(_MARKS.sub("", raw)) if raw and not raw.isspace() else None
        parts = _LINK.split(raw)
        texts: list[str] = []
        anchors = []
        length = 0
        for i in range(0, len(parts) - 1, 3):
            before, number, label = parts[i : i + 3]
            start = length + len(before)
            length = start + len(label)
            texts += (before, label)
            if label and not label.isspace():
                anchors.append(Anchor(start, length, *self._links[int(number)]))
        texts.append(parts[-1])
        text = "".join(texts)
        return Passage(text, tuple(anchors)) if text and not text.isspace() else None


def _switch(match: re.Match[str]) -> str:
    """Drops __NOTOC__ and its like: capitals, or a script that has none (__目次非表示__)."""
    word = match[1]
    is_switch = word == word.upper() or word in _SMALL_SWITCHES
    return "" if is_switch and any(map(str.isalpha, word)) else match[0]


def _tidy(raw: str) -> str:
    """Removes the marks of what was dropped, and the spaces and brackets that stood around it."""
    raw = _IN_PARENTHESES.sub(_tidy_parentheses, raw)
    raw = re.sub(f"[ {DROPPED}]{{2,}}", _tidy_spaces, raw)
    raw = re.sub(f" {DROPPED}([.,;:!?)\\]])", r"\1", raw)
    return raw.replace(DROPPED, "").strip()


def _tidy_parentheses(match: re.Match[str]) -> str:
    if DROPPED not in match[0]:
        return match[0]
    return DROPPED if match[0][-1] in ")）" else match[0][0]


def _tidy_spaces(match: re.Match[str]) -> str:
    if DROPPED not in match[0]:
        return match[0]
    return f" {DROPPED}" if " " in match[0] else DROPPED


def _strip_quotes(line: str) -> str:
    """Takes bold and italic marks off a line, by MediaWiki's rules for odd apostrophes."""
    if "''" not in line:
        return line
    parts = _QUOTES.split(line)
    bold = italic = 0
    for i in range(1, len(parts), 2):
        count = len(parts[i])
        if count == 4 or count > 5:
            parts[i - 1] += "'" * (count - 3 if count == 4 else count - 5)
            count = 3 if count == 4 else 5
        parts[i] = ""
        italic += count != 3
        bold += count != 2
        if count == 3:
            parts[i] = "'''"
    if bold % 2 and italic % 2:
        _keep_an_apostrophe(parts)
    return "".join(parts[::2])


def _keep_an_apostrophe(parts: list[str]) -> None:
    """One of the bold marks was an apostrophe and an italic mark: l'''Iliade''."""
    chosen: tuple[int, int] | None = None
    for i in range(1, len(parts), 2):
        if not parts[i]:
            continue
        before = _LINK_OPENING.sub("", parts[i - 1])
        if before[-1:] == " ":
            rank = 2
        elif before[-2:-1] in (" ", ""):
            rank = 0  # behind a word of one letter
        else:
            rank = 1
        if chosen is None or rank < chosen[0]:
            chosen = (rank, i)
    if chosen is not None:
        parts[chosen[1] - 1] += "'"
