"""Losses by hand, and optimizers by turns."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from wikinav_jax.debate.losses import judge_loss, reinforce_loss, square_sum
from wikinav_jax.debate.optimizers import Baseline, alternating
from wikinav_jax.training.state import apply_gradients, create_state


def test_judge_loss_by_hand():
    logits, label = jnp.array([0.0, 2.0, -1.0]), jnp.array([1.0, 0.0, 0.0])
    sums = judge_loss(logits, label, jnp.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(sums["loss_sum"], math.log(2) + math.log1p(math.e**2), rtol=1e-6)
    assert sums["accuracy_sum"] == 0  # a logit of 0 says false
    assert sums["count"] == 2


def test_square_sum_leaves_names_out():
    params = {"entity": jnp.array([3.0]), "dense": {"kernel": jnp.array([1.0, 2.0])}}
    assert square_sum(params) == 14
    assert square_sum(params, leave_out=("entity",)) == 5


def test_reinforce_loss_by_hand():
    log_prob = jnp.log(jnp.array([[[0.5, 0.25]], [[0.1, 0.1]]]))  # [B=2, A=1, T=2]
    entropy = jnp.array([[[1.0, 2.0]], [[3.0, 3.0]]])
    sums = reinforce_loss(
        log_prob, entropy, jnp.array([[2.0], [5.0]]), jnp.array([1.0, 0.0]), jnp.array(0.1)
    )
    np.testing.assert_allclose(sums["loss_sum"], 2 * math.log(8) - 0.3, rtol=1e-6)
    assert sums["entropy_sum"] == 3
    assert sums["count"] == 2


def test_reinforce_prefers_what_is_rewarded():
    """Ascending the gradient makes the step with the higher reward more probable."""

    def loss(logits):
        log_prob = jax.nn.log_softmax(logits)[:, None, None]
        ones = jnp.ones(2)
        advantage = jnp.array([[1.0], [-1.0]])
        return reinforce_loss(log_prob, 0 * log_prob, advantage, ones, jnp.zeros(()))["loss_sum"]

    gradient = jax.grad(loss)(jnp.zeros(2))
    assert gradient[0] < 0 < gradient[1]


def test_ranks_are_checked():
    with pytest.raises(AssertionError):
        judge_loss(jnp.zeros((2, 1)), jnp.zeros(2), jnp.zeros(2))


def test_baseline_is_the_mean_of_its_first_reward():
    fresh = Baseline(jnp.zeros(2), jnp.zeros(()), jnp.zeros((), jnp.int32))
    np.testing.assert_array_equal(fresh.mean(), [0, 0])
    once = fresh.after(jnp.array([3.0, -1.0]), 0.9)
    np.testing.assert_allclose(once.mean(), [3, -1], rtol=1e-6)
    twice = once.after(jnp.array([0.0, 0.0]), 0.9)
    np.testing.assert_allclose(twice.mean(), [0.27 / 0.19, -0.09 / 0.19], rtol=1e-6)
    assert twice.updates == 2


def test_learners_without_gradients_stay_and_so_do_their_momenta():
    optimizer = alternating({"a": optax.adam(0.1), "b": optax.adam(0.1)})
    params = {"a": jnp.array([1.0]), "b": jnp.array([1.0])}
    state = create_state(params, optimizer, jax.random.key(0))
    state = apply_gradients(state, {"a": jnp.array([1.0])}, optimizer)
    assert state.params["a"] < 1
    assert state.params["b"] == 1
    # b's first own update is a first update of Adam: a step of the whole rate.
    state = apply_gradients(state, {"b": jnp.array([1.0])}, optimizer)
    np.testing.assert_allclose(state.params["b"], 0.9, rtol=1e-5)
    counts = [int(state.opt_state.learners[name][0].count) for name in ("a", "b")]
    assert counts == [1, 1]
    assert state.step == 2
