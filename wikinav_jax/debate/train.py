"""Training a debate, read top to bottom: judge and agents by turns. R2D2 paper, section 3.3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from wikinav_jax.debate.arguments import no_arguments, play, repeat
from wikinav_jax.debate.classification import quick_figures
from wikinav_jax.debate.data import labelled_split
from wikinav_jax.debate.evaluate import debate_claims
from wikinav_jax.debate.losses import judge_loss, reinforce_loss, square_sum
from wikinav_jax.debate.optimizers import AlternatingState
from wikinav_jax.debate.room import Room
from wikinav_jax.debate.types import AGENTS, Arguments, DebateGraph, LabelledQueries, ask
from wikinav_jax.training.run import Facts, fit_run, run_facts
from wikinav_jax.training.state import TrainState, apply_gradients, step_key
from wikinav_jax.training.step import Metrics, jit_step

PRETRAIN, JUDGE, AGENT = 0, 1, 2


def phase_of(step: jax.Array, pretrain_steps: int, phase_steps: int) -> jax.Array:
    """Which phase a step is in: PRETRAIN, then JUDGE and AGENT by turns; int32 []."""
    turn = ((step - pretrain_steps) // phase_steps) % 2
    return jnp.where(step < pretrain_steps, PRETRAIN, jnp.where(turn == 0, JUDGE, AGENT))


def make_train_step(
    room: Room,
) -> Callable[[TrainState, LabelledQueries, DebateGraph], tuple[TrainState, Metrics]]:
    """The pure step: the phase follows from the state's step."""
    config = room.config.train
    judge, agent = room.judge, room.agent
    fixed = room.given_parameters  # no penalty moves what is given
    walking = room.rules(policy="uniform", training=True)
    arguing = room.rules(policy="window", training=True)
    signs = jnp.tile(jnp.array([1.0, -1.0]), arguing.num_rounds)[None]  # of pro's rewards, con's

    def judge_step(
        state: TrainState, batch: LabelledQueries, graph: DebateGraph, phase: jax.Array
    ) -> tuple[TrainState, Metrics]:
        walk_key, argue_key, drop_key = (step_key(state, stream) for stream in range(3))
        walks, _ = play(agent, {}, graph, batch.queries, walk_key, walking)
        argued = jax.lax.cond(
            phase == PRETRAIN,
            lambda: walks,
            lambda: play(agent, state.params, graph, batch.queries, argue_key, arguing)[0],
        )
        heard = {
            "judge": argued,
            "judge_walks": walks,
            "judge_alone": no_arguments(graph, batch.queries, walking.path_length),
        }

        def loss_fn(params: Any) -> tuple[jax.Array, Metrics]:
            total, sums = jnp.zeros(()), {}
            for place, (name, arguments) in enumerate(heard.items()):
                logits = ask(
                    judge,
                    params[name],
                    batch.queries,
                    arguments,
                    method="__call__",
                    train=True,
                    rngs={"dropout": jax.random.fold_in(drop_key, place)},
                )
                sums[name] = judge_loss(logits, batch.label, batch.weight)
                penalty = 0.5 * config.l2 * square_sum(params[name], leave_out=fixed)
                total += sums[name]["loss_sum"] / jnp.maximum(sums[name]["count"], 1) + penalty
            return total, {
                **sums["judge"],
                "loss_walks_sum": sums["judge_walks"]["loss_sum"],
                "loss_alone_sum": sums["judge_alone"]["loss_sum"],
                **_zeros("loss_walks_count", "loss_alone_count", fill=sums["judge"]["count"]),
            }

        learning = {name: state.params[name] for name in heard}
        gradients, metrics = jax.grad(loss_fn, has_aux=True)(learning)
        metrics |= _zeros(*_AGENT_METRICS)
        return apply_gradients(state, gradients, room.optimizer), metrics

    def agent_step(
        state: TrainState, batch: LabelledQueries, graph: DebateGraph
    ) -> tuple[TrainState, Metrics]:
        opt_state: AlternatingState = state.opt_state
        before = opt_state.baseline
        decay = config.entropy_decay ** before.updates.astype(jnp.float32)
        bonus = config.entropy_bonus * decay

        def loss_fn(params: Any) -> tuple[jax.Array, Any]:
            arguments, choices = play(agent, params, graph, batch.queries, step_key(state), arguing)
            rewards, logits = judged(state.params["judge"], batch, arguments)  # [B, A], [B]
            reward = rewards * signs
            mean = _mean_by_agent(reward, batch.weight)
            baseline = jnp.tile(before.mean(), arguing.num_rounds)[None]
            advantage = reward - baseline * config.baseline
            sums = reinforce_loss(choices.log_prob, choices.entropy, advantage, batch.weight, bonus)
            return sums["loss_sum"] / jnp.maximum(sums["count"], 1), (sums, mean, logits)

        learning = {name: state.params[name] for name in AGENTS}
        gradients, (sums, mean, logits) = jax.grad(loss_fn, has_aux=True)(learning)
        after = apply_gradients(state, gradients, room.optimizer)
        baseline = before.after(mean, config.baseline_decay)
        after = after.replace(opt_state=after.opt_state._replace(baseline=baseline))
        return after, {
            **judge_loss(logits, batch.label, batch.weight),
            **_zeros("loss_walks_sum", "loss_alone_sum", "loss_walks_count", "loss_alone_count"),
            "reward_pro_sum": mean[0],
            "reward_con_sum": mean[1],
            "reward_pro_count": jnp.ones(()),
            "reward_con_count": jnp.ones(()),
            "entropy_sum": sums["entropy_sum"],
            "entropy_count": sums["count"],
        }

    def judged(
        params: Any, batch: LabelledQueries, arguments: Arguments
    ) -> tuple[jax.Array, jax.Array]:
        bound = params
        weighed = ask(judge, bound, batch.queries, arguments, method="weigh_each")
        scores = ask(judge, bound, weighed, batch.queries, method="score_each")
        if config.reward == "probability":
            scores = jax.nn.sigmoid(scores)
        logits = ask(judge, bound, weighed, batch.queries, method="verdict")
        return jax.lax.stop_gradient((scores, logits))

    def train_step(
        state: TrainState, batch: LabelledQueries, graph: DebateGraph
    ) -> tuple[TrainState, Metrics]:
        # [S, Q, …] -> [S x Q x rollouts, …]
        flat = jax.tree.map(_merge_shards, batch)
        debates = repeat(flat, config.rollouts)
        phase = phase_of(state.step, config.pretrain_steps, config.phase_steps)
        return jax.lax.cond(
            phase == AGENT,
            lambda: agent_step(state, debates, graph),
            lambda: judge_step(state, debates, graph, phase),
        )

    return train_step


