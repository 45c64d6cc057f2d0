"""Real processes: killed without warning at any moment, and asked to stop."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest

from tests.harness import finish, kill_hard, run_python, start_python, wait_until
from tests.training.toy import numbers, run_toy
from wikinav_jax.training.checkpoint import CheckpointError
from wikinav_jax.training.metrics import read_metrics

STEPS, CHECKPOINT_EVERY, EVALUATE_EVERY = 40, 3, 8
ARGUMENTS = [
    *("--num-steps", STEPS),
    *("--checkpoint-every", CHECKPOINT_EVERY),
    *("--evaluate-every", EVALUATE_EVERY),
    *("--pause", 0.02),
]


@pytest.mark.parametrize("seed", [0])
def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path, seed: int) -> None:
    whole, killed, log = tmp_path / "whole", tmp_path / "killed", tmp_path / "log"
    killed.mkdir()
    drawn = killed / "drawn-0"
    rng = np.random.default_rng(seed)
    resumed_from = []
    for _ in range(2):
        target = int(rng.integers(4, 16))
        already = drawn.stat().st_size if drawn.exists() else 0
        process = start_python("tests.training.toy", [killed, *ARGUMENTS], devices=4, log=log)
        wait_until(
            lambda: drawn.exists() and drawn.stat().st_size >= already + target,  # noqa: B023
            [process],
            log,
        )
        time.sleep(rng.uniform(0, 0.04))  # anywhere within a step, a save or a row
        kill_hard(process)
        steps = [
            int(entry.name)
            for entry in (killed / "checkpoints").iterdir()
            if entry.name.isdecimal()
        ]
        resumed_from.append(max(steps, default=0))
    assert 0 < resumed_from[0] <= resumed_from[1] < STEPS  # the kills did hit a running training
    run_python("tests.training.toy", [killed, *ARGUMENTS], devices=4, log=log)

    state, _ = run_toy(
        whole,
        num_steps=STEPS,
        checkpoint_every=CHECKPOINT_EVERY,
        evaluate_every=EVALUATE_EVERY,
    )
    with np.load(killed / "final-0.npz") as final:
        for ours, theirs in zip(final.values(), numbers(state), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    rows = read_metrics(killed / "metrics.jsonl")
    places = [(row["step"], row["split"], row["name"]) for row in rows]
    assert len(places) == len(set(places))
    assert (killed / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


def test_sigterm_ends_a_process_cleanly(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = start_python("tests.training.toy", [tmp_path, *ARGUMENTS], devices=4, log=log)
    drawn = tmp_path / "drawn-0"
    wait_until(lambda: drawn.exists() and drawn.stat().st_size >= 7, [process], log)
    with pytest.raises(CheckpointError, match=f"in use: process {process.pid} on "):
        run_toy(tmp_path, num_steps=STEPS)  # a second run in the same folder
    process.send_signal(signal.SIGTERM)
    finish(process, log, expect=128 + signal.SIGTERM)
    assert "Traceback" not in log.read_text()
    steps = sorted(int(entry.name) for entry in (tmp_path / "checkpoints").iterdir())
    assert 4 < steps[-1] < STEPS
    assert not (tmp_path / "final-0.npz").exists()
