"""Which mentions become entity links: what the corpus's own anchors say about their words.

Commonness and link probability are those of Mihalcea & Csomai (CIKM 2007) and Milne & Witten (CIKM
2008): of a mention's anchors, the share that leads to one article; of its occurrences in running
text, the share that is an anchor.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from wikinav_jax.datasets.entities import LinkerOptions, plain_mention, unambiguous_mentions

UNKNOWN = -1  # the article of an anchor that leads out of the corpus
_MAX_SURFACE = 100  # characters; longer anchors are sentences, not names


@dataclass(frozen=True)
class LinkingOptions:
    """How likely a mention's target must be."""

    use_anchors: bool = True  # learn from anchors; else titles and aliases mean what they say
    min_commonness: float = 0.75  # share of a mention's anchors that lead to the target
    min_link_probability: float = 0.05  # share of a mention's occurrences that are anchors
    min_anchors: int = 2  # of a mention that is no title
    held_out: float = 0.1  # share of anchors hidden to measure; 0 measures nothing
    max_held_out: int = 20_000  # anchors; a larger corpus hides a smaller share
    seed: int = 0  # which anchors are hidden
    linker: LinkerOptions = field(default_factory=LinkerOptions)

    def __post_init__(self) -> None:
        for name in ("min_commonness", "min_link_probability", "held_out"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"{name}={value}: a share is between 0 and 1")
        if self.held_out > 0.5:
            raise ValueError(f"held_out={self.held_out}: hide at most half of the anchors (0.5)")
        if self.min_anchors < 1:
            raise ValueError(f"min_anchors={self.min_anchors}: need at least 1")


class AnchorStatistics:
    """What anchors with the same words lead to. Some 100 bytes for each different mention."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}  # of surfaces
        self._surface = array("i")  # of each anchor
        self._target = array("i")

    def __len__(self) -> int:
        return len(self._surface)

    def add(self, surface: str, target: int) -> None:
        """Counts an anchor: its words, and its article (or UNKNOWN)."""
        surface = plain_mention(surface)
        if len(surface) > _MAX_SURFACE:
            surface = ""
        self._surface.append(self._numbers.setdefault(surface, len(self._numbers)))
        self._target.append(target)

    @property
    def targets(self) -> np.ndarray:
        """The article of each anchor, int32 [L], in the order they were added."""
        return np.frombuffer(self._target, np.int32) if self._target else np.zeros(0, np.int32)

    def counts(self, without: np.ndarray | None = None) -> SurfaceCounts:
        """Sums up.

        Args:
          without: bool [L], anchors that are not counted.
        """
        surface = np.frombuffer(self._surface, np.int32) if self._surface else np.zeros(0, np.int32)
        target = self.targets
        if without is not None:
            surface, target = surface[~without], target[~without]
        width = int(target.max(initial=0)) + 2
        pairs, count = np.unique(
            surface.astype(np.int64) * width + (target + 1), return_counts=True
        )
        pair_surface, pair_target = np.divmod(pairs, width)
        total = np.bincount(pair_surface, weights=count, minlength=len(self._numbers))
        # By count, then the smaller article: the last of a surface's pairs is its likeliest.
        known = pair_target > 0
        order = np.lexsort((-pair_target[known], count[known]))
        best = np.full(len(self._numbers), UNKNOWN, np.int64)
        best_count = np.zeros(len(self._numbers), np.int64)
        best[pair_surface[known][order]] = pair_target[known][order] - 1
        best_count[pair_surface[known][order]] = count[known][order]
        return SurfaceCounts(self._numbers, total.astype(np.int64), best, best_count)


class SurfaceCounts(NamedTuple):
    """Anchors by their words; arrays by the numbers of surfaces."""

    numbers: Mapping[str, int]
    total: np.ndarray  # int64 [S], anchors, those out of the corpus among them
    best: np.ndarray  # int64 [S], the likeliest article, or UNKNOWN
    best_count: np.ndarray  # int64 [S], anchors that lead there


def likely_mentions(
    names: Sequence[tuple[str, Sequence[str]]],
    counts: SurfaceCounts,
    options: LinkingOptions,
    occurrences: Mapping[str, int] | None = None,
    anchors_seen: Mapping[str, int] | None = None,
) -> tuple[dict[str, str], int]:
    """Mentions to the titles that they likely mean.

    A title or alias counts as one anchor to its article, so that it means that article until the
    anchors say otherwise.

    Args:
      names: (title, aliases) of each article, in order.
      counts: of anchors.
      options: the thresholds.
      occurrences: how often mentions occur in the text, anchors included; None to let link
        probability out of account, as it must be in a corpus without links.
      anchors_seen: how many of those are anchors.

    Returns:
      {mention: title}, and the number of aliases that could mean several articles.
    """
    named, ambiguous = unambiguous_mentions(names)
    number_of = {title: number for number, (title, _) in enumerate(names)}
    if not options.use_anchors:
        return named, ambiguous
    own = {plain_mention(mention): number_of[title] for mention, title in named.items()}
    mentions: dict[str, str] = {}
    for mention, article in own.items():
        number = counts.numbers.get(mention)
        if number is None:
            target, best, total = article, 1, 1
        else:
            target, best, total = _with_title(counts, number, article)
        if best >= options.min_commonness * total and target != UNKNOWN:
            mentions[mention] = names[target][0]
    likely = (counts.best_count >= options.min_anchors) & (
        counts.best_count >= options.min_commonness * counts.total
    )
    for surface, number in counts.numbers.items():
        if surface and likely[number] and surface not in own:
            mentions[surface] = names[int(counts.best[number])][0]
    if occurrences is not None and anchors_seen is not None:
        # One anchor more than seen: what hardly occurs is given the benefit of the doubt.
        mentions = {
            mention: title
            for mention, title in mentions.items()
            if anchors_seen.get(mention, 0) + 1
            >= options.min_link_probability * (occurrences.get(mention, 0) + 1)
        }
    return mentions, ambiguous


def _with_title(counts: SurfaceCounts, number: int, article: int) -> tuple[int, int, int]:
    """(likeliest article, its anchors, all anchors) with a title's own vote counted."""
    target, best = int(counts.best[number]), int(counts.best_count[number])
    total = int(counts.total[number]) + 1
    if target == article:
        return target, best + 1, total
    # The article's own anchors, where another has more, are not worth looking up: it loses anyway.
    return (article, 1, total) if best == 0 else (target, best, total)


