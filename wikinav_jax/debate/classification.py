"""Triple classification by debate and by what it is compared with: scores, rows and details."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from wikinav_jax.debate import scores as measures
from wikinav_jax.debate.data import Labelled
from wikinav_jax.graph.triples import KnowledgeGraph
from wikinav_jax.reports.results import Row

TASK = "classification"
MIN_OF_RELATION = 20  # labelled test triples; fewer tell nothing about a relation


@dataclass(frozen=True, eq=False)
class Scored:
    """What a method gave the labelled triples; a greater score is more likely to be true."""

    method: str
    valid: np.ndarray  # float [n]
    test: np.ndarray  # float [m]
    labelled: tuple[Labelled, Labelled]  # of validation and test
    is_probability: bool = False

    @functools.cached_property
    def threshold(self) -> float:
        """The score above which a triple is taken to be true: the best on the validation split."""
        return measures.best_threshold(self.valid, self.labelled[0].labels)

    @property
    def probability(self) -> np.ndarray | None:
        """float [m]: the scores, or what Platt's fit on the validation split makes of them.

        None where the validation split has one label only.
        """
        if self.is_probability:
            return self.test
        valid = self.labelled[0].labels
        if valid.min() == valid.max():
            return None
        return measures.fit_platt(self.valid, valid)(self.test)

    def rows(self, *, dataset: str, seed: int) -> list[Row]:
        """Accuracy at the threshold, areas and calibration error on the test split.

        `accuracy_per_relation` has thresholds of the relations' own, where a relation has enough
        validation triples: so embedding models are often judged (Socher et al., 2013).
        """
        about: dict[str, Any] = {
            "system": "debate",
            "dataset": dataset,
            "split": "test",
            "task": TASK,
            "method": self.method,
            "seed": seed,
        }
        valid, test = self.labelled
        rows = measures.classification_rows(
            self.test, test.labels, self.threshold, probabilities=self.probability, **about
        )
        own = measures.fit_thresholds(self.valid, valid.labels, valid.triples[:, 1])
        cut = own.of(test.triples[:, 1])
        by_relation = measures.classification_rows(self.test, test.labels, cut, **about)
        return rows + [
            dataclasses.replace(row, metric="accuracy_per_relation")
            for row in by_relation
            if row.metric == "accuracy"
        ]


def quick_figures(scores: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Accuracy at the best threshold, and ROC AUC where it has a value; for learning curves."""
    found = measures.classify(scores, labels, np.asarray(measures.best_threshold(scores, labels)))
    figures = {"accuracy": found.accuracy}
    return figures if found.roc_auc is None else {**figures, "roc_auc": found.roc_auc}


def details(kg: KnowledgeGraph, scored: Scored) -> dict[str, Any]:
    """Figures per relation, the most frequent first, and the reliability diagram, as JSON."""
    test = scored.labelled[1]
    by_relation = measures.classify_by_relation(
        scored.test, test.labels, test.triples[:, 1], measures.Thresholds(scored.threshold, {})
    )
    probability = scored.probability
    bins = [] if probability is None else measures.reliability(probability, test.labels)
    return {
        "method": scored.method,
        "threshold": scored.threshold,
        "relations": [
            {
                "relation": kg.relation_names[relation],
                "claims": found.count,
                "accuracy": found.accuracy,
                "roc_auc": found.roc_auc,
            }
            for relation, found in sorted(by_relation.items(), key=lambda item: -item[1].count)
            if found.count >= MIN_OF_RELATION
        ],
        "reliability": [
            {"probability": item.probability, "true": item.true, "claims": item.size}
            for item in bins
        ],
    }
