"""The files of a dump on this machine or, by Apache Beam's file systems, elsewhere (gs://, …)."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from wikinav_jax.datasets.mediawiki.build import DUMP_SUFFIXES, dump_files, natural
from wikinav_jax.datasets.mediawiki.dump import DumpReader
from wikinav_jax.datasets.mediawiki.titles import SiteInfo

_HEAD = 8 << 20  # bytes; a header takes some kilobytes
INSTALL = "pip install 'wikinav_jax[beam]'"


class DumpFile(NamedTuple):
    """One file of a dump."""

    path: str  # or address
    num_bytes: int
    modified: float  # seconds

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.rstrip("/").rpartition("/")[2]


def is_remote(path: str) -> bool:
    """Whether it is an address (scheme://…)."""
    return "://" in path


def file_systems() -> Any:
    """Apache Beam's FileSystems.

    Raises:
      ImportError: Apache Beam is not installed.
    """
    try:
        from apache_beam.io.filesystems import FileSystems
    except ImportError as error:
        raise ImportError(f"Apache Beam is not installed: {INSTALL}") from error
    return FileSystems


def find_dump(source: str) -> list[DumpFile]:
    """The files of a dump: itself, or its parts in a folder.

    Raises:
      ValueError: `source` is empty.
      FileNotFoundError: there is nothing.
    """
    if not source:
        raise ValueError("source is empty: give a MediaWiki XML dump, or the folder of its parts")
    if not is_remote(source):
        found = [(path, path.stat()) for path in dump_files(Path(source).expanduser().resolve())]
        return [DumpFile(str(path), stat.st_size, stat.st_mtime) for path, stat in found]
    systems = file_systems()
    parts: list[DumpFile] = []
    for pattern in (source, f"{source.rstrip('/')}/*"):
        for match in systems.match([pattern])[0].metadata_list:
            parts.append(
                DumpFile(match.path, match.size_in_bytes, match.last_updated_in_seconds or 0.0)
            )
        parts = [part for part in parts if part.name.endswith(DUMP_SUFFIXES)]
        if parts:
            return sorted(parts, key=lambda part: natural(part.name))
    raise FileNotFoundError(
        f"{source} is no dump, nor a folder with files that end in {', '.join(DUMP_SUFFIXES[:4])}"
    )


@contextlib.contextmanager
def local_copy(path: str, num_bytes: int | None = None) -> Iterator[Path]:
    """The file itself, or a copy of one that is elsewhere, which is deleted in the end.

    Args:
      path: the file.
      num_bytes: how much of it is enough; None for all.
    """
    if not is_remote(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="wikinav-dump-") as folder:
        copy = Path(folder) / path.rpartition("/")[2]
        # As it is: Beam would unpack by the name's ending.
        with _open(path) as source, open(copy, "wb") as target:
            if num_bytes is None:
                shutil.copyfileobj(source, target, 1 << 20)
            else:
                target.write(source.read(num_bytes))
        yield copy


def _open(path: str) -> Any:
    from apache_beam.io.filesystem import CompressionTypes

    return file_systems().open(path, compression_type=CompressionTypes.UNCOMPRESSED)


def read_site(file: DumpFile) -> SiteInfo:
    """The header of a dump.

    Raises:
      ValueError: it is no dump, see `DumpReader`.
    """
    enough = None if file.path.endswith(".7z") else _HEAD
    with local_copy(file.path, enough) as path:
        return DumpReader(path).site
