import json

import numpy as np
import pytest

from tests.navigation.toy import liking_scorer, mesh_of, plain_features, tree_graph
from tests.toy import TOY_DEAD_END, TOY_TEXTS, hub_graph, line_graph, random_graph, toy_graph
from wikinav_jax.navigation.baselines import cosine_scorer, uniform_scorer
from wikinav_jax.navigation.evaluate import Method, evaluate
from wikinav_jax.navigation.explain import (
    NUM_ALTERNATIVES,
    example_walks,
    explain_walk,
    walk_inputs,
)
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.types import AT_START, NO_NODE
from wikinav_jax.reports.walks import parse_walk

UNIFORM = Method("random", "argmax", uniform_scorer)


def liking(order: list[int], decoding: str = "argmax") -> Method:
    values = np.zeros(len(order), np.float32)
    values[order] = -np.arange(len(order))
    return Method("taste", decoding, liking_scorer, values)


def explain(graph, method, start, target, **how):
    features = plain_features(graph)
    return explain_walk(graph, features, method, start, target, mesh=mesh_of(), **how)


def test_a_walk_is_laid_open_step_by_step():
    graph = toy_graph()
    # Café crème (5) from the first block of Cat (0): 0 -> 3 -> 4 -> 5, by "next" in between.
    walk = explain(graph, liking([5, 4, 3, 2, 1, 0, 6, 7]), 0, 5)
    json.dumps(walk, allow_nan=False)
    parsed = parse_walk(walk)
    assert parsed.is_success and walk["shortest"] == 2
    assert [node for node, _ in parsed.route] == [0, 3, 4, 5]
    first = walk["steps"][0]
    assert (first["title"], first["section"], first["text"]) == ("Cat", "", TOY_TEXTS[0])
    assert [item["kind"] for item in first["alternatives"]] == ["hyperlink", "next"]
    link = first["alternatives"][first["chosen"]]
    assert link["node"] == 3 and link["title"] == "Mouse"
    start, end = link["anchor"]
    assert TOY_TEXTS[0][start:end] == "mouse"
    assert first["alternatives"][1]["anchor"] is None
    # exp(-2) against exp(-4)
    assert link["probability"] == pytest.approx(1 / (1 + np.exp(-2)), rel=1e-5)
    assert [step["num_alternatives"] for step in walk["steps"]] == [2, 2, 3]
    assert walk["steps"][2]["alternatives"][-1]["visited"] is False
    back = [item for item in walk["steps"][1]["alternatives"] if item["node"] == 0]
    assert back[0]["visited"] is True


def test_cosines_are_those_of_the_features():
    graph = toy_graph()
    vectors = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    features = make_node_features(graph, vectors, mesh=mesh_of())
    walk = explain_walk(graph, features, UNIFORM, 0, 5, mesh=mesh_of(), budget=3)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for step in walk["steps"]:
        for item in step["alternatives"]:
            assert item["cosine"] == pytest.approx(unit[item["node"]] @ unit[5], abs=1e-5)


def test_failures_say_why():
    graph = toy_graph()
    walk = explain(graph, liking([6, 5, 4, 3, 2, 1, 0, 7]), 4, 0)
    assert walk["outcome"] == "failure" and walk["steps"][-1]["chosen"] is None
    assert walk["steps"][-1]["node"] == TOY_DEAD_END
    assert "has no links to follow" in walk["reason"] and "never came nearer" in walk["reason"]
    parse_walk(walk)

    lost = explain(graph, UNIFORM, 7, 0)
    assert lost["shortest"] is None and lost["steps"][0]["num_alternatives"] == 0
    assert "no path led from the start to the target" in lost["reason"]
    parse_walk(lost)

    spent = explain(line_graph(12), UNIFORM, 0, 11, budget=9)
    assert spent["reason"] == (
        "the budget of 9 steps was spent; it came within 2 links of the target after 9 steps, at "
        "#9 ‘Article 9’"
    )
    assert len(spent["steps"]) == 9
    parse_walk(spent)


