"""The agent against people and a language model: who needed fewer clicks, and how far it was."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from wikinav_jax.reports import figures, names
from wikinav_jax.reports.axes import linear_axis
from wikinav_jax.reports.comparison import Comparison, Line
from wikinav_jax.reports.curves import Chart, Summary, View, polyline
from wikinav_jax.reports.curves import Line as Curve

FINISHED, GIVEN_UP = "finished_games", "given_up_games"
BY_DISTANCE = "_by_distance"
MIN_PAIRS = 10  # a point of a chart stands for at least so many
# (what metrics call the opponent, what people read)
OPPONENTS = (
    ("human", "people"),
    ("human_clicks", "people, with the clicks that they took back"),
    ("gpt_4o_mini", "GPT-4o-mini, where it arrived"),
)
_MAX_CURVES = 6
_DISTANCE = re.compile(r"(\d+)-click")


@dataclass(frozen=True)
class Shares:
    """On how many pairs a player needed fewer, as many and more clicks, in per cent."""

    player: str
    is_baseline: bool
    fewer: float
    same: float
    more: float

    @property
    def shown(self) -> tuple[str, str, str]:
        """The three in words."""
        fewer, same, more = (f"{share:.1f}" for share in (self.fewer, self.same, self.more))
        return fewer, same, more


@dataclass(frozen=True)
class Match:
    """All players against one opponent."""

    opponent: str
    pairs: str  # "27,320"
    shares: tuple[Shares, ...]


def is_by_distance(comparison: Comparison) -> bool:
    """Whether the figures are about one length of the shortest path each."""
    return comparison.group.split.endswith(BY_DISTANCE)


def make_matches(comparison: Comparison) -> list[Match]:
    """The matches of a comparison of finished games; none for others."""
    matches = []
    for key, opponent in OPPONENTS:
        shares, sizes = [], []
        for line in comparison.lines:
            found = [
                comparison.get(task, line, metric)
                for task in comparison.tasks
                for metric in (f"fewer_than_{key}", f"same_as_{key}", f"more_than_{key}")
            ]
            values = [item for item in found if item is not None]
            if len(values) == 3:
                fewer, same, more = (100 * item.value for item in values)
                baseline = names.is_baseline(line.method)
                shares.append(Shares(line.label, baseline, fewer, same, more))
                sizes.append(values[0].n)
        if shares:
            matches.append(Match(opponent, f"{max(sizes):,}", tuple(shares)))
    return matches


def distance_chart(comparison: Comparison, metric: str, title: str) -> Chart | None:
    """A metric over the length of the shortest path; None where fewer than two are known."""
    name = names.metric_name(metric)
    scale = 100.0 if name.fraction else 1.0
    series: dict[Line, list[tuple[int, float]]] = {}
    for line in comparison.lines:
        for task in comparison.tasks:
            item, found = comparison.get(task, line, metric), _DISTANCE.fullmatch(task)
            if item is not None and found is not None and item.n >= MIN_PAIRS:
                series.setdefault(line, []).append((int(found[1]), scale * item.value))
    series = dict(list(series.items())[:_MAX_CURVES])
    points = [point for line in series.values() for point in line]
    distances = sorted({distance for distance, _ in points})
    if len(distances) < 2:
        return None
    far = distances[-1]
    x_axis = linear_axis(1, far, parts=far - 1, tight=True, label=lambda value: f"{value:.0f}")
    values = [value for _, value in points]
    y_axis = linear_axis(0 if not name.fraction else min(values), max(values))
    if name.fraction:
        y_axis = linear_axis(min(y_axis.low, 90.0), 100.0)
    curves, summaries = [], []
    for style, (line, pairs) in enumerate(series.items()):
        x = x_axis.place(np.array([distance for distance, _ in pairs]))
        y = y_axis.place(np.array([value for _, value in pairs]))
        shown = [figures.metric_with_unit(value / scale, name) for _, value in pairs]
        dots = tuple(
            (round(100 * a, 2), round(100 * (1 - b), 2), f"{distance} away: {text}")
            for a, b, (distance, _), text in zip(x, y, pairs, shown, strict=True)
        )
        curves.append(Curve(line.label, style, polyline(x, y), "", dots))
        summaries.append(
            Summary(line.label, style, len(pairs), shown[0], "", shown[-1], pairs[-1][0])
        )
    view = View("linear", x_axis, y_axis, "links of the shortest path", tuple(curves))
    return _DistanceChart(title, (view,), tuple(summaries), smoothed=False)


class _DistanceChart(Chart):
    """A chart over distances instead of training steps."""

    @property
    def description(self) -> str:
        """The chart in words, for those who do not see it."""
        lines = (
            f"{item.label}: from {item.first} to {item.last} at {item.last_step}"
            for item in self.summaries
        )
        return f"{self.title} over links of the shortest path. " + "; ".join(lines) + "."


def make_distance_charts(comparisons: tuple[Comparison, ...]) -> list[Chart]:
    """Mean clicks of finished games, and success of both kinds, by distance."""
    wanted = (
        (FINISHED, "mean_steps", "Mean clicks, where the target was reached"),
        (FINISHED, "success", "Reached, of pairs that people finished (%)"),
        (GIVEN_UP, "success", "Reached, of pairs that people gave up (%)"),
    )
    charts = []
    for split, metric, title in wanted:
        for comparison in comparisons:
            if comparison.group.split == split + BY_DISTANCE:
                charts.append(distance_chart(comparison, metric, title))
    return [chart for chart in charts if chart is not None]
