"""Runs that a table is made of: done once, resumed, and their rows as cells."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from wikinav_jax.common.files import read_json, write_json
from wikinav_jax.reports.results import Row


def is_finished(command: list[str], folder: Path) -> bool:
    """Whether the folder holds the results of this command."""
    record = folder / "command.json"
    return (folder / "report.html").is_file() and record.is_file() and read_json(record) == command


def finish(command: list[str], folder: Path) -> Path:
    """Runs `python -m COMMAND`, which writes into `folder`, unless its results are there.

    Raises ValueError where the folder holds a run with other settings, CalledProcessError where the
    run fails.
    """
    record = folder / "command.json"
    if record.is_file() and read_json(record) != command:
        raise ValueError(
            f"{folder} holds a run with other settings (see {record}); give another --workdir, or "
            "delete that folder"
        )
    if not (folder / "report.html").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(record, command)
        print(f"running {folder}", file=sys.stderr, flush=True)
        with (folder / "output.log").open("ab") as log:
            subprocess.run([sys.executable, "-m", *command], check=True, stdout=log)
    return folder


def percent(rows: Sequence[Row] | None) -> str:
    """Per cent: mean and deviation over seeds, or one seed's value with its interval; or a dash."""
    if not rows:
        return "–"
    values = [100 * row.value for row in rows]
    if len(rows) > 1:
        return f"{statistics.fmean(values):.1f} ± {statistics.stdev(values):.1f}"
    (row,) = rows
    if row.low is None or row.high is None:
        return f"{values[0]:.1f}"
    return f"{values[0]:.1f} ({100 * row.low:.1f}–{100 * row.high:.1f})"
