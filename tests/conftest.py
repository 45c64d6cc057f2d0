"""Strict JAX settings and the shared fixtures. Runs before any test imports jax."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Four devices on one CPU, so that data parallelism is real in every test.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["HF_HUB_OFFLINE"] = "1"

import jax

from wikinav_jax.common.threads import leave_threads_for

leave_threads_for(4)

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_legacy_prng_key", "error")


def data_root() -> Path | None:
    """The folder of real data: WIKINAV_DATA, or ../shared/data beside the checkout."""
    root = Path(__file__).resolve().parents[1]
    for candidate in (os.environ.get("WIKINAV_DATA"), root.parent / "shared" / "data"):
        if candidate and Path(candidate).is_dir():
            return Path(candidate)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without the data, its tests say so as skips with the reason; they never pass unseen."""
    if data_root() is None:
        skip = pytest.mark.skip(reason="no real data: set WIKINAV_DATA to its folder")
        for item in items:
            if "data" in item.keywords:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The root of the real data sets."""
    root = data_root()
    assert root is not None
    return root
