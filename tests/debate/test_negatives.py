"""Plausible negatives: seen with the relation, never a known fact."""

from __future__ import annotations

import numpy as np
import pytest

from tests.debate.graphs import make_graph
from wikinav_jax.debate.negatives import PlausibleNegatives
from wikinav_jax.graph.triples import from_triples


@pytest.mark.parametrize(("side", "column"), [("object", 2), ("subject", 0)])
def test_negatives_are_plausible_and_false(side, column):
    kg = make_graph()
    drawn, found = PlausibleNegatives(kg, side).draw(kg.train, np.random.default_rng(0))
    known = {tuple(row) for row in kg.train.tolist()}
    seen = {(row[1], row[column]) for row in kg.train.tolist()}
    assert found.any()
    for row, negative in zip(kg.train[found].tolist(), drawn[found].tolist(), strict=True):
        assert tuple(negative) not in known
        assert (negative[1], negative[column]) in seen
        kept = [0, 1, 2]
        kept.remove(column)
        assert [row[i] for i in kept] == [negative[i] for i in kept]
    np.testing.assert_array_equal(drawn[~found], kg.train[~found])


def test_facts_of_other_splits_are_spared_only_on_request():
    kg = from_triples([("a", "r", "x"), ("b", "r", "y")], [("a", "r", "y")])
    fact = kg.train[:1]
    drawn, found = PlausibleNegatives(kg).draw(fact, np.random.default_rng(0))
    assert found.all()
    assert kg.entities[drawn[0, 2]] == "y"
    _, found = PlausibleNegatives(kg, known="all").draw(fact, np.random.default_rng(0))
    assert not found.any()


def test_a_share_of_negatives_can_have_any_entity():
    kg = from_triples([*[(f"s{i}", "r", f"o{i % 4}") for i in range(40)], ("s0", "q", "o0")])
    bases = np.repeat(kg.train[kg.train[:, 1] == kg.relations.index("r")], 50, axis=0)
    drawn, found = PlausibleNegatives(kg, anything=0.5).draw(bases, np.random.default_rng(0))
    assert found.all()
    assert not PlausibleNegatives(kg).is_fact(drawn).any()
    # Half of them have any of 44 entities but the right one, 3 of which are plausible.
    plausible = np.isin(drawn[:, 2], kg.train[:, 2]).mean()
    np.testing.assert_allclose(plausible, 0.5 + 0.5 * 3 / 43, atol=0.03)
    lonely = kg.train[kg.train[:, 1] == kg.relations.index("q")]
    assert PlausibleNegatives(kg, anything=1.0).draw(lonely, np.random.default_rng(0))[1].all()


def test_a_relation_with_one_object_has_no_negative():
    kg = from_triples([("a", "r", "x"), ("b", "r", "x")])
    drawn, found = PlausibleNegatives(kg).draw(kg.train, np.random.default_rng(0))
    assert not found.any()
    np.testing.assert_array_equal(drawn, kg.train)


def test_every_plausible_object_is_drawn_equally_often():
    facts = [(f"s{i}", "r", f"o{i % 4}") for i in range(40)]
    kg = from_triples(facts)
    many = np.repeat(kg.train[:1], 3000, axis=0)
    drawn, found = PlausibleNegatives(kg).draw(many, np.random.default_rng(0))
    counts = np.unique(drawn[found][:, 2], return_counts=True)[1]
    assert len(counts) == 3
    assert abs(counts / found.sum() - 1 / 3).max() < 0.05


@pytest.mark.parametrize("bad", [{"side": "relation"}, {"known": "test"}])
def test_unknown_choices_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad.values()))):
        PlausibleNegatives(make_graph(), **bad)
