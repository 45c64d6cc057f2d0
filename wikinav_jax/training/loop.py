"""fit: the training loop that every room uses.

The order of things around step n, on which resuming to the bit rests:
step n is dispatched -> the metrics of n-1 are read while it runs -> (row at n) -> (evaluation at
n) -> (checkpoint at n). Before a checkpoint the metrics of all steps up to it are read, so that a
checkpoint at n implies that every row up to n is written and every loss up to n was finite.
CPUs and TPUs repeat a program to the bit; on a GPU set XLA_FLAGS=--xla_gpu_deterministic_ops=true.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
from jax.sharding import Mesh

from wikinav_jax.common.progress import progress
from wikinav_jax.training.checkpoint import Checkpointer
from wikinav_jax.training.mesh import shard_batch
from wikinav_jax.training.metrics import Accumulator, MetricWriter, means
from wikinav_jax.training.preemption import Preempted, SigtermWatch
from wikinav_jax.training.prefetch import Prefetcher
from wikinav_jax.training.state import TrainState, all_finite
from wikinav_jax.training.step import Metrics, StepFn

Evaluate = Callable[[TrainState, int], Mapping[str, float]]


class NonFiniteLossError(FloatingPointError):
    """A loss, another metric or the parameters became NaN or infinite at `step`."""

    def __init__(self, what: str, step: int, checkpoint: Path | None) -> None:
        last = f"the last good checkpoint is {checkpoint}" if checkpoint else "no checkpoint yet"
        super().__init__(
            f"{what} at step {step} (its batch is batch_at({step - 1})); {last}. Lower the "
            "learning rate, clip the gradient norm, or look at that batch; then run again"
        )
        self.step = step
        self.checkpoint = checkpoint


@dataclasses.dataclass
class FitRecord:
    """Facts of a run for reports. Times are seconds of wall clock."""

    start_step: int = 0  # where this call began (> 0 after a resume)
    end_step: int = 0
    seconds: float = 0.0  # of this call, all in
    first_step_seconds: float = 0.0  # tracing and compiling, mostly
    evaluation_seconds: float = 0.0
    total_seconds: float = 0.0  # with the calls before a resume
    examples: float = 0.0  # the sum of the metric "count" in this call
    steps_per_second: float = 0.0  # without the first step and the evaluations
    examples_per_second: float = 0.0  # likewise
    evaluation: dict[str, float] = dataclasses.field(default_factory=dict)  # the last one


class FitResult(NamedTuple):
    """What `fit` returns."""

    state: TrainState
    record: FitRecord


def fit(
    *,
    state: TrainState,
    step_fn: StepFn,
    batch_at: Callable[[int], Any],
    num_steps: int,
    mesh: Mesh,
    checkpointer: Checkpointer | None = None,
    writer: MetricWriter | None = None,
    log_every: int = 100,
    checkpoint_every: int = 1000,
    evaluate: Evaluate | None = None,
    evaluate_every: int = 0,
    workers: int = 1,
    buffer: int | None = None,
    description: str = "train",
) -> FitResult:
    """Trains up to update `num_steps`, from the last checkpoint if there is one.

    Args:
      state: the initial state, replicated on `mesh`. It is donated: use only the result.
      step_fn: from `jit_step`. Its metrics hold at least "loss_sum" and "count".
      batch_at: t -> this process's shards of batch t = 0..num_steps-1, a tree of NumPy arrays
        [S_local, ...]. A pure function, called from `workers` threads.
      checkpointer: saves every `checkpoint_every` steps, at the end, and at SIGTERM.
      writer: gets a row per metric every `log_every` steps and at the end: the mean since the row
        before.
      evaluate: (state, step) -> numbers; called every `evaluate_every` steps (0: not in between)
        and at the end, in every process. Its numbers become rows of the split "eval". It must not
        donate the state. When the checkpointer tracks a best metric, every evaluation is saved.
      buffer: at most so many batches are drawn ahead; None means two per worker.

    Raises NonFiniteLossError, BatchError, CheckpointError; Preempted (a SystemExit) after SIGTERM;
    ValueError for periods below 1 and when the checkpoint lies beyond `num_steps`.
    """
    for name, period in (("log_every", log_every), ("checkpoint_every", checkpoint_every)):
        if period < 1:
            raise ValueError(f"{name}={period} is less than 1 step")
    if evaluate_every < 0 or (evaluate_every and evaluate is None):
        raise ValueError(
            f"evaluate_every={evaluate_every} needs an evaluate function and a positive number of "
            "steps; 0 evaluates at the end only"
        )

    # ---- Start, or resume -------------------------------------------------------------------
    run = _Run(state, checkpointer, writer, evaluate)
    del state  # donated from here on
    run.resume(num_steps)

    # ---- Train ------------------------------------------------------------------------------
    try:
        with (
            SigtermWatch() as sigterm,
            Prefetcher(batch_at, run.step, num_steps, workers=workers, buffer=buffer) as batches,
            progress(desc=description, total=num_steps, initial=run.step, unit="step") as bar,
        ):
            for batch in batches:
                loss = run.train(step_fn, shard_batch(mesh, batch), log_every, num_steps)
                if not math.isnan(loss):  # it is known one step later
                    bar.set_postfix(loss=loss, refresh=False)
                bar.update()
                final = run.step == num_steps
                stop = sigterm.reached(run.step) and not final
                due = evaluate is not None and (
                    final or (evaluate_every > 0 and run.step % evaluate_every == 0)
                )
                if due and not stop:
                    run.evaluate()
                tracked = checkpointer is not None and checkpointer.best_metric is not None
                if final or stop or run.step % checkpoint_every == 0 or (due and tracked):
                    # The grace period after SIGTERM is short: save first, evaluate on resuming.
                    run.save(evaluation_due=due and stop)
                if stop:
                    raise Preempted(run.step)
    finally:
        if checkpointer is not None:
            checkpointer.wait()

    return FitResult(run.state, run.finish())


class _Run:
    """What changes while `fit` runs."""

    def __init__(
        self,
        state: TrainState,
        checkpointer: Checkpointer | None,
        writer: MetricWriter | None,
        evaluate: Evaluate | None,
    ) -> None:
        self.state = state
        self.step = 0
        self._checkpointer = checkpointer
        self._writer = writer
        self._evaluate = evaluate
        self._unread: tuple[int, Metrics] | None = None  # dispatched, not yet on the host
        self._accumulator = Accumulator()
        self._loss = math.nan
        self._record = FitRecord()
        self._begin = time.monotonic()
        self._earlier_seconds = 0.0
        self._evaluated_step: int | None = None
        self._last_row = (0, self._begin)  # step, time; for the speed since

    def resume(self, num_steps: int) -> None:
        """Restores the last checkpoint, and makes the files agree with where it stands."""
        progress_then: dict[str, Any] = {}
        if self._checkpointer is not None:
            restored = self._checkpointer.restore_latest(self.state)
            if restored is not None:
                self.state = restored
                step = self._checkpointer.latest_step()
                assert step is not None
                progress_then = self._checkpointer.read_run(step)["progress"]
        self.step = int(jax.device_get(self.state.step))
        if self.step > num_steps:
            raise ValueError(
                f"the state is at step {self.step}, beyond num_steps={num_steps}; raise num_steps "
                "or use a new workdir"
            )
        self._accumulator = Accumulator(progress_then.get("sums"))
        self._earlier_seconds = progress_then.get("seconds", 0.0)
        self._record.start_step = self.step
        self._record.evaluation = dict(progress_then.get("evaluation", {}))
        self._last_row = (self.step, self._begin)
        if self._writer is not None:
            self._writer.rewind(self.step)
        if progress_then.get("evaluation_due") and self._evaluate is not None:
            self.evaluate()

    def train(self, step_fn: StepFn, batch: Any, log_every: int, num_steps: int) -> float:
        """One update; returns the newest known loss (that of the step before)."""
        before = time.monotonic()
        self.state, metrics = step_fn(self.state, batch)
        if self.step == self._record.start_step:
            self._record.first_step_seconds = time.monotonic() - before
            missing = {"loss_sum", "count"} - metrics.keys()
            if missing:
                raise ValueError(
                    f"the step's metrics {sorted(metrics)} lack {sorted(missing)}; return both"
                )
        self._read()
        self.step += 1
        self._unread = (self.step, metrics)
        if self.step % log_every == 0 or self.step == num_steps:
            self._read()
            self._write_row()
        return self._loss

    def _read(self) -> None:
        """Brings the unread metrics to the host and checks them."""
        if self._unread is None:
            return
        step, metrics = self._unread
        self._unread = None
        host = {name: float(value) for name, value in jax.device_get(metrics).items()}
        for name, value in host.items():
            if not math.isfinite(value):
                self._stop_not_finite(f"the metric {name!r} is {value}", step)
        self._loss = means({k: host[k] for k in ("loss_sum", "count")}).get("loss", math.nan)
        self._record.examples += host["count"]
        self._accumulator.add(host)

    def _write_row(self) -> None:
        values = self._accumulator.take()
        if self._writer is None:
            return
        self._writer.write(self.step, "train", values)
        now = time.monotonic()
        then_step, then = self._last_row
        speed = (self.step - then_step) / max(now - then, 1e-9)
        self._writer.write_scalars(self.step, {"train/steps_per_second": speed})
        self._last_row = (self.step, now)

    def evaluate(self) -> None:
        assert self._evaluate is not None
        self._read()
        before = time.monotonic()
        numbers = self._evaluate(self.state, self.step)
        self._record.evaluation = {name: float(value) for name, value in numbers.items()}
        self._evaluated_step = self.step
        if self._writer is not None:
            self._writer.write(self.step, "eval", self._record.evaluation)
        self._record.evaluation_seconds += time.monotonic() - before

    def save(self, *, evaluation_due: bool) -> None:
        """Saves, once everything up to this step is known to be good."""
        self._read()
        if self._checkpointer is None:
            return
        if not bool(jax.device_get(all_finite(self.state.params))):
            # The loss of this step was finite, its gradient was not.
            self._stop_not_finite("the parameters are not finite after the update", self.step)
        if self._writer is not None:
            self._writer.sync()
        self._checkpointer.save(
            self.step,
            self.state,
            progress={
                "sums": self._accumulator.sums,
                "seconds": self._earlier_seconds + time.monotonic() - self._begin,
                "evaluation": self._record.evaluation,
                "evaluation_due": evaluation_due,
            },
            # Only numbers of this very state may rank it.
            metrics=self._record.evaluation if self._evaluated_step == self.step else None,
        )

    def _stop_not_finite(self, what: str, step: int) -> None:
        checkpoint = None
        if self._checkpointer is not None:
            self._checkpointer.wait()
            last = self._checkpointer.latest_step()
            checkpoint = None if last is None else self._checkpointer.path_of(last)
        raise NonFiniteLossError(what, step, checkpoint)

    def finish(self) -> FitRecord:
        record = self._record
        record.end_step = self.step
        record.seconds = time.monotonic() - self._begin
        record.total_seconds = self._earlier_seconds + record.seconds
        steps = record.end_step - record.start_step
        seconds = record.seconds - record.evaluation_seconds
        if steps > 1:
            record.steps_per_second = (steps - 1) / max(seconds - record.first_step_seconds, 1e-9)
            record.examples_per_second = record.steps_per_second * record.examples / steps
        return record
