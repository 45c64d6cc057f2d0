"""Threads enough for XLA to run several CPU devices in one process."""

from __future__ import annotations

import os
import re

_DEVICES = "JAX_NUM_CPU_DEVICES"
_FLAG = re.compile(r"--xla_force_host_platform_device_count=(\d+)")
_THREADS = "NPROC"  # what XLA takes for the number of cores, when it is set


def leave_threads_for(devices: int = 0) -> bool:
    """Makes XLA start more threads than CPU devices; True if the environment had to be changed.

    XLA starts a thread for each core, or each device where these are more, and a device that waits
    for the others in a collective holds one. With four devices on two cores all of them waited
    for a device that found no thread to come on; XLA ended the process after 40 s. Call it before
    jax starts its backend. Leaves alone what the user has set.

    Args:
      devices: CPU devices of this process; 0: as JAX_NUM_CPU_DEVICES or XLA_FLAGS say.
    """
    flagged = _FLAG.search(os.environ.get("XLA_FLAGS", ""))
    asked = os.environ.get(_DEVICES, "") or (flagged.group(1) if flagged else "")
    devices = devices or (int(asked) if asked.isdecimal() else 1)
    wanted = 2 * devices
    if devices < 2 or _THREADS in os.environ or _cores() >= wanted:
        return False
    os.environ[_THREADS] = str(wanted)
    return True


def _cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
