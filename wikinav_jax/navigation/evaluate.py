"""Evaluation: every method plays the same episodes; figures come back as rows of results.json.

Axes: P episodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.sharding import Mesh

from wikinav_jax.common.progress import progress
from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.navigation.baselines import cosine_scorer, lookahead_scorer, uniform_scorer
from wikinav_jax.navigation.beam import BEAM, Searches, beam_search
from wikinav_jax.navigation.decoding import check_decoding
from wikinav_jax.navigation.device_graph import to_device
from wikinav_jax.navigation.rollout import Walks, run_episodes
from wikinav_jax.navigation.sentences import SentenceGoals
from wikinav_jax.navigation.tasks import TASKS, Episodes, draw_episodes
from wikinav_jax.navigation.types import NodeFeatures, Scorer

Z95 = 1.959963984540054  # normal quantile of a two-sided 95% interval
SPLIT_TRAIN, SPLIT_EVAL = "train", "eval"

# What `evaluate` plays by itself: sentence search needs sentences.
PLAIN_TASKS = tuple(name for name, task in TASKS.items() if not task.sentence)
_GOAL_DRAWS = 2  # tells the random numbers of sentences from those of the pairs

Row = dict[str, Any]


@dataclass(frozen=True)
class Method:
    """Something that navigates."""

    name: str  # `method` in the rows
    decoding: str  # a key of DECODINGS, or BEAM
    scorer: Scorer
    params: Any = field(default_factory=dict, compare=False, repr=False)
    beam_width: int = 4  # paths that a beam search holds open

    def __post_init__(self) -> None:
        if self.decoding != BEAM:
            check_decoding(self.decoding)

    @property
    def label(self) -> str:
        """`decoding` in the rows: depth-first search is one, however it picks among links."""
        if self.decoding == BEAM:
            return f"{BEAM}_{self.beam_width}"
        return "dfs" if self.decoding == "sample_dfs" else self.decoding


# Navigators without learning, section 4 of the RFBC paper, and Greedy without revisits.
BASELINES = (
    Method("random", "sample", uniform_scorer),
    Method("random", "sample_dfs", uniform_scorer),
    Method("greedy", "argmax", cosine_scorer),
    Method("greedy", "no_revisit", cosine_scorer),
    Method("greedy", "dfs", cosine_scorer),
)
# Fair to policies that read neighbourhood features: Greedy reads them too.
LOOKAHEAD_BASELINES = (
    Method("greedy_lookahead", "argmax", lookahead_scorer),
    Method("greedy_lookahead", "no_revisit", lookahead_scorer),
)


def baselines_for(features: NodeFeatures) -> tuple[Method, ...]:
    """The baselines that these features allow."""
    return BASELINES + (() if features.neighbourhood is None else LOOKAHEAD_BASELINES)


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found."""

    rows: list[Row]
    episodes: dict[str, Episodes]  # by task name
    walks: dict[tuple[str, str, str], Walks]  # by (task name, method name, label of decoding)
    # by task name: float32 [P, d] of sentence search, what told each target
    goals: dict[str, np.ndarray] = field(default_factory=dict)


