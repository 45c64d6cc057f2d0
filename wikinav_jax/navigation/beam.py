"""Beam search: a policy follows several paths at once, and pays for every node it opens.

The score of a path is the sum of log p of its links. All paths of a search have the same length t;
of the nodes that their links lead to, the `width` with the best paths are opened, best first, and
**each is a step of the budget**, whether it lies on the path that is found or not. A target is
found when it is opened. A node that the search has opened before is opened again only where
nothing else is left, so that width 1 is the walk of the decoding `no_revisit`.

The search is led by the host, which holds the graph; the device gives the links their scores.

Axes: P episodes, F paths of the searches in hand, E flat actions (see types.py), L = budget + 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.navigation.batches import is_local
from wikinav_jax.navigation.decoding import NO_ACTION
from wikinav_jax.navigation.device_graph import with_link_vectors
from wikinav_jax.navigation.losses import segment_log_softmax
from wikinav_jax.navigation.rollout import Walks, check_episodes, next_power
from wikinav_jax.navigation.types import (
    AT_START,
    NO_NODE,
    Actions,
    Decisions,
    Memory,
    NodeFeatures,
    PolicyInput,
    RememberingScorer,
    Scorer,
)
from wikinav_jax.navigation.walkers import BUDGET, DEAD_END, SUCCESS, WALKING
from wikinav_jax.training.mesh import replicate, replicated

_LINKS_PER_PATH = 8  # room that the shortest list of actions has
BEAM = "beam"  # the decoding's name


@dataclass(frozen=True)
class Searches(Walks):
    """Finished searches: `steps` counts the nodes opened, `path` and `rank` tell the path found.

    Where the target was not found, it is the best path of the last ones.
    """

    links: np.ndarray  # int32 [P], links of the path


@dataclass(frozen=True)
class _Paths:
    """The paths that searches hold open, those of an episode together, the best first."""

    episode: np.ndarray  # int64 [F]
    score: np.ndarray  # float64 [F], sum of log p
    arrived_by: np.ndarray  # uint8 [F]
    run: np.ndarray  # int32 [F]
    nodes: np.ndarray  # int32 [F, L]
    ranks: np.ndarray  # int32 [F, L]
    slot: np.ndarray  # int32 [F], row on the device of the path that it continues

    def take(self, which: np.ndarray) -> _Paths:
        return _Paths(*(getattr(self, field.name)[which] for field in fields(self)))


@dataclass(frozen=True)
class _Links:
    """The links of the last nodes of all paths, one after the other."""

    path: np.ndarray  # int64 [M], row of the path
    rank: np.ndarray  # int64 [M]
    node: np.ndarray  # int64 [M], where the link leads
    kind: np.ndarray  # uint8 [M]
    visits: np.ndarray  # int32 [M], how often the path has stood there


def beam_search(
    graph: LinkedTextGraph,
    features: NodeFeatures,
    scorer: Scorer,
    params: Any,
    start: np.ndarray,
    target: np.ndarray,
    *,
    width: int,
    budget: int,
    mesh: Mesh,
    goal: np.ndarray | None = None,
    together: int = 64,
) -> Searches:
    """Searches from every start for its target, opening at most `budget` nodes.

    Every device scores the same links: what comes out does not depend on the mesh.

    Args:
      graph: to search.
      features: of its nodes, on the mesh.
      scorer: gives the links their logits; hashable.
      params: for the scorer, on the mesh (or on the host).
      start: int [P].
      target: int [P], different from the starts.
      width: most paths that a search holds open.
      budget: most nodes that a search opens, its start not counted.
      mesh: the devices.
      goal: float [P, d], what tells the targets in sentence search; else None.
      together: searches that are scored at once.

    Raises:
      ValueError: a width below 1, no episodes, a bad budget, a start that is its target, or a
        scorer that gives NaN or infinity.
    """
    start, target = np.asarray(start, np.int32), np.asarray(target, np.int32)
    check_episodes(start, target, budget, graph.num_nodes)
    if width < 1:
        raise ValueError(
            f"beam width {width} must be at least 1; change config.evaluate.beam_width"
        )
    score = _scores(scorer, mesh)
    parts = []
    for first in range(0, len(start), together):
        part = slice(first, first + together)
        search = _Search(
            graph, start[part], target[part], None if goal is None else goal[part], width, budget
        )
        room = together * width
        memory = scorer.init_memory(room) if isinstance(scorer, RememberingScorer) else ()
        while len(search.paths.episode):
            links = search.links()
            inputs = search.inputs(links, room)
            parent = np.pad(search.paths.slot, (0, room - len(search.paths.slot)))
            found, memory = score(params, features, replicate(mesh, (inputs, parent)), memory)
            log_prob = np.asarray(found)[: len(links.node)]
            if not np.isfinite(log_prob).all():
                episode = first + int(
                    search.paths.episode[links.path[np.argmin(np.isfinite(log_prob))]]
                )
                raise ValueError(
                    f"the policy gave NaN or infinite logits in episode {episode} (from node "
                    f"{start[episode]} to {target[episode]}); its parameters or the features of "
                    "the graph are broken"
                )
            search.open_best(links, log_prob)
        parts.append(search)
    return Searches(
        outcome=np.concatenate([part.outcome for part in parts]),
        steps=np.concatenate([part.steps for part in parts]),
        path=np.concatenate([part.path for part in parts]),
        rank=np.concatenate([part.rank for part in parts]),
        links=np.concatenate([part.length for part in parts]),
    )


@functools.cache
def _scores(scorer: Scorer, mesh: Mesh) -> Callable[..., tuple[jax.Array, Memory]]:
    """log p of every link, float32 [E], and the memory of the paths scored."""

    def score(
        params: Any, features: NodeFeatures, shared: tuple[PolicyInput, jax.Array], memory: Memory
    ) -> tuple[jax.Array, Memory]:
        inputs, parent = shared
        inputs = with_link_vectors(features, inputs)
        if isinstance(scorer, RememberingScorer):
            # A path goes on with what the path before it remembers.
            memory = jax.tree.map(lambda leaf: leaf[parent], memory)
            logits, memory = scorer.step(params, features, inputs, memory)
        else:
            logits = scorer(params, features, inputs)
        count = inputs.decisions.node.shape[0]
        log_prob = segment_log_softmax(logits, inputs.actions, count)
        return jnp.where(jnp.isfinite(logits), log_prob, jnp.nan), memory

    return jax.jit(score, out_shardings=replicated(mesh))


class _Search:
    """Searches in hand, and what became of those that are over."""

    def __init__(
        self,
        graph: LinkedTextGraph,
        start: np.ndarray,
        target: np.ndarray,
        goal: np.ndarray | None,
        width: int,
        budget: int,
    ) -> None:
        self.graph, self.target, self.goal = graph, target, goal
        self.width, self.budget = width, budget
        count = len(start)
        self.level = 0  # links of every path
        self.outcome = np.full(count, WALKING if budget else BUDGET, np.int8)
        self.steps = np.zeros(count, np.int32)
        self.length = np.zeros(count, np.int32)
        self.path = np.full((count, budget + 1), NO_NODE, np.int32)
        self.rank = np.full((count, budget + 1), NO_ACTION, np.int32)
        self.path[:, 0] = start
        episode = np.arange(count)
        self.opened = self._keys(episode, start)  # every node that a search has opened
        begin = _Paths(
            episode=episode,
            score=np.zeros(count),
            arrived_by=np.full(count, AT_START, np.uint8),
            run=np.zeros(count, np.int32),
            nodes=self.path.copy(),
            ranks=self.rank.copy(),
            slot=np.zeros(count, np.int32),
        )
        self.paths = begin.take(self.outcome == WALKING)

    def _keys(self, episode: np.ndarray, node: np.ndarray) -> np.ndarray:
        """One number for a node of an episode's search."""
        return episode.astype(np.int64) * self.graph.num_nodes + node

    def links(self) -> _Links:
        """The links that the searches weigh now."""
        indptr, here = self.graph.indptr, self.paths.nodes[:, self.level]
        degree = (indptr[here + 1] - indptr[here]).astype(np.int64)
        path = np.repeat(np.arange(len(here)), degree)
        rank = np.arange(len(path)) - np.repeat(np.cumsum(degree) - degree, degree)
        slot = indptr[here[path]] + rank
        node = self.graph.indices[slot].astype(np.int64)
        visits = np.zeros(len(path), np.int32)
        for t in range(self.level + 1):
            visits += self.paths.nodes[path, t] == node
        return _Links(path, rank, node, np.asarray(self.graph.edge_kind[slot]), visits)

    def inputs(self, links: _Links, room: int) -> PolicyInput:
        """What the policy sees: `room` decisions, and a power of two of actions."""
        paths, count = self.paths, len(self.paths.episode)
        capacity = next_power(max(len(links.node), _LINKS_PER_PATH * room))

        def pad(values: np.ndarray, size: int, dtype: type, fill: int = 0) -> np.ndarray:
            padded: np.ndarray = np.full((size, *values.shape[1:]), fill, dtype)
            padded[: len(values)] = values
            return padded

        before = paths.nodes[:, self.level - 1] if self.level else np.full(count, NO_NODE)
        return PolicyInput(
            decisions=Decisions(
                node=pad(paths.nodes[:, self.level], room, np.int32),
                target=pad(self.target[paths.episode], room, np.int32),
                previous=pad(before, room, np.int32, NO_NODE),
                arrived_by=pad(paths.arrived_by, room, np.uint8, AT_START),
                run=pad(paths.run, room, np.int32),
                step=np.full(room, self.level, np.int32),
                goal=None
                if self.goal is None
                else pad(self.goal[paths.episode], room, self.goal.dtype.type),
            ),
            actions=Actions(
                node=pad(links.node, capacity, np.int32),
                kind=pad(links.kind, capacity, np.uint8),
                decision=pad(links.path, capacity, np.int32, room - 1),
                rank=pad(links.rank, capacity, np.int32),
                visits=pad(links.visits, capacity, np.int32),
                valid=np.arange(capacity) < len(links.node),
            ),
        )

    def open_best(self, links: _Links, log_prob: np.ndarray) -> None:
        """Opens the next nodes of every search, and ends the searches that are over."""
        paths = self.paths
        episode = paths.episode[links.path]
        score = paths.score[links.path] + log_prob
        key = self._keys(episode, links.node)
        fresh = ~np.isin(key, self.opened)
        has_fresh = np.zeros(len(self.target), bool)
        has_fresh[episode[fresh]] = True
        allowed = np.flatnonzero(fresh | ~has_fresh[episode])
        # Best first within an episode; of paths to the same node only the best. Ties go to the
        # path, then the link, that stands first.
        allowed = allowed[np.lexsort((-score[allowed], episode[allowed]))]
        _, once = np.unique(key[allowed], return_index=True)
        chosen = allowed[np.sort(once)]
        place = _place_in_group(episode[chosen])
        room = np.minimum(self.width, self.budget - self.steps)
        stays = place < room[episode[chosen]]
        chosen, place = chosen[stays], place[stays]

        who = episode[chosen]
        opened = np.bincount(who, minlength=len(self.target)).astype(np.int32)
        hit = links.node[chosen] == self.target[who]
        stuck = np.setdiff1d(paths.episode, who)
        self._remember(paths, np.searchsorted(paths.episode, stuck))
        self.outcome[stuck] = DEAD_END

        parent = links.path[chosen]
        local = is_local(links.kind[chosen])
        following = paths.take(parent)
        self.level += 1
        following.nodes[:, self.level] = links.node[chosen]
        following.ranks[:, self.level - 1] = links.rank[chosen]
        self.paths = _Paths(
            episode=who,
            score=score[chosen],
            arrived_by=links.kind[chosen],
            run=np.where(local, following.run + 1, 0).astype(np.int32),
            nodes=following.nodes,
            ranks=following.ranks,
            slot=parent.astype(np.int32),
        )
        self.opened = np.concatenate([self.opened, key[chosen]])
        before = self.steps.copy()
        self.steps += opened
        self.outcome[(self.steps >= self.budget) & (opened > 0)] = BUDGET
        # What came after the target was never opened.
        self.outcome[who[hit]] = SUCCESS
        self.steps[who[hit]] = before[who[hit]] + place[hit] + 1
        first = np.flatnonzero((place == 0) & (self.outcome[who] == BUDGET))
        self._remember(self.paths, first)
        self._remember(self.paths, np.flatnonzero(hit))
        self.paths = self.paths.take(self.outcome[who] == WALKING)

    def _remember(self, paths: _Paths, rows: np.ndarray) -> None:
        """Writes down the paths of these rows as what their episodes found."""
        episode = paths.episode[rows]
        self.path[episode], self.rank[episode] = paths.nodes[rows], paths.ranks[rows]
        self.length[episode] = self.level


def _place_in_group(group: np.ndarray) -> np.ndarray:
    """0, 1, 2, … within each run of equal numbers; int64 like `group`, which is sorted."""
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(np.append(begins, len(group)))
    return np.arange(len(group)) - np.repeat(begins, sizes)
