import jax
import numpy as np
import pytest

from tests.toy import (
    ENTITY,
    HYPERLINK,
    NEXT,
    PREVIOUS,
    graph_from_edges,
    hub_graph,
    line_graph,
    one_node_graph,
    random_graph,
    ring_graph,
    toy_graph,
)
from wikinav_jax.navigation.batches import (
    BatchSpec,
    WalkDecisions,
    WalkSampler,
    flatten_actions,
)
from wikinav_jax.navigation.types import AT_START, NO_NODE


def sampler(graph, **spec) -> WalkSampler:
    return WalkSampler(graph, BatchSpec(**{"decisions_per_shard": 64, **spec}), seed=3)


def test_a_batch_is_a_function_of_seed_shard_and_step():
    graph = random_graph(50, 200)
    first = sampler(graph, num_shards=3)
    again = sampler(graph, num_shards=3)
    again.batch_at(7)  # asking for another step in between changes nothing
    jax.tree.map(np.testing.assert_array_equal, first.batch_at(5), again.batch_at(5))
    other_step = first.batch_at(6).inputs.decisions.node
    other_seed = WalkSampler(graph, first.spec, seed=4).batch_at(5).inputs.decisions.node
    here = first.batch_at(5).inputs.decisions.node
    assert (here != other_step).any() and (here != other_seed).any()
    assert (here[0] != here[1]).any()


def test_shards_can_be_drawn_apart():
    graph = random_graph(50, 200)
    whole = sampler(graph, num_shards=4).batch_at(2)
    part = sampler(graph, num_shards=4).batch_at(2, shards=range(2, 4))
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[2:], b), whole, part)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"target": "later", "first_visit": True, "last_exit": True, "skip_forced": True},
        {"non_backtracking": 0.5, "decisions_per_walk": 1, "min_walk_steps": 4},
    ],
)
def test_every_batch_has_the_same_shapes_and_consistent_contents(spec):
    graph = random_graph(40, 160, seed=1)
    source = sampler(graph, **spec)
    shapes = set()
    for step in range(5):
        batch = source.shard_at(step, 0)
        shapes.add(tuple((*leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(batch)))
        decisions, actions = batch.inputs.decisions, batch.inputs.actions
        valid = actions.valid
        np.testing.assert_array_equal(
            np.bincount(actions.decision[valid], minlength=64),
            graph.out_degree[decisions.node],
        )
        assert (np.diff(actions.decision) >= 0).all()
        assert (actions.decision[batch.taken] == np.arange(64)).all() and valid[batch.taken].all()
        slot = graph.indptr[decisions.node[actions.decision]] + actions.rank
        np.testing.assert_array_equal(actions.node[valid], graph.indices[slot[valid]])
        np.testing.assert_array_equal(actions.kind[valid], graph.edge_kind[slot[valid]])
        assert (batch.log_weight == 0).all()
        if spec.get("first_visit"):
            assert (decisions.node != decisions.target).all()
        if spec.get("skip_forced"):
            assert (graph.out_degree[decisions.node] > 1).all()
    assert len(shapes) == 1


def test_on_a_line_every_decision_takes_the_only_link_towards_its_target():
    graph = line_graph(12)
    batch = sampler(graph, max_walk_steps=5).shard_at(0, 0)
    decisions, actions = batch.inputs.decisions, batch.inputs.actions
    np.testing.assert_array_equal(actions.node[batch.taken], decisions.node + 1)
    assert ((decisions.target > decisions.node) & (decisions.target <= decisions.node + 5)).all()
    moved = decisions.step > 0
    np.testing.assert_array_equal(decisions.previous[moved], decisions.node[moved] - 1)
    assert (decisions.previous[~moved] == NO_NODE).all()
    assert (decisions.arrived_by[~moved] == AT_START).all()


def test_history_fields_tell_how_the_walker_came():
    # One way round: a hyperlink, then three neighbour links.
    kinds = [HYPERLINK, NEXT, NEXT, PREVIOUS]
    graph = graph_from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], 4, kinds=kinds)
    source = sampler(graph, min_walk_steps=6, max_walk_steps=6, decisions_per_shard=256)
    decisions = source.shard_at(0, 0).inputs.decisions
    for node, step, arrived_by, run in zip(
        decisions.node, decisions.step, decisions.arrived_by, decisions.run, strict=True
    ):
        came_by = kinds[(node - 1) % 4] if step else AT_START
        assert arrived_by == came_by
        expected = 0
        while expected < step and kinds[(node - 1 - expected) % 4] >= NEXT:
            expected += 1
        assert run == expected


