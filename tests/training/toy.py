"""A toy regression on the whole training core, in this process or as `python -m` of its own."""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec

from wikinav_jax.training.checkpoint import Checkpointer
from wikinav_jax.training.distributed import initialize_distributed
from wikinav_jax.training.loop import FitResult, fit
from wikinav_jax.training.mesh import local_shards, make_mesh, replicate
from wikinav_jax.training.metrics import MetricWriter
from wikinav_jax.training.optimizers import make_optimizer, make_schedule
from wikinav_jax.training.state import (
    TrainState,
    apply_gradients,
    create_state,
    eval_params,
    step_key,
)
from wikinav_jax.training.step import jit_step

SHARDS, ROWS, WIDTH = 4, 8, 6  # [S, B, D] below
SEED = 7


def draw_batch(step: int, shards: range, *, seed: int = SEED) -> dict[str, np.ndarray]:
    """x float32 [S_local, B, D], y float32 [S_local, B], mask bool [S_local, B]."""
    parts = []
    for shard in shards:
        rng = np.random.default_rng([seed, shard, step])
        x = rng.standard_normal((ROWS, WIDTH), dtype=np.float32)
        parts.append((x, np.sin(x.sum(-1)), rng.random(ROWS) < 0.8))
    x, y, mask = (np.stack(part) for part in zip(*parts, strict=True))
    return {"x": x, "y": y, "mask": mask}


def init_params(seed: int = SEED) -> dict[str, Any]:
    """A two-layer perceptron."""
    rng = np.random.default_rng([seed, 0])

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0, shape[0] ** -0.5, shape).astype(np.float32)

    return {
        "hidden": {"kernel": normal(WIDTH, 16), "bias": np.zeros(16, np.float32)},
        "out": {"kernel": normal(16, 1), "bias": np.zeros(1, np.float32)},
    }


def loss_sums(params: Any, batch: Any, noise: jax.Array) -> jax.Array:
    """Squared errors summed over the rows of one shard: float32 []."""
    hidden = jnp.tanh(
        (batch["x"] + noise) @ params["hidden"]["kernel"] + params["hidden"]["bias"][None]
    )
    error = (hidden @ params["out"]["kernel"] + params["out"]["bias"][None])[:, 0] - batch["y"]
    return (error**2 * batch["mask"]).sum()


def train_step(
    state: TrainState, batch: Any, *, optimizer: optax.GradientTransformation, whole: Any = None
) -> tuple[TrainState, dict[str, jax.Array]]:
    """One step. With `whole` (a replicated sharding) sums over shards run in a fixed order."""
    noise = 0.1 * jax.random.normal(step_key(state), batch["x"].shape)
    losses, gradients = jax.vmap(jax.value_and_grad(loss_sums), in_axes=(None, 0, 0))(
        state.params, batch, noise
    )  # [S], [S, ...]
    if whole is not None:
        losses, gradients = jax.lax.with_sharding_constraint((losses, gradients), whole)
    count = batch["mask"].sum()
    gradients = jax.tree.map(lambda gradient: gradient.sum(0) / count, gradients)
    metrics = {"loss_sum": losses.sum(), "count": count}
    return apply_gradients(state, gradients, optimizer), metrics


def run_toy(
    workdir: Path | None,
    *,
    num_steps: int,
    devices: int | None = None,
    fixed_order: bool = False,
    batch_at: Callable[[int], Any] | None = None,
    checkpoint_every: int = 5,
    evaluate_every: int = 0,
    log_every: int = 3,
    workers: int = 2,
    learning_rate: float = 0.02,
    checkpointer: Checkpointer | None = None,
    wrap_step: Callable[[Any], Any] = lambda step: step,
) -> FitResult:
    """Trains the toy; with a workdir it logs, checkpoints and resumes there."""
    mesh = make_mesh(jax.devices()[:devices])
    schedule = make_schedule("cosine", learning_rate, num_steps=1000, warmup_steps=5)
    optimizer = make_optimizer("adamw", schedule, weight_decay=0.01, clip_norm=1.0)
    state = replicate(
        mesh, create_state(init_params(), optimizer, jax.random.key(SEED), ema_decay=0.9)
    )
    whole = NamedSharding(mesh, PartitionSpec()) if fixed_order else None

    def step(state: TrainState, batch: Any) -> tuple[TrainState, dict[str, jax.Array]]:
        return train_step(state, batch, optimizer=optimizer, whole=whole)

    step_fn = jit_step(wrap_step(step), mesh)
    shards = local_shards(SHARDS, mesh)
    held_out = replicate(mesh, draw_batch(10**6, range(SHARDS)))

    @jax.jit
    def held_out_loss(params: Any, batch: Any) -> jax.Array:
        losses = jax.vmap(loss_sums, in_axes=(None, 0, None))(params, batch, jnp.zeros(()))
        return losses.sum() / batch["mask"].sum()

    def evaluate(state: TrainState, step: int) -> dict[str, float]:
        return {"loss": float(jax.device_get(held_out_loss(eval_params(state), held_out)))}

    own = checkpointer is None and workdir is not None
    if own:
        checkpointer = Checkpointer(workdir / "checkpoints", identity={"seed": SEED})
    writer = None if workdir is None else MetricWriter(workdir)
    try:
        with jax.transfer_guard("disallow"):  # only explicit transfers from here on
            return fit(
                state=state,
                step_fn=step_fn,
                batch_at=batch_at or functools.partial(draw_batch, shards=shards),
                num_steps=num_steps,
                mesh=mesh,
                checkpointer=checkpointer,
                writer=writer,
                log_every=log_every,
                checkpoint_every=checkpoint_every,
                evaluate=evaluate,
                evaluate_every=evaluate_every,
                workers=workers,
            )
    finally:
        if own:
            checkpointer.close()
        if writer is not None:
            writer.close()


def numbers(state: TrainState) -> list[np.ndarray]:
    """Every array of the state on the host, keys as their bits."""
    state = state.replace(key=jax.random.key_data(state.key))
    return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.device_get(state))]


def main() -> None:
    """One process of a run: see tests/harness.py."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workdir", type=Path)
    parser.add_argument("--num-steps", type=int, default=20)
    parser.add_argument("--checkpoint-every", type=int, default=5)
    parser.add_argument("--evaluate-every", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds per batch")
    parser.add_argument("--fixed-order", action="store_true")
    parser.add_argument("--coordinator")
    parser.add_argument("--num-processes", type=int)
    parser.add_argument("--process-id", type=int)
    flags = parser.parse_args()
    initialize_distributed(
        flags.coordinator, flags.num_processes, flags.process_id, heartbeat_timeout=20
    )
    shards = local_shards(SHARDS, make_mesh())

    def batch_at(step: int) -> dict[str, np.ndarray]:
        time.sleep(flags.pause)
        # The parent reads how far we are from this file's size, to kill us at a known point.
        with open(flags.workdir / f"drawn-{jax.process_index()}", "ab") as file:
            file.write(b".")
        return draw_batch(step, shards)

    result = run_toy(
        flags.workdir,
        num_steps=flags.num_steps,
        checkpoint_every=flags.checkpoint_every,
        evaluate_every=flags.evaluate_every,
        fixed_order=flags.fixed_order,
        batch_at=batch_at,
        workers=1,
    )
    name = flags.workdir / f"final-{jax.process_index()}"
    np.savez(name, *numbers(result.state))
    name.with_suffix(".json").write_text(json.dumps(result.record.evaluation))


if __name__ == "__main__":
    main()
