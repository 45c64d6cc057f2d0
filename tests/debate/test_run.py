"""The room from the command line: train, evaluate, explain, quiz; kills, devices and processes."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from tests.debate.graphs import TINY, make_graph, write_folder
from tests.harness import finish, free_port, kill_hard, start_python, wait_until
from wikinav_jax.common.config import ConfigError
from wikinav_jax.datasets.knowledge_graphs import load_knowledge_graph
from wikinav_jax.debate import run as room
from wikinav_jax.debate.config import check_config, default_config
from wikinav_jax.debate.data import Labelled
from wikinav_jax.debate.others import frozen_tables
from wikinav_jax.debate.room import Room
from wikinav_jax.debate.run import labelled_words
from wikinav_jax.reports.results import read_results

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "r2d2.py"
VARIANT = "folder+sight+claim"
NAME = "r2d2_sight_claim"
OVERRIDES = {name: value for name, value in TINY.items() if name != "dataset.name"}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The graph's files, and a cache shared by all runs here."""
    root = tmp_path_factory.mktemp("places")
    return {"data": write_folder(make_graph(), root / "data"), "cache": root / "cache"}


def make_config(places: dict[str, Path], **changes: object) -> ConfigDict:
    config = runpy.run_path(str(CONFIG))["get_config"](VARIANT)
    folders = {"data_dir": str(places["data"]), "cache_dir": str(places["cache"])}
    config.update_from_flattened_dict({**OVERRIDES, **folders, **changes})
    return config


def arguments(places: dict[str, Path], workdir: Path, *more: object) -> list[object]:
    overrides = [f"--config.{name}={value}" for name, value in OVERRIDES.items()]
    return [
        f"--config={CONFIG}:{VARIANT}",
        f"--workdir={workdir}",
        *overrides,
        f"--config.data_dir={places['data']}",
        f"--config.cache_dir={places['cache']}",
        *more,
    ]


def run_main(places: dict[str, Path], workdir: Path, *more: object, devices: int = 1) -> str:
    log = workdir.with_suffix(".log")
    log.unlink(missing_ok=True)
    process = start_python(
        "wikinav_jax.main", arguments(places, workdir, *more), devices=devices, log=log
    )
    finish(process, log, timeout=900)
    return log.read_text(encoding="utf-8")


def trained_params(places: dict[str, Path], workdir: Path) -> dict[str, np.ndarray]:
    """The parameters in the last checkpoint, by name."""
    config = make_config(places, **{"evaluate.checkpoint": "last"})
    kg = load_knowledge_graph("folder", data_dir=places["data"], cache_dir=places["cache"])
    state = Room(config, workdir, kg).restore()
    leaves = jax.tree_util.tree_leaves_with_path(state.params)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


