"""REINFORCE: walks of the policy itself, the loss by hand, and that it learns."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tests.navigation.toy import liking_scorer, mesh_of, policy_input
from tests.toy import graph_from_edges, hub_graph, one_node_graph, random_graph, ring_graph
from wikinav_jax.graph.subgraph import split_by_article
from wikinav_jax.navigation import train as room
from wikinav_jax.navigation.baselines import uniform_scorer
from wikinav_jax.navigation.batches import BatchSpec
from wikinav_jax.navigation.config import check_config, default_config
from wikinav_jax.navigation.data import NavigationData, Part
from wikinav_jax.navigation.device_graph import to_device
from wikinav_jax.navigation.episodes import EpisodeBatch, EpisodeSampler
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.navigator import Navigator
from wikinav_jax.navigation.reinforce import (
    Moves,
    average_reward,
    make_reinforce_step,
    play,
    reinforce_loss,
    with_reward_average,
)
from wikinav_jax.training.mesh import replicate, shard_batch
from wikinav_jax.training.state import create_state
from wikinav_jax.training.step import jit_step


def vectors_of(graph, width: int = 8) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(graph.num_nodes, width)).astype(np.float32)


def playing(graph, scorer, start, target, *, max_steps=6, capacity=64, params=None, seed=0):
    """Plays on one device; NumPy results."""
    mesh = mesh_of()
    episodes = EpisodeBatch(start=np.array(start, np.int32), target=np.array(target, np.int32))
    features = make_node_features(graph, vectors_of(graph), mesh=mesh)

    @jax.jit
    def run(links, features, params, episodes):
        key = jax.random.key(seed)
        how = {"max_steps": max_steps, "capacity": capacity}
        return play(scorer, params, links, features, episodes, key, **how)

    params = {} if params is None else params
    return jax.device_get(run(to_device(graph, mesh), features, params, episodes))


def test_the_walks_are_walks():
    graph = random_graph(20, 70, seed=1)
    start, target = np.arange(10), np.arange(10, 20)
    moves, reached = playing(graph, uniform_scorer, start, target)
    now, actions = moves.inputs.decisions, moves.inputs.actions
    np.testing.assert_array_equal(now.node[0], start)
    visited = [[node] for node in start.tolist()]
    ended = np.zeros(10, bool)
    for number in range(6):
        moved = moves.moved[number]
        degree = graph.out_degree[now.node[number]]
        ended |= degree == 0
        np.testing.assert_array_equal(moved, ~ended)
        for lane in np.flatnonzero(moved):
            mine = actions.valid[number] & (actions.decision[number] == lane)
            node = now.node[number][lane]
            links = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
            np.testing.assert_array_equal(actions.node[number][mine], links)
            counts = [visited[lane].count(link) for link in links]
            np.testing.assert_array_equal(actions.visits[number][mine], counts)
            taken = moves.taken[number][lane]
            assert mine[taken]
            assert now.step[number][lane] == len(visited[lane]) - 1
            visited[lane].append(int(actions.node[number][taken]))
            ended[lane] |= visited[lane][-1] == target[lane]
            if number < 5:
                assert now.node[number + 1][lane] == visited[lane][-1]
                assert now.previous[number + 1][lane] == node
    np.testing.assert_array_equal(
        reached, [path[-1] == end for path, end in zip(visited, target, strict=True)]
    )
    assert reached.any()
    assert not reached.all()


def test_moves_follow_the_policys_probabilities():
    # From 0, node 1 is liked by ln 3 more than node 2: three of four walkers go there.
    graph = graph_from_edges([(0, 1), (0, 2)], 3)
    liking = jnp.array([0.0, np.log(3), 0.0])
    many = np.zeros(2_000, int)
    _, reached = playing(
        graph, liking_scorer, many, many + 1, max_steps=1, capacity=4_000, params=liking
    )
    assert reached.mean() == pytest.approx(0.75, abs=0.03)


def test_who_does_not_fit_waits_for_the_next_round():
    graph = hub_graph(6)
    start, target = [0, 0, 0], [1, 2, 3]
    moves, _ = playing(graph, uniform_scorer, start, target, max_steps=3, capacity=7)
    # One walker at the hub fits at a time; the others follow, each round another one first.
    np.testing.assert_array_equal(moves.moved[0], [True, False, False])
    assert moves.moved[1][1]
    assert moves.moved[2][2]
    valid = moves.inputs.actions.valid.sum(axis=1)
    assert (valid <= 7).all()


def test_loss_and_gradient_by_hand():
    # Walker 0 chose the second of two links, walker 1 the first of two, walker 2 has ended.
    inputs = policy_input([0, 1, 2], [9, 9, 9], [[3, 4], [3, 4], []], padding=2)
    moves = Moves(inputs, taken=jnp.array([1, 2, 0]), moved=jnp.array([True, True, False]))
    logits = jnp.log(jnp.array([1.0, 3.0, 1.0, 1.0, 7.0, 7.0]))
    advantage = jnp.array([0.5, -0.25, 8.0])

    def policy_loss(logits):
        return reinforce_loss(logits, moves, advantage)["policy_loss_sum"]

    found = reinforce_loss(logits, moves, advantage)
    by_hand = -0.5 * np.log(3 / 4) + 0.25 * np.log(1 / 2)
    assert float(found["policy_loss_sum"]) == pytest.approx(by_hand, rel=1e-5)
    entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75)) + np.log(2)
    assert float(found["entropy_sum"]) == pytest.approx(entropy, rel=1e-5)
    assert float(found["count"]) == 2
    # -advantage x (1 for the chosen link - its probability)
    expected = [0.5 * 0.25, -0.5 * 0.25, 0.25 * 0.5, -0.25 * 0.5, 0, 0]
    np.testing.assert_allclose(jax.grad(policy_loss)(logits), expected, atol=1e-6)


def pull_scorer(params, features, inputs):
    """Links whose node is like the target attract by a learned strength."""
    decisions, actions = inputs.decisions, inputs.actions
    target = features.vectors[decisions.target][actions.decision]
    return params["pull"] * jnp.sum(features.vectors[actions.node] * target, axis=-1)


def learner(spec: BatchSpec, *, devices: int = 1):
    """(state, step function, batches): the pull is learned on a ring whose features are places."""
    mesh, graph = mesh_of(devices), ring_graph(12)
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    sampler = EpisodeSampler(graph, spec, seed=0, max_steps=5)
    optimizer = with_reward_average(optax.adam(0.2))
    step = make_reinforce_step(
        pull_scorer,
        optimizer,
        max_steps=5,
        capacity=sampler.action_capacity,
        entropy_bonus=0.001,
        baseline_decay=0.9,
    )
    state = create_state({"pull": jnp.zeros(())}, optimizer, jax.random.key(1))
    features = make_node_features(graph, places, mesh=mesh)
    step_fn = jit_step(step, mesh, features, to_device(graph, mesh))
    state = replicate(mesh, state)
    return state, step_fn, lambda t: shard_batch(mesh, sampler.batch_at(t))


def test_it_learns_what_leads_to_targets():
    spec = BatchSpec(decisions_per_shard=200, min_walk_steps=5, max_walk_steps=5)
    state, step_fn, batch_at = learner(spec)
    rewards, first = [], {}
    for step in range(60):
        state, metrics = step_fn(state, batch_at(step))
        first = first or metrics
        rewards.append(float(metrics["reward_sum"] / metrics["reward_count"]))
    assert metrics["reward_count"] == len(batch_at(0).start[0]) > 40  # of at most 5 moves
    assert 0.8 < first["count"] / 200 < 1.2  # as many moves as decisions were asked for
    assert np.mean(rewards[:3]) < 0.65 < 0.95 < np.mean(rewards[-10:])
    baseline = 0.0
    for number, reward in enumerate(rewards):
        baseline += (reward - baseline) * 0.1 / (1 - 0.9 ** (number + 1))
    assert float(average_reward(state.opt_state)) == pytest.approx(baseline, rel=1e-4)


def test_one_device_and_four_learn_the_same():
    spec = BatchSpec(num_shards=4, decisions_per_shard=50, max_walk_steps=5)
    pulls = []
    for devices in (1, 4):
        state, step_fn, batch_at = learner(spec, devices=devices)
        for step in range(3):
            state, _ = step_fn(state, batch_at(step))
        pulls.append(float(state.params["pull"]))
    assert pulls[0] == pytest.approx(pulls[1], rel=1e-5)
    assert pulls[0] != 0


def navigator(tmp_path, **changes) -> Navigator:
    """The room's own objects over a graph in memory."""
    config = default_config()
    config.update_from_flattened_dict(
        {
            "train.algorithm": "reinforce",
            "train.reinforce.max_steps": 4,
            "train.num_shards": 4,
            "train.decisions_per_shard": 16,
            "train.schedule": "constant",
            "train.warmup_steps": 0,
            "train.checkpoint_every": 2,
            "train.log_every": 1,
            "train.evaluate_every": 0,
            "train.evaluate_episodes": 4,
            "evaluate.budget": 4,
            "policy.feed_forward.hidden_dims": (8,),
            **changes,
        }
    )
    check_config(config)
    graph = random_graph(60, 400, seed=2)
    parts = [(graph, np.arange(60)), *split_by_article(graph, (0.5, 0.5), 0)]
    data = NavigationData(
        *(Part(part, vectors_of(graph)[ids]) for part, ids in parts)  # all, train, eval
    )
    return Navigator(config, tmp_path, data)


