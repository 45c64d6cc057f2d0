"""What debates are compared with, and what R2D2+ stands on: embedding models and stacked scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from ml_collections import ConfigDict
from sklearn.ensemble import HistGradientBoostingClassifier

from wikinav_jax.common.config import cache_folder
from wikinav_jax.common.files import fingerprint
from wikinav_jax.debate.classification import Scored
from wikinav_jax.debate.data import Labelled
from wikinav_jax.debate.embeddings import (
    EmbeddingTables,
    log_probabilities,
    preset,
    score_with,
    train_embedding,
)
from wikinav_jax.graph.triples import KnowledgeGraph

MIN_OF_LABEL = 50  # labelled validation triples of each label, for a stack


def train_tables(kg: KnowledgeGraph, config: ConfigDict, model: str, dim: int) -> EmbeddingTables:
    """An embedding model of the graph, from the cache or trained into it; `dim` 0: as tuned."""
    settings = preset(model, seed=config.seed)
    if dim:
        settings = dataclasses.replace(settings, dim=dim)
    if config.embedding.epochs:
        settings = dataclasses.replace(settings, epochs=config.embedding.epochs, min_steps=0)
    facts = np.ascontiguousarray(kg.train).tobytes().hex()
    key = fingerprint({**vars(settings), "graph": kg.name, "facts": fingerprint(facts)})
    tables, _ = train_embedding(
        kg, settings, cache_folder(config) / "embeddings" / f"{model}-{key}"
    )
    return tables


def scored_by_embedding(
    kg: KnowledgeGraph, config: ConfigDict, model: str, valid: Labelled, test: Labelled
) -> list[Scored]:
    """The model's log p(o | s, p), and as MODEL_score the mean score of both directions.

    With one threshold the one tells labelled triples apart better on some graphs, with thresholds
    per relation the other: both are what debates must beat.
    """
    tables = train_tables(kg, config, model, config.embedding.dim)
    found = []
    for name, by in ((model, log_probabilities), (f"{model}_score", score_with)):
        on_valid, on_test = (
            by(tables, kg, part.triples).astype(np.float64) for part in (valid, test)
        )
        found.append(Scored(name, on_valid, on_test, (valid, test)))
    return found


def frozen_tables(kg: KnowledgeGraph, config: ConfigDict) -> tuple[np.ndarray, np.ndarray]:
    """The entity table [N, d] and relation table [2R + 2, d] of our own TransE.

    As wide as the agents' where they take its place (R2D2+), else as the model was tuned.
    """
    dim = config.agents.dim if config.tables == "transe" else config.embedding.dim
    tables = train_tables(kg, config, "transe", dim)
    relation = tables.relation
    start = np.zeros((1, relation.shape[1]), relation.dtype)
    return np.asarray(tables.entity), np.concatenate([relation, start])


def lack_for_stack(valid: Labelled) -> str:
    """What the validation split lacks to learn weights from; "" when it has enough triples."""
    true = int((valid.labels > 0.5).sum())
    false = len(valid.labels) - true
    if min(true, false) >= MIN_OF_LABEL:
        return ""
    return (
        f"no stacked scores: they need {MIN_OF_LABEL} validation triples of each label, and there "
        f"are {true} true and {false} false ones (config.evaluate.stack=False asks for none)"
    )


def stack(name: str, kg: KnowledgeGraph, scored: Sequence[Scored], *, seed: int) -> Scored:
    """All scores together, weighed by boosted trees that the validation labels teach.

    Beyond the paper. The trees read the scores, the relation and how many edges subject and object
    have; the threshold comes from validation scores by five-fold crossing, so that no triple's
    score rests on its own label. Test labels are not read.
    """
    valid, test = scored[0].labelled
    degree = np.log1p(np.diff(kg.indptr))

    def features(triples: np.ndarray, columns: list[np.ndarray]) -> np.ndarray:
        return np.column_stack(
            [*columns, triples[:, 1], degree[triples[:, 0]], degree[triples[:, 2]]]
        )

    on_valid = features(valid.triples, [item.valid for item in scored])
    on_test = features(test.triples, [item.test for item in scored])

    def fitted(rows: np.ndarray) -> HistGradientBoostingClassifier:
        trees = HistGradientBoostingClassifier(
            learning_rate=0.06,
            max_iter=200,
            max_leaf_nodes=24,
            l2_regularization=1.0,
            random_state=seed,
        )
        return trees.fit(on_valid[rows], valid.labels[rows])

    folds = np.random.default_rng([seed, 3]).integers(0, 5, len(on_valid))
    crossed = np.zeros(len(on_valid))
    for fold in range(5):
        held_out = folds == fold
        if held_out.any():
            crossed[held_out] = fitted(~held_out).predict_proba(on_valid[held_out])[:, 1]
    probability = fitted(np.ones(len(on_valid), bool)).predict_proba(on_test)[:, 1]
    return Scored(name, crossed, probability, (valid, test), is_probability=True)
