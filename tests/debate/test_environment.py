"""Admissible actions: hidden edges, windows, and the exact draw among all edges."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.debate.graphs import make_graph, make_star
from wikinav_jax.debate.data import as_queries
from wikinav_jax.debate.environment import (
    choose_among_all,
    is_hidden,
    marks_of,
    step_uniformly,
    to_device,
    window,
)
from wikinav_jax.debate.types import DebateGraph, Queries
from wikinav_jax.graph.triples import KnowledgeGraph, from_triples
from wikinav_jax.training.mesh import make_mesh


def on_device(kg: KnowledgeGraph, **options: object) -> DebateGraph:
    return to_device(kg, make_mesh(), **options)


def queries_of(kg: KnowledgeGraph, *triples: tuple[str, str, str]) -> Queries:
    rows = [(kg.find_entity(s), kg.find_relation(p), kg.find_entity(o)) for s, p, o in triples]
    return jax.tree.map(jnp.asarray, as_queries(np.array(rows)))


def edges_of(kg: KnowledgeGraph, entity: int) -> list[tuple[int, int]]:
    rows = slice(kg.indptr[entity], kg.indptr[entity + 1])
    return list(zip(kg.edge_relation[rows].tolist(), kg.edge_object[rows].tolist(), strict=True))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # (s, p, o), (o, p^-1, s), (s, p, other answer), (other answer, p^-1, s), an unrelated edge
        ("answers", [True, True, True, True, False, False, False]),
        ("pair", [True, True, True, True, True, True, False]),
        ("query", [True, True, False, False, False, False, False]),
        ("query_forward", [True, False, False, False, False, False, False]),
        ("none", [False] * 7),
    ],
)
def test_hidden_edges(rule, expected):
    kg = make_graph()
    graph = on_device(kg)
    s, p, o, other = 3, 1, 7, 8
    query = Queries(jnp.array(s), jnp.array(p), jnp.array(o))
    inverse = p + kg.num_relations
    node = jnp.array([s, o, s, other, s, o, other])
    relation = jnp.array([p, inverse, p, inverse, p + 1, p, p])
    entity = jnp.array([o, s, other, s, o, s, o])
    hidden = is_hidden(graph, query, node, relation, entity, rule)
    assert hidden.tolist() == expected


def test_unknown_rule_is_refused():
    graph = on_device(make_graph())
    zero = jnp.zeros(1, jnp.int32)
    with pytest.raises(ValueError, match="rule='all'"):
        is_hidden(graph, Queries(zero, zero, zero), zero, zero, zero, "all")


def test_hiding_looks_the_same_for_facts_and_for_what_is_no_fact():
    """What can be seen of (s, p, o) does not tell whether it is an edge."""
    kg = make_graph()
    graph = on_device(kg)
    relation = kg.find_relation("citizen of")
    fact = kg.train[kg.train[:, 1] == relation][0]
    lands = [kg.find_entity(f"land{i}") for i in range(4)]
    queries = jax.tree.map(
        jnp.asarray, as_queries(np.array([[fact[0], relation, land] for land in lands]))
    )
    node = jnp.full(4, int(fact[0]))
    actions = window(graph, queries, node, jax.random.key(0), width=16, rule="answers")
    assert len({tuple(row) for row in np.asarray(actions.valid).tolist()}) == 1
    seen = np.asarray(actions.relation)[0][np.asarray(actions.valid)[0]]
    assert relation not in seen


def test_a_wide_window_holds_every_edge_and_staying():
    kg = make_graph()
    graph = on_device(kg)
    node = jnp.arange(kg.num_entities)
    zero = jnp.zeros_like(node)
    queries = Queries(zero, zero, zero)
    actions = window(graph, queries, node, jax.random.key(0), width=64, rule="none")
    for entity in range(kg.num_entities):
        valid = np.asarray(actions.valid[entity])
        found = zip(
            np.asarray(actions.relation[entity])[valid].tolist(),
            np.asarray(actions.entity[entity])[valid].tolist(),
            strict=True,
        )
        assert sorted(found) == sorted([*edges_of(kg, entity), (kg.stay, entity)])


def test_a_window_of_a_hub_is_a_uniform_sample():
    kg = make_star()
    graph = on_device(kg)
    hub, visits = kg.find_entity("hub"), 4000
    node = jnp.full(visits, hub)
    zero = jnp.zeros_like(node)
    queries = Queries(zero - 1, zero, zero)
    actions = window(graph, queries, node, jax.random.key(1), width=30, rule="answers")
    assert np.asarray(actions.valid).all()
    counts = np.bincount(np.asarray(actions.entity[:, :-1]).ravel(), minlength=kg.num_entities)
    counts = counts[counts > 0]
    assert len(counts) == 300  # every leaf is in reach
    assert abs(counts / visits - 0.1).max() < 0.025  # 30 of 300, within five deviations
    for row in np.asarray(actions.entity[:20, :-1]):
        assert len(set(row.tolist())) == 30  # no edge twice


def test_without_sampling_the_first_edges_of_the_file_are_at_hand():
    kg = make_star()
    graph = on_device(kg, shuffle=False)
    node = jnp.full(3, kg.find_entity("hub"))
    queries = Queries(node - node - 1, node - node, node)
    actions = window(graph, queries, node, jax.random.key(1), width=5, rule="none", sample=False)
    first = [kg.find_entity(f"leaf{i:03}") for i in range(5)]
    assert actions.entity[:, :5].tolist() == [first] * 3


def marks_by_hand(kg: KnowledgeGraph, subject: int, goal: int, entity: int) -> list[bool]:
    """Whether a place is the object, and whether it is joined to it."""
    joined = goal in {e for _, e in edges_of(kg, entity)}
    return [entity == goal, joined and subject not in (entity, goal)]


def test_marks_by_hand():
    kg = make_graph()
    graph = on_device(kg)
    n = kg.num_entities
    subject, goal, entity = (grid.ravel() for grid in np.meshgrid([3, 20, 40], range(n), range(n)))
    queries = Queries(jnp.array(subject), jnp.zeros(len(subject), int), jnp.array(goal))
    expected = [
        marks_by_hand(kg, *map(int, row)) for row in zip(subject, goal, entity, strict=True)
    ]
    for num_marks in range(3):
        found = marks_of(graph, queries, jnp.array(entity)[:, None], num_marks)
        np.testing.assert_array_equal(found[:, 0], np.array(expected)[:, :num_marks])
    assert np.array(expected).any(axis=0).all()


def test_marks_never_show_a_hidden_edge():
    """With and without the claim (or another answer) among the facts, the agents see the same."""
    facts = [("s", "near", "a"), ("a", "owns", "b"), ("c", "owns", "o"), ("b", "near", "d")]
    for answer in ("o", "b", "s"):
        hidden = ("s", "owns", answer)
        with_it, without = (
            from_triples(known, valid=sorted({hidden, ("s", "owns", "o")}))
            for known in ([*facts, hidden], facts)
        )
        n = without.num_entities
        claim = ("s", "owns", answer if answer == "s" else "o")
        query = jax.tree.map(lambda leaf, n=n: jnp.repeat(leaf, n), queries_of(without, claim))
        place = jnp.arange(n)[:, None]
        np.testing.assert_array_equal(
            marks_of(on_device(with_it), query, place, 2),
            marks_of(on_device(without), query, place, 2),
        )


def probabilities(
    kg: KnowledgeGraph, entity: int, subject: int, goal: int, hidden: set[int]
) -> np.ndarray:
    """Softmax over an entity's edges and staying, by hand; scores as in `draws`."""

    def mark(place: int) -> float:
        return float(np.dot(marks_by_hand(kg, subject, goal, place), MARK_SCORES))

    edges = [*edges_of(kg, entity), (kg.stay, entity)]
    scores = np.array([np.sin(r) + np.cos(e) + mark(e) for r, e in edges])
    scores[[i for i, (r, _) in enumerate(edges) if r in hidden]] = -np.inf
    weight = np.exp(scores - scores.max())
    by_action = np.zeros((2 * kg.num_relations + 1, kg.num_entities))
    for (r, e), share in zip(edges, weight / weight.sum(), strict=True):
        by_action[r, e] = share
    return by_action


