"""Batches for embeddings: queries (s, p, ?) with their known answers, and shared negatives."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from wikinav_jax.graph.answers import Answers

ANSWERS_PER_ROW = 16  # a query with more answers takes several rows


class EmbeddingBatch(NamedTuple):
    """S shards of B rows; a row is a query with up to C of its answers."""

    subject: np.ndarray  # int32 [S, B]
    relation: np.ndarray  # int32 [S, B], below 2R
    answers: np.ndarray  # int32 [S, B, C]
    mask: np.ndarray  # bool [S, B, C]
    negatives: np.ndarray  # int32 [S, K], entities, each once; K = 0: all entities


class QuerySampler:
    """The training queries of a graph, shuffled anew in every epoch.

    A row of a batch counts once per answer, so that a pass over all rows is a pass over all
    triples and their inverses; but the scores of all entities are computed once per row.
    """

    def __init__(
        self,
        answers: Answers,
        *,
        batch_size: int,
        num_shards: int,
        num_negatives: int,
        block: int,
        seed: int,
    ) -> None:
        """Rows of `answers` in `num_shards` shards of `batch_size / num_shards` rows.

        Args:
          answers: of the training triples and their inverses.
          batch_size: rows per step over all shards.
          num_shards: S.
          num_negatives: K entities per shard, drawn without replacement; 0 for all.
          block: rows come in runs of so many of one relation.
          seed: of the order and the negatives.

        Raises:
          ValueError: `batch_size` is not a multiple of num_shards * block.
        """
        if batch_size < 1 or batch_size % (num_shards * block):
            raise ValueError(
                f"batch_size={batch_size} is not a positive multiple of {num_shards} shards x "
                f"{block} rows of one relation"
            )
        self._rows_per_shard = batch_size // num_shards
        self._num_entities = answers.num_entities
        self._num_negatives = min(num_negatives, answers.num_entities)
        self._block, self._seed = block, seed
        counts = np.diff(answers.indptr)
        rows = -(-counts // ANSWERS_PER_ROW)
        query = np.repeat(np.arange(len(counts)), rows)
        part = np.arange(len(query)) - np.repeat(np.cumsum(rows) - rows, rows)
        self._first = answers.indptr[query] + part * ANSWERS_PER_ROW
        self._count = np.minimum(answers.indptr[query + 1] - self._first, ANSWERS_PER_ROW)
        self._objects = answers.objects
        keys = answers.keys[query]
        self._subject = (keys % answers.num_entities).astype(np.int32)
        self._relation = (keys // answers.num_entities).astype(np.int32)
        self._batch_size = batch_size
        self.num_rows = len(query)
        self._order = functools.lru_cache(maxsize=2)(self._shuffled)
        self.steps_per_epoch = -(-len(self._order(0)) // batch_size)

    def _shuffled(self, epoch: int) -> np.ndarray:
        """Rows in the order of an epoch; -1 fills the last run of a relation."""
        order = np.random.default_rng([self._seed, 0, epoch]).permutation(self.num_rows)
        if self._block == 1:
            return order
        order = order[np.argsort(self._relation[order], kind="stable")]
        runs = runs_of(self._relation[order], self._block)
        blocks = np.where(runs < 0, -1, order[runs])
        return np.random.default_rng([self._seed, 1, epoch]).permutation(blocks, axis=0).ravel()

    def batch_at(self, step: int, shards: range) -> EmbeddingBatch:
        """The given shards of batch `step`: a pure function of it and the seed."""
        epoch, place = divmod(step, self.steps_per_epoch)
        order = self._order(epoch)
        start = place * self._batch_size
        rows = order[start : start + self._batch_size]
        if len(rows) < self._batch_size:  # the last batch is filled from the epoch's beginning
            rows = np.concatenate([rows, np.resize(order, self._batch_size - len(rows))])
        rows = rows.reshape(-1, self._rows_per_shard)[list(shards)]
        filled = rows >= 0
        # An empty place repeats the row before it, so that its run keeps to one relation.
        rows = np.where(filled, rows, _last_filled(rows, self._block))
        slot = np.arange(ANSWERS_PER_ROW)
        mask = (slot < self._count[rows][..., None]) & filled[..., None]
        places = self._first[rows][..., None] + np.where(mask, slot, 0)
        return EmbeddingBatch(
            self._subject[rows],
            self._relation[rows],
            self._objects[places],
            mask,
            np.stack([self._negatives(step, shard) for shard in shards]),
        )

    def _negatives(self, step: int, shard: int) -> np.ndarray:
        rng = np.random.default_rng([self._seed, 2, step, shard])
        chosen = rng.choice(self._num_entities, self._num_negatives, replace=False, shuffle=False)
        return chosen.astype(np.int32)


def runs_of(relation: np.ndarray, block: int) -> np.ndarray:
    """Places of sorted `relation` in runs of one relation, int64 [M, block]; -1 where too few."""
    counts = np.unique(relation, return_counts=True)[1]
    runs = -(-counts // block)
    places = np.full(int(runs.sum()) * block, -1)
    first = np.repeat((np.cumsum(runs) - runs) * block, counts)
    within = np.arange(len(relation)) - np.repeat(np.cumsum(counts) - counts, counts)
    places[first + within] = np.arange(len(relation))
    return places.reshape(-1, block)


def _last_filled(rows: np.ndarray, block: int) -> np.ndarray:
    """For each place the first row of its run, which is never empty."""
    first = rows.reshape(*rows.shape[:-1], -1, block)[..., :1]
    return np.broadcast_to(first, (*first.shape[:-1], block)).reshape(rows.shape)
