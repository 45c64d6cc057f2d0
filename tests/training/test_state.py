"""The state, its keys, its moving average, and the one jit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from wikinav_jax.training.mesh import make_mesh, replicate, shard_batch, shard_rows
from wikinav_jax.training.state import (
    all_finite,
    apply_gradients,
    create_state,
    eval_params,
    step_key,
)
from wikinav_jax.training.step import jit_step


def sgd_state(**options: float):
    return create_state({"w": jnp.array([1.0, 2.0])}, optax.sgd(0.5), jax.random.key(0), **options)


def test_apply_gradients_by_hand() -> None:
    state = apply_gradients(sgd_state(), {"w": jnp.array([1.0, -1.0])}, optax.sgd(0.5))
    np.testing.assert_array_equal(state.params["w"], [0.5, 2.5])
    assert int(state.step) == 1 and state.step.dtype == jnp.int32
    assert state.ema_params is None
    np.testing.assert_array_equal(eval_params(state)["w"], [0.5, 2.5])


def test_moving_average_by_hand() -> None:
    state = sgd_state(ema_decay=0.9)
    gradient = {"w": jnp.array([1.0, 1.0])}
    state = apply_gradients(state, gradient, optax.sgd(0.5))  # decay min(.9, 1/10)
    np.testing.assert_allclose(state.ema_params["w"], [0.1 * 1 + 0.9 * 0.5, 0.1 * 2 + 0.9 * 1.5])
    before = np.asarray(state.ema_params["w"])
    state = apply_gradients(state, gradient, optax.sgd(0.5))  # decay min(.9, 2/11)
    expected = before * 2 / 11 + np.array([0.0, 1.0]) * 9 / 11
    np.testing.assert_allclose(eval_params(state)["w"], expected, rtol=1e-6)
    late = apply_gradients(state.replace(step=jnp.int32(10**6)), gradient, optax.sgd(0.5))
    expected = 0.9 * np.asarray(state.ema_params["w"]) + 0.1 * np.array([-0.5, 0.5])
    np.testing.assert_allclose(late.ema_params["w"], expected, rtol=1e-5)


def test_keys_differ_by_step_and_stream_and_never_change_otherwise() -> None:
    state = sgd_state()
    later = state.replace(step=state.step + 1)
    keys = [step_key(state), step_key(state, 1), step_key(later), step_key(later, 1)]
    assert len({tuple(np.asarray(jax.random.key_data(key))) for key in keys}) == 4
    again = step_key(sgd_state(), 1)
    np.testing.assert_array_equal(jax.random.key_data(again), jax.random.key_data(keys[1]))


@pytest.mark.parametrize("decay", [-0.1, 1.0, 2.0])
def test_bad_decay(decay: float) -> None:
    with pytest.raises(ValueError, match=r"ema_decay=.* \[0, 1\)"):
        sgd_state(ema_decay=decay)


def test_old_style_key_is_refused() -> None:
    with pytest.raises(TypeError, match=r"jax.random.key\(seed\)"):
        create_state({}, optax.sgd(0.1), jnp.zeros(2, jnp.uint32))


@pytest.mark.parametrize(
    ("value", "finite"), [(1.0, True), (np.nan, False), (np.inf, False), (-np.inf, False)]
)
def test_all_finite(value: float, finite: bool) -> None:
    tree = {"a": jnp.ones(3), "b": jnp.array([[0.0, value]]), "n": jnp.arange(2)}
    assert bool(all_finite(tree)) is finite
    assert bool(all_finite({}))


def test_constants_are_arguments_and_must_be_on_the_mesh() -> None:
    mesh = make_mesh()
    state = replicate(mesh, sgd_state())
    table = shard_rows(mesh, np.arange(8, dtype=np.float32).reshape(8, 1))

    def step(state, batch, table, scale):
        return state, {"loss_sum": (table[batch] * scale).sum(), "count": jnp.array(batch.size)}

    step_fn = jit_step(step, mesh, table, replicate(mesh, jnp.float32(2)))
    _, metrics = step_fn(state, shard_batch(mesh, np.array([[0], [1], [2], [7]])))
    assert float(metrics["loss_sum"]) == 20 and int(metrics["count"]) == 4
    for constant in (jnp.ones(3), np.ones(3)):
        with pytest.raises(ValueError, match=r"constant \[0\] is not on the 4 devices"):
            jit_step(step, mesh, constant)


def test_the_state_is_donated() -> None:
    mesh = make_mesh()
    state = replicate(mesh, sgd_state())

    def step(state, batch):
        gradient = {"w": batch.sum() * jnp.ones(2)}
        return apply_gradients(state, gradient, optax.sgd(0.5)), {}

    jit_step(step, mesh)(state, shard_batch(mesh, np.ones((4, 1), np.float32)))
    assert state.params["w"].is_deleted()
