"""Chunks to a LinkedTextGraph, chunk by chunk: the same graph that `datasets.assemble` would build.

Texts and edges go to temporary files as they come, since a chunk's nodes are consecutive and its
edges start there; the graph is then mapped from these files and saved.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from wikinav_jax.common.progress import progress
from wikinav_jax.datasets.building.corpus import Corpus, Links
from wikinav_jax.datasets.building.mentions import Mentions
from wikinav_jax.datasets.building.spill import Spill
from wikinav_jax.datasets.entities import EntityLinker
from wikinav_jax.datasets.linking import LinkingOptions
from wikinav_jax.datasets.statistics import distributions, graph_statistics
from wikinav_jax.graph.block_table import BATCH_ROWS, BlockTable
from wikinav_jax.graph.linked_text import EdgeKind, LinkedTextGraph, check_graph

_SCHEMA = pa.schema([("text", pa.large_string()), ("section", pa.large_string())])
_ARRAYS = {
    "degree": np.int64,
    "indices": np.int32,
    "edge_kind": np.uint8,
    "anchor": np.uint16,
    "article": np.int32,
    "words": np.int32,
}
# Places of next and previous among a block's edges: behind every anchor.
_NEXT_PLACE, _PREVIOUS_PLACE = 1 << 16, (1 << 16) + 1


class Assembly:
    """Writes the files of a graph, then maps them."""

    def __init__(self, spill: Spill, num_chunks: int, folder: Path):
        """Reads what all chunks together say.

        Args:
          spill: the parsed chunks.
          num_chunks: how many.
          folder: for the temporary files.
        """
        self.corpus = Corpus(spill, num_chunks)
        self.entity_counts: Counter[str] = Counter(
            entity_links_beside_a_hyperlink=0, ambiguous_aliases=0
        )
        self._spill = spill
        self._num_chunks = num_chunks
        self._folder = folder
        self.entity_linking: dict[str, Any] | None = None
        self._titles: list[pa.Array] = []

    def write(self, linking: LinkingOptions | None) -> None:
        """Writes all files.

        Args:
          linking: which mentions become entity links, None for none. With it, all titles and
            anchors are held in memory.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        linker = None
        titles: list[str] = []
        if linking is not None:
            mentions = Mentions(self._spill, self.corpus, self._num_chunks, linking)
            titles, linker = mentions.titles, mentions.linker
            self.entity_counts["ambiguous_aliases"] = mentions.ambiguous_aliases
            self.entity_linking = mentions.report()
        article_of = {title: number for number, title in enumerate(titles)}
        with contextlib.ExitStack() as stack:
            files: dict[str, IO[bytes]] = {
                name: stack.enter_context(open(self._folder / name, "wb")) for name in _ARRAYS
            }
            sink = stack.enter_context(pa.OSFile(str(self._folder / "texts.arrow"), "wb"))
            writer = stack.enter_context(pa.ipc.new_file(sink, _SCHEMA))
            texts = _Batches(writer)
            first = 0
            for number in progress(range(self._num_chunks), desc="Assembling", unit="chunk"):
                chunk = self._spill.texts(number)
                kept, article = self.corpus.blocks(number)
                own_titles = self.corpus.titles(number, chunk.titles, chunk.keys)
                self._titles.append(pa.array(own_titles, type=pa.large_string()))
                own_texts = _chosen(chunk.texts, kept)
                texts.add(own_texts, _chosen(chunk.sections, kept))
                links = self.corpus.links(number)
                entities = None
                if linker is not None:
                    taken = list(self.corpus.spans(number))
                    entities = self._entities(
                        linker, own_texts, first, article, titles, article_of, links, taken
                    )
                edges = _edges(links, entities, first, article)
                words = self._spill.numbers(number)["words"][kept]
                for name, values in {**edges, "article": article, "words": words}.items():
                    files[name].write(np.ascontiguousarray(values, _ARRAYS[name]).tobytes())
                first += len(article)
            texts.flush()

    def graph(self, meta: dict[str, Any], *, in_memory: bool) -> LinkedTextGraph:
        """The graph over the files, its statistics in `meta`; in memory, or mapped."""
        arrays = {name: self._array(name, in_memory) for name in _ARRAYS}
        source: Any
        if in_memory:
            source = pa.py_buffer((self._folder / "texts.arrow").read_bytes())
        else:
            source = pa.memory_map(str(self._folder / "texts.arrow"), "r")
        reader = pa.ipc.open_file(source)
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        graph = LinkedTextGraph(
            indptr=np.concatenate([np.zeros(1, np.int64), np.cumsum(arrays["degree"])]),
            indices=arrays["indices"],
            edge_kind=arrays["edge_kind"],
            anchor=arrays["anchor"].reshape(-1, 2),
            article=arrays["article"],
            blocks=BlockTable(batches, pa.chunked_array(self._titles).combine_chunks()),
            meta=meta,
        )
        check_graph(graph)
        if self.entity_linking is not None:
            links = int((np.asarray(graph.edge_kind) == EdgeKind.ENTITY).sum())
            meta["entity_linking"] = {**self.entity_linking, "links": links}
        words = np.asarray(arrays["words"])
        meta["distributions"] = distributions(graph, words)
        meta["statistics"] = {
            **graph_statistics(graph, words),
            "links_to_an_unknown_fragment": self.corpus.unknown_fragments,
            "dropped": dict(sorted({**self.corpus.dropped, **self.entity_counts}.items())),
        }
        return graph

    def _array(self, name: str, in_memory: bool) -> np.ndarray:
        path = self._folder / name
        if in_memory or path.stat().st_size == 0:
            array = np.fromfile(path, _ARRAYS[name])
        else:
            array = np.memmap(path, _ARRAYS[name], "r")
        array.setflags(write=False)
        return array

    def _entities(
        self,
        linker: EntityLinker,
        texts: list[str],
        first: int,
        article: np.ndarray,
        titles: list[str],
        article_of: dict[str, int],
        links: Links,
        spans: list[tuple[int, int, int]],
    ) -> Links:
        """Mentions in a chunk's texts, but not of articles that the block links to already."""
        taken: dict[int, list[tuple[int, int]]] = defaultdict(list)
        linked: dict[int, set[int]] = defaultdict(set)
        linked_article = self.corpus.article_of_blocks(links.dst)
        for src, target in zip(links.src.tolist(), linked_article.tolist(), strict=True):
            linked[src].add(target)
        for src, start, end in spans:
            taken[src].append((start, end))
        rows: list[tuple[int, int, int, int]] = []
        for row, text in enumerate(texts):
            block = first + row
            for anchor in linker.find(text, titles[article[row]], taken.get(block, ())):
                target = article_of[anchor.target]
                if target in linked.get(block, ()):
                    self.entity_counts["entity_links_beside_a_hyperlink"] += 1
                else:
                    rows.append((block, target, anchor.start, anchor.end))
        columns = np.asarray(rows, np.int64).reshape(-1, 4).T
        return Links(
            columns[0],
            self.corpus.first_blocks(columns[1]),
            columns[2].astype(np.uint16),
            columns[3].astype(np.uint16),
        )


