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
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]

_started: list[subprocess.Popen[bytes]] = []


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
        process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    _started.append(process)
    return process


def _fail(message: str, log: Path) -> NoReturn:
    """Fails the test and leaves no process of this module behind."""
    for process in _started:
        if process.poll() is None:
            process.kill()
            process.wait()
    raise AssertionError(f"{message}; the end of {log}:\n{tail(log)}")


def finish(
    process: subprocess.Popen[bytes], log: Path, *, expect: int = 0, timeout: float = 300
) -> None:
    """Waits for the exit status `expect`; anything else fails with the end of the log."""
    deadline = time.monotonic() + timeout
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    if process.poll() != expect:
        _fail(f"exit status {process.poll()} after at most {timeout} s, expected {expect}", log)


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
    timeout: float = 300,
) -> None:
    """Polls until `condition()`; fails when a process ends first or time runs out."""
    deadline = time.monotonic() + timeout
    while not condition():
        ended = [process.returncode for process in processes if process.poll() is not None]
        if ended and not condition():
            _fail(f"ended early with {ended}", log)
        if time.monotonic() > deadline:
            _fail(f"waited {timeout} s in vain", log)
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
