"""People and a language model as opponents: the policy plays the pairs that they played.

Every pair of start and target is played once by every method; what people and the model did on it
is read from their recorded games. No game is read in training: the policy learns from random walks.

Clicks of people are counted in two ways: along their way without what they took back (kind to
them, and the way that is compared by default), and all of them, "back" included.

Axes: P pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging
from jax.sharding import Mesh

from wikinav_jax.common.progress import progress
from wikinav_jax.datasets import wikispeedia_files as files
from wikinav_jax.datasets.wikispeedia_games import Game, Games, read_games
from wikinav_jax.graph.distances import shortest_distances
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.navigation.device_graph import to_device
from wikinav_jax.navigation.evaluate import (
    Evaluation,
    Method,
    Row,
    figures,
    normal_interval,
    wilson_interval,
)
from wikinav_jax.navigation.rollout import Walks, run_episodes
from wikinav_jax.navigation.tasks import Episodes, Task
from wikinav_jax.navigation.types import NodeFeatures

PEOPLE, MODEL = "human", "gpt_4o_mini"  # `method` in the rows
FINISHED, GIVEN_UP = "finished_games", "given_up_games"  # `split` in the rows
BY_DISTANCE = "_by_distance"  # ... of figures for one length of the shortest path
_ALL = "all_pairs"  # `task` in the rows
_MAX_CLICKS = 10**6  # "clicks" of who does not arrive: more than anyone's


@dataclass(frozen=True)
class GameSet:
    """Pairs that were played, each once, and how the opponents did on them.

    Clicks are means over a pair's games; infinite where the opponent did not arrive, and NaN where
    it did not play.
    """

    split: str  # FINISHED or GIVEN_UP
    episodes: Episodes
    way: np.ndarray  # float64 [P], people's clicks without what they took back
    clicks: np.ndarray  # float64 [P], all their clicks
    model: np.ndarray  # float64 [P], the model's


def load_games(
    data_dir: Path | None, cache_dir: Path, graph: LinkedTextGraph
) -> tuple[Games, list[str]]:
    """The recorded games, and the names of the nodes, URL-encoded, in their order.

    Raises:
      ValueError: the graph is not that of the articles (`wikispeedia_articles`).
      FileNotFoundError, ConnectionError: see `wikispeedia_files` and `wikispeedia_games`.
    """
    folder = files.folder_of(files.GRAPH, data_dir, cache_dir)
    names = files.read_names(folder)
    if graph.num_nodes != len(names) or graph.article_titles != [*map(files.title_of, names)]:
        raise ValueError(
            f"the games are played on the {len(names):,} articles of {folder / 'articles.tsv'}, "
            f"but the graph has {graph.num_nodes:,} nodes; set "
            "config.dataset.name='wikispeedia_articles', or config.games.enabled=False"
        )
    games = read_games(folder, names)
    for complaint in games.rejected:
        logging.debug("left out: %s", complaint)
    logging.info(
        "games: %d finished, %d given up, %d by the model; %d rows left out%s",
        len(games.finished),
        len(games.unfinished),
        len(games.model),
        len(games.rejected),
        f", the first: {games.rejected[0]}" if games.rejected else "",
    )
    return games, names


def game_sets(
    games: Games, names: Sequence[str], graph: LinkedTextGraph, *, num_pairs: int = 0, seed: int = 0
) -> list[GameSet]:
    """The distinct pairs of finished games and of those given up.

    Args:
      games: of `load_games`.
      names: of the nodes, URL-encoded, in their order.
      graph: they are played on.
      num_pairs: of each set at most so many, chosen uniformly; 0 for all.
      seed: of that choice.
    """
    node = {name: number for number, name in enumerate(names)}
    sets = []
    for split, played in ((FINISHED, games.finished), (GIVEN_UP, games.unfinished)):
        pairs = np.array(sorted({(node[game.start], node[game.target]) for game in played}))
        if 0 < num_pairs < len(pairs):
            rng = np.random.default_rng([seed, num_pairs])
            pairs = pairs[np.sort(rng.choice(len(pairs), num_pairs, replace=False))]
        place = {pair: number for number, pair in enumerate(map(tuple, pairs.tolist()))}

        def means(played: Iterable[Game], clicks: str, place: Mapping = place) -> np.ndarray:
            total, count = np.zeros(len(place)), np.zeros(len(place))
            for game in played:
                row = place.get((node[game.start], node[game.target]))
                if row is not None:
                    total[row] += getattr(game, clicks) if game.reached else np.inf
                    count[row] += 1
            return np.where(count > 0, total / np.maximum(count, 1), np.nan)

        start, target = pairs.T.astype(np.int32)
        shortest = shortest_distances(graph, start, target, cutoff=None)
        farthest = int(shortest.max(initial=1))
        sets.append(
            GameSet(
                split=split,
                episodes=Episodes(
                    Task(_ALL, 1, farthest), start, target, shortest, len(start), 0, 0
                ),
                way=means(played, "way_clicks"),
                clicks=means(played, "clicks"),
                # Its pairs are those of the finished games.
                model=means(games.model if split == FINISHED else (), "clicks"),
            )
        )
    return sets


def play_games(
    graph: LinkedTextGraph,
    features: NodeFeatures,
    methods: Sequence[Method],
    sets: Sequence[GameSet],
    *,
    mesh: Mesh,
    system: str,
    dataset: str,
    seed: int,
    budget: int = 100,
    slots: int = 128,
    capacity: int = 4_096,
) -> dict[str, Evaluation]:
    """Plays every set with every method; by split, with the rows of the opponents.

    Beside success, mean_steps and spl (see `evaluate`) there are, for every method, the shares of
    pairs on which it needed fewer, as many, or more clicks than an opponent that arrived:
    fewer_than_human, same_as_human and more_than_human (their way without what they took back), …
    _human_clicks (all their clicks) and …_gpt_4o_mini. Who does not arrive needs more. The ratio of
    all clicks to those of shortest paths, over the pairs that were won, is clicks_per_shortest.

    Args:
      graph: of articles.
      features: of its nodes, on the mesh.
      methods: distinct in (name, label).
      sets: from `game_sets`.
      mesh: episodes are spread over its devices.
      system: for the rows.
      dataset: for the rows.
      seed: of sampled moves.
      budget: most clicks of a game.
      slots: see `run_episodes`; few, so that the last, long games cost little.
      capacity: see `run_episodes`; articles have some thirty links.
    """
    links = to_device(graph, mesh)
    found: dict[str, Evaluation] = {}
    jobs = [(games, method) for games in sets for method in methods]
    with progress(jobs, desc="playing games", unit="method") as bar:
        for games, method in bar:
            bar.set_postfix_str(f"{method.name} {method.label} {games.split}")
            episodes = games.episodes
            walks = run_episodes(
                links,
                features,
                method.scorer,
                method.params,
                episodes.start,
                episodes.target,
                decoding=method.decoding,
                budget=budget,
                seed=seed,
                mesh=mesh,
                slots=slots,
                capacity=capacity,
            )
            evaluation = found.setdefault(games.split, Evaluation([], {_ALL: episodes}, {}))
            evaluation.walks[_ALL, method.name, method.label] = walks
            evaluation.rows.extend(
                _about(row, games.split, method.name, method.label)
                for row in _method_figures(games, walks)
            )
    for games in sets:
        for name, figure in _opponent_figures(games):
            found[games.split].rows.append(_about(figure, games.split, name, ""))
    for evaluation in found.values():
        for row in evaluation.rows:
            row.update(system=system, dataset=dataset, seed=seed)
    return found


def _about(figure: Mapping[str, Any], split: str, method: str, decoding: str) -> Row:
    """A row of a figure; one with a `distance` belongs to the figures by distance."""
    rest = {key: value for key, value in figure.items() if key != "distance"}
    distance = figure.get("distance")
    return {
        "split": split if distance is None else split + BY_DISTANCE,
        "task": _ALL if distance is None else f"{distance}-click",
        "method": method,
        "decoding": decoding,
        **rest,
    }


def _method_figures(games: GameSet, walks: Walks) -> list[dict[str, Any]]:
    """All figures of a method on a set."""
    clicks = np.where(walks.success, walks.steps, _MAX_CLICKS).astype(np.float64)
    found = [dict(figure) for figure in figures(games.episodes, walks)]
    found += _ratio(games, clicks)
    opponents = {"human": games.way, "human_clicks": games.clicks, MODEL: games.model}
    for name, theirs in opponents.items():
        found += _comparison(name, clicks, theirs)
    return found + _by_distance(games, clicks)


def _opponent_figures(games: GameSet) -> list[tuple[str, dict[str, Any]]]:
    """(method, figure) of people and the model.

    People have no success: whether they arrived is how the sets are made.
    """
    found: list[tuple[str, dict[str, Any]]] = []
    for name, clicks in ((PEOPLE, games.way), (MODEL, games.model)):
        clicks = np.where(np.isinf(clicks), _MAX_CLICKS, clicks)
        played = ~np.isnan(clicks)
        won = clicks < _MAX_CLICKS  # False for NaN
        if not won.any():
            continue
        rows: list[dict[str, Any]] = []
        if name != PEOPLE:
            rows.append(_share("success", won[played]))
            rows += _comparison("human", np.where(played, clicks, np.nan), games.way)
        shortest = games.episodes.shortest
        efficiency = np.where(won, shortest / np.where(won, clicks, 1), 0.0)[played]
        rows.append(_mean("mean_steps", clicks[won], 1))
        rows.append(_mean("spl", efficiency, 0, 1))
        rows += _ratio(games, clicks)
        of_distances = _by_distance(games, clicks)
        if name == PEOPLE:
            of_distances = [row for row in of_distances if row["metric"] != "success"]
        found += [(name, row) for row in rows + of_distances]
    return found


def _comparison(name: str, clicks: np.ndarray, theirs: np.ndarray) -> list[dict[str, Any]]:
    """Shares of the pairs that an opponent won on which `clicks` [P] are fewer, same and more."""
    both = np.isfinite(theirs) & ~np.isnan(clicks)
    if not both.any():
        return []
    clicks, theirs = clicks[both], theirs[both]
    return [
        _share(f"fewer_than_{name}", clicks < theirs),
        _share(f"same_as_{name}", clicks == theirs),
        _share(f"more_than_{name}", clicks > theirs),
    ]


def _ratio(games: GameSet, clicks: np.ndarray) -> list[dict[str, Any]]:
    won = clicks < _MAX_CLICKS
    if not won.any():
        return []
    value = float(clicks[won].sum() / games.episodes.shortest[won].sum())
    return [_figure("clicks_per_shortest", value, None, int(won.sum()))]


def _by_distance(games: GameSet, clicks: np.ndarray) -> list[dict[str, Any]]:
    """Success and mean clicks for every length of the shortest path."""
    found = []
    played = ~np.isnan(clicks)
    for distance in np.unique(games.episodes.shortest[played]).tolist():
        if distance < 1:  # no way leads there
            continue
        here = clicks[played & (games.episodes.shortest == distance)]
        won = here < _MAX_CLICKS
        rows = [_share("success", won)]
        if won.any():
            rows.append(_mean("mean_steps", here[won], 1))
        found += [{**row, "distance": distance} for row in rows]
    return found


def _share(metric: str, hits: np.ndarray) -> dict[str, Any]:
    interval = wilson_interval(int(hits.sum()), len(hits))
    return _figure(metric, float(hits.mean()), interval, len(hits))


def _mean(metric: str, values: np.ndarray, *bounds: float) -> dict[str, Any]:
    interval = normal_interval(values, *bounds)
    return _figure(metric, float(values.mean()), interval, len(values))


def _figure(
    metric: str, value: float, interval: tuple[float, float] | None, n: int
) -> dict[str, Any]:
    low, high = interval or (None, None)
    return {"metric": metric, "value": value, "low": low, "high": high, "n": n}
