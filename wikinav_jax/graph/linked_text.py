"""LinkedTextGraph: blocks of text and the links between them, in memory or mapped from disk."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.graph.block_table import BlockTable
from wikinav_jax.graph.csr import (
    ReverseGraph,
    check_integers,
    check_num_nodes,
    csr_from_edges,
    edge_sources,
    read_only,
)
from wikinav_jax.graph.reverse import load_or_build_reverse

# name: (dtype, trailing shape); the leading length follows from the numbers of nodes and edges
ARRAYS: dict[str, tuple[type, tuple[int, ...]]] = {
    "indptr": (np.int64, ()),
    "indices": (np.int32, ()),
    "edge_kind": (np.uint8, ()),
    "anchor": (np.uint16, (2,)),
    "article": (np.int32, ()),
}
_MANY_TITLES = 20_000  # beyond this, suggestions look at a cheap pre-selection first


class EdgeKind(enum.IntEnum):
    """What an edge is, as stored in `edge_kind`."""

    HYPERLINK = 0
    ENTITY = 1
    NEXT = 2
    PREVIOUS = 3


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LinkedTextGraph:
    """A directed multigraph of N text blocks in A articles with E edges.

    The blocks of an article are consecutive nodes, articles come in order, and none is empty.
    Make one with `from_arrays` (which checks everything) or `open_graph`; all arrays are read-only.
    """

    indptr: np.ndarray  # int64 [N + 1]
    indices: np.ndarray  # int32 [E]
    edge_kind: np.ndarray  # uint8 [E], EdgeKind
    anchor: np.ndarray  # uint16 [E, 2], characters in the source block's text; 0, 0 when none
    article: np.ndarray  # int32 [N], never decreasing
    blocks: BlockTable
    meta: Mapping[str, Any]
    path: Path | None = None

    @classmethod
    def from_arrays(
        cls,
        indptr: np.ndarray,
        indices: np.ndarray,
        edge_kind: np.ndarray,
        anchor: np.ndarray,
        article: np.ndarray,
        texts: Sequence[str],
        titles: Sequence[str],
        sections: Sequence[str],
        meta: Mapping[str, Any] | None = None,
    ) -> LinkedTextGraph:
        """Builds a graph in memory.

        Args:
          indptr: int [N + 1].
          indices: int [E].
          edge_kind: int [E].
          anchor: int [E, 2].
          article: int [N], 0 for the first node and growing by 0 or 1 from node to node.
          texts: [N].
          titles: [A], distinct.
          sections: [N], paths such as "History > Early years"; "" in the lead.
          meta: anything JSON can hold, kept in `meta.json` when the graph is saved.

        Raises:
          ValueError: no nodes, arrays that disagree in size, or values out of range.
        """
        num_nodes = check_num_nodes(len(texts))
        article = check_integers("article", article, len(titles), shape=(num_nodes,))
        blocks = BlockTable.from_lists(texts, titles, sections, article)
        graph = cls(
            indptr=_stored("indptr", check_integers("indptr", indptr, 2**62, (num_nodes + 1,))),
            indices=_stored("indices", check_integers("indices", indices, num_nodes, (None,))),
            edge_kind=_stored(
                "edge_kind", check_integers("edge_kind", edge_kind, len(EdgeKind), (None,))
            ),
            anchor=_stored("anchor", check_integers("anchor", anchor, 65_536, (None, 2))),
            article=_stored("article", article),
            blocks=blocks,
            meta=dict(meta or {}),
        )
        check_graph(graph)
        return graph

    def __repr__(self) -> str:
        where = f" at {self.path}" if self.path else ""
        return (
            f"LinkedTextGraph({self.num_nodes:,} nodes, {self.num_edges:,} edges, "
            f"{self.num_articles:,} articles{where})"
        )

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """E."""
        return len(self.indices)

    @property
    def num_articles(self) -> int:
        """A."""
        return self.blocks.num_articles

    @functools.cached_property
    def out_degree(self) -> np.ndarray:
        """Out-edges of every node, int64 [N]."""
        return read_only(np.diff(self.indptr))

    @functools.cached_property
    def article_titles(self) -> list[str]:
        """The title of every article, [A]."""
        return self.blocks.titles.to_pylist()

    def edge_slots(self, node: int) -> slice:
        """The slots of a node's out-edges in `indices`, `edge_kind` and `anchor`."""
        self._check_node(node)
        return slice(int(self.indptr[node]), int(self.indptr[node + 1]))

    def neighbours(self, node: int) -> np.ndarray:
        """The targets of a node's out-edges, int32 [degree], a view."""
        return self.indices[self.edge_slots(node)]

    def text(self, node: int) -> str:
        """The text of a block."""
        return self.blocks.text(node)

    def texts(self, nodes: Sequence[int] | np.ndarray | None = None) -> list[str]:
        """The texts of these blocks, or of all."""
        return self.blocks.texts(nodes)

    def title(self, node: int) -> str:
        """The title of a block's article."""
        self._check_node(node)
        return self.blocks.title(int(self.article[node]))

    def section(self, node: int) -> str:
        """The section path of a block, "" in the lead."""
        return self.blocks.section(node)

    def first_block(self, article: int) -> int:
        """The node that a link to this article leads to."""
        self._check_article(article)
        return int(np.searchsorted(self.article, article))

    def blocks_of(self, article: int) -> np.ndarray:
        """The nodes of an article in reading order, int64."""
        start = self.first_block(article)
        stop = int(np.searchsorted(self.article, article, side="right"))
        return np.arange(start, stop)

    def find(self, title_or_id: str | int) -> int:
        """The node meant by an article title (its first block) or by an id such as 12 or '#12'.

        A title that looks like a number wins over the id.

        Raises:
          KeyError: nothing has that name (the message suggests near titles) or that id.
        """
        if isinstance(title_or_id, str):
            position = pc.index(self.blocks.titles, title_or_id).as_py()
            if position >= 0:
                return self.first_block(position)
            digits = title_or_id.removeprefix("#")
            if not (digits.isascii() and digits.isdigit()):
                raise KeyError(
                    f"no article is called {title_or_id!r}."
                    + did_you_mean(title_or_id, self._titles_like(title_or_id))
                    + f" Give one of the {self.num_articles:,} titles, or a node id such as '#12'."
                )
            title_or_id = int(digits)
        if not 0 <= title_or_id < self.num_nodes:
            raise KeyError(f"node {title_or_id} does not exist: ids are 0..{self.num_nodes - 1}")
        return int(title_or_id)

    def reverse(self) -> ReverseGraph:
        """The in-edges of every node; built once, and kept beside a graph that is on disk."""
        return self._reverse

    def article_view(
        self, kinds: Sequence[EdgeKind] = (EdgeKind.HYPERLINK, EdgeKind.ENTITY)
    ) -> LinkedTextGraph:
        """The graph of articles: one node each, with the text of its first block.

        Two articles are linked once however often one names the other; links of an article to
        itself are dropped. The edge kept is the first one of the lowest kind, and keeps its anchor
        only if it stands in the first block. Edges of an article come in reading order.
        """
        first = np.searchsorted(self.article, np.arange(self.num_articles))
        source_block = edge_sources(self)
        wanted = np.isin(self.edge_kind, [int(kind) for kind in kinds])
        src, dst = self.article[source_block], self.article[self.indices]
        slots = np.flatnonzero(wanted & (src != dst))
        pair = src[slots].astype(np.int64) * self.num_articles + dst[slots]
        order = np.lexsort((slots, self.edge_kind[slots], pair))
        is_first = np.diff(pair[order], prepend=-1) != 0
        kept = np.sort(slots[order[is_first]])
        in_first_block = source_block[kept] == first[src[kept]]
        csr = csr_from_edges(
            self.num_articles,
            src[kept],
            dst[kept],
            self.edge_kind[kept],
            np.where(in_first_block[:, None], self.anchor[kept], 0),
        )
        articles = np.arange(self.num_articles)
        return LinkedTextGraph(
            **csr._asdict(),
            article=read_only(articles.astype(np.int32)),
            blocks=self.blocks.select(first, articles),
            meta={**own_meta(self), "view": "article", "view_kinds": [int(kind) for kind in kinds]},
        )

    @functools.cached_property
    def _reverse(self) -> ReverseGraph:
        return load_or_build_reverse(self, self.path, self.meta.get("files"))

    def _titles_like(self, name: str) -> list[str]:
        """Titles worth comparing with `name` letter by letter."""
        if self.num_articles <= _MANY_TITLES or len(name) < 6:
            return self.article_titles
        # Comparing with millions of titles takes minutes. Up to two typing errors leave one third
        # of the name intact, so titles that hold a third of it and have a like length suffice.
        titles = self.blocks.titles
        third = len(name) // 3
        pieces = (name[:third], name[third : 2 * third], name[2 * third :])
        matches = [pc.match_substring(titles, piece, ignore_case=True) for piece in pieces]
        like = functools.reduce(pc.or_, matches)
        gap = pc.abs(pc.subtract(pc.utf8_length(titles), len(name)))
        return titles.filter(pc.and_(like, pc.less_equal(gap, 3))).to_pylist()

    def _check_node(self, node: int) -> None:
        if not 0 <= node < self.num_nodes:
            raise IndexError(f"node {node} does not exist: ids are 0..{self.num_nodes - 1}")

    def _check_article(self, article: int) -> None:
        if not 0 <= article < self.num_articles:
            raise IndexError(
                f"article {article} does not exist: ids are 0..{self.num_articles - 1}"
            )


