"""Memory that XLA's large temporaries can use again, instead of fetching it anew at every step."""

from __future__ import annotations

import ctypes
import os

# Parameters of glibc's mallopt(3).
_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8
_USERS_OWN = ("MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Tells glibc to keep freed memory for this process; True if it did.

    By default it maps every large block afresh and gives it back at once, so that each training
    step on CPU faults all pages of its temporaries in again: gradients of a navigation batch took
    26 ms of processor time so, and 8 ms with this. The process then holds its peak of memory until
    it ends. Call it before the first large array. Does nothing under another C library, or when
    the environment already sets the allocator.
    """
    if any(name in os.environ for name in _USERS_OWN):
        return False
    library = ctypes.CDLL(None) if os.name == "posix" else None
    mallopt = getattr(library, "mallopt", None)
    if mallopt is None:
        return False
    settings = ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, -1), (_M_ARENA_MAX, 1))
    return all(mallopt(parameter, value) == 1 for parameter, value in settings)
