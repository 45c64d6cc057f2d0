"""Training in a run's folder: what the rooms' trainings have in common around `fit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import jax
from jax.sharding import Mesh
from ml_collections import ConfigDict

from wikinav_jax.common.files import write_json
from wikinav_jax.training.checkpoint import Checkpointer
from wikinav_jax.training.loop import Evaluate, FitRecord, fit
from wikinav_jax.training.metrics import MetricWriter
from wikinav_jax.training.state import TrainState
from wikinav_jax.training.step import StepFn

Facts = dict[str, Any]


class Run(Protocol):
    """What a room has made of a config."""

    config: ConfigDict  # with `train`
    workdir: Path
    mesh: Mesh
    is_first: bool  # the process that writes files

    def checkpointer(self, *, read_only: bool) -> Checkpointer:
        """The run's checkpoints."""
        ...


def fit_run(
    run: Run,
    state: TrainState,
    step_fn: StepFn,
    batch_at: Callable[[int], Any],
    *,
    evaluate: Evaluate,
) -> FitRecord:
    """Trains to `config.train.num_steps`, from the last checkpoint if there is one.

    Writes config.json, checkpoints and metrics into the workdir; arguments as `fit` has them.

    Raises:
      CheckpointError: the workdir holds another run.
      NonFiniteLossError, Preempted: see `fit`.
    """
    config = run.config.train
    if run.is_first:
        run.workdir.mkdir(parents=True, exist_ok=True)
    with run.checkpointer(read_only=False) as checkpointer:
        last = checkpointer.latest_step()
        if last is not None:
            checkpointer.read_run(last)  # another run's folder is refused before it is touched
        if run.is_first:
            write_json(run.workdir / "config.json", run.config.to_dict())
        writer = MetricWriter(run.workdir)
        _, record = fit(
            state=state,
            step_fn=step_fn,
            batch_at=batch_at,
            num_steps=config.num_steps,
            mesh=run.mesh,
            checkpointer=checkpointer,
            writer=writer,
            log_every=config.log_every,
            checkpoint_every=config.checkpoint_every,
            evaluate=evaluate,
            evaluate_every=config.evaluate_every,
            workers=config.workers,
            description="Training",
        )
        writer.close()
    return record


def run_facts(mesh: Mesh, record: FitRecord, *, parameters: int, examples: str) -> Facts:
    """Facts of a training for the report; `examples` is what the metric "count" counts."""
    device = mesh.devices.flat[0]
    return {
        "Updates": record.end_step,
        "Parameters": parameters,
        "Training (s)": round(record.total_seconds, 1),
        f"{examples} per second": round(record.examples_per_second),
        "Devices": f"{mesh.size} x {device.device_kind} ({device.platform})",
        "Processes": jax.process_count(),
        "Training record": asdict(record),
    }
