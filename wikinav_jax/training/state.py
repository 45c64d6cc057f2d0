"""TrainState: all that a run must remember, and how a gradient changes it."""

from __future__ import annotations

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax

PyTree = Any


class TrainState(flax.struct.PyTreeNode):
    """The whole state of a run; a checkpoint holds this and nothing else of the model.

    `key` never changes: a step derives its own keys by `step_key`, so that a resumed run draws
    the same numbers as one that never stopped.
    """

    step: jax.Array  # int32 [], the number of updates made
    params: PyTree
    opt_state: PyTree
    key: jax.Array  # typed PRNG key []
    ema_params: PyTree = None  # moving average of params, float like params; None when off
    ema_decay: float = flax.struct.field(pytree_node=False, default=0.0)


def create_state(
    params: PyTree,
    optimizer: optax.GradientTransformation,
    key: jax.Array,
    *,
    ema_decay: float = 0.0,
) -> TrainState:
    """A state at step 0. `ema_decay` in (0, 1) also keeps a moving average of the parameters.

    Place it on a mesh with `replicate(mesh, state)`. Raises ValueError for a decay outside
    [0, 1) and TypeError for an old-style uint32 key.
    """
    if not 0.0 <= ema_decay < 1.0:
        raise ValueError(f"ema_decay={ema_decay} is not within [0, 1); 0 turns the average off")
    if not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        raise TypeError(f"key has dtype {key.dtype}; make a typed key with jax.random.key(seed)")
    return TrainState(
        step=jnp.zeros((), jnp.int32),
        params=params,
        opt_state=optimizer.init(params),
        key=key,
        ema_params=jax.tree.map(jnp.array, params) if ema_decay else None,
        ema_decay=ema_decay,
    )


def step_key(state: TrainState, stream: int = 0) -> jax.Array:
    """The key of this step for one use; number the uses (dropout, noise, ...) by `stream`."""
    return jax.random.fold_in(jax.random.fold_in(state.key, state.step), stream)


def apply_gradients(
    state: TrainState, gradients: PyTree, optimizer: optax.GradientTransformation
) -> TrainState:
    """The state after one update. Pure; call it inside the jitted step."""
    updates, opt_state = optimizer.update(gradients, state.opt_state, state.params)
    params = optax.apply_updates(state.params, updates)
    ema_params = state.ema_params
    if state.ema_decay:
        # The average forgets its random start faster while the run is young, as in TensorFlow's
        # ExponentialMovingAverage(num_updates).
        count = state.step.astype(jnp.float32)
        decay = jnp.minimum(state.ema_decay, (1.0 + count) / (10.0 + count))
        ema_params = jax.tree.map(
            lambda average, new: average + ((1.0 - decay) * (new - average)).astype(average.dtype),
            state.ema_params,
            params,
        )
    return state.replace(
        step=state.step + 1, params=params, opt_state=opt_state, ema_params=ema_params
    )


def eval_params(state: TrainState) -> PyTree:
    """The parameters to evaluate with: the moving average where there is one."""
    return state.ema_params if state.ema_decay else state.params


@jax.jit
def all_finite(tree: PyTree) -> jax.Array:
    """bool []: whether every float of `tree` is finite."""
    floats = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    return jnp.all(jnp.array([jnp.isfinite(leaf).all() for leaf in floats]))
