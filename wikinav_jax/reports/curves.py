"""Learning curves: metrics.jsonl read, thinned, smoothed and laid out as charts."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from wikinav_jax.reports import names
from wikinav_jax.reports.axes import Axis, linear_axis, log_axis
from wikinav_jax.reports.figures import number
from wikinav_jax.reports.strings import visible

CANVAS = 1000  # paths are drawn in a square of this side and stretched over the plot
MAX_BINS = 360  # of the drawn curve; more could not be told apart on a page
DOTTED = 40  # series of at most so many points are shown with a dot for each
REACH = 0.01  # of the moving average to either side, as a share of the run
MAX_LINES = 6  # in one chart
_FIRST = ("loss", "accuracy", "success", "spl")
SplitName = tuple[str, str]  # (split, metric name)
Points = tuple[np.ndarray, np.ndarray]  # steps int64[K] rising, values float64[K]


@dataclass
class MetricLog:
    """What metrics.jsonl holds."""

    series: dict[SplitName, Points]
    complaints: list[str] = field(default_factory=list)


def read_metrics(path: str | os.PathLike[str]) -> MetricLog:
    """Reads metrics.jsonl; lines that are cut short, ill-formed or not finite are counted.

    Where a step was logged twice (a run that was resumed) the later line counts.
    """
    points: dict[SplitName, dict[int, float]] = {}
    broken: list[int] = []
    not_finite = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line_number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                step, value = row["step"], row["value"]
                key = (visible(row.get("split", "")), visible(row["name"]))
                if isinstance(step, bool) or not isinstance(step, int) or abs(step) >= 1 << 53:
                    raise TypeError(f"step {step!r}")
                value = float(value)
            except (ValueError, KeyError, TypeError, AttributeError):
                broken.append(line_number)
                continue
            if not math.isfinite(value):
                not_finite += 1
                continue
            points.setdefault(key, {})[step] = value
    series = {}
    for key, by_step in points.items():
        steps = np.fromiter(by_step, np.int64, len(by_step))
        values = np.fromiter(by_step.values(), np.float64, len(by_step))
        order = np.argsort(steps, kind="stable")
        series[key] = (steps[order], values[order])
    complaints = []
    if broken:
        shown = ", ".join(map(str, broken[:5])) + (", …" if len(broken) > 5 else "")
        lines = "line" if len(broken) == 1 else "lines"
        complaints.append(f"{len(broken):,} {lines} that cannot be read left out ({lines} {shown})")
    if not_finite:
        complaints.append(f"{not_finite:,} rows without a finite value left out")
    return MetricLog(series, complaints)


def thin(values: np.ndarray, bins: int = MAX_BINS) -> np.ndarray:
    """Indices int64[≤ 2 bins + 2], rising: the ends and each bin's lowest and highest value."""
    if len(values) <= 2 * bins:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), bins + 1).astype(np.int64)
    kept = [0, len(values) - 1]
    for low, high in itertools.pairwise(edges.tolist()):
        kept += [low + int(values[low:high].argmin()), low + int(values[low:high].argmax())]
    return np.unique(np.array(kept, np.int64))


def smooth(values: np.ndarray, reach: int) -> np.ndarray:
    """The centred moving average f64[K] over up to `reach` points on either side.

    Near the start the window shrinks on both sides, so that the steep part is not flattened; near
    the end it keeps its past side, so that the last average is no single value.
    """
    index = np.arange(len(values))
    low = np.maximum(index - reach, 0)
    high = np.minimum(index + np.minimum(index, reach), len(values) - 1) + 1
    total = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return (total[high] - total[low]) / (high - low)


@dataclass(frozen=True)
class Line:
    """One drawn series."""

    label: str
    style: int  # index into the palette
    path: str  # of the raw values, SVG path data in the canvas
    smooth_path: str  # of the moving average; "" when the raw line suffices
    dots: tuple[tuple[float, float, str], ...]  # (x %, y %, tooltip)


@dataclass(frozen=True)
class View:
    """A chart under one pair of scales."""

    name: str  # "linear" or "log"
    x_axis: Axis
    y_axis: Axis
    x_label: str
    y_label: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Summary:
    """The figures behind a line, for the table under the chart."""

    label: str
    style: int
    points: int
    first: str
    best: str  # "0.712 at step 18,000"; "" when neither way is better
    last: str
    last_step: int


@dataclass(frozen=True)
class Chart:
    """All series of one quantity."""

    title: str
    views: tuple[View, ...]  # the linear one first
    summaries: tuple[Summary, ...]
    smoothed: bool

    @property
    def description(self) -> str:
        """The chart in words, for those who do not see it."""
        lines = (
            f"{item.label}: from {item.first} to {item.last} at step {item.last_step:,}"
            for item in self.summaries
        )
        return f"{self.title} over training steps. " + "; ".join(lines) + "."


def _quantity(name: str) -> tuple[str, list[str]]:
    """'success/multistep/argmax' -> ('success', ['multistep', 'argmax']): a known part leads."""
    parts = [part for part in name.split("/") if part] or [name]
    unknown = names.metric_order("")[0]
    known = [index for index, part in enumerate(parts) if names.metric_order(part)[0] < unknown]
    lead = known[0] if known else len(parts) - 1
    return parts[lead], parts[:lead] + parts[lead + 1 :]


def _path(x: np.ndarray, y: np.ndarray) -> str:
    """SVG path data of a polyline through positions in [0, 1], y pointing up."""
    x = np.clip(x, -1, 2) * CANVAS
    y = (1 - np.clip(y, -1, 2)) * CANVAS
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