MARK_SCORES = (2.0, 1.0)


def draws(kg: KnowledgeGraph, node: jax.Array, queries: Queries, tile: int, **options: object):
    graph = on_device(kg)
    tokens = 2 * kg.num_relations + 2
    return jax.jit(
        lambda graph: choose_among_all(
            graph,
            queries,
            node,
            jnp.tile(jnp.sin(jnp.arange(tokens))[None], (len(node), 1)),
            jnp.ones((len(node), 1)),
            jnp.cos(jnp.arange(kg.num_entities, dtype=jnp.float32))[:, None],
            jnp.tile(jnp.array(MARK_SCORES)[None], (len(node), 1)),
            jax.random.key(5),
            rule="answers",
            tile=tile,
            **options,
        )
    )(graph)


@pytest.mark.parametrize("tile", [4, 64])
def test_the_draw_among_all_edges_is_exact(tile):
    kg = make_graph()
    land, person = kg.find_entity("land0"), kg.find_entity("person00")
    visits = 6000
    node = jnp.tile(jnp.array([land, person]), visits // 2)
    subject = jnp.tile(jnp.array([person, person]), visits // 2)
    citizen = jnp.full(visits, kg.find_relation("citizen of"))
    goal = kg.find_entity("city04")  # in land0: one step from there
    queries = Queries(subject, citizen, jnp.full(visits, goal))
    relation, entity = draws(kg, node, queries, tile)
    for place, start in enumerate((land, person)):
        hidden = {kg.find_relation("citizen of")} if start == person else set()
        expected = probabilities(kg, start, person, goal, hidden)
        if start == land:  # the inverse edge to the subject is hidden too
            expected[kg.find_relation("citizen of") + kg.num_relations, person] = 0
            expected /= expected.sum()
        found = np.zeros_like(expected)
        np.add.at(found, (np.asarray(relation)[place::2], np.asarray(entity)[place::2]), 1)
        found /= found.sum()
        assert (found[expected == 0] == 0).all()
        assert abs(found - expected).max() < 5 * np.sqrt(0.25 / (visits / 2))


def test_greedy_takes_the_best_edge_of_a_hub_wherever_it_lies():
    kg = make_star()
    hub = kg.find_entity("hub")
    node = jnp.array([hub, kg.find_entity("goal"), hub])
    nobody = Queries(node - node - 1, node - node, node - node - 1)
    relation, entity = draws(kg, node, nobody, 16, greedy=True)
    leaves = [e for _, e in edges_of(kg, hub)]
    best = max(leaves, key=lambda e: np.cos(e))
    assert entity.tolist()[::2] == [best, best]
    edges = [*edges_of(kg, int(node[1])), (kg.stay, int(node[1]))]
    wanted = max(edges, key=lambda edge: np.sin(edge[0]) + np.cos(edge[1]))
    assert (int(relation[1]), int(entity[1])) == wanted


def test_random_walkers_step_uniformly_and_never_along_hidden_edges():
    kg = make_graph()
    graph = on_device(kg)
    person = kg.find_entity("person01")
    visits = 6000
    node = jnp.full(visits, person)
    query = Queries(node, jnp.full(visits, kg.find_relation("citizen of")), node)
    relation, entity = step_uniformly(graph, query, node, jax.random.key(2), "answers")
    allowed = [e for e in edges_of(kg, person) if e[0] != kg.find_relation("citizen of")]
    allowed.append((kg.stay, person))
    found = list(zip(np.asarray(relation).tolist(), np.asarray(entity).tolist(), strict=True))
    assert set(found) == set(allowed)
    for action in allowed:
        share = found.count(action) / visits
        assert abs(share - 1 / len(allowed)) < 5 * np.sqrt(0.25 / visits)


def test_a_walker_whose_edges_are_all_hidden_stays():
    kg = make_star(3)
    graph = on_device(kg)
    node = jnp.full(50, kg.find_entity("hub"))
    queries = queries_of(kg, *[("hub", "has", "leaf000")] * 50)
    relation, entity = step_uniformly(graph, queries, node, jax.random.key(0), "answers")
    assert set(relation.tolist()) == {kg.stay}
    assert set(entity.tolist()) == {kg.find_entity("hub")}
