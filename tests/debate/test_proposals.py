"""False claims of training that are like the published false validation triples."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tests.debate.graphs import make_graph
from wikinav_jax.debate.data import QuerySampler
from wikinav_jax.debate.negatives import PlausibleNegatives
from wikinav_jax.debate.proposals import MIN_PUBLISHED, NEGATIVES, like_published
from wikinav_jax.graph.triples import KnowledgeGraph, from_triples

KG = make_graph()
COMMON = [f"o{0 if i % 2 else i}" for i in range(40)]  # one object with half of the facts


def proposed_graph(false: dict[str, int], obj: str = "") -> KnowledgeGraph:
    """Two relations of 40 facts each, and so many published false validation triples of each."""
    facts = [(f"s{i}", p, COMMON[i]) for p in ("many", "one") for i in range(40)]
    wrong = [
        (f"t{i}", p, obj or f"o{2 * (i % 20)}") for p, count in false.items() for i in range(count)
    ]
    right = [("s41", "many", "o0"), ("s41", "one", "o2")]
    labels = [0] * len(wrong) + [1] * len(right)
    return from_triples(facts, right, right, valid_labelled=([*wrong, *right], labels))


def test_relations_are_drawn_as_published():
    kg = proposed_graph({"many": 4, "one": 36})
    one = kg.relations.index("one")
    found = like_published(kg, kg.train)
    of_one = kg.train[:, 1] == one
    assert found.chance.sum() == pytest.approx(1)
    assert found.chance[of_one].sum() == pytest.approx((36 + 10) / 60)
    sampler = QuerySampler(kg, queries_per_shard=400, seed=1, negatives="validation")
    batch = sampler.batch_at(0, range(4))
    drawn = (batch.weight == 1) & (batch.label == 0)
    assert drawn.sum() > 700
    assert (batch.queries.relation[batch.label == 1] == one).mean() == pytest.approx(0.5, abs=0.05)
    assert (batch.queries.relation[drawn] == one).mean() == pytest.approx(46 / 60, abs=0.05)
    again = sampler.batch_at(0, [2])
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[2:3], b), batch, again)


def test_objects_are_as_popular_as_the_published_ones():
    even = like_published(proposed_graph({"many": 20, "one": 20}), KG.train[:0].reshape(0, 3))
    assert even is None  # no fact has the relations
    kg = proposed_graph({"many": 40})
    assert like_published(kg, kg.train).popularity < 0.4
    kg = proposed_graph({"many": 40}, obj="o0")
    popular = like_published(kg, kg.train)
    assert popular.popularity == pytest.approx(1.5)

    def share_of_the_common(popularity: float) -> float:
        bases = np.repeat(kg.train[kg.train[:, 2] != kg.find_entity("o0")], 40, axis=0)
        drawn, found = (
            PlausibleNegatives(kg).with_popularity(popularity).draw(bases, np.random.default_rng(0))
        )
        assert found.all()
        assert not PlausibleNegatives(kg).is_fact(drawn).any()
        return float((drawn[:, 2] == kg.find_entity("o0")).mean())

    # 21 of 40 facts have it (its own even number too), the 19 others have an object each.
    assert share_of_the_common(0) == pytest.approx(1 / 19, abs=0.02)
    assert share_of_the_common(1) == pytest.approx(21 / 39, abs=0.04)


def test_subjects_can_be_as_popular_too():
    turned = [(o, p, s) for s, p, o in [(f"s{i}", "r", COMMON[i]) for i in range(40)]]
    false = [("o0", "r", f"t{i}") for i in range(40)]
    labelled = ([*false, turned[0]], [0] * 40 + [1])
    kg = from_triples(turned, valid_labelled=labelled)
    assert like_published(kg, kg.train, "subject").popularity == pytest.approx(1.5)
    assert like_published(kg, kg.train, "object").popularity == 0


def test_with_too_few_published_triples_negatives_are_those_of_the_facts():
    kg = proposed_graph({"many": MIN_PUBLISHED - 1})
    assert like_published(kg, kg.train) is None
    assert like_published(KG, KG.train) is None
    plain, same = (
        QuerySampler(KG, queries_per_shard=8, seed=1, negatives=which).batch_at(3, [0])
        for which in NEGATIVES
    )
    jax.tree.map(np.testing.assert_array_equal, plain, same)
