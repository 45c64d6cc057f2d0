"""Parsed chunks on disk, so that a build that was interrupted goes on where it stopped.

Each chunk has three files: `N.npz` (numbers: blocks per article, links, headings, redirects),
`N.texts` (zlib-compressed JSON: titles, texts, section paths) and, written after them, `N.json`
(checksum of the chunk's source, failures, counts). A chunk is done when `N.json` stands.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from wikinav_jax.common.files import atomic_file, read_json
from wikinav_jax.datasets.building.chunks import Chunk
from wikinav_jax.datasets.building.hashes import fold_heading, name_hash
from wikinav_jax.datasets.sentences import count_words

_FILES_PER_FOLDER = 1000
SECTION_SEPARATOR = " > "  # of the graph's section paths


class ChunkTexts(NamedTuple):
    """The words of a chunk."""

    titles: list[str]  # [D]
    redirects: list[str]  # [R], titles of redirects; "" for names that no text mentions
    texts: list[str]  # [B]
    sections: list[str]  # [B]
    keys: list[str]  # [D], or [0] where titles are the keys


# The numbers of a chunk: D documents, B blocks, L links, H headings, R redirects. Blocks count from
# the chunk's first one; names are hashes.
NUMBERS = {
    "page_id": np.int64,  # [D], -1 for none
    "title": np.uint64,  # [D], the key that links name
    "shown": np.uint64,  # [D], the title as people read it
    "num_blocks": np.int32,  # [D]
    "words": np.int32,  # [B]
    "link_block": np.int32,  # [L]
    "link_start": np.uint16,  # [L]
    "link_end": np.uint16,  # [L]
    "link_target": np.uint64,  # [L]
    "link_fragment": np.uint64,  # [L], folded
    "heading_document": np.int32,  # [H]
    "heading_block": np.int32,  # [H], the first below the heading
    "heading": np.uint64,  # [H], folded
    "redirect": np.uint64,  # [R]
    "redirect_target": np.uint64,  # [R]
    "redirect_fragment": np.uint64,  # [R], folded
}


class Spill:
    """The chunks of one build."""

    def __init__(self, folder: Path):
        self.folder = folder

    def write(self, number: int, chunk: Chunk, checksum: int) -> None:
        """Writes a chunk; a kill in between leaves none of it."""
        numbers, texts = _columns(chunk)
        with atomic_file(self._path(number, "npz")) as path, open(path, "wb") as file:
            np.savez(file, **cast(dict[str, Any], numbers))
        with atomic_file(self._path(number, "texts")) as path:
            # A lone surrogate (from a damaged dump) has no UTF-8 form.
            source = json.dumps(texts, ensure_ascii=False).encode("utf-8", "replace")
            path.write_bytes(zlib.compress(source, 1))
        head = {"checksum": checksum, "failed": chunk.failed, "counts": chunk.counts}
        with atomic_file(self._path(number, "json")) as path:
            path.write_text(json.dumps(head, ensure_ascii=False), "utf-8", "replace")

    def head(self, number: int) -> dict[str, Any] | None:
        """A chunk's head, or None if the chunk is not done."""
        path = self._path(number, "json")
        return read_json(path) if path.exists() else None

    def numbers(self, number: int) -> dict[str, np.ndarray]:
        """The arrays of NUMBERS.

        Raises:
          ValueError: the file is damaged.
        """
        path = self._path(number, "npz")
        try:
            with open(path, "rb") as source, np.load(source, allow_pickle=False) as file:
                return {name: file[name] for name in NUMBERS}
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise self._damaged(path, error) from error

    def texts(self, number: int) -> ChunkTexts:
        """The words of a chunk.

        Raises:
          ValueError: the file is damaged.
        """
        path = self._path(number, "texts")
        try:
            return ChunkTexts(*json.loads(zlib.decompress(path.read_bytes())))
        except (OSError, zlib.error, ValueError, TypeError) as error:
            raise self._damaged(path, error) from error

    def _damaged(self, path: Path, error: Exception) -> ValueError:
        return ValueError(
            f"{path} is damaged ({error}); delete the folder {self.folder} and build again"
        )

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"{number // _FILES_PER_FOLDER:04d}" / f"{number:07d}.{suffix}"


def _columns(chunk: Chunk) -> tuple[dict[str, np.ndarray], ChunkTexts]:
    columns: dict[str, list[int]] = {name: [] for name in NUMBERS}
    texts = ChunkTexts([], [], [], [], list(chunk.keys))
    for document_number, (page_id, document, blocks) in enumerate(chunk.articles):
        columns["page_id"].append(-1 if page_id is None else page_id)
        key = chunk.keys[document_number] if chunk.keys else document.title
        columns["title"].append(name_hash(key))
        columns["shown"].append(name_hash(document.title))
        columns["num_blocks"].append(len(blocks))
        texts.titles.append(document.title)
        headings: dict[str, int] = {}
        sections: dict[tuple[str, ...], int] = {}
        for block in blocks:
            number = len(texts.texts)
            sections.setdefault(block.section, number)
            for heading in block.section:
                headings.setdefault(fold_heading(heading), number)
            texts.texts.append(block.text)
            texts.sections.append(SECTION_SEPARATOR.join(block.section))
            columns["words"].append(count_words(block.text))
            for anchor in block.anchors:
                columns["link_block"].append(number)
                columns["link_start"].append(anchor.start)
                columns["link_end"].append(anchor.end)
                columns["link_target"].append(name_hash(anchor.target))
                columns["link_fragment"].append(name_hash(fold_heading(anchor.fragment)))
        for fragment, path in (chunk.fragments[document_number] if chunk.fragments else {}).items():
            if path in sections:
                headings.setdefault(fold_heading(fragment), sections[path])
        for heading, number in headings.items():
            columns["heading_document"].append(document_number)
            columns["heading_block"].append(number)
            columns["heading"].append(name_hash(heading))
    others = [(name.key, name.target, name.fragment, name.title) for name in chunk.names]
    for key, target, fragment, title in [*((*to, to[0]) for to in chunk.redirects), *others]:
        texts.redirects.append(title)
        columns["redirect"].append(name_hash(key))
        columns["redirect_target"].append(name_hash(target))
        columns["redirect_fragment"].append(name_hash(fold_heading(fragment)))
    return {name: np.asarray(columns[name], dtype) for name, dtype in NUMBERS.items()}, texts
