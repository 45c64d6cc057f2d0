"""Every field of a debate experiment, with the paper's setting as its value.

An experiment file in configs/ takes `default_config()` and changes what differs.
"""

from __future__ import annotations

from typing import Any

from absl import logging
from ml_collections import ConfigDict

from wikinav_jax.common.config import ConfigError, check_choice, check_range
from wikinav_jax.debate.embeddings_models import HALVED, MODELS
from wikinav_jax.debate.environment import HIDING, MARKS
from wikinav_jax.debate.hiding import AUTO
from wikinav_jax.debate.judge import AGGREGATES
from wikinav_jax.debate.negatives import SIDES
from wikinav_jax.debate.proposals import NEGATIVES

COMPATS = ("paper", "released_code")
TABLES = ("learned", "transe", "transe_claim")
REWARDS = ("logit", "probability")

# What the published code does otherwise than the paper; each is a field, so that it can be ablated.
RELEASED_CODE: dict[str, Any] = {
    "judge.aggregate": "mean",  # of the arguments, instead of their sum
    "train.baseline": False,  # the moving average is kept, but never subtracted
    "train.entropy_decay": 1.0,  # the bonus stays as it begins
    "train.l2": 0.0,
    "debate.share_previous": True,  # an argument begins with the other agent's last relation
    "debate.hide": "query",  # in the test: the claim in both directions
    "debate.hide_in_training": "query_forward",  # its inverse stays to be seen
    "debate.max_actions": 200,  # the first edges in the order of the file, in the test too
    "train.max_actions": 200,
    "train.sample_actions": False,
    "train.negative_side": "subject",
}