def test_visits_count_the_walk_so_far():
    # 0 <-> 1 is all there is: after t moves both nodes have been met by turns.
    graph = ring_graph(2)
    batch = sampler(graph, min_walk_steps=5, max_walk_steps=5).shard_at(0, 0)
    decisions, actions = batch.inputs.decisions, batch.inputs.actions
    step = decisions.step[actions.decision]
    np.testing.assert_array_equal(actions.visits[actions.valid], ((step + 1) // 2)[actions.valid])


def test_first_visit_stops_at_the_target_and_plain_walks_do_not():
    graph = ring_graph(3)
    plain = sampler(graph, decisions_per_shard=512).shard_at(0, 0).inputs.decisions
    cut = sampler(graph, decisions_per_shard=512, first_visit=True).shard_at(0, 0).inputs.decisions
    assert (plain.node == plain.target).any()
    assert (cut.node != cut.target).all()


def test_last_exit_teaches_the_way_out_of_a_loop():
    # 0 -> 1 -> 0 or 0 -> 2 (a dead end). Whoever ends at 2 must learn to go there from 0 at once.
    graph = graph_from_edges([(0, 1), (0, 2), (1, 0)], 3)
    spec = {"first_visit": True, "decisions_per_shard": 256}

    def share_straight(**more) -> float:
        batch = sampler(graph, **spec, **more).shard_at(0, 0)
        decisions, actions = batch.inputs.decisions, batch.inputs.actions
        chosen = (decisions.node == 0) & (decisions.target == 2)
        return (actions.node[batch.taken][chosen] == 2).mean()

    assert share_straight() < 0.9
    assert share_straight(last_exit=True) == 1.0


def test_non_backtracking_walks_go_round_the_ring():
    graph = ring_graph(9)
    batch = sampler(graph, non_backtracking=1.0).shard_at(0, 0)
    decisions, actions = batch.inputs.decisions, batch.inputs.actions
    assert (actions.node[batch.taken] != decisions.previous).all()
    mixed = sampler(graph, non_backtracking=0.5, decisions_per_shard=2048).shard_at(0, 0)
    moved = mixed.inputs.decisions.step > 0
    taken = mixed.inputs.actions.node[mixed.taken]
    back = (taken == mixed.inputs.decisions.previous)[moved].mean()
    assert 0.2 < back < 0.3  # half of half of the walks


def test_decisions_per_walk_takes_every_step_alike():
    graph = line_graph(2000)
    source = sampler(
        graph, decisions_per_walk=1, min_walk_steps=4, max_walk_steps=4, decisions_per_shard=4096
    )
    steps = np.bincount(source.shard_at(0, 0).inputs.decisions.step, minlength=4)
    np.testing.assert_allclose(steps / 4096, 0.25, atol=0.03)


def test_dead_ends_and_isolated_nodes_hold_no_decisions():
    graph = toy_graph()
    decisions = sampler(graph).shard_at(0, 0).inputs.decisions
    assert (graph.out_degree[decisions.node] > 0).all()


def test_a_graph_without_links_is_an_error():
    with pytest.raises(ValueError, match="none of the graph's 1 nodes has a link"):
        sampler(one_node_graph())


def test_a_graph_without_choices_is_an_error_when_forced_moves_are_skipped():
    with pytest.raises(ValueError, match="hardly any choices"):
        sampler(line_graph(5), skip_forced=True)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("num_shards", 0, "num_shards=0 must be at least 1"),
        ("max_walk_steps", 0, "max_walk_steps=0 is below min_walk_steps=1"),
        ("target", "best", "not one of end, later"),
        ("non_backtracking", 1.5, "a share of walks"),
        ("action_capacity", 100, "less than two actions"),
        ("decisions_per_walk", -1, "at least 0"),
    ],
)
def test_specs_that_cannot_be(field, value, message):
    with pytest.raises(ValueError, match=message):
        BatchSpec(**{field: value})


