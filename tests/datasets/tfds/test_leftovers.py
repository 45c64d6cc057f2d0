"""Folders of killed preparations: which go, and which stay."""

from __future__ import annotations

import os
import time
from pathlib import Path

from wikinav_jax.common.lock import FileLock
from wikinav_jax.datasets.tfds.leftovers import swept


def folder(path: Path, age: float, file_age: float) -> Path:
    """A folder with a file, last changed that many seconds ago."""
    path.mkdir(parents=True)
    (path / "shard").write_text("x")
    for place, seconds in ((path / "shard", file_age), (path, age)):
        os.utime(place, (time.time() - seconds,) * 2)
    return path


def test_abandoned_folders_go(tmp_path):
    old = folder(tmp_path / "incomplete.A1B2C3_1.0.0", 9000, 9000)
    written = folder(tmp_path / "incomplete.A1B2C4_1.0.0", 9000, 5)
    other = folder(tmp_path / "incomplete.A1B2C3_2.0.0", 9000, 9000)
    ready = folder(tmp_path / "1.0.0", 9000, 9000)
    with swept(tmp_path / "1.0.0"):
        assert not old.exists()
        assert written.exists() and other.exists() and ready.exists()
    assert not list(tmp_path.glob(".*"))  # the lock is gone


def test_nothing_goes_while_another_build_runs(tmp_path):
    old = folder(tmp_path / "incomplete.A1B2C3_1.0.0", 9000, 9000)
    lock = FileLock(tmp_path / ".1.0.0.lock")
    assert lock.acquire()
    with swept(tmp_path / "1.0.0"):
        assert old.exists()
    assert lock.path.exists()
    lock.release()


def test_a_new_data_set(tmp_path):
    with swept(tmp_path / "pages" / "1.0.0"):
        assert (tmp_path / "pages").is_dir()
