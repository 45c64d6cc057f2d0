import jax
import numpy as np
import pytest

from tests.navigation.toy import mesh_of, plain_features
from tests.toy import line_graph, one_node_graph, random_graph, ring_graph
from wikinav_jax.navigation.baselines import lookahead_scorer, uniform_scorer
from wikinav_jax.navigation.evaluate import (
    BASELINES,
    Method,
    baselines_for,
    evaluate,
    figures,
    normal_interval,
    wilson_interval,
)
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.rollout import Walks
from wikinav_jax.navigation.tasks import TASKS, Episodes
from wikinav_jax.navigation.walkers import BUDGET, SUCCESS
from wikinav_jax.reports.results import Row

FIELDS = [
    "system", "dataset", "split", "task", "method", "decoding",
    "metric", "value", "low", "high", "n", "seed",
]  # fmt: skip
HOW = {"system": "navigation", "dataset": "toy", "split": "eval", "seed": 0, "budget": 12}


def test_wilson_interval_by_the_published_example():
    # Newcombe (1998), table I: 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611.
    np.testing.assert_allclose(wilson_interval(81, 263), (0.2553, 0.3662), atol=5e-5)
    np.testing.assert_allclose(wilson_interval(0, 20), (0, 0.1611), atol=5e-5)
    low, high = wilson_interval(20, 20)
    assert (low, high) == (pytest.approx(1 - 0.1611, abs=5e-5), 1.0)
    assert wilson_interval(0, 0) == (0, 1)


def test_normal_interval_by_hand():
    low, high = normal_interval(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose([low, high], 2 + np.array([-1, 1]) * 1.95996 / np.sqrt(3), rtol=1e-5)
    assert normal_interval(np.array([0.0, 0.0, 1.0]), 0, 1)[0] == 0
    assert normal_interval(np.array([4.0])) == (4, 4)


def episodes_with(shortest: list[int]) -> Episodes:
    count = len(shortest)
    return Episodes(
        task=TASKS["multistep"],
        start=np.zeros(count, np.int32),
        target=np.ones(count, np.int32),
        shortest=np.array(shortest, np.int32),
        num_drawn=count + 3,
        num_excluded=3,
        num_cut_short=0,
    )


def walks_with(steps: list[int], outcome: list[int]) -> Walks:
    empty = np.zeros((len(steps), 1), np.int32)
    return Walks(np.array(outcome, np.int8), np.array(steps, np.int32), empty, empty)


def test_figures_by_hand():
    # Three successes with 2 of 2, 3 of 6 and 1 of 4 steps, and a failure.
    walks = walks_with([2, 6, 4, 100], [SUCCESS, SUCCESS, SUCCESS, BUDGET])
    found = {row["metric"]: row for row in figures(episodes_with([2, 3, 1, 5]), walks)}
    assert found["success"]["value"] == 0.75 and found["success"]["n"] == 4
    assert found["mean_steps"]["value"] == 4 and found["mean_steps"]["n"] == 3
    assert found["spl"]["value"] == pytest.approx((1 + 1 / 2 + 1 / 4 + 0) / 4)
    assert found["excluded"]["value"] == 3 and found["excluded"]["n"] == 7
    for metric in ("success", "mean_steps", "spl"):
        assert found[metric]["low"] < found[metric]["value"] < found[metric]["high"]


def test_without_successes_there_are_no_mean_steps():
    found = {row["metric"]: row for row in figures(episodes_with([2]), walks_with([9], [BUDGET]))}
    assert "mean_steps" not in found
    assert found["success"]["value"] == 0 and found["spl"]["value"] == 0


def test_rows_of_all_baselines_on_a_random_graph():
    graph = random_graph(60, 240)
    methods = [*BASELINES, Method("mine", "sample", uniform_scorer)]
    found = evaluate(
        graph,
        plain_features(graph),
        methods,
        mesh=mesh_of(),
        tasks=("5-step", "multistep"),
        num_episodes=32,
        slots=8,
        capacity=128,
        **HOW,
    )
    for row in found.rows:
        assert list(row) == FIELDS
        Row(**row)  # the report's own check
    lines = {(row["method"], row["decoding"]) for row in found.rows}
    assert lines == {
        ("random", "sample"),
        ("random", "dfs"),
        ("greedy", "argmax"),
        ("greedy", "no_revisit"),
        ("greedy", "dfs"),
        ("mine", "sample"),
    }
    # The same pairs and draws: a scorer like the random one does what the random one does.
    value = {
        (row["task"], row["method"], row["decoding"], row["metric"]): row["value"]
        for row in found.rows
    }
    for task in ("5-step", "multistep"):
        assert value[task, "mine", "sample", "spl"] == value[task, "random", "sample", "spl"]
        assert len(found.episodes[task]) == 32
        for method in methods:
            walks = found.walks[task, method.name, method.label]
            shortest = found.episodes[task].shortest
            assert (walks.steps[walks.success] >= shortest[walks.success]).all()


def test_one_device_and_four_give_the_same_rows():
    graph = random_graph(60, 240)
    vectors = np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)
    rows = [
        evaluate(
            graph,
            make_node_features(graph, vectors, mesh=mesh_of(devices)),
            [BASELINES[0], BASELINES[3]],
            mesh=mesh_of(devices),
            tasks=("10-step",),
            num_episodes=32,
            slots=8,
            capacity=128,
            **HOW,
        ).rows
        for devices in (1, 4)
    ]
    assert rows[0] == rows[1]


def test_a_budget_of_zero_gives_rows_of_failures():
    graph = ring_graph(6)
    found = evaluate(
        graph,
        plain_features(graph),
        [BASELINES[0]],
        mesh=mesh_of(),
        tasks=("5-step",),
        num_episodes=10,
        **{**HOW, "budget": 0},
    )
    assert {row["metric"]: row["value"] for row in found.rows}["success"] == 0


def test_lookahead_is_a_baseline_where_the_features_have_a_neighbourhood():
    # 0 -> 1 -> 3 and 0 -> 2 -> 4: only lookahead tells at 0 that 1 leads to 3.
    graph = line_graph(5)
    features = make_node_features(graph, np.eye(5, dtype=np.float32), mesh=mesh_of(), hops=2)
    assert baselines_for(plain_features(graph)) == BASELINES
    names = [(method.name, method.decoding) for method in baselines_for(features)[len(BASELINES) :]]
    assert names == [("greedy_lookahead", "argmax"), ("greedy_lookahead", "no_revisit")]
    with pytest.raises(ValueError, match="needs neighbourhood features"):
        jax.eval_shape(lambda: lookahead_scorer({}, plain_features(graph), None))


def test_requests_that_cannot_be():
    graph = ring_graph(6)
    features = plain_features(graph)
    with pytest.raises(ValueError, match=r"task '5step' is not one of .* Did you mean '5-step'"):
        evaluate(graph, features, BASELINES, mesh=mesh_of(), tasks=("5step",), **HOW)
    with pytest.raises(ValueError, match="two methods have the same name"):
        evaluate(graph, features, BASELINES[:1] * 2, mesh=mesh_of(), **HOW)
    with pytest.raises(ValueError, match="decoding='beams'"):
        Method("mine", "beams", uniform_scorer)
    with pytest.raises(ValueError, match="1 nodes and no links"):
        evaluate(one_node_graph(), features, BASELINES, mesh=mesh_of(), **HOW)
