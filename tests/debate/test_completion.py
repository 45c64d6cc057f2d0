"""Completion in the paper's protocol, and the count prior."""

from __future__ import annotations

import numpy as np
import pytest

from wikinav_jax.datasets.knowledge_graphs import load_knowledge_graph
from wikinav_jax.debate.completion import (
    as_given,
    candidate_objects,
    completion_task,
    paper_tasks,
)
from wikinav_jax.debate.priors import TrainCountPrior
from wikinav_jax.debate.scores import classify, fit_thresholds
from wikinav_jax.graph.triples import KnowledgeGraph, from_triples


def people() -> KnowledgeGraph:
    train = [
        ("ann", "job", "cook"),
        ("bob", "job", "cook"),
        ("bob", "job", "poet"),
        ("cat", "job", "spy"),
        ("ann", "likes", "bob"),
    ]
    return from_triples(train, [("cat", "job", "cook")], [("ann", "job", "poet")])


def test_candidates_are_objects_of_the_relation_less_other_answers():
    graph = people()
    job = graph.relations.index("job")
    names = [graph.entities[o] for o in candidate_objects(graph, job)]
    assert names == ["cook", "poet", "spy"]
    task = completion_task(graph, job)
    # ann is a cook already: only poet (right) and spy are ranked.
    assert [graph.entities[o] for o in task.candidates[:, 2]] == ["poet", "spy"]
    assert task.right.tolist() == [True, False]
    assert task.ranks(np.array([1.0, 2.0])).tolist() == [2.0]


def test_a_relation_can_be_asked_backwards():
    graph = people()
    job = graph.relations.index("job")
    task = completion_task(graph, job + graph.num_relations)
    assert graph.entities[task.queries[0, 0]] == "poet"
    assert [graph.entities[o] for o in task.candidates[:, 2]] == ["ann", "cat"]  # bob is known
    given = as_given(graph, task.candidates)
    assert given[0].tolist() == graph.test[0].tolist()
    assert as_given(graph, graph.train).tolist() == graph.train.tolist()


def test_a_relation_without_test_triples_is_refused():
    graph = people()
    with pytest.raises(ValueError, match="test has no triple of 'likes'"):
        completion_task(graph, graph.relations.index("likes"))


def test_the_prior_counts_training_triples():
    graph = people()
    cook, spy = graph.entities.index("cook"), graph.entities.index("spy")
    job = graph.relations.index("job")
    asked = np.array([[0, job, cook], [1, job, spy], [0, job, 0], [cook, job + 2, 0]])
    assert TrainCountPrior(graph)(asked).tolist() == [2, 1, 0, 1]


def test_graphs_without_paper_tasks_have_none():
    assert paper_tasks(people()) == []


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "accuracy", "roc_auc"),
    [("fb15k237", 0.671, 0.703), ("wn18rr", 0.605, 0.529), ("codex_s", 0.666, 0.742)],
)
def test_the_prior_on_the_published_labelled_triples(name, accuracy, roc_auc, real_data, tmp_path):
    graph = load_knowledge_graph(name, data_dir=real_data, cache_dir=tmp_path)
    prior = TrainCountPrior(graph)
    valid, valid_labels = graph.labelled("valid")
    test, test_labels = graph.labelled("test")
    threshold = fit_thresholds(prior(valid), valid_labels).overall
    found = classify(prior(test), test_labels, np.array(threshold))
    assert found.accuracy == pytest.approx(accuracy, abs=0.001)
    assert found.roc_auc == pytest.approx(roc_auc, abs=0.001)


@pytest.mark.data
def test_the_paper_tasks_of_the_public_graphs(real_data, tmp_path):
    graph = load_knowledge_graph("fb15k237", data_dir=real_data, cache_dir=tmp_path)
    tasks = {task.name: task for task in paper_tasks(graph)}
    sizes = {name: len(task.queries) for name, task in tasks.items()}
    assert sizes == {"profession": 1311, "nationality": 494, "religion": 127, "ethnicity": 251}
    for task in tasks.values():
        assert task.right.sum() == len(task.queries)
        known = graph.known.contain(task.candidates)
        assert known.sum() == len(task.queries)  # only the right ones are known
