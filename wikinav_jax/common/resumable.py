"""Folders that are filled over hours: what is done survives a kill, and one process fills them."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from wikinav_jax.common.lock import FileLock

PROGRESS_FILE = "progress.json"  # the filler's own account of how far it is
LOCK_FILE = "lock"


def partial_folder(path: Path) -> Path:
    """The folder beside `path` that is filled before it takes that name."""
    return path.with_name(f".{path.name}.partial")


@contextlib.contextmanager
def resumable_folder(path: Path) -> Iterator[Path | None]:
    """Yields the folder to fill, with all that an earlier call left in it; renames it to `path`.

    When the block raises, or is killed, the folder stays for the next call. Yields None when
    another process has finished `path` in the meantime.

    Raises RuntimeError when another process is filling it.
    """
    partial = partial_folder(path)
    partial.mkdir(parents=True, exist_ok=True)
    lock = FileLock(partial / LOCK_FILE)
    if not lock.acquire():
        raise RuntimeError(
            f"{lock.holder()} is building {path} now: wait for it, or choose another path"
        )
    try:
        if path.exists():  # another process finished it while we waited for the lock
            shutil.rmtree(partial)
            yield None
            return
        yield partial
        os.replace(partial, path)
        # Only now: a kill before the rename must still find the progress.
        (path / PROGRESS_FILE).unlink(missing_ok=True)
        (path / LOCK_FILE).unlink()  # it came along
    finally:
        lock.release()
