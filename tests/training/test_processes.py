"""Two processes of two devices each, over localhost, against one process of four devices."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import jax
import numpy as np
import pytest

from tests.harness import finish, free_port, start_python, wait_until
from tests.training.toy import SEED, numbers, run_toy
from wikinav_jax.training.checkpoint import Checkpointer, CheckpointError
from wikinav_jax.training.distributed import initialize_distributed

STEPS = 30


def start_pair(workdir: Path, logs: list[Path]) -> list[subprocess.Popen[bytes]]:
    port = free_port()
    return [
        start_python(
            "tests.training.toy",
            [
                *(workdir, "--num-steps", STEPS, "--evaluate-every", 10, "--pause", 0.02),
                *("--fixed-order", "--coordinator", f"127.0.0.1:{port}"),
                *("--num-processes", 2, "--process-id", process),
            ],
            devices=2,
            log=logs[process],
        )
        for process in (0, 1)
    ]


def test_two_processes_train_stop_and_resume_like_one(tmp_path: Path) -> None:
    pair, one = tmp_path / "pair", tmp_path / "one"
    pair.mkdir()
    logs = [tmp_path / f"log-{process}" for process in (0, 1)]

    # SIGTERM to one of them: both save the same step and end.
    processes = start_pair(pair, logs)
    drawn = pair / "drawn-1"
    wait_until(lambda: drawn.exists() and drawn.stat().st_size >= 9, processes, logs[1])
    with pytest.raises(CheckpointError, match=f"in use: process {processes[0].pid} on "):
        Checkpointer(pair / "checkpoints", identity={"seed": SEED})
    processes[1].send_signal(signal.SIGTERM)
    for process, log in zip(processes, logs, strict=True):
        finish(process, log, expect=128 + signal.SIGTERM)
    stopped = max(int(entry.name) for entry in (pair / "checkpoints").iterdir())
    assert 6 < stopped < STEPS
    assert not list(pair.glob("final-*"))

    # Resumed, they end where one process ends that never stopped: to the bit, as the toy sums
    # over shards in a fixed order here.
    for process, log in zip(start_pair(pair, logs), logs, strict=True):
        finish(process, log)
    state, record = run_toy(one, num_steps=STEPS, evaluate_every=10, fixed_order=True)
    for process in (0, 1):
        with np.load(pair / f"final-{process}.npz") as final:
            for ours, theirs in zip(final.values(), numbers(state), strict=True):
                np.testing.assert_array_equal(ours, theirs)
        assert json.loads((pair / f"final-{process}.json").read_text()) == record.evaluation
    assert (pair / "metrics.jsonl").read_bytes() == (one / "metrics.jsonl").read_bytes()

    # What two processes saved, one process reads, on whatever devices it has.
    with Checkpointer(pair / "checkpoints", identity={"seed": SEED}) as checkpointer:
        restored = checkpointer.restore_latest(state)
    assert restored is not None and restored.key.sharding.device_set == set(jax.devices())
    for ours, theirs in zip(numbers(restored), numbers(state), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_processes": 2}, "also needs coordinator_address, process_id"),
        ({"coordinator_address": "host:1", "num_processes": 2}, "also needs process_id"),
        (
            {"coordinator_address": "host", "num_processes": 2, "process_id": 0},
            "'host' has no port",
        ),
        (
            {"coordinator_address": "host:1", "num_processes": 2, "process_id": 2},
            r"process_id=2 is not within 0..1",
        ),
        ({"auto": True, "process_id": 0}, "leave out"),
    ],
)
def test_half_given_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        initialize_distributed(**arguments)  # type: ignore[arg-type]


def test_no_arguments_mean_one_process() -> None:
    initialize_distributed()
    assert jax.process_count() == 1
