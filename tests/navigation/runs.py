"""Runs of the navigation room from the command line, for tests; also ones that are killed.

The corpus is the documentation of optax, about 600 blocks, read where it is installed.
"""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from ml_collections import ConfigDict

from tests.harness import kill_hard, run_python, start_python, wait_until

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "quickstart.py"
OVERRIDES = {
    "dataset.options.packages": ("optax",),
    "features.lsa_dim": 16,
    "features.hops": 2,
    "train.num_steps": 24,
    "train.decisions_per_shard": 16,
    "train.learning_rate": 0.01,
    "train.warmup_steps": 2,
    "train.log_every": 4,
    "train.checkpoint_every": 5,
    "train.evaluate_every": 12,
    "train.evaluate_episodes": 10,
    "evaluate.tasks": ("multistep",),
    "evaluate.num_episodes": 24,
    "evaluate.budget": 12,
    "evaluate.decodings": ("no_revisit",),
    "evaluate.baselines": False,
    "evaluate.example_walks": 2,
}


def make_config(cache: Path, **changes: object) -> ConfigDict:
    config = runpy.run_path(str(CONFIG))["get_config"]()
    config.update_from_flattened_dict({**OVERRIDES, **changes, "cache_dir": str(cache)})
    return config


def arguments(cache: Path, workdir: Path, *more: object) -> list[object]:
    """Flags of a small run; of two that set one field the later one counts."""
    flags = [
        f"--config={CONFIG}",
        f"--workdir={workdir}",
        *flags_of(OVERRIDES),
        f"--config.cache_dir={cache}",
        *map(str, more),
    ]
    return list({flag.partition("=")[0]: flag for flag in flags}.values())


def run_main(cache: Path, workdir: Path, *more: object, devices: int = 1, expect: int = 0) -> str:
    log = workdir.with_suffix(".log")
    log.unlink(missing_ok=True)
    run_python(
        "wikinav_jax.main",
        arguments(cache, workdir, *more),
        devices=devices,
        log=log,
        expect=expect,
    )
    return log.read_text(encoding="utf-8")


def run_killed(cache: Path, workdir: Path, *more: object, after: tuple[int, int]) -> None:
    """A run that is killed at a random step in the range, before it has any result."""
    moment = np.random.default_rng(5).integers(*after)
    log = workdir.with_suffix(".log")
    process = start_python("wikinav_jax.main", arguments(cache, workdir, *more), devices=1, log=log)
    metrics = workdir / "metrics.jsonl"

    def reached() -> bool:
        if not metrics.exists():
            return False
        rows = metrics.read_text().splitlines()
        return any(f'"step": {step}' in row for row in rows for step in range(moment, 30))

    wait_until(reached, [process], log, timeout=400)
    kill_hard(process)
    assert not (workdir / "results.json").exists()


def flags_of(changes: Mapping[str, object]) -> list[str]:
    """Overrides as flags."""
    return [f"--config.{name}={value}" for name, value in changes.items()]
