"""Navigator: a config made concrete. Data, devices, policy, batches, state and checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
from ml_collections import ConfigDict

from wikinav_jax.common.config import cache_folder, check_choice, flatten
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.data import NavigationData, Part
from wikinav_jax.navigation.evaluate import Method
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.goals import GoalPolicy, RememberingGoalScorer
from wikinav_jax.navigation.policies import FeedForwardPolicy, PolicyScorer
from wikinav_jax.navigation.reinforce import with_reward_average
from wikinav_jax.navigation.similarity import SimilarityPolicy
from wikinav_jax.navigation.text_model import TextModel
from wikinav_jax.navigation.transformer import TransformerPolicy, TransformerScorer
from wikinav_jax.navigation.types import NodeFeatures, RememberingScorer, Scorer
from wikinav_jax.training.checkpoint import Checkpointer
from wikinav_jax.training.mesh import local_shards, make_mesh, replicate
from wikinav_jax.training.optimizers import make_optimizer, make_schedule
from wikinav_jax.training.state import TrainState, create_state, eval_params

POLICIES: dict[str, type[nn.Module]] = {
    "feed_forward": FeedForwardPolicy,
    "transformer": TransformerPolicy,
    "similarity": SimilarityPolicy,
}

# Fields that shape what is trained: a checkpoint with other values is refused.
_IDENTITY = (
    "seed",
    "dataset",
    "split",
    "features",
    "walks",
    "policy",
    "sentence",
    "encoder",
    "train",
)
# ... except these, which only say how long, how often or how fast.
_FREE = (
    "train.num_steps",
    "train.workers",
    "train.log_every",
    "train.checkpoint_every",
    "train.evaluate_every",
    "train.evaluate_episodes",
)


def make_policy(config: ConfigDict) -> nn.Module:
    """The policy that `config.policy.name` names, with its fields."""
    name = config.policy.name
    check_choice("policy.name", name, tuple(POLICIES))
    policy = POLICIES[name](**config.policy[name])
    if not config.sentence.enabled:
        return policy
    return GoalPolicy(policy, config.sentence.hidden_dim, config.sentence.dropout)


def make_scorer(policy: nn.Module) -> Scorer:
    """The policy as evaluation plays it; a Transformer keeps a memory of its steps."""
    if isinstance(policy, TransformerPolicy):
        return TransformerScorer(policy)
    if isinstance(policy, GoalPolicy) and isinstance(policy.policy, TransformerPolicy):
        return RememberingGoalScorer(policy, TransformerScorer(policy.policy))
    return PolicyScorer(policy)


@dataclass(frozen=True)
class Walkable:
    """A part of the data with its features on the devices."""

    part: Part
    features: NodeFeatures


class Navigator:
    """One run: its config, its folder, its data and its policy."""

    def __init__(self, config: ConfigDict, workdir: Path, data: NavigationData) -> None:
        self.config = config
        self.workdir = workdir
        self.data = data
        self.mesh = make_mesh()
        self.is_first = jax.process_index() == 0  # the process that writes files
        self.policy = make_policy(config)
        self.scorer = make_scorer(self.policy)
        self._walkable: dict[str, Walkable] = {}

        train, walks = config.train, config.walks
        spec = BatchSpec(
            num_shards=train.num_shards,
            decisions_per_shard=train.decisions_per_shard,
            min_walk_steps=walks.steps[0],
            max_walk_steps=walks.steps[1],
            policy=walks.policy,
            paths_per_start=walks.paths_per_start,
            target=walks.target,
            first_visit=walks.first_visit,
            last_exit=walks.last_exit,
            non_backtracking=walks.non_backtracking,
            skip_forced=walks.skip_forced,
            trails=isinstance(self.scorer, RememberingScorer),
        )
        self.shards = local_shards(spec.num_shards, self.mesh)
        goals = data.train.sentences if config.sentence.enabled else None
        self.sampler = WalkSampler(data.train.graph, spec, config.seed, goals)
        schedule = make_schedule(
            train.schedule,
            train.learning_rate,
            num_steps=train.num_steps,
            warmup_steps=min(train.warmup_steps, train.num_steps - 1),
        )
        optimizer = make_optimizer(
            train.optimizer,
            schedule,
            weight_decay=train.weight_decay,
            clip_norm=train.clip_norm,
        )
        averaged = train.algorithm == "reinforce"
        self.optimizer = with_reward_average(optimizer) if averaged else optimizer
        self.text: TextModel | None = None  # where phi is learned
        if config.encoder.enabled:
            self.text = TextModel(config, cache_folder(config), self.policy, self.sampler)
            self.optimizer = self.text.slow_down(self.optimizer)

    def walkable(self, name: str, state: TrainState | None = None) -> Walkable:
        """A part of the data ("all", "train" or "eval") on the devices; put there once.

        Where phi is learned it is the state's, and the blocks are read anew for another state.
        """
        if self.text is not None and state is not None:
            part = self.data.part(name)
            key = f"{name} at {int(state.step)}"
            if key not in self._walkable:
                self._walkable.clear()  # one table of links' vectors is large enough
                found = self.text.features(eval_params(state), part.graph, self.mesh)
                self._walkable[key] = Walkable(part, found)
            return self._walkable[key]
        if name not in self._walkable:
            part = self.data.part(name)
            features = make_node_features(
                part.graph,
                part.vectors,
                mesh=self.mesh,
                hops=self.config.features.hops,
                inward_hops=self.config.features.inward_hops,
            )
            self._walkable[name] = Walkable(part, features)
        return self._walkable[name]

    def initial_state(self) -> TrainState:
        """The state at step 0, on every device."""
        init_key, train_key = jax.random.split(jax.random.key(self.config.seed))
        init = self._init if self.text is None else self.text.init
        state = create_state(
            init(init_key), self.optimizer, train_key, ema_decay=self.config.train.ema_decay
        )
        return replicate(self.mesh, state)

    def _init(self, key: jax.Array) -> Any:
        """Parameters of the policy."""
        sample = jax.tree.map(lambda leaf: leaf[0], self.sampler.batch_at(0, [0]))
        features = self.walkable("train").features

        @jax.jit
        def init(key: jax.Array) -> Any:
            return self.policy.init(key, features, sample.inputs, train=False)["params"]

        return init(key)

    def checkpointer(self, *, read_only: bool) -> Checkpointer:
        """The run's checkpoints; they belong to configs that agree on all that shapes the model."""
        fields = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in flatten(self.config)
            if name.partition(".")[0] in _IDENTITY and name not in _FREE
        }
        graph = self.data.all.graph
        identity = {**fields, "nodes": graph.num_nodes, "edges": graph.num_edges}
        return Checkpointer(self.workdir / "checkpoints", identity=identity, read_only=read_only)

    def restore(self) -> TrainState:
        """The newest checkpoint; FileNotFoundError when there is none."""
        state = None
        if (self.workdir / "checkpoints").is_dir():
            with self.checkpointer(read_only=True) as checkpointer:
                state = checkpointer.restore_latest(self.initial_state())
        if state is None:
            raise FileNotFoundError(
                f"no finished checkpoint in {self.workdir}; train first: the same command with "
                "--mode=train"
            )
        return state

    def method(self, state: TrainState, decoding: str) -> Method:
        """The trained policy under one decoding."""
        params = eval_params(state)
        return Method(
            self.config.name,
            decoding,
            self.scorer,
            params if self.text is None else params["policy"],
            beam_width=self.config.evaluate.beam_width,
        )
