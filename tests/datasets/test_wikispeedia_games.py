"""The graph that people play on and their games, on an invented corpus; and the real games."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.datasets.wikispeedia_archive import LINKS, TEXT_OF, write_folders
from wikinav_jax.datasets import wikispeedia_articles, wikispeedia_files
from wikinav_jax.datasets.wikispeedia_games import Game, read_games

NAMES = tuple(TEXT_OF)
FINISHED = (
    "Port_Oram;Vellia;Tin_%28metal%29",
    "Port_Oram;Sarnt;<;Vellia;Sarnt;<;<;Vellia;Tin_%28metal%29",
    "Sarnt;Vellia;Sarnt",  # ends where it began
    "Sarnt;<;<;Vellia",
    "Sarnt;Atlantis;Vellia",
    "Sarnt;Vellia",
)
MODEL = (
    "Port_Oram;Vellia;Tin_%28metal%29",
    "Port_Oram;Sarnt;Vellia;Sarnt;LOOP_DETECTED",
    "Sarnt;Vellia",
    "Sarnt;Vellia",
    "Sarnt;Vellia",
    "Sarnt;Grey_Sea;Vellia",
)


def write_games(
    folder: Path, finished: tuple[str, ...] = FINISHED, model: tuple[str, ...] | None = MODEL
) -> Path:
    """The three files in the published layout, beside `articles.tsv`."""
    rows = "".join(f"0\t1227628729\t15\t{path}\tNULL\n" for path in finished)
    (folder / "paths_finished.tsv").write_text(f"# A comment.\n\n{rows}", encoding="utf-8")
    (folder / "paths_unfinished.tsv").write_text(
        "# A comment.\n"
        "0\t1297054935\t1804\tSarnt;Grey_Sea;<\tPort_Oram\ttimeout\n"
        "0\t1297054935\t1804\tSarnt\tPort_Oran\trestart\n"
        "0\t1297054935\t1804\tSarnt;Vellia\trestart\n",
        encoding="utf-8",
    )
    if model is not None:
        rows = "".join(f"{number}\t0\t{path}\n" for number, path in enumerate(model))
        text = f"path_id\tsteps\tpath\n{rows}"
        (folder / "llm_paths_gpt4omini.tsv").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_games(write_folders(tmp_path / "data") / wikispeedia_files.GRAPH.folder)


def test_the_graph_offers_every_published_link(tmp_path: Path):
    data_dir = write_folders(tmp_path / "data")
    graph = wikispeedia_articles.load(data_dir, tmp_path / "cache", tmp_path / "graph")
    titles = [wikispeedia_files.title_of(name) for name in NAMES]
    assert graph.article_titles == titles
    sources = np.repeat(np.arange(graph.num_nodes), graph.out_degree)
    found = {
        (NAMES[source], NAMES[target])
        for source, target in zip(sources, graph.indices, strict=True)
    }
    assert found == set(LINKS)
    assert len(graph.indices) == len(LINKS)
    assert graph.meta["wikispeedia"]["public_release"] is False
    # The whole article is one node, tables included.
    vellia = graph.text(titles.index("Vellia"))
    assert vellia.startswith("Republic of Vellia")
    assert "Oram shell" in vellia
    assert "Tin mining began near Port Oram" in vellia
    assert "Retrieved from" not in vellia


def test_tables_can_be_left_out(tmp_path: Path):
    data_dir = write_folders(tmp_path / "data")
    graph = wikispeedia_articles.load(data_dir, tmp_path / "cache", None, tables=False)
    assert "Oram shell" not in graph.text(graph.find("Vellia"))


def test_clicks_on_back_are_counted_and_resolved(folder: Path):
    games = read_games(folder, NAMES)
    plain, winding, short = games.finished
    tin = "Tin_%28metal%29"
    assert plain == Game("Port_Oram", tin, ("Port_Oram", "Vellia", tin), 2, True)
    # Sarnt, back, Vellia, Sarnt, back, back, Vellia, tin: eight clicks, two links of way.
    assert winding == Game("Port_Oram", tin, ("Port_Oram", "Vellia", tin), 8, True)
    assert winding.way_clicks == 2
    assert short.way == ("Sarnt", "Vellia")
    (given_up,) = games.unfinished
    assert given_up == Game("Sarnt", "Port_Oram", ("Sarnt",), 2, False)


def test_the_model_plays_the_pairs_of_the_people(folder: Path):
    games = read_games(folder, NAMES)
    assert [(game.start, game.target, game.reached, game.clicks) for game in games.model] == [
        ("Port_Oram", "Tin_%28metal%29", True, 2),
        ("Port_Oram", "Tin_%28metal%29", False, 3),
        ("Sarnt", "Vellia", True, 2),
    ]


def test_bad_rows_are_named(folder: Path):
    assert read_games(folder, NAMES).rejected == (
        "paths_finished.tsv:5: the start 'Sarnt' is the target",
        "paths_finished.tsv:6: a click on 'back' at the start",
        "paths_finished.tsv:7: 'Atlantis' is not in articles.tsv",
        "paths_unfinished.tsv:3: 'Port_Oran' is not in articles.tsv",
        "paths_unfinished.tsv:4: 5 columns, expected 6 with a path in the 4th",
        *(
            f"llm_paths_gpt4omini.tsv:{line}: the row in the same place of paths_finished.tsv is "
            "left out, so it has no target"
            for line in (4, 5, 6)
        ),
    )


def test_a_model_that_says_it_is_there_must_be(folder: Path):
    write_games(folder, model=("Port_Oram;Vellia", "Port_Oram;Sarnt;LOOP_DETECTED"))
    games = read_games(folder, NAMES)
    assert [game.way for game in games.model] == [("Port_Oram", "Sarnt")]
    assert "it ends at 'Vellia', the target is 'Tin_%28metal%29'" in games.rejected[-1]


def test_games_of_another_release_are_refused(folder: Path):
    write_games(folder, model=("Sarnt;Vellia",))
    with pytest.raises(ValueError, match=r"gpt4omini\.tsv:2: the game starts at 'Sarnt', but"):
        read_games(folder, NAMES)


def test_files_without_games(folder: Path, tmp_path: Path):
    (folder / "llm_paths_gpt4omini.tsv").unlink()
    assert read_games(folder, NAMES).model == ()
    write_games(folder, finished=("Sarnt",), model=None)
    with pytest.raises(ValueError, match="holds no game"):
        read_games(folder, NAMES)
    with pytest.raises(FileNotFoundError, match="is missing"):
        read_games(tmp_path, NAMES)
    (folder / "paths_finished.tsv").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="not UTF-8"):
        read_games(folder, NAMES)


@pytest.mark.data
def test_the_published_games(real_data: Path, tmp_path: Path):
    folder = wikispeedia_files.folder_of(wikispeedia_files.GRAPH, real_data / "wiki", tmp_path)
    games = read_games(folder, wikispeedia_files.read_names(folder))
    # One game in 500 starts at its target or aims at no article.
    rows = len(games.finished) + len(games.unfinished) + len(games.model)
    assert rows > 50_000
    assert len(games.rejected) < rows / 500
    assert all(game.way_clicks <= game.clicks for game in games.finished)
