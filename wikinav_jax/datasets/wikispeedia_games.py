"""Wikispeedia's games: how people, and a language model, clicked from article to article.

`paths_finished.tsv` holds games that reached their target, `paths_unfinished.tsv` those that were
given up. A path is a list of article names parted by ";"; "<" is a click on "back". Where the
public files lie in a folder with `llm_paths_gpt4omini.tsv` beside them, that one holds games of
GPT-4o-mini on the pairs of `paths_finished.tsv`, line by line; its last item is the target,
LOOP_DETECTED or WRONG_ANSWER.

A row that makes no game is left out, and `rejected` says where it stands and why.

Cite West and Leskovec (WWW 2012) and West, Pineau and Precup (IJCAI 2009).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from wikinav_jax.datasets.wikispeedia_files import PAGE

FINISHED = "paths_finished.tsv"
UNFINISHED = "paths_unfinished.tsv"
MODEL = "llm_paths_gpt4omini.tsv"
BACK = "<"
_FAILURES = ("LOOP_DETECTED", "WRONG_ANSWER")
_MODEL_HEADER = ["path_id", "steps", "path"]


@dataclass(frozen=True, slots=True)
class Game:
    """One game. Names are URL-encoded, as in `articles.tsv`.

    `way` holds the articles from the start to where the game ended, without those that were left
    by "back"; `clicks` counts every click, also on "back".
    """

    start: str
    target: str
    way: tuple[str, ...]
    clicks: int
    reached: bool

    @property
    def way_clicks(self) -> int:
        """Links of `way`: the clicks less those that were taken back, and the taking back."""
        return len(self.way) - 1


@dataclass(frozen=True)
class Games:
    """All games of a folder."""

    finished: tuple[Game, ...]
    unfinished: tuple[Game, ...]
    model: tuple[Game, ...]  # empty where the folder has none
    rejected: tuple[str, ...]  # "file:line: why", one a row that was left out


class _BadRowError(Exception):
    """Why a row is left out."""


def read_games(folder: Path, names: Collection[str]) -> Games:
    """Reads the games that lie beside `articles.tsv`.

    Args:
      folder: with the files named above.
      names: all articles, URL-encoded, as `wikispeedia_files.read_names` gives them.

    Raises:
      FileNotFoundError: there is no paths_finished.tsv or paths_unfinished.tsv.
      ValueError: a file is not UTF-8 or holds no game, or the model's games do not start where
        those of paths_finished.tsv start, line by line.
    """
    known = frozenset(names)
    rejected: list[str] = []
    finished = _read(folder / FINISHED, lambda row: _finished(row, known), rejected)
    unfinished = _read(folder / UNFINISHED, lambda row: _unfinished(row, known), rejected)
    model: dict[int, Game] = {}
    if (folder / MODEL).is_file():
        starts = _starts(folder)
        rows = iter(range(len(starts)))

        def of_model(row: list[str]) -> Game:
            place = next(rows, None)
            start, line = starts[place] if place is not None else ("", 0)
            return _model(row, known, start, finished.get(line))

        model = _read(folder / MODEL, of_model, rejected)
    return Games(
        tuple(finished.values()),
        tuple(unfinished.values()),
        tuple(model.values()),
        tuple(rejected),
    )


def _read(path: Path, parse: Callable[[list[str]], Game], rejected: list[str]) -> dict[int, Game]:
    """The games of a file by their line; what is wrong with the other rows goes to `rejected`."""
    games: dict[int, Game] = {}
    for line, row in _rows(path):
        try:
            games[line] = parse(row)
        except _BadRowError as error:
            rejected.append(f"{path.name}:{line}: {error}")
        except ValueError as error:
            raise ValueError(f"{path}:{line}: {error}") from error
    if not games:
        raise ValueError(f"{path} holds no game; get it again from {PAGE}")
    return games


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and columns, without comments (#), blank lines and the model's header."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path} is missing; it is in the archive of {PAGE}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error}); get it again from {PAGE}") from error
    for number, text in enumerate(lines, start=1):
        row = text.split("\t")
        if text.strip() and not text.startswith("#") and row != _MODEL_HEADER:
            yield number, row


def _starts(folder: Path) -> list[tuple[str, int]]:
    """Start and line of every row of FINISHED, also of those that make no game."""
    return [
        (row[3].split(";")[0] if len(row) > 3 else "", line)
        for line, row in _rows(folder / FINISHED)
    ]


def _finished(row: list[str], known: Collection[str]) -> Game:
    way, clicks = _walked(_items(row, columns=5, column=3), known)
    return _game(way[0], way[-1], way, clicks, reached=True)


def _unfinished(row: list[str], known: Collection[str]) -> Game:
    way, clicks = _walked(_items(row, columns=6, column=3), known)
    return _game(way[0], _article(row[4], known), way, clicks, reached=False)


def _model(row: list[str], known: Collection[str], start: str, person: Game | None) -> Game:
    """The model's game on the pair of `person`, whose row in FINISHED begins with `start`."""
    items = _items(row, columns=3, column=2)
    if items[0] != start:
        raise ValueError(
            f"the game starts at {items[0]!r}, but that in the same place of {FINISHED} at "
            f"{start!r}; take both files from one release"
        )
    if person is None:
        raise _BadRowError(
            f"the row in the same place of {FINISHED} is left out, so it has no target"
        )
    failed = items[-1] in _FAILURES
    way, clicks = _walked(items[:-1] if failed else items, known)
    if not failed and way[-1] != person.target:
        raise _BadRowError(f"it ends at {way[-1]!r}, the target is {person.target!r}")
    return _game(person.start, person.target, way, clicks, reached=not failed)


def _items(row: list[str], *, columns: int, column: int) -> list[str]:
    if len(row) != columns or not row[column]:
        raise _BadRowError(
            f"{len(row)} columns, expected {columns} with a path in the {column + 1}th"
        )
    return row[column].split(";")


def _article(name: str, known: Collection[str]) -> str:
    if name not in known:
        raise _BadRowError(f"{name!r} is not in articles.tsv")
    return name


def _walked(items: list[str], known: Collection[str]) -> tuple[tuple[str, ...], int]:
    """The way without what was taken back, and the number of clicks."""
    way: list[str] = []
    for item in items:
        if item != BACK:
            way.append(_article(item, known))
        elif len(way) > 1:
            way.pop()
        else:
            raise _BadRowError("a click on 'back' at the start")
    return tuple(way), len(items) - 1


def _game(start: str, target: str, way: tuple[str, ...], clicks: int, *, reached: bool) -> Game:
    if start == target:
        raise _BadRowError(f"the start {start!r} is the target")
    return Game(start, target, way, clicks, reached)
