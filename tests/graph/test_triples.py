"""KnowledgeGraph: numbers, edges in both directions, known answers, names, files."""

from __future__ import annotations

import numpy as np
import pytest

from wikinav_jax.graph.answers import answers_of
from wikinav_jax.graph.triple_store import open_knowledge_graph, save_knowledge_graph
from wikinav_jax.graph.triples import KnowledgeGraph, from_arrays, from_triples, inverse_phrase

TRAIN = [("b", "likes", "c"), ("a", "likes", "b"), ("a", "knows", "a"), ("a", "likes", "c")]
VALID = [("c", "knows", "a")]
TEST = [("a", "likes", "d")]


def graph(**kwargs) -> KnowledgeGraph:
    return from_triples(TRAIN, VALID, TEST, **kwargs)


def test_ids_are_sorted_and_shared_by_the_splits():
    made = graph()
    assert made.entities == ("a", "b", "c", "d")
    assert made.relations == ("knows", "likes")
    assert made.train.tolist() == [[1, 1, 2], [0, 1, 1], [0, 0, 0], [0, 1, 2]]
    assert made.test.tolist() == [[0, 1, 3]]
    assert (made.num_relations, made.num_edge_relations, made.stay) == (2, 5, 4)


def test_edges_and_their_inverses_by_hand():
    made = graph()
    a = slice(made.indptr[0], made.indptr[1])
    # a: knows a, likes b, likes c, and the inverse of its loop.
    assert made.edge_relation[a].tolist() == [0, 1, 1, 2]
    assert made.edge_object[a].tolist() == [0, 1, 2, 0]
    assert made.edge_triple[a].tolist() == [2, 1, 3, 2]
    c = slice(made.indptr[2], made.indptr[3])
    assert made.edge_relation[c].tolist() == [3, 3]
    assert made.edge_object[c].tolist() == [0, 1]
    assert made.indptr[4] == made.indptr[3] == 2 * len(TRAIN)  # d occurs in the test only


def test_every_edge_is_its_triple_or_the_inverse():
    rng = np.random.default_rng(0)
    triples = np.unique(rng.integers(0, 12, (80, 3)) % [12, 4, 12], axis=0)
    made = from_arrays(
        triples, [], [], entities=[str(i) for i in range(12)], relations=["p", "q", "r", "s"]
    )
    source = np.repeat(np.arange(12), np.diff(made.indptr))
    subject, relation, obj = made.train[made.edge_triple].T
    forward = made.edge_relation < 4
    assert np.array_equal(np.where(forward, subject, obj), source)
    assert np.array_equal(np.where(forward, obj, subject), made.edge_object)
    assert np.array_equal(np.where(forward, relation, relation + 4), made.edge_relation)
    assert sorted(made.edge_triple.tolist()) == sorted([*range(len(triples))] * 2)


def test_inverse_of_relation_ids():
    assert graph().inverse(np.array([0, 1, 2, 3, 4])).tolist() == [2, 3, 0, 1, 4]


def test_known_answers_cover_all_splits_and_both_directions():
    made = graph()
    assert made.known_objects(0, 1).tolist() == [1, 2, 3]
    assert made.known_in_train.of(0, 1).tolist() == [1, 2]
    assert made.known_objects(0, 0 + 2).tolist() == [0, 2]  # who knows a
    assert made.known_objects(3, 0).tolist() == []
    row, objects = made.known.of_many(np.array([0, 3, 2, 0]), np.array([1, 0, 0, 0]))
    assert row.tolist() == [0, 0, 0, 2, 3]
    assert objects.tolist() == [1, 2, 3, 0, 0]


def test_contain_agrees_with_a_set():
    rng = np.random.default_rng(1)
    facts = rng.integers(0, 9, (60, 3)) % [9, 3, 9]
    asked = rng.integers(0, 9, (300, 3)) % [9, 3, 9]
    known = set(map(tuple, facts.tolist()))
    expected = [tuple(row) in known for row in asked.tolist()]
    assert answers_of(facts, 9).contain(asked).tolist() == expected
    assert 0 < sum(expected) < 300


