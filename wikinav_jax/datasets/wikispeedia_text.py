"""Wikispeedia's plain text to sections of paragraphs, list items, captions and table rows.

The public archive was printed by a text browser, so structure is left only in the layout:
headings start in the first column; paragraphs are indented by three spaces and wrapped at column
75; list items carry `*`, `+`, `o` or a number; tables are aligned by spaces; the words of an image
stand twice, around the line "Enlarge". The wrapping tells paragraphs from rows: a line that ends
although the next word would still have fitted was broken on purpose.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["paragraph", "item", "line", "caption", "table"]

_WIDTH = 75  # a wrapped line and the word after it are at least this long together
_QUOTE_WIDTH = 74  # quotations are indented on both sides
_SELECTION = "2007 Schools Wikipedia Selection"
_BULLET = re.compile(r" {5,35}[*+o#@=] (?=\S)")
_NUMBER = re.compile(r" {3,19}\d{1,3}\. (?=\S)")
_TEXT_COLUMNS = frozenset((6, 7, 8, 12, 13, 17))  # where the text of a numbered item starts
_PARAGRAPH_INDENTS = frozenset((3, 4, 5, 7, 10, 15))  # plain, in lists, quoted
_SENTENCE_END = tuple(".!?:;)\"”'")
_IMAGE_NAME = re.compile(r"(?:Image:\S+|\[\S+\.(?:gif|png|jpg)\])$", re.IGNORECASE)
_MAX_CAPTION_LINES = 24
# What the site and the encyclopedia put above an article.
_NOTICE = re.compile(
    r"This is a featured article|SOS Children |Not to be confused with "
    r"|This (?:article|page) is about |For (?:the|other|an?|another) .*\bsee\b|.* redirects? here\b"
)


@dataclass(frozen=True, slots=True)
class RawPassage:
    """A stretch of text without links. A "line" is a short one that is neither of the others."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class RawSection:
    """`path` holds the heading, after the headings above it that have no text of their own.

    The layout does not show the level of a heading, so that "Crew", then "Primary crew" and
    "Backup crew" give ("Crew", "Primary crew") and ("Backup crew",).
    """

    path: tuple[str, ...]
    passages: tuple[RawPassage, ...]


@dataclass(frozen=True, slots=True)
class RawArticle:
    """A parsed file. `subjects` are the names on its "Related subjects" line."""

    heading: str
    subjects: tuple[str, ...]
    sections: tuple[RawSection, ...]


@dataclass(slots=True)
class _Line:
    """A line as it was before wrapping. `column` is where its text starts, `length` the last
    printed line's, `caption` the number of the image that it describes."""

    kind: Literal["heading", "item", "text"]
    indent: int
    column: int
    parts: list[str]
    length: int
    caption: int | None = None
    text: str = field(init=False, default="")


def parse_article(text: str) -> RawArticle:
    """Reads one file of `plaintext_articles/`; every text parses, if only to no sections.

    Left out: the copyright line, the title and subject lines, the closing "Retrieved from" note,
    rulers, names of image files, and the first copy of a caption (the image's alternative text).
    Captions come after the other passages of their section, so that they do not part paragraphs.
    Rows before the first paragraph are an infobox and count as table, like rows of code.
    """
    lines = [line.rstrip() for line in text.splitlines()]
    if lines and lines[0].strip() == "#copyright":
        del lines[0]
    heading, subjects, first = _head(lines)
    return RawArticle(heading, subjects, tuple(_sections(_groups(lines[first : _end(lines)]))))


def _head(lines: list[str]) -> tuple[str, tuple[str, ...], int]:
    """The title, the subjects, and the index of the first line after them."""
    heading = ""
    for i, line in enumerate(lines):
        if line.startswith(_SELECTION):
            last = i
            while last < len(lines) and lines[last]:
                last += 1
            _, _, names = " ".join(lines[i:last]).partition("Related subjects:")
            subjects = tuple(name.strip() for name in names.split(";") if name.strip())
            return heading, subjects, last
        if not heading and line and line[0] != " ":
            heading = line
    # No subject line: the body starts after the title, or at once when there is none.
    return heading, (), lines.index(heading) + 1 if heading else 0


def _end(lines: list[str]) -> int:
    for i in range(len(lines) - 1, -1, -1):
        if lines[i].lstrip().startswith('Retrieved from "'):
            return i
    return len(lines)


