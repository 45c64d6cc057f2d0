"""Walks follow edges, end at dead ends, and have the exact distribution on both backends."""

from __future__ import annotations

import importlib.util
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from tests.toy import (
    TOY_DEAD_END,
    TOY_ISOLATED,
    graph_from_edges,
    hub_graph,
    line_graph,
    one_node_graph,
    random_graph,
    ring_graph,
    toy_graph,
)
from wikinav_jax.graph.walks import (
    Trajectories,
    choose_backend,
    sample_forward_walks,
    sample_reverse_walks,
)

BACKENDS = ["numpy", "numba"]
both_backends = pytest.mark.parametrize("backend", BACKENDS)
both_modes = pytest.mark.parametrize("non_backtracking", [False, True])


def walk_probabilities(graph, start, num_steps, non_backtracking):
    """The exact probability of every walk from `start`, keyed by its edge slots (-1: none)."""
    found = {}

    def follow(node, before, slots, probability):
        if len(slots) == num_steps:
            found[slots] = found.get(slots, 0) + probability
            return
        options = list(range(graph.indptr[node], graph.indptr[node + 1]))
        if non_backtracking:
            forward = [slot for slot in options if graph.indices[slot] != before]
            options = forward or options
        if not options:
            follow(node, before, (*slots, -1), probability)
        for slot in options:
            follow(int(graph.indices[slot]), node, (*slots, slot), probability / len(options))

    follow(start, None, (), 1.0)
    return found


def p_value(walks: Trajectories, probabilities) -> float:
    """Chi-square test that the walks come from this distribution over whole edge sequences."""
    keys = {slots: number for number, slots in enumerate(probabilities)}
    assert len(keys) > 1
    observed = np.zeros(len(keys))
    for slots in walks.edges.tolist():
        observed[keys[tuple(slots)]] += 1
    expected = np.array(list(probabilities.values())) * len(walks.edges)
    assert expected.min() > 5
    return stats.chisquare(observed, expected).pvalue


def assert_walks_follow_edges(graph, walks, starts):
    np.testing.assert_array_equal(walks.nodes[:, 0], starts)
    np.testing.assert_array_equal(walks.mask, walks.edges >= 0)
    np.testing.assert_array_equal(
        walks.mask, np.arange(walks.mask.shape[1]) < walks.lengths[:, None]
    )
    source, target = walks.nodes[:, :-1], walks.nodes[:, 1:]
    taken = walks.edges[walks.mask]
    np.testing.assert_array_equal(graph.indices[taken], target[walks.mask])
    assert (graph.indptr[source[walks.mask]] <= taken).all()
    assert (taken < graph.indptr[source[walks.mask] + 1]).all()
    np.testing.assert_array_equal(source[~walks.mask], target[~walks.mask])
    assert (graph.out_degree[source[~walks.mask]] == 0).all()


@both_backends
@both_modes
@pytest.mark.parametrize("start", [1, 4])
def test_distribution_is_exact(backend, non_backtracking, start):
    graph = toy_graph()
    starts = np.full(40_000, start)
    walks = sample_forward_walks(
        graph, starts, 4, np.random.default_rng(start), backend=backend,
        non_backtracking=non_backtracking,
    )  # fmt: skip
    assert_walks_follow_edges(graph, walks, starts)
    assert p_value(walks, walk_probabilities(graph, start, 4, non_backtracking)) > 0.001


def test_the_test_of_the_distribution_can_fail():
    graph = toy_graph()
    walks = sample_forward_walks(graph, np.full(40_000, 4), 1, np.random.default_rng(0))
    probabilities = walk_probabilities(graph, 4, 1, False)
    assert p_value(walks, probabilities) > 0.001
    first, second, third = probabilities
    skewed = {first: 0.32, second: 0.33, third: 0.35}
    assert p_value(walks, skewed) < 0.001


@both_backends
def test_parallel_edges_count_as_often_as_they_occur(backend):
    graph = graph_from_edges([(0, 1), (0, 1), (0, 2), (1, 0), (1, 0), (1, 2)], 3)
    for mode in (False, True):
        walks = sample_forward_walks(
            graph, np.zeros(20_000, int), 3, np.random.default_rng(5), backend=backend,
            non_backtracking=mode,
        )  # fmt: skip
        assert p_value(walks, walk_probabilities(graph, 0, 3, mode)) > 0.001


