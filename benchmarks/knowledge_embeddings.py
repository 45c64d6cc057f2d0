"""Embedding models and the count prior on a knowledge graph, beside published figures.

    python -m benchmarks.knowledge_embeddings --dataset=fb15k237 --data_dir=DIR \
        --models=prior,transe,distmult,complex --seeds=0

Trains every model and seed in a folder of its own under --workdir (finished runs are only read,
unfinished ones resume), ranks the test triples among all entities, tells the labelled triples
apart (MODEL by the log-probability of the object, MODEL_score by the mean score of both
directions), and completes the relations of the R2D2 paper. Writes results.json (rows), details.json
(per relation, reliability, seconds) and table.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wikinav_jax.common.allocator import keep_freed_memory
from wikinav_jax.common.files import atomic_file, write_json
from wikinav_jax.datasets.knowledge_graphs import LOADERS, load_knowledge_graph
from wikinav_jax.debate.completion import paper_tasks
from wikinav_jax.debate.embeddings import (
    EmbeddingConfig,
    log_probabilities,
    preset,
    score_with,
    train_embedding,
)
from wikinav_jax.debate.embeddings_models import MODELS
from wikinav_jax.debate.embeddings_ranking import filtered_ranks
from wikinav_jax.debate.priors import TrainCountPrior
from wikinav_jax.debate.scores import (
    classification_rows,
    classify_by_relation,
    fit_platt,
    fit_thresholds,
    ranking_rows,
    reliability,
)
from wikinav_jax.graph.triples import KnowledgeGraph
from wikinav_jax.reports.results import Row, merge_results

Score = Callable[[np.ndarray], np.ndarray]  # triples int32 [n, 3] -> float [n]

LIBKGE = "LibKGE, tuned"  # README of uma-pi1/kge, with reciprocal relations
CODEX = "Safavi & Koutra 2020"
PUBLISHED: dict[tuple[str, str, str], tuple[float, str]] = {
    ("fb15k237", "transe", "mrr"): (0.313, LIBKGE),
    ("fb15k237", "distmult", "mrr"): (0.343, LIBKGE),
    ("fb15k237", "complex", "mrr"): (0.348, LIBKGE),
    ("fb15k237", "transe", "hits@10"): (0.497, LIBKGE),
    ("fb15k237", "distmult", "hits@10"): (0.531, LIBKGE),
    ("fb15k237", "complex", "hits@10"): (0.536, LIBKGE),
    ("wn18rr", "transe", "mrr"): (0.228, LIBKGE),
    ("wn18rr", "distmult", "mrr"): (0.452, LIBKGE),
    ("wn18rr", "complex", "mrr"): (0.475, LIBKGE),
    ("wn18rr", "transe", "hits@10"): (0.520, LIBKGE),
    ("wn18rr", "distmult", "hits@10"): (0.530, LIBKGE),
    ("wn18rr", "complex", "hits@10"): (0.547, LIBKGE),
}
# Columns of the table: task, threshold, metric, heading.
COLUMNS = (
    ("ranking", "", "mrr", "MRR"),
    ("ranking", "", "hits@1", "Hits@1"),
    ("ranking", "", "hits@10", "Hits@10"),
    ("classification", "one_threshold", "accuracy", "accuracy"),
    ("classification", "per_relation", "accuracy", "accuracy, threshold per relation"),
    ("classification", "one_threshold", "roc_auc", "ROC AUC"),
    ("classification", "one_threshold", "pr_auc", "PR AUC"),
    ("classification", "one_threshold", "ece", "ECE"),
)


def classification(
    graph: KnowledgeGraph, score: Score, about: dict[str, Any]
) -> tuple[list[Row], dict[str, Any]]:
    """Rows of the labelled test triples, thresholds and calibration from the validation ones."""
    valid, test = graph.labelled("valid"), graph.labelled("test")
    if valid is None or test is None:
        return [], {}
    fitted, scores = score(valid[0]), score(test[0])
    thresholds = fit_thresholds(fitted, valid[1], valid[0][:, 1])
    probabilities = fit_platt(fitted, valid[1])(scores)
    about = {**about, "task": "classification"}
    rows = classification_rows(
        scores,
        test[1],
        thresholds.overall,
        probabilities=probabilities,
        **about,
        decoding="one_threshold",
    )
    relations = test[0][:, 1]
    rows += classification_rows(
        scores, test[1], thresholds.of(relations), **about, decoding="per_relation"
    )
    each = classify_by_relation(scores, test[1], relations, thresholds)
    return rows, {
        "by_relation": {
            graph.relations[relation]: dataclasses.asdict(found) for relation, found in each.items()
        },
        "reliability": [found._asdict() for found in reliability(probabilities, test[1])],
    }


def completion(graph: KnowledgeGraph, score: Score, about: dict[str, Any]) -> list[Row]:
    """Rows of the paper's completion tasks."""
    rows: list[Row] = []
    for task in paper_tasks(graph):
        ranks = task.ranks(score(task.candidates))
        rows += ranking_rows(ranks, **about, task=f"completion {task.name}")
    return rows


