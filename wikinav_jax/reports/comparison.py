"""Rows gathered into what is compared: methods against baselines, task by task, over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from wikinav_jax.reports import names
from wikinav_jax.reports.results import Row


class Group(NamedTuple):
    """What one table is about; figures of different groups are never compared."""

    system: str
    dataset: str
    split: str


class Line(NamedTuple):
    """One line of a table."""

    method: str
    decoding: str

    @property
    def method_label(self) -> str:
        """The method's name for people."""
        return names.method_label(self.method)

    @property
    def decoding_note(self) -> str:
        """'argmax'; empty when the method has no decoding."""
        note = names.decoding_label(self.decoding)
        return note[:1].lower() + note[1:]

    @property
    def label(self) -> str:
        """'RFBC, argmax', 'Greedy without revisits'."""
        return names.line_label(self.method, self.decoding)


@dataclass(frozen=True)
class Figure:
    """A value over one seed or several."""

    value: float  # the mean over seeds
    low: float | None  # the mean of the seeds' lower ends
    high: float | None
    n: int  # episodes per seed; the smallest when they differ
    seeds: tuple[int, ...]
    values: tuple[float, ...]  # one per seed

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation over seeds; None for a single seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True)
class Comparison:
    """All figures of one group, in the order in which they are shown."""

    group: Group
    tasks: tuple[str, ...]
    lines: tuple[Line, ...]  # by decoding; learned methods before baselines
    metrics: tuple[str, ...]
    figures: dict[tuple[str, Line, str], Figure]  # (task, line, metric)
    notes: dict[str, str]  # task -> what else is to be said of it: "4 excluded"

    @property
    def main_metric(self) -> str:
        """The metric the comparison is about: success where there is one."""
        return self.metrics[0]

    def get(self, task: str, line: Line, metric: str) -> Figure | None:
        """The figure, or None when it was not evaluated."""
        return self.figures.get((task, line, metric))

    def best(self, task: str, metric: str) -> frozenset[Line]:
        """The lines with the best value of the task (several when tied at the shown precision)."""
        name = names.metric_name(metric)
        if name.higher_is_better is None:
            return frozenset()
        found = {line: self.get(task, line, metric) for line in self.lines}
        values = {line: round(item.value, 3) for line, item in found.items() if item is not None}
        if len(values) < 2:
            return frozenset()
        best = max(values.values()) if name.higher_is_better else min(values.values())
        return frozenset(line for line, value in values.items() if value == best)


def _figure(rows: list[Row]) -> Figure:
    rows = sorted(rows, key=lambda row: row.seed)
    lows = [row.low for row in rows if row.low is not None]
    highs = [row.high for row in rows if row.high is not None]
    complete = len(lows) == len(rows)
    return Figure(
        value=statistics.fmean(row.value for row in rows),
        low=statistics.fmean(lows) if complete else None,
        high=statistics.fmean(highs) if complete else None,
        n=min(row.n for row in rows),
        seeds=tuple(row.seed for row in rows),
        values=tuple(row.value for row in rows),
    )


def _notes(rows: Iterable[Row]) -> dict[str, str]:
    """'4 excluded' for each task; over seeds 'up to 6 excluded'."""
    values: dict[str, dict[str, set[float]]] = {}
    for row in rows:
        values.setdefault(row.task, {}).setdefault(row.metric, set()).add(row.value)
    notes = {}
    for task, by_metric in values.items():
        parts = []
        for metric, found in by_metric.items():
            label = names.metric_name(metric).label.lower()
            parts.append(("up to " if len(found) > 1 else "") + f"{max(found):,.0f} {label}")
        notes[task] = ", ".join(parts)
    return notes


def _line_order(line: Line) -> tuple[object, ...]:
    return (
        names.decoding_order(line.decoding),
        names.is_baseline(line.method),
        names.natural(line.method),
    )


def _by_measures(rows: list[Row]) -> list[list[Row]]:
    """The rows in parts: tasks that share no metric, as accuracy and ranks, are told apart."""
    metrics: dict[str, set[str]] = {}
    for row in rows:
        if not names.metric_name(row.metric).is_note:
            metrics.setdefault(row.task, set()).add(row.metric)
    parts: list[tuple[set[str], set[str]]] = []  # tasks and their metrics
    for task, own in metrics.items():
        joined = [part for part in parts if part[1] & own]
        parts = [part for part in parts if not part[1] & own]
        parts.append(
            ({task}.union(*(part[0] for part in joined)), own.union(*(part[1] for part in joined)))
        )
    return [[row for row in rows if row.task in tasks] for tasks, _ in parts]


def compare(rows: Iterable[Row]) -> list[Comparison]:
    """One Comparison per (system, dataset, split), held-out splits first.

    Tasks that share no metric are apart. Of rows with the same key the last one counts.
    """
    last = {row.key: row for row in rows}
    groups: dict[Group, list[Row]] = {}
    for row in last.values():
        groups.setdefault(Group(row.system, row.dataset, row.split), []).append(row)
    comparisons = []
    parts = [(group, part) for group, whole in groups.items() for part in _by_measures(whole)]
    for group, members in parts:
        notes = _notes(row for row in members if names.metric_name(row.metric).is_note)
        members = [row for row in members if not names.metric_name(row.metric).is_note]
        if not members:
            continue
        cells: dict[tuple[str, Line, str], list[Row]] = {}
        for row in members:
            cell = (row.task, Line(row.method, row.decoding), row.metric)
            cells.setdefault(cell, []).append(row)
        comparisons.append(
            Comparison(
                group=group,
                tasks=tuple(sorted({row.task for row in members}, key=names.natural)),
                lines=tuple(sorted({cell[1] for cell in cells}, key=_line_order)),
                metrics=tuple(sorted({row.metric for row in members}, key=names.metric_order)),
                figures={cell: _figure(cell_rows) for cell, cell_rows in cells.items()},
                notes=notes,
            )
        )
    return sorted(
        comparisons,
        key=lambda item: (
            item.group.system,
            names.split_order(item.group.split),
            names.natural(item.group.dataset),
            names.metric_order(item.main_metric),
        ),
    )
