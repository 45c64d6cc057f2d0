"""Training walks of every policy: what they are, and how often each one comes."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tests.toy import graph_from_edges, line_graph, one_node_graph, random_graph, ring_graph
from wikinav_jax.graph.csr import edge_sources
from wikinav_jax.graph.distances import shortest_distances
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.trajectories import WALK_POLICIES, TrajectorySource


def draw(graph, policy: str, count: int = 400, *, steps=(1, 6), seed: int = 0, **how):
    source = TrajectorySource(graph, policy, min_steps=steps[0], max_steps=steps[1], **how)
    return source.draw(count, np.random.default_rng(seed))


@pytest.mark.parametrize("policy", WALK_POLICIES)
def test_walks_follow_links_and_end_where_they_say(policy):
    graph = random_graph(60, 150, seed=2)
    walks = draw(graph, policy, paths_per_start=3)
    source, taken = edge_sources(graph), walks.mask
    assert walks.nodes.shape[1] == 7
    assert len(walks.nodes) in (400, 402)
    np.testing.assert_array_equal(source[walks.edges[taken]], walks.nodes[:, :-1][taken])
    np.testing.assert_array_equal(graph.indices[walks.edges[taken]], walks.nodes[:, 1:][taken])
    assert (walks.edges[~taken] == -1).all()
    rows = np.arange(len(walks.nodes))
    np.testing.assert_array_equal(walks.nodes[:, -1], walks.nodes[rows, walks.lengths])
    assert walks.lengths.max() <= 6
    if policy.startswith("shortest"):
        expected = shortest_distances(graph, walks.nodes[:, 0], walks.nodes[:, -1])
        np.testing.assert_array_equal(walks.lengths, expected)


@pytest.mark.parametrize("policy", ["forward", "reverse"])
def test_lengths_are_uniform_where_nothing_ends_a_walk(policy):
    walks = draw(ring_graph(50), policy, 4_000, steps=(2, 5))
    share = np.bincount(walks.lengths, minlength=6)[2:] / 4_000
    np.testing.assert_allclose(share, 1 / 4, atol=0.03)


@pytest.mark.parametrize(
    ("policy", "end", "share"),
    [("forward", 0, 0.9), ("reverse", 0, 0.5)],
)
def test_forward_begins_and_reverse_ends_at_a_uniform_node(policy, end, share):
    # 1..9 link to 0, and 0 to 1: nine of ten starts lead to 0; of the two targets 0 is one.
    graph = graph_from_edges([*((i, 0) for i in range(1, 10)), (0, 1)], 10)
    walks = draw(graph, policy, 2_000, steps=(1, 1))
    assert np.mean(walks.nodes[:, -1] == end) == pytest.approx(share, abs=0.05)


def test_reverse_walks_take_uniform_links_back():
    # 0 -> 2, 1 -> 2 twice: backwards from 2, node 1 is met twice as often.
    graph = graph_from_edges([(0, 2), (1, 2), (1, 2), (0, 1)], 3)
    walks = draw(graph, "reverse", 3_000, steps=(1, 1))
    back = walks.nodes[walks.nodes[:, 1] == 2, 0]
    assert np.mean(back == 1) == pytest.approx(2 / 3, abs=0.04)


def test_a_reverse_walk_is_cut_at_its_start():
    # On a line, a walk of two steps to the target t begins at t - 2, or at 0 where it cannot.
    walks = draw(line_graph(30), "reverse", steps=(2, 2))
    first, last = walks.nodes[:, 0], walks.nodes[:, -1]
    np.testing.assert_array_equal(first, np.maximum(last - 2, 0))
    assert (last > 0).all()  # nothing links to 0


def test_shortest_walk_takes_no_detour():
    # Two steps on a ring lead on by two, or back to the start: then there is nothing to learn.
    walks = draw(ring_graph(9), "shortest_walk", steps=(2, 2))
    assert set(walks.lengths) == {0, 2}


def test_non_backtracking_reverse_walks_go_straight():
    walks = draw(ring_graph(30), "reverse", steps=(4, 4), non_backtracking=1.0)
    distance = shortest_distances(ring_graph(30), walks.nodes[:, 0], walks.nodes[:, -1])
    assert (distance == 4).all()


@pytest.mark.parametrize("policy", WALK_POLICIES)
def test_batches_of_every_policy_are_functions_of_their_step(policy):
    graph = random_graph(60, 240, seed=3)
    spec = BatchSpec(decisions_per_shard=32, policy=policy, max_walk_steps=6, skip_forced=True)
    first, again = (WalkSampler(graph, spec, seed=1) for _ in range(2))
    again.batch_at(0)
    batch = first.batch_at(3)
    jax.tree.map(np.testing.assert_array_equal, batch, again.batch_at(3))
    decisions, actions = batch.inputs.decisions, batch.inputs.actions
    if policy.startswith("shortest"):
        # The link taken always leads one step nearer.
        here = shortest_distances(graph, decisions.node[0], decisions.target[0])
        taken = actions.node[0][batch.taken[0]]
        there = shortest_distances(graph, taken, decisions.target[0])
        np.testing.assert_array_equal(there, here - 1)


def test_what_cannot_be_is_said():
    with pytest.raises(ValueError, match=r"walks\.policy='backward' is not one of forward"):
        draw(ring_graph(4), "backward")
    for policy in WALK_POLICIES:
        with pytest.raises(ValueError, match="none of the graph's 1 nodes has a link"):
            draw(one_node_graph(), policy)
    with pytest.raises(ValueError, match="a shortest path never steps back"):
        BatchSpec(policy="shortest_walk", non_backtracking=0.5)
    with pytest.raises(ValueError, match="paths_per_start=0"):
        BatchSpec(paths_per_start=0)
