"""Corpus text made safe to show: control characters, terminal widths and excerpts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

ELLIPSIS = "…"
# Overrides reverse the text that follows and so can disguise it: they become a visible mark.
_OVERRIDES = "\u202d\u202e"
# Embeddings and isolates are invisible and leak when unbalanced: a zero-width space instead.
_EMBEDDINGS = "\u202a\u202b\u202c\u2066\u2067\u2068\u2069"


def _replacements() -> dict[int, str]:
    """One character for one character, so that spans into the text stay right."""
    table = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    table[0x0D] = "\n"
    table[0x7F] = "\u2421"
    table |= dict.fromkeys(range(0x80, 0xA0), "\ufffd")
    table |= {ord(char): "\ufffd" for char in _OVERRIDES}
    table |= {ord(char): "\u200b" for char in _EMBEDDINGS}
    table |= {0x2028: "\n", 0x2029: "\n"}
    return table


_TABLE = _replacements()


def visible(text: str) -> str:
    """`text` of the same length with control characters, overrides and surrogates replaced.

    ESC and the other C0 controls become their Unicode control pictures (so no terminal acts on
    them), direction overrides and lone surrogates become U+FFFD. Newlines and tabs stay.
    """
    text = text.translate(_TABLE)
    if any("\ud800" <= char <= "\udfff" for char in text):
        text = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def visible_json(value: Any) -> Any:
    """`visible` on every string inside a JSON value, keys included; tuples become lists."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(str(key)): visible_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [visible_json(item) for item in value]
    return value


def one_line(text: str) -> str:
    """`visible(text)` with every run of white space as one space."""
    return " ".join(visible(text).split())


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def display_width(text: str) -> int:
    """How many terminal columns `text` takes: 2 for wide, 0 for combining characters."""
    return sum(map(_char_width, text))


def clip(text: str, width: int) -> str:
    """`text` cut to at most `width` columns, with an ellipsis when something was cut."""
    if display_width(text) <= width:
        return text
    if width < 1:
        return ""
    kept, used = [], 0
    for char in text:
        used += _char_width(char)
        if used > width - 1:
            break
        kept.append(char)
    return "".join(kept).rstrip() + ELLIPSIS


def pad(text: str, width: int, align: str = "left") -> str:
    """`text` filled with spaces to `width` columns; longer text is returned as it is."""
    fill = " " * max(0, width - display_width(text))
    return fill + text if align == "right" else text + fill


@dataclass(frozen=True)
class Piece:
    """A run of text with one role."""

    text: str
    role: str  # "plain", "chosen" (the anchor of the link taken) or "other" (of one weighed)


@dataclass(frozen=True)
class Excerpt:
    """A window of a text, and whether something was cut at either end."""

    pieces: tuple[Piece, ...]
    cut_before: bool
    cut_after: bool

    @property
    def is_whole(self) -> bool:
        """Whether the window is the whole text."""
        return not (self.cut_before or self.cut_after)


Span = tuple[int, int]


def _roles(length: int, chosen: Span | None, others: Iterable[Span]) -> Iterator[tuple[Span, str]]:
    """Disjoint (span, role) that tile [0, length); where spans overlap, the chosen one wins."""
    taken: list[tuple[Span, str]] = []
    if chosen is not None:
        taken.append((chosen, "chosen"))
    for start, end in sorted(set(others)):
        if all(end <= a or start >= b for (a, b), _ in taken):
            taken.append(((start, end), "other"))
    position = 0
    for (start, end), role in sorted(taken):
        if start > position:
            yield (position, start), "plain"
        yield (start, end), role
        position = end
    if position < length:
        yield (position, length), "plain"


def _word_start(text: str, position: int) -> int:
    """The start of the first word at or after `position`, looking 24 characters ahead."""
    if position == 0 or text[position - 1].isspace():
        return position
    for index in range(position, min(position + 24, len(text))):
        if text[index].isspace():
            return index + 1
    return position


def _word_end(text: str, position: int) -> int:
    """The end of the last word at or before `position`, looking 24 characters back."""
    if position >= len(text) or text[position].isspace():
        return min(position, len(text))
    for index in range(position, max(position - 24, 0), -1):
        if text[index - 1].isspace():
            return index - 1
    return position


def excerpt(
    text: str,
    chosen: Span | None = None,
    others: Iterable[Span] = (),
    *,
    radius: int = 180,
    at: str = "start",
) -> Excerpt:
    """The part of `text` around `chosen`, cut at words, with the anchors marked.

    Args:
        text: the whole text; already passed through `visible`.
        chosen: character span of the anchor to show; a span outside the text is ignored.
        others: spans of further anchors, marked where the window shows them.
        radius: characters kept on each side of the anchor.
        at: without an anchor, whether the window lies at the "start" or the "end" of the text.
    """

    def valid(span: Span) -> bool:
        return 0 <= span[0] < span[1] <= len(text)

    if chosen is not None and not valid(chosen):
        chosen = None
    others = [span for span in others if valid(span)]
    if chosen is not None:
        low, high = chosen[0] - radius, chosen[1] + radius
    elif at == "end":
        low, high = len(text) - 2 * radius, len(text)
    else:
        low, high = 0, 2 * radius
    # A cut that saves only a few characters costs the reader more than it spares.
    low = 0 if low < radius // 4 else _word_start(text, low)
    high = len(text) if len(text) - high < radius // 4 else _word_end(text, high)
    if chosen is not None:
        low, high = min(low, chosen[0]), max(high, chosen[1])
    pieces = []
    for (start, end), role in _roles(len(text), chosen, others):
        start, end = max(start, low), min(end, high)
        if start < end:
            pieces.append(Piece(text[start:end], role))
    return Excerpt(tuple(pieces), cut_before=low > 0, cut_after=high < len(text))
