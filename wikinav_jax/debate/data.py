"""From a config to the knowledge graph, its labelled splits and the batches of queries.

Axes: S shards, Q queries of a shard, n triples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jax
import numpy as np

from wikinav_jax.common.config import ConfigError
from wikinav_jax.debate.negatives import PlausibleNegatives
from wikinav_jax.debate.proposals import like_published
from wikinav_jax.debate.types import LabelledQueries, Queries
from wikinav_jax.graph.triples import KnowledgeGraph


class Labelled(NamedTuple):
    """True and false triples of a split."""

    triples: np.ndarray  # int32 [n, 3]
    labels: np.ndarray  # float32 [n]
    published: bool  # False: the negatives were drawn here


def labelled_split(kg: KnowledgeGraph, split: str, *, seed: int, limit: int = 0) -> Labelled:
    """The published labelled triples of "valid" or "test"; where there are none, made here.

    Made ones are the split's facts, each with a plausible negative that is no fact of any split
    (facts without one stand alone). With `limit`, so many of them, drawn by the seed.

    Raises:
      ValueError: the split has no fact.
    """
    rng = np.random.default_rng([seed, ("valid", "test").index(split)])
    found = kg.labelled(split)
    if found is not None:
        triples, labels = found
    else:
        facts = kg.split(split)
        if not len(facts):
            raise ValueError(
                f"{kg.name} has no {split} triples, and training needs some to choose the "
                f"threshold and to be tested: move some of the training triples into {split}.txt"
            )
        negatives, exists = PlausibleNegatives(kg, known="all").draw(facts, rng)
        triples = np.concatenate([facts, negatives[exists]])
        labels = np.repeat([1.0, 0.0], [len(facts), int(exists.sum())]).astype(np.float32)
    if limit and limit < len(triples):
        rows = np.sort(rng.permutation(len(triples))[:limit])
        triples, labels = triples[rows], labels[rows]
    return Labelled(
        np.asarray(triples, np.int32), np.asarray(labels, np.float32), found is not None
    )


def training_facts(kg: KnowledgeGraph, relations: Sequence[str] = ()) -> np.ndarray:
    """The training facts that are debated: those of some relations, by id or name; () is all.

    All facts stay edges to walk along. Returns int32 [n, 3]. ConfigError for a relation that is
    unknown or has no training fact.
    """
    facts = np.asarray(kg.train, np.int32)
    if not relations:
        return facts
    numbers = []
    for name in relations:
        try:
            numbers.append(kg.find_relation(name))
        except KeyError as error:
            raise ConfigError(f"config.train.relations: {error.args[0]}") from error
        if not (facts[:, 1] == numbers[-1]).any():
            raise ConfigError(
                f"config.train.relations: {name!r} has no training fact in {kg.name}; name another "
                "relation, or none to debate the facts of all"
            )
    return facts[np.isin(facts[:, 1], numbers)]


def as_queries(triples: np.ndarray) -> Queries:
    """Triples int [n, 3] by column."""
    subject, relation, obj = np.asarray(triples, np.int32).T
    return Queries(subject=subject, relation=relation, object=obj)


class QuerySampler:
    """Batches of training facts and plausible negatives by turns; a function of the step.

    A negative is made of the fact before it and any object of the relation; or, with
    negatives="validation", as `proposals.like_published` says.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        *,
        queries_per_shard: int,
        seed: int,
        negative_side: str = "object",
        relations: Sequence[str] = (),
        negatives: str = "facts",
        anything: float = 0.0,
    ) -> None:
        if queries_per_shard % 2:
            raise ValueError(f"queries_per_shard={queries_per_shard} must be even")
        self._facts = training_facts(kg, relations)
        self._half = queries_per_shard // 2
        self._seed = seed
        self._chance: np.ndarray | None = None  # running sum of each fact's to be twisted
        self._negatives = PlausibleNegatives(kg, negative_side, anything=anything)
        if negatives == "validation":
            found = like_published(kg, self._facts, negative_side)
            if found is not None:
                self._chance = np.cumsum(found.chance)
                self._negatives = self._negatives.with_popularity(found.popularity)

    def batch_at(self, step: int, shards: Iterable[int]) -> LabelledQueries:
        """Leaves [S, Q] of the given shards; shard s of step t is drawn from (seed, s, t)."""
        drawn = [self._shard_at(step, shard) for shard in shards]
        return jax.tree.map(lambda *leaves: np.stack(leaves), *drawn)

    def _shard_at(self, step: int, shard: int) -> LabelledQueries:
        rng = np.random.default_rng([self._seed, shard, step])
        facts = self._facts[rng.integers(0, len(self._facts), self._half)]
        twisted = facts
        if self._chance is not None:
            place = np.searchsorted(self._chance, rng.random(self._half) * self._chance[-1])
            twisted = self._facts[np.minimum(place, len(self._facts) - 1)]
        negatives, found = self._negatives.draw(twisted, rng)
        triples = np.stack([facts, negatives], axis=1).reshape(-1, 3)
        label = np.tile(np.array([1, 0], np.float32), self._half)
        weight = np.stack([np.ones(self._half), found], axis=1).reshape(-1).astype(np.float32)
        return LabelledQueries(as_queries(triples), label, weight)
