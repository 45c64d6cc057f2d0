"""A three-article corpus whose every edge is known, and the corpora that are no corpora."""

from __future__ import annotations

import numpy as np
import pytest

from wikinav_jax.datasets.assemble import assemble_graph
from wikinav_jax.datasets.documents import Anchor, Document, Passage, Section
from wikinav_jax.datasets.entities import LinkerOptions
from wikinav_jax.graph.store import EdgeKind, open_graph

ABOUT = {"source": "a test", "licence": "CC0-1.0", "command": "pytest"}


def linked(text: str, *links: tuple[str, str] | tuple[str, str, str]) -> Passage:
    """A passage whose links are given as (anchor text, target[, fragment]), each found once."""
    anchors = []
    position = 0
    for words, *rest in links:
        start = text.index(words, position)
        position = start + len(words)
        anchors.append(Anchor(start, position, *rest))
    return Passage(text, tuple(anchors))


def article(title: str, *passages: Passage | str, aliases: tuple[str, ...] = ()) -> Document:
    texts = tuple(p if isinstance(p, Passage) else Passage(p) for p in passages)
    return Document(title, (Section((), texts),), aliases)


def edges_of(graph, node: int) -> list[tuple[int, str, str]]:
    """(target, kind, anchor text) of each out-edge, in order."""
    text = graph.text(node)
    slots = graph.edge_slots(node)
    return [
        (int(target), EdgeKind(int(kind)).name, text[start:end])
        for target, kind, (start, end) in zip(
            graph.indices[slots], graph.edge_kind[slots], graph.anchor[slots], strict=True
        )
    ]


@pytest.fixture
def rome() -> list[Document]:
    return [
        Document(
            "Rome",
            (
                Section(
                    (),
                    (
                        linked(
                            "Rome, the Eternal City, is the capital of Italy, see its Early years.",
                            ("capital", "Capital city", "Unknown section"),
                            ("Italy", "Italy", "The_PEOPLE"),
                            ("Early years", "Rome", "Early years"),
                        ),
                    ),
                ),
                Section(("History", "Early years"), (Passage("Italy and the Kingdom of Italy."),)),
                Section(("History", "Later"), (linked("Rome again.", ("Rome", "Rome")),)),
            ),
            aliases=("Eternal City",),
        ),
        Document(
            "Italy",
            (
                Section(
                    (),
                    (linked("Rome leads Italy. Rome rules.", ("Rome", "Rome"), ("rules", "Sea")),),
                ),
                Section(("The people",), (Passage("Many live in the Eternal City."),)),
            ),
            aliases=("Kingdom of Italy",),
        ),
        article("Capital city", "A capital city such as Rome."),
    ]


def test_every_edge(rome):
    graph = assemble_graph(rome, linker_options=LinkerOptions(), **ABOUT)
    assert graph.article_titles == ["Rome", "Italy", "Capital city"]
    assert graph.article.tolist() == [0, 0, 0, 1, 1, 2]
    assert [graph.section(i) for i in range(6)] == [
        "",
        "History > Early years",
        "History > Later",
        "",
        "The people",
        "",
    ]
    # Its own name is no link; an unknown fragment leads to the top.
    assert edges_of(graph, 0) == [
        (5, "HYPERLINK", "capital"),
        (4, "HYPERLINK", "Italy"),
        (1, "HYPERLINK", "Early years"),
        (1, "NEXT", ""),
    ]
    # The longest mention of Italy is the only one.
    assert edges_of(graph, 1) == [
        (3, "ENTITY", "Kingdom of Italy"),
        (2, "NEXT", ""),
        (0, "PREVIOUS", ""),
    ]
    # A link to the top of its own article is none.
    assert edges_of(graph, 2) == [(1, "PREVIOUS", "")]
    # The hyperlink to Rome makes the second mention superfluous; "Sea" is unknown.
    assert edges_of(graph, 3) == [(0, "HYPERLINK", "Rome"), (4, "NEXT", "")]
    assert edges_of(graph, 4) == [(0, "ENTITY", "Eternal City"), (3, "PREVIOUS", "")]
    assert edges_of(graph, 5) == [(0, "ENTITY", "Rome")]


def test_statistics(rome):
    graph = assemble_graph(rome, linker_options=LinkerOptions(), **ABOUT)
    statistics = graph.meta["statistics"]
    assert (statistics["articles"], statistics["blocks"], statistics["edges"]) == (3, 6, 13)
    assert statistics["edges_by_kind"] == {"hyperlink": 4, "entity": 3, "next": 3, "previous": 3}
    assert statistics["words"] == 13 + 6 + 2 + 5 + 6 + 6
    assert statistics["words_per_block"]["p100"] == 13
    assert statistics["out_degree"]["p100"] == 4
    assert statistics["largest_strongly_connected_share"] == 1.0
    assert statistics["links_to_an_unknown_fragment"] == 1
    assert statistics["dropped"] == {
        "ambiguous_aliases": 0,
        "documents_with_a_title_seen_before": 0,
        "documents_without_words": 0,
        "entity_links_beside_a_hyperlink": 1,
        "links_repeated_in_a_block": 0,
        "links_to_themselves": 1,
        "links_to_unknown_titles": 1,
    }


