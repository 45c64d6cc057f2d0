"""Debates over the claims of a knowledge graph: R2D2.

Command:   python -m wikinav_jax.main --config=configs/r2d2.py:fb15k237 --workdir=runs/r2d2
           (--config.data_dir=DIR if the files are on disk; else they are downloaded)
Hardware:  2 CPU cores, 8 GB of memory; a step of fb15k237 holds 512 debates of 18 agent steps,
           of which 59,000 a second were learned from and 59,000 evaluated (all edges)

Graphs, as --config=configs/r2d2.py:NAME; NAME+VARIANT changes one thing, NAME+VARIANT+VARIANT two:

  fb15k237       FB15k-237 with the labelled files that R2D2's authors published
  fb15k237_completion  of it, what is asked of people: profession, nationality, religion, ethnicity
  wn18rr         WN18RR, likewise
  codex_s        CoDEx-S with its hard negatives, verified by people
  hetionet_ctd   a part of Hetionet; which compound treats which disease
  hetionet_dag   the same; which gene is associated with which disease
  nations, umls, kinship, countries  small graphs, for a first look
  folder         any folder of train, valid and test triples: --config.data_dir=DIR; without a
                 variant the best that we know, sight+claim_plus+pair+proposed

  paper          nothing else than the paper; every graph's default but the folder's
  plus           R2D2+: frozen tables of our own TransE
  claim          beyond the paper: the judge also reads the subject itself
  claim_plus     likewise, and the whole claim from tables of our own TransE
  marks          beyond the paper: agents and judge are told which steps lead to the object
  sight          likewise; the agents also, which lead to a neighbour of the object
  pair           likewise; edges between subject and object are hidden where validation facts have
                 none, see wikinav_jax/debate/hiding.py
  proposed       likewise; false claims of training are drawn to be like the published false
                 validation triples, where there are some, see wikinav_jax/debate/proposals.py
  any_object     likewise; half of the false claims have any entity, plausible or not: for rankings
                 among all entities
  own_answers    the agents may use other known answers of the query (hide="query")
  released_code  what the published code does otherwise than the paper; and one difference each:
  mean, no_baseline, constant_entropy, no_l2, shared_previous, seen_inverse, first_200,
  negative_subjects
"""

from collections.abc import Callable

from ml_collections import ConfigDict

from wikinav_jax.datasets.knowledge_graphs_tasks import ASKED_OF_PEOPLE
from wikinav_jax.debate.config import default_config


def get_config(argument: str = "fb15k237") -> ConfigDict:
    """The config of GRAPH, GRAPH+VARIANT, GRAPH+VARIANT+…; ValueError lists them."""
    graph, *variants = argument.split("+")
    if graph not in GRAPHS:
        raise ValueError(f"graph {graph!r} is not one of {', '.join(GRAPHS)}")
    variants = variants or BEST.get(graph, [])
    for variant in variants:
        if variant not in VARIANTS:
            raise ValueError(f"variant {variant!r} is not one of {', '.join(VARIANTS)}")
    config = default_config()
    config.dataset.name = graph
    GRAPHS[graph](config)
    for variant in variants:
        VARIANTS[variant](config)
    config.name = "_".join(["r2d2", *(variant for variant in variants if variant != "paper")])
    return config


def _large(config: ConfigDict) -> None:
    config.evaluate.embeddings = ("transe", "distmult", "complex")
    config.evaluate.stack = True


def _fb15k237(config: ConfigDict) -> None:
    _large(config)
    config.completion.enabled = True
    config.walker.enabled = True


def _fb15k237_completion(config: ConfigDict) -> None:
    _fb15k237(config)
    config.dataset.name = "fb15k237"
    config.dataset.options.task = "completion"
    config.train.relations = ASKED_OF_PEOPLE
    config.train.num_steps = 3_000


def _hetionet(config: ConfigDict) -> None:
    config.dataset.name = "hetionet"
    config.train.relations = ("CtD",)  # few of the edges: of all, the judge would learn the others
    config.train.num_steps = 2_000
    config.completion.enabled = True
    config.completion.max_queries = 0
    config.walker.enabled = True
    config.evaluate.embeddings = ("transe", "distmult", "complex")
    config.embedding.epochs = 5  # 766,000 edges, of which one relation is asked


def _folder(config: ConfigDict) -> None:
    config.evaluate.embeddings = ("transe", "distmult", "complex")
    config.evaluate.stack = True


def _wn18rr(config: ConfigDict) -> None:
    _large(config)
    config.train.max_actions = 32  # three edges an entity on average
    config.train.num_steps = 3_000


def _codex_s(config: ConfigDict) -> None:
    _large(config)
    config.train.num_steps = 3_000  # 33,000 facts


def _dag(config: ConfigDict) -> None:
    _hetionet(config)
    config.dataset.options.task = "dag"
    config.train.relations = ("DaG",)
    config.completion.max_queries = 50  # each has some 5,000 candidates, all to be debated
    config.completion.rollouts = 2


def _small(config: ConfigDict) -> None:
    config.train.num_steps = 2_000
    config.train.pretrain_steps = 300
    config.agents.dim = 32
    config.judge.dim = 32
    config.judge.hidden_dim = 64


def _set(**changes: object) -> Callable[[ConfigDict], None]:
    """Sets fields; a name's first double underscore stands for the dot."""

    def change(config: ConfigDict) -> None:
        fields = {name.replace("__", ".", 1): value for name, value in changes.items()}
        config.update_from_flattened_dict(fields)

    return change


def _plus(config: ConfigDict) -> None:
    config.tables = "transe"


def _released_code(config: ConfigDict) -> None:
    config.compat = "released_code"


GRAPHS: dict[str, Callable[[ConfigDict], None]] = {
    "fb15k237": _fb15k237,
    "fb15k237_completion": _fb15k237_completion,
    "wn18rr": _wn18rr,
    "codex_s": _codex_s,
    "codex_m": _large,
    "hetionet_ctd": _hetionet,
    "hetionet_dag": _dag,
    "nations": _small,
    "umls": _small,
    "kinship": _small,
    "countries": _small,
    "folder": _folder,
}
BEST = {"folder": ["sight", "claim_plus", "pair", "proposed"]}  # of graphs that no paper reports on
VARIANTS: dict[str, Callable[[ConfigDict], None]] = {
    "paper": _set(),
    "plus": _plus,
    "claim": _set(judge__sees_subject=True),
    "claim_plus": _set(judge__sees_subject=True, tables="transe_claim"),
    "marks": _set(debate__marks="object"),
    "sight": _set(debate__marks="neighbours"),
    "pair": _set(debate__hide="auto"),
    "proposed": _set(train__negatives="validation"),
    "any_object": _set(train__any_object=0.5),
    "own_answers": _set(debate__hide="query"),
    "released_code": _released_code,
    "mean": _set(judge__aggregate="mean"),
    "no_baseline": _set(train__baseline=False),
    "constant_entropy": _set(train__entropy_decay=1.0),
    "no_l2": _set(train__l2=0.0),
    "shared_previous": _set(debate__share_previous=True),
    "seen_inverse": _set(debate__hide="query", debate__hide_in_training="query_forward"),
    "first_200": _set(debate__max_actions=200, train__max_actions=200, train__sample_actions=False),
    "negative_subjects": _set(train__negative_side="subject"),
}
