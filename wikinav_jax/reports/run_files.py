"""What a run wrote into its workdir, read with care: what is missing or broken becomes a note."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from wikinav_jax.common.files import read_json
from wikinav_jax.reports.calibration import Calibration, parse_calibration
from wikinav_jax.reports.comparison import Comparison, compare
from wikinav_jax.reports.debates import Debate, readable_debates
from wikinav_jax.reports.metric_log import MetricLog, read_metrics
from wikinav_jax.reports.results import readable_rows
from wikinav_jax.reports.strings import visible_json
from wikinav_jax.reports.walks import Walk, readable_walks

_SHOWN_COMPLAINTS = 3
T = TypeVar("T")


@dataclass(frozen=True)
class RunFiles:
    """The contents of a workdir, as far as they could be read."""

    workdir: Path
    comparisons: tuple[Comparison, ...]
    metrics: MetricLog
    walks: tuple[Walk, ...]
    debates: tuple[Debate, ...]
    calibration: Calibration | None
    facts: dict[str, Any]
    config: dict[str, Any]
    notes: tuple[str, ...]  # what is left out of the report and why


def _complain(notes: list[str], file: str, complaints: list[str], what: str) -> None:
    """Notes the first few complaints about `file` and how many more there are."""
    if not complaints:
        return
    more = len(complaints) - _SHOWN_COMPLAINTS
    shown = "; ".join(complaints[:_SHOWN_COMPLAINTS]) + (f"; and {more} more" if more > 0 else "")
    notes.append(f"{file}: {len(complaints)} {what} left out ({shown}).")


def _read(notes: list[str], path: Path, read: Callable[[Path], T], without: str, empty: T) -> T:
    """`read(path)`, or `empty` and a note when the file is absent or cannot be read."""
    if not path.is_file():
        notes.append(f"{path.name} is not there, so {without}.")
        return empty
    try:
        return read(path)
    except (ValueError, OSError) as error:
        # The report is also shown to others: the file's name, not where it lies.
        reason = str(error).replace(str(path), path.name)
        notes.append(f"{path.name} could not be read, so {without}: {reason}.")
        return empty


def _listed(path: Path, field: str | None) -> list[Any]:
    value = read_json(path)
    if field is not None:
        value = value.get(field) if isinstance(value, dict) else None
    if not isinstance(value, list):
        raise ValueError(f"it holds no list {field or 'of rows'}")
    return visible_json(value)


def _object(path: Path) -> dict[str, Any]:
    value = read_json(path)
    if not isinstance(value, dict):
        raise ValueError(f"it holds a {type(value).__name__}, not an object")
    return visible_json(value)


def read_run(workdir: str | os.PathLike[str]) -> RunFiles:
    """Reads results.json, metrics.jsonl, walks.json or debates.json, facts.json and config.json.

    Raises:
        FileNotFoundError: `workdir` is not a folder.
    """
    workdir = Path(workdir)
    if not workdir.is_dir():
        raise FileNotFoundError(f"no folder {workdir}; give the workdir of a run")
    notes: list[str] = []
    values: list[Any] = _read(
        notes,
        workdir / "results.json",
        lambda path: _listed(path, None),
        "there are no figures to show (the run has not been evaluated)",
        [],
    )
    rows, complaints = readable_rows(values)
    _complain(notes, "results.json", complaints, "of its rows")
    log = _read(
        notes,
        workdir / "metrics.jsonl",
        read_metrics,
        "there are no learning curves",
        MetricLog({}),
    )
    notes += [f"metrics.jsonl: {complaint}." for complaint in log.complaints]
    debates: list[Debate] = []
    if (workdir / "debates.json").is_file():  # of a run that debates; others walk
        listed: list[Any] = _read(
            notes,
            workdir / "debates.json",
            lambda path: _listed(path, "debates"),
            "there are no example debates",
            [],
        )
        debates, complaints = readable_debates(listed)
        _complain(notes, "debates.json", complaints, "of its debates")
    calibration: Calibration | None = None
    if (workdir / "classification.json").is_file():
        calibration = _read(
            notes,
            workdir / "classification.json",
            lambda path: parse_calibration(read_json(path)),
            "there are no figures per relation",
            None,
        )
    walks: list[Walk] = []
    if not debates or (workdir / "walks.json").is_file():
        listed = _read(
            notes,
            workdir / "walks.json",
            lambda path: _listed(path, "walks"),
            "there are no example walks",
            [],
        )
        walks, complaints = readable_walks(listed)
        _complain(notes, "walks.json", complaints, "of its walks")
    nothing: dict[str, Any] = {}
    facts = _read(notes, workdir / "facts.json", _object, "there are no training facts", nothing)
    config = _read(notes, workdir / "config.json", _object, "the settings are not shown", nothing)
    return RunFiles(
        workdir=workdir,
        comparisons=tuple(compare(rows)),
        metrics=log,
        walks=tuple(walks),
        debates=tuple(debates),
        calibration=calibration,
        facts=facts,
        config=config,
        notes=tuple(notes),
    )
