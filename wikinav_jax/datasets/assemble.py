"""Blocks to a LinkedTextGraph: titles become node ids, mentions become entity links.

Two passes. The first splits documents into blocks and remembers each link by the title it names;
only then is every title known. The second places entity links and turns names into nodes.
"""

from __future__ import annotations

import dataclasses
import operator
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wikinav_jax.common.progress import progress
from wikinav_jax.datasets.blocks import split_into_blocks
from wikinav_jax.datasets.documents import Document
from wikinav_jax.datasets.entities import EntityLinker, LinkerOptions, unambiguous_mentions
from wikinav_jax.datasets.sentences import count_words
from wikinav_jax.datasets.statistics import graph_statistics
from wikinav_jax.graph.block_table import SECTION_SEPARATOR
from wikinav_jax.graph.csr import csr_from_edges
from wikinav_jax.graph.store import EdgeKind, LinkedTextGraph, open_graph, save_graph

# Places of next and previous among a block's edges: behind every anchor.
_NEXT_PLACE, _PREVIOUS_PLACE = 1 << 16, (1 << 16) + 1


def assemble_graph(
    documents: Iterable[Document],
    *,
    source: str,
    licence: str,
    command: str,
    linker_options: LinkerOptions | None = None,
    target_words: int = 100,
    max_words: int = 120,
    output: str | Path | None = None,
    extra_meta: Mapping[str, Any] | None = None,
) -> LinkedTextGraph:
    """Builds the graph of a corpus.

    A hyperlink leads to the first block of the article it names; with a fragment that names one
    of its sections (by the last heading; case and underscores do not matter), to that section's
    first block. A block keeps one edge per target block and kind, the first in reading order, and
    no entity link to an article that it hyperlinks already. Links to unknown titles, and links of
    a block to itself or to the top of its own article, are dropped. So are documents without
    words, and those whose title was seen before. Everything dropped is counted in
    `meta["statistics"]`. The edges of a block come in the order of their anchors, then next, then
    previous (within the article).

    Args:
      documents: read once.
      source: where the text comes from.
      licence: the licence of the text.
      command: the command that builds this graph.
      linker_options: which mentions become entity links; None for no entity links.
      target_words: see `split_into_blocks`.
      max_words: see `split_into_blocks`.
      output: the directory to save to; None keeps the graph in memory.
      extra_meta: more JSON for `meta`; read after the last document, so that a source may fill it
        while it yields.

    Returns:
      The graph, opened from `output` if that is given.

    Raises:
      ValueError: no document has any word.
    """
    corpus = _Corpus()
    bar = progress(
        documents, desc="Blocks", unit="doc", total=operator.length_hint(documents) or None
    )
    for document in bar:
        corpus.add(document, target_words, max_words)
    if not corpus.texts:
        raise ValueError(
            f"the corpus ({source}) is empty: of {corpus.dropped['documents_without_words']} "
            "documents none has any text; check the path and the options of the data set"
        )
    edges = _Edges()
    corpus.add_hyperlinks(edges)
    if linker_options is not None:
        corpus.add_entity_links(edges, linker_options)
    graph = corpus.graph(edges)
    meta = {
        **(extra_meta or {}),
        "source": source,
        "licence": licence,
        "command": command,
        "statistics": {
            **graph_statistics(graph, np.asarray(corpus.words)),
            "links_to_an_unknown_fragment": corpus.unknown_fragments,
            "dropped": dict(sorted(corpus.dropped.items())),
        },
    }
    graph = dataclasses.replace(graph, meta=meta)
    if output is None:
        return graph
    save_graph(graph, output, source=source, licence=licence, command=command)
    return open_graph(output)


class _Edges:
    """A growing edge list: source, target, kind, and the anchor's span."""

    def __init__(self) -> None:
        self.src = array("i")
        self.dst = array("i")
        self.kind = array("B")
        self.start = array("H")
        self.end = array("H")

    def append(self, src: int, dst: int, kind: EdgeKind, start: int, end: int) -> None:
        self.src.append(src)
        self.dst.append(dst)
        self.kind.append(kind)
        self.start.append(start)
        self.end.append(end)