def test_a_budget_of_zero_explains_nothing_but_the_failure():
    walk = explain(line_graph(5), UNIFORM, 0, 3, budget=0)
    assert walk["outcome"] == "failure" and walk["steps"] == []
    parse_walk(walk)


def test_many_alternatives_are_cut_to_the_best_and_the_chosen_one():
    graph = hub_graph(300)
    order = np.arange(301)[::-1].tolist()  # likes 300 best
    walk = explain(graph, liking(order, "no_revisit"), 300, 299)
    hub = walk["steps"][1]
    assert hub["num_alternatives"] == 300 and len(hub["alternatives"]) == NUM_ALTERNATIVES
    # Link 300 is the most probable but has been visited: 299 is second, and chosen.
    assert [item["node"] for item in hub["alternatives"]] == list(range(300, 292, -1))
    assert hub["alternatives"][hub["chosen"]]["node"] == 299
    assert hub["alternatives"][0]["visited"] is True

    unlikely = explain(graph, Method("random", "sample", uniform_scorer), 1, 2, budget=2)
    hub = unlikely["steps"][1]
    assert len(hub["alternatives"]) == NUM_ALTERNATIVES
    assert all(item["probability"] == pytest.approx(1 / 300) for item in hub["alternatives"])


def test_what_is_explained_is_what_was_scored():
    graph = random_graph(60, 240, seed=3)
    features = plain_features(graph)
    methods = [Method("greedy", "no_revisit", cosine_scorer)]
    evaluation = evaluate(
        graph,
        features,
        methods,
        mesh=mesh_of(),
        system="s",
        dataset="d",
        split="eval",
        seed=0,
        tasks=("multistep",),
        num_episodes=32,
        budget=12,
        slots=8,
        capacity=128,
    )
    walks = evaluation.walks["multistep", "greedy", "no_revisit"]
    told = example_walks(
        graph, features, methods[0], evaluation, "multistep", budget=12, num_successes=5
    )
    outcomes = [walk["outcome"] for walk in told]
    assert outcomes == ["success"] * 5 + ["failure"] * 4
    routes = {tuple(path[path >= 0]) for path in walks.path}
    for walk in told:
        parsed = parse_walk(walk)
        assert tuple(node for node, _ in parsed.route) in routes
        for step in walk["steps"]:
            if step["chosen"] is None:
                assert step["num_alternatives"] == 0
                continue
            # argmax among the unvisited, else among all
            fresh = [item for item in step["alternatives"] if not item["visited"]]
            best = max(fresh or step["alternatives"], key=lambda item: item["probability"])
            chosen = step["alternatives"][step["chosen"]]
            assert chosen["probability"] == pytest.approx(best["probability"], rel=1e-5)
    again = example_walks(
        graph, features, methods[0], evaluation, "multistep", budget=12, num_successes=5
    )
    assert told == again


def test_walk_inputs_repeat_what_the_walker_saw():
    graph = toy_graph()
    # 0 -next-> 1 -next-> 2 -previous-> 1
    inputs = walk_inputs(graph, np.array([0, 1, 2, 1]), np.array([1, 2, 1]), 6)
    decisions = inputs.decisions
    assert decisions.node[:3].tolist() == [0, 1, 2]
    assert decisions.previous[:3].tolist() == [NO_NODE, 0, 1]
    assert decisions.arrived_by[:3].tolist() == [AT_START, 2, 2]
    assert decisions.run[:3].tolist() == [0, 1, 2]
    assert decisions.step[:3].tolist() == [0, 1, 2]
    assert decisions.target[:3].tolist() == [6, 6, 6]
    actions = inputs.actions
    at_two = np.flatnonzero(actions.valid & (actions.decision == 2))
    assert actions.node[at_two].tolist() == [3, 1] and actions.visits[at_two].tolist() == [0, 1]


def test_requests_that_cannot_be_explained():
    with pytest.raises(ValueError, match="start and target are the same block, #1 ‘Article 1’"):
        explain(line_graph(3), UNIFORM, 1, 1)
    with pytest.raises(ValueError, match="decoding='dfs' does not follow one link after the other"):
        explain(tree_graph(), Method("greedy", "dfs", cosine_scorer), 0, 5)
