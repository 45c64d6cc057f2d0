"""Navigation tasks: how far a target lies, and the pairs of start and target that are played.

Axes: P episodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wikinav_jax.graph.distances import shortest_distances
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.walks import sample_forward_walks
from wikinav_jax.navigation.targets import walk_lengths

SAMPLINGS = ("forward", "reverse")
_MOST_DRAWS = 200  # pairs drawn for one that is kept, before we say that there are none


@dataclass(frozen=True)
class Task:
    """The ends of a random walk. RFBC paper, section 4."""

    name: str
    min_steps: int  # the walk takes uniformly min to max steps
    max_steps: int
    reverse: bool = False  # the walk is drawn backwards, from a uniform target
    sentence: bool = False  # the target is told by one random sentence of its block


TASKS = {
    task.name: task
    for task in (
        Task("5-step", 5, 5),
        Task("10-step", 10, 10),
        Task("20-step", 20, 20),
        Task("multistep", 1, 20),
        # Sentence search plays the pairs of the task without it.
        Task("sentence-5", 5, 5, sentence=True),
        Task("sentence-10", 10, 10, sentence=True),
        Task("sentence-20", 20, 20, sentence=True),
    )
}

# "5-step-reverse", …: the same distances, with pairs drawn from their targets backwards.
TASKS |= {
    f"{name}-reverse": dataclasses.replace(task, name=f"{name}-reverse", reverse=True)
    for name, task in TASKS.items()
}


def task_names(names: Iterable[str], samplings: Iterable[str]) -> tuple[str, ...]:
    """Names of TASKS for tasks under each way ("forward", "reverse") of drawing their pairs."""
    names = tuple(names)
    suffix = {"forward": "", "reverse": "-reverse"}
    return tuple(name + suffix[sampling] for sampling in samplings for name in names)


@dataclass(frozen=True)
class Episodes:
    """Pairs to play, the same for every method."""

    task: Task
    start: np.ndarray  # int32 [P]
    target: np.ndarray  # int32 [P]
    shortest: np.ndarray  # int32 [P], links of a shortest path, at least 1
    num_drawn: int  # pairs drawn to get them
    num_excluded: int  # drawn pairs left out because the start was the target
    num_cut_short: int  # kept pairs whose walk met a dead end; its last node is their target

    def __len__(self) -> int:
        return len(self.start)


def draw_episodes(graph: LinkedTextGraph, task: Task, *, num_episodes: int, seed: int) -> Episodes:
    """Draws exactly `num_episodes` pairs: a uniform start, and the end of a forward walk from it.

    For reverse tasks it is a uniform target, and the end of a walk from it over uniform in-links,
    which is the start. A function of its arguments. Pairs whose walk ended where it began (a loop,
    or a node without links) are excluded and counted.

    Raises:
      ValueError: num_episodes is below 1, or the graph has hardly any pairs.
    """
    if num_episodes < 1:
        raise ValueError(f"num_episodes={num_episodes} must be at least 1")
    num_nodes = len(graph.indptr) - 1
    if len(graph.indices) == 0:
        raise ValueError(
            f"the graph has {num_nodes} nodes and no links, so no target can be reached; "
            "evaluate on a graph with links"
        )
    along = graph.reverse() if task.reverse else graph
    stream = [seed, task.min_steps, task.max_steps, *([1] if task.reverse else [])]
    rng = np.random.default_rng(stream)
    pairs: list[np.ndarray] = []
    drawn = kept = 0
    while kept < num_episodes:
        if drawn >= _MOST_DRAWS * num_episodes:
            raise ValueError(
                f"only {kept} of {drawn} walks of the task {task.name!r} ended elsewhere than "
                f"they began, {num_episodes} are needed; lower num_episodes, or evaluate on a "
                "graph with more links"
            )
        count = 2 * num_episodes
        walks = sample_forward_walks(along, rng.integers(0, num_nodes, count), task.max_steps, rng)
        asked = rng.integers(task.min_steps, task.max_steps + 1, count)
        taken = np.minimum(asked, walk_lengths(walks.mask))
        end = walks.nodes[np.arange(count), taken]
        found = np.stack([walks.nodes[:, 0], end, taken < asked], axis=1)
        good = np.flatnonzero(found[:, 0] != found[:, 1])[: num_episodes - kept]
        kept += len(good)
        # Pairs after the last one needed were not drawn, as far as anyone is concerned.
        drawn += count if kept < num_episodes else int(good[-1]) + 1
        pairs.append(found[good])
    start, target, cut = np.concatenate(pairs).T
    if task.reverse:
        start, target = target, start
    return Episodes(
        task=task,
        start=start.astype(np.int32),
        target=target.astype(np.int32),
        shortest=shortest_distances(graph, start, target, cutoff=task.max_steps),
        num_drawn=drawn,
        num_excluded=drawn - kept,
        num_cut_short=int(cut.sum()),
    )
