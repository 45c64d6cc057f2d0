"""The graph built chunk by chunk is the one that `datasets.assemble` builds from documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.datasets.mediawiki.dumps import Page, dump
from wikinav_jax.datasets.assemble import assemble_graph
from wikinav_jax.datasets.building.chunks import PageOptions
from wikinav_jax.datasets.building.graph import build_graph
from wikinav_jax.datasets.documents import Document, Passage, Section
from wikinav_jax.datasets.entities import LinkerOptions
from wikinav_jax.datasets.linking import LinkingOptions
from wikinav_jax.datasets.mediawiki import build as build_module
from wikinav_jax.datasets.mediawiki.build import DumpBuild
from wikinav_jax.datasets.mediawiki.dump import DumpReader
from wikinav_jax.datasets.mediawiki.pages import PageParser
from wikinav_jax.graph.linked_text import ARRAYS


def random_wiki(seed: int) -> str:
    """Pages with links of every kind: to sections, redirects, themselves, nowhere."""
    rng = np.random.default_rng(seed)
    words = ["river", "stone", "Moss", "old", "the", "of", "Quay", "harbour", "law", "bee"]
    pages = []
    for i in range(150):
        if rng.random() < 0.25:
            target = f"[[Page {rng.integers(0, 170)}{'#Part 1' * int(rng.random() < 0.4)}]]"
            pages.append(Page(f"Page {i}", f"#REDIRECT {target}"))
            continue
        lines = []
        for part in range(rng.integers(0, 4)):
            lines.append(f"== Part {part} ==")
            for _ in range(rng.integers(1, 60)):
                lines.append(" ".join(rng.choice(words, 8)) + ".")
                link = f"Page {rng.integers(0, 170)}" + ["", "#Part 1", "#part_2"][rng.integers(3)]
                lines.append(f"[[{link}|{rng.choice(words)}]] Page {rng.integers(0, 150)}")
        pages.append(Page(f"Page {i}" if rng.random() < 0.95 else "Page 0", "\n".join(lines)))
    return dump(pages)


def documents(path) -> Iterator[Document]:
    """The documents of a dump, redirects followed one by one."""
    reader = DumpReader(path)
    chunk = PageParser(reader.site, PageOptions()).parse(list(reader.pages()))
    redirects: dict[str, tuple[str, str]] = {}
    for title, *to in chunk.redirects:
        redirects.setdefault(title, tuple(to))
    aliases: dict[str, list[str]] = {}

    def follow(title: str, fragment: str) -> tuple[str, str]:
        own, steps = fragment, 0
        while title in redirects and steps <= len(redirects):
            title, named = redirects[title]
            fragment, steps = named or fragment, steps + 1
        return (title, own or fragment) if steps <= len(redirects) else ("", "")

    for title in redirects:
        target, fragment = follow(title, "")
        if target and not fragment:
            aliases.setdefault(target, []).append(title)
    for _, document, _ in chunk.articles:
        sections = []
        for section in document.sections:
            passages = []
            for passage in section.passages:
                anchors = []
                for anchor in passage.anchors:
                    target, fragment = follow(anchor.target, anchor.fragment)
                    target = target or anchor.target  # a ring: there is no such article
                    anchors.append(dataclasses.replace(anchor, target=target, fragment=fragment))
                passages.append(Passage(passage.text, tuple(anchors)))
            sections.append(Section(section.path, tuple(passages)))
        yield Document(document.title, tuple(sections), tuple(aliases.get(document.title, ())))


@pytest.mark.parametrize("entity_links", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_graph_as_from_documents(tmp_path, monkeypatch, seed, entity_links):
    monkeypatch.setattr(build_module, "_FIRST_CHUNK", 30_000)
    monkeypatch.setattr(build_module, "_LARGEST_CHUNK", 30_000)
    path = tmp_path / "wiki.xml"
    path.write_text(random_wiki(seed), encoding="utf-8")
    graph = build_graph(
        DumpBuild(path, tmp_path / "spill", workers=1),
        tmp_path / "graph",
        command="x",
        linking=LinkingOptions(use_anchors=False) if entity_links else None,
    )
    expected = assemble_graph(
        documents(path),
        source="x",
        licence="x",
        command="x",
        linker_options=LinkerOptions() if entity_links else None,
    )
    assert graph.num_nodes > 150
    assert graph.texts(None) == expected.texts(None)
    assert graph.blocks.sections() == expected.blocks.sections()
    assert graph.article_titles == expected.article_titles
    for name in ARRAYS:
        assert_array_equal(getattr(graph, name), getattr(expected, name), err_msg=name)
    assert graph.meta["statistics"] == expected.meta["statistics"]
    dropped = graph.meta["statistics"]["dropped"]
    assert min(dropped["links_to_unknown_titles"], dropped["links_to_themselves"]) > 0
    assert graph.meta["mediawiki"]["counts"]["redirect_cycles"] >= 0
    if entity_links:
        assert graph.meta["statistics"]["edges_by_kind"]["entity"] > 50
