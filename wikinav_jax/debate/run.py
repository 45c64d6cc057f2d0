"""The debate room's entry: build, train, evaluate, explain and quiz."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging
from ml_collections import ConfigDict

from wikinav_jax.common.config import ConfigError, cache_folder
from wikinav_jax.common.files import read_json, write_json
from wikinav_jax.datasets.knowledge_graphs import load_knowledge_graph
from wikinav_jax.debate.classification import Scored, details
from wikinav_jax.debate.complete import completion_rows
from wikinav_jax.debate.config import apply_compat, check_config
from wikinav_jax.debate.data import Labelled, labelled_split, training_facts
from wikinav_jax.debate.evaluate import Debated, debate_claims, mean_probability
from wikinav_jax.debate.explain import explain_claim, find_triple
from wikinav_jax.debate.hiding import AUTO, choose_rule
from wikinav_jax.debate.others import frozen_tables, lack_for_stack, scored_by_embedding, stack
from wikinav_jax.debate.priors import TrainCountPrior
from wikinav_jax.debate.quiz import debate_for_quiz
from wikinav_jax.debate.room import Room
from wikinav_jax.debate.train import Facts, train
from wikinav_jax.debate.transcript import transcribe
from wikinav_jax.graph.triples import KnowledgeGraph
from wikinav_jax.reports.debate_view import format_debate
from wikinav_jax.reports.page import write_debates_page, write_quiz_page, write_report
from wikinav_jax.reports.results import known_facts, merge_results
from wikinav_jax.reports.tables import results_table
from wikinav_jax.training.compilation import enable_compilation_cache
from wikinav_jax.training.distributed import first_process_first
from wikinav_jax.training.state import TrainState

MODES = ("build", "train", "evaluate", "explain", "quiz")


def run(config: ConfigDict, workdir: Path, mode: str) -> None:
    """Does what `mode` says: "build", "train" (and evaluate), "evaluate", "explain" or "quiz".

    Raises ConfigError, FileNotFoundError and ValueError with what to change.
    """
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} is no mode of debates; choose {', '.join(MODES)}")
    check_config(config)
    config = apply_compat(config)
    if mode == "explain" and not config.explain.triple:
        raise ConfigError(
            "explain needs a claim: --config.explain.triple='SUBJECT|RELATION|OBJECT' (names or "
            "ids)"
        )
    enable_compilation_cache(cache_folder(config) / "compiled")
    kg = first_process_first(lambda: _load(config))
    if mode == "build":
        _print_built(kg)
        return
    if config.debate.hide == AUTO:
        rule, why = choose_rule(kg)
        logging.info("%s: edges are hidden by the rule %r: %s", kg.name, rule, why)
        config = ConfigDict(config.to_dict())
        config.debate.hide = rule
    training_facts(kg, config.train.relations)  # wrong names are refused before tables are trained
    triple = find_triple(kg, config.explain.triple) if mode == "explain" else None
    tables = None
    if config.tables != "learned":
        tables = frozen_tables(kg, config)
    room = Room(config, workdir, kg, tables)
    if triple is not None:
        explain_run(room, triple)
        return
    if mode == "quiz":
        quiz_run(room)
        return
    facts = _graph_facts(kg)
    if mode == "train":
        facts |= train(room)
    evaluate_run(room, facts)


def _load(config: ConfigDict) -> KnowledgeGraph:
    return load_knowledge_graph(
        config.dataset.name,
        data_dir=Path(config.data_dir).expanduser() if config.data_dir else None,
        cache_dir=cache_folder(config),
        options=config.dataset.options.to_dict(),
    )


def evaluate_run(room: Room, facts: Facts) -> None:
    """Debates every labelled claim; writes results.json, debates.json and report.html."""
    config = room.config
    state = room.restore()
    begin = time.monotonic()
    valid, test = (
        labelled_split(room.kg, split, seed=config.seed, limit=config.evaluate.max_queries)
        for split in ("valid", "test")
    )
    scored = score_all(room, state, valid, test)
    ours = scored[0]
    rows = [row for item in scored for row in item.rows(dataset=room.kg.name, seed=config.seed)]
    if config.completion.enabled:
        rows += completion_rows(room, state.params)
    debates = _examples(room, state, test, ours)
    if not room.is_first:
        return
    facts = {**facts, **known_facts(room.workdir), **facts}
    facts["Labelled test triples"] = labelled_words(test)
    facts["Evaluation (s)"] = round(time.monotonic() - begin, 1)
    merged = merge_results(room.workdir / "results.json", rows)
    write_json(room.workdir / "debates.json", {"debates": debates})
    write_json(room.workdir / "classification.json", details(room.kg, ours))
    write_json(room.workdir / "facts.json", facts)
    page = write_report(room.workdir)
    for metric in ("accuracy", "roc_auc", "mrr"):
        if any(row.metric == metric for row in merged):
            color = sys.stdout.isatty()
            print(results_table(merged, metric=metric, style="terminal", color=color), end="\n\n")
    print(f"Report: {page}")


def labelled_words(test: Labelled) -> str:
    """How many there are, how many are true, and where the others come from; warns of few."""
    count, true = len(test.triples), int((test.labels > 0.5).sum())
    if min(true, count - true) < 0.1 * count:
        logging.warning(
            "%s of %s labelled test triples are true: an accuracy near %.0f %% is what saying "
            "always the same would get; look at ROC AUC",
            f"{true:,}",
            f"{count:,}",
            100 * max(true, count - true) / count,
        )
    source = "as published" if test.published else "drawn here"
    return f"{count:,}, {true:,} of them true; negatives {source}"


def score_all(room: Room, state: TrainState, valid: Labelled, test: Labelled) -> list[Scored]:
    """The debate first, then what it is compared with."""
    config = room.config
    params = state.params

    def debated(hearing: str) -> tuple[Debated, Debated]:
        # Left alone, a judge says the same each time.
        rollouts = 1 if hearing == "alone" else config.evaluate.rollouts
        first, second = (
            debate_claims(room, params, part.triples, rollouts=rollouts, hearing=hearing)
            for part in (valid, test)
        )
        return first, second

    def scored(
        method: str, on_valid: np.ndarray, on_test: np.ndarray, *, probability: bool = True
    ) -> Scored:
        return Scored(method, on_valid, on_test, (valid, test), probability)

    on_valid, on_test = debated("agents")
    found = [scored(config.name, on_valid.probability, on_test.probability)]
    if config.evaluate.baselines:
        for name, silenced in (("pro_alone", "pro_logit"), ("con_alone", "con_logit")):
            parts = [
                mean_probability(getattr(part.verdicts, silenced)) for part in (on_valid, on_test)
            ]
            found.append(scored(f"{config.name}_{name}", *parts))
        for method, hearing in (("judge_walks", "walks"), ("judge_alone", "alone")):
            found.append(scored(method, *(part.probability for part in debated(hearing))))
        prior = TrainCountPrior(room.kg)
        parts = [prior(part.triples) for part in (valid, test)]
        found.append(scored("prior", *parts, probability=False))
    for model in config.evaluate.embeddings:
        found += scored_by_embedding(room.kg, config, model, valid, test)
    lack = lack_for_stack(valid)
    if config.evaluate.stack and lack:
        logging.warning("%s", lack)
    elif config.evaluate.stack:
        # What the others reach without a debate tells what the debate adds.
        others = [item for item in found if not item.method.startswith(config.name)]
        together = stack(f"{config.name}_stacked", room.kg, found, seed=config.seed)
        if others:
            found.append(stack("prior_and_others_stacked", room.kg, others, seed=config.seed))
        found.append(together)
    return found


def _examples(room: Room, state: TrainState, test: Labelled, ours: Scored) -> list[dict[str, Any]]:
    """Debates to read: test claims drawn by the seed, half of them true."""
    count = room.config.evaluate.example_debates
    if not count:
        return []
    rng = np.random.default_rng([room.config.seed, 1])
    order = rng.permutation(len(test.triples))
    by_label = [order[test.labels[order] == label][: (count + 1) // 2] for label in (1, 0)]
    rows = np.concatenate(by_label)[:count]
    rows = rows[rng.permutation(len(rows))]
    debated = debate_claims(
        room,
        state.params,
        test.triples[rows],
        rollouts=room.config.evaluate.rollouts,
        keep_arguments=True,
        progress_bar=False,
    )
    return transcribe(
        room.kg,
        test.triples[rows],
        debated,
        threshold=float(np.clip(ours.threshold, 0, 1)),
        labels=test.labels[rows],
    )


def explain_run(room: Room, triple: np.ndarray) -> None:
    """Prints the debate about one claim, and writes it as JSON and as a page."""
    state = room.restore()
    entry = explain_claim(
        room,
        state.params,
        triple,
        threshold=_threshold(room),
        rollouts=room.config.evaluate.rollouts,
    )
    if not room.is_first:
        return
    color = sys.stdout.isatty()
    print(format_debate(entry, min(shutil.get_terminal_size().columns, 120), color))
    title = " — ".join(entry[part]["name"] for part in ("subject", "relation", "object"))
    write_json(room.workdir / "explain.json", {"debates": [entry]})
    page = write_debates_page([entry], room.workdir / "explain.html", title)
    print(f"Page: {page}")


def quiz_run(room: Room) -> None:
    """Writes a page in which the reader is the judge."""
    state = room.restore()
    config = room.config
    test = labelled_split(room.kg, "test", seed=config.seed)
    debates = debate_for_quiz(room, state.params, test, threshold=_threshold(room))
    if not room.is_first:
        return
    write_json(room.workdir / "quiz.json", {"debates": debates})
    page = write_quiz_page(
        debates,
        room.workdir / "quiz.html",
        f"Judge {len(debates)} claims of {room.kg.name}",
        seed=config.seed,
        arguments=config.quiz.arguments,
    )
    print(f"Page: {page}")


def _threshold(room: Room) -> float:
    """The threshold that evaluation found; one half before any."""
    path = room.workdir / "classification.json"
    found = read_json(path)["threshold"] if path.exists() else 0.5
    return float(np.clip(found, 0, 1))


def _graph_facts(kg: KnowledgeGraph) -> Facts:
    return {
        "Graph": f"{kg.num_entities:,} entities, {kg.num_relations:,} relations",
        "Facts": f"{len(kg.train):,} train, {len(kg.valid):,} valid, {len(kg.test):,} test",
        **({"Notes": "; ".join(kg.notes)} if kg.notes else {}),
    }


def _print_built(kg: KnowledgeGraph) -> None:
    degree = np.diff(kg.indptr)
    print(kg)
    print(f"edges of an entity: {degree.mean():.1f} on average, at most {degree.max():,}")
    for split in ("valid", "test"):
        found = kg.labelled(split)
        if found is None:
            print(f"{split}: no labelled triples; negatives are drawn here")
        else:
            print(f"{split}: {len(found[1]):,} labelled triples, {int(found[1].sum()):,} true")
    for note in kg.notes:
        print(f"note: {note}")
