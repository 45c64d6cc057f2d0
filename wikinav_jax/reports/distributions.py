"""Plots of distributions: shares over values, drawn as the learning curves are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wikinav_jax.reports.axes import linear_axis, log_axis
from wikinav_jax.reports.curves import Line, View, polyline
from wikinav_jax.reports.figures import number, short_number

_MOST_DOTS = 40


@dataclass(frozen=True)
class Plot:
    """A plot, what to call it, and how to read it."""

    title: str
    view: View
    description: str  # in words, for those who do not see it
    caption: str = ""

    @property
    def legend(self) -> tuple[tuple[str, int], ...]:
        """(label, style) of each line; empty where there is but one."""
        lines = self.view.lines
        return tuple((line.label, line.style) for line in lines) if len(lines) > 1 else ()


def survival_plot(
    title: str,
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    x_label: str,
    caption: str = "",
) -> Plot | None:
    """Shares of things with at least x of something, both axes logarithmic.

    Args:
        title: above the plot.
        series: label -> (values x, rising and positive; shares in (0, 1] with at least x).
        x_label: below the plot.
        caption: how to read it.

    Returns:
        The plot, or None if no series has a point.
    """
    drawn = {label: points for label, points in series.items() if len(points[0])}
    if not drawn:
        return None
    x_axis = log_axis(min(x[0] for x, _ in drawn.values()), max(x[-1] for x, _ in drawn.values()))
    low = min(min(y) for _, y in drawn.values())
    y_axis = log_axis(low, 1.0, label=_percent)
    lines = []
    words = []
    for style, (label, (x, y)) in enumerate(drawn.items()):
        places = x_axis.place(np.array(x)), y_axis.place(np.array(y))
        dots = _dots(
            *places, [f"{number(a)} or more: {_percent(b)}" for a, b in zip(x, y, strict=True)]
        )
        lines.append(Line(label, style, polyline(*places), "", dots))
        words.append(
            f"{label}: {_percent(y[0])} have {number(x[0])} or more, at most {number(x[-1])}"
        )
    view = View("linear", x_axis, y_axis, x_label, tuple(lines))
    return Plot(title, view, f"{title}. {'; '.join(words)}.", caption)


def histogram_plot(
    title: str, width: float, counts: Sequence[int], *, x_label: str, caption: str = ""
) -> Plot | None:
    """Shares of things per bin, as an outline.

    Args:
        title: above the plot.
        width: of a bin; the first begins at 0.
        counts: of things in each bin.
        x_label: below the plot.
        caption: how to read it.

    Returns:
        The plot, or None if all counts are 0.
    """
    total = sum(counts)
    if not total:
        return None
    shares = np.array(counts, np.float64) / total
    edges = np.arange(len(counts) + 1) * width
    x_axis = linear_axis(0, float(edges[-1]), tight=True)
    y_axis = linear_axis(0, float(shares.max()), label=_percent)
    x = np.repeat(edges, 2)
    y = np.concatenate([[0.0], np.repeat(shares, 2), [0.0]])
    line = Line(title, 0, polyline(x_axis.place(x), y_axis.place(y)), "", ())
    top = int(shares.argmax())
    words = (
        f"most, {_percent(shares[top])}, lie from {number(float(edges[top]))} to "
        f"{number(float(edges[top + 1]))}"
    )
    view = View("linear", x_axis, y_axis, x_label, (line,))
    return Plot(title, view, f"{title}: {words}.", caption)


def shares_plot(
    title: str, shares: Sequence[float], *, x_label: str, caption: str = ""
) -> Plot | None:
    """Shares by a small whole number, a dot each.

    Args:
        title: above the plot.
        shares: of 0, 1, 2, …
        x_label: below the plot.
        caption: how to read it.

    Returns:
        The plot, or None if there is no share above 0.
    """
    values = np.array(shares, np.float64)
    if not len(values) or values.max() <= 0:
        return None
    x = np.arange(len(values))
    x_axis = linear_axis(0, max(len(values) - 1, 1), tight=True)
    y_axis = linear_axis(0, float(values.max()), label=_percent)
    places = x_axis.place(x), y_axis.place(values)
    dots = _dots(*places, [f"{a}: {_percent(b)}" for a, b in zip(x.tolist(), shares, strict=True)])
    line = Line(title, 0, polyline(*places), "", dots)
    top = int(values.argmax())
    view = View("linear", x_axis, y_axis, x_label, (line,))
    words = f"{title}: most, {_percent(values[top])}, at {top}; at most {len(values) - 1}."
    return Plot(title, view, words, caption)


def _dots(
    x: np.ndarray, y: np.ndarray, tips: Sequence[str]
) -> tuple[tuple[float, float, str], ...]:
    if len(x) > _MOST_DOTS:
        return ()
    return tuple(
        (round(100 * a, 2), round(100 * (1 - b), 2), tip)
        for a, b, tip in zip(x.tolist(), y.tolist(), tips, strict=True)
    )


def _percent(share: float) -> str:
    return f"{short_number(100 * share)}%"