def _groups(lines: list[str]) -> Iterator[list[_Line]]:
    """Joins wrapped lines, and yields the runs between blank lines; a heading is its own run."""
    dropped, captions = _find_captions(lines)
    group: list[_Line] = []
    current: _Line | None = None
    for i, printed in enumerate(lines):
        words = printed.lstrip(" ")
        if not words or words.startswith("____"):
            if group:
                yield group
            group, current = [], None
            continue
        if i in dropped:
            current = None
            continue
        indent = len(printed) - len(words)
        caption = captions.get(i)
        if current is not None and current.caption != caption:
            current = None
        if current is not None and _continues(current, printed, words, indent):
            current.parts.append(words)
            current.length = len(printed)
            continue
        if group and group[-1].kind == "heading" and indent > 0:
            yield group
            group = []
        in_first_column = indent == 0 and (not group or group[-1].kind == "heading")
        current = _new_line(printed, words, in_first_column, caption)
        group.append(current)
    if group:
        yield group


def _continues(line: _Line, printed: str, words: str, indent: int) -> bool:
    """Whether a printed line goes on with the one above it."""
    if line.kind == "item":
        return abs(indent - line.column) <= 1 and not _BULLET.match(printed)
    if indent != line.indent or _has_gap(words):
        return False
    if line.length + 1 + len(words.partition(" ")[0]) >= (_QUOTE_WIDTH if indent == 5 else _WIDTH):
        return True
    # Spaces that may not break ("17 km/h") make the next word longer than it looks.
    unfinished = not line.parts[-1].endswith(_SENTENCE_END)
    return unfinished and line.length >= (50 if words[0].islower() else 62)


def _new_line(printed: str, words: str, heading: bool, caption: int | None) -> _Line:
    indent = len(printed) - len(words)
    if heading:
        return _Line("heading", 0, 0, [words], len(printed))
    if indent >= 3 and (words[1:2] == " " or words[0].isdigit()):  # cheaper than the patterns
        bullet = _BULLET.match(printed) if indent % 5 == 0 else None
        match = bullet or _NUMBER.match(printed)
        if match and (bullet or match.end() in _TEXT_COLUMNS):
            item = printed[match.end() :].lstrip()
            return _Line("item", indent, match.end(), [item], len(printed), caption)
    return _Line("text", indent, indent, [words], len(printed), caption)


def _find_captions(lines: list[str]) -> tuple[set[int], dict[int, int]]:
    """Lines to drop ("Enlarge", alternative texts), and line -> image for captions."""
    dropped: set[int] = set()
    captions: dict[int, int] = {}
    for i, line in enumerate(lines):
        words = line.strip()
        if words == "Enlarge":
            dropped.add(i)
            before, after = _caption_lines(lines, i)
            dropped.update(range(i - before, i))
            captions.update(dict.fromkeys(range(i + 1, i + 1 + after), i))
        elif words and words[-1] in "gGfF])" and _IMAGE_NAME.match(words):
            dropped.add(i)
    return dropped, captions


def _caption_lines(lines: list[str], i: int) -> tuple[int, int]:
    """How many lines before and after line i are the two copies of one caption."""
    equal = 0
    for count in range(1, _MAX_CAPTION_LINES + 1):
        if count > i or i + count >= len(lines) or not lines[i + count]:
            break
        if lines[i - count : i] == lines[i + 1 : i + 1 + count]:
            equal = count
    if equal:
        return equal, equal
    # The copies differ in spelling ("color", "colour") or in their line breaks.
    best, found = 0.8, (0, 0)
    for after in range(1, 9):
        if i + after >= len(lines) or not lines[i + after]:
            break
        caption = _letters(lines[i + 1 : i + 1 + after])
        for before in (after - 1, after, after + 1):
            if not 1 <= before <= i or not lines[i - before]:
                continue
            other = _letters(lines[i - before : i])
            if abs(len(other) - len(caption)) > 0.3 * max(len(other), len(caption)):
                continue
            ratio = difflib.SequenceMatcher(None, other, caption, autojunk=False).ratio()
            if ratio >= best:
                best, found = ratio, (before, after)
    return found


def _letters(lines: list[str]) -> str:
    return "".join(character for line in lines for character in line.lower() if character.isalnum())


def _sections(groups: Iterator[list[_Line]]) -> Iterator[RawSection]:
    path: list[str] = []
    passages: list[RawPassage] = []
    captions: list[RawPassage] = []
    infobox = True  # nothing but rows so far
    for group in groups:
        if group[0].kind == "heading" and len(group) == 1:
            heading = clean_text(" ".join(group[0].parts))
            if passages or captions:
                yield RawSection(tuple(path), (*passages, *captions))
                path, passages, captions = [], [], []
            path.append(heading)
            infobox = False
            continue
        for passage in _passages(group, infobox):
            if infobox and _NOTICE.match(passage.text):
                continue
            if not path and passage.kind == "line" and not passage.text.endswith(":"):
                passage = RawPassage("table", passage.text)  # more of an infobox
            (captions if passage.kind == "caption" else passages).append(passage)
            infobox = infobox and passage.kind != "paragraph"
    if passages or captions:
        yield RawSection(tuple(path), (*passages, *captions))


