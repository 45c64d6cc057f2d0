"""Limits of time and memory for one page, so that no page can stop a build."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class PageLimitError(Exception):
    """A page took too long, or too much memory."""


_armed = False  # whether a block is running whose time counts
_limit = 0.0


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises PageLimitError inside the block once it has run for `seconds` of processor time.

    Processor time hardly depends on what else the machine does, so neither does the result. Works
    in the main thread of a process on POSIX systems; elsewhere the pool's own watch over its
    workers is what remains.
    """
    usable = hasattr(signal, "setitimer") and (
        threading.current_thread() is threading.main_thread()
    )
    if not usable:
        yield
        return

    global _armed, _limit
    # The handler stays: a signal that is still on its way when the block ends finds it unarmed.
    if signal.getsignal(signal.SIGPROF) is not _stop:
        signal.signal(signal.SIGPROF, _stop)
    _armed, _limit = True, seconds
    # Again every second: an exception raised inside a callback of the garbage collector is lost.
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        _armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)


def _stop(signum: int, frame: FrameType | None) -> None:
    if _armed:
        raise PageLimitError(f"took more than {_limit:g} s")


def limit_memory(extra_bytes: int) -> bool:
    """Lets this process take `extra_bytes` more memory than it has now, then MemoryError.

    Returns:
      Whether the system supports it (Linux does).
    """
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = used + extra_bytes
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ImportError, OSError, ValueError):
        return False
    return True
