"""Parsed chunks on disk, so that a build that was interrupted goes on where it stopped.

Each chunk has two files: `N.docs` (zlib-compressed JSON lines, one per document) and, written
after it, `N.json` (redirects, failures, counts, checksum of the chunk's source). A chunk is done
when `N.json` stands.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wikinav_jax.common.files import atomic_file, read_json
from wikinav_jax.datasets.documents import Anchor, Document, Passage, Section
from wikinav_jax.datasets.mediawiki.pages import Chunk

_FILES_PER_FOLDER = 1000


class Spill:
    """The chunks of one build."""

    def __init__(self, folder: Path):
        self.folder = folder

    def write(self, index: int, chunk: Chunk, checksum: int) -> None:
        """Writes a chunk; a kill in between leaves none of it."""
        compressor = zlib.compressobj(1)
        with atomic_file(self._path(index, "docs")) as path, open(path, "wb") as file:
            for page_id, document in chunk.documents:
                line = json.dumps(_to_json(page_id, document), ensure_ascii=False) + "\n"
                # A lone surrogate in a title or text (from a damaged dump) has no UTF-8 form.
                file.write(compressor.compress(line.encode("utf-8", "replace")))
            file.write(compressor.flush())
        head = {
            "checksum": checksum,
            "redirects": chunk.redirects,
            "failed": chunk.failed,
            "counts": chunk.counts,
        }
        with atomic_file(self._path(index, "json")) as path:
            path.write_text(json.dumps(head, ensure_ascii=False), "utf-8", "replace")

    def head(self, index: int) -> dict[str, Any] | None:
        """A chunk's head, or None if the chunk is not done."""
        path = self._path(index, "json")
        return read_json(path) if path.exists() else None

    def documents(self, index: int) -> Iterator[tuple[int | None, Document]]:
        """The documents of a chunk with their page ids.

        Raises:
          ValueError: the file is damaged.
        """
        path = self._path(index, "docs")
        try:
            lines = zlib.decompress(path.read_bytes()).decode("utf-8").split("\n")
        except (zlib.error, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path} is damaged ({error}); delete the folder {self.folder} and build again"
            ) from error
        for line in lines:
            if line:
                yield _from_json(json.loads(line))

    def _path(self, index: int, suffix: str) -> Path:
        return self.folder / f"{index // _FILES_PER_FOLDER:04d}" / f"{index:07d}.{suffix}"


def _to_json(page_id: int | None, document: Document) -> list[Any]:
    return [
        page_id,
        document.title,
        [
            [
                section.path,
                [
                    [
                        passage.text,
                        *((a.start, a.end, a.target, a.fragment) for a in passage.anchors),
                    ]
                    for passage in section.passages
                ],
            ]
            for section in document.sections
        ],
    ]


def _from_json(value: list[Any]) -> tuple[int | None, Document]:
    page_id, title, sections = value
    return page_id, Document(
        title,
        tuple(
            Section(
                tuple(path),
                tuple(
                    Passage(text, tuple(Anchor(*anchor) for anchor in anchors))
                    for text, *anchors in passages
                ),
            )
            for path, passages in sections
        ),
    )
