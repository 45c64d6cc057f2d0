"""The ablation table of the README: variants of configs/wikispeedia.py, several seeds each.

    python -m benchmarks.wikispeedia_ablation --workdir=runs/ablation --data_dir=DIR \
        --seeds=0,1,2 --variants=best,paper

Every variant and seed is one run of `wikinav_jax.main` in a folder of its own; finished runs are
not run again, so the command resumes. The table is printed as Markdown and written, with its
figures as JSON, into the workdir.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from absl import app, flags

from benchmarks.runs import percent
from wikinav_jax.common.files import atomic_file, write_json
from wikinav_jax.reports.names import method_label
from wikinav_jax.reports.results import Row, read_results

_WORKDIR = flags.DEFINE_string("workdir", "runs/ablation", "One folder per run goes in here.")
_DATA_DIR = flags.DEFINE_string("data_dir", "", "Where the archives are; empty: download.")
_SEEDS = flags.DEFINE_list("seeds", ["0"], "Seeds of training and evaluation.")
_VARIANTS = flags.DEFINE_list("variants", ["best", "paper"], "Of configs/wikispeedia.py.")
_TASK = flags.DEFINE_string("task", "multistep", "The task of the table.")
_OVERRIDES = flags.DEFINE_multi_string("override", [], "A config override for every run, a.b=c.")

DECODINGS = ("sample", "argmax", "no_revisit", "dfs")


def run(variant: str, seed: str) -> Path:
    """Trains and evaluates one variant unless its results are there; returns its workdir."""
    workdir = Path(_WORKDIR.value) / f"{variant}-{seed}"
    if not (workdir / "report.html").is_file():
        command = [
            *(sys.executable, "-m", "wikinav_jax.main"),
            f"--config=configs/wikispeedia.py:{variant}",
            f"--workdir={workdir}",
            f"--config.data_dir={_DATA_DIR.value}",
            f"--config.seed={seed}",
            f"--config.evaluate.tasks=('{_TASK.value}',)",
            *(f"--config.{override}" for override in _OVERRIDES.value),
        ]
        print(f"running {workdir}", file=sys.stderr, flush=True)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return workdir


def cell(rows: Iterable[Row], decoding: str, metric: str) -> str:
    """Per cent, with the interval of one seed or the deviation over several; a dash for none."""
    return percent([row for row in rows if (row.decoding, row.metric) == (decoding, metric)])


def table(rows: Sequence[Row]) -> str:
    """Markdown: a line per method, success by decoding and SPL without revisits."""
    lines = [
        "| method | seeds | sampled | argmax | without revisits | depth first | SPL, no revisits |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in dict.fromkeys(row.method for row in rows):
        own = [row for row in rows if row.method == method]
        seeds = ", ".join(str(seed) for seed in sorted({row.seed for row in own}))
        cells = [cell(own, decoding, "success") for decoding in DECODINGS]
        spl = cell(own, "no_revisit", "spl")
        lines.append(f"| {' | '.join([method_label(method), seeds, *cells, spl])} |")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str]) -> None:
    """Runs what is missing, then prints and writes the table."""
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]!r}")
    rows: dict[tuple[str, str, str, int], Row] = {}
    for variant in _VARIANTS.value:
        for seed in _SEEDS.value:
            for row in read_results(run(variant, seed) / "results.json"):
                # Features differ between variants, so baselines are those of the first variant.
                if row.task == _TASK.value and row.split == "eval":
                    rows.setdefault((row.method, row.decoding, row.metric, row.seed), row)
    text = table(list(rows.values()))
    print(text)
    folder = Path(_WORKDIR.value)
    with atomic_file(folder / "ablation.md") as temporary:
        temporary.write_text(text, encoding="utf-8")
    write_json(folder / "ablation.json", [row.to_json() for row in rows.values()])


if __name__ == "__main__":
    app.run(main)