@both_backends
@both_modes
def test_reverse_distribution_is_exact(backend, non_backtracking):
    graph = toy_graph()
    target = 5
    walks = sample_reverse_walks(
        graph, np.full(20_000, target), 3, np.random.default_rng(6), backend=backend,
        non_backtracking=non_backtracking,
    )  # fmt: skip
    assert (walks.nodes[:, -1] == target).all()
    reverse = graph.reverse()
    backward = walk_probabilities(reverse, target, 3, non_backtracking)
    forward = {
        tuple(int(reverse.edge[slot]) for slot in reversed(slots)): probability
        for slots, probability in backward.items()
    }
    assert p_value(walks, forward) > 0.001
    np.testing.assert_array_equal(graph.indices[walks.edges], walks.nodes[:, 1:])


@both_backends
def test_reverse_walks_that_run_out_of_in_edges_are_short_and_read_forwards(backend):
    graph = line_graph(4)
    walks = sample_reverse_walks(
        graph, np.array([3, 1, 0]), 2, np.random.default_rng(0), backend=backend
    )
    assert walks.nodes.tolist() == [[1, 2, 3], [0, 1, 1], [0, 0, 0]]
    assert walks.edges.tolist() == [[1, 2], [0, -1], [-1, -1]]
    assert walks.mask.tolist() == [[True, True], [True, False], [False, False]]


@both_backends
def test_a_line_has_one_walk_and_its_end_is_dead(backend):
    walks = sample_forward_walks(
        line_graph(4), np.array([0, 2, 3]), 4, np.random.default_rng(0), backend=backend
    )
    assert walks.nodes.tolist() == [[0, 1, 2, 3, 3], [2, 3, 3, 3, 3], [3, 3, 3, 3, 3]]
    assert walks.edges.tolist() == [[0, 1, 2, -1], [2, -1, -1, -1], [-1, -1, -1, -1]]
    assert walks.lengths.tolist() == [3, 1, 0]
    assert walks.nodes.dtype == np.int32
    assert walks.edges.dtype == np.int64
    assert walks.mask.dtype == np.bool_


@both_backends
@both_modes
def test_dead_ends_isolated_nodes_and_a_single_node(backend, non_backtracking):
    for graph, start in (
        (toy_graph(), TOY_DEAD_END),
        (toy_graph(), TOY_ISOLATED),
        (one_node_graph(), 0),
    ):
        walks = sample_forward_walks(
            graph, np.array([start]), 3, np.random.default_rng(0), backend=backend,
            non_backtracking=non_backtracking,
        )  # fmt: skip
        assert walks.nodes.tolist() == [[start] * 4]
        assert walks.edges.tolist() == [[-1] * 3]
        assert not walks.mask.any()


