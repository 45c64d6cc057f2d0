"""REINFORCE: the policy learns from its own walks, by whether they reached their targets.

The rollout is part of the step, so an update is on-policy, a run resumes to the bit, and one device
and many learn the same. RFBC paper, section 4: the comparison of cloning with reinforcement.

Axes: S shards, W walkers of a shard, R rounds (the most moves of an episode), C action capacity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import optax
from flax import struct

from wikinav_jax.graph.linked_text import EdgeKind
from wikinav_jax.navigation.decoding import DECODINGS, choose_ranks
from wikinav_jax.navigation.device_graph import DeviceGraph, expand, out_degree
from wikinav_jax.navigation.episodes import EpisodeBatch
from wikinav_jax.navigation.losses import segment_log_softmax, segment_sum
from wikinav_jax.navigation.types import (
    AT_START,
    NO_NODE,
    Array,
    Decisions,
    NodeFeatures,
    PolicyInput,
    Scorer,
)
from wikinav_jax.navigation.walkers import decision_key
from wikinav_jax.training.state import TrainState, apply_gradients, step_key
from wikinav_jax.training.step import Metrics


class Moves(struct.PyTreeNode):
    """What walkers saw and did in one round; leaves [R, …] for a rollout."""

    inputs: PolicyInput  # decisions [W], actions [C]
    taken: Array  # int32 [W], index into the flat actions
    moved: Array  # bool [W], False for a walker that has ended, or whose links did not fit


class _Walkers(struct.PyTreeNode):
    decisions: Decisions  # [W]
    path: Array  # int32 [W, R + 1], nodes stood at; NO_NODE after the last
    walking: Array  # bool [W]
    reached: Array  # bool [W]


def play(
    scorer: Scorer,
    params: Any,
    graph: DeviceGraph,
    features: NodeFeatures,
    episodes: EpisodeBatch,
    key: jax.Array,
    *,
    max_steps: int,
    capacity: int,
) -> tuple[Moves, jax.Array]:
    """Walks of one shard under the policy's own probabilities.

    A walker whose links do not fit into the round's capacity waits for the next one, so no hub is
    cut; it makes fewer moves.

    Args:
      scorer: gives the links their logits.
      params: of the scorer.
      graph: the links; the capacity holds those of any one node.
      features: of the nodes.
      episodes: leaves [W].
      key: typed key of the shard's draws.
      max_steps: R.
      capacity: C.

    Returns:
      Moves with leaves [R, …], and bool [W], which walkers reached their target.
    """
    num_walkers = episodes.start.shape[0]
    lane = jnp.arange(num_walkers)
    zero = jnp.zeros(num_walkers, jnp.int32)

    def round_(walkers: _Walkers, number: jax.Array) -> tuple[_Walkers, Moves]:
        now = walkers.decisions
        degree = out_degree(graph, now.node)
        walking = walkers.walking & (degree > 0)  # a dead end is a failure
        links = jnp.where(walking, degree, 0)
        # Another walker comes first in each round: nobody waits behind the same hub for ever.
        ends = jnp.roll(jnp.cumsum(jnp.roll(links, -number)), number)
        moved = walking & (ends <= capacity)
        actions = expand(graph, now.node, moved, walkers.path, capacity)
        inputs = PolicyInput(decisions=now, actions=actions)
        logits = scorer(params, features, inputs)
        keys = jax.vmap(decision_key, in_axes=(None, 0, None))(key, lane, number)
        rank = choose_ranks(logits, actions, keys, num_walkers, DECODINGS["sample"])
        rank = jnp.maximum(rank, 0)  # logits that are not finite make the loss so

        count = jnp.where(moved, degree, 0)
        taken = jnp.where(moved, jnp.cumsum(count) - count + rank, 0)
        slot = jnp.where(moved, graph.indptr[now.node] + rank, 0)
        kind = graph.kind[slot]
        node = jnp.where(moved, graph.indices[slot], now.node)
        step = now.step + moved
        run = jnp.where(kind >= EdgeKind.NEXT, now.run + 1, 0)
        reached = moved & (node == now.target)
        after = now.replace(
            node=node,
            previous=jnp.where(moved, now.node, now.previous),
            arrived_by=jnp.where(moved, kind, now.arrived_by),
            run=jnp.where(moved, run, now.run),
            step=step,
        )
        following = _Walkers(
            decisions=after,
            path=walkers.path.at[lane, step].set(node),
            walking=walking & ~reached,
            reached=walkers.reached | reached,
        )
        return following, Moves(inputs=inputs, taken=taken, moved=moved)

    begin = _Walkers(
        decisions=Decisions(
            node=episodes.start,
            target=episodes.target,
            previous=jnp.full(num_walkers, NO_NODE, jnp.int32),
            arrived_by=jnp.full(num_walkers, AT_START, jnp.uint8),
            run=zero,
            step=zero,
        ),
        path=jnp.full((num_walkers, max_steps + 1), NO_NODE, jnp.int32)
        .at[:, 0]
        .set(episodes.start),
        walking=jnp.ones(num_walkers, bool),
        reached=jnp.zeros(num_walkers, bool),
    )
    end, moves = jax.lax.scan(round_, begin, jnp.arange(max_steps))
    return moves, end.reached


def reinforce_loss(logits: jax.Array, moves: Moves, advantage: jax.Array) -> Metrics:
    """-advantage x log p(link taken), summed over the moves of one round.

    Williams (1992), with the episode's reward less a baseline as the advantage of all its moves.

    Args:
      logits: float [C].
      moves: one round.
      advantage: float [W], of each walker's episode.

    Returns:
      Scalars: policy_loss_sum, entropy_sum (nats, of the policy at each move), count (moves).
    """
    chex.assert_rank([logits, moves.taken, moves.moved, advantage], 1)
    chex.assert_equal_shape([moves.taken, moves.moved, advantage])
    actions, num_walkers = moves.inputs.actions, moves.taken.shape[0]
    log_prob = segment_log_softmax(logits, actions, num_walkers)
    weighed = jnp.where(actions.valid, jnp.exp(log_prob) * log_prob, 0.0)
    entropy = -segment_sum(weighed, actions, num_walkers)
    chosen = log_prob[moves.taken]
    return {
        "policy_loss_sum": -jnp.where(moves.moved, advantage * chosen, 0.0).sum(),
        "entropy_sum": jnp.where(moves.moved, entropy, 0.0).sum(),
        "count": moves.moved.sum(dtype=jnp.float32),
    }


class AveragedState(NamedTuple):
    """An optimizer's state beside the moving average of rewards, which is the baseline."""

    inner: Any
    reward: jax.Array  # float32 [], moving average that began at 0
    weight: jax.Array  # float32 [], what it weighs by now; the mean is reward / weight


