"""The loop in one process: devices, resuming, guards, and what it writes."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tqdm import tqdm

from tests.training.toy import SHARDS, draw_batch, numbers, run_toy
from wikinav_jax.training.checkpoint import Checkpointer
from wikinav_jax.training.loop import NonFiniteLossError, fit
from wikinav_jax.training.mesh import make_mesh, replicate, shard_batch
from wikinav_jax.training.metrics import read_metrics
from wikinav_jax.training.optimizers import make_optimizer
from wikinav_jax.training.preemption import Preempted, SigtermWatch
from wikinav_jax.training.prefetch import BatchError
from wikinav_jax.training.state import TrainState, apply_gradients, create_state
from wikinav_jax.training.step import jit_step

STEPS = 12


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A run of STEPS steps that nothing interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, run_toy(folder, num_steps=STEPS, evaluate_every=4)


def assert_equal_runs(folder: Path, state: TrainState, whole: tuple[Path, Any]) -> None:
    """Same parameters, optimizer state, average and key, and the same bytes of metrics."""
    for ours, theirs in zip(numbers(state), numbers(whole[1].state), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    name = "metrics.jsonl"
    assert (folder / name).read_text() == (whole[0] / name).read_text()


def checkpoints(folder: Path) -> list[int]:
    return sorted(int(entry.name) for entry in (folder / "checkpoints").iterdir())


def test_record_and_rows(whole: tuple[Path, Any]) -> None:
    folder, (state, record) = whole
    rows = [(row["step"], row["split"]) for row in read_metrics(folder / "metrics.jsonl")]
    assert rows == [
        (3, "train"),
        (4, "eval"),
        (6, "train"),
        (8, "eval"),
        (9, "train"),
        (12, "train"),
        (12, "eval"),
    ]
    assert (record.start_step, record.end_step) == (0, STEPS)
    masks = [draw_batch(step, range(SHARDS))["mask"].sum() for step in range(STEPS)]
    assert record.examples == sum(masks)
    assert record.evaluation == {"loss": read_metrics(folder / "metrics.jsonl")[-1]["value"]}
    assert 0 < record.first_step_seconds < record.seconds == record.total_seconds
    assert record.steps_per_second > 0 and record.examples_per_second > record.steps_per_second
    assert int(state.step) == STEPS
    assert checkpoints(folder) == [10, 12]


def test_rows_are_means_over_examples_not_over_steps(
    tmp_path: Path, whole: tuple[Path, Any]
) -> None:
    run_toy(tmp_path, num_steps=3, log_every=1)
    rows = read_metrics(tmp_path / "metrics.jsonl")
    losses = [row["value"] for row in rows if row["split"] == "train"]
    counts = [draw_batch(step, range(SHARDS))["mask"].sum() for step in range(3)]
    assert len(set(counts)) > 1
    expected = np.dot(losses, counts) / sum(counts)
    assert expected != pytest.approx(np.mean(losses), rel=1e-4)
    value = read_metrics(whole[0] / "metrics.jsonl")[0]["value"]  # log_every=3
    assert value == pytest.approx(expected, rel=1e-9)


def test_it_learns() -> None:
    _, record = run_toy(None, num_steps=300)
    assert record.evaluation["loss"] < 0.1  # 0.63 after 20 steps


# ---- Devices --------------------------------------------------------------------------------


def test_one_device_agrees_with_four(whole: tuple[Path, Any]) -> None:
    state, record = run_toy(None, num_steps=STEPS, devices=1)
    for ours, theirs in zip(numbers(state), numbers(whole[1].state), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=5e-7)
    assert record.evaluation["loss"] == pytest.approx(whole[1].record.evaluation["loss"], rel=1e-6)


def integer_step(state: TrainState, batch: Any) -> tuple[TrainState, dict[str, jax.Array]]:
    """Least squares on small integers with a power of two as learning rate: no rounding."""

    def loss(params: Any) -> jax.Array:
        return 0.5 * ((batch["x"] @ params["w"] - batch["y"]) ** 2).sum()

    value, gradients = jax.value_and_grad(loss)(state.params)
    metrics = {"loss_sum": value, "count": jnp.array(batch["y"].size)}
    return apply_gradients(state, gradients, make_optimizer("sgd", 2.0**-7, b1=0.0)), metrics


def integer_batch(step: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng([3, step])
    x = rng.integers(-1, 2, (SHARDS, 8, 3)).astype(np.float32)
    return {"x": x, "y": rng.integers(-2, 3, (SHARDS, 8)).astype(np.float32)}


def test_devices_agree_to_the_bit_where_no_sum_rounds() -> None:
    """So nothing but the order of sums differs: not the batch, its shards, nor the keys."""
    results = []
    for devices in (1, 2, 4):
        mesh = make_mesh(jax.devices()[:devices])
        optimizer = make_optimizer("sgd", 2.0**-7, b1=0.0)
        state = create_state({"w": jnp.zeros(3)}, optimizer, jax.random.key(0))
        state, _ = fit(
            state=replicate(mesh, state),
            step_fn=jit_step(integer_step, mesh),
            batch_at=integer_batch,
            num_steps=3,
            mesh=mesh,
        )
        results.append(np.asarray(state.params["w"]))
    w = np.zeros(3)
    for step in range(3):  # the same by hand, in float64
        batch = {name: value.astype(np.float64) for name, value in integer_batch(step).items()}
        x, y = batch["x"].reshape(-1, 3), batch["y"].reshape(-1)
        w -= 2.0**-7 * x.T @ (x @ w - y)
    assert np.abs(w).max() > 0.01
    for result in results:
        np.testing.assert_array_equal(result, w)


def test_the_step_is_traced_once() -> None:
    chex.clear_trace_counter()
    run_toy(None, num_steps=8, wrap_step=chex.assert_max_traces(n=1))


def test_nothing_reaches_a_device_in_silence() -> None:
    """run_toy runs fit under this guard; here it is shown to bite."""
    mesh = make_mesh()
    step = jax.jit(lambda batch: jax.tree.map(jnp.sum, batch))
    batch = draw_batch(0, range(SHARDS))
    with jax.transfer_guard("disallow"):
        step(shard_batch(mesh, batch))
        with pytest.raises(Exception, match="Disallowed host-to-device transfer"):
            step(batch)


# ---- Stop and resume ------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [1, 5, 8])  # 5: a checkpoint step, 8: an evaluation step
def test_sigterm_saves_and_resumes_to_the_bit(
    tmp_path: Path, whole: tuple[Path, Any], stop: int
) -> None:
    handler = signal.getsignal(signal.SIGTERM)

    def batch_at(step: int) -> Any:
        if step == stop - 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return draw_batch(step, range(SHARDS))

    with pytest.raises(Preempted) as caught:
        run_toy(tmp_path, num_steps=STEPS, evaluate_every=4, batch_at=batch_at, workers=1)
    assert caught.value.code == 143
    # The batch is drawn ahead, so that the signal may come up to the buffer (2) steps early.
    assert stop - 2 <= caught.value.step <= stop
    assert checkpoints(tmp_path)[-1] == caught.value.step
    assert signal.getsignal(signal.SIGTERM) is handler
    state, record = run_toy(tmp_path, num_steps=STEPS, evaluate_every=4)
    assert record.start_step == caught.value.step
    assert record.total_seconds > record.seconds
    assert_equal_runs(tmp_path, state, whole)


def test_sigterm_at_an_evaluation_puts_it_off(tmp_path: Path, whole: tuple[Path, Any]) -> None:
    """The signal comes while step 4 is logged, so that the evaluation at 4 is due and not made."""

    class Watch(SigtermWatch):
        def reached(self, step: int) -> bool:
            return step == 4

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wikinav_jax.training.loop.SigtermWatch", Watch)
        with pytest.raises(Preempted):
            run_toy(tmp_path, num_steps=STEPS, evaluate_every=4)
    assert [row["split"] for row in read_metrics(tmp_path / "metrics.jsonl")] == ["train"]
    state, _ = run_toy(tmp_path, num_steps=STEPS, evaluate_every=4)
    assert_equal_runs(tmp_path, state, whole)


def test_rows_past_the_checkpoint_are_written_anew(tmp_path: Path, whole: tuple[Path, Any]) -> None:
    def batch_at(step: int) -> Any:
        if step == 11:
            raise OSError("disk gone")
        return draw_batch(step, range(SHARDS))

    with pytest.raises(BatchError, match="step 11 failed: OSError: disk gone"):
        run_toy(tmp_path, num_steps=STEPS, evaluate_every=4, checkpoint_every=7, batch_at=batch_at)
    assert checkpoints(tmp_path) == [7]
    path = tmp_path / "metrics.jsonl"
    assert read_metrics(path)[-1]["step"] > 7
    with path.open("a") as file:
        file.write('{"step": 11, "split": "tr')  # as a kill leaves it
    state, record = run_toy(tmp_path, num_steps=STEPS, evaluate_every=4, checkpoint_every=7)
    assert record.start_step == 7
    assert_equal_runs(tmp_path, state, whole)


def test_a_finished_run_does_nothing_more(tmp_path: Path) -> None:
    first = run_toy(tmp_path, num_steps=4)
    content = (tmp_path / "metrics.jsonl").read_bytes()

    def batch_at(step: int) -> Any:
        raise AssertionError("no batch is needed")

    state, record = run_toy(tmp_path, num_steps=4, batch_at=batch_at)
    assert (record.start_step, record.end_step) == (4, 4)
    assert record.evaluation == first.record.evaluation
    assert (tmp_path / "metrics.jsonl").read_bytes() == content
    for ours, theirs in zip(numbers(state), numbers(first.state), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="at step 4, beyond num_steps=3"):
        run_toy(tmp_path, num_steps=3)


def test_the_best_evaluation_is_kept(tmp_path: Path) -> None:
    """With a best metric every evaluation is saved; here the first has the largest loss.

    The checkpoints at 40 and 80 have no evaluation of their own, and so no claim to be the best.
    """
    with Checkpointer(
        tmp_path / "checkpoints", keep=1, best_metric="loss", best_mode="max"
    ) as checkpointer:
        run_toy(
            tmp_path,
            num_steps=90,
            evaluate_every=30,
            checkpoint_every=40,
            log_every=1000,
            checkpointer=checkpointer,
        )
        assert checkpointer.best_step() == 30
    assert checkpoints(tmp_path) == [30, 90]


# ---- Guards ---------------------------------------------------------------------------------


def poisoned(step: int) -> Any:
    """A NaN in the batch of step 7, so in the loss of the 8th update."""
    batch = draw_batch(step, range(SHARDS))
    if step == 7:
        batch["y"][2, 3] = np.nan
        batch["mask"][2, 3] = True
    return batch


@pytest.mark.parametrize(("checkpoint_every", "last"), [(4, 4), (3, 6), (100, None)])
def test_a_non_finite_loss_stops_before_it_is_saved(
    tmp_path: Path, checkpoint_every: int, last: int | None
) -> None:
    with pytest.raises(NonFiniteLossError, match="'loss_sum' is nan at step 8 ") as caught:
        run_toy(tmp_path, num_steps=20, batch_at=poisoned, checkpoint_every=checkpoint_every)
    assert caught.value.step == 8
    if last is None:
        assert caught.value.checkpoint is None and "no checkpoint yet" in str(caught.value)
        assert not list((tmp_path / "checkpoints").iterdir())
    else:
        assert caught.value.checkpoint == tmp_path / "checkpoints" / str(last)
        assert checkpoints(tmp_path)[-1] == last
    assert read_metrics(tmp_path / "metrics.jsonl")[-1]["step"] == 6


def test_non_finite_parameters_are_not_saved(tmp_path: Path) -> None:
    """The loss of a step says nothing about its own update: a finite loss, a NaN gradient."""

    def break_params(step: Any) -> Any:
        def wrapped(state: TrainState, batch: Any) -> Any:
            state, metrics = step(state, batch)
            bad = jnp.where(state.step == 8, jnp.nan, 0.0)
            return state.replace(params=jax.tree.map(lambda p: p + bad, state.params)), metrics

        return wrapped

    with pytest.raises(NonFiniteLossError, match=r"parameters are not finite .* at step 8"):
        run_toy(tmp_path, num_steps=20, checkpoint_every=4, wrap_step=break_params)
    assert checkpoints(tmp_path) == [4]


def drop(name: str) -> Any:
    def wrap(step: Any) -> Any:
        def wrapped(state: TrainState, batch: Any) -> Any:
            state, metrics = step(state, batch)
            return state, {key: value for key, value in metrics.items() if key != name}

        return wrapped

    return wrap


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"metrics \['loss_sum'\] lack \['count'\]"):
        run_toy(None, num_steps=2, wrap_step=drop("count"))
    with pytest.raises(ValueError, match="log_every=0"):
        run_toy(None, num_steps=2, log_every=0)
    with pytest.raises(ValueError, match="checkpoint_every=-1"):
        run_toy(None, num_steps=2, checkpoint_every=-1)
    with pytest.raises(ValueError, match="evaluate_every=-1"):
        run_toy(None, num_steps=2, evaluate_every=-1)


def test_a_loss_that_is_not_known_yet_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[float] = []

    class Bar(tqdm):
        def set_postfix(self, *_: Any, loss: float, **__: Any) -> None:
            shown.append(loss)

    def bar(*, desc: str, unit: str, **places: int) -> tqdm:
        return Bar(disable=True, **places)

    monkeypatch.setattr("wikinav_jax.training.loop.progress", bar)
    run_toy(tmp_path, num_steps=4)
    assert len(shown) >= 3 and np.isfinite(shown).all()
