"""Completion in the protocol of the R2D2 paper: rank the objects that a relation can have.

For a query (s, p, ?) the candidates are all objects seen with p in any split, less the other known
answers; the right one is ranked among them (Hildebrandt et al., 2020, section 4; the released code
does the same). Relations: profession, nationality, religion and ethnicity of FB15k-237, CtD and
DaG of Hetionet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wikinav_jax.datasets.knowledge_graphs_tasks import ASKED_OF_PEOPLE
from wikinav_jax.debate.scores import ranks_in_groups
from wikinav_jax.graph.triples import KnowledgeGraph

# Task -> relation id, and whether its objects are the subjects of the relation as given.
# FB15k-237 has the ethnicity of people as /people/ethnicity/people only.
PAPER_RELATIONS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "fb15k237": (
        ("profession", "/people/person/profession", False),
        ("nationality", "/people/person/nationality", False),
        ("religion", "/people/person/religion", False),
        ("ethnicity", "/people/ethnicity/people", True),
    ),
    "fb15k237_completion": tuple(
        (relation.rpartition("/")[2], relation, False) for relation in ASKED_OF_PEOPLE
    ),
    "hetionet_ctd": (("CtD", "CtD", False),),
    "hetionet_dag": (("DaG", "DaG", False),),
}


class CompletionTask(NamedTuple):
    """Queries of one relation with their candidates, flat."""

    name: str
    queries: np.ndarray  # int32 [Q, 3] (s, p, o); p + R where the relation is asked backwards
    candidates: np.ndarray  # int32 [M, 3] (s, p, candidate)
    group: np.ndarray  # int64 [M], the query of each candidate
    right: np.ndarray  # bool [M], one per query

    def ranks(self, scores: np.ndarray) -> np.ndarray:
        """The rank of each query's object from the candidates' scores [M], float64 [Q]."""
        return ranks_in_groups(scores, self.group, self.right)


def paper_tasks(graph: KnowledgeGraph, split: str = "test") -> list[CompletionTask]:
    """The paper's tasks for a graph by its name; none for other graphs."""
    tasks = []
    for name, relation, backwards in PAPER_RELATIONS.get(graph.name, ()):
        if relation not in graph.relations:
            raise ValueError(
                f"{graph.name} has no relation {relation!r}; is it the public release?"
            )
        number = graph.relations.index(relation) + (graph.num_relations if backwards else 0)
        tasks.append(completion_task(graph, number, split=split, name=name))
    return tasks


def completion_task(
    graph: KnowledgeGraph, relation: int, *, split: str = "test", name: str = ""
) -> CompletionTask:
    """The queries (s, relation, ?) of a split; `relation` below 2R.

    Raises:
      ValueError: the split has no triple of the relation.
    """
    facts = graph.with_inverses(graph.split(split))
    queries = facts[facts[:, 1] == relation]
    if not len(queries):
        raise ValueError(f"{split} has no triple of {graph.phrase(relation)!r}")
    objects = candidate_objects(graph, relation)
    column = np.full(graph.num_entities, -1)
    column[objects] = np.arange(len(objects))
    kept = np.ones((len(queries), len(objects)), bool)
    row, known = graph.known.of_many(queries[:, 0], queries[:, 1])
    kept[row, column[known]] = False
    own = column[queries[:, 2]]
    kept[np.arange(len(queries)), own] = True
    group, place = np.nonzero(kept)
    candidates = queries[group].copy()
    candidates[:, 2] = objects[place]
    return CompletionTask(
        name or graph.phrase(relation), queries, candidates, group, place == own[group]
    )


def candidate_objects(graph: KnowledgeGraph, relation: int) -> np.ndarray:
    """Entities seen as objects of `relation` (below 2R) in any split, int32 [any], sorted."""
    facts = np.concatenate([graph.train, graph.valid, graph.test])
    backwards = relation >= graph.num_relations
    base = relation - graph.num_relations * backwards
    return np.unique(facts[facts[:, 1] == base, 0 if backwards else 2])


def as_given(graph: KnowledgeGraph, triples: np.ndarray) -> np.ndarray:
    """Triples with inverse relations turned round, (s, p + R, o) to (o, p, s), int32 [n, 3]."""
    triples = np.asarray(triples, np.int32)
    turned = triples[:, [2, 1, 0]] - np.array([0, graph.num_relations, 0], np.int32)
    return np.where(triples[:, 1:2] >= graph.num_relations, turned, triples).astype(np.int32)
