"""metrics.jsonl read with care: what was logged during training, as arrays."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

import numpy as np

from wikinav_jax.reports.strings import visible

HUGE = 1e100  # what is logged beyond this is a run gone wrong, and would overflow axes
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
            if not abs(value) < HUGE:  # also true of NaN
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
        complaints.append(f"values that are not finite left out: {not_finite:,}")
    return MetricLog(series, complaints)
