"""What counting alone tells of a triple: a baseline that every learned score must beat.

The published false triples replace an object by another that is seen with the relation, so that
they are often rarer with it than the true ones, and counting tells many of them apart.
"""

from __future__ import annotations

import numpy as np

from wikinav_jax.graph.triples import KnowledgeGraph


class TrainCountPrior:
    """Scores (s, p, o) by the number of training triples with p and o, whatever the subject."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._num_entities, self._num_relations = graph.num_entities, graph.num_relations
        triples = graph.with_inverses(graph.train)
        self._keys, self._counts = np.unique(self._key(triples), return_counts=True)

    def _key(self, triples: np.ndarray) -> np.ndarray:
        return triples[:, 1].astype(np.int64) * self._num_entities + triples[:, 2]

    def __call__(self, triples: np.ndarray) -> np.ndarray:
        """The counts of int [n, 3] triples, float64 [n]; relations may be inverses, p + R."""
        keys = self._key(np.asarray(triples).reshape(-1, 3))
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._counts[place], 0).astype(np.float64)