def default_config() -> ConfigDict:
    """The setting of the R2D2 paper."""
    config = ConfigDict()
    config.room = "debate"
    config.name = "r2d2"  # the `method` of the result rows
    config.seed = 0  # parameters, batches, debates and evaluation all follow from it
    config.data_dir = ""  # folder of the raw data
    config.cache_dir = ""  # compiled programs; empty: $WIKINAV_CACHE, or ~/.cache/wikinav_jax
    config.compat = "paper"  # or "released_code": sets the fields listed in RELEASED_CODE

    config.dataset = ConfigDict()
    config.dataset.name = "fb15k237"  # a key of datasets/catalog.py
    config.dataset.options = ConfigDict()  # options of the dataset's loader

    config.debate = ConfigDict()
    config.debate.rounds = 3  # N: arguments of each agent
    config.debate.path_length = 3  # T: steps of an argument
    # Edges hidden from the agents, see environment.HIDING; or "auto": "answers" or "pair", by what
    # joins the validation facts, see hiding.py.
    config.debate.hide = "answers"
    config.debate.hide_in_training = ""  # likewise in training; "" is the same
    config.debate.share_previous = False  # an argument begins with the last relation before it
    config.debate.marks = "none"  # beyond the paper: what shows of the object, environment.MARKS
    config.debate.max_actions = 0  # edges of an entity in evaluation, the first ones; 0: all

    config.agents = ConfigDict()
    config.agents.dim = 64  # d, width of the tables; the LSTM is 2d wide
    config.agents.learning_rate = 1e-3

    config.judge = ConfigDict()
    config.judge.dim = 64  # width of its tables
    config.judge.hidden_dim = 128  # of its MLPs
    config.judge.aggregate = "sum"  # over the arguments, or "mean"
    config.judge.dropout = 0.0  # in an argument's hidden layer
    config.judge.learning_rate = 1e-3
    config.judge.sees_subject = False  # beyond the paper: the claim itself is read too

    # Or "transe": frozen tables, trained here first (R2D2+); or, beyond the paper, "transe_claim":
    # these only for what the judge reads of the claim itself (judge.sees_subject).
    config.tables = "learned"

    config.embedding = ConfigDict()  # models of evaluate.embeddings
    config.embedding.dim = 0  # numbers of an entity; 0: as the model was tuned
    config.embedding.epochs = 0  # passes over the facts and their inverses; 0: likewise

    config.train = ConfigDict()
    config.train.num_steps = 6_000  # updates, pretraining and both phases counted
    config.train.pretrain_steps = 500  # of the judge on random walks, first
    config.train.phase_steps = 100  # then judge and agents by turns of so many steps
    config.train.relations = ()  # whose facts are debated in training, ids or names; (): all
    config.train.num_shards = 4  # of a batch; a multiple of the number of devices
    config.train.queries_per_shard = 128  # half of them negatives; even
    config.train.rollouts = 1  # debates of a query; new queries teach more than new debates
    config.train.max_actions = 64  # edges at hand at a step, at most
    config.train.sample_actions = True  # a hub's are sampled; False: its first ones
    config.train.negative_side = "object"  # of a fact is replaced in its negative; or "subject"
    # How false claims are drawn: one of every fact, or, beyond the paper, "validation": like the
    # published false validation triples, where there are some, see proposals.py.
    config.train.negatives = "facts"
    config.train.any_object = 0.0  # beyond the paper: share of them that have any entity
    config.train.reward = "logit"  # the judge's score of an argument alone, or its "probability"
    config.train.baseline = True  # subtract a moving average of rewards
    config.train.baseline_decay = 0.95  # once an update of the agents
    config.train.entropy_bonus = 0.05  # reward of a nat, at the first update of the agents
    config.train.entropy_decay = 0.999  # of the bonus, once an update of the agents
    config.train.l2 = 1e-6  # times half the judge's squares, added to its loss
    config.train.schedule = "cosine"  # of the learning rates; "linear" or "constant"
    config.train.clip_norm = 5.0  # of each gradient; 0 is off
    config.train.workers = 1  # threads that draw batches
    config.train.log_every = 50  # updates
    config.train.checkpoint_every = 500  # updates
    config.train.evaluate_every = 500  # updates; 0: at the end only
    config.train.evaluate_queries = 2_000  # labelled validation triples, during training
    config.train.evaluate_rollouts = 4  # likewise

    config.evaluate = ConfigDict()
    config.evaluate.rollouts = 20  # debates of a claim, whose probabilities are averaged
    config.evaluate.queries = 64  # of a chunk; a device debates one at a time
    config.evaluate.max_queries = 0  # of each labelled split, drawn by the seed; 0: all
    config.evaluate.checkpoint = "best"  # by validation accuracy, or "last"
    config.evaluate.baselines = True  # prior, judges without agents, silenced agents
    config.evaluate.embeddings = ()  # names of embedding models to train and compare with
    config.evaluate.stack = False  # beyond the paper: all scores together, see others.stack
    config.evaluate.example_debates = 6  # in the report

    config.completion = ConfigDict()
    config.completion.enabled = False  # rank candidates on the paper's relations, where it has any
    config.completion.rollouts = 5  # debates of a candidate
    config.completion.max_queries = 200  # of a relation, drawn by the seed; 0: all
    config.completion.all_entities = 0  # test triples to rank among all entities; slow

    config.walker = ConfigDict()
    config.walker.enabled = False  # also train a single walker for completion, as MINERVA
    config.walker.num_steps = 2_000  # updates
    config.walker.rollouts = 100  # walks of a query, whose ends rank the candidates

    config.explain = ConfigDict()
    config.explain.triple = ""  # SUBJECT|RELATION|OBJECT, names or ids

    config.quiz = ConfigDict()
    config.quiz.claims = 10  # of a quiz page
    config.quiz.arguments = 3  # of each side, the strongest
    return config


def apply_compat(config: ConfigDict) -> ConfigDict:
    """The config with the fields that `config.compat` sets, as a new config."""
    check_choice("compat", config.compat, COMPATS)
    if config.compat != "released_code":
        return config
    changed = ConfigDict(config.to_dict())
    changed.update_from_flattened_dict(RELEASED_CODE)
    return changed


def hide_in_training(config: ConfigDict) -> str:
    """The rule of hidden edges in training."""
    rule: str = config.debate.hide_in_training or config.debate.hide
    return rule


