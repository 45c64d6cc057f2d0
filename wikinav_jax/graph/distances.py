"""Exact distances in hops, by breadth-first search."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from wikinav_jax.common.progress import progress
from wikinav_jax.graph.csr import Adjacency, ReverseGraph, check_integers, read_only, reverse_csr
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.walks import Backend, choose_backend

_PAIRS_PER_TASK = 256


def shortest_distances(
    graph: Adjacency,
    sources: np.ndarray,
    targets: np.ndarray,
    *,
    cutoff: int | None = None,
    backend: Backend = "auto",
    num_threads: int | None = None,
) -> np.ndarray:
    """The hops from sources[p] to targets[p] along out-edges, for P pairs.

    Args:
      graph: the graph; a LinkedTextGraph keeps its reverse graph, any other is reversed here.
      sources: int [P].
      targets: int [P].
      cutoff: give up beyond this many hops; None searches to the end.
      backend: 'numba' searches from both ends at once, on several threads; 'numpy' is the
        reference, one search a source.
      num_threads: for numba; None takes one per CPU.

    Returns:
      int32 [P]; -1 where there is no path, or none within the cutoff.

    Raises:
      ValueError: a node is out of range, lengths differ, or cutoff is negative.
    """
    num_nodes = len(graph.indptr) - 1
    sources = check_integers("sources", sources, num_nodes, shape=(None,)).astype(np.int64)
    targets = check_integers("targets", targets, num_nodes, shape=sources.shape).astype(np.int64)
    limit = _check_cutoff(cutoff, num_nodes)
    if choose_backend(backend) == "numpy":
        return _pairs_numpy(graph, sources, targets, limit)

    from wikinav_jax.graph.distance_kernels import pair_distances

    reverse = _reverse_of(graph)
    indptr, indices = read_only(graph.indptr), read_only(graph.indices)
    back_indptr, back_indices = read_only(reverse.indptr), read_only(reverse.indices)
    result = np.empty(len(sources), np.int32)
    local = threading.local()

    def search(first: int) -> int:
        if not hasattr(local, "scratch"):
            # Zeroed once a thread; every pair then marks nodes with its own number.
            local.scratch = np.zeros((4, num_nodes), np.int32)
        part = slice(first, first + _PAIRS_PER_TASK)
        pair_distances(
            indptr,
            indices,
            back_indptr,
            back_indices,
            sources[part],
            targets[part],
            limit,
            first,
            local.scratch,
            result[part],
        )
        return len(result[part])

    _run("distances", search, range(0, len(sources), _PAIRS_PER_TASK), len(sources), num_threads)
    return result


def distances_from(
    graph: Adjacency,
    sources: np.ndarray,
    *,
    cutoff: int | None = None,
    backend: Backend = "auto",
    num_threads: int | None = None,
) -> np.ndarray:
    """The hops from each of K sources to every node.

    Returns:
      int32 [K, N]; -1 where there is no path within the cutoff. Other arguments and errors: as
      `shortest_distances`.
    """
    num_nodes = len(graph.indptr) - 1
    sources = check_integers("sources", sources, num_nodes, shape=(None,)).astype(np.int64)
    limit = _check_cutoff(cutoff, num_nodes)
    result = np.full((len(sources), num_nodes), -1, np.int32)
    indptr, indices = read_only(graph.indptr), read_only(graph.indices)
    if choose_backend(backend) == "numpy":
        for row, source in zip(result, sources, strict=True):
            _fill_numpy(indptr, indices, int(source), limit, row)
        return result

    from wikinav_jax.graph.distance_kernels import fill_distances

    def search(row: int) -> int:
        fill_distances(indptr, indices, sources[row], limit, result[row])
        return 1

    _run("distances", search, range(len(sources)), len(sources), num_threads)
    return result


def distances_to(
    graph: Adjacency,
    targets: np.ndarray,
    *,
    cutoff: int | None = None,
    backend: Backend = "auto",
    num_threads: int | None = None,
) -> np.ndarray:
    """The hops from every node to each of K targets, int32 [K, N]; see `distances_from`."""
    return distances_from(
        _reverse_of(graph), targets, cutoff=cutoff, backend=backend, num_threads=num_threads
    )


def _reverse_of(graph: Adjacency) -> ReverseGraph:
    return graph.reverse() if isinstance(graph, LinkedTextGraph) else reverse_csr(graph)


def _check_cutoff(cutoff: int | None, num_nodes: int) -> int:
    if cutoff is not None and cutoff < 0:
        raise ValueError(f"cutoff={cutoff} must be at least 0, or None for no limit")
    return num_nodes if cutoff is None else cutoff


def _run(
    desc: str, task: Callable[[int], int], items: range, total: int, num_threads: int | None
) -> None:
    """Runs tasks that release the GIL on threads; each returns how much of `total` it did."""
    workers = min(num_threads or os.cpu_count() or 1, len(items))
    with progress(desc=desc, total=total, delay=3) as bar:
        if workers <= 1:
            for item in items:
                bar.update(task(item))
            return
        with ThreadPoolExecutor(workers) as pool:
            for done in pool.map(task, items):
                bar.update(done)


def _pairs_numpy(
    graph: Adjacency, sources: np.ndarray, targets: np.ndarray, limit: int
) -> np.ndarray:
    result = np.empty(len(sources), np.int32)
    row = np.empty(len(graph.indptr) - 1, np.int32)
    order = np.argsort(sources, kind="stable")
    distinct, starts = np.unique(sources[order], return_index=True)
    groups = np.split(order, starts[1:])
    for source, pairs in zip(progress(distinct, desc="distances", delay=3), groups, strict=False):
        row.fill(-1)
        _fill_numpy(graph.indptr, graph.indices, int(source), limit, row, targets[pairs])
        result[pairs] = row[targets[pairs]]
    return result


def _fill_numpy(
    indptr: np.ndarray,
    indices: np.ndarray,
    source: int,
    limit: int,
    row: np.ndarray,
    wanted: np.ndarray | None = None,
) -> None:
    """Breadth-first search into row int32 [N] (all -1); stops once all `wanted` are reached."""
    row[source] = 0
    frontier = np.array([source])
    for level in range(1, limit + 1):
        low = indptr[frontier]
        degree = indptr[frontier + 1] - low
        offset = np.repeat(low - (np.cumsum(degree) - degree), degree)
        reached = indices[offset + np.arange(len(offset))]
        frontier = np.unique(reached[row[reached] < 0]).astype(np.int64)
        row[frontier] = level
        if not len(frontier) or (wanted is not None and (row[wanted] >= 0).all()):
            return
