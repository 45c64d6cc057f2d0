"""Quick compilation: these tests run many small programs once."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True, scope="package")
def quick_compilation() -> Iterator[None]:
    """Compiles without most optimisations, in half the time; what is computed stays the same."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
