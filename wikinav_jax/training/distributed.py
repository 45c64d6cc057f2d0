"""Start-up of a multi-process run, behind plain arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

T = TypeVar("T")


def initialize_distributed(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    auto: bool = False,
    initialization_timeout: int = 300,
    heartbeat_timeout: int = 100,
) -> None:
    """Joins this process to the others; does nothing when no argument is given.

    Call it before anything touches a device. `auto=True` lets JAX find the cluster (TPU VMs,
    SLURM, ...); otherwise all of `coordinator_address` ("host:port" of process 0),
    `num_processes` and `process_id` are needed. Timeouts are in seconds: when a process dies
    without a word, the others stop after `heartbeat_timeout`. Raises ValueError for half-given or
    impossible arguments.
    """
    given = {
        "coordinator_address": coordinator_address,
        "num_processes": num_processes,
        "process_id": process_id,
    }
    missing = [name for name, value in given.items() if value is None]
    if auto:
        if len(missing) < len(given):
            raise ValueError(f"auto=True finds the cluster itself; leave out {sorted(given)}")
        jax.distributed.initialize(
            initialization_timeout=initialization_timeout,
            heartbeat_timeout_seconds=heartbeat_timeout,
        )
        return
    if len(missing) == len(given):
        return
    if missing:
        raise ValueError(
            f"a multi-process run also needs {', '.join(missing)}; give all of {sorted(given)}, "
            "or auto=True on a cluster that JAX knows, or none of them for a single process"
        )
    assert coordinator_address is not None and num_processes is not None and process_id is not None
    if ":" not in coordinator_address:
        raise ValueError(
            f"coordinator_address={coordinator_address!r} has no port; write host:port"
        )
    if not 0 <= process_id < num_processes:
        raise ValueError(
            f"process_id={process_id} is not within 0..{num_processes - 1} "
            f"(num_processes={num_processes}); number the processes from 0"
        )
    jax.distributed.initialize(
        coordinator_address=coordinator_address,
        num_processes=num_processes,
        process_id=process_id,
        initialization_timeout=initialization_timeout,
        heartbeat_timeout_seconds=heartbeat_timeout,
        cluster_detection_method="deactivate",
    )


def first_process_first(build: Callable[[], T]) -> T:
    """Runs `build` in process 0, then in the others, which find its files already there."""
    if jax.process_count() == 1:
        return build()
    result = build() if jax.process_index() == 0 else None
    multihost_utils.sync_global_devices("wikinav_jax first_process_first")
    return result if result is not None else build()


def agreed_by_first(ask: Callable[[], bool]) -> bool:
    """What `ask` says in process 0, in every process; it runs nowhere else."""
    if jax.process_count() == 1:
        return ask()
    first = jax.process_index() == 0 and ask()
    return bool(multihost_utils.broadcast_one_to_all(np.array(first)))
