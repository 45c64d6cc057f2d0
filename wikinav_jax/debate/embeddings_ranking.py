"""Filtered ranks of the right entity among all entities, ties averaged."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from wikinav_jax.common.progress import progress
from wikinav_jax.debate.embeddings_batches import runs_of
from wikinav_jax.debate.embeddings_models import Model, Params, embed
from wikinav_jax.graph.answers import Answers

_CAPACITY = 8192  # known answers are padded to multiples of so many, for few compilations


@functools.partial(jax.jit, static_argnums=0)
def _ranks(
    model: Model,
    params: Params,
    subject: jax.Array,  # int32 [B]
    relation: jax.Array,  # int32 [B]
    target: jax.Array,  # int32 [B]
    row: jax.Array,  # int32 [A], query of each known answer; B for padding
    known: jax.Array,  # int32 [A]
) -> jax.Array:
    count = len(subject)
    scores = model.cross(params, embed(params, subject, relation), params["entity"])  # [B, N]
    # A matrix product rounds by shape: the target's own score must come from the same product.
    right = jnp.take_along_axis(scores, target[:, None], axis=1)  # [B, 1]
    above = (scores > right).sum(1)
    equal = (scores == right).sum(1)  # the target is one of them
    inside = jnp.minimum(row, count - 1)
    known_scores = scores[inside, known]
    removed = (row < count) & (known != target[inside])

    def subtract(found: jax.Array) -> jax.Array:
        return jax.ops.segment_sum((removed & found).astype(jnp.int32), row, num_segments=count)

    above -= subtract(known_scores > right[inside, 0])
    equal -= subtract(known_scores == right[inside, 0])
    return 1 + above + (equal - 1) / 2


@functools.partial(jax.jit, static_argnums=0)
def _log_totals(model: Model, params: Params, subject: jax.Array, relation: jax.Array) -> jax.Array:
    scores = model.cross(params, embed(params, subject, relation), params["entity"])
    return jax.nn.logsumexp(scores, axis=1)


def log_totals(
    model: Model,
    params: Params,
    subject: np.ndarray,
    relation: np.ndarray,
    *,
    batch_size: int = 512,
) -> np.ndarray:
    """log of the summed exponentials of all entities' scores, for int32 [n] queries, float32 [n].

    A score less this is the log-probability of an entity as the answer.
    """
    totals = np.zeros(len(subject), np.float32)
    for chosen, padded in _batches(relation, model.block, batch_size):
        found = _log_totals(model, params, subject[padded], relation[padded])
        totals[chosen] = np.asarray(found)[: len(chosen)]
    return totals


def _batches(
    relation: np.ndarray, block: int, batch_size: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(queries of a batch, the same padded to the batch size) in runs of one relation.

    Queries may come more than once, where a run was filled up.
    """
    if not len(relation):
        return
    batch_size = -(-batch_size // block) * block
    order = np.argsort(relation, kind="stable")
    runs = runs_of(relation[order], block)
    # Empty places repeat the first query of their run; after the end the last query is repeated.
    places = order[np.where(runs < 0, runs[:, :1], runs).ravel()]
    for start in progress(range(0, len(places), batch_size), desc="Scoring", unit="batch"):
        chosen = places[start : start + batch_size]
        yield chosen, np.concatenate([chosen, np.repeat(chosen[-1:], batch_size - len(chosen))])


def filtered_ranks(
    model: Model,
    params: Params,
    queries: np.ndarray,
    known: Answers,
    *,
    batch_size: int = 512,
) -> np.ndarray:
    """The rank of each query's object among all entities that are no other known answer.

    Entities that score alike share the mean of their ranks, so that a constant score is worth
    nothing.

    Args:
      model: how to score.
      params: its parameters.
      queries: int32 [n, 3] (s, p, o), p below 2R; see `KnowledgeGraph.with_inverses`.
      known: the answers to leave out, normally of all splits.
      batch_size: queries per product; rounded up to a multiple of model.block.

    Returns:
      float64 [n], from 1 to N.
    """
    queries = np.asarray(queries, np.int32).reshape(-1, 3)
    ranks = np.zeros(len(queries))
    for chosen, padded in _batches(queries[:, 1], model.block, batch_size):
        subject, relation, target = queries[padded].T
        row, objects = known.of_many(subject, relation)
        capacity = -(-max(len(row), 1) // _CAPACITY) * _CAPACITY
        fill = (0, capacity - len(row))
        found = _ranks(
            model,
            params,
            subject,
            relation,
            target,
            np.pad(row.astype(np.int32), fill, constant_values=len(padded)),
            np.pad(objects, fill),
        )
        ranks[chosen] = np.asarray(found)[: len(chosen)]
    return ranks
