import resource

import numpy as np
import pytest

from wikinav_jax.common import allocator
from wikinav_jax.common.allocator import keep_freed_memory


def page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def test_large_arrays_use_the_same_pages_again(monkeypatch):
    for name in ("MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    if not keep_freed_memory():
        pytest.skip("not glibc")
    np.ones(4_000_000)  # 32 MB: about 8,000 pages of 4 kB
    before = page_faults()
    for _ in range(10):
        np.ones(4_000_000)
    assert page_faults() - before < 8_000


def test_a_users_own_settings_are_left_alone(monkeypatch):
    monkeypatch.setenv("MALLOC_MMAP_MAX_", "1000")
    assert not keep_freed_memory()


def test_other_c_libraries_are_left_alone(monkeypatch):
    monkeypatch.delenv("MALLOC_MMAP_MAX_", raising=False)
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: object())
    assert not keep_freed_memory()
