"""The persistent compilation cache: a second run of the same program starts without compiling."""

from __future__ import annotations

import os
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache


def enable_compilation_cache(folder: str | os.PathLike[str], *, min_seconds: float = 0.5) -> None:
    """Keeps compiled programs that took at least `min_seconds` in `folder`, which is made.

    A setting of the whole process, for what is compiled from then on. The folder may be deleted at
    any time between runs. Raises NotADirectoryError when `folder` is a file.
    """
    path = Path(folder).absolute()
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"the compilation cache {path} is a file; name a folder")
    path.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", min_seconds)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # JAX decides once whether there is a cache, at the first compilation: make it decide anew.
    compilation_cache.reset_cache()
