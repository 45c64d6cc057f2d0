import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.navigation.toy import mesh_of, policy_input
from tests.toy import random_graph
from wikinav_jax.navigation.baselines import cosine_scorer, uniform_scorer
from wikinav_jax.navigation.features import make_node_features, prepare_vectors
from wikinav_jax.navigation.policies import (
    Dropout,
    FeedForwardPolicy,
    PolicyScorer,
    PolicyTrainer,
)

GRAPH = random_graph(10, 40)
VECTORS = np.random.default_rng(0).normal(size=(10, 5)).astype(np.float32)
FEATURES = make_node_features(GRAPH, VECTORS, mesh=mesh_of())
INPUTS = policy_input(
    [0, 3, 4], [7, 7, 9], [[1, 2, 5], [6], [8, 9]], kinds=[[0, 1, 2], [3], [0, 0]], padding=2
)


def init(policy, seed: int = 0):
    start = jax.jit(lambda key: policy.init(key, FEATURES, INPUTS, train=False))
    return start(jax.random.key(seed))["params"]


def score(policy, params, features=FEATURES):
    return jax.jit(PolicyScorer(policy))(params, features, INPUTS)


def test_the_papers_policy_equals_numpy():
    policy = FeedForwardPolicy(hidden_dims=(6, 4))
    params = init(policy)
    logits = np.asarray(score(policy, params))[:6]

    expected = []
    for b, (node, target, links) in enumerate([(0, 7, [1, 2, 5]), (3, 7, [6]), (4, 9, [8, 9])]):
        del b
        x = np.concatenate([VECTORS[node], VECTORS[target]]).astype(np.float64)
        for layer in ("Dense_0", "Dense_1"):
            x = np.maximum(x @ params[layer]["kernel"] + params[layer]["bias"], 0)
        query = x @ params["Dense_2"]["kernel"] + params["Dense_2"]["bias"]
        expected += [query @ VECTORS[link] for link in links]
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-5)
    assert set(params) == {"Dense_0", "Dense_1", "Dense_2"}
    assert logits.dtype == np.float32


def test_training_without_dropout_gives_the_scorers_logits():
    policy = FeedForwardPolicy(hidden_dims=(6,))
    params = init(policy)
    np.testing.assert_allclose(
        PolicyTrainer(policy)(params, FEATURES, INPUTS, None),
        score(policy, params),
        rtol=1e-5,
    )


def test_residual_starts_at_the_dot_product_with_the_target():
    policy = FeedForwardPolicy(hidden_dims=(4,), residual=True)
    params = jax.tree.map(jnp.zeros_like, init(policy))
    params["residual"] = jnp.ones((1, 5))
    logits = score(policy, params)
    expected = [
        VECTORS[a] @ VECTORS[g] for a, g in [(1, 7), (2, 7), (5, 7), (6, 7), (8, 9), (9, 9)]
    ]
    np.testing.assert_allclose(logits[:6], expected, rtol=1e-4)


def test_kind_bias_adds_by_kind():
    policy = FeedForwardPolicy(hidden_dims=(4,), kind_bias=True)
    params = init(policy)
    before = score(policy, params)
    params = {**params, "kind_bias": jnp.array([1.0, 2.0, 3.0, 4.0])}
    after = score(policy, params)
    np.testing.assert_allclose((after - before)[:6], [1, 2, 3, 4, 1, 1], rtol=1e-5)


def test_half_precision_tables_score_in_float32():
    features = make_node_features(GRAPH, VECTORS, mesh=mesh_of(), dtype=jnp.bfloat16)
    policy = FeedForwardPolicy(hidden_dims=(6,))
    low = score(policy, init(policy), features)
    high = score(policy, init(policy))
    assert low.dtype == jnp.float32
    np.testing.assert_allclose(low[:6], high[:6], atol=0.05)


def test_dropout_drops_at_its_rate_and_keeps_the_mean():
    x = jnp.ones((100, 501))
    out = Dropout(0.25).apply({}, x, train=True, rngs={"dropout": jax.random.key(1)})
    values = np.unique(out)
    np.testing.assert_allclose(values, [0, 4 / 3], rtol=1e-6)
    assert abs((np.asarray(out) == 0).mean() - 0.25) < 0.01
    np.testing.assert_array_equal(Dropout(0.25).apply({}, x, train=False), x)
    again = Dropout(0.25).apply({}, x, train=True, rngs={"dropout": jax.random.key(1)})
    np.testing.assert_array_equal(out, again)


def test_bad_fields_are_errors():
    with pytest.raises(ValueError, match="activation='swish' is not one of relu, gelu, tanh"):
        init(FeedForwardPolicy(activation="swish"))
    with pytest.raises(ValueError, match=r"dropout=1\.5 must be"):
        init(FeedForwardPolicy(dropout=1.5))


def test_baselines_by_hand():
    assert (uniform_scorer({}, FEATURES, INPUTS) == 0).all()
    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    expected = [unit[a] @ unit[g] for a, g in [(1, 7), (2, 7), (5, 7), (6, 7), (8, 9), (9, 9)]]
    np.testing.assert_allclose(cosine_scorer({}, FEATURES, INPUTS)[:6], expected, rtol=1e-5)


def test_the_cosine_with_a_block_without_words_is_zero():
    vectors = VECTORS.copy()
    vectors[[6, 9]] = 0
    features = make_node_features(GRAPH, vectors, mesh=mesh_of())
    cosine = cosine_scorer({}, features, INPUTS)
    np.testing.assert_array_equal(cosine[3:6], 0)
    assert np.isfinite(cosine).all()


def test_scorers_are_hashable_and_equal_by_their_fields():
    same = PolicyScorer(FeedForwardPolicy(hidden_dims=(4,)))
    assert same == PolicyScorer(FeedForwardPolicy(hidden_dims=(4,)))
    assert hash(same) == hash(PolicyScorer(FeedForwardPolicy(hidden_dims=(4,))))
    assert same != PolicyScorer(FeedForwardPolicy(hidden_dims=(5,)))


def test_prepare_vectors():
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(prepare_vectors(rows, unit_norm=True), [[0.6, 0.8], [0, 0]])
    np.testing.assert_allclose(prepare_vectors(rows, mean=np.array([3.0, 0.0])), [[0, 4], [-3, 0]])


def test_features_that_do_not_fit_the_graph_are_errors():
    with pytest.raises(ValueError, match=r"shape \[9, 5\], but the graph has 10 nodes"):
        make_node_features(GRAPH, VECTORS[:9], mesh=mesh_of())
    broken = VECTORS.copy()
    broken[4, 2] = np.nan
    with pytest.raises(ValueError, match="features of node 4 are not finite"):
        make_node_features(GRAPH, broken, mesh=mesh_of())


def test_degrees_are_features():
    np.testing.assert_allclose(FEATURES.log_out_degree, np.log1p(GRAPH.out_degree), rtol=1e-6)
    np.testing.assert_allclose(
        FEATURES.log_in_degree, np.log1p(np.bincount(GRAPH.indices, minlength=10)), rtol=1e-6
    )
