"""The benchmark of training walks runs at a small size, and writes what it prints."""

from __future__ import annotations

import json

from benchmarks import trajectories


def test_every_policy_is_measured(tmp_path, capsys):
    flags = ["--nodes=300", "--edges=1200", "--walks=50", "--decisions=32", "--rounds=1"]
    trajectories.main([*flags, "--json", str(tmp_path / "trajectories.json")])
    result = json.loads((tmp_path / "trajectories.json").read_text(encoding="utf-8"))
    steps = {row["policy"]: row["mean_steps"] for row in result["rows"]}
    # Between the ends of a walk of about ten steps the shortest path is shorter.
    assert 0 < steps["shortest_walk"] < steps["forward"] <= 20
    assert all(row["cpu_ms_per_batch"] > 0 for row in result["rows"])
    assert "shortest_uniform, 8 per start" in capsys.readouterr().out
