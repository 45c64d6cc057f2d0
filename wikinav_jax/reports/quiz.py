"""The claims of a quiz: arguments in random order, the subject masked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from wikinav_jax.reports.debate_view import path_text
from wikinav_jax.reports.debates import Debate

MASK = "[subject]"


@dataclass(frozen=True)
class QuizClaim:
    """A claim to vote on."""

    number: int
    question: str  # "[subject] — profession — mathematician"
    answer: str  # the claim with its subject
    label: bool
    judge: float  # the judge's probability
    verdict: bool  # the judge's
    arguments: tuple[tuple[str, str], ...]  # (path with the subject masked, "pro" or "con")


def quiz_claims(debates: Sequence[Debate], *, seed: int, arguments: int) -> list[QuizClaim]:
    """The claims in an order drawn from `seed`, each with at most `arguments` of either side.

    Raises:
        ValueError: there is no debate, or one has no label.
    """
    if not debates:
        raise ValueError("a quiz needs at least one debate")
    draw = random.Random(seed)
    order = list(debates)
    draw.shuffle(order)
    claims = []
    for number, debate in enumerate(order, start=1):
        if debate.label is None:
            raise ValueError(
                f"the debate about {debate.subject.name!r} has no label, so nobody's vote can be "
                "scored; make the quiz from labelled claims"
            )
        shown = [
            (path_text(debate, argument, MASK), side)
            for side, listed in (("pro", debate.pro), ("con", debate.con))
            for argument in listed[:arguments]
            if argument.hops
        ]
        shown = list(dict(reversed(shown)).items())  # a path that both put forward is shown once
        draw.shuffle(shown)
        relation, obj = debate.relation.name, debate.object.name
        hidden = MASK if debate.object.id == debate.subject.id else obj  # a claim about itself
        claims.append(
            QuizClaim(
                number,
                f"{MASK} — {relation} — {hidden}",
                f"{debate.subject.name} — {relation} — {obj}",
                debate.label,
                debate.probability,
                debate.verdict,
                tuple(shown),
            )
        )
    return claims
