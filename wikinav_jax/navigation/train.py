"""Training a navigator, read top to bottom: cloning of random walks, or REINFORCE."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import optax

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
from wikinav_jax.training.run import Facts, fit_run, run_facts
from wikinav_jax.training.state import TrainState, apply_gradients, step_key
from wikinav_jax.training.step import Metrics, StepFn, jit_step


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
    """Trains as `fit_run` says, from the last checkpoint if there is one; facts for the report."""
    step_fn, batch_at = LEARNERS[navigator.config.train.algorithm](navigator)
    state = navigator.initial_state()
    num_params = sum(leaf.size for leaf in jax.tree.leaves(state.params))
    record = fit_run(
        navigator,
        state,
        step_fn,
        batch_at,
        evaluate=lambda state, step: _quick_evaluation(navigator, state),
    )
    return run_facts(navigator.mesh, record, parameters=num_params, examples="Decisions")


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
