"""Metrics: sums and counts that are divided last, and the files they go to.

A step returns scalars in a flat dict. "X_sum" is divided by "X_count" where the dict has one, and
by "count" otherwise. Dividing after the sum over steps, shards and processes gives the true mean
over examples however unevenly masks fall.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from tensorboardX import SummaryWriter

from wikinav_jax.common.files import atomic_file

METRICS_FILE = "metrics.jsonl"


def means(sums: Mapping[str, float]) -> dict[str, float]:
    """The means, by name without "_sum". A mean whose count is 0 has no value and is left out.

    Raises ValueError for a key that is neither a sum nor a count, or a sum without its count.
    """
    result = {}
    for key, value in sums.items():
        if key == "count" or key.endswith("_count"):
            continue
        if not key.endswith("_sum"):
            raise ValueError(f"metric {key!r} is neither 'count' nor '..._sum' nor '..._count'")
        name = key.removesuffix("_sum")
        count_key = f"{name}_count" if f"{name}_count" in sums else "count"
        if count_key not in sums:
            raise ValueError(
                f"metric {key!r} has no count: the step must also return '{name}_count' or 'count'"
            )
        if sums[count_key]:
            result[name] = value / sums[count_key]
    return result


class Accumulator:
    """Sums of step metrics since the last row, as Python floats (so that they are exact in JSON).

    Its `sums` travel in the checkpoint: a run that stops between two rows writes, when resumed,
    the same next row as one that never stopped.
    """

    def __init__(self, sums: Mapping[str, float] | None = None) -> None:
        self.sums: dict[str, float] = dict(sums or {})

    def add(self, metrics: Mapping[str, float]) -> None:
        """Adds one step's sums and counts. Raises ValueError when the names change."""
        if self.sums and self.sums.keys() != metrics.keys():
            raise ValueError(
                f"the step returned metrics {sorted(metrics)} after {sorted(self.sums)}; "
                "every step must return the same names"
            )
        for key, value in metrics.items():
            self.sums[key] = self.sums.get(key, 0.0) + float(value)

    def take(self) -> dict[str, float]:
        """The means since the last call; starts anew."""
        result = means(self.sums)
        self.sums = {}
        return result


def read_metrics(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The rows of a metrics.jsonl, `{"step", "split", "name", "value"}` each.

    A last line that was cut off by a kill is left out. Raises FileNotFoundError, and ValueError
    for a line in the middle that is not such a row.
    """
    path = Path(path)
    rows = []
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        last = number == len(lines)  # the part after the last newline: empty, or cut off
        if last and not line:
            break
        try:
            row = json.loads(line)
            complete = {"step", "split", "name", "value"} <= row.keys()
        except (ValueError, AttributeError):
            complete = False
        if complete:
            rows.append(row)
        elif not last:
            raise ValueError(
                f"{path}, line {number}: not a row with step, split, name and value; the file was "
                "changed by something else: move it away and run again"
            )
    return rows


class MetricWriter:
    """Writes rows to `workdir/metrics.jsonl` and to TensorBoard events in `workdir/tensorboard`.

    Only process 0 writes; in the others every method does nothing. Rows reach the operating
    system before `write` returns, so a killed process loses none. Times and speeds differ from
    run to run: they go to TensorBoard alone (`write_scalars`), so that equal runs have equal rows.
    """

    def __init__(self, workdir: str | os.PathLike[str], *, tensorboard: bool = True) -> None:
        self.path = Path(workdir) / METRICS_FILE
        self._active = jax.process_index() == 0
        self._events_folder = Path(workdir) / "tensorboard" if tensorboard else None
        self._events: SummaryWriter | None = None
        self._purge_step: int | None = None
        if self._active:
            self.path.parent.mkdir(parents=True, exist_ok=True)

    def rewind(self, step: int) -> None:
        """Drops the rows past `step` (0: all), and a half-written last line, before resuming."""
        self._purge_step = step + 1 if step else None
        if not self._active or not self.path.exists():
            return
        with atomic_file(self.path) as temporary:
            kept = [row for row in read_metrics(self.path) if row["step"] <= step]
            temporary.write_text("".join(map(_line, kept)), encoding="utf-8")

    def write(self, step: int, split: str, values: Mapping[str, float]) -> None:
        """One row per value. A value that is not finite (a mean over nothing) gets no row."""
        finite = {name: float(value) for name, value in values.items() if math.isfinite(value)}
        if not self._active or not finite:
            return
        rows = [
            {"step": step, "split": split, "name": name, "value": value}
            for name, value in finite.items()
        ]
        with open(self.path, "a", encoding="utf-8") as file:
            file.write("".join(map(_line, rows)))
        self.write_scalars(step, {f"{split}/{name}": value for name, value in finite.items()})

    def sync(self) -> None:
        """Forces the rows to the disk, so that a checkpoint never outlives them in a power cut."""
        if self._active and self.path.exists():
            with open(self.path, "rb") as file:
                os.fsync(file.fileno())

    def write_scalars(self, step: int, values: Mapping[str, float]) -> None:
        """TensorBoard only: for times and speeds."""
        if not self._active or self._events_folder is None:
            return
        if self._events is None:
            self._events = SummaryWriter(str(self._events_folder), purge_step=self._purge_step)
        for name, value in values.items():
            self._events.add_scalar(name, value, step)

    def close(self) -> None:
        """Flushes and closes the event file."""
        if self._events is not None:
            self._events.close()
            self._events = None


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