def own_meta(graph: LinkedTextGraph) -> dict[str, Any]:
    """What a graph derived from this one may keep of its meta: no counts, no file hashes."""
    return {
        key: value
        for key, value in graph.meta.items()
        if key not in ("format", "version", "counts", "files")
    }


def check_graph(graph: LinkedTextGraph) -> None:
    """Checks every array of a graph, reading them all.

    Raises:
      ValueError: naming what is wrong, where, and what it should be.
    """
    num_nodes, num_edges = graph.num_nodes, graph.num_edges
    for name in ("edge_kind", "anchor"):
        if len(getattr(graph, name)) != num_edges:
            raise ValueError(
                f"{name} has {len(getattr(graph, name)):,} rows for {num_edges:,} edges"
            )
    degree = np.diff(graph.indptr)
    if graph.indptr[0] != 0 or graph.indptr[-1] != num_edges or (degree < 0).any():
        raise ValueError(
            f"indptr must rise from 0 to {num_edges}, the number of edges; it goes from "
            f"{graph.indptr[0]} to {graph.indptr[-1]} and falls {int((degree < 0).sum())} times"
        )
    check_integers("indices", graph.indices, num_nodes, (num_edges,))
    check_integers("edge_kind", graph.edge_kind, len(EdgeKind), (num_edges,))
    steps = np.diff(graph.article, prepend=0)
    if ((steps < 0) | (steps > 1)).any() or graph.article[-1] != graph.num_articles - 1:
        raise ValueError(
            "article must start at 0, grow by 0 or 1 from node to node and end at "
            f"{graph.num_articles - 1} (articles are consecutive and none is empty); it is wrong "
            f"at node {int(np.argmax((steps < 0) | (steps > 1)))} or ends at {graph.article[-1]}"
        )
    lengths = graph.blocks.text_lengths()[edge_sources(graph)]
    start, stop = graph.anchor[:, 0], graph.anchor[:, 1]
    wrong = (start > stop) | (stop > lengths)
    if wrong.any():
        edge = int(np.argmax(wrong))
        raise ValueError(
            f"the anchor of edge {edge} is {start[edge]}..{stop[edge]}, but its block has "
            f"{lengths[edge]} characters; anchors count characters of the source block"
        )


def _stored(name: str, array: np.ndarray) -> np.ndarray:
    return read_only(array.astype(ARRAYS[name][0], copy=False))
