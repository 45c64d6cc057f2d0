"""Real processes for tests: start Python files on fake CPU devices, kill them, join several."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def start_python(
    module: str, arguments: Sequence[object], *, devices: int, log: Path
) -> subprocess.Popen[bytes]:
    """Starts `python -m module arguments` on so many CPU devices; its output goes to `log`."""
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(devices),
        "JAX_NUMPY_RANK_PROMOTION": "raise",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def finish(process: subprocess.Popen[bytes], log: Path, *, expect: int = 0, timeout: float = 60):
    """Waits for the exit status `expect`; anything else fails with the end of the log."""
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"still running after {timeout} s:\n{tail(log)}") from None
    assert status == expect, f"exit status {status}, expected {expect}:\n{tail(log)}"


def run_python(
    module: str, arguments: Sequence[object], *, devices: int, log: Path, expect: int = 0
) -> None:
    """Starts and finishes one process."""
    finish(start_python(module, arguments, devices=devices, log=log), log, expect=expect)


def wait_until(
    condition: Callable[[], bool],
    processes: Sequence[subprocess.Popen[bytes]],
    log: Path,
    *,
    timeout: float = 60,
) -> None:
    """Polls until `condition()`; fails when a process ends first or time runs out."""
    deadline = time.monotonic() + timeout
    while not condition():
        ended = [process.poll() for process in processes if process.poll() is not None]
        assert not ended or condition(), f"ended early with {ended}:\n{tail(log)}"
        assert time.monotonic() < deadline, f"waited {timeout} s in vain:\n{tail(log)}"
        time.sleep(0.01)


def kill_hard(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL: the process can neither catch it nor clean up."""
    process.send_signal(signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL, "it had ended before the kill"


def free_port() -> int:
    """A TCP port of localhost that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def tail(log: Path, characters: int = 3000) -> str:
    """The end of a log file."""
    return log.read_text(errors="replace")[-characters:] if log.exists() else "(no log)"
