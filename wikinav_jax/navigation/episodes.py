"""Episodes to learn from by reinforcement: pairs of start and target, a function of the step.

Axes: S shards, W walkers of a shard, one an episode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from flax import struct

from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.walks import sample_forward_walks
from wikinav_jax.navigation.batches import BatchSpec
from wikinav_jax.navigation.trajectories import TrajectorySource
from wikinav_jax.navigation.types import Array

_MAX_ROUNDS = 200  # of walks for one shard before we say that the graph has no episodes
_CAPACITY_STEP = 32  # capacities are multiples of this
_PROBE_WALKS = 2_000  # of a random walker, at the start, to estimate what episodes are like
_PROBE = 2**31 - 1  # a shard number that no run uses, for the probe's random numbers


class EpisodeBatch(struct.PyTreeNode):
    """Episodes to play; leaves [S, …] in training."""

    start: Array  # int32 [W]
    target: Array  # int32 [W], different from the starts


class EpisodeSampler:
    """Draws the ends of training walks, as `WalkSampler` draws their decisions.

    Holds no random state: `batch_at` is a function of its arguments, and threads may share it.

    Args:
      graph: to navigate.
      spec: of the walks; a shard plays so many episodes that a random walker would make
        `decisions_per_shard` moves in them: as many steps as cloning learns from.
      seed: of all draws.
      max_steps: moves after which an episode has failed.

    Raises ValueError for a bad max_steps or a graph without links.
    """

    def __init__(
        self, graph: LinkedTextGraph, spec: BatchSpec, seed: int, *, max_steps: int
    ) -> None:
        if max_steps < 1:
            raise ValueError(f"max_steps={max_steps} must be at least 1 move")
        self.spec = spec
        self.seed = seed
        self._source = TrajectorySource(
            graph,
            spec.policy,
            min_steps=spec.min_walk_steps,
            max_steps=spec.max_walk_steps,
            non_backtracking=spec.non_backtracking,
            paths_per_start=spec.paths_per_start,
        )
        met, moves = self._probe(graph, max_steps)
        self.num_walkers = math.ceil(spec.decisions_per_shard / moves)
        # Links that a round of W walkers holds: seldom too few, and never for one walker alone.
        likely = self.num_walkers * met.mean() + 4 * math.sqrt(self.num_walkers) * met.std()
        capacity = max(likely, np.diff(graph.indptr).max())
        self.action_capacity = math.ceil(capacity / _CAPACITY_STEP) * _CAPACITY_STEP

    def batch_at(self, step: int, shards: Iterable[int] | None = None) -> EpisodeBatch:
        """The episodes of a step; NumPy leaves [S, W]. `shards`: as in `WalkSampler.batch_at`."""
        chosen = range(self.spec.num_shards) if shards is None else shards
        pairs = np.stack([self._pairs(step, shard) for shard in chosen])
        return EpisodeBatch(start=pairs[:, 0], target=pairs[:, 1])

    def _pairs(self, step: int, shard: int) -> np.ndarray:
        """int32 [2, W]: starts and targets."""
        return self._draw(self.num_walkers, np.random.default_rng([self.seed, shard, step]))

    def _draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        found = np.zeros((2, 0), np.int32)
        for _ in range(_MAX_ROUNDS):
            walks = self._source.draw(count, rng)
            ends = walks.nodes[:, [0, -1]]
            found = np.concatenate([found, ends[ends[:, 0] != ends[:, 1]].T], axis=1)
            if found.shape[1] >= count:
                return found[:, :count]
        raise ValueError(
            f"{_MAX_ROUNDS} rounds of walks gave {found.shape[1]} of {count} episodes "
            "that end elsewhere than they begin; train on a graph with more links"
        )

    def _probe(self, graph: LinkedTextGraph, max_steps: int) -> tuple[np.ndarray, float]:
        """Links at the nodes that random walkers stand at, int64 [M], and their mean moves."""
        rng = np.random.default_rng([self.seed, _PROBE])
        start, target = self._draw(_PROBE_WALKS, rng)
        walks = sample_forward_walks(graph, start, max_steps, rng)
        there = walks.nodes[:, 1:] == target[:, None]
        first = np.where(there.any(axis=1), there.argmax(axis=1) + 1, max_steps)
        moves = np.minimum(first, walks.lengths)
        return np.diff(graph.indptr)[walks.nodes], max(float(moves.mean()), 1.0)
