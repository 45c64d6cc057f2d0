"""The known answers of queries (subject, relation, ?), for filters and for hiding edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wikinav_jax.graph.csr import read_only


class Answers(NamedTuple):
    """Objects of every query, sorted by query key and, within a query, by object, none twice."""

    keys: np.ndarray  # int64 [K], relation * num_entities + subject, sorted, each once
    indptr: np.ndarray  # int64 [K + 1]
    objects: np.ndarray  # int32 [A]
    num_entities: int

    def of(self, subject: int, relation: int) -> np.ndarray:
        """The objects of one query, int32 [any], sorted; empty when there is none."""
        key = relation * self.num_entities + subject
        place = int(np.searchsorted(self.keys, key))
        if place == len(self.keys) or self.keys[place] != key:
            return self.objects[:0]
        return self.objects[self.indptr[place] : self.indptr[place + 1]]

    def of_many(self, subjects: np.ndarray, relations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The objects of B queries as (row int64 [A], object int32 [A]), sorted by row.

        `row` is the query's place in the batch: `mask[row, object] = True` marks what is known.
        """
        keys = np.asarray(relations, np.int64) * self.num_entities + subjects
        if not len(self.keys) or not len(keys):
            return np.zeros(0, np.int64), self.objects[:0]
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = self.keys[place] == keys
        counts = np.where(known, self.indptr[place + 1] - self.indptr[place], 0)
        row = np.repeat(np.arange(len(keys)), counts)
        first = np.cumsum(counts) - counts
        within = np.arange(len(row)) - first[row]
        return row, self.objects[self.indptr[place][row] + within]

    def contain(self, triples: np.ndarray) -> np.ndarray:
        """Whether each (subject, relation, object) is known, bool [n]."""
        triples = np.asarray(triples, np.int64).reshape(-1, 3)
        if not len(self.keys):
            return np.zeros(len(triples), bool)
        # One number per fact would overflow for millions of entities: look in the query's range.
        keys = triples[:, 1] * self.num_entities + triples[:, 0]
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        low, high = self.indptr[place].copy(), self.indptr[place + 1].copy()
        low[self.keys[place] != keys] = high[self.keys[place] != keys] = 0
        end = high.copy()
        while (low < high).any():  # binary search in all ranges at once
            middle = (low + high) // 2
            less = self.objects[np.minimum(middle, len(self.objects) - 1)] < triples[:, 2]
            active = low < high
            low = np.where(active & less, middle + 1, low)
            high = np.where(active & ~less, middle, high)
        inside = low < end
        return inside & (self.objects[np.where(inside, low, 0)] == triples[:, 2])


def answers_of(triples: np.ndarray, num_entities: int) -> Answers:
    """Collects the objects of every (relation, subject) of int [n, 3] triples (s, p, o)."""
    triples = np.asarray(triples, np.int64).reshape(-1, 3)
    keys = triples[:, 1] * num_entities + triples[:, 0]
    order = np.lexsort((triples[:, 2], keys))
    keys, objects = keys[order], triples[order, 2]
    if len(keys):
        fresh = np.ones(len(keys), bool)
        fresh[1:] = (keys[1:] != keys[:-1]) | (objects[1:] != objects[:-1])
        keys, objects = keys[fresh], objects[fresh]
    unique, counts = np.unique(keys, return_counts=True)
    indptr = np.zeros(len(unique) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return Answers(
        read_only(unique), read_only(indptr), read_only(objects.astype(np.int32)), num_entities
    )
