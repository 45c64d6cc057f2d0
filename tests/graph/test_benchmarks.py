"""The benchmarks run at a small size, and write what they print."""

from __future__ import annotations

import json

import pytest

from benchmarks import distances, walks


def test_walks(tmp_path, capsys):
    flags = ["--nodes=500", "--edges=3000", "--walks=200", "--steps=5", "--rounds=2"]
    walks.main([*flags, "--json", str(tmp_path / "walks.json")])
    result = json.loads((tmp_path / "walks.json").read_text(encoding="utf-8"))
    rows = {row["variant"]: row for row in result["rows"]}
    assert {"numpy", "numba", "numba, kernel alone", "numba, 2 threads"} <= set(rows)
    assert rows["numpy"]["times_numpy_median"] == 1
    assert all(row["steps_per_second_wall_best"] > 0 for row in rows.values())
    # Out-degree 0 has probability e^-6 here: nearly all of the 200 x 5 steps are taken.
    assert 950 < result["steps"] <= 1_000
    assert "numba, kernel alone" in capsys.readouterr().out


def test_distances(tmp_path, capsys):
    flags = ["--nodes=500", "--edges=2000", "--pairs=300", "--numpy_pairs=10", "--rounds=1"]
    distances.main([*flags, "--json", str(tmp_path / "distances.json")])
    result = json.loads((tmp_path / "distances.json").read_text(encoding="utf-8"))
    by_name = {row["pairs"]: row for row in result["rows"]}
    assert by_name["ends of walks"]["reachable"] == 1
    assert by_name["ends of walks"]["mean_distance"] == pytest.approx(
        by_name["ends of walks, cutoff 20"]["mean_distance"]
    )
    assert "random nodes" in capsys.readouterr().out
