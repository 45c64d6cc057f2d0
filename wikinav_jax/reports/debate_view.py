"""A debate as a reader sees it: bars, percentages and the verdict in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wikinav_jax.reports.debates import Argument, Debate, Hop, parse_debate
from wikinav_jax.reports.strings import clip, display_width, one_line, pad


@dataclass(frozen=True)
class ArgumentView:
    """An argument laid out."""

    score: str  # "+1.32"
    bar: float  # its strength, in per cent of the strongest of the debate
    speaks: str  # "pro" or "con": what it speaks for, by its sign, whoever put it forward
    count: int
    hops: tuple[Hop, ...]


@dataclass(frozen=True)
class DebateView:
    """A debate laid out."""

    debate: Debate
    percent: str
    sentence: str
    pro: tuple[ArgumentView, ...]
    con: tuple[ArgumentView, ...]


def signed(score: float) -> str:
    """'+1.32' or '−0.40', with a proper minus."""
    return f"{score:+.2f}".replace("-", "−")


def percent(share: float) -> str:
    """'71%'; '<1%' and '>99%' at the ends."""
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 < share < 1:
        return ">99%"
    return f"{100 * share:.0f}%"


def verdict_sentence(debate: Debate) -> str:
    """The verdict, what it rests on, and what one side alone would have brought about."""
    words = "true" if debate.verdict else "false"
    sentence = (
        f"The judge holds the claim to be {words}: probability {percent(debate.probability)}, "
        f"threshold {percent(debate.threshold)}, over {debate.rollouts} "
        f"debate{'s' * (debate.rollouts != 1)}."
    )
    if debate.without_con is not None and debate.without_pro is not None:
        sentence += (
            f" With con silenced it would say {percent(debate.without_con)}, with pro silenced "
            f"{percent(debate.without_pro)}."
        )
    return sentence


def view_debate(debate: Debate) -> DebateView:
    """Lays a debate out."""
    greatest = max((abs(item.score) for item in (*debate.pro, *debate.con)), default=0.0)

    def views(arguments: tuple[Argument, ...]) -> tuple[ArgumentView, ...]:
        return tuple(
            ArgumentView(
                signed(item.score),
                round(100 * abs(item.score) / greatest, 1) if greatest else 0.0,
                "pro" if item.score > 0 else "con",
                item.count,
                item.hops,
            )
            for item in arguments
        )

    return DebateView(
        debate,
        percent(debate.probability),
        verdict_sentence(debate),
        views(debate.pro),
        views(debate.con),
    )


def path_text(debate: Debate, argument: Argument, subject: str | None = None) -> str:
    """'Ada —profession→ mathematician', one line."""
    if not argument.hops:
        return "(says nothing: it stays at the subject)"
    name = debate.subject.name if subject is None else subject
    parts = [name]
    for hop in argument.hops:
        parts.append(f"—{hop.relation}→ {name if hop.is_subject else hop.entity.name}")
    return one_line(" ".join(parts))


def format_debate(debate: Debate | Mapping[str, Any], width: int = 100, color: bool = False) -> str:
    """A debate for a terminal; ends with a newline.

    Args:
        debate: as in debates.json, or parsed.
        width: columns; at least 40 are used.
        color: use ANSI codes.

    Raises:
        ValueError: the debate lacks a field or has a wrong one; the message gives its path.
    """
    debate = parse_debate(debate)
    width = max(width, 40)

    def paint(text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    def lines() -> Iterator[str]:
        claim = f"{debate.subject.name} | {debate.relation.name} | {debate.object.name}"
        yield paint(clip(one_line(claim), width), "1")
        yield from _wrapped(verdict_sentence(debate), width)
        if debate.label is not None:
            right = "right" if debate.is_right else "wrong"
            yield f"The claim is {'true' if debate.label else 'false'}; the judge is {right}."
        for title, arguments in (("For", debate.pro), ("Against", debate.con)):
            yield ""
            yield paint(title, "1")
            for item in arguments:
                score = paint(pad(signed(item.score), 7, "right"), "32" if item.score > 0 else "33")
                first, *rest = _wrapped(path_text(debate, item), width - 9)
                yield f"{score}  {first}"
                yield from (" " * 9 + line for line in rest)

    return "\n".join(lines()) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and display_width(lines[-1]) + 1 + display_width(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
