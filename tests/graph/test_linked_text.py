"""LinkedTextGraph in memory and on disk: one behaviour, and answers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.toy import (
    TOY_ARTICLE,
    TOY_DEAD_END,
    TOY_EDGES,
    TOY_ISOLATED,
    TOY_SECTIONS,
    TOY_TEXTS,
    TOY_TITLES,
    graph_from_edges,
    one_node_graph,
    toy_graph,
)
from wikinav_jax.graph import linked_text
from wikinav_jax.graph.linked_text import EdgeKind, LinkedTextGraph
from wikinav_jax.graph.store import open_graph, save_graph


@pytest.fixture(params=["in memory", "on disk"])
def graph(request, tmp_path) -> LinkedTextGraph:
    toy = toy_graph()
    if request.param == "in memory":
        return toy
    return open_graph(
        save_graph(toy, tmp_path / "toy", source="tests", licence="none", command="pytest")
    )


def test_sizes_and_rows(graph):
    assert (graph.num_nodes, graph.num_edges, graph.num_articles) == (8, 13, 5)
    assert graph.out_degree.tolist() == [2, 3, 2, 2, 3, 1, 0, 0]
    assert graph.out_degree.dtype == np.int64
    assert graph.neighbours(1).tolist() == [5, 0, 2]
    assert graph.neighbours(TOY_DEAD_END).tolist() == []
    assert graph.neighbours(TOY_ISOLATED).tolist() == []
    assert graph.edge_slots(4) == slice(9, 12)
    assert graph.indices.dtype == np.int32
    assert not graph.indices.flags.writeable
    assert repr(graph).startswith("LinkedTextGraph(8 nodes, 13 edges, 5 articles")


def test_words(graph):
    assert [graph.text(i) for i in range(8)] == graph.texts() == TOY_TEXTS
    assert graph.texts([5, 2]) == [TOY_TEXTS[5], TOY_TEXTS[2]]
    assert [graph.title(i) for i in range(8)] == [TOY_TITLES[a] for a in TOY_ARTICLE]
    assert [graph.section(i) for i in range(8)] == TOY_SECTIONS
    assert graph.article_titles == TOY_TITLES


def test_anchors_are_spans_of_the_source_text(graph):
    for slot, (source, _, kind, words) in enumerate(TOY_EDGES):
        start, stop = graph.anchor[slot]
        assert graph.text(source)[start:stop].lower() == words
        assert graph.edge_kind[slot] == kind


def test_articles_and_their_blocks(graph):
    assert [graph.first_block(a) for a in range(5)] == [0, 3, 5, 6, 7]
    assert graph.blocks_of(0).tolist() == [0, 1, 2]
    assert graph.blocks_of(4).tolist() == [7]
    with pytest.raises(IndexError, match=r"article 5 does not exist: ids are 0\.\.4"):
        graph.first_block(5)


@pytest.mark.parametrize(
    ("name", "node"),
    [("Mouse", 3), ("Café ☕ crème", 5), ("קפה שחור", 6), ("#4", 4), ("4", 4), (4, 4)],
)
def test_find(graph, name, node):
    assert graph.find(name) == node
    assert graph.find(np.int64(node)) == node


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("Mosue", "Mouse"), ("cafe ☕ creme", "Café ☕ crème"), ("קפה", "קפה שחור")],
)
def test_a_misspelt_title_gets_suggestions(graph, name, suggestion):
    with pytest.raises(KeyError, match=rf"no article is called {name!r}.*{suggestion}"):
        graph.find(name)


@pytest.mark.parametrize("name", ["8", "#8", 8, -1])
def test_unknown_ids(graph, name):
    with pytest.raises(KeyError, match=r"does not exist: ids are 0\.\.7"):
        graph.find(name)
    if isinstance(name, int):
        for read in (graph.neighbours, graph.text, graph.title, graph.section):
            with pytest.raises(IndexError, match=rf"node {name} does not exist"):
                read(name)


def test_a_title_that_is_a_number_wins_over_the_id():
    graph = graph_from_edges([], 3, titles=["1984", "2", "x"])
    assert graph.find("2") == 1
    assert graph.find("#2") == 2
    assert graph.find("1984") == 0


def test_suggestions_among_many_titles_are_preselected(monkeypatch):
    monkeypatch.setattr(linked_text, "_MANY_TITLES", 3)
    titles = [
        "Photosynthesis",
        "Photography",
        "Synthesizer",
        "Completely different",
        "עברית מקראית",
    ]
    graph = graph_from_edges([], 5, titles=titles)
    assert graph._titles_like("photosinthesis") == ["Photosynthesis", "Photography"]
    with pytest.raises(KeyError, match="Did you mean 'Photosynthesis'"):
        graph.find("Fotosynthesis")
    with pytest.raises(KeyError, match="Did you mean 'עברית מקראית'"):
        graph.find("עברית מקרחית")


def test_article_view(graph):
    view = graph.article_view()
    # Cat -> Mouse (three times, kept once), Cat -> Café (entity); Mouse -> Cat, Café, קפה שחור.
    assert view.indptr.tolist() == [0, 2, 5, 6, 6, 6]
    assert view.indices.tolist() == [1, 2, 0, 2, 3, 3]
    assert view.edge_kind.tolist() == [0, 1, 0, 0, 0, 0]
    # Only anchors of the first blocks stand in the text of the view.
    assert view.anchor.tolist() == [[16, 21], [0, 0], [18, 21], [0, 0], [0, 0], [15, 23]]
    assert view.texts() == [TOY_TEXTS[i] for i in (0, 3, 5, 6, 7)]
    assert [view.title(i) for i in range(5)] == TOY_TITLES
    assert view.meta["view"] == "article"
    linked_text.check_graph(view)


def test_article_view_of_some_kinds(graph):
    view = graph.article_view(kinds=[EdgeKind.ENTITY])
    assert view.indptr.tolist() == [0, 1, 1, 1, 1, 1]
    assert view.indices.tolist() == [2]


def test_article_view_prefers_hyperlinks_and_drops_links_to_oneself():
    graph = graph_from_edges(
        [(0, 2), (0, 1), (1, 2)],
        3,
        kinds=[EdgeKind.ENTITY, EdgeKind.HYPERLINK, EdgeKind.HYPERLINK],
        anchors=[(0, 4), (0, 4), (0, 4)],
        article=[0, 0, 1],
        titles=["A", "B"],
    )
    view = graph.article_view()
    assert view.indices.tolist() == [1]
    assert view.edge_kind.tolist() == [EdgeKind.HYPERLINK]
    assert view.anchor.tolist() == [[0, 0]]


def test_one_node():
    graph = one_node_graph()
    assert (graph.num_nodes, graph.num_edges) == (1, 0)
    assert graph.neighbours(0).tolist() == []
    assert graph.article_view().num_nodes == 1
    assert graph.reverse().indptr.tolist() == [0, 0]


GOOD = {
    "indptr": [0, 1, 2],
    "indices": [1, 0],
    "edge_kind": [0, 1],
    "anchor": [[0, 1], [0, 0]],
    "article": [0, 1],
    "texts": ["ab", "cd"],
    "titles": ["A", "B"],
    "sections": ["", ""],
}


def test_the_good_arrays_are_good():
    assert LinkedTextGraph.from_arrays(**GOOD).num_edges == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": [0], "texts": [], "sections": [], "article": []}, "between 1 and .* got 0"),
        ({"indptr": [0, 1]}, r"indptr must have shape \[3\], got \[2\]"),
        ({"indptr": [1, 1, 2]}, "indptr must rise from 0 to 2"),
        ({"indptr": [0, 1, 3]}, "indptr must rise from 0 to 2"),
        ({"indptr": [0, 2, 1]}, "falls 1 times"),
        ({"indptr": [0, -1, 2]}, "indptr holds -1 at position 1"),
        ({"indices": [1, 2]}, r"indices holds 2 at position 1; it must lie in 0\.\.1"),
        ({"indices": [-1, 1]}, "indices holds -1 at position 0"),
        ({"indices": [0, 2**40]}, "indices holds 1099511627776 at position 1"),
        ({"edge_kind": [0, 4]}, "edge_kind holds 4"),
        ({"edge_kind": [0]}, "edge_kind has 1 rows for 2 edges"),
        ({"anchor": [[0, 0]]}, "anchor has 1 rows for 2 edges"),
        ({"anchor": [[0, 1], [0, 3]]}, r"the anchor of edge 1 is 0\.\.3, but its block has 2"),
        ({"anchor": [[2, 1], [0, 0]]}, r"the anchor of edge 0 is 2\.\.1"),
        ({"article": [0, 2]}, "article holds 2 at position 1"),
        ({"article": [1, 0]}, "article must start at 0"),
        ({"article": [0, 0]}, "end at 1"),
        ({"article": [0]}, r"article must have shape \[2\]"),
        ({"titles": ["A", "A"]}, "titles must be distinct"),
    ],
)
def test_bad_arrays_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        LinkedTextGraph.from_arrays(**{**GOOD, **change})
