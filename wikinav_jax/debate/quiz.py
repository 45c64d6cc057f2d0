"""Claims for a person to judge: `--mode=quiz`. The survey of the R2D2 paper, section 5."""

from __future__ import annotations

import numpy as np

from wikinav_jax.debate.data import Labelled
from wikinav_jax.debate.evaluate import debate_claims
from wikinav_jax.debate.room import Room
from wikinav_jax.debate.transcript import Json, transcribe
from wikinav_jax.debate.types import Params


def choose_claims(labelled: Labelled, count: int, seed: int) -> Labelled:
    """`count` labelled triples, half of them true, drawn by the seed (fewer where there are)."""
    rng = np.random.default_rng([seed, 2])
    rows: list[int] = []
    for label, wanted in ((1, (count + 1) // 2), (0, count // 2)):
        of_label = np.flatnonzero((labelled.labels > 0.5) == label)
        rows += rng.permutation(of_label)[:wanted].tolist()
    chosen = np.sort(np.array(rows, np.int64))
    return Labelled(labelled.triples[chosen], labelled.labels[chosen], labelled.published)


def debate_for_quiz(
    room: Room, params: Params, labelled: Labelled, *, threshold: float
) -> list[Json]:
    """The debates that a quiz page shows, as entries of debates.json."""
    config = room.config
    claims = choose_claims(labelled, config.quiz.claims, config.seed)
    debated = debate_claims(
        room,
        params,
        claims.triples,
        rollouts=config.evaluate.rollouts,
        keep_arguments=True,
        progress_bar=False,
    )
    return transcribe(
        room.kg,
        claims.triples,
        debated,
        threshold=threshold,
        labels=claims.labels,
        arguments=config.quiz.arguments,
    )
