"""Training a navigator, read top to bottom: cloning of random walks, or REINFORCE."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import jax
import optax

from wikinav_jax.common.files import write_json
from wikinav_jax.navigation.config import dataset_of
from wikinav_jax.navigation.device_graph import to_device
from wikinav_jax.navigation.episodes import EpisodeSampler
from wikinav_jax.navigation.evaluate import evaluate
from wikinav_jax.navigation.goals import BatchLoss, GoalLoss, GoalPolicy
from wikinav_jax.navigation.losses import batch_loss
from wikinav_jax.navigation.navigator import Navigator
from wikinav_jax.navigation.policies import PolicyScorer, PolicyTrainer
from wikinav_jax.navigation.reinforce import make_reinforce_step
from wikinav_jax.navigation.text_policy import TextLoss
from wikinav_jax.navigation.text_types import TextBatch
from wikinav_jax.navigation.types import NavigationBatch, NodeFeatures
from wikinav_jax.training.loop import FitRecord, fit
from wikinav_jax.training.metrics import MetricWriter
from wikinav_jax.training.state import TrainState, apply_gradients, step_key
from wikinav_jax.training.step import Metrics, StepFn, jit_step

Facts = dict[str, Any]


def make_train_step(
    loss: BatchLoss, optimizer: optax.GradientTransformation
) -> Callable[[TrainState, NavigationBatch, NodeFeatures], tuple[TrainState, Metrics]]:
    """The pure training step: -log p(link taken | here, target), RFBC paper section 2.2."""

    def train_step(
        state: TrainState, batch: NavigationBatch, features: NodeFeatures
    ) -> tuple[TrainState, Metrics]:
        dropout_key = step_key(state)

        def loss_fn(params: Any) -> tuple[jax.Array, Metrics]:
            return loss(params, features, batch, dropout_key)

        gradients, metrics = jax.grad(loss_fn, has_aux=True)(state.params)
        return apply_gradients(state, gradients, optimizer), metrics

    return train_step


def make_loss(navigator: Navigator) -> BatchLoss:
    """The loss that the config asks for."""
    policy = navigator.policy
    if isinstance(policy, GoalPolicy):
        return GoalLoss(policy, navigator.config.sentence.auxiliary_weight)
    return functools.partial(batch_loss, PolicyTrainer(policy))


Learner = tuple[StepFn, Callable[[int], Any]]  # the compiled step, and its batches by step


def make_text_step(
    loss: TextLoss, optimizer: optax.GradientTransformation
) -> Callable[[TrainState, TextBatch], tuple[TrainState, Metrics]]:
    """The same step where phi is learned: the gradient goes on into the text encoder."""

    def train_step(state: TrainState, batch: TextBatch) -> tuple[TrainState, Metrics]:
        gradients, metrics = jax.grad(loss, has_aux=True)(state.params, batch, step_key(state))
        return apply_gradients(state, gradients, optimizer), metrics

    return train_step


def _cloning(navigator: Navigator) -> Learner:
    text = navigator.text
    if text is not None:
        text_step = make_text_step(TextLoss(text.policy), navigator.optimizer)
        return (
            jit_step(text_step, navigator.mesh),
            lambda step: text.sampler.batch_at(step, navigator.shards),
        )
    step_fn = jit_step(
        make_train_step(make_loss(navigator), navigator.optimizer),
        navigator.mesh,
        navigator.walkable("train").features,
    )
    return step_fn, lambda step: navigator.sampler.batch_at(step, navigator.shards)


def _reinforce(navigator: Navigator) -> Learner:
    config, place = navigator.config.train.reinforce, navigator.walkable("train")
    sampler = EpisodeSampler(
        place.part.graph,
        navigator.sampler.spec,
        navigator.config.seed,
        max_steps=config.max_steps,
    )
    train_step = make_reinforce_step(
        PolicyScorer(navigator.policy),
        navigator.optimizer,
        max_steps=config.max_steps,
        capacity=sampler.action_capacity,
        entropy_bonus=config.entropy_bonus,
        baseline_decay=config.baseline_decay,
    )
    links = to_device(place.part.graph, navigator.mesh)
    step_fn = jit_step(train_step, navigator.mesh, place.features, links)
    return step_fn, lambda step: sampler.batch_at(step, navigator.shards)


LEARNERS: dict[str, Callable[[Navigator], Learner]] = {
    "cloning": _cloning,
    "reinforce": _reinforce,
}


def train(navigator: Navigator) -> Facts:
    """Trains to `config.train.num_steps`, from the last checkpoint if there is one.

    Writes config.json, checkpoints and metrics into the workdir. Returns facts for the report.
    Raises CheckpointError where the workdir holds another run, NonFiniteLossError, Preempted.
    """
    config = navigator.config.train
    if navigator.is_first:
        navigator.workdir.mkdir(parents=True, exist_ok=True)

    # ---- The step and the state it starts from ------------------------------------------------
    step_fn, batch_at = LEARNERS[config.algorithm](navigator)
    state = navigator.initial_state()
    num_params = sum(leaf.size for leaf in jax.tree.leaves(state.params))

    # ---- Train --------------------------------------------------------------------------------
    with navigator.checkpointer(read_only=False) as checkpointer:
        last = checkpointer.latest_step()
        if last is not None:
            checkpointer.read_run(last)  # another run's folder is refused before it is touched
        if navigator.is_first:
            write_json(navigator.workdir / "config.json", navigator.config.to_dict())
        writer = MetricWriter(navigator.workdir)
        _, record = fit(
            state=state,
            step_fn=step_fn,
            batch_at=batch_at,
            num_steps=config.num_steps,
            mesh=navigator.mesh,
            checkpointer=checkpointer,
            writer=writer,
            log_every=config.log_every,
            checkpoint_every=config.checkpoint_every,
            evaluate=lambda state, step: _quick_evaluation(navigator, state),
            evaluate_every=config.evaluate_every,
            workers=config.workers,
            description="Training",
        )
        writer.close()
    return _facts(navigator, record, num_params)


def _quick_evaluation(navigator: Navigator, state: TrainState) -> Mapping[str, float]:
    """Success on a few episodes of both halves, for the learning curves."""
    config = navigator.config
    found: dict[str, float] = {}
    task = "sentence-20" if config.sentence.enabled else "multistep"
    # A learned phi would read all blocks of a half anew: the held-out half must do.
    for split in ("eval", "train") if navigator.text is None else ("eval",):
        place = navigator.walkable(split, state)
        evaluation = evaluate(
            place.part.graph,
            place.features,
            [navigator.method(state, decoding) for decoding in ("sample", "no_revisit")],
            mesh=navigator.mesh,
            system=config.name,
            dataset=dataset_of(config, split),
            split=split,
            seed=config.seed,
            tasks=(task,),
            sentences=place.part.sentences,
            num_episodes=config.train.evaluate_episodes,
            budget=config.evaluate.budget,
        )
        suffix = "" if split == "eval" else "_train_half"
        for row in evaluation.rows:
            if row["metric"] == "success":
                found[f"success_{row['decoding']}{suffix}"] = row["value"]
    return found


def _facts(navigator: Navigator, record: FitRecord, num_params: int) -> Facts:
    mesh = navigator.mesh
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
