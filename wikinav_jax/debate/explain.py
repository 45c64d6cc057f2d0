"""One claim debated for a reader: `--mode=explain`."""

from __future__ import annotations

import numpy as np

from wikinav_jax.common.config import ConfigError
from wikinav_jax.debate.evaluate import debate_claims
from wikinav_jax.debate.room import Room
from wikinav_jax.debate.transcript import Json, transcribe
from wikinav_jax.debate.types import Params
from wikinav_jax.graph.triples import KnowledgeGraph


def find_triple(kg: KnowledgeGraph, text: str) -> np.ndarray:
    """int32 [1, 3] of "SUBJECT|RELATION|OBJECT", by ids or names.

    Raises:
      ConfigError: there are not three parts.
      KeyError: an entity or relation is unknown (near names are given), or several have the name.
    """
    parts = _split(kg, text)
    if len(parts) != 3:
        raise ConfigError(
            f"config.explain.triple={text!r} has {len(parts)} parts between bars; write "
            "SUBJECT|RELATION|OBJECT, names or ids (quote it for the shell); where a name holds a "
            "bar itself, part them by tabs: $'SUBJECT\\tRELATION\\tOBJECT'"
        )
    subject, relation, obj = parts
    return np.array(
        [[kg.find_entity(subject), kg.find_relation(relation), kg.find_entity(obj)]], np.int32
    )


def _split(kg: KnowledgeGraph, text: str) -> list[str]:
    """The parts between bars; tabs will do too, for names that hold a bar."""
    separator = "\t" if "\t" in text else "|"
    return text.split(separator)


def explain_claim(
    room: Room, params: Params, triple: np.ndarray, *, threshold: float, rollouts: int
) -> Json:
    """The debate about one claim int [1, 3], as an entry of debates.json.

    Its label is true when the claim is a fact of the files; an unknown claim has none.
    """
    debated = debate_claims(
        room, params, triple, rollouts=rollouts, keep_arguments=True, progress_bar=False
    )
    entry = transcribe(room.kg, triple, debated, threshold=threshold)[0]
    subject, relation, obj = (int(part) for part in triple[0])
    if obj in room.kg.known_objects(subject, relation):
        entry["label"] = True
    return entry