def evaluate(
    graph: LinkedTextGraph,
    features: NodeFeatures,
    methods: Sequence[Method],
    *,
    mesh: Mesh,
    system: str,
    dataset: str,
    split: str,
    seed: int,
    tasks: Iterable[str] = PLAIN_TASKS,
    num_episodes: int = 1000,
    budget: int = 100,
    sentences: SentenceGoals | None = None,
    slots: int = 256,
    capacity: int = 2048,
) -> Evaluation:
    """Plays the same episodes with every method.

    Metrics, each with a 95% interval: success (the target was visited within the budget; Wilson),
    mean_steps (moves of the successful episodes; normal; left out when there are none), mean_links
    (beam search only: links of the path found, where `steps` are all nodes opened), spl (mean
    over all episodes of success x shortest / moves; normal, cut to [0, 1]) and excluded (how many
    drawn pairs started at their target; no interval, n counts the pairs drawn).

    Args:
      graph: to navigate.
      features: of its nodes, on the mesh.
      methods: distinct in (name, label).
      mesh: episodes are spread over its devices.
      system: for the rows.
      dataset: for the rows.
      split: for the rows.
      seed: of pairs and sampled moves.
      tasks: names of TASKS.
      num_episodes: P of every task.
      budget: most moves of an episode.
      sentences: of the graph's blocks, for sentence search.
      slots: see `run_episodes`.
      capacity: see `run_episodes`.

    Raises:
      ValueError: an unknown task, two methods alike, a graph without episodes, or sentence search
        without sentences.
    """
    names = list(tasks)
    for name in names:
        if name not in TASKS:
            raise ValueError(
                f"task {name!r} is not one of {', '.join(TASKS)}.{did_you_mean(name, TASKS)}"
            )
        if TASKS[name].sentence and sentences is None:
            raise ValueError(
                f"task {name!r} tells its targets by sentences, and there are none: give "
                "evaluate(..., sentences=...)"
            )
    keys = [(method.name, method.label) for method in methods]
    if len(set(keys)) < len(keys):
        raise ValueError(f"two methods have the same name and decoding: {sorted(keys)}")
    episodes = {
        name: draw_episodes(graph, TASKS[name], num_episodes=num_episodes, seed=seed)
        for name in names
    }
    goals = {
        name: sentences.draw(
            episodes[name].target,
            np.random.default_rng(
                [seed, TASKS[name].min_steps, TASKS[name].max_steps, _GOAL_DRAWS]
            ),
        )
        for name in names
        if TASKS[name].sentence and sentences is not None
    }
    links = to_device(graph, mesh)
    rows: list[Row] = []
    walks: dict[tuple[str, str, str], Walks] = {}
    pairs = [(name, method) for method in methods for name in names]
    with progress(pairs, desc=f"evaluating ({split})", unit="task") as bar:
        for name, method in bar:
            bar.set_postfix_str(f"{method.name} {method.label} {name}")
            pairs_played = (episodes[name].start, episodes[name].target)
            learned = (method.scorer, method.params)
            if method.decoding == BEAM:
                played: Walks = beam_search(
                    graph,
                    features,
                    *learned,
                    *pairs_played,
                    goal=goals.get(name),
                    width=method.beam_width,
                    budget=budget,
                    mesh=mesh,
                )
            else:
                played = run_episodes(
                    links,
                    features,
                    *learned,
                    *pairs_played,
                    goal=goals.get(name),
                    decoding=method.decoding,
                    budget=budget,
                    seed=seed,
                    mesh=mesh,
                    slots=slots,
                    capacity=capacity,
                )
            walks[name, method.name, method.label] = played
            about = {
                "system": system,
                "dataset": dataset,
                "split": split,
                "task": name,
                "method": method.name,
                "decoding": method.label,
            }
            rows += [
                {**about, **figure, "seed": seed} for figure in figures(episodes[name], played)
            ]
    return Evaluation(rows, episodes, walks, goals)


def figures(episodes: Episodes, walks: Walks) -> list[Mapping[str, Any]]:
    """metric, value, low, high and n of one method on one task."""
    count, wins = len(episodes), int(walks.success.sum())
    steps = walks.steps[walks.success].astype(np.float64)
    efficiency = np.zeros(count)
    efficiency[walks.success] = episodes.shortest[walks.success] / steps
    found = [
        _figure("success", wins / count, wilson_interval(wins, count), count),
        _figure("spl", efficiency.mean(), normal_interval(efficiency, 0, 1), count),
        _figure("excluded", episodes.num_excluded, None, episodes.num_drawn),
    ]
    if wins and isinstance(walks, Searches):
        links = walks.links[walks.success].astype(np.float64)
        found.insert(1, _figure("mean_links", links.mean(), normal_interval(links, 1), wins))
    if wins:
        found.insert(1, _figure("mean_steps", steps.mean(), normal_interval(steps, 1), wins))
    return found


def _figure(
    metric: str, value: float, interval: tuple[float, float] | None, n: int
) -> Mapping[str, Any]:
    low, high = interval or (None, None)
    return {"metric": metric, "value": float(value), "low": low, "high": high, "n": n}


def wilson_interval(successes: int, count: int) -> tuple[float, float]:
    """Wilson's 95% score interval of a share (Wilson 1927); (0, 1) for no trials."""
    if count == 0:
        return 0.0, 1.0
    share, z2 = successes / count, Z95**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    spread = share * (1 - share) / count + z2 / (4 * count**2)
    half = Z95 * math.sqrt(spread) / (1 + z2 / count)
    # The ends are exact at 0 and 1, where rounding could put them on the wrong side of the share.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == count else centre + half
    return low, high


def normal_interval(
    values: np.ndarray, least: float = -math.inf, most: float = math.inf
) -> tuple[float, float]:
    """mean ± z s/sqrt(n), cut to [least, most]; the mean itself for a single value."""
    mean = float(values.mean())
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return max(mean - half, least), min(mean + half, most)
