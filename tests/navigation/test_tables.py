"""The tables: which runs they need, how they resume, and what they say of their rows."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from benchmarks import navigation_tables
from benchmarks.navigation_cells import TABLES, VARIANTS, runs_of
from wikinav_jax.common.config import load_config
from wikinav_jax.common.files import write_json
from wikinav_jax.navigation.config import check_config

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "wikispeedia.py"
# Success by method and seed; what a run's folder would hold.
LEARNED = {"rfbc": (0.8, 0.9), "rl": (0.5, 0.6), "rl_random_features": (0.3, 0.3)}
BASELINES = {("random", "sample"): 0.28, ("greedy", "argmax"): 0.4, ("random", "dfs"): 0.32}


def row(method: str, decoding: str, task: str, value: float, seed: int) -> dict:
    interval = {"low": max(value - 0.02, 0), "high": min(value + 0.02, 1)}
    about = {"system": method, "dataset": "toy", "split": "eval", "task": task, "metric": "success"}
    return {
        **about,
        **interval,
        "method": method,
        "decoding": decoding,
        "value": value,
        "n": 100,
        "seed": seed,
    }


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The runs that were started; each writes results at once."""
    started: list[list[str]] = []

    def run(command, *, check, stdout):
        assert check
        started.append(command)
        flags = dict(part.split("=", 1) for part in command[3:])
        workdir, method = flags["--workdir"], flags["--config.name"]
        seed, task = int(flags["--config.seed"]), flags["--config.evaluate.tasks"].split("'")[1]
        value = LEARNED[method][seed]
        rows = [row(method, "sample", task, value, seed)]
        rows.append(row(method, "no_revisit", task, value + 0.05, seed))
        if flags["--config.evaluate.baselines"] == "True":
            rows += [row(*key, task, value, seed) for key, value in BASELINES.items()]
        folder = Path(workdir)
        write_json(folder / "results.json", rows)
        write_json(folder / "facts.json", {"Updates": 7, "Training record": {"examples": 70}})
        (folder / "report.html").write_text("done")

    monkeypatch.setattr(subprocess, "run", run)
    return started


def make(tmp_path, *more: str, only: str = "rfbc-,rl") -> str:
    flags = [
        "--table=2",
        f"--config={CONFIG}:paper",
        f"--workdir={tmp_path}",
        "--seeds=0,1",
        f"--only={only}",
        *more,
    ]
    return navigation_tables.main(flags)


def test_a_table_says_what_its_rows_say(tmp_path, commands):
    text = make(tmp_path)
    assert len(commands) == 2 * 3 * 4  # seeds, methods, tasks
    by_line = {line.split(" | ")[0].strip("| "): line for line in text.splitlines()}
    assert "**" not in by_line["RFBC, sampled"]
    assert "85.0 ± 7.1" in by_line["RFBC, sampled"]
    assert by_line["RFBC, without revisits"].count("**90.0 ± 7.1**") == 4
    assert "30.0 ± 0.0" in by_line["RL, random features, sampled"]
    assert "28.0 ± 0.0" in by_line["Random"]
    assert "| RFBC, sampled above RL, sampled | 5-step | +30.0 | yes |" in text
    assert "| RFBC, sampled above Greedy | Multistep | +45.0 | yes |" in text
    assert "Greedy DFS" not in text  # nothing was said of it
    assert (tmp_path / "table2.md").read_text() == text
    saved = json.loads((tmp_path / "table2.json").read_text())
    assert saved["runs"]["rl-5-step-1"]["decisions"] == 70
    assert {item["holds"] for item in saved["orderings"]} == {"yes"}
    root = ElementTree.fromstring((tmp_path / "table2.svg").read_text())
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == len(saved["cells"]) == (3 * 2 + 3) * 4


def test_what_is_finished_is_not_run_again(tmp_path, commands):
    make(tmp_path, only="rl-")
    before = len(commands)
    text = make(tmp_path, only="rl-")
    assert len(commands) == before == 2 * 4
    assert "RFBC" not in text
    text = make(tmp_path, only="rfbc-5")
    assert len(commands) == before + 2
    assert "RL, sampled" in text  # what was finished before is shown too
    with pytest.raises(ValueError, match=r"rl-5-step-0 holds a run with other settings"):
        make(tmp_path, "--steps=9", only="rl-")


def test_one_seed_has_intervals_and_may_be_unclear(tmp_path, commands, monkeypatch):
    monkeypatch.setitem(LEARNED, "rl", (0.79, 0.79))
    text = make(tmp_path, "--seeds=0")
    assert "80.0 (78.0–82.0)" in text
    assert "| RFBC, sampled above RL, sampled | 5-step | +1.0 | unclear |" in text


def test_an_override_takes_the_place_of_what_it_overrides(tmp_path, commands):
    make(tmp_path, "--override=train.num_steps=3", "--steps=9", "--override=evaluate.budget=5")
    for command in commands:
        flags = [part.split("=", 1)[0] for part in command]
        assert flags.count("--config.train.num_steps") == 1
        assert "--config.train.num_steps=3" in command
        assert "--config.evaluate.budget=5" in command


def test_names_that_are_none_fail_first(tmp_path, commands, capsys):
    with pytest.raises(SystemExit):
        make(tmp_path, only="rx")
    assert "names no run of table 2: rfbc-5-step" in capsys.readouterr().err
    with pytest.raises(ValueError, match="'papers' is not one of"):
        make(tmp_path, f"--config={CONFIG}:papers")
    assert not commands


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("number", TABLES)
def test_every_run_has_a_config_that_can_be(number, shared):
    for run in runs_of(TABLES[number], shared=shared):
        config = load_config(f"{CONFIG}:paper")
        config.update_from_flattened_dict(dict(run.overrides))
        check_config(config)
        assert run.tasks
    names = [run.name for run in runs_of(TABLES[number], shared=shared)]
    assert len(set(names)) == len(names)


def test_tables_share_runs():
    runs = {number: runs_of(table, shared=False) for number, table in TABLES.items()}
    for number in (2, 4):
        assert [run for run in runs[1] if run.variant is VARIANTS["rfbc"]] == [
            run for run in runs[number] if run.variant is VARIANTS["rfbc"]
        ]
