"""One compilation cache for the tests of this folder and the processes that they start."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

from wikinav_jax.training.compilation import enable_compilation_cache

SETTINGS = (
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
)


@pytest.fixture(scope="package", autouse=True)
def compilation_cache_of_the_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The toy is compiled dozens of times otherwise; the settings are put back at the end."""
    before = {name: getattr(jax.config, name) for name in SETTINGS}
    folder = tmp_path_factory.mktemp("compiled")
    enable_compilation_cache(folder, min_seconds=0.0)
    with pytest.MonkeyPatch.context() as patch:
        for name in SETTINGS:
            patch.setenv(name.upper(), str(getattr(jax.config, name)))
        yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
