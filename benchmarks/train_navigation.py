"""Training throughput of the navigation room against a PyTorch twin, host sampling included.

    python -m benchmarks.train_navigation --policy similarity --json train.json
    python -m benchmarks.train_navigation --policy feed_forward --torch-python OTHER/bin/python

The same model, initial parameters, batches, optimizer and allocator settings on both sides. Each
side lives in its own process; rounds alternate between them, so that a busy machine slows both:
the ratio of a round is worth more than its figures. `cpu` counts processor time instead of the
clock. PyTorch is no requirement of this package: without it only our side is timed, and the output
says so. --torch-python names a Python that has torch *and* this package's requirements.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.navigation_data import add_data_flags, synthetic_graph, synthetic_vectors
from wikinav_jax.common.allocator import keep_freed_memory
from wikinav_jax.common.files import write_json
from wikinav_jax.common.progress import progress

AGREE = 1e-3  # relative difference of the two losses on the first batch, before any update


def add_flags(parser: argparse.ArgumentParser) -> None:
    """All settings."""
    add_data_flags(parser, width=256)
    parser.add_argument("--policy", choices=("feed_forward", "similarity"), default="similarity")
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--decisions", type=int, default=512, help="per shard")
    parser.add_argument("--hidden", type=int, default=1024, help="width of FF (feed_forward)")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--weight-decay", type=float, default=1e-4)
    parser.add_argument("--steps", type=int, default=40, help="updates a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of PyTorch")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--torch-compile", action="store_true", help="needs a C++ compiler")
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument("--worker", choices=("jax", "torch"), help=argparse.SUPPRESS)
    parser.add_argument("--exchange", type=Path, help=argparse.SUPPRESS)


# ---- One side, in a process of its own ------------------------------------------------------


class JaxTrainer:
    """Our side: the training step of the navigation room."""

    def __init__(self, args: argparse.Namespace, sampler: Any, features: Any, mesh: Any) -> None:
        import jax

        from wikinav_jax.navigation.losses import batch_loss
        from wikinav_jax.navigation.policies import FeedForwardPolicy, PolicyTrainer
        from wikinav_jax.navigation.similarity import SimilarityPolicy
        from wikinav_jax.navigation.train import make_train_step
        from wikinav_jax.training.mesh import replicate, shard_batch
        from wikinav_jax.training.optimizers import make_optimizer
        from wikinav_jax.training.state import create_state
        from wikinav_jax.training.step import jit_step

        if args.policy == "similarity":
            policy: Any = SimilarityPolicy(dropout=args.dropout)
        else:
            policy = FeedForwardPolicy(hidden_dims=(args.hidden,), dropout=args.dropout)
        self.shard = functools.partial(shard_batch, mesh)
        self.features = features
        sample = jax.tree.map(lambda leaf: leaf[0], sampler.batch_at(0)).inputs
        init = jax.jit(lambda key: policy.init(key, features, sample, train=False))
        params = init(jax.random.key(args.seed))["params"]
        optimizer = make_optimizer(
            "adamw", args.learning_rate, weight_decay=args.weight_decay, clip_norm=1.0
        )
        self.state = replicate(mesh, create_state(params, optimizer, jax.random.key(1)))
        loss = functools.partial(batch_loss, PolicyTrainer(policy))
        self.step_fn = jit_step(make_train_step(loss, optimizer), mesh, features)
        still = type(policy)(**{**_fields(policy), "dropout": 0.0})
        self.loss_fn = jax.jit(functools.partial(batch_loss, PolicyTrainer(still)))
        self.version = f"jax {jax.__version__}"

    def params(self) -> dict[str, np.ndarray]:
        """Parameters by their path."""
        import jax

        leaves = jax.tree_util.tree_leaves_with_path(self.state.params)
        return {"/".join(entry.key for entry in path): np.asarray(leaf) for path, leaf in leaves}

    def probe(self, batch: Any) -> float:
        """The loss without dropout."""
        return float(self.loss_fn(self.state.params, self.features, self.shard(batch), None)[0])

    def step(self, batch: Any) -> Any:
        """One update; its metrics."""
        self.state, metrics = self.step_fn(self.state, self.shard(batch))
        return metrics

    def finish(self, metrics: list[Any]) -> float:
        """The mean of the losses."""
        return float(np.mean([float(m["loss_sum"]) / float(m["count"]) for m in metrics]))


def _fields(policy: Any) -> dict[str, Any]:
    return {
        name: getattr(policy, name)
        for name in type(policy).__dataclass_fields__
        if name not in ("parent", "name")
    }


def work(args: argparse.Namespace) -> None:
    """Answers the requests of the parent, one JSON line each, until its input ends."""
    from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
    from wikinav_jax.navigation.features import make_node_features
    from wikinav_jax.training.mesh import make_mesh
    from wikinav_jax.training.prefetch import Prefetcher

    replies, sys.stdout = sys.stdout, sys.stderr
    keep_freed_memory()
    graph = synthetic_graph(args.nodes, args.edges, args.seed)
    vectors = synthetic_vectors(args.nodes, args.width, args.seed)
    spec = BatchSpec(
        num_shards=args.shards,
        decisions_per_shard=args.decisions,
        first_visit=True,
        last_exit=True,
        skip_forced=True,
    )
    sampler = WalkSampler(graph, spec, args.seed)
    mesh = make_mesh()
    hops = args.hops if args.policy == "similarity" else 0
    features = make_node_features(graph, vectors, mesh=mesh, hops=hops)
    if args.worker == "jax":
        trainer: Any = JaxTrainer(args, sampler, features, mesh)
        np.savez(args.exchange, **trainer.params())
    else:
        from benchmarks.torch_twin import TorchTrainer

        names = ("vectors", "log_out_degree", "log_in_degree", "neighbourhood")
        table = {
            name: np.array(getattr(features, name))
            for name in names
            if getattr(features, name) is not None
        }
        del features
        trainer = TorchTrainer(args, dict(np.load(args.exchange)), table)
    first = sampler.batch_at(0)
    hello = {"version": trainer.version, "loss": trainer.probe(first)}
    trainer.finish([trainer.step(first) for _ in range(3)])  # compile, warm up
    print(json.dumps(hello), file=replies, flush=True)
    for line in sys.stdin:
        start = int(line)
        wall, cpu = time.perf_counter(), time.process_time()
        with Prefetcher(sampler.batch_at, start, start + args.steps) as batches:
            loss = trainer.finish([trainer.step(batch) for batch in batches])
        reply = {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "loss": loss,
        }
        print(json.dumps(reply), file=replies, flush=True)


class Side:
    """A worker process."""

    def __init__(self, name: str, python: str, argv: list[str], exchange: Path) -> None:
        command = [python, "-m", "benchmarks.train_navigation", *argv]
        command += ["--worker", name, "--exchange", str(exchange)]
        self.name = name
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parents[1],
        )
        self.hello = self._read()

    def run(self, start: int) -> dict[str, float]:
        """Times the steps from `start` on."""
        assert self.process.stdin is not None
        print(start, file=self.process.stdin, flush=True)
        return self._read()

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"the {self.name} side ended with status {self.process.wait()}; its messages "
                "stand above"
            )
        return json.loads(line)


# ---- Both sides ------------------------------------------------------------------------------


def has_torch(python: str) -> bool:
    """Whether that Python can import torch."""
    if python == sys.executable:
        return importlib.util.find_spec("torch") is not None
    return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0


def measure(args: argparse.Namespace, argv: list[str]) -> dict[str, Any]:
    """All rounds; raises RuntimeError when the two sides are not the same model."""
    names = ["jax"]
    if has_torch(args.torch_python):
        names.append("torch")
    else:
        print(
            f"{args.torch_python} has no torch, so there is no twin to compare with: pip install "
            "torch, or name a Python that has it by --torch-python",
            file=sys.stderr,
        )
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        python = {"jax": sys.executable, "torch": args.torch_python}
        # One after the other: the second reads the parameters that the first one writes.
        sides = [Side(name, python[name], argv, Path(folder) / "params.npz") for name in names]
        try:
            losses = [side.hello["loss"] for side in sides]
            if max(losses) - min(losses) > AGREE * max(losses):
                raise RuntimeError(f"the sides are not the same model: first losses {losses}")
            for index in progress(range(args.rounds), desc="rounds"):
                for side in sides if index % 2 == 0 else sides[::-1]:
                    runs[side.name].append(side.run(1 + index * args.steps))
        finally:
            for side in sides:
                side.close()
    decisions = args.shards * args.decisions * args.steps
    rows = [
        {
            "side": side.hello["version"],
            "first_loss": side.hello["loss"],
            "last_loss": runs[side.name][-1]["loss"],
            "decisions_per_second_best": decisions / min(run["wall"] for run in runs[side.name]),
            "decisions_per_second_median": decisions
            / statistics.median(run["wall"] for run in runs[side.name]),
            "decisions_per_cpu_second": decisions
            / statistics.median(run["cpu"] for run in runs[side.name]),
        }
        for side in sides
    ]
    result: dict[str, Any] = {
        "benchmark": "train_navigation",
        "settings": {
            name: value for name, value in vars(args).items()
            if name not in ("json", "worker", "exchange", "torch_python")
        },
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}",
        "rows": rows,
    }  # fmt: skip
    if len(names) == 2:
        for kind in ("wall", "cpu"):
            ratios = [
                theirs[kind] / ours[kind]
                for ours, theirs in zip(runs["jax"], runs["torch"], strict=True)
            ]
            result[f"times_torch_{kind}"] = {
                "median": statistics.median(ratios),
                "low": min(ratios),
                "high": max(ratios),
            }
    return result


def print_table(result: dict[str, Any]) -> None:
    """The result for people."""
    settings = result["settings"]
    print(
        f"{settings['policy']}: batches of {settings['shards']} x {settings['decisions']} "
        f"decisions, d = {settings['width']}, {settings['nodes']:,} nodes; host sampling included"
    )
    print(f"{'decisions/s':<22}{'best':>10}{'median':>10}{'per cpu s':>11}{'loss':>16}")
    for row in result["rows"]:
        print(
            f"{row['side']:<22}{row['decisions_per_second_best']:10,.0f}"
            f"{row['decisions_per_second_median']:10,.0f}{row['decisions_per_cpu_second']:11,.0f}"
            f"{row['first_loss']:8.4f}{row['last_loss']:8.4f}"
        )
    for kind, name in (("wall", "clock"), ("cpu", "processor time")):
        ratio = result.get(f"times_torch_{kind}")
        if ratio:
            print(
                f"times PyTorch by {name}: {ratio['median']:.2f} "
                f"({ratio['low']:.2f}..{ratio['high']:.2f})"
            )


def main(argv: list[str] | None = None) -> dict[str, Any] | None:
    """Parses flags, measures, prints, writes."""
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add_flags(parser)
    args = parser.parse_args(argv)
    if args.worker:
        work(args)
        return None
    result = measure(args, argv)
    print_table(result)
    if args.json:
        write_json(args.json, result)
    return result


if __name__ == "__main__":
    main()
