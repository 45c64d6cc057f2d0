"""The persistent compilation cache: a second run of the same program starts without compiling."""

from __future__ import annotations

import os
from pathlib import Path

import jax


def enable_compilation_cache(folder: str | os.PathLike[str], *, min_seconds: float = 0.5) -> None:
    """Keeps compiled programs that took at least `min_seconds` in `folder`, which is made.

    A setting of the whole process; call it before the first computation. The folder may be
    deleted at any time. Raises NotADirectoryError when `folder` is a file.
    """
    path = Path(folder).absolute()
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"the compilation cache {path} is a file; name a folder")
    path.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", min_seconds)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
