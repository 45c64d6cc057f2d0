"""Node features on the device: the one place where a feature table crosses from the host."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from wikinav_jax.graph.csr import Adjacency, reverse_csr
from wikinav_jax.navigation.types import NodeFeatures
from wikinav_jax.training.mesh import replicate

_COLUMNS = 64  # of phi that are spread over the graph together
_ROWS = 65_536  # of the result that are scaled together


def prepare_vectors(
    vectors: np.ndarray, *, mean: np.ndarray | None = None, unit_norm: bool = False
) -> np.ndarray:
    """Centres rows and scales them to unit length, as asked.

    Args:
      vectors: float [N, d].
      mean: float [d], subtracted from every row. Take it from the *training* graph's rows for both
        graphs, or the held-out text leaks into the features.
      unit_norm: scale every row to length 1; rows that are zero stay zero.

    Returns:
      float32 [N, d].
    """
    rows: np.ndarray = np.asarray(vectors, np.float32)
    if mean is not None:
        rows = rows - np.asarray(mean, np.float32)[None]
    if unit_norm:
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(length > 0, length, 1)
    return rows


def neighbourhood_rows(
    graph: Adjacency, vectors: np.ndarray, hops: int, *, dtype: np.dtype | type = np.float32
) -> np.ndarray:
    """What lies h links ahead of every node: A^h phi for h = 1..hops, scaled to length 1.

    A is the row-normalised adjacency, so A^h phi is the mean of phi over the ends of random walks
    of h steps. A node whose walks all end before has a zero row.

    Args:
      graph: N nodes.
      vectors: float [N, d].
      hops: H, at least 1.
      dtype: of the result; sums are taken in float32.

    Returns:
      [N, H, d]. Beside it no more than a few columns of the table are held at once.
    """
    if hops < 1:
        raise ValueError(f"hops={hops} must be at least 1")
    num_nodes, width = vectors.shape
    degree = np.diff(graph.indptr)
    weight = np.repeat((1 / np.maximum(degree, 1)).astype(np.float32), degree)
    step = scipy.sparse.csr_array((weight, graph.indices, graph.indptr), (num_nodes, num_nodes))
    rows = np.empty((num_nodes, hops, width), dtype)
    square = np.zeros((num_nodes, hops), np.float32)
    for first in range(0, width, _COLUMNS):
        part = slice(first, first + _COLUMNS)
        columns = np.ascontiguousarray(vectors[:, part], np.float32)
        for hop in range(hops):
            columns = step @ columns
            rows[:, hop, part] = columns
            square[:, hop] += (columns * columns).sum(axis=1)
    scale = 1 / np.sqrt(np.where(square > 0, square, 1))
    for first in range(0, num_nodes, _ROWS):
        rows[first : first + _ROWS] *= scale[first : first + _ROWS, :, None].astype(dtype)
    return rows


def make_node_features(
    graph: Adjacency,
    vectors: np.ndarray,
    *,
    mesh: jax.sharding.Mesh,
    hops: int = 0,
    inward_hops: int = 0,
    dtype: jnp.dtype = jnp.float32,
) -> NodeFeatures:
    """Puts the features of a graph's nodes on the devices, a whole copy on each.

    Args:
      graph: its links give the degrees and the neighbourhoods.
      vectors: float [N, d], phi.
      mesh: the devices.
      hops: H, see `neighbourhood_rows`; the table grows to H + 1 rows a node.
      inward_hops: J, the same against the direction of the links, and as many rows more.
      dtype: of the rows on the device.

    Raises:
      ValueError: `vectors` is not [N, d] with one row per node, or holds NaN or infinity.
    """
    num_nodes = len(graph.indptr) - 1
    if vectors.ndim != 2 or len(vectors) != num_nodes:
        raise ValueError(
            f"features have shape {list(vectors.shape)}, but the graph has {num_nodes:,} nodes; "
            "build the feature table from this graph's texts"
        )
    if not np.isfinite(vectors).all():
        bad = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        raise ValueError(
            f"the features of node {bad} are not finite; delete the feature table and build it "
            "again"
        )
    inward = None
    if inward_hops:
        inward = neighbourhood_rows(reverse_csr(graph), vectors, inward_hops, dtype=dtype)
    in_degree = np.bincount(graph.indices, minlength=num_nodes)
    features = NodeFeatures(  # NumPy arrays on the way to the devices
        vectors=np.asarray(vectors).astype(dtype),
        log_out_degree=np.log1p(np.diff(graph.indptr)).astype(np.float32),
        log_in_degree=np.log1p(in_degree).astype(np.float32),
        neighbourhood=neighbourhood_rows(graph, vectors, hops, dtype=dtype) if hops else None,
        inward=inward,
    )
    return replicate(mesh, features)
