"""The table of debates: which runs it needs, what variants share, how seeds become cells."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import debate_tables
from wikinav_jax.common.files import write_json

ACCURACY = {("r2d2", 0): 0.7, ("r2d2", 1): 0.74, ("r2d2_sight", 0): 0.8, ("r2d2_sight", 1): 0.8}


def row(method: str, metric: str, value: float, seed: int, **more: object) -> dict:
    about = {"system": "debate", "dataset": "codex_s", "split": "test", "task": "classification"}
    interval = {"low": None, "high": None, "n": 50, "seed": seed, "decoding": ""}
    return {**about, **interval, "method": method, "metric": metric, "value": value, **more}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The runs that were started; each writes results at once."""
    commands: list[list[str]] = []

    def run(command, *, check, stdout):
        assert check
        commands.append(command)
        flags = dict(part.split("=", 1) for part in command[3:])
        seed = int(flags["--config.seed"])
        method = "_".join(["r2d2", *flags["--config"].replace("+paper", "").split("+")[1:]])
        rows = [
            row(method, "accuracy", ACCURACY[method, seed], seed, low=0.6, high=0.9),
            row(method, "accuracy_per_relation", 0.9, seed),
            row("prior", "accuracy", 0.66, seed),
            row("prior", "mean_rank", 7.25, seed, task="completion_CtD"),
        ]
        folder = Path(flags["--workdir"])
        write_json(folder / "results.json", rows)
        write_json(folder / "facts.json", {"Labelled test triples": "50", "Devices": "1 x cpu"})
        (folder / "report.html").write_text("done")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def make_table(workdir: Path, *more: str) -> str:
    return debate_tables.main(
        ["--graph=codex_s", "--variants=paper,sight", f"--workdir={workdir}", *more]
    )


def lines_of(text: str) -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n")]
    return {parts[0]: parts[1:] for parts in cells if len(parts) > 1}


def test_one_seed_has_its_interval_and_baselines_stand_once(started, tmp_path: Path):
    text = make_table(tmp_path, "--override=train.num_steps=5")
    assert [flag for flag in started[1] if flag.startswith("--config")] == [
        "--config=configs/r2d2.py:codex_s+sight",
        "--config.data_dir=",
        "--config.seed=0",
        "--config.train.num_steps=5",
    ]
    lines = lines_of(text)
    assert lines["R2D2"] == ["70.0 (60.0–90.0)", "90.0", "–", "–", "–"]
    assert lines["R2D2 sight"][0] == "80.0 (60.0–90.0)"
    assert text.count("| Prior: count(p, o) in training |") == 2  # and in the completion's table
    assert lines["CtD"] == ["Prior: count(p, o) in training", "50", "7.2", "–", "–", "–", "–"]
    assert lines["RESCAL (Safavi & Koutra 2020; theirs)"][:2] == ["84.3", "–"]
    assert "seed 0; 1 x cpu" in text
    assert (tmp_path / "codex_s.md").read_text(encoding="utf-8") == text
    saved = json.loads((tmp_path / "codex_s.json").read_text())
    assert {entry["method"] for entry in saved["rows"]} == {"r2d2", "r2d2_sight", "prior"}


def test_seeds_are_averaged_and_finished_runs_are_read(started, tmp_path: Path):
    make_table(tmp_path)
    assert len(started) == 2
    text = make_table(tmp_path, "--seeds=0,1")
    assert len(started) == 4
    assert lines_of(text)["R2D2"][0] == "72.0 ± 2.8"
    assert "seeds 0, 1" in text


def test_later_seeds_are_spared_what_the_first_has_shown(started, tmp_path: Path):
    make_table(tmp_path, "--seeds=1,0", "--later_override=evaluate.stack=False")
    asked = [("--config.evaluate.stack=False" in command) for command in started]
    assert asked == [False, False, True, True]  # seed 1 comes first


def test_other_settings_in_a_folder_are_refused(started, tmp_path: Path):
    make_table(tmp_path)
    with pytest.raises(ValueError, match="holds a run with other settings"):
        make_table(tmp_path, "--override=train.num_steps=5")


def test_an_unknown_variant_fails_before_the_first_run(started, tmp_path: Path):
    with pytest.raises(ValueError, match="'sihgt' is not one of"):
        debate_tables.main(["--graph=codex_s", "--variants=paper,sihgt", f"--workdir={tmp_path}"])
    assert not started
