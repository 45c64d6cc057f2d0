"""From a dump to a graph: order, redirects, resumption, failures."""

from __future__ import annotations

import bz2
import logging
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.mediawiki.dumps import Page, dump, header, numbered
from wikinav_jax.common.files import read_json
from wikinav_jax.datasets.building.chunks import PageOptions
from wikinav_jax.datasets.mediawiki import build as build_module
from wikinav_jax.datasets.mediawiki.build import DumpBuild, dump_files
from wikinav_jax.datasets.sources.loader import fingerprint_inputs, load
from wikinav_jax.graph.store import EdgeKind, open_graph

PAGES = [
    Page("Bee", "A bee visits the [[Law#History (1871–1945)|rule]] and a [[wasp]].\n\n[[Bumble]]."),
    Page("Law", "Law.\n== History (1871–1945) ==\nThe [[Queen club]] and [[bee]] and [[Bees]]."),
    Page("B.C. Queen", "Nothing.\n== Club ==\nA club house by the [[Nowhere]]."),
    Page("Queen club", "#REDIRECT[[B.C._Queen#Club]]", redirect="B.C. Queen"),
    Page("Bees", "#REDIRECT [[Bumble]]", redirect="Bumble"),
    Page("Bumble", "#redirect: [[bee]] {{R from x}}", redirect="Bee"),
    Page("A", "#REDIRECT [[B]]", redirect="B"),
    Page("B", "#REDIRECT [[C]]", redirect="C"),
    Page("C", "#REDIRECT [[A]]", redirect="A"),
    Page('The "Wasp"', "#REDIRECT [[Wasp]]"),  # a dump older than the <redirect> element
    Page("Wasp", 'Plain. [[The &quot;Wasp"]] and [[A]] and [[Category:X]].'),
    Page("Out", "#REDIRECT [[:Category:X]]", redirect="Category:X"),
    Page("Category:X", "[[Bee]]", namespace=14),
    Page("Data", "{}", model="json"),
    Page("Lonely", "A page without links."),
]


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "wiki.xml.bz2"
    xml = dump(PAGES)
    cut = xml.index("<page>", len(xml) // 2)
    path.write_bytes(bz2.compress(xml[:cut].encode()) + bz2.compress(xml[cut:].encode()))
    return path


def built(source, tmp_path, **options):
    """The graph of a dump, in memory."""
    options = {"workers": 1, "entity_links": False, **options}
    return load(None, tmp_path / "cache", None, source=str(source), **options)


def edges(graph, kind=EdgeKind.HYPERLINK) -> list[tuple[str, str, str]]:
    """(source's text, anchor's words, target's text) of all edges of a kind."""
    found = []
    for src in range(graph.num_nodes):
        for slot in range(graph.indptr[src], graph.indptr[src + 1]):
            if graph.edge_kind[slot] == kind:
                start, end = graph.anchor[slot]
                text = graph.text(src)
                found.append((text, text[start:end], graph.text(graph.indices[slot])))
    return found


BEE = "A bee visits the rule and a wasp.\nBumble."
LAW = "The Queen club and bee and Bees."
WASP = 'Plain. The "Wasp" and A and .'
CLUB = "A club house by the Nowhere."


def test_graph(source, tmp_path):
    options = {"source": str(source), "workers": 1, "entity_links": False}
    graph = load(None, tmp_path / "cache", tmp_path / "graph", **options)
    assert graph.article_titles == ["Bee", "Law", "B.C. Queen", "Wasp", "Lonely"]
    # [[Bumble]] leads through a redirect to its own article; [[Queen club]] to a section; [[Bees]]
    # through two redirects, to where [[bee]] led before.
    assert edges(graph) == [
        (BEE, "rule", LAW),
        (BEE, "wasp", WASP),
        (LAW, "Queen club", CLUB),
        (LAW, "bee", BEE),
    ]
    meta = open_graph(tmp_path / "graph").meta
    assert meta["mediawiki"]["wiki"] == "enwiki"
    assert (
        meta["mediawiki"]["counts"].items()
        >= {
            "pages": 15,
            "articles": 5,
            "redirects": 8,
            "redirects_to_no_article": 1,
            "redirect_cycles": 1,
            "redirects_in_or_into_cycles": 3,
            "pages_of_other_namespaces": 1,
            "pages_of_other_content_models": 1,
            "pages_with_an_id_seen_before": 0,
            "failed_pages": 0,
        }.items()
    )
    assert meta["mediawiki"]["problems"] == meta["mediawiki"]["failed_pages"] == []
    assert 0 < meta["path_lengths"]["reachable_share"] < 1
    assert meta["licence"].startswith("CC BY-SA 4.0")
    assert meta["statistics"]["dropped"] == {
        "ambiguous_aliases": 0,
        "documents_with_a_title_seen_before": 0,
        "documents_without_words": 0,
        "entity_links_beside_a_hyperlink": 0,
        "links_repeated_in_a_block": 1,
        "links_to_themselves": 2,
        "links_to_unknown_titles": 2,
    }
    assert not list((tmp_path / "cache" / "corpus").glob("*"))  # parsed pages are gone


def many_pages() -> str:
    rng = np.random.default_rng(5)
    pages = []
    for i in range(300):
        links = " ".join(f"[[Page {j}]] word" for j in rng.integers(0, 300, 8))
        pages.append(Page(f"Page {i}", f"{'filler ' * 200} {links}\n== S ==\n{links}"))
    return dump(pages)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(build_module, "_FIRST_CHUNK", 20_000)
    monkeypatch.setattr(build_module, "_LARGEST_CHUNK", 20_000)


def test_the_graph_does_not_depend_on_the_number_of_workers(tmp_path, small_chunks):
    path = tmp_path / "many.xml"
    path.write_text(many_pages(), encoding="utf-8")
    hashes = []
    for workers in (1, 3):
        output = tmp_path / f"graph-{workers}"
        load(None, tmp_path / f"cache-{workers}", output, source=str(path), workers=workers)
        hashes.append({file.name: file.read_bytes() for file in output.iterdir()})
    assert hashes[0].keys() == hashes[1].keys()
    for name, content in hashes[0].items():
        if name != "meta.json":
            assert content == hashes[1][name]
    first, second = (read_json(tmp_path / f"graph-{n}" / "meta.json") for n in (1, 3))
    assert first["mediawiki"] == second["mediawiki"]
    assert first["statistics"] == second["statistics"]


def test_an_interrupted_build_goes_on(tmp_path, small_chunks):
    path = tmp_path / "many.xml"
    path.write_text(many_pages(), encoding="utf-8")
    build = DumpBuild(path, tmp_path / "spill", workers=1)
    num_chunks = build.parse()
    heads = sorted(build.folder.rglob("*.json"))
    assert len(heads) == num_chunks > 20
    texts = [build.spill.texts(number) for number in range(num_chunks)]
    for head in heads[7:]:  # as if killed after seven chunks
        head.unlink()
    times = {head: head.stat().st_mtime_ns for head in heads[:7]}

    again = DumpBuild(path, tmp_path / "spill", workers=1)
    assert again.parse() == num_chunks
    assert [again.spill.texts(number) for number in range(num_chunks)] == texts
    assert all(head.stat().st_mtime_ns == when for head, when in times.items())
    assert again.report() == build.report()


def test_a_changed_dump_is_parsed_anew(tmp_path):
    path = tmp_path / "wiki.xml"
    for text in ("old", "new and longer"):
        path.write_text(dump([Page("A", text)]))
        assert built(path, tmp_path).texts(None) == [text]


def test_failing_pages_are_listed_and_left_out(tmp_path, caplog):
    broken = Page("Broken", "x").xml().replace("<text", "&undefined;<text")
    good = "".join(page.xml() for page in numbered([Page("A", "text"), Page("B", "[[A]]")]))
    large = Page("Large", "word " * 3000).xml()
    path = tmp_path / "wiki.xml"
    path.write_text(header() + broken + good + large + "</mediawiki>")
    build = DumpBuild(
        path, tmp_path / "spill", workers=1, options=PageOptions(max_characters=10_000)
    )
    with caplog.at_level(logging.WARNING, logger="absl"):
        assert build.parse() == 1
    assert build.spill.texts(0).titles == ["A", "B"]
    failed = build.report()["failed_pages"]
    assert [title for title, _ in failed] == ["Broken", "Large"]
    assert "undefined entity" in failed[0][1]
    assert "15,000 characters; max_characters=10,000" in failed[1][1]
    assert build.report()["counts"]["failed_pages"] == 2
    assert "page 'Large' is left out" in caplog.text


def test_a_truncated_dump_gives_the_graph_of_what_is_there(tmp_path, caplog):
    data = bz2.compress(many_pages().encode())
    path = tmp_path / "wiki.xml.bz2"
    streams = [bz2.compress(part) for part in (many_pages().encode()[:200_000], data)]
    path.write_bytes(streams[0] + streams[1][:100])
    graph = built(path, tmp_path)
    titles = graph.article_titles
    assert titles == [f"Page {i}" for i in range(len(titles))]
    assert len(titles) > 50
    assert any("is cut off" in problem for problem in graph.meta["mediawiki"]["problems"])


def test_an_id_seen_twice_counts_once(tmp_path):
    pages = [Page("A", "first", 5), Page("B", "b", 6), Page("A", "again", 5), Page("C", "c", 5)]
    path = tmp_path / "wiki.xml"
    path.write_text(dump(pages))
    graph = built(path, tmp_path)
    assert graph.article_titles == ["A", "B"]
    assert graph.texts(None) == ["first", "b"]
    assert graph.meta["mediawiki"]["counts"]["pages_with_an_id_seen_before"] == 2


def test_titles_seen_twice_and_articles_without_words(tmp_path):
    pages = [
        Page("A", "{{x}}"),
        Page("B", "b"),
        Page("A", "[[B]] a"),
        Page("a", "more"),
        Page("C", ""),
    ]
    path = tmp_path / "wiki.xml"
    path.write_text(dump(pages))
    graph = built(path, tmp_path)
    assert graph.article_titles == ["B", "A"]
    assert graph.texts(None) == ["b", "B a"]
    dropped = graph.meta["statistics"]["dropped"]
    assert dropped["documents_without_words"] == 2
    assert dropped["documents_with_a_title_seen_before"] == 1
    assert edges(graph) == [("B a", "B", "b")]


def test_a_folder_of_parts(tmp_path):
    for number in (1, 2, 10):
        xml = dump([Page(f"Page {number}", f"text {number}", page_id=number)])
        (tmp_path / f"wiki-part{number}.xml.bz2").write_bytes(bz2.compress(xml.encode()))
    (tmp_path / "md5sums.txt").write_text("not a dump")
    assert [path.name for path in dump_files(tmp_path)] == [
        "wiki-part1.xml.bz2",
        "wiki-part2.xml.bz2",
        "wiki-part10.xml.bz2",
    ]
    assert built(tmp_path, tmp_path).article_titles == ["Page 1", "Page 2", "Page 10"]


def test_what_cannot_be_built(tmp_path):
    with pytest.raises(ValueError, match="source is empty"):
        load(None, tmp_path, None)
    with pytest.raises(FileNotFoundError, match=r"source='none.xml' does not exist"):
        load(tmp_path, tmp_path, None, source="none.xml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no file that ends in"):
        load(tmp_path, tmp_path, None, source="empty", source_type="mediawiki")
    (tmp_path / "no.xml").write_text(dump([Page("Talk:A", "x", namespace=1)]))
    with pytest.raises(
        ValueError, match="no article with any text: of 1 pages 1 are of other namespaces"
    ):
        load(tmp_path, tmp_path, None, source="no.xml", workers=1)
    with pytest.raises(ValueError, match="workers=-1"):
        DumpBuild(tmp_path / "no.xml", tmp_path, workers=-1)


def test_fingerprints_change_with_the_dump(tmp_path):
    path = tmp_path / "wiki.xml"
    path.write_text(dump([Page("A", "x")]))
    first = fingerprint_inputs(tmp_path, tmp_path, source="wiki.xml", keep_tables=True)
    assert first == fingerprint_inputs(None, tmp_path, source=str(path))
    path.write_text(dump([Page("A", "xy")]))
    assert fingerprint_inputs(tmp_path, tmp_path, source="wiki.xml") != first
