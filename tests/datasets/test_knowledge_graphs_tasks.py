"""Graphs of which a few relations alone are asked: Hetionet, and FB15k-237's people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wikinav_jax.datasets.knowledge_graphs import load_knowledge_graph
from wikinav_jax.datasets.knowledge_graphs_tasks import ASKED_OF_PEOPLE
from wikinav_jax.graph.triples import KnowledgeGraph

BORN = "/people/person/place_of_birth"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder.parent


def spoken(graph: KnowledgeGraph, triples: np.ndarray) -> list[tuple[str, str, str]]:
    return [(graph.entities[s], graph.relations[p], graph.entities[o]) for s, p, o in triples]


def hetionet(folder: Path) -> Path:
    treats = [f"Compound::{i}\tCtD\tDisease::{i % 3}" for i in range(6)]
    genes = [f"Disease::{i % 3}\tDaG\tGene::{i}" for i in range(30)]
    return write(
        folder / "hetionet",
        {
            "edges.tsv": "\n".join([*treats, *genes]),
            "nodes.tsv": "Compound::0\taspirin\tCompound\n",
            "metaedges.tsv": "metaedge\tabbreviation\nCompound - treats - Disease\tCtD\n"
            "Disease - associates - Gene\tDaG\n",
            "ctd_train.txt": "\n".join(treats[:4]),
            "ctd_valid.txt": treats[4],
            "ctd_test.txt": treats[5],
        },
    )


def test_hetionet_holds_out_one_relation(tmp_path):
    folder = hetionet(tmp_path)
    graph = load_knowledge_graph("hetionet", data_dir=folder, cache_dir=tmp_path)
    assert graph.name == "hetionet_ctd"
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (34, 1, 1)
    assert set(graph.relation_names) == {"treats", "associates"}
    assert graph.entity_texts[graph.find_entity("aspirin")] == "Compound"

    def genes(seed: int) -> KnowledgeGraph:
        options = {"task": "dag", "split_seed": seed}
        return load_knowledge_graph(
            "hetionet", data_dir=folder, cache_dir=tmp_path, options=options
        )

    first, again, other = genes(0), genes(0), genes(1)
    assert (len(first.train), len(first.valid), len(first.test)) == (30, 3, 3)
    assert spoken(first, first.test) == spoken(again, again.test)
    assert spoken(first, first.test) != spoken(other, other.test)


def freebase(folder: Path, relations: tuple[str, ...]) -> Path:
    """Facts of each relation about four people, and one fact of each held out twice."""

    def line(relation: str, person: int, thing: int) -> str:
        pair = [f"/m/person{person}", f"/m/thing{thing}"]
        subject, obj = pair[::-1] if relation.startswith("/people/ethnicity") else pair
        return f"{subject}\t{relation}\t{obj}\n"

    train = [line(p, i, i % 2) for p in relations for i in range(4)]
    valid, test = ([line(p, i, 1) for p in relations] for i in (0, 2))
    labelled = "".join(
        row.strip() + f"\t{label}\n"
        for label, rows in ((1, valid), (0, [line(BORN, 3, 0)]))
        for row in rows
    )
    return write(
        folder / "FB15k-237",
        {
            "train.txt": "".join(train),
            "valid.txt": "".join(valid),
            "test.txt": "".join(test),
            "r2d2_valid_labeled.txt": labelled,
        },
    )


ALL = (*ASKED_OF_PEOPLE[:3], "/people/ethnicity/people", BORN)


def people(folder: Path, task: str = "completion") -> KnowledgeGraph:
    return load_knowledge_graph(
        "fb15k237", data_dir=folder, cache_dir=folder / "cache", options={"task": task}
    )


def test_people_are_asked_four_things_and_ethnicity_is_turned_round(tmp_path):
    folder = freebase(tmp_path, ALL)
    whole, graph = people(folder, "all"), people(folder)
    assert graph.name == "fb15k237_completion"
    asked = {(f"/m/person{i}", p, "/m/thing1") for p in ASKED_OF_PEOPLE for i in (0, 2)}
    held_out = np.concatenate([graph.valid, graph.test])
    assert set(spoken(graph, held_out)) == asked
    facts = set(spoken(graph, graph.train))
    assert ("/m/person1", "/people/person/ethnicity", "/m/thing1") in facts
    assert ("/m/person1", BORN, "/m/thing1") in facts  # no claim, but an edge to walk along
    assert len(graph.train) == len(whole.train)
    assert graph.relation_names[graph.relations.index("/people/person/ethnicity")] == "ethnicity"
    assert whole.labelled("valid") is not None
    assert graph.labelled("valid") is None


def test_another_task_or_release_is_refused(tmp_path):
    folder = freebase(tmp_path, ALL[1:])
    with pytest.raises(ValueError, match="'link' is not one of all, completion"):
        people(folder, "link")
    with pytest.raises(ValueError, match="no relation /people/person/profession; is it the public"):
        people(folder)


@pytest.mark.data
def test_what_is_asked_of_people_in_the_public_release(real_data, tmp_path):
    graph = load_knowledge_graph(
        "fb15k237", data_dir=real_data, cache_dir=tmp_path, options={"task": "completion"}
    )
    relations, counts = np.unique(graph.test[:, 1], return_counts=True)
    found = {
        graph.relations[relation]: count
        for relation, count in zip(relations, counts.tolist(), strict=True)
    }
    assert found == dict(zip(ASKED_OF_PEOPLE, (1311, 494, 127, 251), strict=True))
