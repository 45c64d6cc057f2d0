"""Documents as lines of JSON, plain or packed (bz2, gz, xz). README.md gives the schema.

A line is an object with `title` and one of

- `text`: paragraphs parted by empty lines;
- `sections`: a list of {"path": [heading, …], "passages": [passage, …]};
- `blocks`: a list of [kind, text] or [kind, text, [[target, start, end, …], …]], the kind being
  heading, prose, line, list, table or code. Start and end -1 stand for a link that is somewhere in
  the block: it is counted and dropped.

A passage is a string, or {"text", "anchors": [{"start", "end", "target", "fragment"}, …]}. Targets
are ids (`id`, or `name`) of documents, or titles where there are none. `aliases` are other names.
"""

from __future__ import annotations

import functools
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wikinav_jax.datasets.building.chunks import ChunkParser, OtherName
from wikinav_jax.datasets.building.compression import CompressedFile
from wikinav_jax.datasets.building.pool import ChunkSource
from wikinav_jax.datasets.building.source import Origin, Page, SourceOptions, cut_chunks
from wikinav_jax.datasets.documents import Anchor, Passage, Section, drop_overlaps
from wikinav_jax.datasets.sources.parser import DocumentParser, Parsed

_TEXT_FIELDS = ("sections", "blocks", "text")
_MAX_LINE = 64 << 20  # bytes held in memory; how long a document may be is an option
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_TITLE = re.compile(r'"title"\s*:\s*"((?:[^"\\]|\\.){0,300})')


class JsonLinesSource:
    """A file of documents, one a line."""

    kind = "jsonl"
    unit = "B"

    def __init__(self, path: Path, max_bytes: int = _MAX_LINE):
        """Looks at the file.

        Raises:
          FileNotFoundError, ValueError: see `CompressedFile`.
        """
        self.path = path
        self.label = path.name
        self.problems: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self._max_bytes = max_bytes
        self._file = CompressedFile(path)
        self.total = self._file.num_bytes

    @property
    def done(self) -> int:
        """Bytes of the file as it is, compressed or not."""
        return self._file.bytes_read

    def key(self) -> Any:
        """Name, size and time."""
        status = self.path.stat()
        return [self.path.name, status.st_size, status.st_mtime_ns]

    def chunks(self) -> Iterator[ChunkSource]:
        """Lines with their numbers."""
        return cut_chunks(self._pages())

    def _pages(self) -> Iterator[Page]:
        self._file = CompressedFile(self.path)
        for number, line in self._lines():
            if not line.strip():
                continue
            if len(line) > self._max_bytes:
                reason = f"it is longer than {self._max_bytes:,} bytes"
                self.failed.append((f"line {number}", reason))
            else:
                yield Page((number, line), len(line), zlib.crc32(line))
        self.problems += self._file.problems

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Numbered lines; of one that is too long only its start."""
        number, rest, is_long = 1, b"", False
        for data in self._file:
            *lines, last = data.split(b"\n")
            for line in lines:
                yield number, rest + line if not is_long else rest
                number, rest, is_long = number + 1, b"", False
            if not is_long:
                rest += last
                is_long = len(rest) > self._max_bytes
        if rest:
            yield number, rest

    def make_parser(self, options: SourceOptions) -> Callable[[], ChunkParser]:
        """See `Source.make_parser`."""
        return functools.partial(_make_parser, options)

    def origin(self) -> Origin:
        """The file's name."""
        return Origin(
            f"documents of {self.path.name}", "not told by the file; see where it comes from"
        )

    def report(self) -> dict[str, Any]:
        """Nothing beyond the counts."""
        return {}


