"""Graphs of which a few relations alone are asked: valid and test hold nothing else.

The completion tasks of the R2D2 paper (Hildebrandt et al., 2020, section 4).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from absl import logging

from wikinav_jax.datasets.knowledge_graphs_checks import Policy
from wikinav_jax.datasets.knowledge_graphs_files import read_names, read_triples
from wikinav_jax.datasets.knowledge_graphs_sources import SOURCES
from wikinav_jax.graph.triples import SPLITS, KnowledgeGraph, from_arrays, from_triples
from wikinav_jax.reports.strings import visible

HETIONET_TASKS = {"ctd": "CtD", "dag": "DaG"}
_HELD_OUT = 0.1  # of the relation, for valid and again for test, where no split is published


def load_hetionet(
    name: str, folder: Path, policy: Policy, *, task: str = "ctd", split_seed: int = 0
) -> KnowledgeGraph:
    """All edges; valid and test hold one relation.

    `task` "ctd" (compound treats disease) has the split of PoLo (Liu et al., 2021); "dag" (disease
    associates gene) is split 80/10/10 at random by `split_seed`, as no split is published.
    """
    if task not in HETIONET_TASKS:
        raise ValueError(f"task={task!r} is not one of {', '.join(HETIONET_TASKS)}")
    for file in ("edges.tsv", "nodes.tsv", "metaedges.tsv"):
        if not (folder / file).is_file():
            raise FileNotFoundError(f"{folder / file} is missing; see {SOURCES[name].page}")
    edges = read_triples(folder / "edges.tsv")
    triples = list(dict.fromkeys(edges.triples))
    repeats = len(edges.triples) - len(triples)
    notes = [f"edges.tsv: {repeats:,} repeated edges left out"] if repeats else []
    own = sorted(triple for triple in triples if triple[1] == HETIONET_TASKS[task])
    if task == "ctd":
        valid, test = (read_triples(folder / f"ctd_{part}.txt").triples for part in SPLITS[1:])
    else:
        order = np.random.default_rng(split_seed).permutation(len(own))
        count = int(_HELD_OUT * len(own))
        valid = [own[place] for place in order[:count]]
        test = [own[place] for place in order[count : 2 * count]]
    known = set(own)
    for triple in (*valid, *test):
        if triple not in known:
            raise ValueError(
                f"{visible(' | '.join(triple))} of the {task} split is no edge of edges.tsv"
            )
    held_out = {*valid, *test}
    names, _ = read_names(folder / "nodes.tsv")
    kinds = {e: e.partition("::")[0] for e in names}
    graph = from_triples(
        [triple for triple in triples if triple not in held_out],
        valid,
        test,
        entity_names=names,
        relation_names=_metaedge_names(folder / "metaedges.tsv"),
        entity_texts=kinds,
        name=f"{name}_{task}",
        notes=notes,
    )
    for note in graph.notes:
        logging.warning("%s: %s", name, note)
    return graph


def _metaedge_names(path: Path) -> dict[str, str]:
    """`Compound - treats - Disease  CtD` names CtD "treats"; "Gene > regulates > Gene" likewise."""
    names = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        metaedge, abbreviation, *_ = line.split("\t")
        parts = re.split(r" [->] ", metaedge)
        names[abbreviation] = parts[1] if len(parts) == 3 else metaedge
    return names


FB15K237_TASKS = ("all", "completion")
ETHNICITY = "/people/person/ethnicity"
_OF_ETHNICITY = "/people/ethnicity/people"  # the only way round in which FB15k-237 has it
ASKED_OF_PEOPLE = (
    "/people/person/profession",
    "/people/person/nationality",
    "/people/person/religion",
    ETHNICITY,
)


def people_asked(graph: KnowledgeGraph) -> KnowledgeGraph:
    """FB15k-237 with valid and test of `ASKED_OF_PEOPLE` alone; the training facts stay all.

    An ethnicity's people become people's ethnicity, so that all four are asked of a person. The
    published false triples replace the person there; they are left out, and drawn anew.

    Raises:
      ValueError: the graph lacks one of the relations.
    """
    relations = [ETHNICITY if name == _OF_ETHNICITY else name for name in graph.relations]
    missing = sorted(set(ASKED_OF_PEOPLE) - set(relations))
    if missing:
        raise ValueError(
            f"{graph.name} has no relation {', '.join(missing)}; is it the public release? "
            "task='all' asks whatever it has"
        )
    turned = relations.index(ETHNICITY)
    asked = [relations.index(name) for name in ASKED_OF_PEOPLE]

    def facing(triples: np.ndarray) -> np.ndarray:
        return np.where(triples[:, 1:2] == turned, triples[:, ::-1], triples)

    held_out = [facing(part)[np.isin(part[:, 1], asked)] for part in (graph.valid, graph.test)]
    return from_arrays(
        facing(graph.train),
        *held_out,
        entities=graph.entities,
        relations=relations,
        entity_names=graph.entity_names,
        entity_texts=graph.entity_texts,
        name=f"{graph.name}_completion",
        notes=graph.notes,
    )
