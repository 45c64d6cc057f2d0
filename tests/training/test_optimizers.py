"""Schedules and optimizers, by hand and against optax's own."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from wikinav_jax.training.optimizers import decay_mask, make_optimizer, make_schedule

PARAMS = {
    "layer": {"kernel": jnp.full((2, 2), 2.0), "bias": jnp.full((2,), 2.0)},
    "norm": {"scale": jnp.full((1, 2), 2.0)},
    "table": jnp.full((3, 2), 2.0),
    "gain": jnp.array(2.0),
}


def updates(optimizer: optax.GradientTransformation, gradients, params=PARAMS, steps: int = 1):
    @jax.jit
    def run(params, gradients):
        state = optimizer.init(params)
        for _ in range(steps):
            update, state = optimizer.update(gradients, state, params)
            params = optax.apply_updates(params, update)
        return params

    return run(params, gradients)


def test_schedules_by_hand() -> None:
    cosine = make_schedule("cosine", 1.0, num_steps=12, warmup_steps=2, final_fraction=0.1)
    np.testing.assert_allclose(
        [cosine(step) for step in (0, 1, 2, 7, 12, 99)], [0, 0.5, 1, 0.55, 0.1, 0.1], atol=1e-6
    )
    linear = make_schedule("linear", 1.0, num_steps=10)
    np.testing.assert_allclose([linear(step) for step in (0, 5, 10)], [1, 0.5, 0], atol=1e-6)
    constant = make_schedule("constant", 0.3, num_steps=10, warmup_steps=3)
    np.testing.assert_allclose([constant(step) for step in (0, 3, 9)], [0, 0.3, 0.3], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate=0.0 is not positive"),
        ({"warmup_steps": 10}, r"warmup_steps=10 is not within 0..9"),
        ({"warmup_steps": -1}, "warmup_steps=-1"),
        ({"final_fraction": 1.5}, "final_fraction=1.5"),
    ],
)
def test_bad_schedules(change: dict[str, float], message: str) -> None:
    fields = {"name": "cosine", "learning_rate": 1.0, "num_steps": 10, **change}
    with pytest.raises(ValueError, match=message):
        make_schedule(**fields)  # type: ignore[arg-type]


def test_unknown_names_suggest_near_ones() -> None:
    with pytest.raises(KeyError, match="Did you mean 'cosine'"):
        make_schedule("cosin", 1.0, num_steps=10)
    with pytest.raises(KeyError, match="Did you mean 'adamw'"):
        make_optimizer("admw", 0.1)


def test_decay_spares_biases_norms_and_vectors() -> None:
    assert decay_mask(PARAMS) == {
        "layer": {"kernel": True, "bias": False},
        "norm": {"scale": False},
        "table": True,
        "gain": False,
    }
    zero = jax.tree.map(jnp.zeros_like, PARAMS)
    after = updates(make_optimizer("sgd", 0.1, weight_decay=0.5), zero)
    np.testing.assert_allclose(after["table"], 2.0 - 0.1 * 0.5 * 2.0)
    np.testing.assert_array_equal(after["layer"]["bias"], PARAMS["layer"]["bias"])
    np.testing.assert_array_equal(after["norm"]["scale"], PARAMS["norm"]["scale"])


def test_adamw_equals_optax() -> None:
    gradients = jax.tree.map(lambda leaf: 0.3 * leaf, PARAMS)
    ours = updates(make_optimizer("adamw", 0.1, weight_decay=0.01), gradients, steps=3)
    theirs = updates(optax.adamw(0.1, weight_decay=0.01, mask=decay_mask), gradients, steps=3)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), ours, theirs)


def test_clipping_by_global_norm() -> None:
    gradients = {"w": jnp.array([3.0, 4.0])}  # norm 5
    params = {"w": jnp.zeros(2)}
    after = updates(make_optimizer("sgd", 1.0, clip_norm=1.0, b1=0.0), gradients, params)
    np.testing.assert_allclose(after["w"], [-0.6, -0.8], rtol=1e-6)


def test_momentum_by_hand() -> None:
    gradients, params = {"w": jnp.array([1.0])}, {"w": jnp.zeros(1)}
    after = updates(make_optimizer("sgd", 1.0, b1=0.5), gradients, params, steps=2)
    np.testing.assert_allclose(after["w"], [-(1 + 1.5)])


def test_accumulated_gradients_are_averaged() -> None:
    optimizer = make_optimizer("sgd", 1.0, b1=0.0, accumulate_steps=2)
    params = {"w": jnp.zeros(1)}
    state = optimizer.init(params)
    for gradient, expected in ((1.0, 0.0), (3.0, -2.0)):
        update, state = optimizer.update({"w": jnp.array([gradient])}, state, params)
        params = optax.apply_updates(params, update)
        np.testing.assert_allclose(params["w"], [expected])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight_decay": -1.0}, "weight_decay=-1.0"),
        ({"clip_norm": -1.0}, "clip_norm=-1.0"),
        ({"accumulate_steps": 0}, "accumulate_steps=0"),
        ({"name": "adam", "weight_decay": 0.1}, "use adamw"),
    ],
)
def test_bad_optimizers(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_optimizer(**{"name": "adamw", "learning_rate": 0.1, **options})  # type: ignore[arg-type]
