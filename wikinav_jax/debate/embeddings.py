"""Training an embedding model on a knowledge graph, and the tables that come of it.

The loss is cross-entropy over entities for every (s, p, o) and, with the inverse relation, every
(o, p + R, s) (Lacroix et al., 2018); against all entities, or against a uniform sample of them
whose weights stand for the rest.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh

from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.debate.completion import as_given
from wikinav_jax.debate.embeddings_batches import EmbeddingBatch, QuerySampler
from wikinav_jax.debate.embeddings_models import MODELS, Model, Params, embed, score_triples
from wikinav_jax.debate.embeddings_ranking import filtered_ranks, log_totals
from wikinav_jax.graph.triples import KnowledgeGraph
from wikinav_jax.training.checkpoint import Checkpointer
from wikinav_jax.training.loop import FitRecord, fit
from wikinav_jax.training.mesh import local_shards, make_mesh, replicate
from wikinav_jax.training.metrics import MetricWriter
from wikinav_jax.training.optimizers import make_schedule
from wikinav_jax.training.state import TrainState, apply_gradients, create_state, step_key
from wikinav_jax.training.step import Metrics, jit_step

_TRIPLES_PER_CALL = 8192  # scored at once


@dataclass(frozen=True)
class EmbeddingConfig:
    """How to train one model; `preset` has settings to begin with."""

    model: str  # a key of MODELS
    dim: int = 256  # numbers per entity; ComplEx and SimplE have two halves of dim / 2
    epochs: int = 30  # passes over all training triples and their inverses
    min_steps: int = 0  # at least so many updates: small graphs are passed over more often
    batch_size: int = 1024  # rows, see QuerySampler
    num_negatives: int = 2048  # entities that a batch's queries share; 0: all
    optimizer: str = "adagrad"  # or "adam"
    learning_rate: float = 0.2  # falls linearly to 0
    init_scale: float = 0.3  # standard deviation of the first embeddings
    entity_dropout: float = 0.0  # of the numbers of the subject
    relation_dropout: float = 0.0
    n3: float = 0.0  # weight of the cubed norms of what a batch embeds (Lacroix et al., 2018)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise KeyError(
                f"no embedding model {self.model!r}.{did_you_mean(self.model, MODELS)} "
                f"There are: {', '.join(MODELS)}"
            )
        for field in ("dim", "epochs", "batch_size"):
            if getattr(self, field) < 1:
                raise ValueError(f"{field}={getattr(self, field)} must be at least 1")


_MIN_STEPS = 2_000
# TransE's were chosen on validation triples of FB15k-237 (test MRR .297 after 20 epochs). Those of
# the products follow Lacroix et al. (2018) at a smaller width; TransR's follow TransE's.
_PRESETS: dict[str, dict[str, Any]] = {
    "transe": {
        "dim": 128,
        "epochs": 30,
        "batch_size": 256,
        "num_negatives": 512,
        "optimizer": "adam",
        "learning_rate": 0.002,
        "init_scale": 0.02,
    },
    "transr": {
        "dim": 64,
        "epochs": 10,
        "batch_size": 512,
        "num_negatives": 512,
        "optimizer": "adam",
        "learning_rate": 0.002,
        "init_scale": 0.02,
    },
    **{
        model: {
            "dim": 200,
            "epochs": 20,
            "batch_size": 256,
            "num_negatives": 1024,
            "learning_rate": 0.1,
            "init_scale": 0.05,
            "n3": 0.05,
        }
        for model in ("distmult", "complex", "simple")
    },
}


def preset(model: str, *, seed: int = 0) -> EmbeddingConfig:
    """The settings to begin with for a model; KeyError for an unknown one."""
    return EmbeddingConfig(model, **_PRESETS.get(model, {}), min_steps=_MIN_STEPS, seed=seed)


class EmbeddingTables(NamedTuple):
    """What training leaves, in host memory."""

    model: str
    params: dict[str, np.ndarray]  # "entity" [N, d], "relation" [2R, d], TransR also "space"

    @property
    def entity(self) -> np.ndarray:
        """float32 [N, d]."""
        return self.params["entity"]

    @property
    def relation(self) -> np.ndarray:
        """float32 [2R + 1, d]: relations, inverses, and zeros for STAY."""
        return np.pad(self.params["relation"], ((0, 1), (0, 0)))


class EmbeddingLoss:
    """Sampled cross-entropy of a batch, summed over its answers."""

    def __init__(self, model: Model, config: EmbeddingConfig, num_entities: int) -> None:
        self._model, self._config, self._num_entities = model, config, num_entities

    def __call__(
        self, params: Params, batch: EmbeddingBatch, key: jax.Array
    ) -> tuple[jax.Array, Metrics]:
        """The mean over answers (to differentiate), and its sum and count."""
        shards = batch.subject.shape[0]
        keys = jax.random.split(key, shards)
        sums = jax.vmap(functools.partial(self._shard, params))(keys, batch)
        loss_sum, penalty_sum, count = (part.sum() for part in sums)
        count = jnp.maximum(count, 1)
        loss = (loss_sum + self._config.n3 * penalty_sum) / count
        return loss, {"loss_sum": loss_sum, "penalty_sum": penalty_sum, "count": count}

    def _shard(
        self, params: Params, key: jax.Array, batch: EmbeddingBatch
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        config, model = self._config, self._model
        entity_key, relation_key = jax.random.split(key)
        query = embed(params, jnp.asarray(batch.subject), jnp.asarray(batch.relation))
        dropped = query._replace(
            subject=_dropout(entity_key, query.subject, config.entity_dropout),
            relation=_dropout(relation_key, query.relation, config.relation_dropout),
        )
        answers = params["entity"][batch.answers]  # [B, C, d]
        right = model.pairs(params, dropped, answers)  # [B, C]
        mask = batch.mask.astype(right.dtype)
        if batch.negatives.shape[0]:
            others = model.cross(params, dropped, params["entity"][batch.negatives])
            # Each sampled entity stands for N / K of them.
            weight = jnp.log(self._num_entities / batch.negatives.shape[0])
            rest = jax.nn.logsumexp(others, axis=1)[:, None] + weight
            losses = jnp.logaddexp(right, rest) - right
        else:
            others = model.cross(params, dropped, params["entity"])
            losses = jax.nn.logsumexp(others, axis=1)[:, None] - right
        penalty = jnp.zeros(())
        if config.n3:
            cubes = (jnp.abs(query.subject) ** 3).sum(-1) + (jnp.abs(query.relation) ** 3).sum(-1)
            cubes = cubes[:, None] + (jnp.abs(answers) ** 3).sum(-1)
            penalty = (mask * cubes).sum()
        return (mask * losses).sum(), penalty, mask.sum()


def _dropout(key: jax.Array, values: jax.Array, rate: float) -> jax.Array:
    if not rate:
        return values
    kept = jax.random.bernoulli(key, 1 - rate, values.shape)
    return jnp.where(kept, values / (1 - rate), 0)


def make_embedding_step(
    loss: EmbeddingLoss, optimizer: optax.GradientTransformation
) -> Callable[[TrainState, EmbeddingBatch], tuple[TrainState, Metrics]]:
    """The pure training step."""

    def train_step(state: TrainState, batch: EmbeddingBatch) -> tuple[TrainState, Metrics]:
        gradients, metrics = jax.grad(loss, has_aux=True)(state.params, batch, step_key(state))
        return apply_gradients(state, gradients, optimizer), metrics

    return train_step


def make_embedding_optimizer(
    config: EmbeddingConfig, num_steps: int
) -> optax.GradientTransformation:
    """Adagrad or Adam at a rate that falls linearly to 0."""
    rate = make_schedule("linear", config.learning_rate, num_steps=num_steps)
    makers: dict[str, Callable[[], optax.GradientTransformation]] = {
        "adagrad": lambda: optax.adagrad(rate, initial_accumulator_value=0.0, eps=1e-10),
        "adam": lambda: optax.adam(rate),
    }
    if config.optimizer not in makers:
        raise KeyError(
            f"no optimizer {config.optimizer!r} for embeddings; there are {', '.join(makers)}"
        )
    return makers[config.optimizer]()


def train_embedding(
    graph: KnowledgeGraph,
    config: EmbeddingConfig,
    workdir: str | Path,
    *,
    mesh: Mesh | None = None,
    valid_queries: int = 2_000,
    evaluations: int = 5,
) -> tuple[EmbeddingTables, FitRecord]:
    """Trains a model on the training triples, or goes on where an earlier call stopped.

    A finished run in `workdir` is only read. Metrics (also the filtered MRR of some validation
    queries) go to its metrics.jsonl.

    Args:
      graph: whose training triples and inverses are learned.
      config: the model and its hyper-parameters.
      workdir: for checkpoints and metrics; it belongs to this graph and config.
      mesh: the devices; all of them by default.
      valid_queries: validation queries to rank during training.
      evaluations: how often, evenly over the run.

    Raises:
      CheckpointError: the workdir holds another run.
      NonFiniteLossError: training diverged.
    """
    mesh = make_mesh() if mesh is None else mesh
    workdir = Path(workdir)
    model = MODELS[config.model]
    sampler = QuerySampler(
        graph.known_in_train,
        batch_size=config.batch_size,
        num_shards=mesh.size,
        num_negatives=config.num_negatives,
        block=model.block,
        seed=config.seed,
    )
    num_steps = max(config.epochs * sampler.steps_per_epoch, config.min_steps)
    optimizer = make_embedding_optimizer(config, num_steps)
    init_key, train_key = jax.random.split(jax.random.key(config.seed))
    params = model.init(
        init_key, graph.num_entities, 2 * graph.num_relations, config.dim, config.init_scale
    )
    state = replicate(mesh, create_state(params, optimizer, train_key))
    loss = EmbeddingLoss(model, config, graph.num_entities)
    shards = local_shards(mesh.size, mesh)
    probe = _probe(graph, valid_queries)

    def evaluate(state: TrainState, step: int) -> Mapping[str, float]:
        if not len(probe):
            return {}
        return {"mrr": float((1 / filtered_ranks(model, state.params, probe, graph.known)).mean())}

    identity = {
        **dataclasses.asdict(config),
        "graph": graph.name,
        "entities": graph.num_entities,
        "relations": graph.num_relations,
        "triples": len(graph.train),
    }
    with Checkpointer(workdir / "checkpoints", identity=identity, keep=1) as checkpointer:
        last = checkpointer.latest_step()
        if last is not None:
            checkpointer.read_run(last)  # another run's folder is refused before it is touched
        writer = MetricWriter(workdir)
        state, record = fit(
            state=state,
            step_fn=jit_step(make_embedding_step(loss, optimizer), mesh),
            batch_at=lambda step: sampler.batch_at(step, shards),
            num_steps=num_steps,
            mesh=mesh,
            checkpointer=checkpointer,
            writer=writer,
            log_every=max(1, sampler.steps_per_epoch // 4),
            checkpoint_every=max(1, num_steps // 10),
            evaluate=evaluate,
            evaluate_every=max(1, num_steps // evaluations),
            description=f"Training {config.model}",
        )
        writer.close()
    tables = {name: np.asarray(jax.device_get(value)) for name, value in state.params.items()}
    return EmbeddingTables(config.model, tables), record


def _probe(graph: KnowledgeGraph, count: int) -> np.ndarray:
    queries = graph.with_inverses(graph.valid)
    if len(queries) <= count:
        return queries
    return np.random.default_rng(0).choice(queries, count, replace=False)


def score_with(tables: EmbeddingTables, graph: KnowledgeGraph, triples: np.ndarray) -> np.ndarray:
    """Scores of int32 [n, 3] triples: the mean of both directions, float32 [n]."""
    both = graph.with_inverses(as_given(graph, triples))
    return _scores(tables, both).reshape(2, -1).mean(axis=0)


def log_probabilities(
    tables: EmbeddingTables, graph: KnowledgeGraph, triples: np.ndarray
) -> np.ndarray:
    """log p(o | s, p) of int32 [n, 3] triples among all entities, float32 [n].

    What the loss trains. Scores of one query compare with each other only; these compare between
    queries too, and so tell labelled triples apart better (`benchmarks.knowledge_embeddings`).
    """
    triples = np.asarray(triples, np.int32).reshape(-1, 3)
    if not len(triples):
        return np.zeros(0, np.float32)
    params: Any = tables.params
    queries, place = np.unique(triples[:, :2], axis=0, return_inverse=True)
    totals = log_totals(MODELS[tables.model], params, queries[:, 0], queries[:, 1])
    return _scores(tables, triples) - totals[place]


def _scores(tables: EmbeddingTables, triples: np.ndarray) -> np.ndarray:
    params: Any = tables.params
    score = jax.jit(functools.partial(score_triples, MODELS[tables.model]))
    found = np.zeros(len(triples), np.float32)
    for start in range(0, len(triples), _TRIPLES_PER_CALL):
        part = triples[start : start + _TRIPLES_PER_CALL]
        padded = np.pad(part, ((0, _TRIPLES_PER_CALL - len(part)), (0, 0)))
        found[start : start + len(part)] = np.asarray(score(params, padded))[: len(part)]
    return found
