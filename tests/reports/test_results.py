"""Rows are checked, and results.json takes each key once."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tests.reports.synthetic import make_rows
from wikinav_jax.reports.results import Row, merge_results, parse_row, read_results

GOOD = {
    "system": "navigation",
    "dataset": "harrow",
    "split": "eval",
    "task": "multistep",
    "method": "rfbc",
    "decoding": "argmax",
    "metric": "success",
    "value": 0.5,
    "low": 0.4,
    "high": 0.6,
    "n": 100,
    "seed": 0,
}


def test_a_row_comes_back_as_it_was():
    assert parse_row(GOOD).to_json() == GOOD


def test_numpy_numbers_become_plain():
    row = parse_row({**GOOD, "value": np.float32(0.5), "n": np.int64(7)})
    assert type(row.value) is float and type(row.n) is int
    json.dumps(row.to_json())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": math.nan}, "not finite"),
        ({"high": math.inf}, "not finite"),
        ({"value": "0.5"}, "must be a number"),
        ({"value": True}, "must be a number"),
        ({"value": 0.7}, "outside its interval"),
        ({"low": 0.55}, "outside its interval"),
        ({"low": None}, "both or neither"),
        ({"value": 50, "low": 40, "high": 60}, "fraction, not per cent"),
        ({"n": 0}, "at least 1"),
        ({"n": 1.5}, "must be an integer"),
        ({"seed": None}, "must be an integer"),
        ({"task": 5}, "must be a string"),
        ({"task": ""}, "empty"),
        ({"methd": "x"}, "Did you mean 'method'"),
    ],
)
def test_wrong_rows(change, message):
    with pytest.raises(ValueError, match=message):
        parse_row({**GOOD, **change})


def test_missing_fields_are_named():
    with pytest.raises(ValueError, match="lacks n, seed"):
        parse_row({key: value for key, value in GOOD.items() if key not in ("n", "seed")})
    with pytest.raises(ValueError, match="JSON object"):
        parse_row(["success", 0.5])


def test_no_interval_and_rounding():
    assert parse_row({**GOOD, "low": None, "high": None}).low is None
    row = parse_row({**GOOD, "value": 1.0, "high": 1.0 - 1e-12})
    assert row.low is not None and row.high is not None and row.low <= row.value <= row.high
    assert parse_row({**GOOD, "decoding": ""}).decoding == ""
    assert parse_row({**GOOD, "metric": "mean_steps", "value": 17, "low": 15, "high": 20})


def test_merge_replaces_the_same_key_and_keeps_the_rest(tmp_path):
    path = tmp_path / "results.json"
    merge_results(path, [GOOD, {**GOOD, "decoding": "sample"}])
    merged = merge_results(
        path, [Row(**{**GOOD, "value": 0.55}), {**GOOD, "seed": 1, "value": 0.41}]
    )
    assert [(row.decoding, row.seed, row.value) for row in merged] == [
        ("argmax", 0, 0.55),
        ("sample", 0, 0.5),
        ("argmax", 1, 0.41),
    ]
    assert read_results(path) == merged
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.json"]


def test_merge_refuses_without_touching_the_file(tmp_path):
    path = tmp_path / "results.json"
    merge_results(path, [GOOD])
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not finite"):
        merge_results(path, [{**GOOD, "seed": 1}, {**GOOD, "value": math.nan}])
    assert path.read_bytes() == before


def test_unreadable_files(tmp_path):
    path = tmp_path / "results.json"
    with pytest.raises(FileNotFoundError, match="--mode=evaluate"):
        read_results(path)
    path.write_text(json.dumps([GOOD])[:-20], encoding="utf-8")
    with pytest.raises(ValueError, match="not valid JSON"):
        read_results(path)
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="not a list"):
        read_results(path)
    path.write_text(json.dumps([GOOD, {**GOOD, "n": 0}]), encoding="utf-8")
    with pytest.raises(ValueError, match="row 2"):
        read_results(path)


def test_all_rows_of_a_run(tmp_path):
    rows = make_rows(seeds=2)
    assert len(merge_results(tmp_path / "results.json", rows)) == len(rows) == 9 * 4 * 4 * 2