@dataclass
class HeldOut:
    """How a linker does on anchors that its statistics have not seen."""

    anchors: int = 0  # that lead to an article of the corpus
    linked: int = 0  # those whose characters a mention touches
    same_span: int = 0  # those that a mention has exactly
    right: int = 0  # linked ones whose mention leads to the anchor's own article
    outside: int = 0  # anchors that lead out of the corpus
    outside_linked: int = 0  # those that a mention touches, wrongly

    def add(
        self,
        hidden: Iterable[tuple[int, int, str | None]],
        found: Sequence[tuple[int, int, str]],
    ) -> None:
        """Compares hidden anchors of a text with mentions found in it.

        Args:
          hidden: (start, end, title) of each; None for one that leads out of the corpus.
          found: (start, end, title) of mentions.
        """
        for start, end, title in hidden:
            touching = [mention for mention in found if mention[0] < end and start < mention[1]]
            if title is None:
                self.outside += 1
                self.outside_linked += bool(touching)
                continue
            self.anchors += 1
            if touching:
                self.linked += 1
                self.same_span += any(mention[:2] == (start, end) for mention in touching)
                self.right += any(mention[2] == title for mention in touching)

    def report(self) -> dict[str, Any]:
        """JSON-like; shares are left out where there is nothing to divide by.

        `rate` is the share of anchors inside the corpus that are linked, `precision` the share of
        all linked ones, those that should lead out of the corpus among them, that are right.
        """
        report: dict[str, Any] = {
            "anchors": self.anchors,
            "linked": self.linked,
            "same_span": self.same_span,
            "right": self.right,
            "outside": self.outside,
            "outside_linked": self.outside_linked,
        }
        if self.anchors:
            report["rate"] = round(self.linked / self.anchors, 4)
        if linked := self.linked + self.outside_linked:
            report["precision"] = round(self.right / linked, 4)
        return report


def anchors_seen(counts: SurfaceCounts) -> Counter[str]:
    """Anchors by their words, as `likely_mentions` takes them."""
    return Counter(
        {
            surface: int(counts.total[number])
            for surface, number in counts.numbers.items()
            if surface
        }
    )