def measure(
    graph: KnowledgeGraph, config: EmbeddingConfig | None, seed: int, workdir: Path
) -> tuple[list[Row], dict[str, Any]]:
    """Rows and details of one method and seed; `config` None is the prior."""
    method = "prior_train_count" if config is None else config.model
    about: dict[str, Any] = {
        "system": "debate",
        "dataset": graph.name,
        "split": "test",
        "method": method,
        "seed": seed,
    }
    rows: list[Row] = []
    details: dict[str, Any] = {"method": method, "seed": seed}
    if config is None:
        score: Score = TrainCountPrior(graph)
    else:
        start = time.process_time()
        tables, record = train_embedding(graph, config, workdir / f"{config.model}-{seed}")
        details |= {
            "config": dataclasses.asdict(config),
            "training_seconds": record.total_seconds,
            "cpu_seconds_of_this_call": time.process_time() - start,
        }
        start = time.monotonic()
        ranks = filtered_ranks(
            MODELS[config.model], tables.params, graph.with_inverses(graph.test), graph.known
        )
        details["ranking_seconds"] = time.monotonic() - start
        rows += ranking_rows(ranks, **about, task="ranking")
        for name, part in zip(("objects", "subjects"), np.split(ranks, 2), strict=True):
            rows += ranking_rows(part, **about, task=f"ranking of {name}")

        def score(triples: np.ndarray) -> np.ndarray:
            return log_probabilities(tables, graph, triples)

        # As the models are usually told apart: by the score itself, whatever the query.
        about_raw = {**about, "method": f"{config.model}_score"}
        rows += classification(
            graph, lambda triples: score_with(tables, graph, triples), about_raw
        )[0]
    more, found = classification(graph, score, about)
    return [*rows, *more, *completion(graph, score, about)], details | found


def table(rows: Sequence[Row], dataset: str) -> str:
    """The Markdown table, with published figures in lines of their own."""
    methods = list(dict.fromkeys(row.method for row in rows))
    columns = [
        column
        for column in COLUMNS
        if any((row.task, row.decoding, row.metric) == column[:3] for row in rows)
    ]
    lines = [
        f"**{dataset}**, test split; filtered ranks among all entities, ties averaged, both "
        "directions; mean and deviation over seeds where there are several",
        "",
        f"| | {' | '.join(column[3] for column in columns)} |",
        f"|---|{'---:|' * len(columns)}",
    ]
    for method in methods:
        cells = [_cell(rows, method, column) for column in columns]
        lines.append(f"| {method} (trained here) | {' | '.join(cells)} |")
        published = [PUBLISHED.get((dataset, method, column[2])) for column in columns]
        source = next((figure[1] for figure in published if figure), "")
        if source:
            cells = [f"{figure[0]:.3f}" if figure else "–" for figure in published]
            lines.append(f"| {method} ({source}, theirs) | {' | '.join(cells)} |")
    tasks = dict.fromkeys(row.task for row in rows if row.task.startswith("completion "))
    if tasks:
        metrics = ("mean_rank", "mrr", "hits@1", "hits@3", "hits@10")
        lines += [
            "",
            "Completion among the objects seen with the relation (protocol of the R2D2 paper):",
            "",
            f"| | relation | n | {' | '.join(metrics)} |",
            f"|---|---|---:|{'---:|' * len(metrics)}",
        ]
        for task in tasks:
            for method in methods:
                own = [row for row in rows if (row.task, row.method) == (task, method)]
                if own:
                    cells = [_cell(rows, method, (task, "", metric, "")) for metric in metrics]
                    name = task.removeprefix("completion ")
                    lines.append(f"| {method} | {name} | {own[0].n} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(rows: Sequence[Row], method: str, column: tuple[str, str, str, str]) -> str:
    values = [
        row.value
        for row in rows
        if row.method == method and (row.task, row.decoding, row.metric) == column[:3]
    ]
    if not values:
        return "–"
    digits = 1 if column[2] == "mean_rank" else 3
    shown = f"{statistics.fmean(values):.{digits}f}"
    return f"{shown} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else shown


def main(argv: Sequence[str] | None = None) -> str:
    """Parses flags, trains what is missing, prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dataset", default="fb15k237", choices=list(LOADERS))
    parser.add_argument("--data_dir", type=Path, help="where the graph is; without it: download")
    parser.add_argument("--cache_dir", type=Path, default=None, help="for unpacked archives")
    parser.add_argument("--workdir", type=Path, default=Path("runs/embeddings"))
    parser.add_argument("--models", default="prior,transe,distmult,complex")
    parser.add_argument("--seeds", default="0", help="0,1,2")
    parser.add_argument("--option", action="append", default=[], help="of the loader: task=dag")
    parser.add_argument("--epochs", type=int, default=0, help="0: as the preset says")
    args = parser.parse_args(argv)
    known = ["prior", *MODELS]
    models = args.models.split(",")
    for model in models:
        if model not in known:
            parser.error(f"--models: {model!r} is not one of {', '.join(known)}")
    keep_freed_memory()
    cache = args.cache_dir or Path(os.environ.get("WIKINAV_CACHE", Path.home() / ".cache/wikinav"))
    options = dict(option.split("=", 1) for option in args.option)
    graph = load_knowledge_graph(
        args.dataset, data_dir=args.data_dir, cache_dir=cache, options=options
    )
    workdir = args.workdir / graph.name
    rows: list[Row] = []
    details: list[dict[str, Any]] = []
    for model in models:
        # Counting has no randomness.
        for seed in map(int, args.seeds.split(",") if model != "prior" else ["0"]):
            config = None if model == "prior" else preset(model, seed=seed)
            if config is not None and args.epochs:
                config = dataclasses.replace(config, epochs=args.epochs, min_steps=0)
            found, more = measure(graph, config, seed, workdir)
            rows += found
            details.append(more)
            merge_results(workdir / "results.json", found)
            write_json(workdir / "details.json", details)
            with atomic_file(workdir / "table.md") as temporary:
                temporary.write_text(table(rows, graph.name), encoding="utf-8")
    text = table(rows, graph.name)
    print(text)
    return text


if __name__ == "__main__":
    main()
