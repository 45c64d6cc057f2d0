"""Compressed sparse rows: the out-edges of node i lie in slots indptr[i]:indptr[i + 1]."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

MAX_NODES = 2**31 - 1  # node ids are int32


class Adjacency(Protocol):
    """Anything that can be walked: a LinkedTextGraph, a Csr or a ReverseGraph."""

    @property
    def indptr(self) -> np.ndarray: ...  # int64 [N + 1]

    @property
    def indices(self) -> np.ndarray: ...  # int32 [E]


class Csr(NamedTuple):
    """Edges sorted by source, with what each one is and where it stands in the source's text."""

    indptr: np.ndarray  # int64 [N + 1]
    indices: np.ndarray  # int32 [E], target of each edge
    edge_kind: np.ndarray  # uint8 [E], an EdgeKind
    anchor: np.ndarray  # uint16 [E, 2], character span in the source block; 0, 0 when none


class ReverseGraph(NamedTuple):
    """The in-edges of every node, sorted by target and, within a target, by forward slot."""

    indptr: np.ndarray  # int64 [N + 1]
    indices: np.ndarray  # int32 [E], source of each edge
    edge: np.ndarray  # int64 [E], slot of the edge in the forward `indices`


def csr_from_edges(
    num_nodes: int,
    src: np.ndarray,
    dst: np.ndarray,
    kind: np.ndarray | None = None,
    anchor: np.ndarray | None = None,
) -> Csr:
    """Sorts an edge list by source; edges of one source keep their given order.

    Args:
      num_nodes: N, at most 2^31 - 1.
      src: int [E], node ids below N.
      dst: int [E], node ids below N.
      kind: int [E], EdgeKind values; hyperlinks (0) when not given.
      anchor: int [E, 2], below 65,536; no spans (0, 0) when not given.

    Raises:
      ValueError: lengths differ, or a value lies outside its range.
    """
    num_nodes = check_num_nodes(num_nodes)
    src = check_integers("src", src, num_nodes, shape=(None,))
    num_edges = len(src)
    dst = check_integers("dst", dst, num_nodes, shape=(num_edges,))
    if kind is None:
        kind = np.zeros(num_edges, np.uint8)
    if anchor is None:
        anchor = np.zeros((num_edges, 2), np.uint16)
    kind = check_integers("kind", kind, 256, shape=(num_edges,))
    anchor = check_integers("anchor", anchor, 65_536, shape=(num_edges, 2))

    order = np.argsort(src, kind="stable")
    return Csr(
        indptr=_indptr_of(src, num_nodes),
        indices=read_only(dst[order].astype(np.int32)),
        edge_kind=read_only(kind[order].astype(np.uint8)),
        anchor=read_only(anchor[order].astype(np.uint16)),
    )


def reverse_csr(graph: Adjacency) -> ReverseGraph:
    """Transposes a graph, remembering for each in-edge its slot in the forward graph."""
    num_nodes = len(graph.indptr) - 1
    edge = np.argsort(graph.indices, kind="stable")
    return ReverseGraph(
        indptr=_indptr_of(graph.indices, num_nodes),
        indices=read_only(edge_sources(graph)[edge]),
        edge=read_only(edge.astype(np.int64, copy=False)),
    )


def edge_sources(graph: Adjacency) -> np.ndarray:
    """The source node of every edge slot, int32 [E]."""
    num_nodes = len(graph.indptr) - 1
    return np.repeat(np.arange(num_nodes, dtype=np.int32), np.diff(graph.indptr))


def ranges(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """first[0], first[0] + 1, … (count[0] numbers), first[1], …; int64 [sum(count)]."""
    ends = np.cumsum(count, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(np.asarray(first) - (ends - count), count)


def slots_of(indptr: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The edges of some nodes: which of the nodes each belongs to, and its slot; int64 both."""
    first = indptr[nodes]
    degree = indptr[nodes + 1] - first
    return np.repeat(np.arange(len(nodes)), degree), ranges(first, degree)


def check_num_nodes(num_nodes: int) -> int:
    """Returns `num_nodes` if a graph can have that many; otherwise raises ValueError."""
    if not 1 <= num_nodes <= MAX_NODES:
        raise ValueError(
            f"a graph needs between 1 and {MAX_NODES:,} nodes, got {num_nodes:,}; "
            "check that the corpus and its filters leave any text at all"
        )
    return int(num_nodes)


def check_integers(
    name: str, values: np.ndarray, limit: int, shape: tuple[int | None, ...]
) -> np.ndarray:
    """Returns `values` as an integer array of that shape with all values in [0, limit).

    Raises:
      ValueError: naming the array, the first bad position, its value and the limit.
    """
    values = np.asarray(values)
    if values.size == 0 and values.dtype == np.float64:
        values = values.astype(np.int64)  # what np.asarray([]) makes of an empty list
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError(f"{name} must hold integers, got dtype {values.dtype}")
    if values.ndim != len(shape) or any(
        want is not None and want != got for want, got in zip(shape, values.shape, strict=True)
    ):
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(f"{name} must have shape [{wanted}], got {list(values.shape)}")
    if values.size and (values.min() < 0 or values.max() >= limit):
        place = int(np.argmax((values < 0) | (values >= limit)))
        raise ValueError(
            f"{name} holds {int(values.flat[place])} at position {place}; "
            f"it must lie in 0..{limit - 1}"
        )
    return values


def read_only(array: np.ndarray) -> np.ndarray:
    """A plain, contiguous, read-only ndarray over the same memory where possible."""
    view = np.ascontiguousarray(array).view(np.ndarray).view()
    view.flags.writeable = False
    return view


def _indptr_of(keys: np.ndarray, num_nodes: int) -> np.ndarray:
    indptr = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=num_nodes), out=indptr[1:])
    return read_only(indptr)
