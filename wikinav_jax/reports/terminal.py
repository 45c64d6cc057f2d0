"""A walk as plain text for a terminal: steps, the text around links, alternatives with bars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from wikinav_jax.reports import names
from wikinav_jax.reports.strings import (
    ELLIPSIS,
    Excerpt,
    clip,
    display_width,
    excerpt,
    one_line,
    pad,
)
from wikinav_jax.reports.walk_view import Choice, ending, listed, plural, step_excerpt
from wikinav_jax.reports.walks import Place, Step, Walk, parse_walk

MIN_WIDTH = 40
_NARROW = 64  # below, bars are short and kinds are symbols only
_BAR, _SHORT_BAR = 12, 5  # columns
_STYLES = {"bold": "1", "dim": "2", "mark": "1;4", "good": "32", "bad": "33", "accent": "36"}


def _heading(path: tuple[str, ...]) -> str:
    return one_line(" › ".join(path))


class _Painter:
    """Adds ANSI styles, or nothing."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def __call__(self, text: str, style: str) -> str:
        if not self.color or not text:
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def _bar(share: float, width: int) -> str:
    """A bar of eighths of a column, `share` of `width` long; anything above 0 leaves a trace."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(min(eighths, width * 8), 8)
    return pad("█" * full + ("▏▎▍▌▋▊▉"[rest - 1] if rest else ""), width)


Word = list[tuple[str, bool]]  # parts of a word without a space, and whether each is in the link


def _words(window: Excerpt, brackets: bool) -> list[Word]:
    """The words of the window; with `brackets` the link taken stands in [ ]."""
    words: list[Word] = []
    glued = False
    for piece in window.pieces:
        chosen = piece.role == "chosen"
        text = f"[{piece.text}]" if chosen and brackets else piece.text
        for index, part in enumerate(re.split(r"\s+", text)):
            glued = glued and index == 0
            if not part:
                continue
            if glued:
                words[-1].append((part, chosen))
            else:
                words.append([(part, chosen)])
            glued = True
        glued = glued and not text[-1].isspace()
    if window.cut_before:
        words.insert(0, [(ELLIPSIS, False)])
    if window.cut_after:
        words.append([(ELLIPSIS, False)])
    return words


def _broken(text: str, width: int) -> Iterator[str]:
    """The text in pieces of at most `width` columns."""
    part, used = "", 0
    for char in text:
        size = display_width(char)
        if part and used + size > width:
            yield part
            part, used = "", 0
        part, used = part + char, used + size
    yield part


def _paragraph(window: Excerpt, width: int, paint: _Painter) -> list[str]:
    """The window in lines of at most `width` columns."""
    words = _words(window, brackets=not paint.color)
    if not words:
        return [paint("(no text)", "dim")]
    lines: list[str] = []
    line, used = "", 0
    for word in words:
        size = sum(display_width(part) for part, _ in word)
        if used and used + 1 + size > width:
            lines.append(line)
            line, used = "", 0
        elif used:
            line, used = line + " ", used + 1
        for text, chosen in word:
            for part in _broken(text, width) if size > width else [text]:
                if used and used + display_width(part) > width:
                    lines.append(line)
                    line, used = "", 0
                line += paint(part, "mark") if chosen else part
                used += display_width(part)
    return [*lines, line]


def _choices(choices: list[Choice], width: int, paint: _Painter) -> Iterator[str]:
    """Lines like '▸  62.1% ███████▍     0.41 ↗ link     Title › Section (visited)'.

    What comes from the corpus stands last, so that no script or width can push the columns about.
    """
    narrow = width < _NARROW
    has_cosine = any(choice.cosine for choice in choices)
    kind_width = max((display_width(choice.kind) for choice in choices), default=0)
    for choice in choices:
        mark = "▸" if choice.chosen else " "
        bar = _bar(choice.bar / 100, _SHORT_BAR if narrow else _BAR)
        columns = f"{mark} {pad(choice.percent, 6, 'right')} {bar}"
        if has_cosine:
            columns += f" {pad(choice.cosine or '–', 5, 'right')}"
        columns += f" {choice.symbol} " + ("" if narrow else f"{pad(choice.kind, kind_width)} ")
        tags = (" ◎" if narrow else " (target)") * choice.is_target
        tags += (" ↺" if narrow else " (visited)") * choice.visited
        room = max(width - display_width(columns) - len(tags), 8)
        line = columns + clip(_heading(choice.path), room) + tags
        yield paint(line, "accent") if choice.chosen else line


def _step(
    number: int, step: Step, seen_at: int | None, target: int, width: int, paint: _Painter
) -> Iterator[str]:
    label = f"{number:>3}  "
    back = ""
    if seen_at:
        back = f" (↺ {seen_at})" if width < _NARROW else f" (back here, first at step {seen_at})"
    heading = clip(_heading(step.place.path), max(width - 5 - len(back), 8))
    yield paint(label, "dim") + paint(heading, "bold") + paint(back, "dim")
    for line in _paragraph(step_excerpt(step, radius=110), width - 5, paint):
        yield " " * 5 + line
    shown, _ = listed(step, target)
    if not shown:
        yield " " * 5 + paint("No links lead on from here.", "dim")
    for line in _choices(shown, width - 3, paint):
        yield " " * 3 + line
    more = step.num_alternatives - len(shown)
    if more > 0:
        yield " " * 5 + paint(f"and {more:,} less probable", "dim")
    yield ""


def _end(label: str, place: Place, width: int, paint: _Painter) -> str:
    heading = clip(_heading(place.path), max(width - 8, 8))
    return f"{paint(pad(label, 8), 'dim')}{paint(heading, 'bold')}"


def format_walk(walk: Walk | Mapping[str, Any], width: int = 88, color: bool = False) -> str:
    """The walk for a terminal, with the alternatives it weighed; ends with a newline.

    Args:
        walk: a walk as in walks.json, or parsed.
        width: columns; at least 40 are used.
        color: use ANSI codes. Without, the link taken stands in [brackets].

    Raises:
        ValueError: the walk lacks a field or has a wrong one; the message gives its path.
    """
    walk = parse_walk(walk)
    width = max(width, MIN_WIDTH)
    paint = _Painter(color)
    task = ", ".join(
        part
        for part in (
            names.task_label(walk.task),
            names.decoding_label(walk.decoding).lower(),
            plural(walk.num_moves, "step"),
        )
        if part
    )
    lines = [_end("Start", walk.start, width, paint), _end("Target", walk.target, width, paint)]
    lines += [paint(clip(one_line(task), width), "dim"), ""]
    for index, step in enumerate(walk.steps):
        first = walk.first_seen[index]
        seen_at = first + 1 if first < index else None
        lines += _step(index + 1, step, seen_at, walk.target.node, width, paint)
    last = walk.steps[-1].taken if walk.steps else None
    if last is not None:
        mark = paint("✓", "good") if walk.is_success else paint("✕", "bad")
        arrival = clip(_heading(last.path), width - 5)
        lines.append(f"  {mark}  {paint(arrival, 'bold')}")
    sentence = one_line(ending(walk))
    for line in _paragraph(excerpt(sentence, radius=len(sentence)), width - 5, _Painter(False)):
        lines.append(" " * 5 + paint(line, "good" if walk.is_success else "bad"))
    return "\n".join(line.rstrip() for line in lines) + "\n"