def test_a_run_of_the_room_resumes_to_the_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "_quick_evaluation", lambda navigator, state: {})
    whole = navigator(tmp_path / "whole", **{"train.num_steps": 4})
    facts = room.train(whole)
    assert facts["Updates"] == 4
    room.train(navigator(tmp_path / "parts", **{"train.num_steps": 2}))
    again = navigator(tmp_path / "parts", **{"train.num_steps": 4})
    room.train(again)
    ends = (whole.restore(), again.restore())
    states = [jax.device_get((state.params, state.opt_state)) for state in ends]
    jax.tree.map(np.testing.assert_array_equal, *states)
    rows = (tmp_path / "whole" / "metrics.jsonl").read_text()
    assert '"name": "reward"' in rows
    assert rows == (tmp_path / "parts" / "metrics.jsonl").read_text()


def test_batches_are_functions_of_seed_shard_and_step():
    graph = random_graph(50, 200)
    spec = BatchSpec(num_shards=3, decisions_per_shard=40, max_walk_steps=6)
    first, again = (EpisodeSampler(graph, spec, seed=1, max_steps=10) for _ in range(2))
    again.batch_at(0)
    batch = first.batch_at(5)
    assert batch.start.shape == (3, first.num_walkers)
    assert 4 <= first.num_walkers <= 12  # 40 moves, at most 10 an episode
    assert batch.start.dtype == np.int32
    assert (batch.start != batch.target).all()
    jax.tree.map(np.testing.assert_array_equal, batch, again.batch_at(5))
    part = first.batch_at(5, shards=[2])
    np.testing.assert_array_equal(part.target[0], batch.target[2])
    assert (first.batch_at(6).start != batch.start).any()
    assert first.action_capacity >= graph.out_degree.max()


