"""Plausible negatives: the object of a fact replaced by another that is seen with the relation.

R2D2 paper, section 4; the published labelled files of FB15k-237 and WN18RR are made so.
"""

from __future__ import annotations

import copy

import numpy as np

from wikinav_jax.graph.triples import KnowledgeGraph

SIDES = ("object", "subject")


class PlausibleNegatives:
    """Draws false triples that look like facts of `kg`'s training split.

    "object" replaces (s, p, o) by (s, p, o') with o' among the objects of p in training, uniform
    over those with which it is no training fact; "subject" replaces s likewise. Facts of the other
    splits are not looked at, for training must not know them; with known="all", for evaluation, a
    negative is no fact of any split. With `anything`, that share of negatives have any entity
    instead, plausible or not.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        side: str = "object",
        *,
        known: str = "train",
        tries: int = 16,
        anything: float = 0.0,
    ) -> None:
        if side not in SIDES:
            raise ValueError(f"side={side!r} is not one of {', '.join(SIDES)}")
        if known not in ("train", "all"):
            raise ValueError(f"known={known!r} is neither 'train' nor 'all'")
        self._column = 2 if side == "object" else 0
        self._tries = tries
        self._anything = anything
        train = np.asarray(kg.train, np.int64)
        self._num_entities, self._num_relations = kg.num_entities, kg.num_relations
        facts = [train] if known == "train" else [train, kg.valid, kg.test]
        self._facts = np.unique(self._keys(np.concatenate(facts)))
        pairs, counts = np.unique(train[:, [1, self._column]], axis=0, return_counts=True)
        self._pool = pairs[:, 1].astype(np.int32)
        self._begin = np.searchsorted(pairs[:, 0], np.arange(kg.num_relations + 1))
        self._counts = counts  # of the pool, training facts
        self._weight_before: np.ndarray | None = None  # [pool + 1] running sum

    def _keys(self, triples: np.ndarray) -> np.ndarray:
        subject, relation, obj = triples.T.astype(np.int64)
        return (subject * self._num_relations + relation) * self._num_entities + obj

    def is_fact(self, triples: np.ndarray) -> np.ndarray:
        """bool [n]: whether each triple int [n, 3] is a known fact."""
        keys = self._keys(triples)
        place = np.minimum(np.searchsorted(self._facts, keys), len(self._facts) - 1)
        return self._facts[place] == keys

    def with_popularity(self, exponent: float) -> PlausibleNegatives:
        """The same, but o' has a chance in proportion to a power of its training facts with p.

        0 is uniform, as without.
        """
        changed = copy.copy(self)
        changed._weight_before = None
        if exponent:
            changed._weight_before = np.concatenate([[0.0], np.cumsum(self._counts**exponent)])
        return changed

    def _places(self, begin: np.ndarray, size: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A place in the pool for each span of it, int64 [n]."""
        if self._weight_before is None:
            uniform: np.ndarray = begin + rng.integers(0, size)
            return uniform
        low, high = self._weight_before[begin], self._weight_before[begin + size]
        drawn = low + rng.random(len(begin)) * (high - low)
        place = np.searchsorted(self._weight_before, drawn, side="right") - 1
        return np.clip(place, begin, begin + size - 1)

    def draw(self, triples: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A negative for each triple int [n, 3].

        Returns:
          int32 [n, 3], and bool [n]: False where no negative was found (a relation with one object
          has none); such a row repeats the triple and must not be used.
        """
        triples = np.asarray(triples, np.int32)
        relation = triples[:, 1]
        begin, size = self._begin[relation], self._begin[relation + 1] - self._begin[relation]
        wanted = triples.copy()
        found = np.zeros(len(triples), bool)
        free = np.zeros(len(triples), bool)
        if self._anything:
            free = rng.random(len(triples)) < self._anything
        for _ in range(self._tries):
            left = np.flatnonzero(~found & ((size > 1) | free))
            if not len(left):
                break
            place = self._places(begin[left], size[left], rng)
            trial = triples[left]
            trial[:, self._column] = self._pool[place]
            if self._anything:
                drawn = rng.integers(0, self._num_entities, len(left))
                trial[:, self._column] = np.where(free[left], drawn, trial[:, self._column])
            good = ~self.is_fact(trial)
            wanted[left[good]] = trial[good]
            found[left[good]] = True
        return wanted, found
