"""A single walker that looks for the object itself: what completion by debate is compared with.

MINERVA (Das et al., ICLR 2018): the same LSTM without the object, reward 1 for ending at it,
REINFORCE with a moving-average baseline. Candidates are ranked by how many of its walks end there.

Axes: S shards, Q queries, R rollouts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from wikinav_jax.common.progress import progress
from wikinav_jax.debate.agents import Agent
from wikinav_jax.debate.arguments import Rules, play, repeat
from wikinav_jax.debate.completion import CompletionTask
from wikinav_jax.debate.data import as_queries, training_facts
from wikinav_jax.debate.evaluate import spread
from wikinav_jax.debate.losses import reinforce_loss
from wikinav_jax.debate.optimizers import AlternatingState, alternating
from wikinav_jax.debate.room import Room
from wikinav_jax.debate.types import DebateGraph, Params, Queries
from wikinav_jax.training.checkpoint import Checkpointer
from wikinav_jax.training.loop import fit
from wikinav_jax.training.mesh import DATA_AXIS, replicate, replicated
from wikinav_jax.training.metrics import MetricWriter
from wikinav_jax.training.optimizers import make_optimizer, make_schedule
from wikinav_jax.training.state import TrainState, apply_gradients, create_state, step_key
from wikinav_jax.training.step import Metrics, jit_step

WALKER = "walker"


class Walker:
    """The walker of one run."""

    def __init__(self, room: Room) -> None:
        config = room.config
        self.room = room
        self.agent = Agent(
            room.kg.num_entities, room.graph.num_tokens, config.agents.dim, sees_object=False
        )
        rate = make_schedule(
            config.train.schedule, config.agents.learning_rate, num_steps=config.walker.num_steps
        )
        adam = make_optimizer("adam", rate, clip_norm=config.train.clip_norm)
        self.optimizer = alternating({WALKER: adam})
        # Both directions, so that it can also be asked for subjects.
        facts = training_facts(room.kg, config.train.relations)
        self._facts = room.kg.with_inverses(facts)

    def rules(self, policy: str) -> Rules:
        """One walk; only the query's own edge is hidden, for other answers lead to the answer."""
        config = self.room.config
        return Rules(
            num_rounds=1,
            path_length=config.debate.path_length,
            hide="query",
            policy=policy,
            width=config.train.max_actions,
            agents=(WALKER,),
        )

    def batch_at(self, step: int, shards: Iterable[int]) -> Queries:
        """Leaves [S, Q]: facts drawn from (seed, shard, step)."""
        config = self.room.config
        drawn = []
        for shard in shards:
            rng = np.random.default_rng([config.seed, shard, step, 1])
            rows = rng.integers(0, len(self._facts), config.train.queries_per_shard)
            drawn.append(as_queries(self._facts[rows]))
        return jax.tree.map(lambda *leaves: np.stack(leaves), *drawn)

    def initial_state(self) -> TrainState:
        """The state at step 0, on every device."""
        init_key, train_key = jax.random.split(jax.random.key(self.room.config.seed + 1))
        queries = jax.tree.map(jnp.asarray, as_queries(self._facts[:2]))
        params = {WALKER: jax.jit(self.agent.init)(init_key, queries)["params"]}
        return replicate(self.room.mesh, create_state(params, self.optimizer, train_key))

    def train(self) -> Params:
        """Trains in the run's folder `walker`, or goes on, or reads what is finished."""
        config, room = self.room.config, self.room
        identity = {
            "seed": config.seed,
            "agents": config.agents.to_dict(),
            "walker": config.walker.to_dict(),
            "facts": len(self._facts),
            "entities": room.kg.num_entities,
        }
        folder = room.workdir / "walker"
        with Checkpointer(folder / "checkpoints", identity=identity, keep=1) as checkpointer:
            writer = MetricWriter(folder)
            state, _ = fit(
                state=self.initial_state(),
                step_fn=jit_step(self.make_step(), room.mesh, room.graph),
                batch_at=lambda step: self.batch_at(step, room.shards),
                num_steps=config.walker.num_steps,
                mesh=room.mesh,
                checkpointer=checkpointer,
                writer=writer,
                log_every=config.train.log_every,
                checkpoint_every=config.train.checkpoint_every,
                workers=config.train.workers,
                description="Training the walker",
            )
            writer.close()
        return state.params

    def make_step(
        self,
    ) -> Callable[[TrainState, Queries, DebateGraph], tuple[TrainState, Metrics]]:
        """The pure step: walk, and follow the gradient of the chance to end at the object."""
        config = self.room.config.train
        rules = self.rules("window")

        def step(
            state: TrainState, batch: Queries, graph: DebateGraph
        ) -> tuple[TrainState, Metrics]:
            flat = jax.tree.map(lambda leaf: leaf.reshape(-1), batch)
            queries = repeat(flat, config.rollouts)
            opt_state: AlternatingState = state.opt_state
            before = opt_state.baseline
            bonus = config.entropy_bonus * config.entropy_decay**before.updates
            weight = jnp.ones(queries.subject.shape[0])

            def loss_fn(params: Any) -> tuple[jax.Array, Any]:
                walks, choices = play(self.agent, params, graph, queries, step_key(state), rules)
                reached = (walks.entity[:, 0, -1] == queries.object).astype(jnp.float32)
                advantage = (reached - before.mean()[0])[:, None]
                sums = reinforce_loss(choices.log_prob, choices.entropy, advantage, weight, bonus)
                return sums["loss_sum"] / sums["count"], (sums, reached)

            gradients, (sums, reached) = jax.grad(loss_fn, has_aux=True)(state.params)
            after = apply_gradients(state, gradients, self.optimizer)
            reward = jnp.full(2, reached.mean())
            baseline = before.after(reward, config.baseline_decay)
            after = after.replace(opt_state=after.opt_state._replace(baseline=baseline))
            metrics = {**sums, "reached_sum": reached.sum(), "reached_count": weight.sum()}
            return after, {**metrics, "entropy_count": sums["count"]}

        return step

    def candidate_scores(self, params: Params, task: CompletionTask, rollouts: int) -> np.ndarray:
        """How many of a query's walks end at each candidate, float64 [M]."""
        ends = self.walk_ends(params, task.queries, rollouts)
        hits = ends[task.group] == task.candidates[:, 2:3]
        return hits.sum(axis=1).astype(np.float64)

    def walk_ends(self, params: Params, triples: np.ndarray, rollouts: int) -> np.ndarray:
        """Where each query's walks end, int32 [Q, R]; every edge may be chosen."""
        room = self.room
        size = min(room.config.evaluate.queries, len(triples))
        program = _program(room.mesh, self.agent, self.rules("all"), rollouts)
        rows = room.mesh.size * size
        rounds = -(-len(triples) // rows)
        padded = np.resize(np.asarray(triples, np.int32), (rounds * rows, 3))
        key = jax.random.key(room.config.seed)
        found = []
        for number in progress(range(rounds), desc="Walks", unit="chunk"):
            queries = spread(room.mesh, as_queries(padded[number * rows : (number + 1) * rows]))
            place = number * room.mesh.size + np.arange(room.mesh.size, dtype=np.int32)
            ends = program(params, room.graph, queries, spread(room.mesh, place), key)
            found.append(np.asarray(jax.device_get(ends)))
        return np.concatenate(found)[: len(triples)]


@functools.cache
def _program(mesh: Mesh, agent: Agent, rules: Rules, rollouts: int) -> Any:
    split, whole = P(DATA_AXIS), P()

    def on_device(
        params: Params, graph: DebateGraph, queries: Queries, number: jax.Array, key: jax.Array
    ) -> jax.Array:
        key = jax.random.fold_in(key, number[0])
        walks, _ = play(agent, params, graph, repeat(queries, rollouts), key, rules)
        return walks.entity[:, 0, -1].reshape(-1, rollouts)

    mapped = jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(whole, whole, split, split, whole),
        out_specs=split,
        check_vma=False,  # the loops of the devices have nothing in common
    )
    return jax.jit(mapped, out_shardings=replicated(mesh))