def test_no_facts_no_answers():
    none = answers_of(np.zeros((0, 3)), 5)
    assert none.of(0, 0).tolist() == []
    assert none.contain(np.array([[0, 0, 0]])).tolist() == [False]
    assert none.of_many(np.array([1]), np.array([0]))[0].tolist() == []


def test_labelled_triples():
    made = graph(valid_labelled=([("a", "knows", "a"), ("b", "knows", "e")], [1, 0]))
    triples, labels = made.labelled("valid")
    assert triples.tolist() == [[0, 0, 0], [1, 0, 4]]
    assert labels.tolist() == [1, 0]
    assert made.labelled("test") is None
    with pytest.raises(KeyError, match="valid and test"):
        made.labelled("train")


def test_entities_are_found_by_id_and_by_name():
    made = graph(entity_names={"a": "Anna", "b": "Bert", "c": "Same", "d": "Same"})
    assert made.find_entity("a") == 0
    assert made.find_entity(" anna ") == 0
    assert made.find_entity(" a ") == 0
    with pytest.raises(KeyError, match="Did you mean 'Anna'"):
        made.find_entity("Anne")
    with pytest.raises(KeyError, match=r"2 entity ids are called 'Same': c, d"):
        made.find_entity("Same")
    with pytest.raises(KeyError, match="Did you mean 'likes'"):
        made.find_relation("like")


def test_phrases():
    made = graph(relation_names={"likes": "is fond of"})
    phrases = [made.phrase(r) for r in range(5)]
    assert phrases == ["knows", "is fond of", "inverse of knows", "inverse of is fond of", "stay"]
    with pytest.raises(IndexError, match=r"0\.\.4"):
        made.phrase(5)
    assert inverse_phrase("member of") == "has member"
    assert inverse_phrase("has part") == "is part of"


def test_saved_and_opened(tmp_path):
    made = graph(
        valid_labelled=([("a", "knows", "b")], [0]),
        entity_names={"a": "Änna"},
        entity_texts={"b": "text"},
        name="toy",
        notes=["odd"],
    )
    opened = open_knowledge_graph(save_knowledge_graph(made, tmp_path / "graph"))
    for field in ("entities", "relations", "entity_names", "entity_texts", "name", "notes"):
        assert getattr(opened, field) == getattr(made, field)
    for field in ("train", "valid", "test", "valid_labelled", "valid_labels", "edge_triple"):
        assert np.array_equal(getattr(opened, field), getattr(made, field))
    assert opened.test_labelled is None


def test_a_damaged_folder_is_refused(tmp_path):
    path = save_knowledge_graph(graph(), tmp_path / "graph")
    (path / "train.npy").write_bytes(b"short")
    with pytest.raises(ValueError, match=r"train\.npy is truncated"):
        open_knowledge_graph(path)
    (path / "train.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"train\.npy is missing"):
        open_knowledge_graph(path)
    with pytest.raises(FileNotFoundError, match=r"no meta\.json"):
        open_knowledge_graph(tmp_path)


def test_bad_triples_are_refused():
    with pytest.raises(ValueError, match="no training triple"):
        from_triples([])
    with pytest.raises(ValueError, match="give each fact once"):
        from_triples([TRAIN[0], TRAIN[1], TRAIN[0]])
    with pytest.raises(ValueError, match=r"labels that are 1 .*or 0"):
        graph(test_labelled=(TEST, [2]))
    with pytest.raises(ValueError, match=r"holds 1 at position 0"):
        from_arrays([[0, 1, 0]], [], [], entities=["a", "b"], relations=["p"])
    with pytest.raises(ValueError, match="an id twice"):
        from_arrays([[0, 0, 0]], [], [], entities=["a", "a"], relations=["p"])