def _y_range(curves: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float]:
    """What the y axis must show: all averages, and the raw values but for rare spikes."""
    lows, highs = [], []
    for values, average in curves:
        spread = (0.5, 99.5) if len(values) > 200 else (0, 100)
        low, high = np.percentile(values, spread)
        # The average starts at the first value itself, which may be such a spike.
        core = average[len(average) // 200 :] if len(average) > 200 else average
        lows.append(min(low, core.min()))
        highs.append(max(high, core.max()))
    return float(min(lows)), float(max(highs))


def _tooltip(step: int, value: float) -> str:
    return f"step {step:,}: {number(float(value), 4)}"


def make_chart(title: str, series: dict[str, Points], metric: names.MetricName) -> Chart:
    """Lays out the series (label -> steps, values) of one quantity as a chart."""
    averages = {
        label: smooth(values, math.ceil(REACH * len(values))) if len(values) > DOTTED else values
        for label, (_, values) in series.items()
    }
    scale = 100.0 if metric.fraction else 1.0
    unit = " (%)" if metric.fraction else ""
    low, high = _y_range((series[label][1] * scale, averages[label] * scale) for label in series)
    last = max(int(steps[-1]) for steps, _ in series.values())
    first = min(int(steps[0]) for steps, _ in series.values())
    axes = {
        "linear": (
            linear_axis(min(0, first), max(last, 1), tight=True),
            linear_axis(low, high),
            "step",
        )
    }
    starts = [int(steps[steps > 0][0]) for steps, _ in series.values() if steps[-1] > 0]
    positive = min(starts, default=0)
    if positive and last > positive:
        log_y = metric.higher_is_better is False and low > 0
        y_axis = log_axis(low, high) if log_y else axes["linear"][1]
        axes["log"] = (log_axis(positive, last), y_axis, "step (log)")
    views = []
    for name, (x_axis, y_axis, x_label) in axes.items():
        lines = []
        for style, (label, (steps, values)) in enumerate(series.items()):
            shown = steps > 0 if x_axis.log else np.ones(len(steps), bool)
            x, raw = x_axis.place(steps[shown]), y_axis.place(values[shown] * scale)
            if not len(x):
                continue
            kept = thin(raw)
            dots: tuple[tuple[float, float, str], ...] = ()
            smooth_path = ""
            if len(values) <= DOTTED:
                dots = tuple(
                    (round(100 * a, 2), round(100 * (1 - b), 2), _tooltip(step, value))
                    for a, b, step, value in zip(
                        x, raw, steps[shown].tolist(), values[shown], strict=True
                    )
                )
            else:
                average = y_axis.place(averages[label][shown] * scale)
                few = np.unique(np.linspace(0, len(x) - 1, min(len(x), MAX_BINS)).astype(int))
                smooth_path = _path(x[few], average[few])
            lines.append(Line(label, style, _path(x[kept], raw[kept]), smooth_path, dots))
        y_label = title + unit + (" (log)" if y_axis.log else "")
        views.append(View(name, x_axis, y_axis, x_label, y_label, tuple(lines)))
    return Chart(
        title,
        tuple(views),
        tuple(
            _summary(label, style, *series[label], averages[label], metric)
            for style, label in enumerate(series)
        ),
        smoothed=any(len(values) > DOTTED for _, values in series.values()),
    )


def _summary(
    label: str,
    style: int,
    steps: np.ndarray,
    values: np.ndarray,
    average: np.ndarray,
    metric: names.MetricName,
) -> Summary:
    """First, best and last value; of the moving average where there is one."""

    def show(value: float) -> str:
        return f"{100 * value:.1f}%" if metric.fraction else number(float(value), 4)

    best = ""
    if metric.higher_is_better is not None:
        index = int(average.argmax() if metric.higher_is_better else average.argmin())
        best = f"{show(average[index])} at step {int(steps[index]):,}"
    return Summary(
        label, style, len(values), show(values[0]), best, show(average[-1]), int(steps[-1])
    )


def make_charts(log: MetricLog) -> list[Chart]:
    """One chart per quantity: loss, accuracy and success first; splits and variants as lines."""
    grouped: dict[str, dict[tuple[str, ...], Points]] = {}
    for (split, name), points in log.series.items():
        quantity, rest = _quantity(name)
        grouped.setdefault(quantity, {})[(split, *rest)] = points

    def order(quantity: str) -> tuple[int, object]:
        lead = _FIRST.index(quantity) if quantity in _FIRST else len(_FIRST)
        return lead, names.metric_order(quantity)

    charts = []
    for quantity in sorted(grouped, key=order):
        metric = names.metric_name(quantity)
        lines = grouped[quantity]
        if metric.fraction and any(values.max() > 1 for _, values in lines.values()):
            metric = names.MetricName(metric.label, higher_is_better=metric.higher_is_better)
        for part, members in _parts(lines).items():
            title = f"{metric.label}, {part}" if part else metric.label
            series = {
                ", ".join(word for word in label if word) or quantity: points
                for label, points in members.items()
            }
            charts.append(make_chart(title, series, metric))
    return charts


def _parts(
    lines: dict[tuple[str, ...], Points],
) -> dict[str, dict[tuple[str, ...], Points]]:
    """Lines of one quantity, cut into charts that can be read: first by variant, then by number."""
    if len(lines) <= MAX_LINES:
        return {"": lines}
    variants: dict[str, dict[tuple[str, ...], Points]] = {}
    for (split, *rest), points in lines.items():
        variants.setdefault(rest[0] if rest else "", {})[(split, *rest[1:])] = points
    parts = {}
    for variant, members in variants.items():
        keys = list(members)
        for start in range(0, len(keys), MAX_LINES):
            more = f" ({start // MAX_LINES + 1})" if len(keys) > MAX_LINES else ""
            parts[f"{variant}{more}".strip()] = {
                key: members[key] for key in keys[start : start + MAX_LINES]
            }
    return parts
