"""What published false triples are like, so that the false claims of training are like them.

Beyond the paper. Where false triples were proposed by models and then verified by people, as those
of CoDEx, some relations have hardly any (an actor has many occupations) and others hardly a true
triple (most people have the one citizenship that is known), and their objects are popular. A judge
that learns from one negative of every fact takes each relation for even, and popularity for a
better sign than it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wikinav_jax.debate.negatives import PlausibleNegatives
from wikinav_jax.debate.priors import TrainCountPrior
from wikinav_jax.graph.triples import KnowledgeGraph

NEGATIVES = ("facts", "validation")
MIN_PUBLISHED = 20  # false validation triples; fewer tell nothing
_SMOOTHING = 20.0  # triples with the relations of the facts, as if they had been published too
_EXPONENTS = np.linspace(0, 1.5, 7)
_DRAWS = 4_000


class Proposals(NamedTuple):
    """How false claims of training are drawn."""

    chance: np.ndarray  # float64 [n] of each fact to have a negative made of it; adds up to 1
    popularity: float  # exponent of `PlausibleNegatives.with_popularity`


def like_published(kg: KnowledgeGraph, facts: np.ndarray, side: str = "object") -> Proposals | None:
    """How to draw negatives that are like the published false validation triples.

    Relations are drawn with the shares that they have there, smoothed by those of the facts. The
    exponent of popularity is the one with which negatives are on average as popular (by the log of
    how often the relation has the entity in training) as the published ones.

    Args:
      kg: the graph; its test split is not read.
      facts: int [n, 3], the training facts that are debated.
      side: of a fact that is replaced.

    Returns:
      None where the graph has fewer than `MIN_PUBLISHED` false validation triples of relations that
      the facts have.
    """
    published = kg.labelled("valid")
    if published is None:
        return None
    triples, labels = published
    of_facts = np.bincount(facts[:, 1], minlength=kg.num_relations)
    false = triples[(labels < 0.5) & (of_facts[triples[:, 1]] > 0)]
    if len(false) < MIN_PUBLISHED:
        return None
    shares = np.bincount(false[:, 1], minlength=kg.num_relations) + (
        _SMOOTHING * of_facts / of_facts.sum()
    )
    chance = (shares / np.maximum(of_facts, 1))[facts[:, 1]]
    chance /= chance.sum()
    return Proposals(chance, _popularity(kg, facts, chance, false, side))


def _popularity(
    kg: KnowledgeGraph, facts: np.ndarray, chance: np.ndarray, false: np.ndarray, side: str
) -> float:
    """The exponent with which negatives are as popular as the triples `false`."""
    count, negatives = TrainCountPrior(kg), PlausibleNegatives(kg, side)

    def mean_log_count(triples: np.ndarray) -> float:
        if side == "subject":
            triples = kg.with_inverses(triples)[len(triples) :]
        found = count(triples)
        return float(np.log(found[found > 0]).mean()) if found.any() else 0.0

    rng = np.random.default_rng(0)
    bases = facts[rng.choice(len(facts), _DRAWS, p=chance)]
    reached = []
    for exponent in _EXPONENTS:
        drawn, found = negatives.with_popularity(exponent).draw(bases, rng)
        reached.append(mean_log_count(drawn[found]))
    # Greater exponents reach greater counts, but for chance; where all are the same, 0 will do.
    rising = np.maximum.accumulate(reached) + 1e-9 * np.arange(len(reached))
    return float(np.interp(mean_log_count(false), rising, _EXPONENTS))
