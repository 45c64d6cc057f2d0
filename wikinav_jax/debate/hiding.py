"""Which edges the debates about a graph should not see: `config.debate.hide="auto"`."""

from __future__ import annotations

import numpy as np

from wikinav_jax.graph.triples import KnowledgeGraph

AUTO = "auto"  # value of config.debate.hide that asks for `choose_rule`
MIN_FACTS = 50  # validation facts, to tell anything from them
_RARE = 0.1  # times the share among training facts


def joined_otherwise(kg: KnowledgeGraph, triples: np.ndarray, *, in_train: bool) -> np.ndarray:
    """Whether an edge of the training graph joins subject and object beside the triple's own.

    Args:
      kg: the graph.
      triples: int [n, 3].
      in_train: whether the triples are training facts, each an edge in both directions.

    Returns:
      bool [n].
    """
    source = np.repeat(np.arange(kg.num_entities, dtype=np.int64), np.diff(kg.indptr))
    pairs, count = np.unique(source * kg.num_entities + kg.edge_object, return_counts=True)
    subject, object_ = triples[:, 0].astype(np.int64), triples[:, 2].astype(np.int64)
    wanted = subject * kg.num_entities + object_
    place = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    found = np.where(pairs[place] == wanted, count[place], 0)
    # A fact about a thing and itself leads there and back by two edges.
    own = np.where(subject == object_, 2, 1) if in_train else 0
    joined: np.ndarray = found > own
    return joined


def choose_rule(kg: KnowledgeGraph) -> tuple[str, str]:
    """The rule of `environment.HIDING` that fits the graph, and why, in words.

    "pair" where validation facts hardly ever join entities that a training fact joins while
    training facts often do, as in FB15k-237, whose makers took such facts out: there an edge
    between subject and object tells in training what it never tells in the test. Else "answers".
    The test split is not read.
    """
    train = float(joined_otherwise(kg, kg.train, in_train=True).mean()) if len(kg.train) else 0.0
    if len(kg.valid) < MIN_FACTS:
        return "answers", f"{len(kg.valid)} validation facts are too few to tell"
    valid = float(joined_otherwise(kg, kg.valid, in_train=False).mean())
    rule = "pair" if train > 0.01 and valid < _RARE * train else "answers"
    return rule, f"another edge joins {train:.1%} of training and {valid:.1%} of validation facts"
