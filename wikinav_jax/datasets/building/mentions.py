"""The entity linker of a corpus on disk, and how it does on anchors that it has not seen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from wikinav_jax.common.progress import progress
from wikinav_jax.datasets.building.corpus import Anchors, Corpus
from wikinav_jax.datasets.building.spill import Spill
from wikinav_jax.datasets.entities import EntityLinker
from wikinav_jax.datasets.linking import (
    UNKNOWN,
    AnchorStatistics,
    HeldOut,
    LinkingOptions,
    SurfaceCounts,
    anchors_seen,
    likely_mentions,
)


class Mentions:
    """What a corpus's titles, redirects and anchors mean. All of them are held in memory."""

    def __init__(self, spill: Spill, corpus: Corpus, num_chunks: int, options: LinkingOptions):
        """Reads all chunks three times: names and anchors, occurrences, hidden anchors.

        Args:
          spill: the parsed chunks.
          corpus: what they say together.
          num_chunks: how many.
          options: what counts.
        """
        self.titles: list[str] = []
        self.ambiguous_aliases = 0
        self._spill = spill
        self._corpus = corpus
        self._num_chunks = num_chunks
        self._options = options
        self._names: list[tuple[str, tuple[str, ...]]] = []
        self._anchors = AnchorStatistics()
        self._first_anchor = [0]  # of each chunk
        self._read()
        self._occurrences: Counter[str] | None = None
        counts = self._anchors.counts()
        if options.use_anchors and options.min_link_probability > 0 and len(self._anchors):
            self._count_occurrences(counts)
        self._report: dict[str, Any] = {
            "min_commonness": options.min_commonness,
            "min_link_probability": options.min_link_probability,
            "min_anchors": options.min_anchors,
            "anchors": len(self._anchors),
        }
        if options.use_anchors and options.held_out > 0 and len(self._anchors):
            self._report["held_out"] = self._measure()
        self.linker = self._linker(counts)
        self._report["mentions"] = self.linker.num_mentions

    def report(self) -> dict[str, Any]:
        """For `meta.json`."""
        return self._report

    def _read(self) -> None:
        aliases: dict[int, list[str]] = defaultdict(list)
        for number in range(self._num_chunks):
            chunk = self._spill.texts(number)
            self.titles += self._corpus.titles(number, chunk.titles, chunk.keys)
            named = self._corpus.articles_named(self._spill.numbers(number)["redirect"])
            for alias, article in zip(chunk.redirects, named.tolist(), strict=True):
                if alias and article >= 0:
                    aliases[article].append(alias)
            if self._options.use_anchors:
                texts = self._texts(number)
                anchors = self._corpus.anchors(number)
                for row, target, start, end in _rows(anchors):
                    self._anchors.add(texts[row][start:end], target)
                self._first_anchor.append(len(self._anchors))
        # A title that people read on several articles means none of them.
        self._names = [
            (title, tuple(aliases.get(number, ()))) for number, title in enumerate(self.titles)
        ]

    def _texts(self, number: int) -> list[str]:
        kept, _ = self._corpus.blocks(number)
        texts = self._spill.texts(number).texts
        return [text for text, keep in zip(texts, kept.tolist(), strict=True) if keep]

    def _count_occurrences(self, counts: SurfaceCounts) -> None:
        mentions, _ = likely_mentions(self._names, counts, self._options)
        counter = EntityLinker(mentions, self._options.linker)
        found: Counter[str] = Counter()
        for number in progress(range(self._num_chunks), desc="Mentions", unit="chunk"):
            for text in self._texts(number):
                counter.count(text, found)
        self._occurrences = found

    def _linker(self, counts: SurfaceCounts) -> EntityLinker:
        seen = anchors_seen(counts) if self._occurrences is not None else None
        mentions, self.ambiguous_aliases = likely_mentions(
            self._names, counts, self._options, self._occurrences, seen
        )
        return EntityLinker(mentions, self._options.linker)

    def _measure(self) -> dict[str, Any]:
        """Hides anchors, links by what the others say, and compares."""
        share = min(self._options.held_out, self._options.max_held_out / len(self._anchors))
        rng = np.random.default_rng([self._options.seed, len(self._anchors)])
        hidden = rng.random(len(self._anchors)) < share
        linker = self._linker(self._anchors.counts(hidden))
        result = HeldOut()
        for number in range(self._num_chunks):
            first = self._first_anchor[number]
            anchors = self._corpus.anchors(number)
            if hidden[first : first + len(anchors.row)].any():
                self._measure_chunk(number, anchors, hidden[first:], linker, result)
        return {"share": round(share, 4), "seed": self._options.seed, **result.report()}

    def _measure_chunk(
        self,
        number: int,
        anchors: Anchors,
        hidden: np.ndarray,
        linker: EntityLinker,
        result: HeldOut,
    ) -> None:
        texts = self._texts(number)
        _, article = self._corpus.blocks(number)
        shown: dict[int, list[tuple[int, int]]] = defaultdict(list)
        asked: dict[int, list[tuple[int, int, str | None]]] = defaultdict(list)
        for (row, target, start, end), is_hidden in zip(_rows(anchors), hidden, strict=False):
            if is_hidden:
                title = None if target == UNKNOWN else self.titles[target]
                asked[row].append((start, end, title))
            else:
                shown[row].append((start, end))
        for row, spans in asked.items():
            found = linker.find(texts[row], self.titles[article[row]], shown.get(row, ()))
            result.add(spans, [(anchor.start, anchor.end, anchor.target) for anchor in found])


def _rows(anchors: Anchors) -> Iterator[tuple[int, int, int, int]]:
    return zip(
        anchors.row.tolist(),
        anchors.target.tolist(),
        anchors.start.tolist(),
        anchors.end.tolist(),
        strict=True,
    )
