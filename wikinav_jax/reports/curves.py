"""Learning curves: logged metrics thinned, smoothed and laid out as charts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from wikinav_jax.reports import names
from wikinav_jax.reports.axes import Axis, linear_axis, log_axis
from wikinav_jax.reports.figures import number
from wikinav_jax.reports.metric_log import MetricLog, Points

CANVAS = 1000  # paths are drawn in a square of this side and stretched over the plot
MAX_BINS = 360  # of the drawn curve; more could not be told apart on a page
DOTTED = 40  # series of at most so many points are shown with a dot for each
REACH = 0.01  # of the moving average to either side, as a share of the run
MAX_LINES = 6  # in one chart
_FIRST = ("loss", "accuracy", "success", "spl")


def thin(x: np.ndarray, y: np.ndarray, bins: int = MAX_BINS) -> np.ndarray:
    """Indices int64[≤ 2 bins + 2], rising: the ends, and the lowest and highest y of each bin.

    Bins are equally wide in x (rising, float[K]), which is where the points are drawn.
    """
    if len(x) <= 2 * bins:
        return np.arange(len(x))
    edges = np.searchsorted(x, np.linspace(x[0], x[-1], bins + 1)).tolist()
    kept = [0, len(x) - 1]
    for low, high in itertools.pairwise(edges):
        if low < high:
            kept += [low + int(y[low:high].argmin()), low + int(y[low:high].argmax())]
    return np.unique(np.array(kept, np.int64))


def spaced(x: np.ndarray, bins: int = MAX_BINS) -> np.ndarray:
    """Indices int64[≤ bins + 1], rising, of points about equally spaced in x, ends included."""
    wanted = np.linspace(x[0], x[-1], min(len(x), bins))
    return np.unique(np.append(np.searchsorted(x, wanted), len(x) - 1))


def averages(values: np.ndarray, at: np.ndarray, reach: int) -> np.ndarray:
    """The centred moving average f64[len(at)] of `values` at indices `at`, over ±`reach` points.

    Near the start the window shrinks on both sides, so that the steep part is not flattened; near
    the end it keeps its past side, so that the last average is no single value. Each window is
    summed by itself: a running sum would never forget one enormous value.
    """
    return np.array(
        [values[max(i - reach, 0) : i + min(i, reach) + 1].mean() for i in at.tolist()], np.float64
    )


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
    """'success/no_revisit' and 'success_no_revisit' -> ('success', ['no_revisit']).

    A known metric leads. Behind an underscore it must be a fraction: what 'loss_scale' counts is
    no loss, but any accuracy can share an axis.
    """
    parts = [part for part in name.split("/") if part] or [name]
    for index, part in enumerate(parts):
        known = names.metric_prefix(part)
        rest = part[len(known) :].strip("_")
        if known and (not rest or names.metric_name(known).fraction):
            return known, [*parts[:index], *([rest] if rest else []), *parts[index + 1 :]]
    return parts[-1], parts[:-1]


def _variant(words: list[str]) -> str:
    """'sampled, train half' for ['sample_train_half']."""
    shown = []
    for word in words:
        decoding, rest = names.known_decoding(word)
        shown += [names.decoding_label(decoding).lower(), rest.replace("_", " ")]
    return ", ".join(filter(None, shown))


def polyline(x: np.ndarray, y: np.ndarray) -> str:
    """SVG path data of a polyline through positions in [0, 1], y pointing up."""
    x = np.clip(x, -1, 2) * CANVAS
    y = (1 - np.clip(y, -1, 2)) * CANVAS
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


@dataclass(frozen=True)
class _Curve:
    """One series and how it is smoothed."""

    label: str
    style: int
    steps: np.ndarray  # int64[K], rising
    values: np.ndarray  # float64[K], in per cent for fractions

    @property
    def is_smoothed(self) -> bool:
        return len(self.values) > DOTTED

    def smooth(self, at: np.ndarray) -> np.ndarray:
        """The moving average at indices `at`, or the values where there are few."""
        reach = math.ceil(REACH * len(self.values)) if self.is_smoothed else 0
        return averages(self.values, at, reach)

    def extent(self) -> tuple[float, float]:
        """What the y axis must show: the average, and the raw values but for rare spikes."""
        low, high = np.percentile(self.values, (0.5, 99.5) if len(self.values) > 200 else (0, 100))
        at = spaced(self.steps)
        average = self.smooth(at)
        # The average starts at the first value itself, which may be such a spike.
        core = average[at >= len(self.values) // 200]
        if np.ptp(average) < 1.5 * np.ptp(core):
            core = average
        return float(min(low, core.min())), float(max(high, core.max()))

    def draw(self, x_axis: Axis, y_axis: Axis, show: Callable[[float], str]) -> Line | None:
        """The line under these axes; None when a log axis leaves nothing of it."""
        start = int(np.searchsorted(self.steps, 1)) if x_axis.log else 0
        x, y = x_axis.place(self.steps[start:]), y_axis.place(self.values[start:])
        if not len(x):
            return None
        kept = thin(x, y)
        path = polyline(x[kept], y[kept])
        if self.is_smoothed:
            at = spaced(x)
            smooth_path = polyline(x[at], y_axis.place(self.smooth(at + start)))
            return Line(self.label, self.style, path, smooth_path, ())
        dots = tuple(
            (round(100 * a, 2), round(100 * (1 - b), 2), f"step {step:,}: {show(value)}")
            for a, b, step, value in zip(
                x, y, self.steps[start:].tolist(), self.values[start:].tolist(), strict=True
            )
        )
        return Line(self.label, self.style, path, "", dots)

    def summary(self, higher_is_better: bool | None, show: Callable[[float], str]) -> Summary:
        """First, best and last value; the latter two of the moving average where there is one."""
        at = spaced(self.steps)
        average = self.smooth(at)
        best = ""
        if higher_is_better is not None:
            index = int(average.argmax() if higher_is_better else average.argmin())
            best = f"{show(average[index])} at step {int(self.steps[at[index]]):,}"
        return Summary(
            label=self.label,
            style=self.style,
            points=len(self.values),
            first=show(self.values[0]),
            best=best,
            last=show(average[-1]),
            last_step=int(self.steps[-1]),
        )


def _axes(curves: list[_Curve], log_y: bool) -> Iterator[tuple[str, Axis, Axis]]:
    """(name of the view, x axis, y axis): linear, and logarithmic where steps allow it."""
    extents = [curve.extent() for curve in curves]
    low, high = min(low for low, _ in extents), max(high for _, high in extents)
    first = min(int(curve.steps[0]) for curve in curves)
    last = max(int(curve.steps[-1]) for curve in curves)
    y_axis = linear_axis(low, high)
    yield "linear", linear_axis(min(0, first), max(last, 1), tight=True), y_axis
    positive = [int(curve.steps[curve.steps > 0][0]) for curve in curves if curve.steps[-1] > 0]
    if positive and last > min(positive):
        y_axis = log_axis(low, high) if log_y and low > 0 else y_axis
        yield "log", log_axis(min(positive), last), y_axis


def _x_label(x_axis: Axis, y_axis: Axis) -> str:
    if y_axis.log:
        return "step and value (log)"
    return "step (log)" if x_axis.log else "step"


def make_chart(title: str, series: dict[str, Points], metric: names.MetricName) -> Chart:
    """Lays out the series (label -> steps, values) of one quantity as a chart."""
    scale = 100.0 if metric.fraction else 1.0
    curves = [
        _Curve(label, style, steps, values * scale)
        for style, (label, (steps, values)) in enumerate(series.items())
    ]

    def show(value: float) -> str:
        return f"{value:.1f}%" if metric.fraction else number(float(value), 4)

    views = []
    for name, x_axis, y_axis in _axes(curves, log_y=metric.higher_is_better is False):
        lines = (curve.draw(x_axis, y_axis, show) for curve in curves)
        views.append(
            View(
                name=name,
                x_axis=x_axis,
                y_axis=y_axis,
                x_label=_x_label(x_axis, y_axis),
                lines=tuple(line for line in lines if line is not None),
            )
        )
    return Chart(
        title=title + (" (%)" if metric.fraction else ""),
        views=tuple(views),
        summaries=tuple(curve.summary(metric.higher_is_better, show) for curve in curves),
        smoothed=any(curve.is_smoothed for curve in curves),
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
            splits = {split for split, *_ in members}
            # A split that all lines share is said once, in the title; "eval" goes without saying.
            shared = splits.pop() if len(splits) == 1 and len(members) > 1 else ""
            title = ", ".join(
                filter(None, (metric.label, part, "" if shared == "eval" else shared))
            )
            series = {}
            for (split, *rest), points in members.items():
                own = "" if shared else split
                label = ", ".join(filter(None, (own, _variant(rest)))) or quantity
                series[", ".join((split, *rest)) if label in series else label] = points
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
