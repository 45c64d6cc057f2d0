"""What every text source yields: documents of sections of passages with anchors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Anchor:
    """A link: the characters `[start, end)` of a passage lead to the document called `target`.

    `fragment` names a section of the target by the last name of its path; "" leads to its top.
    """

    start: int
    end: int
    target: str
    fragment: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph or a list item: the unit that blocks are packed from.

    Raises:
      ValueError: an anchor is empty, reaches outside the text, or the anchors are not sorted
        by their start or overlap.
    """

    text: str
    anchors: tuple[Anchor, ...] = ()

    def __post_init__(self) -> None:
        end = 0
        for anchor in self.anchors:
            if not 0 <= anchor.start < anchor.end <= len(self.text):
                raise ValueError(
                    f"anchor [{anchor.start}, {anchor.end}) to {anchor.target!r} is empty or "
                    f"outside its passage of {len(self.text)} characters ({self.text[:60]!r}); "
                    "spans count the characters of Passage.text"
                )
            if anchor.start < end:
                raise ValueError(
                    f"anchor [{anchor.start}, {anchor.end}) to {anchor.target!r} starts before "
                    f"the one in front of it ends ({end}) in {self.text[:60]!r}; sort anchors by "
                    "their start and drop overlapping ones"
                )
            end = anchor.end


@dataclass(frozen=True, slots=True)
class Section:
    """A run of passages under one heading. `path` holds the headings above it; () is the lead."""

    path: tuple[str, ...]
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One article. `title` is its key in the corpus; `aliases` are other names for entity links."""

    title: str
    sections: tuple[Section, ...]
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise ValueError("a document has an empty title; every document needs a unique title")


def drop_overlaps(anchors: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """The anchors sorted by start; of two that overlap the earlier stays, or the longer one."""
    kept: list[Anchor] = []
    for anchor in sorted(anchors, key=lambda anchor: (anchor.start, -anchor.end)):
        if not kept or anchor.start >= kept[-1].end:
            kept.append(anchor)
    return tuple(kept)
