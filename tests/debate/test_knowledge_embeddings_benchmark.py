"""The benchmark of embeddings runs from files to table, and reads what it has finished."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.knowledge_embeddings import main, table
from wikinav_jax.reports.results import Row, read_results


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    facts = sorted({(int(s), int(s + k) % 20, k) for s in range(20) for k in (1, 2, 5)})
    rng.shuffle(facts)
    lines = [f"e{s}\tplus{k}\te{o}\n" for s, o, k in facts]
    data = tmp_path / "toy"
    data.mkdir()
    for name, part in (("train", lines[20:]), ("valid", lines[:10]), ("test", lines[10:20])):
        (data / f"{name}.txt").write_text("".join(part))
    for name in ("valid", "test"):
        wrong = [f"e{i}\tplus1\te{(i + 9) % 20}\n" for i in range(10)]
        (data / f"{name}_negatives.txt").write_text("".join(wrong))
    return data


def test_from_files_to_table(folder, tmp_path):
    command = [
        "--dataset=folder",
        f"--data_dir={folder}",
        f"--cache_dir={tmp_path / 'cache'}",
        f"--workdir={tmp_path / 'work'}",
        "--models=prior,distmult",
        "--seeds=0,1",
        "--epochs=1",
    ]
    text = main(command)
    rows = read_results(tmp_path / "work" / "toy" / "results.json")
    ranked = [row for row in rows if (row.task, row.metric) == ("ranking", "mrr")]
    assert [(row.method, row.seed, row.n) for row in ranked] == [
        ("distmult", 0, 20),
        ("distmult", 1, 20),
    ]
    accuracies = [
        row for row in rows if (row.metric, row.decoding) == ("accuracy", "one_threshold")
    ]
    assert [row.method for row in accuracies] == [
        "prior_train_count",
        *["distmult_score", "distmult"] * 2,
    ]
    assert "| prior_train_count (trained here) | –" in text
    assert " ± " in text
    details = json.loads((tmp_path / "work" / "toy" / "details.json").read_text())
    assert set(details[1]["by_relation"]) == {"plus1", "plus2", "plus5"}
    assert sum(found["size"] for found in details[0]["reliability"]) == 20
    assert main(command) == text  # nothing is trained again


def test_published_figures_stand_in_lines_of_their_own():
    row = Row("debate", "fb15k237", "test", "ranking", "transe", "", "mrr", 0.3, None, None, 9, 0)
    lines = table([row], "fb15k237").splitlines()
    assert "| transe (trained here) | 0.300 |" in lines
    assert "| transe (LibKGE, tuned, theirs) | 0.313 |" in lines


def test_an_unknown_model_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--models=transx"])
    assert "'transx' is not one of prior, transe" in capsys.readouterr().err