class _Batches:
    """Writes rows as record batches of BATCH_ROWS each, as BlockTable wants them."""

    def __init__(self, writer: pa.ipc.RecordBatchFileWriter):
        self._writer = writer
        self._texts: list[str] = []
        self._sections: list[str] = []

    def add(self, texts: list[str], sections: list[str]) -> None:
        self._texts += texts
        self._sections += sections
        while len(self._texts) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._texts:
            columns = [
                pa.array(values[:BATCH_ROWS], pa.large_string())
                for values in (self._texts, self._sections)
            ]
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))
            del self._texts[:BATCH_ROWS], self._sections[:BATCH_ROWS]


def _edges(
    links: Links, entities: Links | None, first: int, article: np.ndarray
) -> dict[str, np.ndarray]:
    """A chunk's edges by source and place: degree [N], indices, edge_kind, anchor [E]."""
    left = np.flatnonzero(article[1:] == article[:-1]) + first
    parts: list[tuple[EdgeKind, np.ndarray, np.ndarray]] = [
        (EdgeKind.HYPERLINK, links.src, links.dst)
    ]
    spans = [np.stack([links.start, links.end], 1)]
    places = [links.start.astype(np.int64)]
    if entities is not None:
        parts.append((EdgeKind.ENTITY, entities.src, entities.dst))
        spans.append(np.stack([entities.start, entities.end], 1))
        places.append(entities.start.astype(np.int64))
    for kind, src, dst, place in (
        (EdgeKind.NEXT, left, left + 1, _NEXT_PLACE),
        (EdgeKind.PREVIOUS, left + 1, left, _PREVIOUS_PLACE),
    ):
        parts.append((kind, src, dst))
        spans.append(np.zeros((len(left), 2), np.uint16))
        places.append(np.full(len(left), place))
    src = np.concatenate([part[1] for part in parts])
    order = np.lexsort((np.concatenate(places), src))
    kinds = np.concatenate([np.full(len(part[1]), part[0], np.uint8) for part in parts])
    return {
        "degree": np.bincount(src - first, minlength=len(article)),
        "indices": np.concatenate([part[2] for part in parts])[order],
        "edge_kind": kinds[order],
        "anchor": np.concatenate(spans)[order],
    }


def _chosen(values: Sequence[str], mask: np.ndarray) -> list[str]:
    if mask.all():
        return list(values)
    return [value for value, keep in zip(values, mask.tolist(), strict=True) if keep]
