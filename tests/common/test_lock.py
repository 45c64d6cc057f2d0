"""A lock that one process holds, and what is said of it."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from absl import logging

from wikinav_jax.common.lock import FileLock
from wikinav_jax.common.resumable import resumable_folder

HOLD = """
import sys
from pathlib import Path
from wikinav_jax.common.lock import FileLock
lock = FileLock(Path(sys.argv[1]))
assert lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_one_holds_it_and_is_named(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire()
    assert not second.acquire()
    assert second.holder().startswith(f"process {os.getpid()} on ")
    second.release()  # held nothing: nothing happens
    assert not FileLock(tmp_path / "lock").acquire()
    first.release()
    assert second.acquire()
    second.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_released_between_opening_and_locking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is gone: locking it would keep nobody out."""
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire()
    flock = fcntl.flock

    def late(descriptor: int, operation: int) -> None:
        first.release()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    assert second.acquire()
    assert not FileLock(tmp_path / "lock").acquire()
    second.release()


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        lock = FileLock(path)
        assert not lock.acquire()
        assert lock.holder().startswith(f"process {other.pid} on ")
        other.kill()
    assert lock.acquire()
    assert lock.holder().startswith(f"process {os.getpid()} on ")
    lock.release()


def refusal(number: int):
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    return flock


def test_a_file_system_without_locks_gets_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(logging, "warning", lambda text, *args: warned.append(text % args))
    monkeypatch.setattr(fcntl, "flock", refusal(errno.ENOLCK))
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    lock.release()
    assert len(warned) == 1
    assert warned[0].startswith(f"the file system of {tmp_path} has no locks")


def test_other_errors_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", refusal(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        FileLock(tmp_path / "lock").acquire()


def test_a_folder_is_filled_by_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        resumable_folder(tmp_path / "table"),
        pytest.raises(RuntimeError, match=rf"process {os.getpid()} on .* is building .*table now"),
        resumable_folder(tmp_path / "table"),
    ):
        pass
    with resumable_folder(tmp_path / "table2") as folder:
        assert folder is not None
    assert list((tmp_path / "table2").iterdir()) == []
