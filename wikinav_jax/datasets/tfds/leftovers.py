"""What killed preparations leave behind: TFDS writes to `incomplete.XXXXXX_VERSION` folders."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from absl import logging

from wikinav_jax.common.lock import FileLock

# A preparation by TFDS alone takes no lock of ours; one that runs writes more often than this.
_ABANDONED = 3600.0  # seconds without a change


@contextlib.contextmanager
def swept(data_dir: Path) -> Iterator[None]:
    """Removes abandoned leftovers of a data set's folder, then keeps others from doing so.

    Only where no other build of the data set runs, and only folders in which nothing changed for
    an hour; the rest is left alone.

    Args:
      data_dir: the folder of the version, on this machine; it need not exist.
    """
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(data_dir.parent / f".{data_dir.name}.lock")
    if lock.acquire():
        for folder in data_dir.parent.glob(f"incomplete.??????_{data_dir.name}"):
            if time.time() - _last_change(folder) > _ABANDONED:
                logging.info("removing %s, which a build that was killed has left", folder)
                shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    finally:
        lock.release()


def _last_change(folder: Path) -> float:
    """When a file or folder inside was last changed; now if they are changing."""
    try:
        return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
    except FileNotFoundError:
        return time.time()
