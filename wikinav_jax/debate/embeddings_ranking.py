"""Filtered ranks of the right entity among all entities, ties averaged."""

from __future__ import annotations

import functools

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
    block = model.block
    batch_size = -(-batch_size // block) * block
    order = np.argsort(queries[:, 1], kind="stable")
    runs = runs_of(queries[order, 1], block) if len(order) else np.zeros((0, block), int)
    # Empty places repeat the first query of their run.
    places = np.where(runs < 0, runs[:, :1], runs).ravel()
    for start in progress(range(0, len(places), batch_size), desc="Ranking", unit="batch"):
        chosen = places[start : start + batch_size]
        padded = np.concatenate([chosen, np.repeat(chosen[-1:], batch_size - len(chosen))])
        # A run must stay whole: the padding after the end repeats the last relation.
        subject, relation, target = queries[order[padded]].T
        row, objects = known.of_many(subject, relation)
        capacity = -(-max(len(row), 1) // _CAPACITY) * _CAPACITY
        fill = (0, capacity - len(row))
        found = _ranks(
            model,
            params,
            subject,
            relation,
            target,
            np.pad(row.astype(np.int32), fill, constant_values=batch_size),
            np.pad(objects, fill),
        )
        ranks[order[chosen]] = np.asarray(found)[: len(chosen)]
    return ranks
