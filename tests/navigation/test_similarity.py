import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.navigation.toy import mesh_of, policy_input
from tests.toy import graph_from_edges, line_graph, random_graph
from wikinav_jax.navigation.baselines import lookahead_scorer
from wikinav_jax.navigation.features import make_node_features, neighbourhood_rows
from wikinav_jax.navigation.policies import PolicyScorer, PolicyTrainer
from wikinav_jax.navigation.similarity import SimilarityPolicy

NUM_NODES, WIDTH, HOPS = 12, 5, 2
GRAPH = random_graph(NUM_NODES, 40, seed=2)
VECTORS = np.random.default_rng(0).normal(size=(NUM_NODES, WIDTH)).astype(np.float32)
LINKS = [[1, 2, 5], [6], [8, 9]]
KINDS = [[0, 1, 2], [3], [0, 0]]
VISITS = [[0, 3, 0], [20], [1, 0]]
INPUTS = policy_input([0, 3, 4], [7, 7, 9], LINKS, kinds=KINDS, visits=VISITS, padding=3)


def features(hops: int = HOPS, **how):
    return make_node_features(GRAPH, VECTORS, mesh=mesh_of(), hops=hops, **how)


def init(policy, inputs=INPUTS, hops: int = HOPS):
    start = jax.jit(lambda key: policy.init(key, features(hops), inputs, train=False))
    return start(jax.random.key(0))["params"]


def score(policy, params, features, inputs):
    return jax.jit(PolicyScorer(policy))(params, features, inputs)


def numpy_logits(policy: SimilarityPolicy, params, hops: int) -> np.ndarray:
    """The same policy, link by link, in float64."""

    def unit(x: np.ndarray) -> np.ndarray:
        return x / np.linalg.norm(x)

    def gelu(x: np.ndarray) -> np.ndarray:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        layer = {part: np.float64(value) for part, value in params[name].items()}
        return x @ layer["kernel"] + layer.get("bias", 0)

    heads = np.float64(params["heads"])
    rows = neighbourhood_rows(GRAPH, VECTORS, hops).astype(np.float64) if hops else None
    out_degree, in_degree = GRAPH.out_degree, np.bincount(GRAPH.indices, minlength=NUM_NODES)
    logits: list[float] = []
    for b, (s, g) in enumerate([(0, 7), (3, 7), (4, 9)]):
        hidden = []
        for link, kind, visits in zip(LINKS[b], KINDS[b], VISITS[b], strict=True):
            a, here, goal = (unit(np.float64(VECTORS[i])) for i in (link, s, g))
            similar = [heads @ (a * goal), heads @ (a * here)]
            if hops:
                similar += [heads @ (row * goal) for row in rows[link]]
            similar.append(heads @ (here * goal))
            own = [*np.eye(4)[kind], np.log1p(out_degree[link]), np.log1p(in_degree[link])]
            seen = [float(visits > 0), np.log1p(min(visits, 10)), 0.0] if policy.history else []
            place = [*np.eye(5)[4], np.log1p(out_degree[s]), np.log1p(in_degree[s]), 0.0]
            x = np.concatenate([4 * np.concatenate(similar), own, seen, place])
            hidden.append(gelu(dense("link", x)))
        table = np.array(hidden)
        if policy.siblings:
            together = np.concatenate([table.mean(axis=0), table.max(axis=0)])
            table = np.concatenate([table, np.tile(together, (len(table), 1))], axis=1)
        logits += dense("logit", gelu(dense("choice", table)))[:, 0].tolist()
    return np.array(logits)


@pytest.mark.parametrize(
    ("policy", "hops"),
    [
        (SimilarityPolicy(heads=3, hidden_dim=7), HOPS),
        (SimilarityPolicy(heads=2, hidden_dim=4, siblings=False), 0),
        (SimilarityPolicy(heads=2, hidden_dim=4, history=True), 1),
    ],
)
def test_the_policy_equals_numpy(policy, hops):
    params = init(policy, hops=hops)
    logits = score(policy, params, features(hops), INPUTS)
    assert logits.dtype == jnp.float32 and logits.shape == (9,)
    np.testing.assert_allclose(logits[:6], numpy_logits(policy, params, hops), rtol=1e-4, atol=1e-5)


def test_padding_and_other_decisions_change_nothing():
    policy = SimilarityPolicy(heads=2, hidden_dim=4)
    params = init(policy)
    together = score(policy, params, features(), INPUTS)
    alone = policy_input([4], [9], LINKS[2:], kinds=KINDS[2:], visits=VISITS[2:])
    np.testing.assert_allclose(score(policy, params, features(), alone), together[4:6], rtol=1e-5)


