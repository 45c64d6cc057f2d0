"""A lock on a file: one process holds it, however it ends."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from pathlib import Path

from absl import logging

_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class FileLock:
    """Held from `acquire` to `release`, or to the end of the process, even by a kill.

    The file tells who holds the lock; `release` removes it, a killed process leaves it. The lock
    belongs to this object, so that a second one in the same process is refused too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Takes the lock if it is free. Its folder must exist.

        Where the file system has no locks, warns and goes on without one.
        """
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                if not self._lock(descriptor):
                    os.close(descriptor)
                    return False
                if self._is_ours(descriptor):
                    break
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # released, and so removed, after we had opened it
        os.ftruncate(descriptor, 0)
        os.write(descriptor, _this_process().encode())
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Lets the lock go; nothing happens without it."""
        if self._descriptor is None:
            return
        if self._is_ours(self._descriptor):  # or its folder was renamed
            self.path.unlink()
        os.close(self._descriptor)
        self._descriptor = None

    def _lock(self, descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            logging.warning(
                "the file system of %s has no locks (%s): see to it that no other process writes "
                "there meanwhile",
                self.path.parent,
                error.strerror,
            )
        return True

    def _is_ours(self, descriptor: int) -> bool:
        """Whether the path still names the file that is open."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def holder(self) -> str:
        """Who took the lock last, as that process wrote it: "process 17 on HOST since ..."."""
        try:
            found = self.path.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            found = ""
        return found or "another process"


def _this_process() -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    return f"process {os.getpid()} on {socket.gethostname()} (since {since})\n"