class JsonReader:
    """Reads lines."""

    def __init__(self, options: SourceOptions):
        self._options = options

    def read(self, content: Any) -> Parsed | None:
        """Reads (number, line).

        Raises:
          ValueError: the line is no document; the message gives the field.
        """
        _, line = content
        if len(line) > self._options.max_bytes:
            raise ValueError(f"{len(line):,} bytes; max_bytes={self._options.max_bytes:,}")
        try:
            document = json.loads(line.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ValueError(f"not UTF-8 at byte {error.start} of the line") from None
        if not isinstance(document, dict):
            raise ValueError(f"a {type(document).__name__}, not an object with a title")
        title = _string(document, "title")
        key = document.get("id", document.get("name", title))
        key = str(key) if isinstance(key, int) else key
        if not isinstance(key, str) or not key:
            raise ValueError(f"id={key!r} is no string")
        given = [name for name in _TEXT_FIELDS if name in document]
        if not given:
            raise ValueError(f"none of the fields {', '.join(_TEXT_FIELDS)}")
        counts: Counter[str] = Counter()
        if given[0] == "sections":
            sections = _sections(document["sections"], counts)
        elif given[0] == "blocks":
            sections = self._blocks(document["blocks"], counts)
        else:
            sections = _paragraphs(_string(document, "text"))
        aliases = document.get("aliases", [])
        if not (isinstance(aliases, list) and all(isinstance(alias, str) for alias in aliases)):
            raise ValueError("aliases is no list of strings")
        names = [OtherName(alias, key, title=alias) for alias in aliases if alias.strip()]
        if key != title:
            names.append(OtherName(title, key))
        return Parsed(key, title, sections, names=names, counts=counts)

    def _blocks(self, blocks: Any, counts: Counter[str]) -> tuple[Section, ...]:
        sections: list[Section] = []
        heading: tuple[str, ...] = ()
        passages: list[Passage] = []
        for number, block in enumerate(_list(blocks, "blocks")):
            if not isinstance(block, list) or len(block) < 2:
                raise ValueError(f"blocks[{number}] is not [kind, text] or [kind, text, links]")
            kind, text = block[:2]
            if not isinstance(text, str):
                raise ValueError(f"blocks[{number}]: the text is no string")
            if kind == "heading":
                if passages:
                    sections.append(Section(heading, tuple(passages)))
                    passages = []
                heading = (" ".join(text.split()),) if text.strip() else ()
                continue
            if (kind == "table" and not self._options.keep_tables) or (
                kind == "code" and not self._options.keep_code
            ):
                counts[f"{kind}_blocks_left_out"] += 1
                continue
            links = block[2] if len(block) > 2 else []
            passages.append(_passage(text, links, f"blocks[{number}]", counts))
        if passages:
            sections.append(Section(heading, tuple(passages)))
        return tuple(sections)

    def name_of(self, content: Any) -> str:
        """The line's number, and its title if that can be read."""
        number, line = content
        match = _TITLE.search(line[:100_000].decode("utf-8", "replace"))
        return f"line {number}" + (f" ({match[1]})" if match else "")


def _sections(sections: Any, counts: Counter[str]) -> tuple[Section, ...]:
    read = []
    for number, section in enumerate(_list(sections, "sections")):
        place = f"sections[{number}]"
        if not isinstance(section, dict):
            raise ValueError(f"{place} is no object with path and passages")
        path = section.get("path", section.get("heading", []))
        path = [path] if isinstance(path, str) and path else path or []
        if not (isinstance(path, list) and all(isinstance(name, str) for name in path)):
            raise ValueError(f"{place}.path is no list of strings")
        passages = []
        for index, passage in enumerate(_list(section.get("passages"), f"{place}.passages")):
            where = f"{place}.passages[{index}]"
            if isinstance(passage, str):
                passage = {"text": passage}
            if not isinstance(passage, dict) or not isinstance(passage.get("text"), str):
                raise ValueError(f"{where} is neither a string nor an object with a text")
            passages.append(_passage(passage["text"], passage.get("anchors", []), where, counts))
        read.append(Section(tuple(path), tuple(passages)))
    return tuple(read)


def _paragraphs(text: str) -> tuple[Section, ...]:
    passages = [Passage(part) for part in map(str.strip, _EMPTY_LINE.split(text)) if part]
    return (Section((), tuple(passages)),) if passages else ()


def _passage(text: str, links: Any, place: str, counts: Counter[str]) -> Passage:
    """A passage with its links; of two that overlap the earlier stays."""
    anchors = []
    for number, link in enumerate(_list(links, f"{place}'s links")):
        if isinstance(link, dict):
            link = [link.get(name) for name in ("target", "start", "end", "fragment")]
        elif isinstance(link, list):
            link = [*link[:3], ""]
        else:
            raise ValueError(f"{place}: link {number} is neither an object nor a list")
        target, start, end, fragment = link if len(link) == 4 else (None,) * 4
        if start == end == -1:
            counts["links_without_a_place"] += 1
            continue
        if (
            not isinstance(target, str)
            or type(start) is not int
            or type(end) is not int
            or not 0 <= start < end <= len(text)
        ):
            raise ValueError(
                f"{place}: link {number} has target={target!r}, start={start!r}, end={end!r}; need "
                f"a string and 0 <= start < end <= {len(text)}, in characters of the text"
            )
        anchors.append(Anchor(start, end, target, fragment if isinstance(fragment, str) else ""))
    kept = drop_overlaps(anchors)
    counts["links"] += len(kept)
    counts["overlapping_links_dropped"] += len(anchors) - len(kept)
    return Passage(text, kept)


def _string(document: dict[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or (name == "title" and not value.strip()):
        raise ValueError(f"{name}={value!r:.60} is no string" + " with text" * (name == "title"))
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")
    return value


def _make_parser(options: SourceOptions) -> DocumentParser:
    return DocumentParser(JsonReader(options), options)
