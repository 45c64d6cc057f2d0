"""A graph's links on the device, and their expansion into flat actions.

Axes: K walkers, C flat actions, L nodes of a walk, N nodes of the graph.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from jax.sharding import Mesh

from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.navigation.types import Actions, Array, NodeFeatures, PolicyInput
from wikinav_jax.training.mesh import replicate

MAX_EDGES = 2**31 - 1  # slots are int32 on the device


class DeviceGraph(struct.PyTreeNode):
    """The links of a graph on the device."""

    indptr: Array  # int32 [N + 1]
    indices: Array  # int32 [links]
    kind: Array  # uint8 [links]


def to_device(graph: LinkedTextGraph, mesh: Mesh) -> DeviceGraph:
    """Copies a graph's links to every device of the mesh.

    Raises ValueError when they are too many for int32 slots.
    """
    num_edges = len(graph.indices)
    if num_edges > MAX_EDGES:
        raise ValueError(
            f"the graph has {num_edges:,} links; rollouts on the device hold at most "
            f"{MAX_EDGES:,}: evaluate on a part of it (graph.subgraph.induced_subgraph)"
        )
    return replicate(
        mesh,
        DeviceGraph(
            indptr=np.asarray(graph.indptr, np.int32),
            indices=np.asarray(graph.indices, np.int32),
            kind=np.asarray(graph.edge_kind, np.uint8),
        ),
    )


def out_degree(graph: DeviceGraph, node: jax.Array) -> jax.Array:
    """Links that leave each node; int32 [K]."""
    return graph.indptr[node + 1] - graph.indptr[node]


def with_link_vectors(features: NodeFeatures, inputs: PolicyInput) -> PolicyInput:
    """The input with the vector of every action, where the features know the links by their words.

    `features` are of the nodes that the input's decisions stand at.
    """
    if features.links is None:
        return inputs
    actions = inputs.actions
    slot = features.links.first[inputs.decisions.node[actions.decision]] + actions.rank
    vector = features.links.vectors[jnp.where(actions.valid, slot, 0)].astype(jnp.float32)
    return inputs.replace(actions=actions.replace(vector=vector))


def expand(
    graph: DeviceGraph,
    node: jax.Array,
    moves: jax.Array,
    path: jax.Array,
    capacity: int,
) -> Actions:
    """All links of the walkers that move, as a flat list of `capacity` entries.

    Args:
      graph: the links.
      node: int32 [K].
      moves: bool [K]; the links of these walkers' nodes must fit into the capacity.
      path: int32 [K, L], nodes stood at, the present one included.
      capacity: C.
    """
    count = jnp.where(moves, out_degree(graph, node), 0)
    ends = jnp.cumsum(count)
    entry = jnp.arange(capacity, dtype=jnp.int32)
    valid = entry < ends[-1]
    # Walkers without links end where they start: side='right' skips them.
    decision = jnp.searchsorted(ends, entry, side="right").astype(jnp.int32)
    decision = jnp.minimum(decision, node.shape[0] - 1)
    rank = jnp.where(valid, entry - (ends - count)[decision], 0)
    slot = jnp.where(valid, graph.indptr[node[decision]] + rank, 0)
    leads_to = graph.indices[slot]
    visits = jnp.sum(path[decision] == leads_to[:, None], axis=1, dtype=jnp.int32)
    return Actions(
        node=leads_to,
        kind=graph.kind[slot],
        decision=decision,
        rank=rank,
        visits=visits,
        valid=valid,
    )
