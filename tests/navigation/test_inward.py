"""What links to the target: rows against the links' direction, and how the policy reads them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.navigation.toy import mesh_of, policy_input
from tests.toy import line_graph, random_graph
from wikinav_jax.common.config import ConfigError
from wikinav_jax.navigation.config import check_config, default_config
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.policies import PolicyScorer
from wikinav_jax.navigation.similarity import SimilarityPolicy, similarities

NUM_NODES, WIDTH = 12, 5
GRAPH = random_graph(NUM_NODES, 40, seed=2)
VECTORS = np.random.default_rng(0).normal(size=(NUM_NODES, WIDTH)).astype(np.float32)
NODES, TARGETS = [0, 3, 4], [7, 7, 9]
LINKS = [[1, 2, 5], [6], [8, 9]]
INPUTS = policy_input(NODES, TARGETS, LINKS, padding=3)


def test_inward_rows_by_hand():
    # On a line 0 -> 1 -> 2 -> 3, what links to node 2 is node 1, and before it node 0.
    found = make_node_features(
        line_graph(4), np.eye(4, dtype=np.float32), mesh=mesh_of(), inward_hops=2
    )
    assert found.neighbourhood is None
    eye, nothing = np.eye(4), np.zeros(4)
    np.testing.assert_array_equal(found.inward[2], [eye[1], eye[0]])
    np.testing.assert_array_equal(found.inward[1], [eye[0], nothing])
    np.testing.assert_array_equal(found.inward[0], [nothing, nothing])


@pytest.mark.parametrize("hops", [0, 2])
def test_similarities_with_what_links_to_the_target(hops):
    features = make_node_features(GRAPH, VECTORS, mesh=mesh_of(), hops=hops, inward_hops=2)
    without = features.replace(inward=None)
    weights = np.random.default_rng(1).normal(size=(3, WIDTH)).astype(np.float32)
    found = np.asarray(similarities(weights, features, INPUTS))
    plain = np.asarray(similarities(weights, without, INPUTS))
    # The columns of the plain policy are there as before; what is new stands before the last 3.
    new = 3 * 2 * (2 + hops)
    np.testing.assert_allclose(found[:, : -new - 3], plain[:, :-3], rtol=1e-6)
    np.testing.assert_allclose(found[:, -3:], plain[:, -3:], rtol=1e-6)

    def unit(row):
        return row / np.linalg.norm(row)

    flat = [(b, link) for b, links in enumerate(LINKS) for link in links]
    for e, (b, link) in enumerate(flat):
        ahead = [unit(VECTORS[link])]
        if hops:
            ahead += list(np.asarray(features.neighbourhood[link]))
        wanted = []
        for behind in np.asarray(features.inward[TARGETS[b]]):
            wanted += [weights @ (row * behind) for row in ahead]
            wanted.append(weights @ (unit(VECTORS[NODES[b]]) * behind))
        np.testing.assert_allclose(
            found[e, -new - 3 : -3], 4.0 * np.concatenate(wanted), rtol=1e-4, atol=1e-5
        )


def test_the_policy_reads_them():
    features = make_node_features(GRAPH, VECTORS, mesh=mesh_of(), inward_hops=1)
    policy = SimilarityPolicy(heads=2, hidden_dim=4)
    params = policy.init(jax.random.key(0), features, INPUTS, train=False)["params"]
    score = jax.jit(PolicyScorer(policy))
    logits = score(params, features, INPUTS)
    other = score(params, features.replace(inward=jnp.zeros_like(features.inward)), INPUTS)
    assert np.abs(np.asarray(logits - other))[:6].max() > 1e-6


def test_sentence_search_must_not_know_them():
    config = default_config()
    config.features.inward_hops = 1
    check_config(config)
    config.sentence.enabled = True
    with pytest.raises(ConfigError, match="which sentence search must not know"):
        check_config(config)