@pytest.fixture(scope="module")
def trained(places: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbed, on one device."""
    workdir = tmp_path_factory.mktemp("trained") / "run"
    output = run_main(places, workdir)
    assert "Report:" in output
    assert "%|" not in output  # no progress bars away from a terminal
    return workdir


def test_training_writes_what_it_promises(trained: Path):
    assert {entry.name for entry in trained.iterdir()} == {
        "checkpoints",
        "classification.json",
        "config.json",
        "debates.json",
        "facts.json",
        "metrics.jsonl",
        "report.html",
        "results.json",
        "tensorboard",
    }
    rows = read_results(trained / "results.json")
    ours = {NAME, f"{NAME}_pro_alone", f"{NAME}_con_alone"}
    methods = {*ours, "judge_walks", "judge_alone", "prior"}
    for metric in ("accuracy", "roc_auc", "pr_auc", "ece"):
        assert {row.method for row in rows if row.metric == metric} == methods
    assert {(row.split, row.task) for row in rows} == {("test", "classification")}
    debates = json.loads((trained / "debates.json").read_text())["debates"]
    assert [debate["label"] for debate in debates].count(True) == 1
    page = (trained / "report.html").read_text()
    assert "R2D2" in page
    assert "For the claim" in page
    assert "claims" in page
    details = json.loads((trained / "classification.json").read_text())
    assert details["method"] == NAME
    assert details["reliability"]


def test_killed_and_resumed_equals_uninterrupted(places, trained: Path, tmp_path: Path):
    workdir, log = tmp_path / "killed", tmp_path / "killed.log"
    process = start_python("wikinav_jax.main", arguments(places, workdir), devices=1, log=log)
    metrics = workdir / "metrics.jsonl"
    # In the agents' phase, between two checkpoints.
    wait_until(
        lambda: metrics.exists() and '"step": 12' in metrics.read_text(),
        [process],
        log,
        timeout=900,
    )
    kill_hard(process)
    assert not (workdir / "results.json").exists()
    run_main(places, workdir)
    for name in ("metrics.jsonl", "results.json", "debates.json", "classification.json"):
        assert (workdir / name).read_bytes() == (trained / name).read_bytes(), name
    resumed, whole = trained_params(places, workdir), trained_params(places, trained)
    assert resumed.keys() == whole.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(resumed[name], value, err_msg=name)


def test_four_devices_agree_with_one(places, trained: Path, tmp_path: Path):
    run_main(places, tmp_path / "four", devices=4)
    four, one = trained_params(places, tmp_path / "four"), trained_params(places, trained)
    for name, value in one.items():
        # Sums over shards are taken in another order; 20 Adam steps spread the last bits.
        np.testing.assert_allclose(four[name], value, atol=2e-3, err_msg=name)


def test_two_processes_agree_with_one(places, trained: Path, tmp_path: Path):
    workdir, port = tmp_path / "two", free_port()
    logs = [tmp_path / f"{process}.log" for process in (0, 1)]
    processes = [
        start_python(
            "wikinav_jax.main",
            arguments(
                places,
                workdir,
                f"--coordinator=localhost:{port}",
                "--num_processes=2",
                f"--process_id={process}",
            ),
            devices=2,
            log=logs[process],
        )
        for process in (0, 1)
    ]
    for process, log in zip(processes, logs, strict=True):
        finish(process, log, timeout=900)
    two, one = trained_params(places, workdir), trained_params(places, trained)
    for name, value in one.items():
        np.testing.assert_allclose(two[name], value, atol=2e-3, err_msg=name)
    rows, alone = (read_results(path / "results.json") for path in (workdir, trained))
    assert [row.key for row in rows] == [row.key for row in alone]


def test_evaluating_again_gives_the_same_and_keeps_the_facts(places, trained: Path):
    before = (trained / "results.json").read_text(), (trained / "debates.json").read_text()
    room.run(make_config(places), trained, "evaluate")  # on four devices this time
    for old, name in zip(before, ("results.json", "debates.json"), strict=True):
        found = json.loads((trained / name).read_text())
        old_leaves, leaves = jax.tree.leaves(json.loads(old)), jax.tree.leaves(found)
        for one, other in zip(old_leaves, leaves, strict=True):
            assert one == other or one == pytest.approx(other, abs=1e-5)
    assert json.loads((trained / "facts.json").read_text())["Updates"] == 20


def test_explain_prints_and_writes_the_debate(places, trained: Path, capsys):
    config = make_config(places, **{"explain.triple": "person01|citizen of|Land 2"})
    room.run(config, trained, "explain")
    printed = capsys.readouterr().out
    assert "person01 | citizen of | Land 2" in printed
    assert "probability" in printed
    assert "Against" in printed
    entry = json.loads((trained / "explain.json").read_text())["debates"][0]
    assert entry["pro"]
    assert entry["con"]
    assert "person01 — citizen of — Land 2" in (trained / "explain.html").read_text()


@pytest.mark.parametrize(
    ("mode", "triple", "error", "message"),
    [
        ("explain", "", ValueError, "explain needs a claim"),
        ("explain", "person01|citizen of", ValueError, "2 parts"),
        ("explain", "person01|citizen|of|Land 2", ValueError, "4 parts.*part them by tabs"),
        ("explain", "person1|citizen of|Land 2", KeyError, "Did you mean.*person"),
        ("walk", "", ValueError, "--mode=walk is no mode"),
    ],
)
def test_explain_says_what_is_wrong(places, trained: Path, mode, triple, error, message):
    with pytest.raises(error, match=message):
        room.run(make_config(places, **{"explain.triple": triple}), trained, mode)


def test_quiz_writes_a_page(places, trained: Path, capsys):
    room.run(make_config(places), trained, "quiz")
    assert "quiz.html" in capsys.readouterr().out
    page = (trained / "quiz.html").read_text()
    assert page.count('<fieldset class="claim"') == 4
    assert "[subject]" in page


def test_a_workdir_of_another_run_is_refused_untouched(places, trained: Path):
    before = (trained / "config.json").read_bytes()
    other = make_config(places, **{"judge.hidden_dim": 9})
    with pytest.raises(ValueError, match=r"judge\.hidden_dim: 8 -> 9"):
        room.run(other, trained, "train")
    assert (trained / "config.json").read_bytes() == before


def test_a_folder_with_other_triples_is_another_run(places, trained: Path, tmp_path: Path):
    folder = tmp_path / "data"
    shutil.copytree(places["data"], folder)
    lines = (folder / "train.txt").read_text().splitlines(keepends=True)
    fact = lines[0].split("\t")
    fact[2] = next(line.split("\t")[2] for line in lines if line.split("\t")[2] != fact[2])
    (folder / "train.txt").write_text("".join(["\t".join(fact), *lines[1:]]))  # as many as before
    other = make_config(places, data_dir=str(folder))
    for mode in ("train", "evaluate"):
        with pytest.raises(ValueError, match="graph: "):
            room.run(other, trained, mode)


def test_r2d2_plus_stands_on_our_own_transe_and_all_scores_are_stacked(
    places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("wikinav_jax.debate.others.MIN_OF_LABEL", 5)  # the toy has a dozen
    changes = {
        "tables": "transe",
        "evaluate.embeddings": ("distmult",),
        "evaluate.stack": True,
        "train.num_steps": 4,
        "train.pretrain_steps": 2,
        "train.phase_steps": 1,
    }
    config = make_config(places, **changes)
    room.run(config, tmp_path / "plus", "train")
    rows = read_results(tmp_path / "plus" / "results.json")
    methods = {row.method for row in rows}
    stacked = {f"{NAME}_stacked", "prior_and_others_stacked"}
    assert {"distmult", "distmult_score"} | stacked <= methods
    kg = load_knowledge_graph("folder", data_dir=places["data"], cache_dir=places["cache"])
    entity, relation = frozen_tables(kg, config)
    assert relation.shape == (2 * kg.num_relations + 2, 4)
    state = Room(config, tmp_path / "plus", kg, (entity, relation)).restore()
    for learner in state.params.values():  # frozen: training left them as they came
        np.testing.assert_array_equal(learner["entity"], entity)
        np.testing.assert_array_equal(learner["relation"], relation)


def test_a_judge_reads_the_claim_from_given_tables_which_stay(places, tmp_path):
    changes = {
        "tables": "transe_claim",
        "judge.sees_subject": True,
        "embedding.dim": 6,
        "train.num_steps": 4,
        "train.pretrain_steps": 2,
        "train.phase_steps": 1,
    }
    config = make_config(places, **changes)
    room.run(config, tmp_path / "claim", "train")
    kg = load_knowledge_graph("folder", data_dir=places["data"], cache_dir=places["cache"])
    entity, relation = frozen_tables(kg, config)
    assert entity.shape == (kg.num_entities, 6)
    fresh = Room(config, tmp_path / "claim", kg, (entity, relation))
    begun, state = fresh.initial_state(), fresh.restore()
    for name in ("judge", "judge_walks", "judge_alone"):
        np.testing.assert_array_equal(state.params[name]["claim_entity"], entity)
        np.testing.assert_array_equal(state.params[name]["claim_relation"], relation)
        assert state.params[name]["relation"].shape[1] == config.judge.dim
    for name in ("judge", "pro", "con"):  # these are still learned
        assert not np.array_equal(begun.params[name]["relation"], state.params[name]["relation"])
    assert "claim_entity" not in state.params["pro"]


def test_the_rule_of_hidden_edges_is_chosen_by_the_graph(places, tmp_path, monkeypatch):
    changes = {"train.num_steps": 2, "train.pretrain_steps": 1, "evaluate.baselines": False}
    config = make_config(places, **{"debate.hide": "auto", **changes})
    monkeypatch.setattr(room, "choose_rule", lambda kg: ("pair", "a test says so"))
    room.run(config, tmp_path / "auto", "train")
    assert json.loads((tmp_path / "auto" / "config.json").read_text())["debate"]["hide"] == "pair"
    assert config.debate.hide == "auto"  # the caller's own stays


def test_tables_for_a_claim_that_nobody_reads_are_refused():
    config = default_config()
    config.tables = "transe_claim"
    with pytest.raises(ConfigError, match=r"set config\.judge\.sees_subject=True"):
        check_config(config)


def test_every_variant_of_the_config_can_be_made():
    module = runpy.run_path(str(CONFIG))
    for graph in module["GRAPHS"]:
        check_config(module["get_config"](graph))
    for variant in module["VARIANTS"]:
        config = module["get_config"](f"fb15k237+{variant}")
        check_config(config)
        assert config.name == ("r2d2" if variant == "paper" else f"r2d2_{variant}")
    both = module["get_config"]("fb15k237+sight+claim")
    assert (both.debate.marks, both.judge.sees_subject) == ("neighbours", True)
    assert both.name == "r2d2_sight_claim"
    assert module["get_config"]("folder").name == "r2d2_sight_claim_plus_pair_proposed"
    assert module["get_config"]("folder+paper").debate == module["get_config"]("nations").debate
    for argument in ("fb15k", "fb15k237+minus"):
        with pytest.raises(ValueError, match="is not one of"):
            module["get_config"](argument)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("evaluate.embeddings", ("transE",), "'transE' is not one of.*Did you mean 'transe'"),
        ("evaluate.embeddings", ("simple", "distmult"), "dim=7 must be even for simple"),
        ("embedding.epochs", -1, "at least 0"),
        ("train.log_every", 0, "at least 1"),
        ("train.checkpoint_every", 0, "at least 1"),
        ("train.clip_norm", -1.0, "at least 0"),
    ],
)
def test_what_would_fail_after_training_is_refused_before(field, value, message):
    config = default_config()
    config.update_from_flattened_dict({"embedding.dim": 7, field: value})
    with pytest.raises(ConfigError, match=message):
        check_config(config)


def test_relations_that_nobody_has_are_refused_before_tables_are_trained(
    places, tmp_path, monkeypatch
):
    monkeypatch.setattr(room, "frozen_tables", lambda *unused: pytest.fail("trained first"))
    config = make_config(places, **{"train.relations": ("citizen off",), "tables": "transe"})
    with pytest.raises(ConfigError, match=r"train\.relations.*Did you mean 'citizen of'"):
        room.run(config, tmp_path, "train")


def test_evaluating_before_training_says_so(places, tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="train first"):
        room.run(make_config(places), tmp_path, "evaluate")


def test_build_prints_what_is_in_the_graph(places, tmp_path: Path, capsys):
    room.run(make_config(places), tmp_path / "unused", "build")
    printed = capsys.readouterr().out
    assert "64 entities" in printed
    assert "negatives are drawn here" in printed
    assert not (tmp_path / "unused").exists()


def test_training_that_ends_before_the_agents_begin_is_warned_of(places, caplog):
    check_config(make_config(places))
    assert not caplog.records
    check_config(make_config(places, **{"train.num_steps": 6}))
    assert "num_steps=6 is not above config.train.pretrain_steps=6" in caplog.text


def test_few_false_triples_are_warned_of(caplog):
    triples = np.zeros((20, 3), np.int32)
    even = Labelled(triples, np.repeat([1, 0], 10).astype(np.float32), published=True)
    assert labelled_words(even) == "20, 10 of them true; negatives as published"
    assert not caplog.records
    few = Labelled(triples, np.repeat([1, 0], [19, 1]).astype(np.float32), published=False)
    assert labelled_words(few) == "20, 19 of them true; negatives drawn here"
    assert "19 of 20 labelled test triples are true: an accuracy near 95 %" in caplog.text
