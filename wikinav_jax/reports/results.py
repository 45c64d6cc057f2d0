"""Rows of results.json: one figure each, with its interval, checked before it is written."""

from __future__ import annotations

import dataclasses
import math
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wikinav_jax.common.files import read_json, write_json
from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.reports.names import metric_name

_TOLERANCE = 1e-9  # of interval ends that rounding put on the wrong side of the value
_TEXT_FIELDS = ("system", "dataset", "split", "task", "method", "decoding", "metric")

RowKey = tuple[str, str, str, str, str, str, str, int]


@dataclasses.dataclass(frozen=True)
class Row:
    """One evaluated figure. Raises ValueError when a field cannot be what it says."""

    system: str  # the room: "navigation"
    dataset: str
    split: str  # "eval", "train", …
    task: str  # "multistep", "5-step", …
    method: str  # "rfbc", "greedy", …
    decoding: str  # "sample", "argmax", …; "" when the method has none
    metric: str  # "success", "spl", "mean_steps", …; fractions lie in [0, 1]
    value: float
    low: float | None  # ends of the 95% interval; both None when there is none
    high: float | None
    n: int  # episodes (or queries) behind the value
    seed: int

    def __post_init__(self) -> None:
        for field in _TEXT_FIELDS:
            text = getattr(self, field)
            if not isinstance(text, str):
                raise ValueError(f"{self._name()}: {field}={text!r} must be a string")
            if not text and field != "decoding":
                raise ValueError(f"{self._name()}: {field} is empty; give its name")
        for field in ("n", "seed"):
            number = getattr(self, field)
            if isinstance(number, bool) or not isinstance(number, numbers.Integral):
                raise ValueError(f"{self._name()}: {field}={number!r} must be an integer")
            object.__setattr__(self, field, int(number))
        if self.n < 1:
            raise ValueError(
                f"{self._name()}: n={self.n} must be at least 1; a figure over no episodes has no "
                "value: leave the row out"
            )
        object.__setattr__(self, "value", self._number("value"))
        if (self.low is None) != (self.high is None):
            raise ValueError(
                f"{self._name()}: low={self.low!r}, high={self.high!r}; give both or neither"
            )
        if self.low is not None and self.high is not None:
            low, high = self._number("low"), self._number("high")
            if not low - _TOLERANCE <= self.value <= high + _TOLERANCE:
                raise ValueError(
                    f"{self._name()}: value={self.value} lies outside its interval "
                    f"[{low}, {high}]; check the interval"
                )
            object.__setattr__(self, "low", min(low, self.value))
            object.__setattr__(self, "high", max(high, self.value))
        if metric_name(self.metric).fraction and not 0 <= self.value <= 1:
            raise ValueError(
                f"{self._name()}: value={self.value} must lie in [0, 1]; write a fraction, not "
                "per cent"
            )

    def _name(self) -> str:
        return f"row ({self.task}, {self.method}, {self.decoding}, {self.metric})"

    def _number(self, field: str) -> float:
        number = getattr(self, field)
        if isinstance(number, bool) or not isinstance(number, numbers.Real):
            raise ValueError(f"{self._name()}: {field}={number!r} must be a number")
        if not math.isfinite(number):
            raise ValueError(
                f"{self._name()}: {field}={number} is not finite; leave a row without a value out"
            )
        return float(number)

    @property
    def key(self) -> RowKey:
        """What the row is about: all fields but the figures."""
        return (
            self.system,
            self.dataset,
            self.split,
            self.task,
            self.method,
            self.decoding,
            self.metric,
            self.seed,
        )

    def to_json(self) -> dict[str, Any]:
        """The row as results.json holds it."""
        return dataclasses.asdict(self)


FIELDS = tuple(field.name for field in dataclasses.fields(Row))


def parse_row(value: Any) -> Row:
    """A Row from its JSON object; ValueError names a missing, unknown or ill-typed field."""
    if isinstance(value, Row):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(
            f"a row is a JSON object with the fields {', '.join(FIELDS)}; got {value!r}"
        )
    for field in value:
        if field not in FIELDS:
            raise ValueError(f"a row has no field {field!r}.{did_you_mean(str(field), FIELDS)}")
    missing = [field for field in FIELDS if field not in value]
    if missing:
        raise ValueError(f"row {dict(value)!r} lacks {', '.join(missing)}")
    return Row(**value)


def _read_list(path: Path) -> list[Any]:
    rows = read_json(path)
    if not isinstance(rows, list):
        raise ValueError(f"{path} holds a {type(rows).__name__}, not a list of rows; delete it")
    return rows


def read_results(path: str | os.PathLike[str]) -> list[Row]:
    """All rows of a results.json.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not JSON, or a row is wrong; the message says which.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no results at {path}; run --mode=evaluate first")
    rows = []
    for number, value in enumerate(_read_list(path), start=1):
        try:
            rows.append(parse_row(value))
        except ValueError as error:
            raise ValueError(f"{path}, row {number}: {error}") from error
    return rows


def merge_results(
    path: str | os.PathLike[str], rows: Iterable[Row | Mapping[str, Any]]
) -> list[Row]:
    """Adds `rows` to the results.json at `path` and returns all rows now in it.

    A row whose key is already there takes the old one's place; new keys go to the end. The file is
    replaced atomically. One process writes at a time (the caller's process 0).
    """
    path = Path(path)
    merged: dict[RowKey, Row] = {}
    if path.exists():
        merged = {row.key: row for row in read_results(path)}
    for row in map(parse_row, rows):
        merged[row.key] = row
    write_json(path, [row.to_json() for row in merged.values()])
    return list(merged.values())


def known_facts(workdir: str | os.PathLike[str]) -> dict[str, Any]:
    """What an earlier call wrote into facts.json; nothing where there is none."""
    path = Path(workdir) / "facts.json"
    known = read_json(path) if path.exists() else {}
    return known if isinstance(known, dict) else {}


def readable_rows(values: Sequence[Any]) -> tuple[list[Row], list[str]]:
    """The rows among `values` that are right, and one complaint for each that is not."""
    rows, complaints = [], []
    for number, value in enumerate(values, start=1):
        try:
            rows.append(parse_row(value))
        except ValueError as error:
            complaints.append(f"row {number}: {error}")
    return rows, complaints
