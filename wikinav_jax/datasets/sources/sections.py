"""Headings and passages as they come, to the sections of a document."""

from __future__ import annotations

import re
from typing import NamedTuple

from wikinav_jax.datasets.documents import Passage, Section
from wikinav_jax.datasets.sentences import count_words

MAX_FRAGMENTS = 5_000  # of one page
_SITE = re.compile(r"\s*$|\s+[-–—|·:•»]\s")
_MAX_HEADING = 300  # characters; a longer "heading" is a paragraph in large type


class Written(NamedTuple):
    """A document's parts."""

    title: str
    sections: tuple[Section, ...]
    fragments: dict[str, tuple[str, ...]]
    num_anchors: int


class _Heading(NamedTuple):
    level: int
    text: str


class SectionWriter:
    """Collects a page, then keeps the surest part of it that has text."""

    def __init__(self) -> None:
        self._items: list[tuple[_Heading | Passage, int]] = []  # and the part it stands in
        self._names: dict[str, int] = {}  # -> the item that comes next

    def mark(self) -> int:
        """A place that `forget` goes back to."""
        return len(self._items)

    def heading(self, level: int, text: str, part: int = 0) -> None:
        """A heading of level 1 to 6."""
        if len(text) > _MAX_HEADING:
            self.passage(Passage(text), part)
        elif text:
            self._items.append((_Heading(level, text), part))

    def passage(self, passage: Passage, part: int = 0) -> None:
        """A passage under the last heading."""
        self._items.append((passage, part))

    def name(self, name: str) -> None:
        """An id at this place: `#name` leads to the section of what comes next."""
        if len(self._names) < MAX_FRAGMENTS:
            self._names.setdefault(name, len(self._items))

    def forget(self, mark: int) -> bool:
        """Drops what came since `mark`, unless there is a heading in it; whether it did."""
        if any(isinstance(item, _Heading) for item, _ in self._items[mark:]):
            return False
        had = len(self._items) > mark
        del self._items[mark:]
        return had

    def finish(self, page_title: str = "", few_words: int = 0) -> Written:
        """The document.

        Args:
          page_title: what stands for a title where there is no heading of level 1.
          few_words: a part of the page with no more words than these is passed over if the
            rest of the page has more.
        """
        least = self._part(few_words)
        headings = [
            item for item, part in self._items if isinstance(item, _Heading) and part >= least
        ]
        title = _title(page_title, headings)
        sections: list[Section] = []
        path: list[_Heading] = []
        passages: list[Passage] = []
        paths: list[tuple[str, ...]] = []  # of each item
        num_anchors = 0

        def end_section() -> None:
            if passages:
                names = tuple(heading.text for heading in path)
                sections.append(Section(names, tuple(passages)))
                passages.clear()

        for item, part in self._items:
            if isinstance(item, _Heading):
                if part >= least:
                    end_section()
                    while path and path[-1].level >= item.level:
                        path.pop()
                    # The page's title is no section of it.
                    on_top = item.level == 1 or item is headings[0]
                    if not (on_top and item.text == title):
                        path.append(item)
            elif part >= least:
                passages.append(item)
                num_anchors += len(item.anchors)
            paths.append(tuple(heading.text for heading in path))
        end_section()
        fragments = {
            name: paths[place] for name, place in self._names.items() if place < len(paths)
        }
        return Written(title, tuple(sections), fragments, num_anchors)

    def _part(self, few_words: int) -> int:
        words: dict[int, int] = {}
        for item, part in self._items:
            if isinstance(item, Passage):
                words[part] = words.get(part, 0) + count_words(item.text)
        total = sum(words.values())
        inside = 0
        for part in sorted(words, reverse=True):
            inside += words[part]
            if inside > few_words or inside == total:
                return part
        return 0


def _title(page_title: str, headings: list[_Heading]) -> str:
    """The only heading of level 1; or the first heading, if the page's title is that and a site's
    name ("Setup | Docs"); or the page's title."""
    tops = {heading.text for heading in headings if heading.level == 1}
    if len(tops) == 1:
        return tops.pop()
    if not page_title:
        return headings[0].text if tops else ""
    first = headings[0].text if headings else ""
    rest = page_title[len(first) :]
    return first if first and page_title.startswith(first) and _SITE.match(rest) else page_title
