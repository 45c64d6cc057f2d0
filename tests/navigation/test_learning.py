import jax
import numpy as np
import optax
import pytest

from tests.navigation.toy import mesh_of
from tests.toy import ring_graph
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.evaluate import BASELINES, Method, evaluate
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.losses import batch_loss
from wikinav_jax.navigation.policies import FeedForwardPolicy, PolicyScorer, PolicyTrainer
from wikinav_jax.navigation.similarity import SimilarityPolicy
from wikinav_jax.training.mesh import replicate, shard_batch
from wikinav_jax.training.state import apply_gradients, create_state, step_key
from wikinav_jax.training.step import jit_step


def train(policy, graph, features, spec: BatchSpec, steps: int, *, devices: int = 1):
    """Trains for some steps; every program is traced once. Returns (parameters, mean losses)."""
    mesh = mesh_of(devices)
    sampler = WalkSampler(graph, spec, seed=0)
    optimizer = optax.adam(5e-3)

    traces = []

    def train_step(state, batch, features):
        traces.append(batch)

        def loss(params):
            return batch_loss(PolicyTrainer(policy), params, features, batch, step_key(state))

        gradients, metrics = jax.grad(loss, has_aux=True)(state.params)
        return apply_gradients(state, gradients, optimizer), metrics

    sample = jax.tree.map(lambda leaf: leaf[0], sampler.batch_at(0)).inputs
    start = jax.jit(lambda key: policy.init(key, features, sample, train=False))
    params = start(jax.random.key(0))["params"]
    state = replicate(mesh, create_state(params, optimizer, jax.random.key(1)))
    step_fn = jit_step(train_step, mesh, features)
    losses = []
    for step in range(steps):
        state, metrics = step_fn(state, shard_batch(mesh, sampler.batch_at(step)))
        losses.append(float(metrics["loss_sum"] / metrics["count"]))
    assert len(traces) == 1
    return state.params, losses


def success(graph, features, *methods: Method) -> dict[tuple[str, str], float]:
    found = evaluate(
        graph,
        features,
        methods,
        mesh=mesh_of(),
        system="toy",
        dataset="ring",
        split="eval",
        seed=1,
        tasks=("5-step",),
        num_episodes=200,
        budget=6,
        slots=64,
        capacity=128,
    )
    return {
        (row["method"], row["decoding"]): row["value"]
        for row in found.rows
        if row["metric"] == "success"
    }


def ring_features(num_nodes: int, **how):
    angle = np.linspace(0, 2 * np.pi, num_nodes, endpoint=False)
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    graph = ring_graph(num_nodes)
    return graph, make_node_features(graph, vectors, mesh=mesh_of(), **how)


def test_the_papers_policy_learns_its_graph_by_heart():
    graph = ring_graph(24)
    vectors = np.random.default_rng(0).normal(size=(24, 16)).astype(np.float32)
    features = make_node_features(graph, vectors, mesh=mesh_of())
    policy = FeedForwardPolicy(hidden_dims=(64,))
    spec = BatchSpec(decisions_per_shard=256, max_walk_steps=8)
    params, losses = train(policy, graph, features, spec, 200)
    assert np.mean(losses[-20:]) < np.log(2) - 0.05 < np.mean(losses[:3])
    learned = Method("rfbc", "argmax", PolicyScorer(policy), params)
    found = success(graph, features, learned, BASELINES[0])
    assert found["rfbc", "argmax"] > 0.9 > 0.7 > found["random", "sample"]


def test_the_similarity_policy_carries_over_to_another_graph():
    graph, features = ring_features(24, hops=1)
    policy = SimilarityPolicy(heads=2, hidden_dim=16, dropout=0.0)
    spec = BatchSpec(decisions_per_shard=256, max_walk_steps=12, first_visit=True, last_exit=True)
    params, _ = train(policy, graph, features, spec, 100)
    other, other_features = ring_features(31, hops=1)
    learned = Method("rfbc", "argmax", PolicyScorer(policy), params)
    found = success(other, other_features, learned, BASELINES[0])
    assert found["rfbc", "argmax"] > 0.95 > 0.7 > found["random", "sample"]


@pytest.mark.parametrize(
    "policy",
    [
        FeedForwardPolicy(hidden_dims=(8,), dropout=0.25),
        SimilarityPolicy(heads=2, hidden_dim=8, dropout=0.25),
    ],
    ids=["feed_forward", "similarity"],
)
def test_one_device_and_four_learn_the_same(policy):
    graph = ring_graph(12)
    vectors = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    spec = BatchSpec(num_shards=4, decisions_per_shard=32, max_walk_steps=6)
    one, four = (
        train(
            policy,
            graph,
            make_node_features(graph, vectors, mesh=mesh_of(devices)),
            spec,
            3,
            devices=devices,
        )
        for devices in (1, 4)
    )
    np.testing.assert_allclose(one[1], four[1], rtol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), one[0], four[0])
