"""Completion: tasks, ranks of a scorer that knows, and the single walker."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.debate.graphs import make_graph, tiny_config
from wikinav_jax.debate import complete
from wikinav_jax.debate.complete import all_entities_task, first_queries, rank_by
from wikinav_jax.debate.completion import completion_task
from wikinav_jax.debate.room import Room
from wikinav_jax.debate.walker import Walker

KG = make_graph()
CITIZEN = KG.find_relation("citizen of")


def test_all_entities_less_the_other_known_answers():
    task = all_entities_task(KG, 5, seed=0)
    assert len(task.queries) == 5
    for number, (subject, relation, obj) in enumerate(task.queries.tolist()):
        candidates = task.candidates[task.group == number]
        known = set(KG.known_objects(subject, relation).tolist()) - {obj}
        assert set(candidates[:, 2].tolist()) == set(range(KG.num_entities)) - known
        assert candidates[task.right[task.group == number], 2].tolist() == [obj]


def test_some_queries_are_drawn_by_the_seed():
    task = completion_task(KG, CITIZEN)
    few = first_queries(task, 4, seed=0)
    assert len(few.queries) == 4
    assert few.group.max() == 3
    assert few.right.sum() == 4
    rows = {tuple(row) for row in task.queries.tolist()}
    assert {tuple(row) for row in few.queries.tolist()} <= rows
    assert first_queries(task, 0, seed=0) is task
    np.testing.assert_array_equal(few.queries, first_queries(task, 4, seed=0).queries)


@pytest.mark.parametrize("relation", [CITIZEN, CITIZEN + KG.num_relations])
def test_a_scorer_that_knows_ranks_first_in_either_direction(relation):
    facts = {tuple(row) for row in KG.with_inverses(KG.test).tolist()}
    task = completion_task(KG, relation, name="some task")

    def oracle(triples: np.ndarray) -> np.ndarray:
        assert (triples[:, 1] == relation).all()  # asked in the direction of the query
        return np.array([float(tuple(row) in facts) for row in triples.tolist()])

    rows = rank_by([task], {"oracle": oracle}, KG, seed=0)
    figures = {row.metric: row.value for row in rows}
    assert {row.task for row in rows} == {"completion_some_task"}
    assert figures["hits@1"] == 1
    assert figures["mean_rank"] == 1


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> tuple[Walker, dict]:
    changes = {
        "walker.num_steps": 150,
        "train.queries_per_shard": 16,
        "train.entropy_decay": 0.98,
        "agents.dim": 8,
        "train.log_every": 50,
        "train.checkpoint_every": 100,
    }
    room = Room(tiny_config(**changes), tmp_path_factory.mktemp("walker"), KG)
    walker = Walker(room)
    return walker, walker.train()


def test_the_walker_finds_more_than_chance(walker):
    walker, params = walker
    task = completion_task(KG, CITIZEN)
    scores = walker.candidate_scores(params, task, 50)
    assert scores.max() <= 50
    trained = (1 / task.ranks(scores)).mean()
    start = walker.initial_state().params
    untrained = (1 / task.ranks(walker.candidate_scores(start, task, 50))).mean()
    assert trained > untrained


def test_a_finished_walker_is_only_read(walker):
    walker, params = walker
    again = walker.train()
    np.testing.assert_array_equal(
        params["walker"]["claim"]["kernel"], again["walker"]["claim"]["kernel"]
    )


def test_walks_never_take_the_querys_own_edge(walker):
    walker, params = walker
    facts = KG.train[KG.train[:, 1] == CITIZEN][:8]
    ends = walker.walk_ends(params, facts, 20)
    assert ends.shape == (8, 20)
    # The land of a person is two steps away: through the city.
    assert ((ends >= 0) & (ends < KG.num_entities)).all()


def test_a_query_that_is_asked_backwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Embeddings are asked in its direction; debates are about the fact as it is given."""
    room = Room(tiny_config(**{"evaluate.embeddings": ("transe",)}), tmp_path, KG)
    backwards = CITIZEN + KG.num_relations
    task = completion_task(KG, backwards, name="citizens")
    monkeypatch.setattr(complete, "paper_tasks", lambda kg: [task])
    asked = {}

    def record(name):
        def score(*arguments, **_):
            asked[name] = arguments[-1]
            scores = np.arange(len(arguments[-1]), dtype=float)
            return scores if name == "transe" else SimpleNamespace(probability=scores)

        return score

    monkeypatch.setattr(complete, "train_tables", lambda *arguments: None)
    monkeypatch.setattr(complete, "log_probabilities", record("transe"))
    monkeypatch.setattr(complete, "debate_claims", record("r2d2"))
    complete.completion_rows(room, {})
    np.testing.assert_array_equal(asked["transe"], task.candidates)
    assert (asked["r2d2"][:, 1] == CITIZEN).all()
    np.testing.assert_array_equal(asked["r2d2"][:, [2, 0]], task.candidates[:, [0, 2]])


def test_rows_of_all_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    changes = {
        "completion.rollouts": 2,
        "completion.all_entities": 3,
        "walker.enabled": True,
        "walker.num_steps": 2,
        "walker.rollouts": 4,
    }
    room = Room(tiny_config(**changes), tmp_path, KG)
    monkeypatch.setattr(
        complete, "paper_tasks", lambda kg: [completion_task(kg, CITIZEN, name="citizenship")]
    )
    rows = complete.completion_rows(room, room.initial_state().params)
    found = {(row.task, row.method) for row in rows if row.metric == "mrr"}
    tasks = ("completion_citizenship", "completion_all_entities")
    assert found == {(task, name) for task in tasks for name in ("r2d2", "prior", "minerva")}