class _Corpus:
    """All blocks, and links by the names of their targets. Arrays, not objects: it may be long."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.sections: list[str] = []
        self.article = array("i")
        self.words = array("i")
        self.titles: list[str] = []
        self.aliases: list[tuple[str, ...]] = []
        self.first_block = array("i")
        self.article_of: dict[str, int] = {}
        self.section_block: dict[tuple[int, str], int] = {}
        # Links of block b are slots link_start[b]:link_start[b + 1] of the four arrays below.
        self.link_start = array("q", [0])
        self.link_from = array("H")
        self.link_to = array("H")
        self.link_target = array("i")  # index into `names`
        self.link_fragment = array("i")
        self.names: dict[str, int] = {"": 0}
        self.unknown_fragments = 0
        self.dropped: Counter[str] = Counter(
            {
                "documents_without_words": 0,
                "documents_with_a_title_seen_before": 0,
                "links_to_unknown_titles": 0,
                "links_to_themselves": 0,
                "links_repeated_in_a_block": 0,
                "entity_links_beside_a_hyperlink": 0,
                "ambiguous_aliases": 0,
            }
        )

    def add(self, document: Document, target_words: int, max_words: int) -> None:
        if document.title in self.article_of:
            self.dropped["documents_with_a_title_seen_before"] += 1
            return
        blocks = split_into_blocks(document, target_words=target_words, max_words=max_words)
        if not blocks:
            self.dropped["documents_without_words"] += 1
            return
        number = len(self.titles)
        self.article_of[document.title] = number
        self.titles.append(document.title)
        self.aliases.append(document.aliases)
        self.first_block.append(len(self.texts))
        for block in blocks:
            for heading in block.section:
                self.section_block.setdefault((number, _fold(heading)), len(self.texts))
            self.texts.append(block.text)
            self.sections.append(SECTION_SEPARATOR.join(block.section))
            self.article.append(number)
            self.words.append(count_words(block.text))
            for anchor in block.anchors:
                self.link_from.append(anchor.start)
                self.link_to.append(anchor.end)
                self.link_target.append(self.names.setdefault(anchor.target, len(self.names)))
                fragment = _fold(anchor.fragment)
                self.link_fragment.append(self.names.setdefault(fragment, len(self.names)))
            self.link_start.append(len(self.link_from))

    def add_hyperlinks(self, edges: _Edges) -> None:
        names = list(self.names)
        article_of_name = [self.article_of.get(name, -1) for name in names]
        for block, article in enumerate(self.article):
            seen: set[int] = set()
            for slot in range(self.link_start[block], self.link_start[block + 1]):
                target_article = article_of_name[self.link_target[slot]]
                if target_article < 0:
                    self.dropped["links_to_unknown_titles"] += 1
                    continue
                target = self.first_block[target_article]
                to_top = True
                if self.link_fragment[slot]:
                    key = (target_article, names[self.link_fragment[slot]])
                    if key in self.section_block:
                        target = self.section_block[key]
                        to_top = False
                    else:
                        self.unknown_fragments += 1  # and kept, to the top
                if target == block or (to_top and target_article == article):
                    self.dropped["links_to_themselves"] += 1
                elif target in seen:
                    self.dropped["links_repeated_in_a_block"] += 1
                else:
                    seen.add(target)
                    start, end = self.link_from[slot], self.link_to[slot]
                    edges.append(block, target, EdgeKind.HYPERLINK, start, end)

    def add_entity_links(self, edges: _Edges, options: LinkerOptions) -> None:
        names = zip(self.titles, self.aliases, strict=True)
        mentions, self.dropped["ambiguous_aliases"] = unambiguous_mentions(names)
        linker = EntityLinker(mentions, options)
        hyperlinked = self._hyperlinked_articles(edges)
        for block, text in enumerate(progress(self.texts, desc="Entity links", unit="block")):
            slots = range(self.link_start[block], self.link_start[block + 1])
            taken = [(self.link_from[slot], self.link_to[slot]) for slot in slots]
            for anchor in linker.find(text, self.titles[self.article[block]], taken):
                target_article = self.article_of[anchor.target]
                if target_article in hyperlinked.get(block, ()):
                    self.dropped["entity_links_beside_a_hyperlink"] += 1
                    continue
                target = self.first_block[target_article]
                edges.append(block, target, EdgeKind.ENTITY, anchor.start, anchor.end)

    def _hyperlinked_articles(self, edges: _Edges) -> dict[int, set[int]]:
        articles: dict[int, set[int]] = {}
        for src, dst in zip(edges.src, edges.dst, strict=True):
            articles.setdefault(src, set()).add(self.article[dst])
        return articles

    def graph(self, edges: _Edges) -> LinkedTextGraph:
        """Adds next and previous, and sorts each block's edges by their place in its text."""
        article = np.asarray(self.article, np.int32)
        left = np.flatnonzero(article[1:] == article[:-1])
        here = len(left)
        src = np.concatenate([np.asarray(edges.src, np.int64), left, left + 1])
        dst = np.concatenate([np.asarray(edges.dst, np.int64), left + 1, left])
        kind = np.concatenate(
            [
                np.asarray(edges.kind, np.uint8),
                np.full(here, EdgeKind.NEXT, np.uint8),
                np.full(here, EdgeKind.PREVIOUS, np.uint8),
            ]
        )
        anchor = np.zeros((len(src), 2), np.uint16)
        anchor[: len(edges.src), 0] = edges.start
        anchor[: len(edges.src), 1] = edges.end
        place = anchor[:, 0].astype(np.int64)
        place[kind == EdgeKind.NEXT] = _NEXT_PLACE
        place[kind == EdgeKind.PREVIOUS] = _PREVIOUS_PLACE
        order = np.lexsort((place, src))
        csr = csr_from_edges(len(article), src[order], dst[order], kind[order], anchor[order])
        return LinkedTextGraph.from_arrays(
            **csr._asdict(),
            article=article,
            texts=self.texts,
            titles=self.titles,
            sections=self.sections,
        )


def _fold(heading: str) -> str:
    return heading.replace("_", " ").strip().casefold()
