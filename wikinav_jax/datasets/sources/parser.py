"""Pages of HTML, Markdown or JSON to a chunk: what a worker does for sources other than dumps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from wikinav_jax.datasets.blocks import split_into_blocks
from wikinav_jax.datasets.building.chunks import (
    Article,
    Chunk,
    OtherName,
    PageOptions,
    parse_within_limits,
)
from wikinav_jax.datasets.documents import Document, Section

MAX_TITLE = 300  # characters


class Parsed(NamedTuple):
    """A page that was read."""

    key: str
    title: str
    sections: tuple[Section, ...] = ()
    fragments: Mapping[str, tuple[str, ...]] = {}
    names: Sequence[OtherName] = ()
    counts: Mapping[str, int] = {}
    is_redirect: bool = False  # its names are all there is


class PageReader(Protocol):
    """Reads the pages of one kind of source."""

    def read(self, content: Any) -> Parsed | None:
        """A page, or None for one that is no text."""
        ...

    def name_of(self, content: Any) -> str:
        """What to call a page that cannot be read."""
        ...


class DocumentParser:
    """The `ChunkParser` of a PageReader."""

    def __init__(self, reader: PageReader, options: PageOptions):
        self._reader = reader
        self._options = options

    def parse(
        self,
        sources: Sequence[Any],
        *,
        skip: Mapping[int, str] | None = None,
        at: Callable[[int], Any] = lambda index: None,
    ) -> Chunk:
        """See `ChunkParser.parse`."""
        return parse_within_limits(
            sources, self._read, self._reader.name_of, self._options, skip, at
        )

    def _read(self, content: Any, chunk: Chunk) -> None:
        parsed = self._reader.read(content)
        if parsed is None:
            chunk.counts["entries_of_other_types"] += 1
            return
        if parsed.is_redirect:
            chunk.counts["redirects"] += 1
            chunk.names += parsed.names
            return
        document = Document(_title(parsed), parsed.sections)
        blocks = split_into_blocks(
            document,
            target_words=self._options.target_words,
            max_words=self._options.max_words,
        )
        # From here on nothing fails: a page is in the chunk with all that belongs to it.
        chunk.counts["articles"] += 1
        chunk.counts.update(Counter(parsed.counts))
        chunk.articles.append(Article(None, document, blocks))
        chunk.keys.append(parsed.key)
        chunk.fragments.append(dict(parsed.fragments))
        chunk.names += parsed.names


def _title(parsed: Parsed) -> str:
    """A title that is not empty: the page's own, or the last part of its path."""
    title = " ".join(parsed.title.split())[:MAX_TITLE].strip()
    return title or parsed.key.rpartition("/")[2] or parsed.key
