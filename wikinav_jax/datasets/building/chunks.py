"""Chunks of parsed pages, whatever they were parsed from, and a page's limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from wikinav_jax.datasets.blocks import Block
from wikinav_jax.datasets.building.limits import PageLimitError, time_limit
from wikinav_jax.datasets.documents import Document

# What a page may break a parser with. An OSError is the build's matter: a full disk, a lost drive.
PAGE_ERRORS = (ValueError, ArithmeticError, LookupError, TypeError, RecursionError, SyntaxError)


@dataclass(frozen=True)
class PageOptions:
    """How pages are parsed and split."""

    keep_tables: bool = False
    max_seconds: float = 5.0  # of processor time per page
    max_memory: int = 500 << 20  # bytes that a worker may take on top of what it starts with
    target_words: int = 100  # of a block
    max_words: int = 120
    max_characters: int = 8 << 20  # of a page's wikitext; MediaWiki's own limit is 2 MB

    def __post_init__(self) -> None:
        if not 1 <= self.target_words <= self.max_words:
            raise ValueError(
                f"target_words={self.target_words} and max_words={self.max_words}: need "
                "1 <= target_words <= max_words"
            )
        if not (self.max_seconds > 0 and self.max_memory > 0 and self.max_characters > 0):
            raise ValueError(
                f"max_seconds={self.max_seconds}, max_memory={self.max_memory} and "
                f"max_characters={self.max_characters} must be over 0: they are what a page may "
                "take"
            )


class Article(NamedTuple):
    """A parsed page."""

    page_id: int | None
    document: Document
    blocks: list[Block]


class OtherName(NamedTuple):
    """Another key that links may name an article by."""

    key: str
    target: str  # the article's key
    fragment: str = ""
    title: str = ""  # how running text mentions it; "" if it does not


@dataclass
class Chunk:
    """What came of a run of pages.

    Links lead to keys: the titles of articles, or `keys` where titles are not unique.
    """

    articles: list[Article] = field(default_factory=list)
    redirects: list[tuple[str, str, str]] = field(default_factory=list)  # (title, to, fragment)
    failed: list[tuple[str, str]] = field(default_factory=list)  # (title, reason)
    counts: Counter[str] = field(default_factory=Counter)
    keys: list[str] = field(default_factory=list)  # of all articles, or of none
    names: list[OtherName] = field(default_factory=list)
    # Of each article (or of none): what `#fragment`s besides headings stand for which section.
    fragments: list[dict[str, tuple[str, ...]]] = field(default_factory=list)


class ChunkParser(Protocol):
    """What a worker asks for."""

    def parse(
        self,
        sources: Sequence[Any],
        *,
        skip: Mapping[int, str] | None = None,
        at: Callable[[int], Any] = lambda index: None,
    ) -> Chunk:
        """Parses pages; one that fails, or goes over a limit, is listed and left out.

        Args:
          sources: as the chunk's maker gives them.
          skip: pages known to kill a worker, by index, with the reason.
          at: called with the index of each page before it is read.
        """
        ...


def parse_within_limits(
    sources: Sequence[Any],
    parse: Callable[[Any, Chunk], None],
    name_of: Callable[[Any], str],
    options: PageOptions,
    skip: Mapping[int, str] | None,
    at: Callable[[int], Any],
) -> Chunk:
    """The loop of a `ChunkParser`: `parse` adds a source to the chunk, `name_of` names it."""
    chunk = Chunk()
    for index, source in enumerate(sources):
        at(index)
        chunk.counts["pages"] += 1
        if skip and index in skip:
            chunk.failed.append((name_of(source), skip[index]))
            continue
        reason = _run_within_limits(parse, source, chunk, options)
        if reason:
            chunk.failed.append((name_of(source), reason))
    return chunk


def _run_within_limits(
    parse: Callable[[Any, Chunk], None], source: Any, chunk: Chunk, options: PageOptions
) -> str:
    """Parses one page into the chunk; returns why it is left out, "" if it is not."""
    exhausted = False
    try:
        with time_limit(options.max_seconds):
            try:
                parse(source, chunk)
            except MemoryError:
                # What the page took is freed only when this block ends: until then nothing that
                # takes memory, or the worker itself would end.
                exhausted = True
    except PageLimitError as error:
        return str(error)
    except PAGE_ERRORS as error:
        # A page that breaks the parser must not break the build; it is reported.
        return f"{type(error).__name__}: {error}"
    return f"took more than {options.max_memory >> 20} MB" if exhausted else ""
