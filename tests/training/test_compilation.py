"""The persistent compilation cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.compilation_cache import compilation_cache

from tests.training.conftest import SETTINGS
from wikinav_jax.training.compilation import enable_compilation_cache


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Puts the settings of the process back."""
    before = {name: getattr(jax.config, name) for name in SETTINGS}
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def test_programs_are_kept_and_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    jax.jit(lambda x: x + 1)(jnp.ones(3))  # the first compilation came before
    enable_compilation_cache(folder, min_seconds=0.0)

    def entries() -> set[str]:
        return {path.name for path in folder.iterdir() if path.name.endswith("-cache")}

    def program(x: jax.Array) -> jax.Array:
        return jnp.sin(x) @ jnp.cos(x).T

    x = jnp.ones((5, 5))
    first = jax.jit(program)(x)
    kept = {name for name in entries() if "program" in name}
    assert len(kept) == 1
    jax.clear_caches()
    assert (jax.jit(program)(x) == first).all()
    assert {name for name in entries() if "program" in name} == kept


def test_a_file_is_no_cache_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file; name a folder"):
        enable_compilation_cache(tmp_path / "file")
