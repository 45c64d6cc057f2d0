"""How good scores of triples are: classification, thresholds, calibration and ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from wikinav_jax.reports.results import Row

Z95 = 1.959963984540054  # normal quantile of a two-sided 95% interval
HITS = (1, 3, 10)
_MIN_PER_RELATION = 20  # labelled triples, with both labels, for a threshold of its own


# ---- Thresholds ---------------------------------------------------------------------------------


def best_threshold(scores: np.ndarray, labels: np.ndarray) -> float:
    """The threshold with the best accuracy on (scores, labels), both [n]; above it is true.

    It lies midway between two scores (or beyond the last), the lowest of several alike. Raises
    ValueError without scores, or when a score is not finite.
    """
    scores, truth = _checked(scores, labels)
    order = np.argsort(scores)
    scores, truth = scores[order], truth[order]
    # With the k lowest scores called false: the right ones are false among them, true above them.
    right = np.concatenate([[0], np.cumsum(~truth)]) + truth.sum()
    right[1:] -= np.cumsum(truth)
    parted = np.concatenate([[True], scores[1:] > scores[:-1], [True]])
    cut = int(np.argmax(np.where(parted, right, -1)))
    if cut == 0:
        return float(np.nextafter(scores[0], -np.inf))
    if cut == len(scores):
        return float(np.nextafter(scores[-1], np.inf))
    return float(scores[cut - 1] + (scores[cut] - scores[cut - 1]) / 2)


class Thresholds(NamedTuple):
    """One threshold for all, and those of relations with enough validation triples."""

    overall: float
    by_relation: Mapping[int, float]

    def of(self, relations: np.ndarray) -> np.ndarray:
        """The threshold of each relation, float64 [n]."""
        unique, place = np.unique(relations, return_inverse=True)
        chosen = np.array([self.by_relation.get(int(r), self.overall) for r in unique])
        return chosen[place] if len(unique) else np.zeros(0)


def fit_thresholds(
    scores: np.ndarray,
    labels: np.ndarray,
    relations: np.ndarray | None = None,
    *,
    min_count: int = _MIN_PER_RELATION,
) -> Thresholds:
    """Thresholds from validation triples; per relation where `relations` [n] are given.

    A relation with fewer than `min_count` triples, or with one label only, uses the overall one.
    """
    scores, truth = _checked(scores, labels)
    own: dict[int, float] = {}
    if relations is not None:
        for relation in np.unique(relations):
            rows = relations == relation
            if rows.sum() >= min_count and 0 < truth[rows].sum() < rows.sum():
                own[int(relation)] = best_threshold(scores[rows], truth[rows])
    return Thresholds(best_threshold(scores, truth), own)


# ---- Calibration --------------------------------------------------------------------------------


class Platt(NamedTuple):
    """The probability sigmoid(slope * score + offset) (Platt, 1999)."""

    slope: float
    offset: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """float64 [n] in [0, 1]."""
        logits = self.slope * np.asarray(scores, np.float64) + self.offset
        return 1 / (1 + np.exp(-np.clip(logits, -700, 700)))


def fit_platt(scores: np.ndarray, labels: np.ndarray) -> Platt:
    """Fits the map from scores to probabilities on validation triples; both labels must occur."""
    scores, truth = _checked(scores, labels)
    if truth.all() or not truth.any():
        raise ValueError("calibration needs true and false triples; the labels are all the same")
    mean, scale = scores.mean(), scores.std() or 1.0
    fitted = LogisticRegression(C=1e6).fit(((scores - mean) / scale)[:, None], truth)
    slope = float(fitted.coef_[0, 0] / scale)
    return Platt(slope, float(fitted.intercept_[0] - slope * mean))


class ReliabilityBin(NamedTuple):
    """Triples whose probability lies in [low, high)."""

    low: float
    high: float
    size: int  # how many
    probability: float  # their mean
    true: float  # their share of true triples


def reliability(
    probabilities: np.ndarray, labels: np.ndarray, *, bins: int = 10
) -> list[ReliabilityBin]:
    """Bins of equal width over [0, 1] that hold something, for a reliability plot."""
    probabilities, truth = _checked(probabilities, labels)
    if probabilities.min() < 0 or probabilities.max() > 1:
        raise ValueError("probabilities must lie in [0, 1]; map scores by fit_platt first")
    place = np.minimum((probabilities * bins).astype(int), bins - 1)
    found = []
    for number in range(bins):
        rows = place == number
        if rows.any():
            found.append(
                ReliabilityBin(
                    number / bins,
                    (number + 1) / bins,
                    int(rows.sum()),
                    float(probabilities[rows].mean()),
                    float(truth[rows].mean()),
                )
            )
    return found


def expected_calibration_error(bins: list[ReliabilityBin]) -> float:
    """Mean gap between probability and share of true triples, weighted by size (Guo, 2017)."""
    total = sum(bin.size for bin in bins)
    return sum(bin.size * abs(bin.probability - bin.true) for bin in bins) / total


# ---- Classification -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Classification:
    """How well a group of labelled triples is told apart."""

    count: int
    positives: int
    accuracy: float
    roc_auc: float | None  # None where only one label occurs
    pr_auc: float | None  # average precision, the area under the step curve


def classify(scores: np.ndarray, labels: np.ndarray, thresholds: np.ndarray) -> Classification:
    """Judges scores [n] above thresholds [n] (or one for all) as true."""
    scores, truth = _checked(scores, labels)
    both = bool(truth.any() and not truth.all())
    return Classification(
        count=len(scores),
        positives=int(truth.sum()),
        accuracy=float(((scores > thresholds) == truth).mean()),
        roc_auc=float(roc_auc_score(truth, scores)) if both else None,
        pr_auc=float(average_precision_score(truth, scores)) if both else None,
    )


def classify_by_relation(
    scores: np.ndarray, labels: np.ndarray, relations: np.ndarray, thresholds: Thresholds
) -> dict[int, Classification]:
    """`classify` for the triples of each relation."""
    cut = thresholds.of(relations)
    return {
        int(relation): classify(scores[rows], labels[rows], cut[rows])
        for relation in np.unique(relations)
        for rows in [relations == relation]
    }


def classification_rows(
    scores: np.ndarray,
    labels: np.ndarray,
    thresholds: np.ndarray | float,
    *,
    probabilities: np.ndarray | None = None,
    **about: str | int,
) -> list[Row]:
    """Rows of results.json: accuracy with Wilson's interval, areas, calibration error.

    Args:
      scores: [n].
      labels: [n], 1 or 0.
      thresholds: [n], or one for all; from validation.
      probabilities: [n]; without them there is no calibration row.
      about: system, dataset, split, task, method, decoding and seed of the rows.
    """
    found = classify(scores, labels, np.asarray(thresholds))
    right = round(found.accuracy * found.count)
    low, high = wilson_interval(right, found.count)
    figures: list[tuple[str, float | None, float | None, float | None]] = [
        ("accuracy", found.accuracy, low, high),
        ("roc_auc", found.roc_auc, None, None),
        ("pr_auc", found.pr_auc, None, None),
    ]
    if probabilities is not None:
        error = expected_calibration_error(reliability(probabilities, labels))
        figures.append(("ece", error, None, None))
    return [
        _row(metric, value, low, high, found.count, about)
        for metric, value, low, high in figures
        if value is not None
    ]


# ---- Ranking ------------------------------------------------------------------------------------


def ranks_in_groups(scores: np.ndarray, group: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The rank of the right candidate of each query, from 1; candidates alike share their mean.

    Args:
      scores: float [m], of all candidates of all queries.
      group: int [m], the query of each candidate, from 0.
      right: bool [m], one True per query.

    Returns:
      float64 [queries].

    Raises:
      ValueError: a query has no right candidate, or several.
    """
    group = np.asarray(group)
    count = int(group.max()) + 1 if len(group) else 0
    places = np.flatnonzero(right)
    places = places[np.argsort(group[places], kind="stable")]
    if not np.array_equal(group[places], np.arange(count)):
        raise ValueError("each query needs exactly one right candidate")
    target = np.asarray(scores)[places][group]
    above = np.bincount(group[scores > target], minlength=count)
    equal = np.bincount(group[scores == target], minlength=count)
    return 1 + above + (equal - 1) / 2


