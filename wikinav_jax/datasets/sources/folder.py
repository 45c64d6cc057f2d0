"""Folders of HTML or Markdown files."""

from __future__ import annotations

import functools
import os
import posixpath
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from wikinav_jax.common.files import fingerprint
from wikinav_jax.datasets.building.chunks import ChunkParser, OtherName
from wikinav_jax.datasets.building.pool import ChunkSource
from wikinav_jax.datasets.building.source import (
    FIRST_CHUNK,
    Origin,
    Page,
    SourceOptions,
    cut_chunks,
)
from wikinav_jax.datasets.sources.html import read_html
from wikinav_jax.datasets.sources.html_encoding import decode_html
from wikinav_jax.datasets.sources.links import LinkResolver, is_index, other_paths
from wikinav_jax.datasets.sources.markdown import MarkdownReader
from wikinav_jax.datasets.sources.parser import DocumentParser, Parsed

SUFFIXES = {
    "html": (".html", ".htm", ".xhtml"),
    "markdown": (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd"),
}
INDEX_NAMES = {"html": ("index", "default"), "markdown": ("index", "readme", "_index")}
CHUNK_BYTES = FIRST_CHUNK  # of files, in the first chunks
_PASSED_OVER = frozenset(("node_modules", "__pycache__", "__MACOSX"))


class FolderSource:
    """The files of one kind below a folder, by path."""

    unit = "B"

    def __init__(self, path: Path, kind: Literal["html", "markdown"]):
        """Lists the files.

        Raises:
          FileNotFoundError: there is none of the kind.
          OSError: the folder cannot be read.
        """
        self.path = path
        self.kind: str = kind
        self.label = f"{path.name or path}/"
        self.problems: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self.done = 0
        listing = list_files(path)
        self._skipped = listing.skipped
        self.failed += listing.failed
        self.files = [file for file in listing.files if file[0].lower().endswith(SUFFIXES[kind])]
        if not self.files:
            raise FileNotFoundError(
                f"{path} has no file that ends in {', '.join(SUFFIXES[kind])} "
                f"({len(listing.files)} other files); give a folder of {kind} files"
            )
        self.counts = Counter(files_of_other_types=len(listing.files) - len(self.files))
        self.total = sum(size for _, size, _ in self.files)

    def key(self) -> Any:
        """A fingerprint of all names, sizes and times."""
        files = [(_clean(name), *more) for name, *more in self.files]
        return [_clean(self.path.name), self.kind, len(files), fingerprint(files)]

    def chunks(self) -> Iterator[ChunkSource]:
        """Paths; the workers read the files."""
        return cut_chunks(self._pages(), first_size=CHUNK_BYTES)

    def _pages(self) -> Iterator[Page]:
        for name, size, changed in self.files:
            self.done += size
            checksum = zlib.crc32(f"{name}\0{size}\0{changed}".encode("utf-8", "surrogateescape"))
            yield Page((name, size), size, checksum)

    def make_parser(self, options: SourceOptions) -> Callable[[], ChunkParser]:
        """See `Source.make_parser`."""
        return functools.partial(_make_parser, self.path, self.kind, options)

    def origin(self) -> Origin:
        """The folder's name."""
        return Origin(
            f"folder {self.path.name!r} of {len(self.files):,} {self.kind} files",
            "not told by the folder; see where its files come from",
        )

    def report(self) -> dict[str, Any]:
        """What was passed over while the folder was listed."""
        return {
            "files": len(self.files),
            "passed_over": dict(sorted((self._skipped + self.counts).items())),
        }


class Listing:
    """What stands below a folder."""

    def __init__(self) -> None:
        self.files: list[tuple[str, int, int]] = []  # (path, bytes, changed), sorted by path
        self.skipped: Counter[str] = Counter()
        self.failed: list[tuple[str, str]] = []


def list_files(folder: Path) -> Listing:
    """All regular files below a folder. Hidden names are passed over.

    Links to folders are not followed, so there is no loop; links to files are, unless they lead out
    of the folder. What is left out for that reason, or cannot be read, is listed as failed.

    Raises:
      OSError: the folder itself cannot be read.
    """
    listing = Listing()
    root = os.path.realpath(folder)
    os.scandir(root).close()  # an unreadable root is an error, not an empty corpus

    def unreadable(error: OSError) -> None:
        name = os.path.relpath(error.filename, root) if error.filename else "?"
        listing.failed.append((_clean(name), f"the folder cannot be read: {error.strerror}"))

    for place, folders, files in os.walk(root, onerror=unreadable, followlinks=False):
        if "meta.json" in files and "indptr.npy" in files:  # a graph that was built here
            listing.skipped["graphs"] += 1
            folders.clear()
            continue
        base = os.path.relpath(place, root)
        base = "" if base == "." else base.replace(os.sep, "/") + "/"
        kept = []
        for name in sorted(folders):
            if name.startswith(".") or name in _PASSED_OVER:
                listing.skipped["hidden_folders"] += 1
            elif os.path.islink(os.path.join(place, name)):
                reason = "a link to a folder, which is not followed"
                listing.failed.append((_clean(base + name), reason))
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(files):
            _list_file(listing, root, os.path.join(place, name), base + name)
    listing.files.sort()
    listing.failed.sort()
    return listing


def _list_file(listing: Listing, root: str, path: str, name: str) -> None:
    if os.path.basename(name).startswith("."):
        listing.skipped["hidden_files"] += 1
        return
    try:
        if os.path.islink(path):
            real = os.path.realpath(path)
            if os.path.commonpath([root, real]) != root:
                listing.failed.append((_clean(name), "a link that leads out of the folder"))
                return
        status = os.stat(path)
    except OSError as error:  # a link to nowhere or to itself
        listing.failed.append((_clean(name), f"cannot be read: {error.strerror}"))
        return
    if not stat.S_ISREG(status.st_mode):
        listing.skipped["devices_and_pipes"] += 1
        return
    listing.files.append((name, status.st_size, status.st_mtime_ns))


class FileReader:
    """Reads the files of a folder."""

    def __init__(self, folder: Path, kind: str, options: SourceOptions):
        self._folder = folder
        self._kind = kind
        self._options = options
        self._markdown = MarkdownReader(options) if kind == "markdown" else None

    def read(self, content: Any) -> Parsed | None:
        """Reads (path, bytes); its key is the path."""
        name, size = content
        if size > self._options.max_bytes:
            raise ValueError(f"{size:,} bytes; max_bytes={self._options.max_bytes:,}")
        try:
            source = (self._folder / name).read_bytes()
        except (PermissionError, FileNotFoundError, IsADirectoryError) as error:
            raise ValueError(f"cannot be read: {error.strerror}") from error
        key = _clean(name)
        others = other_paths(
            key,
            INDEX_NAMES[self._kind],
            SUFFIXES[self._kind],
            beside_folder=self._is_beside_folder(name),
        )
        if self._kind == "markdown":
            # A site made of Markdown links to the pages that will be made of it.
            others += [posixpath.splitext(key)[0] + ".html"]
        names = tuple(OtherName(other, key) for other in others)
        resolver = LinkResolver(key, self._options.base_url)
        if self._markdown is not None:
            return self._markdown.read(source, key, resolver, names)
        return self._html(source, key, resolver, names)

    def _is_beside_folder(self, name: str) -> bool:
        """Whether `dir/` has a page at its top, for the name `dir.html`."""
        folder = self._folder / os.path.splitext(name)[0]
        if not folder.is_dir():
            return False
        index_names, suffixes = INDEX_NAMES[self._kind], SUFFIXES[self._kind]
        return any(is_index(other, index_names, suffixes) for other in os.listdir(folder))

    def _html(
        self, source: bytes, key: str, resolver: LinkResolver, names: tuple[OtherName, ...]
    ) -> Parsed:
        text, is_clean = decode_html(source)
        page = read_html(
            text,
            resolver.resolve,
            keep_tables=self._options.keep_tables,
            keep_code=self._options.keep_code,
        )
        if page.refresh and not any(len(section.passages) > 1 for section in page.sections):
            link = resolver.resolve(page.refresh)
            if link.key and link.key != key:
                moved = tuple(
                    OtherName(name, link.key, link.fragment)
                    for name in (key, *(other.key for other in names))
                )
                return Parsed(key, page.title, names=moved, is_redirect=True)
        counts = {**page.counts, "pages_in_a_broken_encoding": int(not is_clean)}
        return Parsed(key, page.title, page.sections, page.fragments, names, counts)

    def name_of(self, content: Any) -> str:
        """The file's path."""
        return _clean(content[0])


def _make_parser(path: Path, kind: str, options: SourceOptions) -> DocumentParser:
    return DocumentParser(FileReader(path, kind, options), options)


def _clean(name: str) -> str:
    """A path as text, whatever bytes it is made of."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
