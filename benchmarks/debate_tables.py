"""The table of a knowledge graph: debates and what they are compared with, by one command.

    python -m benchmarks.debate_tables --graph=fb15k237 --variants=paper,sight+claim_plus+pair \\
        --seeds=0 --workdir=runs/debates --data_dir=DIR

A line for each variant of configs/r2d2.py, its silenced agents, its stack, and once for each
baseline, which variants share. With several seeds, `--later_override` spares the later ones what
the first has shown, as in --later_override='evaluate.embeddings=()'. Writes GRAPH.md and GRAPH.json
into the workdir. Every run has a folder there; finished ones are not run again and unfinished ones
resume.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.runs import finish, percent
from wikinav_jax.common.config import load_config
from wikinav_jax.common.files import atomic_file, read_json, write_json
from wikinav_jax.reports.names import method_label
from wikinav_jax.reports.results import Row, read_results

# Columns: metric, heading.
COLUMNS = (
    ("accuracy", "accuracy"),
    ("accuracy_per_relation", "accuracy, threshold per relation"),
    ("roc_auc", "ROC AUC"),
    ("pr_auc", "PR AUC"),
    ("ece", "ECE"),
)
COMPLETION = ("mean_rank", "mrr", "hits@1", "hits@3", "hits@10")
# Published figures on the same labelled files, by graph: method, source, accuracy in per cent at
# one threshold (CoDEx's scripts/tc.py fits one logistic curve to the raw validation scores).
PUBLISHED = {
    "codex_s": (("RESCAL", "Safavi & Koutra 2020", "84.3"),),
}


def command_of(variant: str, seed: int, folder: Path, args: argparse.Namespace) -> list[str]:
    """The command line of a run of `wikinav_jax.main`."""
    overrides = list(args.override)
    if seed != int(args.seeds.split(",")[0]):
        overrides += args.later_override
    return [
        "wikinav_jax.main",
        f"--config={args.config}:{args.graph}+{variant}",
        f"--workdir={folder}",
        f"--config.data_dir={args.data_dir}",
        f"--config.seed={seed}",
        *(f"--config.{override}" for override in overrides),
    ]


def gather(folders: Sequence[Path]) -> dict[str, list[Row]]:
    """Rows by method; a baseline's are those of the first run of each seed that has them."""
    found: dict[tuple[Any, ...], Row] = {}
    for folder in folders:
        for row in read_results(folder / "results.json"):
            key = (row.method, row.task, row.metric, row.seed)
            found.setdefault(key, row)
    methods: dict[str, list[Row]] = {}
    for row in found.values():
        methods.setdefault(row.method, []).append(row)
    # Debates first, then what they are compared with.
    return dict(sorted(methods.items(), key=lambda item: not item[0].startswith("r2d2")))


def markdown(graph: str, methods: dict[str, list[Row]], folders: Sequence[Path]) -> str:
    """The tables of classification and completion."""
    runs = [read_json(folder / "facts.json") for folder in folders]
    seeds = sorted({row.seed for rows in methods.values() for row in rows})
    lines = [
        f"Labelled test triples of **{graph}** (ours; {runs[0]['Labelled test triples']}), per "
        f"cent; seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}; "
        f"{runs[0].get('Devices', 'trained earlier')}:",
        "",
        f"| method | {' | '.join(heading for _, heading in COLUMNS)} |",
        f"|---|{'---|' * len(COLUMNS)}",
    ]
    for method, rows in methods.items():
        own = [row for row in rows if row.task == "classification"]
        cells = [percent([row for row in own if row.metric == metric]) for metric, _ in COLUMNS]
        if own:
            lines.append(f"| {method_label(method)} | {' | '.join(cells)} |")
    for name, source, accuracy in PUBLISHED.get(graph, ()):
        lines.append(f"| {name} ({source}; theirs) | {accuracy} | – | – | – | – |")
    tasks = dict.fromkeys(
        row.task for rows in methods.values() for row in rows if row.task.startswith("completion_")
    )
    if tasks:
        lines += [
            "",
            "Completion, the right object among those that the relation can have, or where it says "
            "so among all entities; other known answers are left out:",
            "",
            f"| task | method | queries | {' | '.join(COMPLETION)} |",
            f"|---|---|---|{'---|' * len(COMPLETION)}",
        ]
    for task in tasks:
        for method, rows in methods.items():
            own = [row for row in rows if row.task == task]
            cells = [_figure([r for r in own if r.metric == metric]) for metric in COMPLETION]
            if own:
                name = task.removeprefix("completion_").replace("_", " ")
                label = method_label(method)
                lines.append(f"| {name} | {label} | {own[0].n} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _figure(rows: Sequence[Row]) -> str:
    """A mean rank as it is, anything else in per cent."""
    if rows and rows[0].metric == "mean_rank":
        return f"{sum(row.value for row in rows) / len(rows):.1f}"
    return percent(rows)


def main(argv: Sequence[str] | None = None) -> str:
    """Parses flags, runs what is missing, prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--graph", required=True, help="a graph of configs/r2d2.py")
    parser.add_argument(
        "--variants", default="paper,sight+claim_plus+pair", help="of configs/r2d2.py"
    )
    parser.add_argument("--seeds", default="0", help="0,1,2")
    parser.add_argument("--workdir", type=Path, default=Path("runs/debates"))
    parser.add_argument("--data_dir", default="", help="where the graph is; empty: download")
    parser.add_argument("--config", default="configs/r2d2.py", help="what is varied")
    parser.add_argument("--override", action="append", default=[], help="a.b=c for every run")
    parser.add_argument(
        "--later_override",
        action="append",
        default=[],
        help="likewise, of later seeds",
    )
    args = parser.parse_args(argv)
    variants = args.variants.split(",")
    for variant in variants:  # a wrong name fails before the first run
        load_config(f"{args.config}:{args.graph}+{variant}")
    folders = []
    for seed in map(int, args.seeds.split(",")):
        for variant in variants:
            folder = args.workdir / f"{args.graph}-{variant}-{seed}"
            folders.append(finish(command_of(variant, seed, folder, args), folder))
    methods = gather(folders)
    text = markdown(args.graph, methods, folders)
    with atomic_file(args.workdir / f"{args.graph}.md") as temporary:
        temporary.write_text(text, encoding="utf-8")
    rows = [row.to_json() for own in methods.values() for row in own]
    settings = {name: str(value) for name, value in vars(args).items()}
    write_json(args.workdir / f"{args.graph}.json", {"settings": settings, "rows": rows})
    print(text)
    return text


if __name__ == "__main__":
    main()