def ranking_figures(ranks: np.ndarray) -> dict[str, float]:
    """Mean rank, MRR and Hits@1, 3, 10 of ranks [n]; a rank shared by ties counts as it is."""
    ranks = np.asarray(ranks, np.float64)
    if not len(ranks):
        raise ValueError("there are no ranks; the task has no queries")
    figures = {"mean_rank": float(ranks.mean()), "mrr": float((1 / ranks).mean())}
    return figures | {f"hits@{k}": float((ranks <= k).mean()) for k in HITS}


def ranking_rows(ranks: np.ndarray, **about: str | int) -> list[Row]:
    """Rows of results.json for ranks [n]; `about` as in `classification_rows`."""
    ranks = np.asarray(ranks, np.float64)
    rows = []
    for metric, value in ranking_figures(ranks).items():
        interval: tuple[float, float] | tuple[None, None] = (None, None)
        if metric == "mrr" and len(ranks) > 1:
            half = Z95 * float((1 / ranks).std(ddof=1)) / math.sqrt(len(ranks))
            interval = max(0.0, value - half), min(1.0, value + half)
        elif metric.startswith("hits"):
            interval = wilson_interval(round(value * len(ranks)), len(ranks))
        rows.append(_row(metric, value, interval[0], interval[1], len(ranks), about))
    return rows


def wilson_interval(successes: int, count: int) -> tuple[float, float]:
    """Wilson's 95% score interval of a share (Wilson, 1927)."""
    share, square = successes / count, Z95**2
    centre = (share + square / (2 * count)) / (1 + square / count)
    half = Z95 / (1 + square / count)
    half *= math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def _row(
    metric: str,
    value: float,
    low: float | None,
    high: float | None,
    n: int,
    about: Mapping[str, str | int],
) -> Row:
    fields: dict[str, Any] = {"decoding": "", "seed": 0, **about}
    return Row(**fields, metric=metric, value=value, low=low, high=high, n=n)


def _checked(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores = np.asarray(scores, np.float64)
    labels = np.asarray(labels)
    if scores.ndim != 1 or scores.shape != labels.shape or not len(scores):
        raise ValueError(
            f"scores {list(scores.shape)} and labels {list(labels.shape)} must be two lists of the "
            "same length, at least 1"
        )
    if not np.isfinite(scores).all():
        place = int(np.argmin(np.isfinite(scores)))
        raise ValueError(f"score {place} is {scores[place]}; scores must be finite")
    return scores, labels > 0.5
