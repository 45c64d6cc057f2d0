"""What a kind of corpus offers to the build."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from wikinav_jax.datasets.building.chunks import ChunkParser, PageOptions
from wikinav_jax.datasets.building.pool import ChunkSource

# Chunks grow, so that small corpora are shared among workers and large ones have few files.
FIRST_CHUNK = 256 << 10  # bytes
LARGEST_CHUNK = 4 << 20


class Origin(NamedTuple):
    """Where a corpus comes from, for `meta.json`."""

    source: str
    licence: str


class Source(Protocol):
    """A corpus that can be read again and again, always in the same order."""

    kind: str  # "mediawiki", "zim", "html", "markdown" or "jsonl"
    label: str  # for messages
    total: int  # of `done`
    unit: str  # of both: "B" for bytes, "page" for pages
    problems: list[str]  # what was wrong with the files
    failed: list[tuple[str, str]]  # (page, reason) of pages that no worker was given

    @property
    def done(self) -> int:
        """How much of it was read."""
        ...

    def key(self) -> Any:
        """JSON-like, changes when the corpus does."""
        ...

    def chunks(self) -> Iterator[ChunkSource]:
        """Runs of pages, cut in a way that depends on the corpus alone."""
        ...

    def make_parser(self, options: SourceOptions) -> Callable[[], ChunkParser]:
        """For each worker: picklable."""
        ...

    def origin(self) -> Origin:
        """Where it comes from."""
        ...

    def report(self) -> dict[str, Any]:
        """More for `meta.json`; read after the last chunk."""
        ...


@dataclass(frozen=True)
class SourceOptions(PageOptions):
    """How pages of any corpus are read."""

    keep_code: bool = True  # keep the text of code blocks
    base_url: str = ""  # where the folder stands on the web: such addresses lead into it
    max_bytes: int = 16 << 20  # of a page's source


class Page(NamedTuple):
    """One page on its way to a chunk."""

    content: Any  # what the worker gets
    size: int  # bytes, of its source
    checksum: int  # changes with the source


def cut_chunks(
    pages: Iterable[Page],
    first: int = 0,
    *,
    first_size: int = FIRST_CHUNK,
    largest_size: int = LARGEST_CHUNK,
) -> Iterator[ChunkSource]:
    """Groups pages by the bytes of their sources.

    Args:
      pages: in order.
      first: the number of the first chunk.
      first_size: bytes of the first chunks; later ones grow.
      largest_size: to which they grow.
    """
    number = first
    contents: list[Any] = []
    size = checksum = 0
    for page in pages:
        contents.append(page.content)
        size += page.size
        checksum = zlib.crc32(page.checksum.to_bytes(8, "little"), checksum)
        if size >= min(largest_size, first_size << min(number // 16, 8)):
            yield ChunkSource(number, contents, checksum)
            number += 1
            contents, size, checksum = [], 0, 0
    if contents:
        yield ChunkSource(number, contents, checksum)
