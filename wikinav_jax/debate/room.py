"""Room: a config made concrete. Graph, devices, agents, judges, state and checkpoints."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from ml_collections import ConfigDict

from wikinav_jax.common.config import flatten
from wikinav_jax.common.files import fingerprint
from wikinav_jax.debate.agents import Agent
from wikinav_jax.debate.arguments import Rules, no_arguments, play
from wikinav_jax.debate.config import hide_in_training
from wikinav_jax.debate.data import QuerySampler, as_queries
from wikinav_jax.debate.environment import MARKS, to_device
from wikinav_jax.debate.judge import Judge
from wikinav_jax.debate.optimizers import alternating
from wikinav_jax.debate.types import AGENTS, DebateGraph
from wikinav_jax.graph.triples import KnowledgeGraph
from wikinav_jax.training.checkpoint import Checkpointer
from wikinav_jax.training.mesh import local_shards, make_mesh, replicate
from wikinav_jax.training.optimizers import make_optimizer, make_schedule
from wikinav_jax.training.state import TrainState, create_state

JUDGES = ("judge", "judge_walks", "judge_alone")  # the latter two only to compare with
BEST_METRIC = "accuracy"

# Fields that shape what is trained: a checkpoint with other values is refused.
_IDENTITY = ("seed", "dataset", "debate", "agents", "judge", "tables", "embedding", "train")
# ... except these, which only say how long, how often or how fast, or how it is evaluated.
_FREE = (
    "debate.max_actions",
    "train.workers",
    "train.log_every",
    "train.checkpoint_every",
    "train.evaluate_every",
    "train.evaluate_queries",
    "train.evaluate_rollouts",
)
# Which parameters of which learners are given, by `config.tables`.
_GIVEN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "transe": ((*JUDGES, *AGENTS), ("entity", "relation")),
    "transe_claim": (JUDGES, ("claim_entity", "claim_relation")),
}


class Room:
    """One run: its config, its folder, its graph, its agents and judges."""

    def __init__(
        self,
        config: ConfigDict,
        workdir: Path,
        kg: KnowledgeGraph,
        tables: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """`tables`: entity [N, d] and relation [2R + 2, d], frozen, if `config.tables` says so."""
        self.config = config
        self.workdir = workdir
        self.kg = kg
        self.mesh = make_mesh()
        self.is_first = jax.process_index() == 0  # the process that writes files
        self._given = tables
        train = config.train
        capped = bool(config.debate.max_actions)
        self.graph: DebateGraph = to_device(
            kg, self.mesh, seed=config.seed, shuffle=train.sample_actions and not capped
        )
        given = 0 if tables is None else tables[0].shape[1]
        frozen = config.tables == "transe"
        tokens = self.graph.num_tokens
        marks = MARKS.index(config.debate.marks)
        self.agent = Agent(
            kg.num_entities,
            tokens,
            given if frozen else config.agents.dim,
            frozen=frozen,
            num_marks=marks,
        )
        self.judge = Judge(
            kg.num_entities,
            tokens,
            given if frozen else config.judge.dim,
            config.judge.hidden_dim,
            config.debate.path_length,
            aggregate=config.judge.aggregate,
            frozen=frozen,
            sees_subject=config.judge.sees_subject,
            claim_dim=0 if frozen else given,
            marks_object=bool(marks),
            dropout=config.judge.dropout,
        )
        self.shards = local_shards(train.num_shards, self.mesh)
        self.sampler = QuerySampler(
            kg,
            queries_per_shard=train.queries_per_shard,
            seed=config.seed,
            negative_side=train.negative_side,
            relations=train.relations,
            negatives=train.negatives,
            anything=train.any_object,
        )
        self.optimizers = self._make_optimizers()
        self.optimizer = alternating(self.optimizers)

    def _make_optimizers(self) -> dict[str, optax.GradientTransformation]:
        """One for each learner; a schedule counts the updates of its learner alone."""
        train = self.config.train
        after = max(train.num_steps - train.pretrain_steps, 0)
        turns, rest = divmod(after, 2 * train.phase_steps)
        judge_steps = turns * train.phase_steps + min(rest, train.phase_steps)
        agent_steps = after - judge_steps
        steps = dict.fromkeys(JUDGES, train.pretrain_steps + judge_steps)
        steps |= dict.fromkeys(AGENTS, agent_steps)
        rates = dict.fromkeys(JUDGES, self.config.judge.learning_rate)
        rates |= dict.fromkeys(AGENTS, self.config.agents.learning_rate)
        return {
            name: make_optimizer(
                "adam",
                make_schedule(train.schedule, rates[name], num_steps=max(steps[name], 1)),
                clip_norm=train.clip_norm,
            )
            for name in (*JUDGES, *AGENTS)
        }

    @property
    def given_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that are given and stay."""
        return _GIVEN[self.config.tables][1] if self.config.tables in _GIVEN else ()

    def rules(self, *, policy: str, training: bool) -> Rules:
        """How debates are played in training or in evaluation."""
        debate, train = self.config.debate, self.config.train
        if not training and policy == "all" and debate.max_actions:
            policy = "window"
        return Rules(
            num_rounds=debate.rounds,
            path_length=debate.path_length,
            hide=hide_in_training(self.config) if training else debate.hide,
            policy=policy,
            width=train.max_actions if training else debate.max_actions,
            sample_window=train.sample_actions and training,
            share_previous=debate.share_previous,
        )

    def initial_state(self) -> TrainState:
        """The state at step 0, on every device."""
        init_key, train_key = jax.random.split(jax.random.key(self.config.seed))
        return replicate(self.mesh, create_state(self._init(init_key), self.optimizer, train_key))

    def _init(self, key: jax.Array) -> dict[str, Any]:
        """Parameters of every learner, the given tables in place."""
        queries = jax.tree.map(jnp.asarray, as_queries(self.kg.train[:2]))
        rules = Rules(1, self.config.debate.path_length, "none", policy="uniform")

        @jax.jit
        def init(key: jax.Array, graph: DebateGraph) -> dict[str, Any]:
            keys = dict(
                zip(
                    (*JUDGES, *AGENTS),
                    jax.random.split(key, len(JUDGES) + len(AGENTS)),
                    strict=True,
                )
            )
            arguments, _ = play(self.agent, {}, graph, queries, key, rules)
            alone = no_arguments(graph, queries, rules.path_length)
            params = {name: self.agent.init(keys[name], queries)["params"] for name in AGENTS}
            for name in JUDGES:
                heard = alone if name == "judge_alone" else arguments
                params[name] = self.judge.init(keys[name], queries, heard)["params"]
            return params

        params = jax.device_get(init(key, self.graph))
        if self._given is not None:
            learners, names = _GIVEN[self.config.tables]
            for learner in learners:
                params[learner].update(zip(names, map(np.asarray, self._given), strict=True))
        return params

    def checkpointer(self, *, read_only: bool) -> Checkpointer:
        """The run's checkpoints; they belong to configs that agree on all that shapes the model."""
        fields = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in flatten(self.config)
            if name.partition(".")[0] in _IDENTITY and name not in _FREE
        }
        identity = {
            **fields,
            "entities": self.kg.num_entities,
            "relations": self.kg.num_relations,
            "facts": len(self.kg.train),
        }
        if self.config.dataset.name == "folder":  # any graph; others are known by their names
            identity["graph"] = _fingerprint(self.kg)
        return Checkpointer(
            self.workdir / "checkpoints",
            identity=identity,
            best_metric=BEST_METRIC,
            read_only=read_only,
        )

    def restore(self) -> TrainState:
        """The checkpoint that evaluation is to use; FileNotFoundError when there is none."""
        state = None
        if (self.workdir / "checkpoints").is_dir():
            with self.checkpointer(read_only=True) as checkpointer:
                step = checkpointer.best_step()
                if step is None or self.config.evaluate.checkpoint == "last":
                    step = checkpointer.latest_step()
                if step is not None:
                    state = checkpointer.restore(step, self.initial_state())
        if state is None:
            raise FileNotFoundError(
                f"no finished checkpoint in {self.workdir}; train first: the same command with "
                "--mode=train"
            )
        return state


def _fingerprint(kg: KnowledgeGraph) -> str:
    """A short hash of what training reads: the training triples, and the ids that they number."""
    triples = hashlib.sha256(np.ascontiguousarray(kg.train).tobytes()).hexdigest()
    return fingerprint([kg.entities, kg.relations, triples])