def decisions_at(nodes: list[int], edges: list[int]) -> WalkDecisions:
    count = len(nodes)
    return WalkDecisions(
        node=np.array(nodes, np.int32),
        target=np.zeros(count, np.int32),
        edge=np.array(edges),
        step=np.zeros(count, np.int64),
        run=np.zeros(count, np.int32),
        arrived_by=np.full(count, AT_START, np.uint8),
        history=np.array(nodes, np.int32)[:, None],
        walk=np.arange(count),
    )


def test_overflow_keeps_the_taken_link_and_samples_the_others_evenly():
    # A hub of 50 links and two nodes of one link, into 12 entries: the hub keeps 10.
    graph = hub_graph(50)
    counts = np.zeros(50)
    for draw in range(2000):
        rng = np.random.default_rng(draw)
        batch = flatten_actions(
            graph,
            decisions_at([7, 0, 9], [int(graph.indptr[7]), 20, int(graph.indptr[9])]),
            12,
            rng,
        )
        actions = batch.inputs.actions
        assert actions.valid.all()
        np.testing.assert_array_equal(np.bincount(actions.decision), [1, 10, 1])
        hub = actions.decision == 1
        assert actions.rank[batch.taken[1]] == 20 and actions.node[batch.taken[1]] == 21
        assert len(set(actions.rank[hub])) == 10
        counts[actions.rank[hub]] += 1
        np.testing.assert_allclose(batch.log_weight[batch.taken], 0)
        others = hub.copy()
        others[batch.taken[1]] = False
        np.testing.assert_allclose(batch.log_weight[others], np.log(49 / 9), rtol=1e-6)
    assert counts[20] == 2000
    others = np.delete(counts, 20) / 2000
    np.testing.assert_allclose(others, 9 / 49, atol=5 * np.sqrt(9 / 49 * 40 / 49 / 2000))


def test_overflow_cuts_only_the_largest_nodes():
    edges = [(0, i) for i in range(1, 31)] + [(1, 0), (1, 2), (1, 3)] + [(2, 0)] * 4
    graph = graph_from_edges(edges, 31)
    batch = flatten_actions(
        graph, decisions_at([0, 1, 2], [3, 30, 34]), 20, np.random.default_rng(0)
    )
    kept = np.bincount(batch.inputs.actions.decision[batch.inputs.actions.valid])
    assert kept.tolist() == [13, 3, 4]


def test_a_hub_does_not_blow_up_the_capacity_that_is_derived():
    source = sampler(hub_graph(5000), decisions_per_shard=256, max_walk_steps=4)
    assert source.action_capacity == 256 * 32
    batch = source.shard_at(0, 0)
    assert (batch.inputs.actions.decision[batch.taken] == np.arange(256)).all()
    assert batch.log_weight.max() > 0


def test_derived_capacity_seldom_overflows():
    graph = random_graph(500, 2500, seed=2)
    source = sampler(graph, decisions_per_shard=256)
    overflows = sum(source.shard_at(step, 0).log_weight.any() for step in range(100))
    assert overflows == 0
    assert source.action_capacity < 3 * 256 * 6


def test_entity_links_are_actions_of_their_own():
    graph = graph_from_edges([(0, 1), (0, 1), (1, 0)], 2, kinds=[HYPERLINK, ENTITY, HYPERLINK])
    batch = sampler(graph).shard_at(0, 0)
    decisions, actions = batch.inputs.decisions, batch.inputs.actions
    at_zero = (decisions.node == 0)[actions.decision] & actions.valid
    assert set(actions.kind[at_zero]) == {HYPERLINK, ENTITY}
    taken_kinds = actions.kind[batch.taken][decisions.node == 0]
    assert set(taken_kinds) == {HYPERLINK, ENTITY}