def test_the_order_of_links_changes_nothing_but_their_order():
    policy = SimilarityPolicy(heads=2, hidden_dim=4)
    params = init(policy)
    turned = policy_input([0], [7], [[5, 2, 1]], kinds=[[2, 1, 0]], visits=[[0, 3, 0]])
    np.testing.assert_allclose(
        score(policy, params, features(), turned)[::-1],
        score(policy, params, features(), INPUTS)[:3],
        rtol=1e-5,
    )


def test_gradients_are_finite_where_decisions_have_no_links():
    policy = SimilarityPolicy(heads=2, hidden_dim=4)
    inputs = policy_input([0, 3], [7, 7], [[], [6, 1]], kinds=[[], [0, 1]], padding=1)
    params = init(policy, inputs)

    def total(params):
        logits = PolicyTrainer(policy)(params, features(), inputs, jax.random.key(1))
        return jnp.where(inputs.actions.valid, logits, 0).sum()

    gradient = jax.jit(jax.grad(total))(params)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    assert all((np.asarray(leaf) != 0).any() for leaf in jax.tree.leaves(gradient))


def test_dropout_acts_in_training_only():
    policy = SimilarityPolicy(heads=2, hidden_dim=16, dropout=0.5)
    params = init(policy)
    trainer = jax.jit(PolicyTrainer(policy))
    first, second = (trainer(params, features(), INPUTS, jax.random.key(i)) for i in range(2))
    assert (first != second).any()
    np.testing.assert_array_equal(
        score(policy, params, features(), INPUTS), score(policy, params, features(), INPUTS)
    )


def test_neighbourhood_rows_are_the_means_of_where_walks_lead():
    # 0 -> 1, 0 -> 2 twice; 1 -> 2; 2 -> 0; 3 is a dead end that only 1 leads to.
    graph = graph_from_edges([(0, 1), (0, 2), (0, 2), (1, 2), (1, 3), (2, 0)], 4)
    phi = np.array([[1, 0], [0, 1], [2, 2], [3, -1]], np.float32)
    one = np.array([(phi[1] + 2 * phi[2]) / 3, (phi[2] + phi[3]) / 2, phi[0], [0, 0]])
    two = np.array([(one[1] + 2 * one[2]) / 3, (one[2] + one[3]) / 2, one[0], [0, 0]])
    rows = neighbourhood_rows(graph, phi, 2)
    assert rows.shape == (4, 2, 2) and rows.dtype == np.float32
    for hop, expected in enumerate((one, two)):
        length = np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(
            rows[:, hop], expected / np.where(length > 0, length, 1), rtol=1e-5, atol=1e-6
        )


def test_neighbourhood_rows_of_wide_features_are_spread_part_by_part():
    vectors = np.random.default_rng(3).normal(size=(NUM_NODES, 130)).astype(np.float32)
    rows = neighbourhood_rows(GRAPH, vectors, 1)[:, 0]
    for node in range(NUM_NODES):
        links = GRAPH.neighbours(node)
        expected = vectors[links].mean(axis=0) if len(links) else np.zeros(130)
        length = np.linalg.norm(expected)
        np.testing.assert_allclose(rows[node], expected / (length or 1), rtol=1e-4, atol=1e-5)
    half = neighbourhood_rows(GRAPH, vectors, 1, dtype=np.float16)
    assert half.dtype == np.float16
    np.testing.assert_allclose(half[:, 0], rows, atol=2e-3)
    with pytest.raises(ValueError, match="hops=0 must be at least 1"):
        neighbourhood_rows(GRAPH, vectors, 0)


def test_without_hops_there_is_no_neighbourhood():
    assert features(hops=0).neighbourhood is None
    assert features(hops=2, dtype=jnp.bfloat16).neighbourhood.dtype == jnp.bfloat16


def test_lookahead_by_hand():
    # On a line, one link ahead of node a lies a + 1: only node 1 leads to node 2 from 0's links.
    graph = line_graph(4)
    phi = np.eye(4, dtype=np.float32)
    found = make_node_features(graph, phi, mesh=mesh_of(), hops=1)
    inputs = policy_input([0], [2], [[1, 2, 3]])
    cosine = lookahead_scorer({}, found, inputs)
    # phi(1) + phi(2), phi(2) + phi(3), phi(3) + nothing
    np.testing.assert_allclose(cosine, [np.sqrt(0.5), np.sqrt(0.5), 0], atol=1e-6)
