"""What joins the facts of a graph, and the rule of hidden edges that follows."""

from __future__ import annotations

import numpy as np

from wikinav_jax.debate.hiding import choose_rule, joined_otherwise
from wikinav_jax.graph.triples import KnowledgeGraph, from_triples


def test_a_facts_own_edges_do_not_count():
    train = [
        ("a", "likes", "b"),
        ("b", "knows", "a"),  # joins a and b too, the other way round
        ("a", "likes", "c"),
        ("d", "likes", "d"),  # two edges of its own
        ("e", "likes", "e"),
        ("e", "knows", "e"),
    ]
    kg = from_triples(train, [("b", "likes", "a"), ("c", "knows", "a"), ("a", "likes", "d")])
    names = [tuple(kg.entities[i] for i in (s, o)) for s, _, o in kg.train]
    joined = dict(zip(names, joined_otherwise(kg, kg.train, in_train=True).tolist(), strict=True))
    assert joined == {
        ("a", "b"): True,
        ("b", "a"): True,
        ("a", "c"): False,
        ("d", "d"): False,
        ("e", "e"): True,
    }
    assert joined_otherwise(kg, kg.valid, in_train=False).tolist() == [True, True, False]


def make_graph(*, valid_is_joined: bool, count: int = 60) -> KnowledgeGraph:
    """Every pair of train is joined twice; those of valid once, or not at all."""
    pairs = [(f"x{i}", f"y{i}") for i in range(count)]
    train = [(x, relation, y) for x, y in pairs for relation in ("likes", "knows")]
    rng = np.random.default_rng(0)
    shift = 0 if valid_is_joined else 1 + rng.integers(count - 1)
    valid = [(x, "meets", f"y{(i + shift) % count}") for i, (x, _) in enumerate(pairs)]
    return from_triples([*train, ("x0", "meets", "z")], valid)


def test_the_rule_follows_from_what_joins_validation_facts():
    rule, why = choose_rule(make_graph(valid_is_joined=True))
    assert rule == "answers"
    assert "100.0% of validation facts" in why
    rule, why = choose_rule(make_graph(valid_is_joined=False))
    assert rule == "pair"
    assert "0.0% of validation facts" in why


def test_few_validation_facts_tell_nothing():
    rule, why = choose_rule(make_graph(valid_is_joined=False, count=20))
    assert (rule, why) == ("answers", "20 validation facts are too few to tell")
