"""The policy against recorded games: pairs, comparisons by hand, and a run from the config."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.test_wikispeedia_games import write_games
from tests.datasets.wikispeedia_archive import TEXT_OF, write_folders
from tests.navigation.toy import liking_scorer, mesh_of, plain_features
from tests.toy import graph_from_edges
from wikinav_jax.datasets.wikispeedia_files import GRAPH
from wikinav_jax.datasets.wikispeedia_games import Game, Games
from wikinav_jax.navigation import run as room
from wikinav_jax.navigation.config import check_config
from wikinav_jax.navigation.evaluate import Method
from wikinav_jax.navigation.games import GameSet, game_sets, load_games, play_games
from wikinav_jax.reports.results import parse_row, read_results

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "wikispeedia_games.py"
NAMES = ["a", "b", "c", "d", "e"]
# a -> b -> c -> d, with a shortcut a -> c; d leads back to a; nothing leads to e.
GRAPH_OF_LETTERS = graph_from_edges([(0, 1), (1, 2), (2, 3), (0, 2), (3, 0), (4, 0)], 5)


def game(way: str, target: str = "", clicks: int = 0) -> Game:
    target = target or way[-1]
    return Game(way[0], target, tuple(way), clicks or len(way) - 1, way[-1] == target)


FINISHED = (game("abcd"), game("acd", clicks=6), game("da", clicks=3), game("abc"))
GAMES = Games(
    finished=FINISHED,
    unfinished=(game("ab", "d"), game("a", "e"), game("abc", "d")),
    model=(game("acd"), game("dab", "c"), game("ab", "c")),
    rejected=(),
)


@pytest.fixture(scope="module")
def sets() -> list[GameSet]:
    return game_sets(GAMES, NAMES, GRAPH_OF_LETTERS)


def test_pairs_are_distinct_and_clicks_are_means(sets):
    finished, given_up = sets
    episodes = finished.episodes
    pairs = [*zip(episodes.start.tolist(), episodes.target.tolist(), strict=True)]
    assert pairs == [(0, 2), (0, 3), (3, 0)]
    assert episodes.shortest.tolist() == [1, 2, 1]
    assert finished.way.tolist() == [2, 2.5, 1]
    assert finished.clicks.tolist() == [2, 4.5, 3]
    assert finished.model.tolist()[:2] == [math.inf, 2]
    assert math.isnan(finished.model[2])
    assert given_up.episodes.shortest.tolist() == [2, -1]
    assert np.isinf(given_up.way).all()
    assert np.isnan(given_up.model).all()


def test_a_choice_of_pairs_is_the_same_every_time():
    some, again = (
        game_sets(GAMES, NAMES, GRAPH_OF_LETTERS, num_pairs=2, seed=4)[0] for _ in range(2)
    )
    assert len(some.episodes) == 2
    assert some.episodes.start.tolist() == again.episodes.start.tolist()
    assert some.way.tolist() == again.way.tolist()


@pytest.fixture(scope="module")
def rows(sets) -> dict[tuple[str, str, str, str], tuple[float, int]]:
    """(split, task, method, metric) -> value, n; for a walker that never takes the shortcut."""
    mesh = mesh_of(1)
    likes_b = Method("ours", "argmax", liking_scorer, np.array([0, 2, 1, 0, 0], np.float32))
    played = play_games(
        GRAPH_OF_LETTERS,
        plain_features(GRAPH_OF_LETTERS, mesh),
        [likes_b],
        sets,
        mesh=mesh,
        system="toy",
        dataset="letters",
        seed=3,
        budget=9,
        slots=4,
        capacity=16,
    )
    found = [row for evaluation in played.values() for row in evaluation.rows]
    for row in found:
        parse_row(row)
        assert (row["system"], row["dataset"], row["seed"]) == ("toy", "letters", 3)
    return {
        (row["split"], row["task"], row["method"], row["metric"]): (row["value"], row["n"])
        for row in found
    }


def test_who_needs_fewer_clicks(rows):
    # The walker takes 2 clicks from a to c, 3 from a to d and 1 from d to a.
    def ours(metric):
        return rows["finished_games", "all_pairs", "ours", metric]

    assert ours("success") == (1, 3)
    assert ours("mean_steps") == (2, 3)
    assert ours("clicks_per_shortest") == (1.5, 3)
    assert ours("fewer_than_human") == (0, 3)
    assert ours("same_as_human") == (pytest.approx(2 / 3), 3)
    assert ours("more_than_human") == (pytest.approx(1 / 3), 3)
    assert ours("fewer_than_human_clicks") == (pytest.approx(2 / 3), 3)
    # The model arrived on one of the pairs, in 2 clicks.
    assert ours("more_than_gpt_4o_mini") == (1, 1)


def test_who_gave_up(rows):
    assert rows["given_up_games", "all_pairs", "ours", "success"] == (0.5, 2)
    # No row tells of the others there: that they failed is how the pairs were chosen.
    assert {method for split, _, method, _ in rows if split.startswith("given_up")} == {"ours"}


def test_figures_by_distance(rows):
    split = "finished_games_by_distance"
    assert rows[split, "1-click", "ours", "mean_steps"] == (1.5, 2)
    assert rows[split, "2-click", "ours", "mean_steps"] == (3, 1)
    assert rows[split, "1-click", "human", "mean_steps"] == (1.5, 2)
    assert rows[split, "2-click", "gpt_4o_mini", "success"] == (1, 1)
    assert rows[split, "1-click", "gpt_4o_mini", "success"] == (0, 1)


def test_what_the_others_did(rows):
    def of(method):
        return {
            metric: value
            for (split, task, name, metric), value in rows.items()
            if (split, task, name) == ("finished_games", "all_pairs", method)
        }

    assert of("human") == {
        "mean_steps": (pytest.approx(5.5 / 3), 3),
        "spl": (pytest.approx((1 / 2 + 2 / 2.5 + 1) / 3), 3),
        "clicks_per_shortest": (pytest.approx(5.5 / 4), 3),
    }
    model = of("gpt_4o_mini")
    assert model["success"] == (0.5, 2)
    assert model["fewer_than_human"] == (0.5, 2)
    assert model["more_than_human"] == (0.5, 2)


def test_games_need_the_graph_of_articles(tmp_path: Path):
    data_dir = write_folders(tmp_path / "data")
    write_games(data_dir / GRAPH.folder)
    with pytest.raises(ValueError, match=r"dataset\.name='wikispeedia_articles'"):
        load_games(data_dir, tmp_path, GRAPH_OF_LETTERS)


def test_each_variant_takes_one_thing_more_away():
    get_config = runpy.run_path(str(CONFIG))["get_config"]
    best, text, ahead = (get_config(name) for name in ("best", "text", "ahead_only"))
    for config in (best, text, ahead):
        check_config(config)
    assert (best.features.sources, text.features.sources) == (("lsa", "random"), ("lsa",))
    assert (text.features.inward_hops, ahead.features.inward_hops) == (1, 0)
    text.features.inward_hops = 0
    assert text.features == ahead.features
    with pytest.raises(ValueError, match="'hard' is not one of best, text, ahead_only"):
        get_config("hard")


def test_a_run_from_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(room, "enable_compilation_cache", lambda folder: None)
    data_dir = write_folders(tmp_path / "data")
    write_games(data_dir / GRAPH.folder)
    config = runpy.run_path(str(CONFIG))["get_config"]()
    config.update_from_flattened_dict(
        {
            "data_dir": str(data_dir),
            "cache_dir": str(tmp_path / "cache"),
            "split.fractions": (0.7, 0.3),
            "features.lsa_dim": 3,
            "features.random_dim": 4,
            "features.hops": 1,
            "walks.skip_forced": False,
            "train.num_steps": 2,
            "train.warmup_steps": 1,
            "train.decisions_per_shard": 4,
            "train.log_every": 1,
            "train.evaluate_episodes": 2,
            "evaluate.baselines": False,
            "evaluate.budget": 8,
        }
    )
    workdir = tmp_path / "run"
    room.run(config, workdir, "train")
    found = read_results(workdir / "results.json")
    assert {row.method for row in found} == {"rfbc_articles", "human", "gpt_4o_mini"}
    assert {row.n for row in found if row.split == "given_up_games"} >= {1}
    assert len((workdir / "games_left_out.txt").read_text().splitlines()) == 8
    assert len(TEXT_OF) == 8
    page = (workdir / "report.html").read_text(encoding="utf-8")
    assert "GPT-4o-mini" in page
