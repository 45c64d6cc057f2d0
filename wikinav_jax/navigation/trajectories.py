"""Where training walks come from: the trajectory policies of the RFBC paper, section 2.2.

Axes: W walks, T the most steps of one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.shortest_paths import sample_distant_paths, sample_shortest_paths
from wikinav_jax.graph.walks import Trajectories, sample_forward_walks, sample_reverse_walks

_NODES_AT_ONCE = 1 << 22
WALK_POLICIES = ("forward", "reverse", "shortest_uniform", "shortest_walk")


class TrajectorySource:
    """Draws walks of one policy. Holds no random state; threads may share it.

    forward: from a uniform node along uniform out-links, T ~ U(min, max) steps.
    reverse: to a uniform node along uniform in-links, drawn backwards, T ~ U(min, max) steps.
    shortest_uniform: a shortest path from a uniform node to a uniform node T links away, where
      T is uniform over the distances from min to max at which there are any nodes.
    shortest_walk: a shortest path between the ends of a forward walk.

    The paper's "shortest path" sampling can be read in the last two ways. Among the shortest paths
    of a pair all are equally likely.

    Raises ValueError on construction for an unknown policy or a graph without links.
    """

    def __init__(
        self,
        graph: LinkedTextGraph,
        policy: str,
        *,
        min_steps: int,
        max_steps: int,
        non_backtracking: float = 0.0,
        paths_per_start: int = 1,
    ) -> None:
        draws = {
            "forward": self._forward,
            "reverse": self._reverse,
            "shortest_uniform": self._shortest_uniform,
            "shortest_walk": self._shortest_walk,
        }
        if policy not in draws:
            raise ValueError(f"walks.policy={policy!r} is not one of {', '.join(WALK_POLICIES)}")
        self._draw = draws[policy]
        self._graph = graph
        self._min_steps, self._max_steps = min_steps, max_steps
        self._non_backtracking = non_backtracking
        self._paths_per_start = paths_per_start
        # A walk from a node without links (or back from one without links to it) has no steps:
        # beginning elsewhere changes nothing.
        self._nodes = _nodes_with_links(
            graph.reverse().indptr if policy == "reverse" else graph.indptr
        )
        if not len(self._nodes):
            raise ValueError(
                f"none of the graph's {len(graph.indptr) - 1} nodes has a link to follow; "
                "navigation needs a graph with edges"
            )

    def draw(self, num_walks: int, rng: np.random.Generator) -> Trajectories:
        """About `num_walks` walks, [W, T + 1], in no order; some may have no steps.

        Exactly so many, but for shortest_uniform, which draws a few for each start.
        """
        return self._draw(num_walks, rng)

    def _pick(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return self._nodes[rng.integers(0, len(self._nodes), count)]

    def _limits(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(self._min_steps, self._max_steps + 1, count)

    def _split(self, ends: np.ndarray, rng: np.random.Generator) -> list[tuple[np.ndarray, bool]]:
        """The walks that do not step straight back, and the others, where there are any."""
        straight = int(rng.binomial(len(ends), self._non_backtracking))
        parts = ((ends[:straight], True), (ends[straight:], False))
        return [(part, flag) for part, flag in parts if len(part)]

    def _forward(self, num_walks: int, rng: np.random.Generator) -> Trajectories:
        starts = self._pick(num_walks, rng)
        walks = _join(
            sample_forward_walks(self._graph, part, self._max_steps, rng, non_backtracking=flag)
            for part, flag in self._split(starts, rng)
        )
        return _window(walks, np.zeros(num_walks, np.int64), self._limits(num_walks, rng))

    def _reverse(self, num_walks: int, rng: np.random.Generator) -> Trajectories:
        targets = self._pick(num_walks, rng)
        walks = _join(
            sample_reverse_walks(self._graph, part, self._max_steps, rng, non_backtracking=flag)
            for part, flag in self._split(targets, rng)
        )
        # A shorter backward walk is the end of a longer one.
        limits = np.minimum(self._limits(num_walks, rng), walks.lengths)
        return _window(walks, walks.lengths - limits, limits)

    def _shortest_uniform(self, num_walks: int, rng: np.random.Generator) -> Trajectories:
        return sample_distant_paths(
            self._graph,
            self._pick(-(-num_walks // self._paths_per_start), rng),
            self._min_steps,
            self._max_steps,
            rng,
            paths_per_start=self._paths_per_start,
        )

    def _shortest_walk(self, num_walks: int, rng: np.random.Generator) -> Trajectories:
        walks = self._forward(num_walks, rng)
        return sample_shortest_paths(
            self._graph, walks.nodes[:, 0], walks.nodes[:, -1], self._max_steps, rng
        )


def _nodes_with_links(indptr: np.ndarray) -> np.ndarray:
    """int32, ascending; a part at a time, for this is most of what a sampler holds in memory."""
    num_nodes = len(indptr) - 1
    parts = [
        np.flatnonzero(np.diff(indptr[first : first + _NODES_AT_ONCE + 1])).astype(np.int32) + first
        for first in range(0, num_nodes, _NODES_AT_ONCE)
    ]
    return np.concatenate(parts, dtype=np.int32)


def _join(parts: Iterable[Trajectories]) -> Trajectories:
    walks = list(parts)
    return Trajectories(
        np.concatenate([part.nodes for part in walks]),
        np.concatenate([part.edges for part in walks]),
        np.concatenate([part.mask for part in walks]),
    )


def _window(walks: Trajectories, first: np.ndarray, most: np.ndarray) -> Trajectories:
    """At most most[w] steps of each walk from its position first[w] on; int64 [W] both."""
    num_steps = walks.edges.shape[1]
    length = np.minimum(walks.lengths - first, most)[:, None]
    steps = np.arange(num_steps + 1)[None]
    where = first[:, None] + np.minimum(steps, length)
    mask = steps[:, :-1] < length
    edges = np.take_along_axis(walks.edges, np.minimum(where[:, :-1], num_steps - 1), axis=1)
    return Trajectories(
        np.take_along_axis(walks.nodes, where, axis=1), np.where(mask, edges, -1), mask
    )
