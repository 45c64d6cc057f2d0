"""Distances: the hand-made table, an independent library, and both backends alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from tests.toy import (
    TOY_DISTANCES,
    hub_graph,
    line_graph,
    one_node_graph,
    random_graph,
    toy_graph,
)
from wikinav_jax.graph.csr import Csr
from wikinav_jax.graph.distances import distances_from, distances_to, shortest_distances

both_backends = pytest.mark.parametrize("backend", ["numpy", "numba"])
ALL_PAIRS = np.divmod(np.arange(64), 8)


@both_backends
@pytest.mark.parametrize("cutoff", [None, 0, 1, 2, 3, 20])
def test_toy(backend, cutoff):
    graph = toy_graph()
    expected = TOY_DISTANCES.copy()
    if cutoff is not None:
        expected[expected > cutoff] = -1
    pairs = shortest_distances(graph, *ALL_PAIRS, cutoff=cutoff, backend=backend)
    assert pairs.dtype == np.int32
    np.testing.assert_array_equal(pairs.reshape(8, 8), expected)
    nodes = np.arange(8)
    np.testing.assert_array_equal(
        distances_from(graph, nodes, cutoff=cutoff, backend=backend), expected
    )
    np.testing.assert_array_equal(
        distances_to(graph, nodes, cutoff=cutoff, backend=backend), expected.T
    )


@both_backends
@pytest.mark.parametrize("num_edges", [200, 600, 2_000])
def test_agrees_with_scipy_on_random_graphs(backend, num_edges):
    graph = random_graph(200, num_edges, seed=num_edges)
    matrix = csr_matrix((np.ones(num_edges), graph.indices, graph.indptr), shape=(200, 200))
    expected = shortest_path(matrix, unweighted=True)
    expected[np.isinf(expected)] = -1
    sources, targets = np.divmod(np.arange(200 * 200), 200)
    found = shortest_distances(graph, sources, targets, backend=backend, num_threads=3)
    np.testing.assert_array_equal(found.reshape(200, 200), expected)
    np.testing.assert_array_equal(
        distances_from(graph, np.arange(200), backend=backend, num_threads=2), expected
    )


@both_backends
def test_a_long_line_and_its_cutoff(backend):
    graph = line_graph(300)
    sources, targets = np.array([0, 299, 0]), np.array([299, 0, 100])
    for cutoff, expected in ((None, [299, -1, 100]), (299, [299, -1, 100]), (298, [-1, -1, 100])):
        found = shortest_distances(graph, sources, targets, cutoff=cutoff, backend=backend)
        assert found.tolist() == expected


@both_backends
def test_hub_and_single_node(backend):
    hub = hub_graph(50_000)
    found = shortest_distances(hub, np.array([1, 0, 1]), np.array([50_000, 7, 0]), backend=backend)
    assert found.tolist() == [2, 1, 1]
    alone = one_node_graph()
    assert shortest_distances(alone, np.array([0]), np.array([0]), backend=backend).tolist() == [0]


@both_backends
def test_no_pairs(backend):
    none = np.array([], int)
    assert shortest_distances(toy_graph(), none, none, backend=backend).shape == (0,)
    assert distances_from(toy_graph(), none, backend=backend).shape == (0, 8)


def test_a_plain_csr_is_reversed_on_the_way():
    graph = toy_graph()
    csr = Csr(graph.indptr, graph.indices, graph.edge_kind, graph.anchor)
    np.testing.assert_array_equal(shortest_distances(csr, *ALL_PAIRS).reshape(8, 8), TOY_DISTANCES)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"sources": np.array([8])}, r"sources holds 8 at position 0; it must lie in 0\.\.7"),
        ({"targets": np.array([-1])}, "targets holds -1"),
        ({"targets": np.array([1, 2])}, r"targets must have shape \[1\], got \[2\]"),
        ({"cutoff": -1}, "cutoff=-1 must be at least 0"),
        ({"backend": "gpu"}, "backend='gpu' is unknown"),
    ],
)
def test_bad_arguments(kwargs, message):
    arguments = {"sources": np.array([0]), "targets": np.array([1]), **kwargs}
    with pytest.raises(ValueError, match=message):
        shortest_distances(toy_graph(), **arguments)
