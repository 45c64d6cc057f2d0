"""The tables of the navigation room, each by one command.

    python -m benchmarks.navigation_tables --table=2 --workdir=runs/tables --data_dir=DIR \
        --seeds=0,1,2

Table 1: where training walks come from. Table 2: cloning, reinforcement and baselines. Table 4:
policies. Writes tableN.md, tableN.json and tableN.svg into the workdir. Every run has a folder
there, which tables share; finished runs are not run again and unfinished ones resume, so the
command can be stopped at any time. --steps and --only make a small table of it.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.dot_plot import Dot, dot_plot
from benchmarks.navigation_cells import TABLES, Run, Table, runs_of
from benchmarks.runs import finish, is_finished, percent
from wikinav_jax.common.config import load_config
from wikinav_jax.common.files import atomic_file, read_json, write_json
from wikinav_jax.navigation.decoding import DECODINGS
from wikinav_jax.reports.names import decoding_label, line_label, task_label
from wikinav_jax.reports.results import Row, read_results

Cells = dict[tuple[str, str], list[Row]]  # (line, task) -> a row per seed


def command_of(run: Run, seed: int, folder: Path, args: argparse.Namespace) -> list[str]:
    """The command line of a run, which is one run of `wikinav_jax.main`."""
    overrides: dict[str, object] = {
        "data_dir": args.data_dir,
        "seed": seed,
        "evaluate.num_episodes": args.episodes,
        "evaluate.decodings": args.decodings,
        **dict(run.overrides),
    }
    if args.steps:
        overrides["train.num_steps"] = args.steps
    # A field given twice on the command line would be joined if it is a tuple: replace it here.
    overrides |= {name: value for name, _, value in (o.partition("=") for o in args.override)}
    return [
        "wikinav_jax.main",
        f"--config={args.config}",
        f"--workdir={folder}",
        *(f"--config.{name}={value}" for name, value in overrides.items()),
    ]


def folder_of(run: Run, seed: int, args: argparse.Namespace) -> Path:
    """Where a run lies, which tables share."""
    workdir: Path = args.workdir
    return workdir / f"{run.name}-{seed}"


def gather(table: Table, done: Sequence[tuple[Run, Path]], metric: str) -> Cells:
    """Rows by line and task: the table's own lines first, then its baselines."""
    labels = {name: label for label, names in table.lines for name in names}
    rows = [
        (run, row)
        for run, folder in done
        for row in read_results(folder / "results.json")
        if row.metric == metric and row.split == "eval" and row.task in table.tasks
    ]
    cells: Cells = {}
    decodings = dict.fromkeys(row.decoding for run, row in rows if row.method == run.variant.name)
    for decoding in decodings:
        for run, row in rows:
            if row.method == run.variant.name and row.decoding == decoding:
                line = f"{labels[row.method]}, {_small(decoding_label(decoding))}"
                cells.setdefault((line, row.task), []).append(row)
    for run, row in rows:
        if table.baselines and row.method != run.variant.name:
            cells.setdefault((line_label(row.method, row.decoding), row.task), []).append(row)
    return cells


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def spread(rows: Sequence[Row]) -> Dot:
    """The mean over seeds with its standard deviation, or one seed's value with its interval."""
    values = [row.value for row in rows]
    value = statistics.fmean(values)
    if len(rows) > 1:
        deviation = statistics.stdev(values)
        return Dot(value, max(value - deviation, 0), min(value + deviation, 1))
    low, high = rows[0].low, rows[0].high
    return Dot(value, value if low is None else low, value if high is None else high)


def orderings(table: Table, cells: Cells, tasks: Sequence[str]) -> list[dict[str, Any]]:
    """How the lines compare that the paper leads us to expect one above the other.

    `holds` is "yes" or "no", and "unclear" where the spreads of the two overlap.
    """
    found = []
    lines = list(dict.fromkeys(line for line, _ in cells))
    for above, below in table.orderings:
        pair = _first(lines, above), _first(lines, below)
        for task in tasks:
            rows = [cells.get((line, task), []) for line in pair]
            if not all(rows):
                continue
            first, second = spread(rows[0]), spread(rows[1])
            holds = "yes" if first.value > second.value else "no"
            if first.low <= second.high and second.low <= first.high:
                holds = "unclear"
            difference = first.value - second.value
            found.append(
                {
                    "above": pair[0],
                    "below": pair[1],
                    "task": task,
                    "difference": difference,
                    "holds": holds,
                }
            )
    return found


def _first(lines: Sequence[str], name: str) -> str:
    """The line of that name; of a learned one, that of the decoding shown first: sampling."""
    decodings = [decoding_label(known).lower() for known in DECODINGS]
    names = [name, *(f"{name}, {decoding}" for decoding in decodings)]
    return next((line for line in lines if line in names), name)


