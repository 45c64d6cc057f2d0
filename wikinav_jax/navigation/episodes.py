"""Episodes to learn from by reinforcement: pairs of start and target, a function of the step.

Axes: S shards, W walkers of a shard, one an episode.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from flax import struct

from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.navigation.batches import BatchSpec
from wikinav_jax.navigation.trajectories import TrajectorySource
from wikinav_jax.navigation.types import Array

_MAX_ROUNDS = 200  # of walks for one shard before we say that the graph has no episodes
_CAPACITY_STEP = 32  # capacities are multiples of this
_PROBE_WALKS = 2_000  # drawn at the start to estimate the capacity
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
      spec: of the walks; an update plays `decisions_per_shard` moves a shard at most.
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
        self.num_walkers = -(-spec.decisions_per_shard // max_steps)
        self._source = TrajectorySource(
            graph,
            spec.policy,
            min_steps=spec.min_walk_steps,
            max_steps=spec.max_walk_steps,
            non_backtracking=spec.non_backtracking,
            paths_per_start=spec.paths_per_start,
        )
        self.action_capacity = self._estimate_capacity(graph)

    def batch_at(self, step: int, shards: Iterable[int] | None = None) -> EpisodeBatch:
        """The episodes of a step; NumPy leaves [S, W]. `shards`: as in `WalkSampler.batch_at`."""
        chosen = range(self.spec.num_shards) if shards is None else shards
        pairs = np.stack([self._pairs(step, shard) for shard in chosen])
        return EpisodeBatch(start=pairs[:, 0], target=pairs[:, 1])

    def _pairs(self, step: int, shard: int) -> np.ndarray:
        """int32 [2, W]: starts and targets."""
        rng = np.random.default_rng([self.seed, shard, step])
        found = np.zeros((2, 0), np.int32)
        for _ in range(_MAX_ROUNDS):
            walks = self._source.draw(self.num_walkers, rng)
            ends = walks.nodes[:, [0, -1]]
            found = np.concatenate([found, ends[ends[:, 0] != ends[:, 1]].T], axis=1)
            if found.shape[1] >= self.num_walkers:
                return found[:, : self.num_walkers]
        raise ValueError(
            f"{_MAX_ROUNDS} rounds of walks gave {found.shape[1]} of {self.num_walkers} episodes "
            "that end elsewhere than they begin; train on a graph with more links"
        )

    def _estimate_capacity(self, graph: LinkedTextGraph) -> int:
        """Links that a round of W walkers holds: seldom too few, and never for one walker alone."""
        rng = np.random.default_rng([self.seed, _PROBE])
        degree = np.diff(graph.indptr)
        met = degree[self._source.draw(_PROBE_WALKS, rng).nodes]
        likely = self.num_walkers * met.mean() + 4 * np.sqrt(self.num_walkers) * met.std()
        return int(-(-max(likely, degree.max()) // _CAPACITY_STEP)) * _CAPACITY_STEP