_AGENT_METRICS = (
    "reward_pro_sum",
    "reward_con_sum",
    "reward_pro_count",
    "reward_con_count",
    "entropy_sum",
    "entropy_count",
)


def _merge_shards(leaf: jax.Array) -> jax.Array:
    """[S, Q, …] -> [S x Q, …]."""
    return leaf.reshape(leaf.shape[0] * leaf.shape[1], *leaf.shape[2:])


def _zeros(*names: str, fill: jax.Array | None = None) -> Metrics:
    return {name: jnp.zeros(()) if fill is None else fill for name in names}


def _mean_by_agent(reward: jax.Array, weight: jax.Array) -> jax.Array:
    """The mean reward of pro and con, float32 [2], of reward [B, A] and weight [B]."""
    total = (reward * weight[:, None]).reshape(reward.shape[0], -1, len(AGENTS))
    return total.sum(axis=(0, 1)) / jnp.maximum(weight.sum() * total.shape[1], 1)


def train(room: Room) -> Facts:
    """Trains as `fit_run` says, from the last checkpoint if there is one; facts for the report."""
    config = room.config.train
    step_fn = jit_step(make_train_step(room), room.mesh, room.graph)
    state = room.initial_state()
    num_params = sum(
        leaf.size for name in ("judge", *AGENTS) for leaf in jax.tree.leaves(state.params[name])
    )
    valid = labelled_split(room.kg, "valid", seed=room.config.seed, limit=config.evaluate_queries)

    def quick_evaluation(state: TrainState, step: int) -> Mapping[str, float]:
        found = debate_claims(
            room, state.params, valid.triples, rollouts=config.evaluate_rollouts, progress_bar=False
        )
        return quick_figures(found.probability, valid.labels)

    record = fit_run(
        room,
        state,
        step_fn,
        lambda step: room.sampler.batch_at(step, room.shards),
        evaluate=quick_evaluation,
    )
    return run_facts(room.mesh, record, parameters=num_params, examples="Debates")
