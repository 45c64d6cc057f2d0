"""Induced subgraphs and splits by article."""

from __future__ import annotations

import numpy as np
import pytest

from tests.toy import TOY_EDGES, TOY_TEXTS, graph_from_edges, random_graph, toy_graph
from wikinav_jax.graph import subgraph
from wikinav_jax.graph.linked_text import check_graph
from wikinav_jax.graph.subgraph import induced_subgraph, snowball_subgraph, split_by_article


def test_induced_subgraph_by_hand():
    graph = toy_graph()
    part, node_ids = induced_subgraph(graph, np.array([1, 0, 1, 1, 0, 1, 1, 0], bool))
    assert node_ids.tolist() == [0, 2, 3, 5, 6]
    # kept edges: 0->3, 2->3, 3->0, 5->6
    assert part.indptr.tolist() == [0, 1, 2, 3, 4, 4]
    assert part.indices.tolist() == [2, 2, 0, 4]
    assert part.edge_kind.tolist() == [0, 0, 0, 0]
    assert part.anchor.tolist() == graph.anchor[[0, 5, 7, 12]].tolist()
    assert part.texts() == [TOY_TEXTS[i] for i in node_ids]
    assert part.article.tolist() == [0, 0, 1, 2, 3]
    assert part.article_titles == ["Cat", "Mouse", "Café ☕ crème", "קפה שחור"]
    assert part.section(1) == "Diet > Prey"
    assert part.find("Mouse") == 2
    assert part.path is None
    check_graph(part)


def test_keeping_all_changes_nothing_and_one_node_is_enough():
    graph = toy_graph()
    whole, node_ids = induced_subgraph(graph, np.ones(8, bool))
    assert node_ids.tolist() == list(range(8))
    assert whole.indices.tolist() == graph.indices.tolist()
    lonely, _ = induced_subgraph(graph, np.arange(8) == 7)
    assert (lonely.num_nodes, lonely.num_edges, lonely.text(0)) == (1, 0, "")


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (np.zeros(8, bool), "keep is False for all 8 nodes: the subgraph is empty"),
        (np.ones(7, bool), r"keep must be bool \[8\], one per node; got bool \[7\]"),
        (np.array([0, 1, 2]), r"keep must be bool \[8\], one per node; got int64 \[3\]"),
    ],
)
def test_bad_masks(keep, message):
    with pytest.raises(ValueError, match=message):
        induced_subgraph(toy_graph(), keep)


def test_split_is_disjoint_and_whole():
    graph = random_graph(300, 2_000, seed=3)
    parts = split_by_article(graph, (0.5, 0.5), seed=1)
    ids = [node_ids for _, node_ids in parts]
    assert sorted(np.concatenate(ids)) == list(range(300))
    titles = [set(part.article_titles) for part, _ in parts]
    assert not titles[0] & titles[1]
    assert [len(each) for each in titles] == [50, 50]
    for part, node_ids in parts:
        check_graph(part)
        # Exactly the edges with both ends inside, by an independent count.
        inside = np.isin(np.arange(300), node_ids)
        source = np.repeat(np.arange(300), graph.out_degree)
        assert part.num_edges == (inside[source] & inside[graph.indices]).sum()
        for node in (0, len(node_ids) - 1):
            assert part.text(node) == graph.text(node_ids[node])
            assert part.title(node) == graph.title(node_ids[node])


def test_split_depends_on_the_seed_alone():
    graph = random_graph(300, 500)
    first, again, other = (split_by_article(graph, (0.8, 0.2), seed)[1][1] for seed in (1, 1, 2))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()
    assert len(split_by_article(graph, (0.1,), 0)) == 1


@pytest.mark.parametrize("fractions", [(), (0.5, 0.6), (0.5, 0.0), (1.5, -0.5)])
def test_bad_fractions(fractions):
    with pytest.raises(ValueError, match="must be positive and add up to at most 1"):
        split_by_article(toy_graph(), fractions, 0)


def test_a_part_without_articles():
    with pytest.raises(ValueError, match=r"fraction 0\.05 gets none of the 5 articles"):
        split_by_article(toy_graph(), (0.05, 0.5), 0)


def test_previous_and_next_stay_inside_their_article():
    parts = split_by_article(toy_graph(), (0.4, 0.6), seed=0)
    kept = {
        (int(ids[s]), int(ids[t]))
        for part, ids in parts
        for s in range(part.num_nodes)
        for t in part.neighbours(s)
    }
    inside = {(s, t) for s, t, kind, _ in TOY_EDGES if kind >= 2}
    assert inside <= kept


def test_a_subgraph_does_not_depend_on_how_many_rows_are_read_at_once(monkeypatch):
    graph = random_graph(90, 700, seed=4)
    keep = np.random.default_rng(0).random(90) < 0.6
    whole, _ = induced_subgraph(graph, keep)
    monkeypatch.setattr(subgraph, "_EDGES_AT_ONCE", 5)  # below some nodes' degrees
    part, _ = induced_subgraph(graph, keep)
    for name in ("indptr", "indices", "edge_kind", "anchor", "article"):
        assert getattr(part, name).tolist() == getattr(whole, name).tolist()
    src = np.repeat(np.arange(90), np.diff(graph.indptr))
    inside = keep[src] & keep[graph.indices]
    assert part.num_edges == inside.sum() > 100
    check_graph(part)


def test_a_snowball_is_whole_articles_that_hang_together():
    graph = random_graph(3_000, 9_000, seed=1)
    part, node_ids = snowball_subgraph(graph, 300, seed=0)
    assert 297 < part.num_nodes <= 300  # articles have three blocks
    articles = np.unique(graph.article[node_ids])
    assert np.isin(graph.article, articles).sum() == part.num_nodes
    # A uniform tenth would keep a tenth of its links.
    assert part.num_edges > 0.2 * np.diff(graph.indptr)[node_ids].sum()
    again = snowball_subgraph(graph, 300, seed=0)[1]
    assert node_ids.tolist() == again.tolist()
    assert node_ids.tolist() != snowball_subgraph(graph, 300, seed=1)[1].tolist()


def test_a_snowball_begins_anew_where_links_end_and_takes_all_that_there_is():
    lonely = graph_from_edges([(0, 1)], 5)
    assert snowball_subgraph(lonely, 4, seed=0)[0].num_nodes == 4
    assert snowball_subgraph(lonely, 9, seed=0)[1].tolist() == [0, 1, 2, 3, 4]


def test_a_snowball_smaller_than_its_first_article():
    with pytest.raises(ValueError, match=r"num_nodes=2 is less than the 3 blocks of the article"):
        snowball_subgraph(random_graph(9, 20), 2, seed=0)
    with pytest.raises(ValueError, match="num_nodes=0 must be at least 1"):
        snowball_subgraph(toy_graph(), 0, seed=0)
