"""The text of a node as encoders read it: its article's title, then its own words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikinav_jax.common.files import fingerprint
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.text.features import text_hash

TITLE_SEPARATOR = ". "


def with_titles(titles: Iterable[str], texts: Iterable[str], *, repeats: int = 1) -> list[str]:
    """`title. text` for each pair; the title alone where the text is empty, and the reverse.

    Args:
      titles: one per text.
      texts: the texts.
      repeats: how often the title stands before the text; 0 leaves it out. Above 1 it weighs more
        in bags of words (LSA, BM25); encoders that read want 1.

    Raises:
      ValueError: the lengths differ, or repeats is negative.
    """
    if repeats < 0:
        raise ValueError(f"repeats={repeats} must be 0 or more")
    return [
        TITLE_SEPARATOR.join([*([title] * repeats if title else []), *([text] if text else [])])
        for title, text in zip(titles, texts, strict=True)
    ]


class TitledBlocks(Sequence[str]):
    """`with_titles` of a graph's blocks, read as they are asked for: all may not fit in memory."""

    def __init__(self, graph: LinkedTextGraph) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return self._graph.num_nodes

    @overload
    def __getitem__(self, which: int) -> str: ...

    @overload
    def __getitem__(self, which: slice) -> list[str]: ...

    def __getitem__(self, which: int | slice) -> str | list[str]:
        if isinstance(which, slice):
            nodes = np.arange(*which.indices(len(self)))
            titles = self._graph.blocks.titles.take(pa.array(self._graph.article[nodes]))
            return with_titles(titles.to_pylist(), self._graph.texts(nodes))
        return with_titles([self._graph.title(which)], [self._graph.text(which)])[0]

    def shifts(self) -> np.ndarray:
        """Characters that stand before each block's own text, int32 [N]."""
        titles = pc.utf8_length(self._graph.blocks.titles).to_numpy(zero_copy_only=False)
        before = titles.astype(np.int32)[self._graph.article] + len(TITLE_SEPARATOR)
        before[self._graph.blocks.text_lengths() == 0] = 0
        return before

    def identity(self) -> str:
        """A hash that changes with the texts; of a saved graph from its meta, nothing is read."""
        recorded = recorded_hashes(self._graph, ("blocks.arrow", "article.npy"))
        return fingerprint(recorded) if recorded else text_hash(self)


def recorded_hashes(graph: LinkedTextGraph, names: Sequence[str]) -> list[str]:
    """The SHA-256 of these files of a saved graph, as its meta.json has them; [] without."""
    files = graph.meta.get("files") if graph.path is not None else None
    return [files[name]["sha256"] for name in names] if files else []