def check_config(config: ConfigDict) -> None:
    """Raises ConfigError for values that could only fail later; warns of what teaches nothing."""
    check_choice("compat", config.compat, COMPATS)
    check_choice("debate.marks", config.debate.marks, MARKS)
    check_choice("debate.hide", config.debate.hide, (*HIDING, AUTO))
    if config.debate.hide_in_training:
        check_choice("debate.hide_in_training", config.debate.hide_in_training, HIDING)
    check_choice("judge.aggregate", config.judge.aggregate, AGGREGATES)
    check_choice("tables", config.tables, TABLES)
    if config.tables == "transe_claim" and not config.judge.sees_subject:
        raise ConfigError(
            "config.tables='transe_claim' is for a judge that reads the claim: set "
            "config.judge.sees_subject=True, or choose another of " + ", ".join(TABLES)
        )
    check_choice("train.negative_side", config.train.negative_side, SIDES)
    check_choice("train.negatives", config.train.negatives, NEGATIVES)
    check_choice("train.reward", config.train.reward, REWARDS)
    check_choice("evaluate.checkpoint", config.evaluate.checkpoint, ("best", "last"))
    for field in ("rounds", "path_length"):
        check_range(f"debate.{field}", config.debate[field], 1)
    check_range("debate.max_actions", config.debate.max_actions, 0)
    check_range("agents.dim", config.agents.dim, 1)
    check_range("judge.dim", config.judge.dim, 1)
    check_range("judge.hidden_dim", config.judge.hidden_dim, 1)
    check_range("judge.dropout", config.judge.dropout, 0, 0.99)
    train = config.train
    for field in (
        "num_steps",
        "phase_steps",
        "num_shards",
        "queries_per_shard",
        "rollouts",
        "max_actions",
        "workers",
        "log_every",
        "checkpoint_every",
        "evaluate_queries",
        "evaluate_rollouts",
    ):
        check_range(f"train.{field}", train[field], 1)
    for field in ("pretrain_steps", "evaluate_every", "clip_norm"):
        check_range(f"train.{field}", train[field], 0)
    check_range("train.baseline_decay", train.baseline_decay, 0, 0.9999)
    check_range("train.entropy_decay", train.entropy_decay, 0, 1)
    check_range("train.entropy_bonus", train.entropy_bonus, 0)
    check_range("train.l2", train.l2, 0)
    check_range("train.any_object", train.any_object, 0, 1)
    if train.num_steps <= train.pretrain_steps:
        logging.warning(
            "config.train.num_steps=%d is not above config.train.pretrain_steps=%d, until which "
            "the judge alone learns, from random walks: the agents will learn nothing",
            train.num_steps,
            train.pretrain_steps,
        )
    if train.queries_per_shard % 2:
        raise ConfigError(
            f"config.train.queries_per_shard={train.queries_per_shard} must be even: every fact "
            "comes with its negative"
        )
    for field in ("rollouts", "queries"):
        check_range(f"evaluate.{field}", config.evaluate[field], 1)
    for model in config.evaluate.embeddings:
        check_choice("evaluate.embeddings", model, tuple(MODELS))
    for field in ("dim", "epochs"):
        check_range(f"embedding.{field}", config.embedding[field], 0)
    halved = [model for model in config.evaluate.embeddings if model in HALVED]
    if halved and config.embedding.dim % 2:
        raise ConfigError(
            f"config.embedding.dim={config.embedding.dim} must be even for {', '.join(halved)}: "
            "an entity has two halves"
        )
    check_range("evaluate.max_queries", config.evaluate.max_queries, 0)
    check_range("evaluate.example_debates", config.evaluate.example_debates, 0)
    check_range("completion.rollouts", config.completion.rollouts, 1)
    check_range("completion.max_queries", config.completion.max_queries, 0)
    check_range("completion.all_entities", config.completion.all_entities, 0)
    for field in ("num_steps", "rollouts"):
        check_range(f"walker.{field}", config.walker[field], 1)
    check_range("quiz.claims", config.quiz.claims, 1)
    check_range("quiz.arguments", config.quiz.arguments, 1)
