"""Numbers as people read them."""

from __future__ import annotations

import math

from wikinav_jax.reports.comparison import Figure
from wikinav_jax.reports.names import MetricName

PLUS_MINUS = "±"
EN_DASH = "–"
MINUS = "−"


def number(value: float, digits: int = 4) -> str:
    """`value` to `digits` significant digits: '12,345', '0.0123', '1.2e-07'."""
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if value == 0:
        text = "0"
    elif size >= 10 ** (digits - 1):
        text = f"{value:,.0f}"
    elif size >= 1e-3:
        decimals = digits - 1 - math.floor(math.log10(size))
        text = f"{value:.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{value:.{max(digits - 2, 1)}g}"
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def short_number(value: float) -> str:
    """A tick label: '20k', '1.5M', '0.05'."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return number(value / size, 3) + unit
    return number(value, 3)


def duration(seconds: float) -> str:
    """'3 h 12 min', '2 min 03 s', '41.2 s'."""
    if seconds < 60:
        return f"{number(seconds, 3)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def metric_value(value: float, metric: MetricName) -> str:
    """'71.2' (per cent) for a fraction, else with its decimals."""
    if metric.fraction:
        return f"{100 * value:.1f}"
    return f"{value:,.{metric.decimals}f}".replace("-", MINUS)


def metric_with_unit(value: float, metric: MetricName) -> str:
    """'71.2%' for a fraction, else as `metric_value`."""
    return metric_value(value, metric) + ("%" if metric.fraction else "")


def interval(figure: Figure, metric: MetricName) -> str:
    """'68.3–73.9', or an empty string where there is no interval."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{metric_value(figure.low, metric)}{EN_DASH}{metric_value(figure.high, metric)}"


def spread(figure: Figure, metric: MetricName) -> str:
    """The uncertainty: '± 0.8' over seeds (standard deviation), else the interval."""
    if figure.deviation is not None:
        return f"{PLUS_MINUS} {metric_value(figure.deviation, metric)}"
    return interval(figure, metric)


def count(figure: Figure) -> str:
    """'1,000', or '1,000 × 3' over three seeds."""
    seeds = len(figure.seeds)
    return f"{figure.n:,}" + (f" × {seeds}" if seeds > 1 else "")


def seeds_of(figure: Figure) -> str:
    """'0' or '0, 1, 2'."""
    return ", ".join(map(str, figure.seeds))
