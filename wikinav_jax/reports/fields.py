"""Numbers in what a run wrote, checked; errors give the path of the field."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any


def read_number(value: Any, name: str, where: str) -> float:
    """The finite number `value[name]`; ValueError where there is none."""
    number = value.get(name) if isinstance(value, Mapping) else None
    is_number = isinstance(number, numbers.Real) and not isinstance(number, bool)
    if not is_number or not math.isfinite(number):  # type: ignore[arg-type]
        raise ValueError(f"{where}.{name}={number!r} must be a finite number")
    return float(number)  # type: ignore[arg-type]


def read_share(value: Any, name: str, where: str) -> float:
    """The number `value[name]` in [0, 1]; ValueError otherwise."""
    share = read_number(value, name, where)
    if not 0 <= share <= 1:
        raise ValueError(f"{where}.{name}={share} must lie in [0, 1]")
    return share
