"""Shortest paths: all of them, equally often, and nothing else."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.toy import (
    TOY_DISTANCES,
    graph_from_edges,
    line_graph,
    one_node_graph,
    random_graph,
    toy_graph,
)
from wikinav_jax.graph.csr import Csr, edge_sources
from wikinav_jax.graph.distances import shortest_distances
from wikinav_jax.graph.shortest_paths import sample_distant_paths, sample_shortest_paths

both_backends = pytest.mark.parametrize("backend", ["numpy", "numba"])
# 0 -> 3 in two steps: over 1 (two parallel links first), over 2; then on to 4; 5 -> 0 comes late.
DIAMOND = [(0, 1), (0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 0)]


def assert_real(graph, walks) -> None:
    """Every step taken is a link of the graph, and every row is as Trajectories promises."""
    source, taken = edge_sources(graph), walks.mask
    assert walks.nodes.dtype == np.int32
    assert walks.edges.dtype == np.int64
    np.testing.assert_array_equal(source[walks.edges[taken]], walks.nodes[:, :-1][taken])
    np.testing.assert_array_equal(graph.indices[walks.edges[taken]], walks.nodes[:, 1:][taken])
    assert (walks.edges[~taken] == -1).all()
    stays = walks.nodes[:, 1:] == walks.nodes[:, :-1]
    assert stays[~taken].all()
    assert not (~taken[:, :-1] & taken[:, 1:]).any()


@both_backends
def test_toy_pairs_are_as_far_as_they_are(backend):
    graph = toy_graph()
    sources, targets = np.divmod(np.arange(64), 8)
    rng = np.random.default_rng(0)
    walks = sample_shortest_paths(graph, sources, targets, 3, rng, backend=backend)
    assert_real(graph, walks)
    expected = TOY_DISTANCES.ravel()
    reached = (expected >= 0) & (expected <= 3)
    np.testing.assert_array_equal(walks.lengths, np.where(reached, expected, 0))
    np.testing.assert_array_equal(walks.nodes[:, 0], sources)
    np.testing.assert_array_equal(walks.nodes[reached, -1], targets[reached])


@both_backends
def test_all_shortest_paths_are_equally_likely(backend):
    graph = graph_from_edges(DIAMOND, 6)
    rng = np.random.default_rng(1)
    many = np.zeros(3_000, int)
    walks = sample_shortest_paths(graph, many, many + 4, 5, rng, backend=backend)
    assert_real(graph, walks)
    paths = Counter(tuple(row[:3]) for row in walks.edges.tolist())
    assert len(paths) == 3  # over either parallel link, or over 2
    assert min(paths.values()) > 900  # 1,000 each; 900 is four deviations off


@both_backends
def test_agrees_with_distances_on_a_random_graph(backend):
    graph = random_graph(60, 150, seed=3)
    sources, targets = np.divmod(np.arange(0, 3_600, 7), 60)
    expected = shortest_distances(graph, sources, targets, cutoff=6)
    rng = np.random.default_rng(2)
    walks = sample_shortest_paths(graph, sources, targets, 6, rng, backend=backend)
    assert_real(graph, walks)
    np.testing.assert_array_equal(walks.lengths, np.maximum(expected, 0))
    found = expected > 0
    np.testing.assert_array_equal(walks.nodes[found, -1], targets[found])


@both_backends
def test_distant_nodes_are_uniform_over_distances_then_nodes(backend):
    graph = graph_from_edges(DIAMOND, 6)
    rng = np.random.default_rng(3)
    walks = sample_distant_paths(
        graph, np.zeros(10, int), 1, 9, rng, paths_per_start=400, backend=backend
    )
    assert_real(graph, walks)
    assert walks.nodes.shape == (4_000, 10)
    ends = Counter(zip(walks.lengths.tolist(), walks.nodes[:, -1].tolist(), strict=True))
    # Distances 1 to 4 (the link back to 0 leads nowhere new): a quarter each.
    share = {(1, 1): 1 / 8, (1, 2): 1 / 8, (2, 3): 1 / 4, (3, 4): 1 / 4, (4, 5): 1 / 4}
    assert ends.keys() == share.keys()
    for end, wanted in share.items():
        assert ends[end] / 4_000 == pytest.approx(wanted, abs=0.03)


@both_backends
def test_distant_paths_are_shortest(backend):
    graph = random_graph(60, 150, seed=4)
    starts = np.arange(60)
    rng = np.random.default_rng(4)
    walks = sample_distant_paths(graph, starts, 2, 5, rng, paths_per_start=3, backend=backend)
    assert_real(graph, walks)
    np.testing.assert_array_equal(walks.nodes[:, 0], np.repeat(starts, 3))
    real = walks.lengths > 0
    assert real.any()
    assert set(walks.lengths[real]) <= {2, 3, 4, 5}
    expected = shortest_distances(graph, walks.nodes[:, 0], walks.nodes[:, -1])
    np.testing.assert_array_equal(walks.lengths, expected)


@both_backends
def test_what_is_not_there(backend):
    rng = np.random.default_rng(5)
    far = sample_distant_paths(line_graph(4), np.array([0, 3]), 2, 9, rng, backend=backend)
    assert far.lengths[1] == 0  # the dead end reaches nothing
    assert far.lengths[0] in (2, 3)
    alone = one_node_graph()
    nothing = np.array([0])
    for walks in (
        sample_shortest_paths(alone, nothing, nothing, 3, rng, backend=backend),
        sample_distant_paths(alone, nothing, 1, 3, rng, backend=backend),
    ):
        assert walks.lengths.tolist() == [0]
        assert walks.nodes.tolist() == [[0, 0, 0, 0]]
    none = np.array([], int)
    assert sample_shortest_paths(alone, none, none, 2, rng, backend=backend).nodes.shape == (0, 3)


def test_counts_of_very_many_paths_stay_finite():
    # 600 diamonds in a row have 2^600 shortest paths; their square is no float.
    links = [
        (3 * i + a, 3 * i + b) for i in range(600) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))
    ]
    graph = graph_from_edges(links, 1_801)
    walks = sample_shortest_paths(
        graph, np.array([0]), np.array([1_800]), 1_200, np.random.default_rng(6)
    )
    assert_real(graph, walks)
    assert walks.lengths.tolist() == [1_200]


def test_the_generator_decides_and_a_plain_csr_will_do():
    graph = random_graph(40, 160, seed=5)
    csr = Csr(graph.indptr, graph.indices, graph.edge_kind, graph.anchor)
    starts = np.arange(40)
    first, second = (
        sample_distant_paths(part, starts, 1, 6, np.random.default_rng(7)) for part in (graph, csr)
    )
    np.testing.assert_array_equal(first.edges, second.edges)
    other = sample_distant_paths(graph, starts, 1, 6, np.random.default_rng(8))
    assert (other.edges != first.edges).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sources": np.array([8])}, "sources holds 8"),
        ({"targets": np.array([0, 1])}, r"targets must have shape \[1\]"),
        ({"num_steps": -1}, "a path of -1 steps"),
        ({"num_steps": 70_000}, "a path of 70000 steps"),
    ],
)
def test_bad_pairs(change, message):
    arguments = {
        "sources": np.array([0]),
        "targets": np.array([1]),
        "num_steps": 3,
        "rng": np.random.default_rng(0),
    }
    with pytest.raises(ValueError, match=message):
        sample_shortest_paths(toy_graph(), **{**arguments, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": np.array([-1])}, "starts holds -1"),
        ({"min_steps": 0}, "a path of 0 steps"),
        ({"max_steps": 1}, "a path of 1 steps is out of bounds: give 2"),
        ({"paths_per_start": 0}, "paths_per_start=0"),
    ],
)
def test_bad_starts(change, message):
    arguments = {"starts": np.array([0]), "min_steps": 2, "max_steps": 4}
    with pytest.raises(ValueError, match=message):
        sample_distant_paths(toy_graph(), rng=np.random.default_rng(0), **{**arguments, **change})
