"""Thresholds, calibration, classification and ranks, by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from wikinav_jax.debate.scores import (
    Thresholds,
    best_threshold,
    classification_rows,
    classify,
    classify_by_relation,
    expected_calibration_error,
    fit_platt,
    fit_thresholds,
    ranking_figures,
    ranking_rows,
    ranks_in_groups,
    reliability,
    wilson_interval,
)

ABOUT = {"system": "debate", "dataset": "toy", "split": "test", "task": "t", "method": "m"}


def test_the_best_threshold_lies_between_the_labels():
    scores = np.array([0.1, 0.9, 0.4, 0.6])
    assert best_threshold(scores, np.array([0, 1, 0, 1])) == 0.5
    # One label only: all on its side.
    assert best_threshold(scores, np.ones(4)) < 0.1
    assert best_threshold(scores, np.zeros(4)) > 0.9


def test_the_best_threshold_beats_every_other():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 12, 200).astype(float)  # with ties
    labels = (scores + rng.normal(0, 4, 200) > 6).astype(int)
    chosen = best_threshold(scores, labels)
    accuracies = [accuracy_score(labels, scores > cut) for cut in np.arange(-0.5, 13)]
    assert accuracy_score(labels, scores > chosen) == max(accuracies)
    assert min(accuracies) < max(accuracies)


def test_relations_with_few_triples_use_the_overall_threshold():
    scores = np.concatenate([np.linspace(0, 1, 40), np.linspace(10, 11, 40), [5.0]])
    labels = np.concatenate([np.linspace(0, 1, 40) > 0.5, np.linspace(0, 1, 40) > 0.25, [1]])
    relations = np.repeat([0, 1, 2], [40, 40, 1])
    found = fit_thresholds(scores, labels, relations)
    assert set(found.by_relation) == {0, 1}
    assert found.by_relation[0] == pytest.approx(0.5)
    assert found.by_relation[1] == pytest.approx(10.25, abs=0.02)
    assert found.of(np.array([2, 0])).tolist() == [found.overall, found.by_relation[0]]


def test_classification_by_hand():
    found = classify(np.array([0.9, 0.2, 0.7, 0.4]), np.array([1, 0, 0, 1]), np.array(0.5))
    assert (found.count, found.positives, found.accuracy) == (4, 2, 0.5)
    # Of four pairs (true, false) only 0.4 < 0.7 is the wrong way round.
    assert found.roc_auc == 0.75
    assert found.pr_auc == pytest.approx((1 + 2 / 3) / 2)
    alone = classify(np.array([0.9]), np.array([1]), np.array(0.5))
    assert (alone.accuracy, alone.roc_auc) == (1, None)


def test_each_relation_has_its_own_figures():
    found = classify_by_relation(
        np.array([0.9, 0.1, 0.9, 0.1]),
        np.array([1, 0, 0, 1]),
        np.array([3, 3, 5, 5]),
        Thresholds(0.5, {}),
    )
    assert {r: c.accuracy for r, c in found.items()} == {3: 1.0, 5: 0.0}


def test_platt_recovers_a_logistic_model():
    rng = np.random.default_rng(0)
    scores = rng.normal(3, 2, 20_000)
    truth = rng.random(20_000) < 1 / (1 + np.exp(-(1.5 * scores - 4)))
    fitted = fit_platt(scores, truth)
    assert fitted.slope == pytest.approx(1.5, abs=0.1)
    assert fitted.offset == pytest.approx(-4, abs=0.25)
    assert expected_calibration_error(reliability(fitted(scores), truth)) < 0.01
    with pytest.raises(ValueError, match="all the same"):
        fit_platt(scores, np.ones(20_000))


def test_calibration_error_by_hand():
    bins = reliability(np.array([0.05, 0.15, 0.15, 1.0]), np.array([0, 1, 0, 1]))
    assert [(b.low, b.size, b.true) for b in bins] == [(0.0, 1, 0.0), (0.1, 2, 0.5), (0.9, 1, 1.0)]
    assert expected_calibration_error(bins) == pytest.approx((0.05 + 2 * 0.35) / 4)
    with pytest.raises(ValueError, match=r"lie in \[0, 1\]"):
        reliability(np.array([1.5]), np.array([1]))


def test_ranks_share_ties():
    scores = np.array([3.0, 1.0, 2.0, 5.0, 5.0, 5.0])
    group = np.array([1, 1, 1, 0, 0, 0])
    right = np.array([False, False, True, True, False, False])
    assert ranks_in_groups(scores, group, right).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="exactly one right candidate"):
        ranks_in_groups(scores, group, np.ones(6, bool))


def test_ranking_figures_by_hand():
    figures = ranking_figures(np.array([1, 2, 4, 20]))
    assert figures == {
        "mean_rank": 6.75,
        "mrr": pytest.approx((1 + 0.5 + 0.25 + 0.05) / 4),
        "hits@1": 0.25,
        "hits@3": 0.5,
        "hits@10": 0.75,
    }
    with pytest.raises(ValueError, match="no queries"):
        ranking_figures(np.zeros(0))


def test_rows_hold_the_figures_and_intervals():
    scores, labels = np.array([0.9, 0.2, 0.7, 0.4]), np.array([1, 0, 0, 1])
    rows = classification_rows(scores, labels, 0.5, probabilities=scores, **ABOUT, seed=3)
    by_metric = {row.metric: row for row in rows}
    assert set(by_metric) == {"accuracy", "roc_auc", "pr_auc", "ece"}
    accuracy = by_metric["accuracy"]
    assert (accuracy.low, accuracy.high) == pytest.approx(wilson_interval(2, 4))
    assert (accuracy.n, accuracy.seed, accuracy.method) == (4, 3, "m")
    ranked = {row.metric: row for row in ranking_rows(np.array([1, 2, 4, 20]), **ABOUT)}
    assert ranked["mrr"].low < ranked["mrr"].value < ranked["mrr"].high
    assert ranked["mean_rank"].value == 6.75


def test_wilson_interval_of_a_known_case():
    low, high = wilson_interval(8, 10)
    assert (low, high) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_bad_scores_are_refused():
    with pytest.raises(ValueError, match="score 1 is nan"):
        best_threshold(np.array([0.0, np.nan]), np.array([0, 1]))
    with pytest.raises(ValueError, match="same length"):
        best_threshold(np.zeros(2), np.zeros(3))