def _passages(group: list[_Line], infobox: bool) -> Iterator[RawPassage]:
    """The passages with words in a run of lines without blank lines between them."""
    for kind, text in _kinds_and_texts(group, infobox):
        text = clean_text(text)
        if any(map(str.isalnum, text)):
            yield RawPassage(kind, text)


def _kinds_and_texts(group: list[_Line], infobox: bool) -> Iterator[tuple[Kind, str]]:
    rows: list[_Line] = []
    for line in group:
        line.text = " ".join(line.parts)
        doubled = _take_half(line, rows)
        if line.caption is None and line.kind != "item" and not doubled:
            rows.append(line)
            continue
        yield from _text_or_table(rows, infobox)
        rows = []
        is_caption = doubled or line.caption is not None
        yield ("caption" if is_caption else "item"), line.text
    yield from _text_or_table(rows, infobox)


def _take_half(line: _Line, rows: list[_Line]) -> bool:
    """Whether a text stands twice: an image without "Enlarge". Keeps one copy, in `line`."""
    if rows and rows[-1].text == line.text and len(line.text) >= 8:
        rows.pop()
        return True
    middle = len(line.text) // 2
    if len(line.text) >= 17 and line.text[:middle] == line.text[middle + 1 :]:
        line.text = line.text[:middle]
        return True
    return False


def _text_or_table(rows: list[_Line], infobox: bool) -> Iterator[tuple[Kind, str]]:
    """Decides for a whole run: mostly paragraphs, or a table."""
    if not rows:
        return
    prose = [_is_paragraph(row) for row in rows]
    if infobox and not (all(prose) and rows[0].text[0] != "^"):
        # Texts of images wrap like paragraphs, and "^1 ..." is a note to the infobox; but the
        # lead may follow without a blank line.
        for row, yes in zip(rows, prose, strict=True):
            lead = yes and len(row.parts) >= 3 and row.text.endswith(_SENTENCE_END)
            yield ("paragraph" if lead and row.text[0] != "^" else "table"), row.text
        return
    in_prose = sum(len(row.text) for row, yes in zip(rows, prose, strict=True) if yes)
    in_rows = sum(len(row.text) for row in rows) - in_prose
    table = in_rows >= in_prose and (
        len(rows) - sum(prose) >= 3
        or any(row.indent not in _PARAGRAPH_INDENTS or _has_gap(row.text) for row in rows)
    )
    # Preformatted text stands in the first column, like headings, but on several lines.
    table = table or rows[0].kind == "heading"
    for row, yes in zip(rows, prose, strict=True):
        if table or row.text.startswith("CAPTION: "):
            yield "table", row.text
        else:
            yield ("paragraph" if yes else "line"), row.text


def _is_paragraph(line: _Line) -> bool:
    if line.indent not in _PARAGRAPH_INDENTS or _has_gap(line.text):
        return False
    if len(line.parts) >= 2:
        return True
    return len(line.text) >= 30 and line.text.endswith(_SENTENCE_END) and line.text.count(" ") >= 4


def _has_gap(text: str) -> bool:
    return "   " in text


# Links to pages outside the selection were cut out of the HTML with a space left in front of what
# they said: "( metropolitan France", '" Hexagon"', "1801- 15".
_AFTER_OPENING = re.compile(r"([(\[{“‘«]) (?=\S)")
_BEFORE_CLOSING = re.compile(r"(?<=\S) ([,.;:!?)\]}”»])(?=\s|$)")
_AFTER_HYPHEN = re.compile(r"(?<=\w)([-–—/]) (?!(?:and|or|to|nor|und)\b)(?=\w)")
_QUOTE = re.compile(r'(^|[\s(\[—–-])" (?=\S)')
# Where one of these stands in a text the pattern is worth running; most texts have none.
_FIXES = (
    (_AFTER_OPENING, ("( ", "[ ", "{ ", "“ ", "‘ ", "« ")),
    (_BEFORE_CLOSING, (" ,", " .", " ;", " :", " !", " ?", " )", " ]", " }", " ”", " »")),
    (_AFTER_HYPHEN, ("- ", "– ", "— ", "/ ")),
)


def clean_text(text: str) -> str:
    """Squeezes white space, and takes away the spaces that cut-out links left at punctuation."""
    text = " ".join(text.split())
    for pattern, signs in _FIXES:
        if any(sign in text for sign in signs):
            text = pattern.sub(r"\1", text)
    if '" ' in text:
        # Only where a quotation opens: an even number of quotation marks stands in front.
        text = _QUOTE.sub(
            lambda match: (
                match.group(0) if text.count('"', 0, match.end(1)) % 2 else f'{match.group(1)}"'
            ),
            text,
        )
    return text
