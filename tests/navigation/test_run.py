"""The room from the command line: train, evaluate, explain; kills, devices and processes.

The corpus is the documentation of optax, about 600 blocks, read where it is installed.
"""

from __future__ import annotations

import json
from pathlib import Path

import jax
import numpy as np
import pytest

from tests.harness import finish, free_port, start_python
from tests.navigation.runs import arguments, make_config, run_killed, run_main
from wikinav_jax.navigation import run as room
from wikinav_jax.navigation.data import prepare
from wikinav_jax.navigation.navigator import Navigator
from wikinav_jax.reports.results import read_results


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graphs, features and compiled programs shared by all runs here."""
    return tmp_path_factory.mktemp("cache")


def trained_params(cache: Path, workdir: Path) -> dict[str, np.ndarray]:
    """The parameters in the last checkpoint, by name."""
    config = make_config(cache)
    state = Navigator(config, workdir, prepare(config)).restore()
    leaves = jax.tree_util.tree_leaves_with_path(state.params)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


@pytest.fixture(scope="module")
def trained(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbed, on one device."""
    workdir = tmp_path_factory.mktemp("trained") / "run"
    output = run_main(cache, workdir)
    assert "Report:" in output
    assert "%|" not in output  # no progress bars away from a terminal
    return workdir


def test_training_writes_what_it_promises(trained: Path):
    names = {entry.name for entry in trained.iterdir()}
    assert names == {
        "checkpoints",
        "config.json",
        "facts.json",
        "metrics.jsonl",
        "report.html",
        "results.json",
        "tensorboard",
        "walks.json",
    }
    config = json.loads((trained / "config.json").read_text())
    assert config["train"]["num_steps"] == 24
    rows = read_results(trained / "results.json")
    assert {(row.task, row.decoding, row.n) for row in rows if row.metric == "success"} == {
        ("multistep", "no_revisit", 24)
    }
    walks = json.loads((trained / "walks.json").read_text())["walks"]
    assert walks
    assert all(walk["outcome"] in ("success", "failure") for walk in walks)
    facts = json.loads((trained / "facts.json").read_text())
    assert facts["Updates"] == 24
    assert "optax" not in facts["Licence"] or facts["Source"]
    assert "RFBC" in (trained / "report.html").read_text()


def test_killed_and_resumed_equals_uninterrupted(cache: Path, trained: Path, tmp_path: Path):
    workdir = tmp_path / "killed"
    run_killed(cache, workdir, after=(6, 20))
    run_main(cache, workdir)
    for name in ("metrics.jsonl", "results.json", "walks.json"):
        assert (workdir / name).read_bytes() == (trained / name).read_bytes(), name
    resumed, whole = trained_params(cache, workdir), trained_params(cache, trained)
    assert resumed.keys() == whole.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(resumed[name], value, err_msg=name)


def test_four_devices_agree_with_one(cache: Path, trained: Path, tmp_path: Path):
    run_main(cache, tmp_path / "four", devices=4)
    four, one = trained_params(cache, tmp_path / "four"), trained_params(cache, trained)
    for name, value in one.items():
        # Sums over shards are taken in another order; 24 Adam steps spread the last bits.
        np.testing.assert_allclose(four[name], value, atol=1e-4, err_msg=name)
    assert results_of(tmp_path / "four") == results_of(trained)


def test_two_processes_equal_one(cache: Path, trained: Path, tmp_path: Path):
    workdir, port = tmp_path / "two", free_port()
    logs = [tmp_path / f"{process}.log" for process in (0, 1)]
    for attempt in ("trains", "restores and evaluates"):
        processes = [
            start_python(
                "wikinav_jax.main",
                arguments(
                    cache,
                    workdir,
                    f"--coordinator=localhost:{port}",
                    "--num_processes=2",
                    f"--process_id={process}",
                    *(["--mode=evaluate"] if attempt != "trains" else []),
                ),
                devices=2,
                log=logs[process],
            )
            for process in (0, 1)
        ]
        for process, log in zip(processes, logs, strict=True):
            finish(process, log, timeout=400)
        assert results_of(workdir) == results_of(trained)
        port = free_port()
    two, one = trained_params(cache, workdir), trained_params(cache, trained)
    for name, value in one.items():
        np.testing.assert_allclose(two[name], value, atol=1e-4, err_msg=name)


