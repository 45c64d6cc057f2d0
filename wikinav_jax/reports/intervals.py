"""Dot-and-interval panels: one per task, methods side by side under the same decoding."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from wikinav_jax.reports import figures, names
from wikinav_jax.reports.axes import Axis, linear_axis
from wikinav_jax.reports.comparison import Comparison, Figure, Line


@dataclass(frozen=True)
class Dot:
    """One method's figure, laid out: positions in per cent of the axis."""

    label: str
    is_baseline: bool
    style: int  # which learned method, for its colour and shape
    x: float
    low: float | None
    high: float | None
    seeds: tuple[float, ...]  # one mark each, only over several seeds
    value: str  # "71.2"
    spread: str  # "68.3–73.9" or "± 0.8"
    is_best: bool


@dataclass(frozen=True)
class Panel:
    """All methods on one task."""

    task: str
    axis: Axis
    unit: str
    groups: tuple[tuple[str, tuple[Dot, ...]], ...]  # (decoding, its dots)
    episodes: str  # "1,000"
    counted: str  # "episodes"
    note: str  # "4 excluded"


def _axis(comparison: Comparison, metric: str) -> Axis:
    """One axis for all panels, so that tasks can be compared by eye."""
    name = names.metric_name(metric)
    if name.fraction:
        return linear_axis(0, 1, tight=True, label=lambda value: f"{100 * value:.0f}")
    ends = [
        end
        for (_, _, of), item in comparison.figures.items()
        if of == metric
        for end in (item.value, item.low, item.high)
        if end is not None
    ]
    return linear_axis(min(0.0, *ends), max(ends), parts=4)


def _dot(
    item: Figure,
    line: Line,
    axis: Axis,
    metric: names.MetricName,
    styles: dict[str, int],
    best: bool,
) -> Dot:
    def place(value: float) -> float:
        return round(100 * min(max(axis.at(value), 0.0), 1.0), 2)

    return Dot(
        label=names.method_label(line.method),
        is_baseline=names.is_baseline(line.method),
        style=styles.get(line.method, 0),
        x=place(item.value),
        low=None if item.low is None else place(item.low),
        high=None if item.high is None else place(item.high),
        seeds=tuple(map(place, item.values)) if len(item.values) > 1 else (),
        value=figures.metric_value(item.value, metric),
        spread=figures.spread(item, metric),
        is_best=best,
    )


def learned_methods(comparison: Comparison) -> dict[str, int]:
    """Learned method -> its style, by order of first appearance."""
    learned = (line.method for line in comparison.lines if not names.is_baseline(line.method))
    return {method: style for style, method in enumerate(dict.fromkeys(learned))}


def make_panels(comparison: Comparison, metric: str | None = None) -> list[Panel]:
    """One panel per task that has figures for `metric` (by default the main one)."""
    metric = metric or comparison.main_metric
    name = names.metric_name(metric)
    axis = _axis(comparison, metric)
    styles = learned_methods(comparison)
    panels = []
    for task in comparison.tasks:
        best = comparison.best(task, metric)
        groups = []
        found: list[Figure] = []
        for decoding, lines in itertools.groupby(comparison.lines, key=lambda line: line.decoding):
            dots = []
            for line in lines:
                item = comparison.get(task, line, metric)
                if item is not None:
                    found.append(item)
                    dots.append(_dot(item, line, axis, name, styles, line in best))
            if dots:
                groups.append((names.decoding_label(decoding), tuple(dots)))
        if groups:
            sizes = sorted({item.n for item in found})
            episodes = figures.number(sizes[0])
            if len(sizes) > 1:
                episodes += f"{figures.EN_DASH}{figures.number(sizes[-1])}"
            unit = "%" if name.fraction else ""
            note = comparison.notes.get(task, "")
            counted = names.unit((task,))
            label = names.task_label(task)
            panels.append(Panel(label, axis, unit, tuple(groups), episodes, counted, note))
    return panels
