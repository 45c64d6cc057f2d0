"""A walk laid out for reading: which steps are shown whole, what text, which alternatives."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from wikinav_jax.reports import names
from wikinav_jax.reports.strings import Excerpt, excerpt
from wikinav_jax.reports.walks import Alternative, Place, Step, Walk

SHOWN_ALTERNATIVES = 5  # the rest unfold
HEAD_STEPS, TAIL_STEPS = 12, 4  # of a long walk; those between are listed in short
ROUTE_HEAD, ROUTE_TAIL = 8, 4


@dataclass(frozen=True)
class Card:
    """Where a walk starts or should end."""

    label: str
    path: tuple[str, ...]
    window: Excerpt
    whole: Excerpt | None  # None when the window is the whole text


@dataclass(frozen=True)
class Choice:
    """An alternative as one line."""

    path: tuple[str, ...]
    symbol: str
    kind: str
    percent: str
    bar: float  # length in per cent
    cosine: str  # "" when unknown
    visited: bool
    chosen: bool
    is_target: bool


@dataclass(frozen=True)
class StepView:
    """A step shown whole."""

    number: int
    path: tuple[str, ...]
    seen_at: int | None  # step number at which the walk stood here first, when it comes back
    window: Excerpt
    whole: Excerpt | None
    shown: tuple[Choice, ...]
    folded: tuple[Choice, ...]
    unlisted: int  # alternatives that were weighed but not written down
    total: int
    has_cosine: bool
    taken: Choice | None


@dataclass(frozen=True)
class Stop:
    """One or more consecutive blocks of one article on the route; a gap when title is empty."""

    title: str
    count: int
    back: bool  # every block of it had been seen before


@dataclass(frozen=True)
class WalkView:
    """A walk as the page shows it."""

    number: int
    walk: Walk
    task: str
    decoding: str
    moves: str  # "7 steps, shortest 4"
    ends: tuple[tuple[str, ...], tuple[str, ...]]  # names of start and target, told apart
    cards: tuple[Card, Card]
    route: tuple[Stop, ...]
    head: tuple[StepView, ...]
    middle: tuple[StepView, ...]
    tail: tuple[StepView, ...]
    arrival: tuple[str, ...]  # path of the block reached by the last step; () without steps
    ending: str  # how it ended, a sentence


def percent(probability: float) -> str:
    """'62.1%', '<0.1%'."""
    if 0 < probability < 0.0005:
        return "<0.1%"
    return f"{100 * probability:.1f}%"


def signed(cosine: float) -> str:
    """'0.41', '−0.07'; what rounds to zero has no sign."""
    return f"{cosine:z.2f}".replace("-", "−")


def choice(alternative: Alternative, chosen: bool, is_target: bool) -> Choice:
    """An alternative as one line."""
    symbol, kind = names.kind_label(alternative.kind)
    cosine = alternative.cosine
    return Choice(
        path=alternative.path,
        symbol=symbol,
        kind=kind,
        percent=percent(alternative.probability),
        bar=round(100 * alternative.probability, 2),
        cosine="" if cosine is None else signed(cosine),
        visited=alternative.visited,
        chosen=chosen,
        is_target=is_target,
    )


def listed(step: Step, target: int) -> tuple[list[Choice], list[Choice]]:
    """(the most probable alternatives, the chosen one and the target; the others)."""
    ranked = [choice(item, chosen, item.node == target) for item, chosen in step.ranked]
    musts = {index for index, item in enumerate(ranked) if item.chosen or item.is_target}
    room = SHOWN_ALTERNATIVES - sum(index >= SHOWN_ALTERNATIVES for index in musts)
    front = musts | set(range(room))
    return (
        [item for index, item in enumerate(ranked) if index in front],
        [item for index, item in enumerate(ranked) if index not in front],
    )


def step_excerpt(step: Step, radius: int = 180) -> Excerpt:
    """The text around the chosen link; at the end of the text when it leads to the next block."""
    taken = step.taken
    return excerpt(
        step.place.text,
        None if taken is None else taken.anchor,
        [item.anchor for item in step.alternatives if item.anchor is not None],
        radius=radius,
        at="end" if taken is not None and taken.kind == "next" else "start",
    )


def _step_view(number: int, step: Step, first_seen: int, target: int) -> StepView:
    window = step_excerpt(step)
    shown, folded = listed(step, target)
    return StepView(
        number=number,
        path=step.place.path,
        seen_at=first_seen + 1 if first_seen < number - 1 else None,
        window=window,
        whole=None if window.is_whole else step_excerpt(step, radius=len(step.place.text)),
        shown=tuple(shown),
        folded=tuple(folded),
        unlisted=step.num_alternatives - len(step.alternatives),
        total=step.num_alternatives,
        has_cosine=any(item.cosine is not None for item in step.alternatives),
        taken=next((item for item in shown if item.chosen), None),
    )


def _card(label: str, place: Place) -> Card:
    window = excerpt(place.text, radius=130)
    whole = None if window.is_whole else excerpt(place.text, radius=len(place.text))
    return Card(label, place.path, window, whole)


def _ends(start: Place, target: Place) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Titles of both; with sections, or else numbers of blocks, where the titles are the same."""
    if start.title != target.title:
        return (start.title,), (target.title,)
    if start.path != target.path:
        return start.path, target.path
    return (*start.path, f"#{start.node}"), (*target.path, f"#{target.node}")