def results_of(workdir: Path) -> list[dict[str, object]]:
    return json.loads((workdir / "results.json").read_text())


def paths_of(workdir: Path) -> list[list[int]]:
    walks = json.loads((workdir / "walks.json").read_text())["walks"]
    return [[step["node"] for step in walk["steps"]] for walk in walks]


def test_evaluating_again_gives_the_same_and_keeps_the_facts(cache: Path, trained: Path):
    before = results_of(trained), paths_of(trained)
    room.run(make_config(cache), trained, "evaluate")  # on four devices this time
    assert (results_of(trained), paths_of(trained)) == before
    facts = json.loads((trained / "facts.json").read_text())
    assert facts["Updates"] == 24


def test_explain_prints_and_writes_the_walk(
    cache: Path, trained: Path, capsys: pytest.CaptureFixture[str]
):
    changes = {"explain.start": "optax.adam", "explain.target": "optax.sgd"}
    room.run(make_config(cache, **changes), trained, "explain")
    printed = capsys.readouterr().out
    assert "optax.adam" in printed
    assert "optax.sgd" in printed
    assert "explain.html" in printed
    page = (trained / "explain.html").read_text()
    assert "optax.adam → optax.sgd" in page


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({}, ValueError, "explain needs two places"),
        (
            {"explain.start": "optax.adm", "explain.target": "optax.sgd"},
            KeyError,
            r"optax\.adm.*Did you mean.*optax\.adam",
        ),
        (
            {"explain.start": "optax.sgd", "explain.target": "optax.sgd"},
            ValueError,
            "start and target are the same",
        ),
    ],
)
def test_explain_says_what_is_wrong(cache: Path, trained: Path, changes, error, message):
    with pytest.raises(error, match=message):
        room.run(make_config(cache, **changes), trained, "explain")


def test_a_workdir_of_another_run_is_refused_untouched(cache: Path, trained: Path):
    before = (trained / "config.json").read_bytes()
    other = make_config(cache, **{"policy.similarity.hidden_dim": 32})
    with pytest.raises(ValueError, match=r"policy\.similarity\.hidden_dim: 64 -> 32"):
        room.run(other, trained, "train")
    assert (trained / "config.json").read_bytes() == before


def test_evaluating_before_training_says_so(cache: Path, tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="train first"):
        room.run(make_config(cache), tmp_path, "evaluate")


def test_a_budget_of_zero_fails_every_episode(cache: Path, trained: Path, tmp_path: Path):
    config = make_config(cache, **{"evaluate.budget": 0, "train.num_steps": 2})
    room.run(config, tmp_path / "zero", "train")
    success = [row for row in results_of(tmp_path / "zero") if row["metric"] == "success"]
    assert [row["value"] for row in success] == [0.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy.name": "feedforward"}, r"policy\.name='feedforward'.*Did you mean"),
        ({"evaluate.budget": -1}, r"evaluate\.budget=-1 must be at least 0"),
        ({"evaluate.tasks": ("7-step",)}, r"evaluate\.tasks='7-step'"),
        ({"evaluate.decodings": ("beem",)}, r"evaluate\.decodings='beem'"),
        ({"features.sources": ("lsb",)}, r"features\.sources='lsb'"),
        ({"train.num_shards": 3}, "num_shards=3"),
        ({"walks.steps": (5, 2)}, "max_walk_steps=2"),
        ({"features.lsa_dim": 0}, "dim=0 must be at least 1"),
    ],
)
def test_a_config_that_cannot_be_fails_before_training(
    cache: Path, tmp_path: Path, changes, message
):
    with pytest.raises((ValueError, KeyError), match=message):
        room.run(make_config(cache, **changes), tmp_path / "never", "train")
    assert not (tmp_path / "never" / "checkpoints").exists()


def test_build_prints_what_is_in_the_graph(cache: Path, tmp_path: Path, capsys):
    room.run(make_config(cache), tmp_path / "unused", "build")
    printed = capsys.readouterr().out
    assert "articles" in printed
    assert "edges_by_kind" in printed
    assert not (tmp_path / "unused").exists()