def with_reward_average(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    """The same optimizer, whose state has room for the moving average of rewards."""

    def init(params: Any) -> AveragedState:
        return AveragedState(optimizer.init(params), jnp.zeros(()), jnp.zeros(()))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, AveragedState]:
        updates, inner = optimizer.update(updates, state.inner, params)
        return updates, state._replace(inner=inner)

    return optax.GradientTransformation(init, update)


def average_reward(state: AveragedState) -> jax.Array:
    """The baseline, float32 []: the moving average so far, 0 before the first update."""
    return state.reward / jnp.maximum(state.weight, 1e-8)


def make_reinforce_step(
    scorer: Scorer,
    optimizer: optax.GradientTransformation,
    *,
    max_steps: int,
    capacity: int,
    entropy_bonus: float,
    baseline_decay: float,
) -> Callable[..., tuple[TrainState, Metrics]]:
    """The pure step: play, then follow the gradient of expected reward and entropy.

    Args:
      scorer: the policy, without dropout: what is played is what is learned.
      optimizer: from `with_reward_average`.
      max_steps: R.
      capacity: C.
      entropy_bonus: reward of one nat of the policy's entropy at a move.
      baseline_decay: of the moving average, once an update.
    """

    def train_step(
        state: TrainState, batch: EpisodeBatch, features: NodeFeatures, graph: DeviceGraph
    ) -> tuple[TrainState, Metrics]:
        chex.assert_rank([batch.start, batch.target], 2)
        num_shards = batch.start.shape[0]
        key = step_key(state)

        def play_shard(shard: jax.Array, episodes: EpisodeBatch) -> tuple[Moves, jax.Array]:
            return play(
                scorer,
                state.params,
                graph,
                features,
                episodes,
                jax.random.fold_in(key, shard),
                max_steps=max_steps,
                capacity=capacity,
            )

        moves, reached = jax.vmap(play_shard)(jnp.arange(num_shards), batch)
        moves = jax.lax.stop_gradient(moves)  # [S, R, …]
        reward = reached.astype(jnp.float32)  # [S, W]
        before: Any = state.opt_state
        advantage = reward - average_reward(before)

        def loss_fn(params: Any) -> tuple[jax.Array, Metrics]:
            def of_round(part: Moves, advantage: jax.Array) -> Metrics:
                return reinforce_loss(scorer(params, features, part.inputs), part, advantage)

            of_shard = jax.vmap(of_round, in_axes=(0, None))
            sums = jax.tree.map(jnp.sum, jax.vmap(of_shard)(moves, advantage))
            loss = sums["policy_loss_sum"] - entropy_bonus * sums["entropy_sum"]
            sums["loss_sum"] = loss
            return loss / sums["count"], sums

        gradients, metrics = jax.grad(loss_fn, has_aux=True)(state.params)
        after = apply_gradients(state, gradients, optimizer)
        fresh = 1 - baseline_decay
        average = after.opt_state._replace(
            reward=baseline_decay * before.reward + fresh * reward.mean(),
            weight=baseline_decay * before.weight + fresh,
        )
        metrics["reward_sum"] = reward.sum()
        metrics["reward_count"] = jnp.asarray(reward.size, jnp.float32)
        return after.replace(opt_state=average), metrics

    return train_step
