"""Files and folders that are either whole or absent: write aside, then rename."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKED_BYTES = 1 << 29  # half a second of SHA-256: larger files are checked on demand only


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path beside `path`; renames it to `path` when the block succeeds.

    If the block raises, the temporary file is removed and `path` is left as it was.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary directory beside `path`; it takes the name `path` when the block succeeds.

    A directory that already stands at `path` is replaced only then.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            # rename() cannot replace a directory with files in it: move the old one aside first.
            old = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.old")
            os.replace(path, old)
            os.replace(temporary, path)
            shutil.rmtree(old)
        else:
            os.replace(temporary, path)
    finally:
        if temporary.exists():
            shutil.rmtree(temporary)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Writes `value` as indented UTF-8 JSON, atomically. NaN and infinity raise ValueError."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Reads UTF-8 JSON; a file that is not JSON raises ValueError with its path."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is not valid JSON ({error}); it may be truncated: delete it and run again"
        ) from error


def sha256_of(path: str | os.PathLike[str]) -> str:
    """The hex SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_altered(path: str | os.PathLike[str], sha256: str, *, whole: bool = False) -> bool:
    """Whether a file's bytes are others than those with that hex SHA-256.

    A file of more than CHECKED_BYTES is read only if `whole`, and taken on trust otherwise, so
    that opening something huge stays quick.
    """
    if not whole and os.stat(path).st_size > CHECKED_BYTES:
        return False
    return sha256_of(path) != sha256


def fingerprint(value: Any) -> str:
    """A short stable hash of a JSON-like value, for names of cached artefacts."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
