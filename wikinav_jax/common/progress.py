"""One progress bar for the whole package: with an ETA, and silent where nobody watches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

_quiet = False


def set_quiet(quiet: bool) -> None:
    """Turns every later progress bar off (`--quiet`) or on."""
    global _quiet
    _quiet = quiet


def progress(
    iterable: Iterable[Any] | None = None,
    *,
    desc: str,
    total: int | None = None,
    initial: int = 0,
    unit: str = "it",
    **kwargs: Any,
) -> tqdm:
    """A tqdm bar on stderr, shown only on a terminal and only when not quiet."""
    return tqdm(
        iterable,
        desc=desc,
        total=total,
        initial=initial,
        unit=unit,
        disable=True if _quiet else None,  # None: tqdm itself checks for a terminal
        dynamic_ncols=True,
        mininterval=0.5,
        **kwargs,
    )
