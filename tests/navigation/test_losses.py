import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.navigation.toy import policy_input
from wikinav_jax.navigation.losses import (
    batch_loss,
    behaviour_cloning_loss,
    segment_log_softmax,
)
from wikinav_jax.navigation.types import NavigationBatch


def one_shard(padding: int = 0) -> NavigationBatch:
    """Two decisions: three links, of which the second is taken; one link."""
    inputs = policy_input([0, 1], [9, 9], [[5, 6, 7], [8]], padding=padding)
    return NavigationBatch(
        inputs=inputs,
        taken=np.array([1, 3], np.int32),
        log_weight=np.zeros(4 + padding, np.float32),
    )


LOGITS = np.log(np.array([1.0, 2.0, 5.0, 3.0], np.float32))


def test_log_softmax_by_hand_and_without_the_padding():
    inputs = policy_input([0, 1], [9, 9], [[5, 6, 7], [8]], padding=2)
    logits = jnp.append(LOGITS, jnp.array([50.0, jnp.nan]))
    log_prob = segment_log_softmax(logits, inputs.actions, 2)
    np.testing.assert_allclose(np.exp(log_prob[:4]), [1 / 8, 2 / 8, 5 / 8, 1], rtol=1e-6)
    assert (log_prob[4:] < -1e29).all()


def test_log_softmax_of_huge_and_tiny_logits():
    inputs = policy_input([0, 1], [9, 9], [[5, 6], [7, 8]])
    log_prob = segment_log_softmax(jnp.array([3e4, 3e4, -3e4, -3.1e4]), inputs.actions, 2)
    np.testing.assert_allclose(log_prob, [-np.log(2), -np.log(2), 0, -1e3], rtol=1e-6)


def test_loss_by_hand():
    metrics = behaviour_cloning_loss(jnp.array(LOGITS), one_shard())
    np.testing.assert_allclose(metrics["loss_sum"], -np.log(2 / 8), rtol=1e-6)
    assert metrics["accuracy_sum"] == 1  # the single link; the taken one of three is second best
    entropy = -sum(p * np.log(p) for p in (1 / 8, 2 / 8, 5 / 8))
    np.testing.assert_allclose(metrics["entropy_sum"], entropy, rtol=1e-6)
    assert metrics["count"] == 2


def test_padding_changes_neither_loss_nor_gradient():
    @jax.jit
    @jax.value_and_grad
    def loss(logits, batch):
        return behaviour_cloning_loss(logits, batch)["loss_sum"]

    value, gradient = loss(LOGITS, one_shard())
    value_p, gradient_p = loss(np.append(LOGITS, np.float32([7, -7, 0])), one_shard(padding=3))
    np.testing.assert_allclose(value_p, value, rtol=1e-6)
    np.testing.assert_allclose(gradient_p, np.append(gradient, np.zeros(3)), atol=1e-7)
    # softmax minus one-hot
    np.testing.assert_allclose(gradient, [1 / 8, 2 / 8 - 1, 5 / 8, 0], atol=1e-6)


def test_log_weight_lets_a_sampled_link_stand_for_several():
    batch = one_shard()
    batch = batch.replace(log_weight=np.log(np.array([4.0, 1.0, 4.0, 1.0], np.float32)))
    loss = behaviour_cloning_loss(jnp.array(LOGITS), batch)["loss_sum"]
    np.testing.assert_allclose(loss, -np.log(2 / (4 * 1 + 2 + 4 * 5)), rtol=1e-6)


def test_ranks_are_checked():
    with pytest.raises(AssertionError):
        behaviour_cloning_loss(jnp.zeros((4, 1)), one_shard())
    with pytest.raises(AssertionError):
        batch_loss(lambda *_: jnp.zeros(4), {}, None, one_shard(), None)


def test_batch_loss_sums_over_shards_and_divides_last():
    batch = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), one_shard())

    def apply(params, features, inputs, key):
        del features, inputs, key
        return params

    loss, metrics = batch_loss(apply, jnp.array(LOGITS), None, batch, None)
    np.testing.assert_allclose(loss, -np.log(2 / 8) / 2, rtol=1e-6)
    assert metrics["count"] == 4
    np.testing.assert_allclose(metrics["loss_sum"], -2 * np.log(2 / 8), rtol=1e-6)


def test_every_shard_draws_its_own_noise():
    batch = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), one_shard())
    drawn = []

    def apply(params, features, inputs, key):
        del params, features
        noise = jax.random.normal(key, inputs.actions.node.shape)
        jax.debug.callback(lambda x: drawn.append(np.asarray(x)), noise)
        return noise

    key = jax.random.key(0)
    batch_loss(apply, {}, None, batch, key)
    jax.effects_barrier()
    expected = [jax.random.normal(jax.random.fold_in(key, s), (4,)) for s in range(2)]
    found = np.sort(np.concatenate([np.ravel(x) for x in drawn]))
    np.testing.assert_allclose(found, np.sort(np.concatenate(expected)), rtol=1e-6)


def test_the_loss_is_traced_once_for_batches_of_one_spec():
    @jax.jit
    @chex.assert_max_traces(n=1)
    def loss(logits, batch):
        return behaviour_cloning_loss(logits, batch)["loss_sum"]

    for value in range(3):
        loss(jnp.full(4, float(value)), one_shard())
