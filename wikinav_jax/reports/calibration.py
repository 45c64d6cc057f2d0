"""What classification.json holds, checked: figures per relation, and a reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wikinav_jax.reports.fields import read_number, read_share
from wikinav_jax.reports.strings import visible_json


@dataclass(frozen=True)
class RelationFigures:
    """How claims of one relation were judged."""

    relation: str
    claims: int
    accuracy: float
    roc_auc: float | None  # None where all claims have one label


@dataclass(frozen=True)
class Bin:
    """Claims with probabilities near each other."""

    probability: float  # the mean of what was said
    true: float  # the share of true claims
    claims: int


@dataclass(frozen=True)
class Calibration:
    """The main method's claims in detail. Made by `parse_calibration`."""

    method: str
    threshold: float
    relations: tuple[RelationFigures, ...]
    bins: tuple[Bin, ...]


def parse_calibration(value: Any) -> Calibration:
    """A Calibration from its JSON object; ValueError names what is missing or wrong."""
    value = visible_json(value)
    if not isinstance(value, dict) or not isinstance(value.get("method"), str):
        raise ValueError("it holds no object with a method")
    relations = []
    for index, item in enumerate(_list(value, "relations")):
        where = f"relations[{index}]"
        name = item.get("relation") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise ValueError(f"{where}.relation={name!r} must be a string")
        area = None if item.get("roc_auc") is None else read_share(item, "roc_auc", where)
        relations.append(
            RelationFigures(name, _count(item, where), read_share(item, "accuracy", where), area)
        )
    bins = [
        Bin(
            read_share(item, "probability", f"reliability[{index}]"),
            read_share(item, "true", f"reliability[{index}]"),
            _count(item, f"reliability[{index}]"),
        )
        for index, item in enumerate(_list(value, "reliability"))
    ]
    threshold = read_number(value, "threshold", "classification")
    return Calibration(value["method"], threshold, tuple(relations), tuple(bins))


def _list(value: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(value.get(name), list):
        raise ValueError(f"{name} must be a list")
    return value[name]


def _count(item: Any, where: str) -> int:
    count = read_number(item, "claims", where)
    if count < 1 or count != int(count):
        raise ValueError(f"{where}.claims={count} must be a whole number above 0")
    return int(count)
