"""Random shortest paths as trajectories: training data of a navigator that takes no detours."""

from __future__ import annotations

import numpy as np

from wikinav_jax.graph.csr import Adjacency, ReverseGraph, check_integers, read_only, reverse_csr
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.walks import Backend, Trajectories, choose_backend


def sample_shortest_paths(
    graph: Adjacency,
    sources: np.ndarray,
    targets: np.ndarray,
    num_steps: int,
    rng: np.random.Generator,
    *,
    backend: Backend = "auto",
) -> Trajectories:
    """For each pair one of its shortest paths, all of them equally likely.

    Parallel links make paths of their own. A row without steps is a pair without a path of at most
    `num_steps` links, or one whose source is its target.

    Args:
      graph: the graph; a LinkedTextGraph keeps its reverse graph, any other is reversed here.
      sources: int [B].
      targets: int [B].
      num_steps: T, links of the longest path looked for.
      rng: its state decides the paths, and advances.
      backend: 'numba' searches from both ends and releases the GIL; 'numpy' is the reference, one
        whole search a pair. They draw from the same distribution, but not the same paths.

    Raises:
      ValueError: a node is out of range, lengths differ, or num_steps is out of bounds.
    """
    num_nodes = len(graph.indptr) - 1
    sources = check_integers("sources", sources, num_nodes, shape=(None,)).astype(np.int64)
    targets = check_integers("targets", targets, num_nodes, shape=sources.shape).astype(np.int64)
    _check_steps(0, num_steps)
    draws = rng.random((len(sources), num_steps + 1))
    nodes, edges, lengths = _empty((len(sources),), num_steps)
    reverse = _reverse_of(graph)
    if choose_backend(backend) == "numba":
        from wikinav_jax.graph.path_kernels import pair_paths

        pair_paths(
            *_arrays(graph, reverse),
            sources,
            targets,
            draws,
            np.zeros((2, num_nodes), _label_dtype(len(sources), num_steps)),
            np.empty((2, num_nodes), np.float32),
            np.empty((2, num_nodes), np.int32),
            nodes,
            edges,
            lengths,
        )
    else:
        for pair, (source, target) in enumerate(zip(sources, targets, strict=True)):
            level, count = _search_numpy(graph, int(source), num_steps)
            nodes[pair, 0] = source
            lengths[pair] = level[target]
            if level[target] > 0:
                nodes[pair, level[target]] = target
                _trace_numpy(
                    reverse, count, level, level[target], draws[pair], nodes[pair], edges[pair]
                )
    return _trajectories(nodes, edges, lengths)


def sample_distant_paths(
    graph: Adjacency,
    starts: np.ndarray,
    min_steps: int,
    max_steps: int,
    rng: np.random.Generator,
    *,
    paths_per_start: int = 1,
    backend: Backend = "auto",
) -> Trajectories:
    """Shortest paths from each start to uniformly random nodes at uniformly random distances.

    The distance is drawn among those from min_steps to max_steps at which the start has any nodes,
    the node among all nodes at that distance, and the path among all shortest ones to it. Rows of a
    start stand together; a start that reaches no node as far as min_steps gives rows without steps.

    Args:
      graph: as for `sample_shortest_paths`.
      starts: int [B].
      min_steps: at least 1.
      max_steps: T.
      rng: its state decides the paths, and advances.
      paths_per_start: K; the search, which is what costs, is done once a start.
      backend: as for `sample_shortest_paths`.

    Returns:
      B * K trajectories.

    Raises:
      ValueError: a start is not a node, or a number is out of bounds.
    """
    num_nodes = len(graph.indptr) - 1
    starts = check_integers("starts", starts, num_nodes, shape=(None,)).astype(np.int64)
    _check_steps(1, min_steps)
    _check_steps(min_steps, max_steps)
    if paths_per_start < 1:
        raise ValueError(f"paths_per_start={paths_per_start} must be at least 1")
    draws = rng.random((len(starts), paths_per_start, max_steps + 2))
    nodes, edges, lengths = _empty((len(starts), paths_per_start), max_steps)
    reverse = _reverse_of(graph)
    if choose_backend(backend) == "numba":
        from wikinav_jax.graph.path_kernels import distant_paths

        distant_paths(
            *_arrays(graph, reverse),
            starts,
            min_steps,
            draws,
            np.zeros(num_nodes, _label_dtype(len(starts), max_steps)),
            np.empty(num_nodes, np.float32),
            np.empty(num_nodes, np.int32),
            nodes,
            edges,
            lengths,
        )
    else:
        for row, start in enumerate(starts):
            level, count = _search_numpy(graph, int(start), max_steps)
            nodes[row, :, 0] = start
            depths = level.max() - min_steps + 1
            if depths <= 0:
                lengths[row] = -1
                continue
            for k in range(paths_per_start):
                distance = min_steps + int(draws[row, k, -2] * depths)
                there = np.flatnonzero(level == distance)
                nodes[row, k, distance] = there[int(draws[row, k, -1] * len(there))]
                lengths[row, k] = distance
                _trace_numpy(
                    reverse, count, level, distance, draws[row, k], nodes[row, k], edges[row, k]
                )
    flat = len(starts) * paths_per_start
    return _trajectories(nodes.reshape(flat, -1), edges.reshape(flat, -1), lengths.reshape(flat))


