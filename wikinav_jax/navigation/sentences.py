"""Sentences of blocks and their features, on the host: how sentence search tells a target.

A sentence is a piece of its block's own text: the title line, which phi(s) is given, is no part of
it (a sentence may name the article, as sentences do).

Axes: N nodes of a graph, M sentences of the whole graph, d width of phi.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wikinav_jax.datasets.sentences import sentence_spans

Rows = Callable[[np.ndarray], np.ndarray]  # int [n] numbers of sentences -> float32 [n, d]


@dataclass(frozen=True)
class SentenceIndex:
    """Where the sentences of every block of a graph stand in one list."""

    first: np.ndarray  # int64 [N]
    count: np.ndarray  # int64 [N]; 0 for a block without text

    def of_nodes(self, node_ids: np.ndarray) -> SentenceIndex:
        """The index of a part of the graph."""
        return SentenceIndex(self.first[node_ids], self.count[node_ids])

    def draw(self, nodes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One uniformly random sentence of every node, int64; -1 where it has none."""
        count = self.count[nodes]
        number = self.first[nodes] + (rng.random(len(nodes)) * count).astype(np.int64)
        return np.where(count > 0, number, -1)


def split_sentences(texts: Sequence[str]) -> tuple[SentenceIndex, list[str]]:
    """The sentences of N texts: the index, and M strings."""
    sentences: list[str] = []
    count = np.zeros(len(texts), np.int64)
    for node, text in enumerate(texts):
        spans = sentence_spans(text)
        count[node] = len(spans)
        sentences += [text[start:end] for start, end in spans]
    return SentenceIndex(np.cumsum(count) - count, count), sentences


@dataclass(frozen=True)
class SentenceGoals:
    """Draws the sentence by which a target is told; see `types.Decisions.goal`."""

    index: SentenceIndex
    rows: Rows

    def draw(self, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """float32 [B, d], features of one random sentence of every target; zeros without any."""
        number = self.index.draw(targets, rng)
        found: np.ndarray = self.rows(np.maximum(number, 0))
        found[number < 0] = 0
        return found
