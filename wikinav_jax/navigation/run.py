"""The navigation room's entry: build, train, evaluate and explain."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from ml_collections import ConfigDict

from wikinav_jax.common.config import ConfigError, cache_folder
from wikinav_jax.common.files import write_json
from wikinav_jax.navigation.config import check_config, dataset_of
from wikinav_jax.navigation.data import NavigationData, prepare
from wikinav_jax.navigation.decoding import DECODINGS
from wikinav_jax.navigation.evaluate import Evaluation, Method, baselines_for, evaluate
from wikinav_jax.navigation.explain import can_be_told, example_walks, explain_walk
from wikinav_jax.navigation.games import game_sets, load_games, play_games
from wikinav_jax.navigation.navigator import Navigator, Walkable
from wikinav_jax.navigation.tasks import task_names
from wikinav_jax.navigation.text_model import graph_tokens
from wikinav_jax.navigation.train import Facts, train
from wikinav_jax.reports.page import write_report, write_walks_page
from wikinav_jax.reports.results import known_facts, merge_results
from wikinav_jax.reports.tables import results_table
from wikinav_jax.reports.terminal import format_walk
from wikinav_jax.training.compilation import enable_compilation_cache

MODES = ("build", "train", "evaluate", "explain")


def run(config: ConfigDict, workdir: Path, mode: str) -> None:
    """Does what `mode` says: "build", "train" (and evaluate), "evaluate" or "explain".

    Raises ConfigError, FileNotFoundError and ValueError with what to change.
    """
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} is no mode of navigation; choose {', '.join(MODES)}")
    check_config(config)
    if mode == "explain" and not (config.explain.start and config.explain.target):
        raise ConfigError(
            "explain needs two places: --config.explain.start=TITLE --config.explain.target=TITLE "
            "(or numbers of blocks)"
        )
    enable_compilation_cache(cache_folder(config) / "compiled")
    begin = time.monotonic()
    data = prepare(config, verify=mode == "build")
    if mode == "build":
        if config.encoder.enabled:  # or every process of a later run would wait for the first
            for name in ("train", "eval"):
                graph_tokens(config.encoder, cache_folder(config), data.part(name).graph)
        _print_built(data)
        return
    navigator = Navigator(config, workdir, data)
    if mode == "explain":
        explain_run(navigator)
        return
    facts = _data_facts(data)
    if mode == "train":
        prepared = time.monotonic() - begin
        facts |= {**train(navigator), "Preparation (s)": round(prepared, 1)}
    evaluate_run(navigator, facts)


def evaluate_run(navigator: Navigator, facts: Facts) -> None:
    """Plays every task with every method; writes results.json, walks.json and report.html."""
    config = navigator.config.evaluate
    state = navigator.restore()
    learned = [navigator.method(state, decoding) for decoding in config.decodings]
    begin = time.monotonic()
    rows: list[dict[str, Any]] = []
    walks: list[dict[str, Any]] = []
    for split in config.splits:
        place = navigator.walkable(split, state)
        others = baselines_for(place.features) if config.baselines else ()
        evaluation = evaluate(
            place.part.graph,
            place.features,
            [*learned, *others],
            mesh=navigator.mesh,
            system=navigator.config.name,
            dataset=dataset_of(navigator.config, split),
            split=split,
            seed=navigator.config.seed,
            tasks=task_names(config.tasks, config.sampling),
            num_episodes=config.num_episodes,
            budget=config.budget,
            sentences=place.part.sentences,
        )
        rows += evaluation.rows
        walks += _examples(navigator, place, learned, evaluation)
    if navigator.config.games.enabled:
        played = _play_games(navigator, learned)
        rows += [row for evaluation in played for row in evaluation.rows]
        for evaluation in played:
            walks += _examples(navigator, navigator.walkable("all"), learned, evaluation)
    if not navigator.is_first:
        return
    # In the order that the page shows them; evaluating again keeps the facts of training.
    facts = {**facts, **known_facts(navigator.workdir), **facts}
    facts["Evaluation (s)"] = round(time.monotonic() - begin, 1)
    merged = merge_results(navigator.workdir / "results.json", rows)
    write_json(navigator.workdir / "walks.json", {"walks": walks})
    write_json(navigator.workdir / "facts.json", facts)
    page = write_report(navigator.workdir)
    for metric in ("success", "spl"):
        table = results_table(merged, metric=metric, style="terminal", color=sys.stdout.isatty())
        print(table, end="\n\n")
    print(f"Report: {page}")


def _play_games(navigator: Navigator, learned: list[Method]) -> list[Evaluation]:
    """The pairs that people played, on the graph of all articles."""
    config, place = navigator.config, navigator.walkable("all")
    folder = Path(config.data_dir).expanduser() if config.data_dir else None
    games, names = load_games(folder, cache_folder(config), place.part.graph)
    if navigator.is_first and games.rejected:
        listed = "".join(f"{complaint}\n" for complaint in games.rejected)
        (navigator.workdir / "games_left_out.txt").write_text(listed, encoding="utf-8")
    # The strongest ones; the others would wander for most of the time that this takes.
    others = [method for method in baselines_for(place.features) if method.decoding == "no_revisit"]
    played = play_games(
        place.part.graph,
        place.features,
        [
            *(method for method in learned if method.decoding in DECODINGS),
            *(others if config.evaluate.baselines else ()),
        ],
        game_sets(
            games, names, place.part.graph, num_pairs=config.games.num_pairs, seed=config.seed
        ),
        mesh=navigator.mesh,
        system=config.name,
        dataset=config.dataset.name,
        seed=config.seed,
        budget=config.evaluate.budget,
    )
    return list(played.values())


def explain_run(navigator: Navigator) -> None:
    """Prints one walk with the alternatives it weighed, and writes it as a page."""
    config = navigator.config.explain
    state = navigator.restore()
    place = navigator.walkable(config.graph, state)
    start, target = (place.part.graph.find(name) for name in (config.start, config.target))
    walk = explain_walk(
        place.part.graph,
        place.features,
        navigator.method(state, config.decoding),
        start,
        target,
        mesh=navigator.mesh,
        budget=navigator.config.evaluate.budget,
        seed=navigator.config.seed,
    )
    if not navigator.is_first:
        return
    color = sys.stdout.isatty()
    print(format_walk(walk, width=min(shutil.get_terminal_size().columns, 120), color=color))
    title = f"{walk['start']['title']} → {walk['target']['title']}"
    write_json(navigator.workdir / "explain.json", {"walks": [walk]})
    page = write_walks_page([walk], navigator.workdir / "explain.html", title)
    print(f"Page: {page}")


def _examples(
    navigator: Navigator, place: Walkable, learned: list[Method], evaluation: Evaluation
) -> list[dict[str, Any]]:
    """Walks to read: the last walk among the decodings, on the task that mixes all distances."""
    config = navigator.config.evaluate
    told = [method for method in learned if can_be_told(method)]
    if not config.example_walks or not told:
        return []
    return example_walks(
        place.part.graph,
        place.features,
        told[-1],
        evaluation,
        "multistep" if "multistep" in evaluation.episodes else next(iter(evaluation.episodes)),
        budget=config.budget,
        num_successes=config.example_walks,
        num_failures=config.example_walks,
        seed=navigator.config.seed,
    )


def _data_facts(data: NavigationData) -> Facts:
    if data.two_graphs:
        parts = {"Training graph": data.train, "Evaluation graph": data.eval}
    else:
        parts = {"Graph": data.all, "Training half": data.train, "Evaluation half": data.eval}
    meta = [data.all.graph.meta, *([data.eval.graph.meta] if data.two_graphs else [])]
    return {
        **{
            name: f"{part.graph.num_articles:,} articles, {part.graph.num_nodes:,} blocks, "
            f"{part.graph.num_edges:,} links"
            for name, part in parts.items()
        },
        **{
            name: "; ".join(dict.fromkeys(str(each.get(name.lower(), "")) for each in meta))
            for name in ("Source", "Licence")
        },
    }


def _print_built(data: NavigationData) -> None:
    for name in ("train", "eval") if data.two_graphs else ("all", "train", "eval"):
        graph = data.part(name).graph
        degree = np.diff(graph.indptr)
        print(
            f"{name:>5}: {graph.num_articles:,} articles, {graph.num_nodes:,} blocks, "
            f"{graph.num_edges:,} links, {degree.mean():.1f} a block (at most {degree.max():,})"
        )
    graph = data.all.graph
    print(f"Graph: {graph.path}")
    for name, value in dict(graph.meta.get("statistics", {})).items():
        print(f"  {name}: {value}")