def test_without_entity_links(rome):
    graph = assemble_graph(rome, **ABOUT)
    assert EdgeKind.ENTITY not in graph.edge_kind


def test_saved_graph_is_the_same(rome, tmp_path):
    extra = {"files_skipped": 0}

    def source():
        yield from rome
        extra["files_skipped"] = 7  # known only when the source has been read

    memory = assemble_graph(rome, linker_options=LinkerOptions(), **ABOUT)
    path = tmp_path / "graph"
    options = {"linker_options": LinkerOptions(), "output": path, "extra_meta": extra}
    saved = assemble_graph(source(), **options, **ABOUT)
    again = open_graph(path, verify=True)
    assert saved.path == path
    assert again.meta["files_skipped"] == 7
    assert again.meta["licence"] == memory.meta["licence"] == "CC0-1.0"
    assert again.meta["statistics"] == memory.meta["statistics"]
    for name in ("indptr", "indices", "edge_kind", "anchor", "article"):
        np.testing.assert_array_equal(getattr(again, name), getattr(memory, name))
    assert again.texts() == memory.texts()


@pytest.mark.parametrize("documents", [[], [article("A", ""), article("B", "--", " \n")]])
def test_a_corpus_without_words_is_an_error(documents):
    with pytest.raises(ValueError, match=f"is empty: of {len(documents)} documents"):
        assemble_graph(documents, **ABOUT)


def test_articles_without_words_and_second_ones_are_dropped_and_counted():
    documents = [
        article("A", "First text.", linked("To B.", ("B", "B"))),
        article("B", "***"),
        Document("C", ()),
        article("A", "Second text."),
    ]
    graph = assemble_graph(documents, **ABOUT)
    assert graph.article_titles == ["A"]
    assert graph.texts() == ["First text.\nTo B."]
    dropped = graph.meta["statistics"]["dropped"]
    assert dropped["documents_without_words"] == 2
    assert dropped["documents_with_a_title_seen_before"] == 1
    assert dropped["links_to_unknown_titles"] == 1
    assert graph.num_edges == 0  # one isolated node, a dead end
    assert graph.meta["statistics"]["blocks_without_out_edges"] == 1


def test_repeated_links_of_a_block_are_kept_once():
    text = linked("Rome, Rome and Rome.", ("Rome", "Rome"), ("Rome", "Rome"))
    graph = assemble_graph(
        [article("Rome", "Words."), article("X", text)], linker_options=LinkerOptions(), **ABOUT
    )
    assert edges_of(graph, 1) == [(0, "HYPERLINK", "Rome")]
    assert graph.anchor[0].tolist() == [0, 4]
    assert graph.meta["statistics"]["dropped"]["links_repeated_in_a_block"] == 1


def test_a_heading_without_text_leads_to_its_first_subsection():
    target = Document("B", tuple(Section(p, (Passage("Words."),)) for p in [(), ("H", "I")]))
    link = linked("See B and B.", ("B", "B", "h"), ("B", "B", "I"))
    graph = assemble_graph([article("A", link), target], **ABOUT)
    assert edges_of(graph, 0) == [(2, "HYPERLINK", "B")]


def test_right_to_left_titles_and_a_sentence_of_5000_words():
    long = "ירושלים " + "מילה " * 5000 + "Rome"
    graph = assemble_graph(
        [article("ירושלים", "עיר."), article("Rome", long)],
        linker_options=LinkerOptions(),
        **ABOUT,
    )
    assert graph.find("ירושלים") == 0
    assert edges_of(graph, 1) == [(0, "ENTITY", "ירושלים"), (2, "NEXT", "")]
    assert graph.num_nodes == 1 + 42
    assert graph.meta["statistics"]["words_per_block"]["p100"] <= 120


def test_an_anchor_at_the_uint16_limit():
    """A link behind 70,000 characters without a space stands where it should."""
    text = "x" * 70_000 + " Rome"
    graph = assemble_graph(
        [article("Rome", "Words."), article("X", linked(text, ("Rome", "Rome")))], **ABOUT
    )
    assert sum(len(text) for text in graph.texts([1, 2])) >= 70_004
    assert edges_of(graph, 2)[0] == (0, "HYPERLINK", "Rome")


def test_a_hub_with_50000_links():
    names = [f"t{i:05d}" for i in range(50_000)]
    hub = article("hub", linked(" ".join(names), *((name, name) for name in names)))
    graph = assemble_graph([hub, *(article(name, f"Leaf {name}.") for name in names)], **ABOUT)
    assert graph.num_nodes == 50_000 + 417  # ceil(50,000 / 120) blocks of the hub
    assert graph.meta["statistics"]["edges_by_kind"]["hyperlink"] == 50_000


def test_a_corpus_read_twice_is_the_same(rome):
    first, second = (assemble_graph(rome, linker_options=LinkerOptions(), **ABOUT) for _ in "ab")
    np.testing.assert_array_equal(first.indices, second.indices)
    assert first.meta == second.meta
