"""Debates written down for people: entries of debates.json (reports/debates.py reads them).

Axes: n claims, R rollouts, A arguments (pro, con, pro, …), T steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wikinav_jax.debate.evaluate import Debated, mean_probability
from wikinav_jax.debate.types import AGENTS, CON
from wikinav_jax.graph.triples import KnowledgeGraph

Json = dict[str, Any]
_LONG_TEXT = 300  # characters of an entity's description


def transcribe(
    kg: KnowledgeGraph,
    triples: np.ndarray,
    debated: Debated,
    *,
    threshold: float,
    labels: np.ndarray | None = None,
    arguments: int = 5,
) -> list[Json]:
    """What was said about each claim, the strongest arguments first.

    Args:
      kg: the graph, for names.
      triples: int [n, 3].
      debated: the debates, with their arguments kept.
      threshold: probability above which a claim is taken to be true.
      labels: float [n], 1 or 0, where they are known.
      arguments: how many different ones to list of each side.

    Raises:
      ValueError: the arguments were not kept.
    """
    if debated.arguments is None:
        raise ValueError("the debates' arguments were not kept; debate with keep_arguments=True")
    without_con = mean_probability(debated.verdicts.pro_logit)
    without_pro = mean_probability(debated.verdicts.con_logit)
    probability = debated.probability
    entries = []
    for i, (subject, relation, obj) in enumerate(np.asarray(triples).tolist()):
        entries.append(
            {
                "subject": _entity(kg, subject),
                "relation": {"id": kg.relations[relation], "name": kg.relation_names[relation]},
                "object": _entity(kg, obj),
                "label": None if labels is None else bool(labels[i] > 0.5),
                "probability": float(probability[i]),
                "threshold": float(threshold),
                "rollouts": int(debated.verdicts.logit.shape[1]),
                "silenced": {"con": float(without_con[i]), "pro": float(without_pro[i])},
                **{
                    name: _strongest(
                        kg,
                        (subject, obj),
                        debated.arguments.relation[i, :, side :: len(AGENTS)],
                        debated.arguments.entity[i, :, side :: len(AGENTS)],
                        debated.verdicts.scores[i, :, side :: len(AGENTS)],
                        sign=-1 if side == CON else 1,
                        limit=arguments,
                    )
                    for side, name in enumerate(AGENTS)
                },
            }
        )
    return entries


def _strongest(
    kg: KnowledgeGraph,
    claim: tuple[int, int],
    relation: np.ndarray,
    entity: np.ndarray,
    scores: np.ndarray,
    *,
    sign: int,
    limit: int,
) -> list[Json]:
    """One side's different paths by strength; staying is no step of a path.

    Args: relation and entity int [R, A / 2, T], scores float [R, A / 2].
    """
    steps = relation.shape[-1]
    found: dict[tuple[tuple[int, int], ...], tuple[float, int]] = {}
    for r, e, score in zip(
        relation.reshape(-1, steps).tolist(),
        entity.reshape(-1, steps).tolist(),
        scores.reshape(-1).tolist(),
        strict=True,
    ):
        path = tuple((a, b) for a, b in zip(r, e, strict=True) if a != kg.stay)
        best, count = found.get(path, (-np.inf * sign, 0))
        found[path] = (max(best, score) if sign > 0 else min(best, score), count + 1)
    ranked = sorted(found.items(), key=lambda item: (-sign * item[1][0], item[0]))
    return [
        {
            "score": score,
            "count": count,
            "hops": [
                {
                    "relation": kg.phrase(r),
                    "entity": _entity(kg, e),
                    "is_subject": e == claim[0],
                    "is_object": e == claim[1],
                }
                for r, e in path
            ],
        }
        for path, (score, count) in ranked[:limit]
    ]


def _entity(kg: KnowledgeGraph, entity: int) -> Json:
    text = kg.entity_texts[entity]
    if len(text) > _LONG_TEXT:
        text = text[: _LONG_TEXT - 1].rstrip() + "…"
    return {"id": kg.entities[entity], "name": kg.entity_names[entity], "text": text}
