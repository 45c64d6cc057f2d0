"""Example walks: what walks.json holds, checked, and what a reader wants to know of each."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wikinav_jax.reports.strings import visible, visible_json

Span = tuple[int, int]
OUTCOMES = ("success", "failure")


def _path(title: str, section: str) -> tuple[str, ...]:
    return (title, *(part.strip() for part in section.split(">") if part.strip()))


@dataclass(frozen=True)
class Place:
    """A block of the graph."""

    node: int
    title: str  # of its article
    section: str  # "History > Early years"; "" in the lead
    text: str

    @property
    def path(self) -> tuple[str, ...]:
        """(title, section, subsection, …)."""
        return _path(self.title, self.section)


@dataclass(frozen=True)
class Alternative:
    """A link that could be taken from a step."""

    node: int
    title: str
    section: str
    kind: str  # "hyperlink", "entity", "next" or "previous"
    probability: float
    cosine: float | None  # of the block's features with the target's
    anchor: Span | None  # character span in the step's text
    visited: bool

    @property
    def path(self) -> tuple[str, ...]:
        """(title, section, subsection, …)."""
        return _path(self.title, self.section)


@dataclass(frozen=True)
class Step:
    """A block the walk stood on, and what it weighed there."""

    place: Place
    chosen: int | None  # index into alternatives; None at a dead end or where the walk ended
    alternatives: tuple[Alternative, ...]
    num_alternatives: int  # all of them, also those not listed

    @property
    def taken(self) -> Alternative | None:
        """The alternative chosen here."""
        return None if self.chosen is None else self.alternatives[self.chosen]

    @property
    def ranked(self) -> list[tuple[Alternative, bool]]:
        """(alternative, whether it was chosen), the most probable first."""
        order = sorted(
            range(len(self.alternatives)), key=lambda i: (-self.alternatives[i].probability, i)
        )
        return [(self.alternatives[i], i == self.chosen) for i in order]


@dataclass(frozen=True)
class Walk:
    """One walk from start to target. Made by `parse_walk`."""

    task: str
    decoding: str
    outcome: str  # "success" or "failure"
    start: Place
    target: Place
    shortest: int | None  # steps of a shortest path; None when unknown
    steps: tuple[Step, ...]
    reason: str  # why it ended

    @property
    def is_success(self) -> bool:
        """Whether the target was reached."""
        return self.outcome == "success"

    @property
    def num_moves(self) -> int:
        """How many links were followed."""
        return sum(step.chosen is not None for step in self.steps)

    @cached_property
    def route(self) -> tuple[tuple[int, str], ...]:
        """(node, title) of every block stood on, the start first, the last arrival included."""
        route = [(step.place.node, step.place.title) for step in self.steps]
        if not route:
            return ((self.start.node, self.start.title),)
        last = self.steps[-1].taken
        if last is not None:
            route.append((last.node, last.title))
        return tuple(route)

    @cached_property
    def first_seen(self) -> tuple[int, ...]:
        """For each place of `route`, the index at which its node came up first."""
        first: dict[int, int] = {}
        return tuple(first.setdefault(node, index) for index, (node, _) in enumerate(self.route))

    @property
    def missed(self) -> tuple[tuple[int, float], ...]:
        """(step number from 1, probability) wherever the target was listed and not taken."""
        return tuple(
            (number, alternative.probability)
            for number, step in enumerate(self.steps, start=1)
            for index, alternative in enumerate(step.alternatives)
            if alternative.node == self.target.node and index != step.chosen
        )

    @property
    def failure_note(self) -> str:
        """Where a failed walk went wrong, in sentences: chances missed, and circles."""
        return " ".join(filter(None, (self._missed_note(), self._circle_note())))

    def _missed_note(self) -> str:
        if self.is_success or not self.missed:
            return ""
        step, probability = max(self.missed, key=lambda item: item[1])
        often = len({number for number, _ in self.missed})
        times = "" if often == 1 else f" {often} times, the likeliest"
        return (
            f"The target was within reach{times} at step {step} "
            f"(probability {100 * probability:.1f}%), and was passed by."
        )

    def _circle_note(self) -> str:
        if self.is_success:
            return ""
        distinct = len(set(self.first_seen))
        last_new = max(self.first_seen)
        circling = len(self.route) - 1 - last_new
        if circling < 3:
            return ""
        tail = {self.route[index][0] for index in range(last_new, len(self.route))}
        blocks = "one block" if len(tail) == 1 else f"{len(tail)} blocks"
        start = f"the last new one at step {last_new + 1}" if last_new else "none but the start"
        return (
            f"It saw {distinct} different block{'s' * (distinct != 1)}, {start}, and then went "
            f"round {blocks} for {circling} steps."
        )


class _Reader:
    """Reads fields of one JSON object and names them in errors."""

    def __init__(self, value: Any, name: str) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{name} is {_short(value)}: it must be an object")
        self.value = value
        self.name = name

    def get(self, field: str, kind: type, what: str, default: Any = ...) -> Any:
        """The field's value, of type `kind` (Real and Integral refuse bools)."""
        if field not in self.value:
            if default is ...:
                raise ValueError(f"{self.name} lacks {field!r} ({what})")
            return default
        found = self.value[field]
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            if found is None and default is None:
                return None
            self.fail(field, what)
        return found

    def real(self, field: str, low: float, high: float, *, optional: bool = False) -> float | None:
        """A finite number within [low, high] up to rounding, clipped into it."""
        what = f"a number from {low:g} to {high:g}"
        found = self.get(field, numbers.Real, what, None if optional else ...)
        if found is None:
            return None
        if not math.isfinite(found) or not low - 1e-3 <= found <= high + 1e-3:
            self.fail(field, what)
        return min(max(float(found), low), high)

    def integer(self, field: str, *, optional: bool = False) -> int | None:
        """A non-negative integer."""
        what = "an integer from 0"
        found = self.get(field, numbers.Integral, what, None if optional else ...)
        if found is not None and found < 0:
            self.fail(field, what)
        return None if found is None else int(found)

    def text(self, field: str, default: Any = ...) -> str:
        """A string."""
        return self.get(field, str, "a string", default)

    def fail(self, field: str, what: str) -> None:
        """Raises the error for a field that is not `what`."""
        raise ValueError(f"{self.name}.{field} is {_short(self.value[field])}: it must be {what}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _place(value: Any, name: str) -> Place:
    read = _Reader(value, name)
    node = read.integer("node")
    assert node is not None
    return Place(node, read.text("title"), read.text("section", ""), read.text("text", ""))


def _alternative(value: Any, name: str) -> Alternative:
    read = _Reader(value, name)
    node = read.integer("node")
    probability = read.real("probability", 0, 1)
    assert node is not None and probability is not None
    span = read.get("anchor", list, "[start, end] or null", None)
    if span is not None:
        if len(span) != 2 or not all(isinstance(end, numbers.Integral) for end in span):
            read.fail("anchor", "[start, end] or null")
        # [0, 0] is the graph's own way to say that an edge has no anchor.
        span = (int(span[0]), int(span[1])) if 0 <= span[0] < span[1] else None
    return Alternative(
        node=node,
        title=read.text("title"),
        section=read.text("section", ""),
        kind=read.text("kind"),
        probability=probability,
        cosine=read.real("cosine", -1, 1, optional=True),
        anchor=span,
        visited=read.get("visited", bool, "true or false", False),
    )


def _step(value: Any, name: str) -> Step:
    read = _Reader(value, name)
    listed = read.get("alternatives", list, "a list")
    alternatives = tuple(
        _alternative(item, f"{name}.alternatives[{index}]") for index, item in enumerate(listed)
    )
    chosen = read.integer("chosen", optional=True)
    if chosen is not None and chosen >= len(alternatives):
        read.fail("chosen", f"null or an index below {len(alternatives)}, the alternatives listed")
    total = read.integer("num_alternatives", optional=True)
    return Step(
        place=_place(value, name),
        chosen=chosen,
        alternatives=alternatives,
        num_alternatives=max(total or 0, len(alternatives)),
    )


def parse_walk(value: Any, name: str = "walk") -> Walk:
    """A Walk from its JSON object, with control characters in all strings made visible.

    Raises:
        ValueError: a field is missing or cannot be what it says; the message gives its path.
    """
    if isinstance(value, Walk):
        return value
    value = visible_json(dict(value)) if isinstance(value, Mapping) else value
    read = _Reader(value, name)
    outcome = read.text("outcome")
    if outcome not in OUTCOMES:
        read.fail("outcome", " or ".join(map(repr, OUTCOMES)))
    steps = read.get("steps", list, "a list")
    return Walk(
        task=read.text("task"),
        decoding=visible(read.text("decoding", "")),
        outcome=outcome,
        start=_place(value.get("start"), f"{name}.start"),
        target=_place(value.get("target"), f"{name}.target"),
        shortest=read.integer("shortest", optional=True),
        steps=tuple(_step(item, f"{name}.steps[{index}]") for index, item in enumerate(steps)),
        reason=read.text("reason", ""),
    )


def readable_walks(values: list[Any]) -> tuple[list[Walk], list[str]]:
    """The walks among `values` that are right, and one complaint for each that is not."""
    walks, complaints = [], []
    for index, value in enumerate(values):
        try:
            walks.append(parse_walk(value, f"walks[{index}]"))
        except ValueError as error:
            complaints.append(str(error))
    return walks, complaints