def _check_steps(least: int, num_steps: int) -> None:
    most = 65_535
    if not least <= num_steps <= most:
        raise ValueError(f"a path of {num_steps} steps is out of bounds: give {least} to {most}")


def _label_dtype(num_searches: int, num_steps: int) -> type[np.signedinteger]:
    """Labels of all searches of a call differ; narrow ones, where they fit, halve what is read."""
    return np.int32 if (num_searches + 1) * (num_steps + 1) < 2**31 else np.int64


def _empty(shape: tuple[int, ...], num_steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """nodes int32 [..., T + 1], edges int64 [..., T] and lengths int64 [...]."""
    nodes = np.zeros((*shape, num_steps + 1), np.int32)
    return nodes, np.full((*shape, num_steps), -1, np.int64), np.zeros(shape, np.int64)


def _trajectories(nodes: np.ndarray, edges: np.ndarray, lengths: np.ndarray) -> Trajectories:
    """Gives rows [B, T + 1] their usual form: past its end, a walk stays where it is."""
    length = np.maximum(lengths, 0)[:, None]
    steps = np.arange(nodes.shape[1])[None]
    nodes = np.take_along_axis(nodes, np.minimum(steps, length), axis=1)
    return Trajectories(nodes, edges, steps[:, :-1] < length)


def _reverse_of(graph: Adjacency) -> ReverseGraph:
    return graph.reverse() if isinstance(graph, LinkedTextGraph) else reverse_csr(graph)


def _arrays(
    graph: Adjacency, reverse: ReverseGraph
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return (
        read_only(graph.indptr),
        read_only(graph.indices),
        read_only(reverse.indptr),
        read_only(reverse.indices),
        read_only(reverse.edge),
    )


def _search_numpy(graph: Adjacency, source: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Hops from the source int64 [N], -1 beyond the limit, and numbers of shortest paths [N]."""
    num_nodes = len(graph.indptr) - 1
    level = np.full(num_nodes, -1, np.int64)
    count = np.zeros(num_nodes)
    level[source], count[source] = 0, 1
    frontier = np.array([source])
    for depth in range(1, limit + 1):
        degree = graph.indptr[frontier + 1] - graph.indptr[frontier]
        offset = np.repeat(graph.indptr[frontier] - (np.cumsum(degree) - degree), degree)
        reached = graph.indices[offset + np.arange(len(offset))]
        paths = np.repeat(count[frontier], degree)
        new = level[reached] < 0
        np.add.at(count, reached[new], paths[new])
        frontier = np.unique(reached[new]).astype(np.int64)
        level[frontier] = depth
        if not len(frontier):
            break
    return level, count


def _trace_numpy(
    reverse: ReverseGraph,
    count: np.ndarray,
    level: np.ndarray,
    length: int,
    draws: np.ndarray,
    nodes: np.ndarray,
    edges: np.ndarray,
) -> None:
    """Fills nodes[:length] and edges[:length] with a path to nodes[length], drawn backwards."""
    for step in range(length, 0, -1):
        slots = np.arange(reverse.indptr[nodes[step]], reverse.indptr[nodes[step] + 1])
        slots = slots[level[reverse.indices[slots]] == step - 1]
        weight = np.cumsum(count[reverse.indices[slots]])
        chosen = slots[np.searchsorted(weight, draws[step - 1] * weight[-1], side="right")]
        nodes[step - 1] = reverse.indices[chosen]
        edges[step - 1] = reverse.edge[chosen]
