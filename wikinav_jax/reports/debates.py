"""Debates over claims: what debates.json holds, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wikinav_jax.reports.fields import read_number, read_share
from wikinav_jax.reports.strings import visible_json

SIDES = ("pro", "con")


@dataclass(frozen=True)
class Thing:
    """An entity or a relation."""

    id: str
    name: str
    text: str = ""  # what else is known of it


@dataclass(frozen=True)
class Hop:
    """A step of an argument."""

    relation: str  # as a phrase
    entity: Thing
    is_subject: bool  # leads (back) to the claim's subject
    is_object: bool  # ... to its object


@dataclass(frozen=True)
class Argument:
    """A path from the claim's subject."""

    score: float  # the judge's logit of this argument alone
    count: int  # how often it was put forward in all rollouts
    hops: tuple[Hop, ...]  # none: the agent stayed at the subject


@dataclass(frozen=True)
class Debate:
    """A claim, what was said for and against it, and the verdict. Made by `parse_debate`."""

    subject: Thing
    relation: Thing
    object: Thing
    label: bool | None  # whether the claim is true; None when unknown
    probability: float  # the judge's, the mean over rollouts
    threshold: float  # above it the claim is taken to be true
    rollouts: int
    without_con: float | None  # the probability when con is silenced
    without_pro: float | None
    pro: tuple[Argument, ...]  # the strongest first: by score for pro, against it for con
    con: tuple[Argument, ...]

    @property
    def verdict(self) -> bool:
        """Whether the judge takes the claim to be true."""
        return self.probability > self.threshold

    @property
    def is_right(self) -> bool | None:
        """Whether the verdict agrees with the label."""
        return None if self.label is None else self.verdict == self.label


def parse_debate(value: Any, where: str = "debate") -> Debate:
    """A Debate from its JSON object.

    Raises:
        ValueError: a field is missing or wrong; the message gives its path.
    """
    if isinstance(value, Debate):
        return value
    value = visible_json(value)
    silenced = _field(value, "silenced", where, dict)
    label = value.get("label")
    if label is not None and not isinstance(label, bool):
        raise ValueError(f"{where}.label={label!r} must be true, false or null")
    return Debate(
        subject=_thing(_field(value, "subject", where, dict), f"{where}.subject"),
        relation=_thing(_field(value, "relation", where, dict), f"{where}.relation"),
        object=_thing(_field(value, "object", where, dict), f"{where}.object"),
        label=label,
        probability=read_share(value, "probability", where),
        threshold=read_share(value, "threshold", where),
        rollouts=_count(value, "rollouts", where),
        without_con=_optional_share(silenced, "con", f"{where}.silenced"),
        without_pro=_optional_share(silenced, "pro", f"{where}.silenced"),
        pro=_arguments(value, "pro", where),
        con=_arguments(value, "con", where),
    )


def readable_debates(values: Sequence[Any]) -> tuple[list[Debate], list[str]]:
    """The debates among `values` that are right, and one complaint for each that is not."""
    debates, complaints = [], []
    for index, value in enumerate(values):
        try:
            debates.append(parse_debate(value, f"debates[{index}]"))
        except ValueError as error:
            complaints.append(str(error))
    return debates, complaints


def _field(value: Any, name: str, where: str, kind: type) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} must be an object; got {value!r}")
    if not isinstance(value.get(name), kind):
        raise ValueError(f"{where}.{name}={value.get(name)!r} must be a {kind.__name__}")
    return value[name]


def _thing(value: Mapping[str, Any], where: str) -> Thing:
    text = value.get("text", "")
    if not isinstance(text, str):
        raise ValueError(f"{where}.text={text!r} must be a str")
    return Thing(_field(value, "id", where, str), _field(value, "name", where, str), text)


def _optional_share(value: Any, name: str, where: str) -> float | None:
    return None if value.get(name) is None else read_share(value, name, where)


def _count(value: Any, name: str, where: str) -> int:
    number = _field(value, name, where, int)
    if isinstance(number, bool) or number < 1:
        raise ValueError(f"{where}.{name}={number!r} must be at least 1")
    return int(number)


def _arguments(value: Any, side: str, where: str) -> tuple[Argument, ...]:
    found = []
    for index, item in enumerate(_field(value, side, where, list)):
        place = f"{where}.{side}[{index}]"
        hops = []
        for number, hop in enumerate(_field(item, "hops", place, list)):
            spot = f"{place}.hops[{number}]"
            hops.append(
                Hop(
                    _field(hop, "relation", spot, str),
                    _thing(_field(hop, "entity", spot, dict), f"{spot}.entity"),
                    _field(hop, "is_subject", spot, bool),
                    _field(hop, "is_object", spot, bool),
                )
            )
        found.append(
            Argument(read_number(item, "score", place), _count(item, "count", place), tuple(hops))
        )
    return tuple(found)
