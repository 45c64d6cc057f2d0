"""Second pass: what all chunks together say. Titles become articles, links become edges.

Arrays of a few bytes per title, heading and redirect are all that is held in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wikinav_jax.datasets.building.hashes import (
    NO_NAME,
    HashTable,
    name_hash,
    resolve_redirects,
    section_hash,
)
from wikinav_jax.datasets.building.spill import Spill

# What is read of all chunks at once; links are read chunk by chunk.
_GLOBAL = (
    "page_id",
    "title",
    "shown",
    "num_blocks",
    "heading",
    "heading_document",
    "heading_block",
    "redirect",
    "redirect_target",
    "redirect_fragment",
)


class Links(NamedTuple):
    """Edges of one chunk, by source block and place."""

    src: np.ndarray  # int64 [E]
    dst: np.ndarray  # int64 [E]
    start: np.ndarray  # uint16 [E], the anchor's characters
    end: np.ndarray  # uint16 [E]


class Anchors(NamedTuple):
    """Anchors of one chunk and the articles that they lead to, in the order of the file."""

    row: np.ndarray  # int64 [L], the block, counted from the chunk's first node
    target: np.ndarray  # int64 [L], article, -1 where it is none of the corpus
    start: np.ndarray  # uint16 [L]
    end: np.ndarray  # uint16 [L]


class Corpus:
    """The articles of all chunks, numbered in the dump's order."""

    def __init__(self, spill: Spill, num_chunks: int):
        """Reads the numbers of all chunks.

        A page id that was seen before is dropped; so is a title, unless the article before had
        no words; so are articles without words.
        """
        self._spill = spill
        self.counts: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter(
            documents_without_words=0,
            documents_with_a_title_seen_before=0,
            links_to_unknown_titles=0,
            links_to_themselves=0,
            links_repeated_in_a_block=0,
        )
        self.unknown_fragments = 0
        self._read(num_chunks)

    def _read(self, num_chunks: int) -> None:
        parts: dict[str, list[np.ndarray]] = {name: [] for name in _GLOBAL}
        num_documents = num_blocks = 0
        offsets = [(0, 0)]
        for number in range(num_chunks):
            chunk = self._spill.numbers(number)
            chunk["heading_document"] = chunk["heading_document"] + np.int64(num_documents)
            chunk["heading_block"] = chunk["heading_block"] + np.int64(num_blocks)
            for name, values in parts.items():
                values.append(chunk[name])
            num_documents += len(chunk["title"])
            num_blocks += len(chunk["words"])
            offsets.append((num_documents, num_blocks))
        columns = {
            name: np.concatenate(values) if values else np.zeros(0, np.int64)
            for name, values in parts.items()
        }
        self._offsets = offsets  # of each chunk's documents and blocks
        self._number_articles(columns)
        self._read_redirects(columns)
        self._read_headings(columns)

    def _number_articles(self, columns: dict[str, np.ndarray]) -> None:
        title, num_blocks = columns["title"].astype(np.uint64), columns["num_blocks"]
        page_id = columns["page_id"].astype(np.int64)
        # A page without an id is nobody's double.
        page_id = np.where(page_id < 0, -1 - np.arange(len(page_id)), page_id)
        first_id = _first_of_each(page_id)
        self.counts["pages_with_an_id_seen_before"] = int((~first_id).sum())
        candidate = first_id & (num_blocks > 0)
        kept = candidate.copy()
        kept[candidate] = _first_of_each(title[candidate])
        before = HashTable(title[kept], np.flatnonzero(kept)).get(title)
        again = first_id & ~kept & (before >= 0) & (before < np.arange(len(title)))
        self.dropped["documents_with_a_title_seen_before"] = int(again.sum())
        self.dropped["documents_without_words"] = int((first_id & ~kept & ~again).sum())
        self._article = np.where(kept, np.cumsum(kept) - 1, -1)  # of each document
        self.num_articles = int(kept.sum())
        blocks = np.where(kept, num_blocks, 0).astype(np.int64)
        # Per document: blocks of the graph before it, and of the chunks.
        self._first_block = np.concatenate([[0], np.cumsum(blocks)])
        self._first_stored = np.concatenate([[0], np.cumsum(num_blocks, dtype=np.int64)])
        self.num_blocks = int(self._first_block[-1])
        self._article_block = self._first_block[:-1][kept]  # first block of each article
        self._kept = kept
        self._titles = HashTable(title[kept], np.arange(self.num_articles, dtype=np.int32))
        self._title_of_document = title
        self._read_shown_titles(columns["shown"].astype(np.uint64)[kept])

    def _read_shown_titles(self, shown: np.ndarray) -> None:
        """Finds titles that several articles have: their keys differ, or they would be dropped."""
        values, count = np.unique(shown, return_counts=True)
        self._shown_titles = values
        self._is_shared = count[np.searchsorted(values, shown)] > 1
        self.counts["articles_with_a_title_of_another"] = int(self._is_shared.sum())

    def titles(self, number: int, titles: list[str], keys: list[str]) -> list[str]:
        """The titles of a chunk's articles, each unlike all others.

        Args:
          number: the chunk.
          titles: of its documents, as people read them.
          keys: likewise, or none where titles are the keys.
        """
        low, high = self._offsets[number][0], self._offsets[number + 1][0]
        kept = np.flatnonzero(self._kept[low:high])
        if not keys:
            return [titles[place] for place in kept]
        unique = []
        for place, article in zip(kept, self._article[low:high][kept], strict=True):
            title = titles[place]
            if self._is_shared[article]:
                title = f"{title} ({keys[place]})"
                while self._is_shown(title):
                    title += "*"
            unique.append(title)
        return unique

    def _is_shown(self, title: str) -> bool:
        name = np.uint64(name_hash(title))
        place = int(np.searchsorted(self._shown_titles, name))
        return place < len(self._shown_titles) and bool(self._shown_titles[place] == name)

    def _read_redirects(self, columns: dict[str, np.ndarray]) -> None:
        source = columns["redirect"].astype(np.uint64)
        first = _first_of_each(source)
        # An article is nearer than a redirect or another name that is called the same.
        first &= self._titles.get(source) < 0
        source = source[first]
        target = columns["redirect_target"].astype(np.uint64)[first]
        fragment = columns["redirect_fragment"].astype(np.uint64)[first]
        found = resolve_redirects(source, target, fragment)
        self.counts["redirect_cycles"] = found.cycles
        self.counts["redirects_in_or_into_cycles"] = int(found.lost.sum())
        good = ~found.lost
        self._redirects = HashTable(source[good], np.arange(int(good.sum()), dtype=np.int32))
        self._redirect_target = found.target[good]
        self._redirect_fragment = found.fragment[good]

    def _read_headings(self, columns: dict[str, np.ndarray]) -> None:
        document = columns["heading_document"].astype(np.int64)
        kept = self._kept[document]
        document = document[kept]
        block = columns["heading_block"][kept]
        block = block - self._first_stored[document] + self._first_block[document]
        key = section_hash(
            self._title_of_document[document], columns["heading"][kept].astype(np.uint64)
        )
        self._sections = HashTable(key, block.astype(np.int32))

    @property
    def nbytes(self) -> int:
        """Memory that the tables of titles, redirects and headings take."""
        arrays = (
            self._article,
            self._first_block,
            self._first_stored,
            self._article_block,
            self._kept,
            self._title_of_document,
            self._shown_titles,
            self._is_shared,
            self._redirect_target,
            self._redirect_fragment,
        )
        tables = (self._titles, self._redirects, self._sections)
        return sum(array.nbytes for array in arrays) + sum(table.nbytes for table in tables)

    def documents(self, number: int) -> np.ndarray:
        """Which documents of a chunk are articles: bool [D]."""
        return self._kept[self._offsets[number][0] : self._offsets[number + 1][0]]

    def blocks(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Which blocks of a chunk are nodes (bool [B]), and the articles of those (int64)."""
        low, high = self._offsets[number][0], self._offsets[number + 1][0]
        sizes = np.diff(self._first_stored[low : high + 1])
        kept = np.repeat(self._kept[low:high], sizes)
        return kept, np.repeat(self._article[low:high], sizes)[kept]

    def first_blocks(self, articles: np.ndarray) -> np.ndarray:
        """The first node of articles."""
        return self._article_block[articles]

    def articles_named(self, names: np.ndarray) -> np.ndarray:
        """The articles that names lead to (past redirects to whole articles), or -1; int64."""
        redirect = self._redirects.get(names)
        found = redirect >= 0
        to_top = found.copy()
        to_top[found] = self._redirect_fragment[redirect[found]] == NO_NAME
        names = names.copy()
        names[to_top] = self._redirect_target[redirect[to_top]]
        articles = self._titles.get(names)
        return np.where(found & ~to_top, -1, articles)

    def article_of_blocks(self, blocks: np.ndarray) -> np.ndarray:
        """The articles of nodes."""
        return np.searchsorted(self._article_block, blocks, side="right") - 1

    def spans(self, number: int) -> Iterator[tuple[int, int, int]]:
        """(node, start, end) of all anchors of a chunk, whatever they lead to."""
        chunk = self._spill.numbers(number)
        kept, _ = self.blocks(number)
        node = np.cumsum(kept) - 1 + self._first_block[self._offsets[number][0]]
        alive = kept[chunk["link_block"]]
        yield from zip(
            node[chunk["link_block"][alive]].tolist(),
            chunk["link_start"][alive].tolist(),
            chunk["link_end"][alive].tolist(),
            strict=True,
        )

    def anchors(self, number: int) -> Anchors:
        """All anchors of a chunk that leave their article, also those that give no edge."""
        chunk = self._spill.numbers(number)
        kept, article = self.blocks(number)
        src = np.cumsum(kept) - 1
        alive = kept[chunk["link_block"]]
        row = src[chunk["link_block"][alive]]
        name = chunk["link_target"][alive]
        redirect = self._redirects.get(name)
        moved = redirect >= 0
        name[moved] = self._redirect_target[redirect[moved]]
        target = self._titles.get(name)
        good = target != article[row]
        start, end = chunk["link_start"][alive], chunk["link_end"][alive]
        return Anchors(row[good], target[good], start[good], end[good])

    def links(self, number: int) -> Links:
        """The hyperlinks of a chunk, with the rules of `datasets.assemble`."""
        chunk = self._spill.numbers(number)
        kept, article = self.blocks(number)
        src = np.cumsum(kept) - 1 + self._first_block[self._offsets[number][0]]
        alive = kept[chunk["link_block"]]
        block = src[chunk["link_block"][alive]]
        own = article[block - self._first_block[self._offsets[number][0]]]
        name, fragment = chunk["link_target"][alive], chunk["link_fragment"][alive]
        redirect = self._redirects.get(name)
        moved = redirect >= 0
        name[moved] = self._redirect_target[redirect[moved]]
        further = self._redirect_fragment[redirect[moved]]
        fragment[moved] = np.where(fragment[moved] != NO_NAME, fragment[moved], further)
        target = self._titles.get(name)
        known = target >= 0
        self.dropped["links_to_unknown_titles"] += int((~known).sum())
        block, own, target = block[known], own[known], target[known]
        name, fragment = name[known], fragment[known]
        start, end = chunk["link_start"][alive][known], chunk["link_end"][alive][known]

        section = self._sections.get(section_hash(name, fragment))
        section[fragment == NO_NAME] = -1
        to_top = section < 0
        self.unknown_fragments += int((to_top & (fragment != NO_NAME)).sum())
        dst = np.where(to_top, self._article_block[target], section)
        itself = (dst == block) | (to_top & (target == own))
        self.dropped["links_to_themselves"] += int(itself.sum())
        block, dst, start, end = (values[~itself] for values in (block, dst, start, end))
        first = _first_of_each(block * np.int64(max(self.num_blocks, 1)) + dst)
        self.dropped["links_repeated_in_a_block"] += int((~first).sum())
        return Links(block[first], dst[first], start[first], end[first])


def _first_of_each(values: np.ndarray) -> np.ndarray:
    """Whether each value was not there before; bool [K]."""
    first = np.zeros(len(values), bool)
    first[np.unique(values, return_index=True)[1]] = True
    return first
