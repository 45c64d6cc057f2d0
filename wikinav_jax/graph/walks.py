"""Random walks over a graph, many at a time: the training data of the navigator."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
from typing import Literal

import numpy as np

from wikinav_jax.graph.csr import Adjacency, check_integers, read_only
from wikinav_jax.graph.linked_text import LinkedTextGraph

Backend = Literal["auto", "numba", "numpy"]

# Walkers that NumPy advances together: their arrays stay in the second-level cache.
_NUMPY_WALKERS = 16_384


@dataclasses.dataclass(frozen=True, eq=False)
class Trajectories:
    """B walks of up to T steps; the steps taken come first.

    Where a walk has ended (a dead end), it stays on its last node with edge -1 and mask False.
    """

    nodes: np.ndarray  # int32 [B, T + 1]
    edges: np.ndarray  # int64 [B, T], slot in the forward `indices`; -1 where no step was taken
    mask: np.ndarray  # bool [B, T], True for the first lengths[b] steps

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """Steps taken by each walk, int64 [B]."""
        return self.mask.sum(1)


def sample_forward_walks(
    graph: Adjacency,
    starts: np.ndarray,
    num_steps: int,
    rng: np.random.Generator,
    *,
    backend: Backend = "auto",
    non_backtracking: bool = False,
) -> Trajectories:
    """Walks that follow a uniformly random out-edge at every step (RFBC, forward sampling).

    Parallel edges count as often as they occur. The backends draw from the same distribution, but
    not the same walks; within one, the walks are a function of the arguments and the generator's
    state alone.

    Args:
      graph: anything with `indptr` and `indices`.
      starts: int [B], the first node of every walk.
      num_steps: T, at least 0.
      rng: its state decides the walks, and advances.
      backend: 'numba' interleaves many walkers in one loop and releases the GIL; 'numpy' is the
        vectorised reference; 'auto' is numba where it is installed.
      non_backtracking: never step to the node visited just before, unless every edge leads there.

    Raises:
      ValueError: a start is not a node, num_steps is negative, or the backend is unknown.
    """
    num_nodes = len(graph.indptr) - 1
    starts = check_integers("starts", starts, num_nodes, shape=(None,)).astype(np.int64)
    if num_steps < 0:
        raise ValueError(f"num_steps={num_steps} must be at least 0")
    nodes = np.empty((len(starts), num_steps + 1), np.int32)
    edges = np.empty((len(starts), num_steps), np.int64)
    arrays = read_only(graph.indptr), read_only(graph.indices)
    if choose_backend(backend) == "numba":
        from wikinav_jax.graph.walk_kernels import walk_interleaved

        seed = rng.integers(0, 2**64, dtype=np.uint64)
        walk_interleaved(*arrays, starts, seed, non_backtracking, nodes, edges)
    else:
        for first in range(0, len(starts), _NUMPY_WALKERS):
            part = slice(first, first + _NUMPY_WALKERS)
            _walk_numpy(*arrays, starts[part], rng, non_backtracking, nodes[part], edges[part])
    return Trajectories(nodes, edges, edges >= 0)


def sample_reverse_walks(
    graph: LinkedTextGraph,
    targets: np.ndarray,
    num_steps: int,
    rng: np.random.Generator,
    *,
    backend: Backend = "auto",
    non_backtracking: bool = False,
) -> Trajectories:
    """Walks that end at given targets, drawn backwards over uniform in-edges (RFBC, reverse).

    The result reads forwards: walk b starts where the backward walk ended, takes lengths[b] steps
    and reaches targets[b], which also fills the rest of its row. Where the backward walk met a node
    without in-edges, the walk is shorter than T.

    Args, raises: as `sample_forward_walks`, with int [B] targets in place of starts.
    """
    reverse = graph.reverse()
    backward = sample_forward_walks(
        reverse, targets, num_steps, rng, backend=backend, non_backtracking=non_backtracking
    )
    steps = np.arange(num_steps + 1)
    # Forward position t is backward position lengths - t; past the end, the target (position 0).
    back = np.maximum(backward.lengths[:, None] - steps, 0)
    nodes = np.take_along_axis(backward.nodes, back, axis=1)
    mask = steps[:-1] < backward.lengths[:, None]
    edges = np.full(mask.shape, -1, np.int64)
    slots = np.take_along_axis(backward.edges, np.maximum(back[:, :-1] - 1, 0), axis=1)
    edges[mask] = reverse.edge[slots[mask]]
    return Trajectories(nodes, edges, mask)


def choose_backend(backend: Backend) -> Literal["numba", "numpy"]:
    """Resolves 'auto'; raises ValueError for an unknown backend and ImportError without numba."""
    installed = importlib.util.find_spec("numba") is not None
    if backend == "auto":
        return "numba" if installed else "numpy"
    if backend == "numba" and not installed:
        raise ImportError("backend='numba' needs numba: `pip install numba`, or use 'numpy'")
    if backend not in ("numba", "numpy"):
        raise ValueError(f"backend={backend!r} is unknown; use 'auto', 'numba' or 'numpy'")
    return backend


def _walk_numpy(
    indptr: np.ndarray,
    indices: np.ndarray,
    starts: np.ndarray,
    rng: np.random.Generator,
    non_backtracking: bool,
    nodes: np.ndarray,
    edges: np.ndarray,
) -> None:
    """Fills nodes int32 [b, T + 1] and edges int64 [b, T], one vectorised step after another."""
    node, before = starts, np.full(len(starts), -1)
    nodes[:, 0] = node
    for step in range(edges.shape[1]):
        low = indptr[node]
        degree = indptr[node + 1] - low
        slot = low + (rng.random(len(node)) * degree).astype(np.int64)
        alive = degree > 0
        if alive.all():
            following = indices[slot].astype(np.int64)
        else:
            slot[~alive] = -1
            following = node.copy()
            following[alive] = indices[slot[alive]]
        if non_backtracking:
            turned = np.flatnonzero(alive & (following == before))
            if len(turned):
                slot[turned] = _slots_elsewhere(
                    indices, low[turned], degree[turned], before[turned], slot[turned], rng
                )
                following[turned] = indices[slot[turned]]
        nodes[:, step + 1] = following
        edges[:, step] = slot
        node, before = following, node


def _slots_elsewhere(
    indices: np.ndarray,
    low: np.ndarray,
    degree: np.ndarray,
    before: np.ndarray,
    slot: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """For each of m walkers, a uniform edge that leads elsewhere than `before`; else its `slot`.

    A uniform draw among all d edges that hit one of the b edges back, drawn again among the d - b
    others, is uniform among those. A row is read with probability b / d: constant cost on average.
    """
    row = np.repeat(np.arange(len(low)), degree)
    position = np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)
    slots = low[row] + position
    elsewhere = indices[slots] != before[row]
    slots, row = slots[elsewhere], row[elsewhere]
    choices = np.bincount(row, minlength=len(low))
    free = choices > 0
    pick = np.cumsum(choices) - choices + (rng.random(len(low)) * choices).astype(np.int64)
    chosen = slot.copy()
    chosen[free] = slots[pick[free]]
    return chosen
