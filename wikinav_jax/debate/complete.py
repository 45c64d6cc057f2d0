"""Completion by debate: every candidate object is debated as a claim, and ranked by the verdicts.

R2D2 paper, section 4: plausible candidates. And the ranking among all entities that the literature
on embeddings uses, with known answers filtered and ties averaged.

Axes: Q queries, M candidates of all queries, flat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wikinav_jax.debate.completion import CompletionTask, as_given, paper_tasks
from wikinav_jax.debate.embeddings import log_probabilities
from wikinav_jax.debate.evaluate import debate_claims
from wikinav_jax.debate.others import train_tables
from wikinav_jax.debate.priors import TrainCountPrior
from wikinav_jax.debate.room import Room
from wikinav_jax.debate.scores import ranking_rows
from wikinav_jax.debate.types import Params
from wikinav_jax.debate.walker import Walker
from wikinav_jax.graph.triples import KnowledgeGraph
from wikinav_jax.reports.results import Row

Scorer = Callable[[np.ndarray], np.ndarray]  # triples int [M, 3] (relations below 2R) -> float [M]


def first_queries(task: CompletionTask, limit: int, seed: int) -> CompletionTask:
    """The task with `limit` of its queries, drawn by the seed; all of them for 0."""
    count = len(task.queries)
    if not limit or limit >= count:
        return task
    rows = np.sort(np.random.default_rng([seed, 4]).permutation(count)[:limit])
    kept = np.isin(task.group, rows)
    return CompletionTask(
        task.name,
        task.queries[rows],
        task.candidates[kept],
        np.searchsorted(rows, task.group[kept]),
        task.right[kept],
    )


def all_entities_task(kg: KnowledgeGraph, limit: int, seed: int) -> CompletionTask:
    """`limit` test triples, each ranked among all entities less the other known answers."""
    rows = np.random.default_rng([seed, 5]).permutation(len(kg.test))[:limit]
    queries = kg.test[np.sort(rows)]
    kept = np.ones((len(queries), kg.num_entities), bool)
    row, known = kg.known.of_many(queries[:, 0], queries[:, 1])
    kept[row, known] = False
    kept[np.arange(len(queries)), queries[:, 2]] = True
    group, entity = np.nonzero(kept)
    candidates = queries[group].copy()
    candidates[:, 2] = entity
    return CompletionTask("all entities", queries, candidates, group, entity == queries[group, 2])


def completion_rows(room: Room, params: Params) -> list[Row]:
    """Mean rank, MRR and Hits of the debate, the prior and the embeddings on every task."""
    config, kg = room.config, room.kg
    tasks = [
        first_queries(task, config.completion.max_queries, config.seed) for task in paper_tasks(kg)
    ]
    if config.completion.all_entities:
        tasks.append(all_entities_task(kg, config.completion.all_entities, config.seed))

    def by_debate(triples: np.ndarray) -> np.ndarray:
        rollouts = config.completion.rollouts
        # Claims are debated as they are given; what counts or embeds is asked in the query's own
        # direction, for log p(o | s, p) of different subjects s does not compare.
        claims = as_given(kg, triples)
        return debate_claims(room, params, claims, rollouts=rollouts).probability

    scorers: dict[str, Scorer] = {config.name: by_debate}
    if config.evaluate.baselines:
        scorers["prior"] = TrainCountPrior(kg)
    for model in config.evaluate.embeddings:
        tables = train_tables(kg, config, model, config.embedding.dim)
        scorers[model] = partial(log_probabilities, tables, kg)
    rows = rank_by(tasks, scorers, kg, seed=config.seed)
    if config.walker.enabled and tasks:
        walker = Walker(room)
        walking = walker.train()
        for task in tasks:
            ends = walker.candidate_scores(walking, task, config.walker.rollouts)
            about = _about(kg, task, "minerva", config.seed)
            rows += ranking_rows(task.ranks(ends), **about)
    return rows


def rank_by(
    tasks: Sequence[CompletionTask],
    scorers: dict[str, Scorer],
    kg: KnowledgeGraph,
    *,
    seed: int,
) -> list[Row]:
    """Rows of every scorer on every task."""
    rows: list[Row] = []
    for task in tasks:
        for method, scorer in scorers.items():
            ranks = task.ranks(scorer(task.candidates))
            rows += ranking_rows(ranks, **_about(kg, task, method, seed))
    return rows


def _about(kg: KnowledgeGraph, task: CompletionTask, method: str, seed: int) -> dict[str, Any]:
    return {
        "system": "debate",
        "dataset": kg.name,
        "split": "test",
        "task": f"completion_{task.name.replace(' ', '_')}",
        "method": method,
        "seed": seed,
    }
