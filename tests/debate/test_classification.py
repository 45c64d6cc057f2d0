"""Scores of methods, rows, details and the stack."""

from __future__ import annotations

import numpy as np
import pytest

from tests.debate.graphs import make_graph
from wikinav_jax.debate.classification import Scored, details, quick_figures
from wikinav_jax.debate.data import Labelled, labelled_split
from wikinav_jax.debate.others import lack_for_stack, stack

KG = make_graph(96)
PARTS = tuple(labelled_split(KG, split, seed=0) for split in ("valid", "test"))


def scored(method: str = "r2d2", noise: float = 0.0, seed: int = 0, **options: object) -> Scored:
    rng = np.random.default_rng(seed)
    found = [
        np.clip(0.6 * part.labels + 0.2 + noise * rng.standard_normal(len(part.labels)), 0, 1)
        for part in PARTS
    ]
    return Scored(method, *found, PARTS, **options)


def test_rows_of_a_perfect_method():
    rows = {row.metric: row for row in scored(is_probability=True).rows(dataset="toy", seed=1)}
    assert rows["accuracy"].value == rows["roc_auc"].value == rows["pr_auc"].value == 1
    assert rows["ece"].value == pytest.approx(0.2)
    assert rows["accuracy"].n == len(PARTS[1].labels)
    assert rows["accuracy"].low < 1


def test_the_threshold_comes_from_validation_alone():
    method = scored(noise=0.3)
    flipped = Labelled(PARTS[1].triples, 1 - PARTS[1].labels, False)
    other = Scored("r2d2", method.valid, method.test, (PARTS[0], flipped))
    assert method.threshold == other.threshold


def test_scores_that_are_no_probabilities_are_mapped_by_the_validation_split():
    method = scored(noise=0.2)
    assert method.probability is not None
    assert ((method.probability >= 0) & (method.probability <= 1)).all()
    assert not np.allclose(method.probability, method.test)


def test_details_per_relation_and_reliability():
    found = details(KG, scored(is_probability=True))
    assert [item["relation"] for item in found["relations"]] == ["citizen of"]
    assert found["relations"][0]["claims"] == len(PARTS[1].labels)
    assert sum(item["claims"] for item in found["reliability"]) == len(PARTS[1].labels)


def test_quick_figures():
    figures = quick_figures(np.array([0.1, 0.9]), np.array([0.0, 1.0]))
    assert figures == {"accuracy": 1.0, "roc_auc": 1.0}
    assert quick_figures(np.array([0.1, 0.9]), np.ones(2)) == {"accuracy": 1.0}


def test_the_stack_reads_no_test_label():
    first = [scored("r2d2", 0.3, seed=1), scored("prior", 0.3, seed=2)]
    together = stack("stacked", KG, first, seed=0)
    flipped = Labelled(PARTS[1].triples, 1 - PARTS[1].labels, False)
    second = [Scored(s.method, s.valid, s.test, (PARTS[0], flipped)) for s in first]
    again = stack("stacked", KG, second, seed=0)
    np.testing.assert_array_equal(together.test, again.test)
    np.testing.assert_array_equal(together.valid, again.valid)


def test_a_stack_needs_enough_of_both_labels():
    triples = np.zeros((200, 3), np.int32)
    assert not lack_for_stack(Labelled(triples, np.arange(200) % 2, False))
    few = lack_for_stack(Labelled(triples, np.arange(200) < 40, False))
    assert "need 50" in few and "40 true and 160 false" in few
    assert "200 true and 0 false" in lack_for_stack(Labelled(triples, np.ones(200), False))


def test_the_stack_beats_its_noisy_parts():
    rng = np.random.default_rng(0)
    triples = rng.integers(0, 4, (1200, 3))
    parts = tuple(
        Labelled(triples, rng.integers(0, 2, 1200).astype(np.float32), False) for _ in range(2)
    )
    noisy = [
        Scored(f"m{i}", *(p.labels + rng.standard_normal(1200) for p in parts), parts)
        for i in range(3)
    ]
    together = stack("stacked", KG, noisy, seed=0)
    area = {
        s.method: next(r.value for r in s.rows(dataset="toy", seed=0) if r.metric == "roc_auc")
        for s in (*noisy, together)
    }
    assert area["stacked"] > max(area["m0"], area["m1"], area["m2"]) + 0.02
