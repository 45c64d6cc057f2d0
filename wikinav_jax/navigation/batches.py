"""Batches of random-walk decisions: a pure function of (seed, shard, step).

Axes: W walks of a round, T their most steps, B decisions of a shard, E its action capacity.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import jax
import numpy as np

from wikinav_jax.graph.linked_text import EdgeKind, LinkedTextGraph
from wikinav_jax.navigation.sentences import SentenceGoals
from wikinav_jax.navigation.targets import (
    TARGETS,
    before_first_visit,
    choose_targets,
    last_exits,
)
from wikinav_jax.navigation.trails import choose_within, trails_of
from wikinav_jax.navigation.trajectories import TrajectorySource
from wikinav_jax.navigation.types import (
    AT_START,
    NO_NODE,
    Actions,
    Decisions,
    NavigationBatch,
    PolicyInput,
)

_CAPACITY_STEP = 64  # capacities are multiples of this
_MOST_PER_DECISION = 32  # actions on average that a derived capacity grants
_PROBE_WALKS = 1024  # drawn at the start to estimate how many decisions a walk gives
_PROBE_SHARDS = 4  # at least so many are drawn at the start to estimate capacities …
_PROBE_DECISIONS = 1024  # … and so many decisions: degrees have long tails
_MAX_ROUNDS = 200  # of walks for one shard before we say that the graph has no decisions
_PROBE = 2**31 - 1  # a shard number that no run uses, for the probe's random numbers


@dataclass(frozen=True)
class BatchSpec:
    """How walks become training decisions. The defaults are the RFBC paper's."""

    num_shards: int = 1  # a multiple of the device count
    decisions_per_shard: int = 1024  # B
    action_capacity: int = 0  # E; 0: from the out-degrees that walks meet
    min_walk_steps: int = 1  # walks have uniformly min to max steps
    max_walk_steps: int = 20
    policy: str = "forward"  # where walks come from, see trajectories.TrajectorySource
    paths_per_start: int = 8  # of policy "shortest_uniform", whose search is done once a start
    target: str = "end"  # see targets.choose_targets
    first_visit: bool = False  # drop decisions made after (or at) the first visit to the target
    last_exit: bool = False  # learn the last exit from a node the walk comes back to
    non_backtracking: float = 0.0  # share of walks that do not step straight back if they can
    decisions_per_walk: int = 0  # at most so many, uniformly chosen, from one walk; 0: all
    skip_forced: bool = False  # drop decisions with a single action: they teach nothing
    trails: bool = False  # bring the whole walks, for a policy that reads them

    def __post_init__(self) -> None:
        for name in ("num_shards", "decisions_per_shard", "min_walk_steps", "paths_per_start"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        for name in ("action_capacity", "decisions_per_walk"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 0")
        if self.max_walk_steps < self.min_walk_steps:
            raise ValueError(
                f"max_walk_steps={self.max_walk_steps} is below "
                f"min_walk_steps={self.min_walk_steps}; walks have uniformly min to max steps"
            )
        if self.target not in TARGETS:
            raise ValueError(f"target={self.target!r} is not one of {', '.join(TARGETS)}")
        if not 0 <= self.non_backtracking <= 1:
            raise ValueError(
                f"non_backtracking={self.non_backtracking} is a share of walks: give 0 to 1"
            )
        if self.non_backtracking and self.policy.startswith("shortest"):
            raise ValueError(
                f"non_backtracking={self.non_backtracking}: a shortest path never steps back; "
                "give 0, or another walks.policy"
            )
        if self.action_capacity and self.action_capacity < 2 * self.decisions_per_shard:
            raise ValueError(
                f"action_capacity={self.action_capacity} is less than two actions for each of "
                f"the {self.decisions_per_shard} decisions of a shard; raise it, or give 0 to "
                "derive it from the graph"
            )


@dataclass(frozen=True)
class WalkDecisions:
    """Decisions cut from walks, on the host."""

    node: np.ndarray  # int32 [M]
    target: np.ndarray  # int32 [M]
    edge: np.ndarray  # int64 [M], slot of the link to take
    step: np.ndarray  # int64 [M], moves made before it
    run: np.ndarray  # int32 [M]
    arrived_by: np.ndarray  # uint8 [M]
    history: np.ndarray  # int32 [M, T], nodes stood at, the present one last; padded by NO_NODE
    walk: np.ndarray  # int64 [M], tells the walks apart


class WalkSampler:
    """Draws batches from one graph. Holds no random state: every method is a function of its args.

    Raises ValueError on construction when the graph has no links at all.
    """

    def __init__(
        self,
        graph: LinkedTextGraph,
        spec: BatchSpec,
        seed: int,
        goals: SentenceGoals | None = None,
    ) -> None:
        """With `goals`, a random sentence of every decision's target is drawn to tell it."""
        self.graph = graph
        self.goals = goals
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
        self._num_walks = self._estimate_walks()
        self.num_trails = 0  # W; draws are not held to it while it is estimated
        if spec.trails:
            self.num_trails = self._estimate_trails()
        self.action_capacity = spec.action_capacity or self._estimate_capacity()

    def batch_at(self, step: int, shards: Iterable[int] | None = None) -> NavigationBatch:
        """The batch of a step; NumPy leaves [S, …].

        `shards`: which of the num_shards to draw (this process's own), all by default.
        """
        chosen = range(self.spec.num_shards) if shards is None else shards
        parts = [self.shard_at(step, shard) for shard in chosen]
        return _stack(parts)

    def shard_at(self, step: int, shard: int) -> NavigationBatch:
        """One shard of a step; NumPy leaves without the shard axis."""
        rng = np.random.default_rng([self.seed, shard, step])
        decisions = self._draw_decisions(rng, self.spec.decisions_per_shard)
        batch = flatten_actions(self.graph, decisions, self.action_capacity, rng)
        if self.num_trails:
            trails = trails_of(decisions.walk, decisions.step, decisions.history, self.num_trails)
            batch = batch.replace(inputs=batch.inputs.replace(trails=trails))
        if self.goals is None:
            return batch
        goal = self.goals.draw(decisions.target, rng)
        told = batch.inputs.decisions.replace(goal=goal)
        return batch.replace(inputs=batch.inputs.replace(decisions=told))

    def _draw_decisions(self, rng: np.random.Generator, count: int) -> WalkDecisions:
        """Exactly `count` decisions: walks in rounds until there are enough, then a fair choice."""
        rounds: list[WalkDecisions] = []
        have = walks = drawn_before = 0
        num_walks = self._num_walks
        for _ in range(_MAX_ROUNDS):
            drawn = self._source.draw(num_walks, rng)
            part = self._cut(drawn.nodes, drawn.edges, drawn.lengths, rng)
            rounds.append(replace(part, walk=part.walk + drawn_before))
            drawn_before += len(drawn.nodes)
            have += len(rounds[-1].node)
            walks += num_walks
            if have >= count:
                every = _concatenate(rounds)
                if self.num_trails:
                    return _take(every, choose_within(every.walk, count, self.num_trails, rng))
                return _take(every, _choose(rng, have, count))
            # As many more walks as the yield so far asks for, and a few to spare.
            wanted = int((count - have) * walks / max(have, 1) * 1.1) + 8
            num_walks = min(wanted, 4 * count + 8)
        raise ValueError(
            f"{_MAX_ROUNDS} rounds of walks gave {have} of {count} decisions; the graph has "
            "hardly any choices: lower decisions_per_shard, or turn skip_forced off"
        )

    def _cut(
        self, nodes: np.ndarray, edges: np.ndarray, lengths: np.ndarray, rng: np.random.Generator
    ) -> WalkDecisions:
        """The decisions of walks: nodes [W, T + 1], edges [W, T], lengths [W]."""
        spec, graph = self.spec, self.graph
        num_walks, num_steps = edges.shape
        position = choose_targets(nodes, lengths, spec.target, rng)
        target = np.take_along_axis(nodes, position, axis=1)
        keep = np.arange(num_steps)[None] < lengths[:, None]
        if spec.first_visit:
            keep &= before_first_visit(nodes, target)
        if spec.skip_forced:
            degree = graph.indptr[nodes[:, :-1] + 1] - graph.indptr[nodes[:, :-1]]
            keep &= degree > 1
        if spec.decisions_per_walk:
            lottery = np.where(keep, rng.random(keep.shape), 2.0)
            bar = np.sort(lottery, axis=1)[:, : spec.decisions_per_walk][:, -1:]
            keep &= lottery <= bar
        walk, step = np.nonzero(keep)

        taken = edges
        if spec.last_exit:
            exits = last_exits(nodes, target, position)
            taken = np.take_along_axis(edges, exits, axis=1)
        # Kinds of the moves that led here. Edges past a dead end are no slots: read slot 0 there.
        real = np.arange(num_steps)[None] < lengths[:, None]
        kind = graph.edge_kind[np.where(real, edges, 0)]
        arrived_by = np.full((num_walks, num_steps), AT_START, np.uint8)
        arrived_by[:, 1:] = kind[:, :-1]
        run = np.zeros((num_walks, num_steps), np.int32)
        for t in range(1, num_steps):
            run[:, t] = np.where(is_local(kind[:, t - 1]), run[:, t - 1] + 1, 0)

        # history[m, j]: the node j steps before the decision's own, counted from the right.
        back = np.arange(num_steps - 1, -1, -1)[None]
        when = step[:, None] - back
        history = np.where(when >= 0, nodes[walk[:, None], np.maximum(when, 0)], NO_NODE)
        return WalkDecisions(
            node=nodes[walk, step],
            target=target[walk, step],
            edge=taken[walk, step],
            step=step,
            run=run[walk, step],
            arrived_by=arrived_by[walk, step],
            history=history.astype(np.int32),
            walk=walk,
        )

    def _estimate_walks(self) -> int:
        """So many walks that one round nearly always gives the decisions of a shard.

        The decisions of W walks are nearly normal about W times their mean: two deviations more.
        """
        count = self.spec.decisions_per_shard
        rng = np.random.default_rng([self.seed, _PROBE])
        drawn = self._source.draw(_PROBE_WALKS, rng)
        found = self._cut(drawn.nodes, drawn.edges, drawn.lengths, rng)
        share = np.bincount(found.walk, minlength=len(drawn.nodes))
        walks = count / max(share.mean(), 1 / _PROBE_WALKS)
        spare = 2 * np.sqrt(walks) * share.std() / max(share.mean(), 1 / _PROBE_WALKS)
        return int(min(walks + spare, 4 * count)) + 8

    def _estimate_trails(self) -> int:
        """Room for walks that shards seldom lack: a tenth more than the largest probe has."""
        count = self.spec.decisions_per_shard
        rng = np.random.default_rng([self.seed, _PROBE])
        probes = (self._draw_decisions(rng, count) for _ in range(_PROBE_SHARDS))
        return -(-11 * max(len(np.unique(probe.walk)) for probe in probes) // 10)

    def _estimate_capacity(self) -> int:
        """A capacity that shards seldom overflow, from the degrees that probe walks meet.

        The sum of B degrees is nearly normal once the largest one in a thousand are clipped
        (those hubs are sampled when they do overflow): mean plus four deviations, in bounds.
        """
        count = self.spec.decisions_per_shard
        rng = np.random.default_rng([self.seed, _PROBE])
        probes = max(_PROBE_SHARDS, -(-_PROBE_DECISIONS // count))
        nodes = np.concatenate([self._draw_decisions(rng, count).node for _ in range(probes)])
        degree = (self.graph.indptr[nodes + 1] - self.graph.indptr[nodes]).astype(np.float64)
        degree = np.minimum(degree, np.quantile(degree, 0.999))
        total = count * degree.mean() + 4 * np.sqrt(count) * degree.std()
        total = np.clip(total, 2 * count, _MOST_PER_DECISION * count)
        return int(-(-total // _CAPACITY_STEP)) * _CAPACITY_STEP


def is_local(kind: np.ndarray) -> np.ndarray:
    """Whether edges of this kind lead to the next or previous block of the same article."""
    return kind >= EdgeKind.NEXT


def flatten_actions(
    graph: LinkedTextGraph, decisions: WalkDecisions, capacity: int, rng: np.random.Generator
) -> NavigationBatch:
    """The links of all decisions as one flat list of exactly `capacity` entries.

    If there are more links than that, the largest nodes give up links: each node keeps at most K,
    the largest K that fits. The link to take is always kept, the K - 1 others are a uniform
    sample, and `log_weight` lets each of them stand for (links - 1) / (K - 1), so that the
    softmax's denominator stays right on average (its logarithm is then slightly low).

    Raises ValueError when the capacity is below two actions a decision.
    """
    count = len(decisions.node)
    if capacity < 2 * count:
        raise ValueError(
            f"capacity={capacity} is less than two actions for each of {count} decisions"
        )
    first = graph.indptr[decisions.node]
    degree = graph.indptr[decisions.node + 1] - first
    kept = degree
    if degree.sum() > capacity:
        kept = np.minimum(degree, _largest_cap(degree, capacity))
    ends = np.cumsum(kept)
    total = int(ends[-1])
    decision = np.repeat(np.arange(count, dtype=np.int32), kept)
    rank = np.arange(total) - np.repeat(ends - kept, kept)
    log_weight = np.zeros(capacity, np.float32)
    taken_rank = decisions.edge - first
    taken = ends - kept + taken_rank
    for m in np.flatnonzero(kept < degree):
        others = _choose(rng, int(degree[m]) - 1, int(kept[m]) - 1)
        others += others >= taken_rank[m]
        chosen = np.sort(np.append(others, taken_rank[m]))
        part = slice(ends[m] - kept[m], ends[m])
        rank[part] = chosen
        taken[m] = part.start + np.searchsorted(chosen, taken_rank[m])
        log_weight[part] = np.log((degree[m] - 1) / (kept[m] - 1))
        log_weight[taken[m]] = 0.0

    slot = first[decision] + rank
    node = graph.indices[slot]
    visits = np.count_nonzero(decisions.history[decision] == node[:, None], axis=1)
    previous = np.full(count, NO_NODE, np.int32)
    if decisions.history.shape[1] > 1:
        previous = decisions.history[:, -2]

    def pad(values: np.ndarray, fill: int, dtype: type) -> np.ndarray:
        padded: np.ndarray = np.full(capacity, fill, dtype)
        padded[:total] = values
        return padded

    return NavigationBatch(
        inputs=PolicyInput(
            decisions=Decisions(
                node=decisions.node.astype(np.int32),
                target=decisions.target.astype(np.int32),
                previous=previous,
                arrived_by=decisions.arrived_by,
                run=decisions.run,
                step=decisions.step.astype(np.int32),
            ),
            actions=Actions(
                node=pad(node, 0, np.int32),
                kind=pad(graph.edge_kind[slot], 0, np.uint8),
                decision=pad(decision, count - 1, np.int32),
                rank=pad(rank, 0, np.int32),
                visits=pad(visits, 0, np.int32),
                valid=pad(np.ones(total, bool), False, bool),
            ),
        ),
        taken=taken.astype(np.int32),
        log_weight=log_weight,
    )


def _largest_cap(degree: np.ndarray, capacity: int) -> int:
    """The largest K with sum(min(degree, K)) <= capacity."""
    low, high = 1, int(degree.max())
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(degree, middle).sum() <= capacity:
            low = middle
        else:
            high = middle - 1
    return low


def _choose(rng: np.random.Generator, population: int, count: int) -> np.ndarray:
    """`count` distinct numbers below `population`, ascending."""
    return np.sort(rng.choice(population, count, replace=False, shuffle=False))


def _concatenate(rounds: list[WalkDecisions]) -> WalkDecisions:
    columns = ([getattr(part, field.name) for part in rounds] for field in fields(WalkDecisions))
    return WalkDecisions(*(np.concatenate(column) for column in columns))


def _take(decisions: WalkDecisions, chosen: np.ndarray) -> WalkDecisions:
    return WalkDecisions(*(getattr(decisions, f.name)[chosen] for f in fields(WalkDecisions)))


def _stack(parts: list[NavigationBatch]) -> NavigationBatch:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *parts)