def markdown(table: Table, cells: Cells, args: argparse.Namespace) -> str:
    """The table and its orderings for people."""
    tasks = [task for task in table.tasks if any(key[1] == task for key in cells)]
    lines = list(dict.fromkeys(line for line, _ in cells))
    best = {
        task: max(spread(cells[line, task]).value for line in lines if (line, task) in cells)
        for task in tasks
    }
    text = [
        f"**Table {table.number}: {table.title}** ({args.metric} in %, held-out articles)",
        "",
        f"| | {' | '.join(task_label(task) for task in tasks)} |",
        f"|---|{'---:|' * len(tasks)}",
    ]
    for line in lines:
        shown = []
        for task in tasks:
            rows = cells.get((line, task))
            bold = rows and round(spread(rows).value, 3) == round(best[task], 3)
            shown.append(f"**{percent(rows)}**" if bold else percent(rows))
        text.append(f"| {line} | {' | '.join(shown)} |")
    compared = orderings(table, cells, tasks)
    if compared:
        text += ["", "| expected | task | difference | holds |", "|---|---|---:|---|"]
        for item in compared:
            text.append(
                f"| {item['above']} above {item['below']} | {task_label(item['task'])} | "
                f"{100 * item['difference']:+.1f} | {item['holds']} |"
            )
    return "\n".join(text) + "\n"


def write(table: Table, done: Sequence[tuple[Run, Path]], args: argparse.Namespace) -> str:
    """Writes the three files; returns the Markdown."""
    cells = gather(table, done, args.metric)
    if not cells:
        raise ValueError(f"no row of metric {args.metric!r} in the runs of table {table.number}")
    text = markdown(table, cells, args)
    stem = args.workdir / f"table{table.number}"
    with atomic_file(stem.with_suffix(".md")) as temporary:
        temporary.write_text(text, encoding="utf-8")
    lines = list(dict.fromkeys(line for line, _ in cells))
    tasks = [task for task in table.tasks if any(key[1] == task for key in cells)]
    own = [label for label, _ in table.lines]
    groups = [
        next((g for g, label in enumerate(own) if name.startswith(label)), 3) for name in lines
    ]
    dots = {
        (row, column): spread(cells[line, task])
        for row, line in enumerate(lines)
        for column, task in enumerate(tasks)
        if (line, task) in cells
    }
    plot = dot_plot(
        f"Table {table.number}: {table.title} ({args.metric}, %)",
        [task_label(task) for task in tasks],
        lines,
        dots,
        groups,
    )
    with atomic_file(stem.with_suffix(".svg")) as temporary:
        temporary.write_text(plot, encoding="utf-8")
    write_json(
        stem.with_suffix(".json"),
        {
            "table": table.number,
            "title": table.title,
            "settings": {name: str(value) for name, value in vars(args).items()},
            "cells": [
                {"line": line, "task": task, "rows": [row.to_json() for row in rows]}
                for (line, task), rows in cells.items()
            ],
            "orderings": orderings(table, cells, tasks),
            "runs": {folder.name: _facts(folder) for _, folder in done},
        },
    )
    return text


def _facts(folder: Path) -> dict[str, Any]:
    """What a run cost: updates, moves or decisions learned from, seconds."""
    facts = read_json(folder / "facts.json")
    record = facts.get("Training record", {})
    return {
        "updates": facts.get("Updates"),
        "parameters": facts.get("Parameters"),
        "decisions": record.get("examples"),
        "training_seconds": facts.get("Training (s)"),
    }


def main(argv: Sequence[str] | None = None) -> str:
    """Parses flags, runs what is missing, prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--table", type=int, choices=sorted(TABLES), required=True)
    parser.add_argument("--workdir", type=Path, default=Path("runs/tables"))
    parser.add_argument("--data_dir", default="", help="where the archives are; empty: download")
    parser.add_argument("--config", default="configs/wikispeedia.py:paper", help="what is varied")
    parser.add_argument("--seeds", default="0", help="of training and evaluation: 0,1,2")
    parser.add_argument("--steps", type=int, default=0, help="updates; 0: as the config says")
    parser.add_argument("--episodes", type=int, default=1_000, help="per task")
    parser.add_argument("--only", default="", help="run those whose names begin so: rl-,rfbc-")
    parser.add_argument("--shared", action="store_true", help="train once for all tasks")
    parser.add_argument("--metric", default="success", help="or spl")
    parser.add_argument("--decodings", default="sample,no_revisit", help="of learned policies")
    parser.add_argument("--override", action="append", default=[], help="a.b=c for every run")
    args = parser.parse_args(argv)
    args.decodings = tuple(args.decodings.split(","))
    table = TABLES[args.table]
    load_config(args.config)  # a wrong name fails before the first run
    wanted = tuple(name for name in args.only.split(",") if name)
    runs = runs_of(table, shared=args.shared)
    if wanted and not any(run.name.startswith(wanted) for run in runs):
        names = ", ".join(run.name for run in runs)
        parser.error(f"--only={args.only} names no run of table {table.number}: {names}")
    done = []
    for run in runs:
        for seed in map(int, args.seeds.split(",")):
            # What an earlier call has finished is shown too.
            folder = folder_of(run, seed, args)
            command = command_of(run, seed, folder, args)
            if not wanted or run.name.startswith(wanted) or is_finished(command, folder):
                done.append((run, finish(command, folder)))
    text = write(table, done, args)
    print(text)
    return text


if __name__ == "__main__":
    main()