def _route(walk: Walk) -> tuple[Stop, ...]:
    stops = []
    visits = zip(walk.route, walk.first_seen, range(len(walk.route)), strict=True)
    for title, group in itertools.groupby(visits, key=lambda visit: visit[0][1]):
        members = list(group)
        back = all(first < index for _, first, index in members)
        stops.append(Stop(title, len(members), back))
    if len(stops) > ROUTE_HEAD + ROUTE_TAIL + 1:
        left_out = stops[ROUTE_HEAD:-ROUTE_TAIL]
        gap = Stop("", sum(stop.count for stop in left_out), False)
        stops = [*stops[:ROUTE_HEAD], gap, *stops[-ROUTE_TAIL:]]
    return tuple(stops)


def plural(count: int, noun: str) -> str:
    """'1 step', '2 steps'."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def ending(walk: Walk) -> str:
    """How the walk ended, in a sentence or two."""
    moves = walk.num_moves
    if walk.is_success:
        text = f"Target reached in {plural(moves, 'step')}"
        if walk.shortest is not None:
            text += (
                ", a shortest path"
                if moves == walk.shortest
                else f"; a shortest path takes {walk.shortest}"
            )
        return text + "."
    reason = walk.reason.strip().rstrip(".")
    text = f"Target not reached after {plural(moves, 'step')}" + (f": {reason}." if reason else ".")
    return f"{text} {walk.failure_note}".rstrip()


def view_walk(walk: Walk, number: int) -> WalkView:
    """Lays out a walk; `number` counts from 1."""
    # first_seen also covers the last arrival, which is no step.
    steps = [
        _step_view(index + 1, step, walk.first_seen[index], walk.target.node)
        for index, step in enumerate(walk.steps)
    ]
    head, middle, tail = steps, [], []
    if len(steps) > HEAD_STEPS + TAIL_STEPS + 2:
        head, middle, tail = (
            steps[:HEAD_STEPS],
            steps[HEAD_STEPS:-TAIL_STEPS],
            steps[-TAIL_STEPS:],
        )
    last = walk.steps[-1].taken if walk.steps else None
    moves = plural(walk.num_moves, "step")
    if walk.shortest is not None:
        moves += f" (shortest {walk.shortest})"
    return WalkView(
        number=number,
        walk=walk,
        task=names.task_label(walk.task),
        decoding=names.decoding_label(walk.decoding),
        moves=moves,
        ends=_ends(walk.start, walk.target),
        cards=(_card("Start", walk.start), _card("Target", walk.target)),
        route=_route(walk),
        head=tuple(head),
        middle=tuple(middle),
        tail=tuple(tail),
        arrival=() if last is None else last.path,
        ending=ending(walk),
    )
