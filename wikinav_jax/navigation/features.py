"""Node features on the device: the one place where a feature table crosses from the host."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from wikinav_jax.graph.csr import Adjacency
from wikinav_jax.navigation.types import NodeFeatures
from wikinav_jax.training.mesh import replicate


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


def make_node_features(
    graph: Adjacency,
    vectors: np.ndarray,
    *,
    mesh: jax.sharding.Mesh,
    dtype: jnp.dtype = jnp.float32,
) -> NodeFeatures:
    """Puts the features of a graph's nodes on the devices, a whole copy on each.

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
    in_degree = np.bincount(graph.indices, minlength=num_nodes)
    features = NodeFeatures(  # NumPy arrays on the way to the devices
        vectors=np.asarray(vectors).astype(dtype),
        log_out_degree=np.log1p(np.diff(graph.indptr)).astype(np.float32),
        log_in_degree=np.log1p(in_degree).astype(np.float32),
    )
    return replicate(mesh, features)