@both_backends
def test_every_link_of_a_hub_is_equally_likely(backend):
    graph = hub_graph(50_000)
    walks = sample_forward_walks(
        graph, np.zeros(100_000, int), 3, np.random.default_rng(2), backend=backend
    )
    for step in (1, 3):
        leaves = walks.nodes[:, step]
        assert leaves.min() >= 1
        assert leaves.max() > 49_900
        counts = np.bincount((leaves - 1) // 500, minlength=100)
        assert stats.chisquare(counts).pvalue > 0.001
    assert (walks.nodes[:, 2] == 0).all()


@both_backends
def test_a_walk_turns_round_only_where_every_edge_leads_back(backend):
    hub = hub_graph(50_000)
    starts = np.arange(1, 2_001)
    walks = sample_forward_walks(
        hub, starts, 4, np.random.default_rng(3), backend=backend, non_backtracking=True
    )
    assert (walks.nodes[:, [1, 3]] == 0).all()  # a leaf has no other way
    assert (walks.nodes[:, 2] != starts).all()
    assert (walks.nodes[:, 4] != walks.nodes[:, 2]).all()
    assert walks.mask.all()

    ring = ring_graph(10)
    walks = sample_forward_walks(
        ring, np.zeros(500, int), 10, np.random.default_rng(4), backend=backend,
        non_backtracking=True,
    )  # fmt: skip
    turns = np.diff(walks.nodes, axis=1) % 10
    assert (turns == turns[:, :1]).all()
    assert set(turns[:, 0]) == {1, 9}


@both_backends
@both_modes
def test_large_batches_follow_edges(backend, non_backtracking):
    graph = random_graph(2_000, 5_000, seed=1)
    starts = np.random.default_rng(0).integers(0, 2_000, 20_011)
    walks = sample_forward_walks(
        graph, starts, 6, np.random.default_rng(1), backend=backend,
        non_backtracking=non_backtracking,
    )  # fmt: skip
    assert_walks_follow_edges(graph, walks, starts)
    # Walkers are independent: distinct walkers from one start rarely share all six steps.
    assert len(np.unique(walks.nodes[:, 1:], axis=0)) > 10_000


@both_backends
def test_draws_of_neighbouring_walkers_and_steps_are_independent(backend):
    ring = ring_graph(10)
    walks = sample_forward_walks(
        ring, np.zeros(4_000, int), 8, np.random.default_rng(8), backend=backend
    )
    # Which of the two edges was taken, as +1 or -1: uncorrelated at every small lag.
    coin = 1.0 - 2.0 * (walks.edges % 2)
    for walker_lag in range(-2, 3):
        for step_lag in range(3):
            if (walker_lag, step_lag) == (0, 0):
                continue
            other = np.roll(coin, -walker_lag, axis=0)[:, step_lag:]
            products = coin[:, : 8 - step_lag] * other
            z = products.sum() / np.sqrt(products.size)
            assert abs(z) < 4, (walker_lag, step_lag, z)


@both_backends
def test_walks_are_a_function_of_the_seed(backend):
    graph = random_graph(100, 1_000)

    def sample(seed):
        rng = np.random.default_rng([seed, 7])
        starts = np.arange(100)
        first = sample_forward_walks(graph, starts, 5, rng, backend=backend)
        second = sample_forward_walks(graph, starts, 5, rng, backend=backend)
        return first.edges.tolist(), second.edges.tolist()

    assert sample(1) == sample(1)
    assert sample(1)[0] != sample(2)[0]
    assert sample(1)[0] != sample(1)[1]


def test_threads_do_not_disturb_each_other():
    graph = random_graph(1_000, 10_000)
    starts = np.arange(1_000)

    def sample(seed):
        return sample_forward_walks(graph, starts, 20, np.random.default_rng(seed)).edges

    with ThreadPoolExecutor(4) as pool:
        for seed, edges in enumerate(pool.map(sample, range(8))):
            np.testing.assert_array_equal(edges, sample(seed))


@both_backends
def test_no_walks_and_no_steps(backend):
    graph = toy_graph()
    walks = sample_forward_walks(
        graph, np.array([], int), 3, np.random.default_rng(0), backend=backend
    )
    assert walks.nodes.shape == (0, 4)
    walks = sample_forward_walks(graph, np.array([2]), 0, np.random.default_rng(0), backend=backend)
    assert walks.nodes.tolist() == [[2]]
    assert walks.edges.shape == walks.mask.shape == (1, 0)
    walks = sample_reverse_walks(graph, np.array([2]), 0, np.random.default_rng(0), backend=backend)
    assert walks.nodes.tolist() == [[2]]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"starts": np.array([0, 8])}, r"starts holds 8 at position 1; it must lie in 0\.\.7"),
        ({"starts": np.array([-1])}, "starts holds -1"),
        ({"starts": np.array([0.0])}, "starts must hold integers, got dtype float64"),
        ({"starts": np.array(3)}, r"starts must have shape \[any\], got \[\]"),
        ({"num_steps": -1}, "num_steps=-1 must be at least 0"),
        ({"backend": "cuda"}, "backend='cuda' is unknown; use 'auto', 'numba' or 'numpy'"),
    ],
)
def test_bad_arguments(kwargs, message):
    arguments = {"starts": np.array([0]), "num_steps": 2, **kwargs}
    with pytest.raises(ValueError, match=message):
        sample_forward_walks(toy_graph(), rng=np.random.default_rng(0), **arguments)


def test_numpy_stands_in_where_numba_is_missing(monkeypatch):
    assert choose_backend("auto") == "numba"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert choose_backend("auto") == "numpy"
    with pytest.raises(ImportError, match="pip install numba"):
        choose_backend("numba")
