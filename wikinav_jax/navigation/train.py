"""The navigation room's entry: build, train, evaluate and explain, read top to bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import numpy as np
import optax
from absl import logging
from jax.sharding import Mesh
from ml_collections import ConfigDict

from wikinav_jax.common.config import ConfigError, check_choice, flatten
from wikinav_jax.common.files import write_json
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.config import check_config
from wikinav_jax.navigation.data import NavigationData, Part, cache_folder, prepare
from wikinav_jax.navigation.evaluate import Evaluation, Method, baselines_for, evaluate
from wikinav_jax.navigation.explain import example_walks, explain_walk
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.losses import batch_loss
from wikinav_jax.navigation.policies import FeedForwardPolicy, PolicyScorer, PolicyTrainer
from wikinav_jax.navigation.similarity import SimilarityPolicy
from wikinav_jax.navigation.types import NavigationBatch, NodeFeatures
from wikinav_jax.reports.page import write_report, write_walks_page
from wikinav_jax.reports.results import merge_results
from wikinav_jax.reports.tables import results_table
from wikinav_jax.reports.terminal import format_walk
from wikinav_jax.training.checkpoint import Checkpointer
from wikinav_jax.training.compilation import enable_compilation_cache
from wikinav_jax.training.loop import FitRecord, fit
from wikinav_jax.training.mesh import local_shards, make_mesh, replicate
from wikinav_jax.training.metrics import MetricWriter
from wikinav_jax.training.optimizers import make_optimizer, make_schedule
from wikinav_jax.training.state import (
    TrainState,
    apply_gradients,
    create_state,
    eval_params,
    step_key,
)
from wikinav_jax.training.step import Metrics, jit_step

POLICIES: dict[str, type[nn.Module]] = {
    "feed_forward": FeedForwardPolicy,
    "similarity": SimilarityPolicy,
}

# Fields that shape what is trained: a checkpoint with other values is refused.
_IDENTITY = ("seed", "dataset", "split", "features", "walks", "policy", "train")
# ... except these, which only say how long, how often, or how fast.
_FREE = (
    "train.num_steps",
    "train.workers",
    "train.log_every",
    "train.checkpoint_every",
    "train.evaluate_every",
    "train.evaluate_episodes",
)


def run(config: ConfigDict, workdir: Path, mode: str) -> None:
    """Does what `mode` says: "build", "train" (and evaluate), "evaluate" or "explain".

    Raises ConfigError, FileNotFoundError and ValueError with what to change.
    """
    check_config(config)
    enable_compilation_cache(cache_folder(config) / "compiled")
    if mode == "explain" and not (config.explain.start and config.explain.target):
        raise ConfigError(
            "explain needs two places: --config.explain.start=TITLE --config.explain.target=TITLE "
            "(or numbers of blocks)"
        )
    begin = time.monotonic()
    data = prepare(config)
    if mode == "build":
        _print_built(data)
        return
    navigator = _Navigator(config, workdir, data)
    if mode == "explain":
        navigator.explain()
        return
    facts = {"Preparation (s)": round(time.monotonic() - begin, 1)}
    if mode == "train":
        navigator.train(facts)
    navigator.evaluate(facts)


def make_policy(config: ConfigDict) -> nn.Module:
    """The policy that `config.policy.name` names, with its fields."""
    check_choice("policy.name", config.policy.name, tuple(POLICIES))
    return POLICIES[config.policy.name](**config.policy[config.policy.name])


def make_train_step(
    policy: nn.Module, optimizer: optax.GradientTransformation
) -> Callable[[TrainState, NavigationBatch, NodeFeatures], tuple[TrainState, Metrics]]:
    """The pure training step: behavioural cloning of the walks in a batch."""
    trainer = PolicyTrainer(policy)

    def train_step(
        state: TrainState, batch: NavigationBatch, features: NodeFeatures
    ) -> tuple[TrainState, Metrics]:
        dropout_key = step_key(state)

        def loss_fn(params: Any) -> tuple[jax.Array, Metrics]:
            return batch_loss(trainer, params, features, batch, dropout_key)

        gradients, metrics = jax.grad(loss_fn, has_aux=True)(state.params)
        return apply_gradients(state, gradients, optimizer), metrics

    return train_step


@dataclass(frozen=True)
class _Walkable:
    """A part of the data with its features on the device."""

    part: Part
    features: NodeFeatures


class _Navigator:
    """One run: its config, its folder, its data and its policy."""

    def __init__(self, config: ConfigDict, workdir: Path, data: NavigationData) -> None:
        self.config = config
        self.workdir = workdir
        self.data = data
        self.mesh: Mesh = make_mesh()
        self.is_first = jax.process_index() == 0
        self.policy = make_policy(config)
        self._walkable: dict[str, _Walkable] = {}

        # ---- The batches, the optimizer and the state to start from -------------------------
        train = config.train
        spec = BatchSpec(
            num_shards=train.num_shards,
            decisions_per_shard=train.decisions_per_shard,
            min_walk_steps=config.walks.steps[0],
            max_walk_steps=config.walks.steps[1],
            target=config.walks.target,
            first_visit=config.walks.first_visit,
            last_exit=config.walks.last_exit,
            non_backtracking=config.walks.non_backtracking,
            skip_forced=config.walks.skip_forced,
        )
        self.shards = local_shards(spec.num_shards, self.mesh)
        self.sampler = WalkSampler(data.train.graph, spec, config.seed)
        schedule = make_schedule(
            train.schedule,
            train.learning_rate,
            num_steps=train.num_steps,
            warmup_steps=min(train.warmup_steps, train.num_steps - 1),
        )
        self.optimizer = make_optimizer(
            train.optimizer,
            schedule,
            weight_decay=train.weight_decay,
            clip_norm=train.clip_norm,
        )

    def walkable(self, name: str) -> _Walkable:
        """A part of the data on the device; put there once."""
        if name not in self._walkable:
            part = self.data.part(name)
            features = make_node_features(
                part.graph, part.vectors, mesh=self.mesh, hops=self.config.features.hops
            )
            self._walkable[name] = _Walkable(part, features)
        return self._walkable[name]

    def initial_state(self) -> TrainState:
        """The state at step 0, on every device."""
        init_key, train_key = jax.random.split(jax.random.key(self.config.seed))
        sample = jax.tree.map(lambda leaf: leaf[0], self.sampler.batch_at(0, [0]))
        features = self.walkable("train").features
        variables = jax.jit(
            lambda key: self.policy.init(key, features, sample.inputs, train=False)
        )(init_key)
        state = create_state(
            variables["params"], self.optimizer, train_key, ema_decay=self.config.train.ema_decay
        )
        return replicate(self.mesh, state)

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with."""
        fields = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in flatten(self.config)
            if name.partition(".")[0] in _IDENTITY and name not in _FREE
        }
        graph = self.data.all.graph
        return {**fields, "nodes": graph.num_nodes, "edges": graph.num_edges}

    def checkpointer(self, *, read_only: bool) -> Checkpointer:
        """The run's checkpoints."""
        return Checkpointer(
            self.workdir / "checkpoints", identity=self.identity(), read_only=read_only
        )

    # ---- Train --------------------------------------------------------------------------------

    def train(self, facts: dict[str, Any]) -> None:
        """Trains to `config.train.num_steps`, from the last checkpoint if there is one."""
        train = self.config.train
        if self.is_first:
            self.workdir.mkdir(parents=True, exist_ok=True)
        step_fn = jit_step(
            make_train_step(self.policy, self.optimizer),
            self.mesh,
            self.walkable("train").features,
        )
        state = self.initial_state()
        num_params = sum(leaf.size for leaf in jax.tree.leaves(state.params))
        with self.checkpointer(read_only=False) as checkpointer:
            # Written only now: a config that does not fit the checkpoints leaves the old one.
            if checkpointer.latest_step() is not None:
                checkpointer.read_run(checkpointer.latest_step())
            if self.is_first:
                write_json(self.workdir / "config.json", self.config.to_dict())
            writer = MetricWriter(self.workdir)
            _, record = fit(
                state=state,
                step_fn=step_fn,
                batch_at=lambda step: self.sampler.batch_at(step, self.shards),
                num_steps=train.num_steps,
                mesh=self.mesh,
                checkpointer=checkpointer,
                writer=writer,
                log_every=train.log_every,
                checkpoint_every=train.checkpoint_every,
                evaluate=self._evaluate_while_training,
                evaluate_every=train.evaluate_every,
                workers=train.workers,
                description="Training",
            )
            writer.close()
        facts.update(_training_facts(record, num_params, self.mesh))

    def _evaluate_while_training(self, state: TrainState, step: int) -> Mapping[str, float]:
        """Success on a few multistep episodes of both halves."""
        found: dict[str, float] = {}
        methods = [self.method(state, decoding) for decoding in ("sample", "no_revisit")]
        for split in ("eval", "train"):
            place = self.walkable(split)
            evaluation = evaluate(
                place.part.graph,
                place.features,
                methods,
                mesh=self.mesh,
                system=self.config.name,
                dataset=self.config.dataset.name,
                split=split,
                seed=self.config.seed,
                tasks=("multistep",),
                num_episodes=self.config.train.evaluate_episodes,
                budget=self.config.evaluate.budget,
            )
            for row in evaluation.rows:
                if row["metric"] == "success":
                    suffix = "" if split == "eval" else "_train_half"
                    found[f"success_{row['decoding']}{suffix}"] = row["value"]
        return found

    # ---- Evaluate -----------------------------------------------------------------------------

    def method(self, state: TrainState, decoding: str) -> Method:
        """The trained policy under one decoding."""
        return Method(self.config.name, decoding, PolicyScorer(self.policy), eval_params(state))

    def restore(self) -> TrainState:
        """The newest checkpoint; FileNotFoundError when there is none."""
        if not (self.workdir / "checkpoints").is_dir():
            raise FileNotFoundError(
                f"no checkpoints in {self.workdir}; train first: the same command with --mode=train"
            )
        with self.checkpointer(read_only=True) as checkpointer:
            state = checkpointer.restore_latest(self.initial_state())
        if state is None:
            raise FileNotFoundError(
                f"{self.workdir / 'checkpoints'} holds no finished checkpoint; run --mode=train"
            )
        return state

    def evaluate(self, facts: dict[str, Any]) -> None:
        """Plays every task with every method; writes results.json, walks.json, report.html."""
        config = self.config.evaluate
        state = self.restore()
        learned = [self.method(state, decoding) for decoding in config.decodings]
        begin = time.monotonic()
        rows: list[dict[str, Any]] = []
        walks: list[dict[str, Any]] = []
        for split in config.splits:
            place = self.walkable(split)
            others = baselines_for(place.features) if config.baselines else ()
            evaluation = evaluate(
                place.part.graph,
                place.features,
                [*learned, *others],
                mesh=self.mesh,
                system=self.config.name,
                dataset=self.config.dataset.name,
                split=split,
                seed=self.config.seed,
                tasks=tuple(config.tasks),
                num_episodes=config.num_episodes,
                budget=config.budget,
            )
            rows += evaluation.rows
            walks += self._examples(place, learned, evaluation)
        facts["Evaluation (s)"] = round(time.monotonic() - begin, 1)
        if not self.is_first:
            return
        merged = merge_results(self.workdir / "results.json", rows)
        write_json(self.workdir / "walks.json", {"walks": walks})
        write_json(self.workdir / "facts.json", {**facts, **self._data_facts()})
        page = write_report(self.workdir)
        print(results_table(merged, metric="success", style="terminal"))
        print(results_table(merged, metric="spl", style="terminal"))
        print(f"Report: {page}")

    def _examples(
        self, place: _Walkable, learned: list[Method], evaluation: Evaluation
    ) -> list[dict[str, Any]]:
        """Walks to read, of the best-behaved decoding, on the task that mixes all distances."""
        tasks = self.config.evaluate.tasks
        count = self.config.evaluate.example_walks
        if not count or not learned:
            return []
        return example_walks(
            place.part.graph,
            place.features,
            learned[-1],
            evaluation,
            "multistep" if "multistep" in tasks else tasks[0],
            budget=self.config.evaluate.budget,
            num_successes=count,
            num_failures=count,
            seed=self.config.seed,
        )

    def _data_facts(self) -> dict[str, Any]:
        parts = {"whole": self.data.all, "training half": self.data.train}
        parts["evaluation half"] = self.data.eval
        return {
            f"Graph, {name}": f"{part.graph.num_articles:,} articles, {part.graph.num_nodes:,} "
            f"blocks, {part.graph.num_edges:,} links"
            for name, part in parts.items()
        } | {
            "Source": str(self.data.all.graph.meta.get("source", "")),
            "Licence": str(self.data.all.graph.meta.get("licence", "")),
        }

    # ---- Explain ------------------------------------------------------------------------------

    def explain(self) -> None:
        """Prints one walk with the alternatives it weighed, and writes it as a page."""
        config = self.config.explain
        place = self.walkable(config.graph)
        start, target = (place.part.graph.find(name) for name in (config.start, config.target))
        walk = explain_walk(
            place.part.graph,
            place.features,
            self.method(self.restore(), config.decoding),
            start,
            target,
            mesh=self.mesh,
            budget=self.config.evaluate.budget,
            seed=self.config.seed,
        )
        if not self.is_first:
            return
        print(format_walk(walk))
        title = f"{walk['start']['title']} → {walk['target']['title']}"
        write_json(self.workdir / "explain.json", {"walks": [walk]})
        page = write_walks_page([walk], self.workdir / "explain.html", title)
        print(f"Page: {page}")


def _training_facts(record: FitRecord, num_params: int, mesh: Mesh) -> dict[str, Any]:
    device = mesh.devices.flat[0]
    return {
        "Updates": record.end_step,
        "Parameters": num_params,
        "Training (s)": round(record.total_seconds, 1),
        "Decisions per second": round(record.examples_per_second),
        "Devices": f"{mesh.size} x {device.device_kind} ({device.platform})",
        "Processes": jax.process_count(),
        "Training record": asdict(record),
    }


def _print_built(data: NavigationData) -> None:
    for name in ("all", "train", "eval"):
        graph = data.part(name).graph
        degree = np.diff(graph.indptr)
        print(
            f"{name:>5}: {graph.num_articles:,} articles, {graph.num_nodes:,} blocks, "
            f"{graph.num_edges:,} links, {degree.mean():.1f} a block (at most {degree.max():,})"
        )
    logging.info("graph: %s", data.all.graph.path)
    statistics = data.all.graph.meta.get("statistics", {})
    for name, value in statistics.items():
        print(f"  {name}: {value}")
