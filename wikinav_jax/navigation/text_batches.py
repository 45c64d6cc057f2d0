"""Batches with the tokens of the blocks that their decisions read: a function of the step.

Axes: as in text_types.py.
"""

from __future__ import annotations

from collections.abc import Iterable

import jax
import numpy as np

from wikinav_jax.navigation.batches import WalkSampler
from wikinav_jax.navigation.text_types import BlockTokens, TextBatch
from wikinav_jax.navigation.types import NO_NODE, NavigationBatch
from wikinav_jax.text.tokens import TokenTable

_PROBE_SHARDS = 4
_MOST_DRAWS = 50  # of one shard, before we say that its blocks do not fit
_PROBE = 2**31 - 2  # a shard number that no run uses


class TextSampler:
    """A WalkSampler whose batches bring the text of their blocks."""

    def __init__(
        self,
        sampler: WalkSampler,
        tokens: TokenTable,
        *,
        capacity: int = 0,
    ) -> None:
        """Holds no random state.

        Args:
          sampler: draws the decisions.
          tokens: of its graph, a text for each node and a span for each link.
          capacity: U; 0: a tenth more than the most that a few shards read.
        """
        self._sampler = sampler
        self._tokens = tokens
        self.capacity = capacity or self._estimate_capacity()

    def batch_at(self, step: int, shards: Iterable[int] | None = None) -> TextBatch:
        """The batch of a step; NumPy leaves [S, …]. `shards`: as WalkSampler.batch_at."""
        chosen = range(self._sampler.spec.num_shards) if shards is None else shards
        parts = [self.shard_at(step, shard) for shard in chosen]
        stacked: TextBatch = jax.tree.map(lambda *leaves: np.stack(leaves), *parts)
        return stacked

    def shard_at(self, step: int, shard: int) -> TextBatch:
        """One shard of a step; ValueError when its blocks do not fit into the capacity."""
        # A draw of too many blocks is thrown away: as rare as the capacity is generous.
        for draw in range(_MOST_DRAWS):
            batch = self._sampler.shard_at(step, shard + draw * self._sampler.spec.num_shards)
            nodes = nodes_read(batch)
            if len(nodes) <= self.capacity:
                return self._with_text(batch, nodes)
        raise ValueError(
            f"{_MOST_DRAWS} draws of a shard all read more than {self.capacity} blocks; raise "
            "config.encoder.blocks_per_shard, or lower config.train.decisions_per_shard"
        )

    def _with_text(self, batch: NavigationBatch, nodes: np.ndarray) -> TextBatch:
        inputs = batch.inputs
        decisions, actions = inputs.decisions, inputs.actions
        graph = self._sampler.graph
        slot = graph.indptr[decisions.node[actions.decision]] + actions.rank
        slot = np.where(actions.valid, slot, 0)
        span = np.where(actions.valid[:, None], self._tokens.spans[slot].astype(np.int32), 0)
        read = np.zeros(self.capacity, np.int64)
        read[: len(nodes)] = nodes
        ids, mask = self._tokens.rows(read)

        def row(values: np.ndarray) -> np.ndarray:
            return np.searchsorted(nodes, values).astype(np.int32)

        decisions = decisions.replace(node=row(decisions.node), target=row(decisions.target))
        inputs = inputs.replace(decisions=decisions)
        if inputs.trails is not None:
            places = inputs.trails.nodes
            places = np.where(places == NO_NODE, NO_NODE, row(places))
            inputs = inputs.replace(trails=inputs.trails.replace(nodes=places))
        return TextBatch(batch.replace(inputs=inputs), BlockTokens(ids, mask), span)

    def _estimate_capacity(self) -> int:
        probes = (self._sampler.shard_at(_PROBE, shard) for shard in range(_PROBE_SHARDS))
        return -(-11 * max(len(nodes_read(probe)) for probe in probes) // 10)


def nodes_read(batch: NavigationBatch) -> np.ndarray:
    """The nodes of one shard whose text is read, ascending."""
    decisions, trails = batch.inputs.decisions, batch.inputs.trails
    parts = [decisions.node, decisions.target]
    if trails is not None:
        parts.append(trails.nodes[trails.nodes != NO_NODE])
    return np.unique(np.concatenate(parts))