def test_what_cannot_be_is_said(tmp_path):
    spec = BatchSpec(decisions_per_shard=8)
    with pytest.raises(ValueError, match="max_steps=0 must be at least 1 move"):
        EpisodeSampler(ring_graph(4), spec, seed=0, max_steps=0)
    with pytest.raises(ValueError, match="none of the graph's 1 nodes has a link"):
        EpisodeSampler(one_node_graph(), spec, seed=0, max_steps=4)
    loops = graph_from_edges([(0, 0), (1, 1)], 2)
    with pytest.raises(ValueError, match="200 rounds of walks gave 0 of 2000 episodes"):
        EpisodeSampler(loops, spec, seed=0, max_steps=4)
    for change, message in (
        ({"train.algorithm": "reinforcement"}, r"train\.algorithm='reinforcement'"),
        ({"train.reinforce.entropy_bonus": -1.0}, r"reinforce\.entropy_bonus=-1\.0"),
        ({"train.reinforce.baseline_decay": 1.0}, r"reinforce\.baseline_decay=1\.0"),
        ({"policy.name": "transformer"}, "cannot be trained by train.algorithm='reinforce'"),
        ({"sentence.enabled": True}, "REINFORCE knows its target by phi"),
    ):
        with pytest.raises(ValueError, match=message):
            navigator(tmp_path, **change)
