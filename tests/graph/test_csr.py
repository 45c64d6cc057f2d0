"""Edge lists to sorted rows and back."""

from __future__ import annotations

import numpy as np
import pytest

from wikinav_jax.graph.csr import check_num_nodes, csr_from_edges, edge_sources, reverse_csr


def test_edges_are_sorted_by_source_and_keep_their_order_within_it():
    csr = csr_from_edges(
        4,
        np.array([2, 0, 2, 0]),
        np.array([1, 3, 0, 1]),
        np.array([0, 1, 2, 3]),
        np.array([[1, 2], [3, 4], [5, 6], [7, 8]]),
    )
    assert csr.indptr.tolist() == [0, 2, 2, 4, 4]
    assert csr.indices.tolist() == [3, 1, 1, 0]
    assert csr.edge_kind.tolist() == [1, 3, 0, 2]
    assert csr.anchor.tolist() == [[3, 4], [7, 8], [1, 2], [5, 6]]
    dtypes = [array.dtype for array in csr]
    assert dtypes == [np.int64, np.int32, np.uint8, np.uint16]
    assert not csr.indices.flags.writeable
    assert edge_sources(csr).tolist() == [0, 0, 2, 2]


def test_no_edges_give_empty_rows():
    csr = csr_from_edges(2, np.array([]), np.array([]))
    assert csr.indptr.tolist() == [0, 0, 0]
    assert csr.indices.shape == (0,)
    assert csr.anchor.shape == (0, 2)


def test_reverse_lists_sources_and_forward_slots():
    csr = csr_from_edges(3, np.array([0, 0, 1, 2]), np.array([1, 2, 2, 2]))
    reverse = reverse_csr(csr)
    assert reverse.indptr.tolist() == [0, 0, 1, 4]
    assert reverse.indices.tolist() == [0, 0, 1, 2]
    assert reverse.edge.tolist() == [0, 1, 2, 3]
    assert reverse.edge.dtype == np.int64


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"src": [0, 3]}, r"src holds 3 at position 1; it must lie in 0\.\.2"),
        ({"dst": [-1, 0]}, r"dst holds -1 at position 0"),
        ({"dst": [0]}, r"dst must have shape \[2\], got \[1\]"),
        ({"dst": [0.5, 1.0]}, "dst must hold integers, got dtype float64"),
        ({"kind": [0, 256]}, "kind holds 256"),
        ({"anchor": [[0, 1], [0, 65_536]]}, r"anchor holds 65536 at position 3"),
        ({"anchor": [0, 1]}, r"anchor must have shape \[2, 2\], got \[2\]"),
    ],
)
def test_bad_edges_are_named(kwargs, message):
    edges = {"src": [0, 1], "dst": [1, 2], "kind": [0, 0], "anchor": [[0, 0], [0, 0]], **kwargs}
    with pytest.raises(ValueError, match=message):
        csr_from_edges(3, **{name: np.array(values) for name, values in edges.items()})


@pytest.mark.parametrize("num_nodes", [0, -1, 2**31])
def test_number_of_nodes_has_limits(num_nodes):
    with pytest.raises(ValueError, match=r"between 1 and 2,147,483,647 nodes"):
        check_num_nodes(num_nodes)
