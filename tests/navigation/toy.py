"""Small inputs for the navigation tests."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import Mesh

from tests.toy import graph_from_edges
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.navigation.device_graph import DeviceGraph
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.rollout import Walks, run_episodes
from wikinav_jax.navigation.types import (
    AT_START,
    NO_NODE,
    Actions,
    Decisions,
    NodeFeatures,
    PolicyInput,
)
from wikinav_jax.training.mesh import make_mesh, replicate


def mesh_of(devices: int = 1) -> Mesh:
    """A mesh over the first of the four fake devices."""
    return make_mesh(jax.devices()[:devices])


def plain_features(
    graph: LinkedTextGraph, mesh: Mesh | None = None, width: int = 3
) -> NodeFeatures:
    """Features drawn from a fixed seed."""
    vectors = np.random.default_rng(5).normal(size=(graph.num_nodes, width)).astype(np.float32)
    return make_node_features(graph, vectors, mesh=mesh or mesh_of())


def policy_input(
    node: Sequence[int],
    target: Sequence[int],
    links: Sequence[Sequence[int]],
    *,
    kinds: Sequence[Sequence[int]] | None = None,
    visits: Sequence[Sequence[int]] | None = None,
    padding: int = 0,
) -> PolicyInput:
    """A policy's input from lists: links[b] holds where decision b's links lead."""
    counts = [len(row) for row in links]
    total = sum(counts)

    def flat(rows: Sequence[Sequence[int]] | None, dtype: type) -> np.ndarray:
        values = [value for row in rows for value in row] if rows else [0] * total
        return np.array(values + [0] * padding, dtype)

    last = len(node) - 1
    decision = np.repeat(np.arange(len(node)), counts)
    return PolicyInput(
        decisions=Decisions(
            node=np.array(node, np.int32),
            target=np.array(target, np.int32),
            previous=np.full(len(node), NO_NODE, np.int32),
            arrived_by=np.full(len(node), AT_START, np.uint8),
            run=np.zeros(len(node), np.int32),
            step=np.zeros(len(node), np.int32),
        ),
        actions=Actions(
            node=flat(links, np.int32),
            kind=flat(kinds, np.uint8),
            decision=np.append(decision, [last] * padding).astype(np.int32),
            rank=np.array([i for n in counts for i in range(n)] + [0] * padding, np.int32),
            visits=flat(visits, np.int32),
            valid=np.arange(total + padding) < total,
        ),
    )


def play(
    graph: LinkedTextGraph,
    scorer,
    pairs: Sequence[tuple[int, int]],
    decoding: str,
    *,
    budget: int = 9,
    devices: int = 1,
    slots: int = 4,
    capacity: int = 16,
    seed: int = 0,
    vectors: np.ndarray | None = None,
    params=None,
) -> Walks:
    """Runs episodes on fake devices.

    Arrays are padded to a few sizes, so that the tests share compiled programs: nodes without
    links, spare links that no node owns, and the first pair once more and again.
    """
    mesh = mesh_of(devices)
    num_nodes, num_edges = _bucket(graph.num_nodes), _bucket(4 * graph.num_nodes, least=64)
    indptr = np.pad(graph.indptr, (0, num_nodes - graph.num_nodes), mode="edge")
    spare = (0, num_edges - graph.num_edges)
    links = DeviceGraph(
        indptr=indptr.astype(np.int32),
        indices=np.pad(graph.indices, spare),
        kind=np.pad(graph.edge_kind, spare),
    )
    rows = np.zeros((num_nodes, 4), np.float32)
    if vectors is not None:
        rows[: len(vectors), : vectors.shape[1]] = vectors
    rows = NodeFeatures(rows, np.zeros(num_nodes, np.float32), np.zeros(num_nodes, np.float32))
    start, target = np.array(pairs).reshape(-1, 2).T
    num_pairs = len(pairs)
    if num_pairs:
        more = (0, _bucket(num_pairs, least=8) - num_pairs)
        start, target = (np.pad(x, more, mode="wrap") for x in (start, target))
    walks = run_episodes(
        replicate(mesh, links),
        replicate(mesh, rows),
        scorer,
        {} if params is None else params,
        start,
        target,
        decoding=decoding,
        budget=budget,
        seed=seed,
        mesh=mesh,
        slots=slots,
        capacity=capacity,
    )
    fields = (walks.outcome, walks.steps, walks.path, walks.rank)
    return Walks(*(field[:num_pairs] for field in fields))


def _bucket(size: int, least: int = 16) -> int:
    return max(least, 1 << (size - 1).bit_length())


def liking_scorer(params, features, inputs):
    """Likes nodes as `params` says, whatever the target."""
    del features
    return params[inputs.actions.node]


def play_by_liking(
    graph: LinkedTextGraph, order: Sequence[int], pairs, decoding: str, **how
) -> Walks:
    """Plays with a scorer that likes nodes in this order, best first."""
    liking = np.zeros(_bucket(graph.num_nodes), np.float32)
    liking[list(order)] = -np.arange(len(order))
    return play(graph, liking_scorer, pairs, decoding, params=liking, **how)


def path_of(walks: Walks, episode: int) -> list[int]:
    """Nodes of a walk, without the padding."""
    return walks.path[episode, : walks.steps[episode] + 1].tolist()


def tree_graph() -> LinkedTextGraph:
    """0 -> 1, 2; 1 -> 3, 4; 2 -> 5: leaves are dead ends."""
    return graph_from_edges([(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)], 6)
