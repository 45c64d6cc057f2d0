"""Axes of plots: round ticks, and where a value lies between the two ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wikinav_jax.reports.figures import short_number


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic axis from `low` to `high` (low < high; both > 0 when log)."""

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]  # (position in [0, 1], label)

    def place(self, values: np.ndarray) -> np.ndarray:
        """Positions float[...] of `values`: 0 at the low end, 1 at the high end, not clipped."""
        values = np.asarray(values, dtype=np.float64)
        if self.log:
            tiny = np.finfo(np.float64).tiny
            span = math.log(self.high) - math.log(self.low)
            return (np.log(np.maximum(values, tiny)) - math.log(self.low)) / span
        return (values - self.low) / (self.high - self.low)

    def at(self, value: float) -> float:
        """The position of one value."""
        return float(self.place(np.array([value]))[0])


def _with_ticks(
    low: float, high: float, log: bool, values: list[float], label: Callable[[float], str]
) -> Axis:
    bare = Axis(low, high, log, ())
    inside = [value for value in values if -1e-9 <= bare.at(value) <= 1 + 1e-9]
    ticks = tuple((round(min(max(bare.at(value), 0.0), 1.0), 6), label(value)) for value in inside)
    return Axis(low, high, log, ticks)


def _round_step(span: float, parts: int) -> float:
    """The step 1, 2 or 5 times a power of ten that cuts `span` into at most `parts` parts."""
    raw = span / parts
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step for factor in (1, 2, 5, 10) if (step := factor * power) >= raw * (1 - 1e-9))


def linear_axis(
    low: float,
    high: float,
    *,
    parts: int = 5,
    tight: bool = False,
    label: Callable[[float], str] = short_number,
) -> Axis:
    """A linear axis over [low, high] with round ticks.

    Args:
        low: smallest value to show.
        high: largest; when equal to `low` the axis is widened around it.
        parts: at most so many intervals between ticks.
        tight: keep the ends as they are instead of widening them to the next ticks.
        label: how a tick is written.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"an axis from {low} to {high} has no length; leave non-finite values out")
    if high <= low:
        margin = abs(low) * 0.1 or 0.5
        low, high = low - margin, high + margin
    step = _round_step(high - low, parts)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    values = [0.0 if index == 0 else index * step for index in range(first, last + 1)]
    if not tight:
        low, high = values[0], values[-1]
    # Multiples of the step in binary are not round; their decimals are.
    decimals = max(0, 2 - math.floor(math.log10(step)))
    return _with_ticks(low, high, False, [round(value, decimals) for value in values], label)


def log_axis(
    low: float, high: float, *, label: Callable[[float], str] = short_number, max_ticks: int = 7
) -> Axis:
    """A logarithmic axis over [low, high], both positive; ticks at 1, 2, 5 or whole decades."""
    if not 0 < low <= high < math.inf:
        raise ValueError(f"a logarithmic axis needs 0 < low <= high, got {low} and {high}")
    if high / low < 1.05:
        low, high = low / 1.1, high * 1.1
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        values = [factor * 10.0**decade for decade in decades for factor in factors]
        inside = [value for value in values if low <= value <= high]
        if len(inside) <= max_ticks:
            break
    if len(inside) > max_ticks:
        inside = inside[:: math.ceil(len(inside) / max_ticks)]
    if len(inside) < 4 and high < 8 * low:
        # Less than a decade: the ticks of a linear axis, placed logarithmically.
        step = _round_step(high - low, 5)
        inside = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return _with_ticks(low, high, True, inside, label)
