"""The one `jax.jit` of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh

from wikinav_jax.training.mesh import replicated, sharded
from wikinav_jax.training.state import TrainState

Metrics = dict[str, jax.Array]  # scalars: "loss_sum", "count", other "*_sum" and "*_count"
StepFn = Callable[[TrainState, Any], tuple[TrainState, Metrics]]


def jit_step(step_fn: Callable[..., Any], mesh: Mesh, *constants: Any) -> StepFn:
    """Compiles the pure `step_fn(state, batch, *constants) -> (state, metrics)` for a mesh.

    The state is replicated and **donated**: use only the state that comes back. The batch is
    split along axis 0; metrics come back replicated. `constants` are arrays that no step changes
    (feature tables, CSR arrays), placed by `replicate` or `shard_rows`: as arguments they are kept
    once, whereas a closure would bake them into the program. Raises ValueError for a constant
    that is not on the mesh.
    """

    def sharding_of(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array) or leaf.sharding.device_set != set(mesh.devices.flat):
            where = leaf.sharding if isinstance(leaf, jax.Array) else type(leaf).__name__
            raise ValueError(
                f"constant {jax.tree_util.keystr(path)} is not on the {mesh.size} devices of the "
                f"mesh ({where}); place it with replicate(mesh, ...) or shard_rows(mesh, ...)"
            )
        return leaf.sharding

    constant_shardings = jax.tree_util.tree_map_with_path(sharding_of, constants)
    jitted = jax.jit(
        step_fn,
        in_shardings=(replicated(mesh), sharded(mesh), *constant_shardings),
        out_shardings=replicated(mesh),
        donate_argnums=0,
    )

    def call(state: TrainState, batch: Any) -> tuple[TrainState, Metrics]:
        return jitted(state, batch, *constants)

    return call
