"""Entity links of whole corpora."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.datasets.sources.corpora import built, edges
from wikinav_jax.graph.linked_text import EdgeKind

TITLES = ("Bee", "Honey", "Mercury", "Mercury (planet)", "The sun")


def corpus(path, *, num: int = 60):
    """Documents whose anchors "Mercury" mean the planet; one mentions things in passing."""
    documents = [{"title": title, "text": f"{title} is what this is about."} for title in TITLES]
    for i in range(num):
        text = f"Text {i} has Mercury, a bee hive and honey."
        at = {word: text.index(word) for word in ("Mercury", "bee hive", "honey")}
        anchors = [
            ("Mercury (planet)", at["Mercury"], at["Mercury"] + 7),
            ("Bee", at["bee hive"], at["bee hive"] + 8),
            ("Honey" if i % 2 else "Nowhere", at["honey"], at["honey"] + 5),
        ]
        documents.append({"title": f"Doc {i}", "blocks": [["prose", text, anchors]]})
    passing = "A bee hive near Mercury and honey; Doc 3, Doc 3 again, Bee and Passing."
    documents.append({"title": "Passing", "text": passing})
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path


def test_mentions_are_linked_by_what_anchors_mean(tmp_path):
    graph = built(corpus(tmp_path / "c.jsonl"), tmp_path, entity_links=True)
    found = edges(graph, EdgeKind.ENTITY)
    # "honey" leads to Honey half of the time only; Passing is the text's own title; of two
    # mentions of one article the longer one is linked.
    assert [edge[1:3] for edge in found if edge[0] == "Passing"] == [
        ("bee hive", "Bee"),
        ("Mercury", "Mercury (planet)"),
        ("Doc 3", "Doc 3"),
    ]
    assert all(edge[0] != edge[2] for edge in found)
    report = graph.meta["entity_linking"]
    assert report["anchors"] == 180
    assert report["links"] == len(found)
    held_out = report["held_out"]
    assert held_out["rate"] == pytest.approx(1, abs=0.5)
    assert held_out["precision"] == 1.0  # Mercury and bee hive; honey is not linked at all
    assert 0 < held_out["linked"] < held_out["anchors"]


def test_thresholds_are_options(tmp_path):
    path = corpus(tmp_path / "c.jsonl")
    graph = built(path, tmp_path, entity_links=True, min_commonness=0.4)
    linked = {edge[1:3] for edge in edges(graph, EdgeKind.ENTITY) if edge[0] == "Passing"}
    assert ("honey", "Honey") in linked
    assert graph.meta["entity_linking"]["held_out"]["precision"] < 1  # half of it leads outside
    graph = built(path, tmp_path, entity_links=True, min_link_probability=1.0)
    assert "Passing" not in {edge[0] for edge in edges(graph, EdgeKind.ENTITY)}


def test_the_seed_hides_other_anchors(tmp_path):
    path = corpus(tmp_path / "c.jsonl")
    reports = [
        built(path, tmp_path, entity_links=True, seed=seed).meta["entity_linking"]
        for seed in (1, 1, 2)
    ]
    assert reports[0] == reports[1]
    assert reports[0]["held_out"] != reports[2]["held_out"]
    assert reports[0]["links"] == reports[2]["links"]  # all anchors count for the links themselves


def test_a_corpus_without_links(tmp_path):
    documents = [
        {"title": "Old Quay", "text": "The Old Quay. " * 50},
        {"title": "Pier", "text": "Near the Old Quay. " * 50},
    ]
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    graph = built(path, tmp_path, entity_links=True)
    assert edges(graph, EdgeKind.ENTITY)[0] == ("Pier", "Old Quay", "Old Quay", "")
    assert "held_out" not in graph.meta["entity_linking"]
    assert np.count_nonzero(graph.edge_kind == EdgeKind.HYPERLINK) == 0
