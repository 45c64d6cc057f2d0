"""Downloads that resume and are checked, and archives that unpack nowhere but where they should.

`fetch` writes to `NAME.part` and renames when the file is whole. Where no checksum is known it
trusts the first download and writes down its SHA-256 beside it (`NAME.sha256`), so that later
changes of the file are seen.
"""

from __future__ import annotations

import gzip
import http.client
import lzma
import os
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from wikinav_jax.common.files import atomic_directory, sha256_of
from wikinav_jax.common.progress import progress

_CHUNK = 1 << 20  # bytes
_BY_HAND = "without a network, download it by hand into a folder and pass --config.data_dir=DIR"
_USER_AGENT = "wikinav_jax"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_BROKEN_ARCHIVE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
)


class _CutOffError(Exception):
    """The connection ended early; what came is kept for the next try."""


def fetch(
    url: str,
    destination: str | os.PathLike[str],
    *,
    sha256: str | None,
    retries: int = 4,
    wait: float = 1.0,
    timeout: float = 60.0,
) -> Path:
    """Downloads a file, or checks the one that is there.

    A cut connection is resumed where it ended, also by a later call; a server that cannot resume,
    or whose file has changed since, is read from the start.

    Args:
      url: https (or http on this machine).
      destination: where the file goes.
      sha256: what it must be, in hex; None to trust the first download.
      retries: further tries after a cut connection, a time-out or a server error.
      wait: seconds before the first retry; doubled for each further one.
      timeout: seconds without any byte before a try is given up.

    Returns:
      `destination`.

    Raises:
      ConnectionError: the server could not be reached, or kept failing.
      FileNotFoundError: the server says that the file is not there.
      ValueError: the URL is not https, or the file is not what `sha256` says.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise ValueError(f"{url}: only https URLs are downloaded")
    destination = Path(destination)
    note = destination.with_name(destination.name + ".sha256")
    if destination.exists():
        expected = sha256 or (note.read_text(encoding="ascii").strip() if note.exists() else None)
        if expected:
            _check(destination, expected, url)
        return destination
    destination.parent.mkdir(parents=True, exist_ok=True)
    part = destination.with_name(destination.name + ".part")
    validator = destination.with_name(destination.name + ".part.validator")
    for attempt in range(retries + 1):
        try:
            _download(url, part, validator, destination.name, timeout)
            break
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (404, 410):
                raise FileNotFoundError(
                    f"{url} is not there (HTTP {error.code}); it may have moved: look for it on "
                    "the data set's page, put it into a folder and pass --config.data_dir=DIR"
                ) from error
            if error.code < 500 or attempt == retries:
                raise ConnectionError(
                    f"could not download {url} (HTTP {error.code} {error.reason}); {_BY_HAND}"
                ) from error
        except (OSError, http.client.HTTPException, _CutOffError) as error:
            if attempt == retries:
                raise ConnectionError(
                    f"could not download {url} after {retries + 1} tries ({error}); {_BY_HAND}. "
                    f"What has come so far is kept in {part}"
                ) from error
        time.sleep(wait * 2**attempt)
    if sha256:
        try:
            _check(part, sha256, url)
        except ValueError:
            part.unlink()  # resuming it would only end in the same error
            raise
    else:
        note.write_text(sha256_of(part) + "\n", encoding="ascii")
    os.replace(part, destination)
    validator.unlink(missing_ok=True)
    return destination


def _download(url: str, part: Path, validator: Path, name: str, timeout: float) -> None:
    """One try: adds to `part` what it lacks. Raises _CutOffError if that is not all."""
    headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"}
    have = part.stat().st_size if part.exists() else 0
    if have and validator.exists():
        # The server sends the rest only of the same version of the file.
        headers["Range"] = f"bytes={have}-"
        headers["If-Range"] = validator.read_text(encoding="utf-8")
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to send, or the file has become shorter
            error.close()
            part.unlink()
            raise _CutOffError("the server cannot resume the download") from error
        raise
    with response:
        resumed = response.status == http.client.PARTIAL_CONTENT
        if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.unlink()
            raise _CutOffError("the server resumed at another place than it was asked to")
        if not resumed:
            have = 0
            # A weak ETag does not promise the same bytes.
            tag = response.headers.get("ETag") or ""
            mark = response.headers.get("Last-Modified") if tag[:2] in ("", "W/") else tag
            if mark:
                validator.write_text(mark, encoding="utf-8")
            else:
                validator.unlink(missing_ok=True)
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        bar = progress(desc=name, total=total, initial=have, unit="B", unit_scale=True)
        with open(part, "ab" if resumed else "wb") as file, bar:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    size = part.stat().st_size
    if total is not None and size != total:
        raise _CutOffError(f"the connection was cut at byte {size} of {total}")


def _check(path: Path, expected: str, url: str) -> None:
    found = sha256_of(path)
    if found != expected.lower():
        raise ValueError(
            f"{path} has SHA-256 {found}, but {url} should have {expected}: the file is damaged or "
            "was replaced by another version; delete it and run again, or pass a folder with the "
            "right one as --config.data_dir=DIR"
        )


def unpack(
    archive: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    max_bytes: int = 4 << 30,
    max_files: int = 500_000,
) -> Path:
    """Unpacks a tar (plain, gz, bz2, xz) or zip archive into a new folder, whole or not at all.

    Only files and folders are written, never links or devices, with default permissions.

    Args:
      archive: the file.
      folder: where its members go; replaced if it exists.
      max_bytes: the most that all members may hold together, unpacked.
      max_files: the most members.

    Returns:
      `folder`.

    Raises:
      FileNotFoundError: there is no such archive.
      ValueError: the archive is truncated, or no archive, or too large, or has a member that is a
        link or a device or would lie outside `folder`.
    """
    archive = Path(archive)
    if not archive.is_file():
        raise FileNotFoundError(f"no archive at {archive}")
    with atomic_directory(folder) as temporary:
        room = max_bytes
        try:
            bar = progress(_members(archive), desc=f"Unpacking {archive.name}", unit="file")
            for count, (name, source) in enumerate(bar, start=1):
                if count > max_files:
                    raise ValueError(
                        f"{archive} has more than max_files={max_files} members; if it is what it "
                        "should be, unpack it by hand"
                    )
                target = _inside(temporary, name, archive)
                if source is None:
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with source, open(target, "wb") as file:
                    while chunk := source.read(min(_CHUNK, room + 1)):
                        room -= len(chunk)
                        if room < 0:
                            raise ValueError(
                                f"{archive} unpacks to more than max_bytes={max_bytes} bytes; if "
                                "it is what it should be, unpack it by hand"
                            )
                        file.write(chunk)
        except _BROKEN_ARCHIVE as error:
            raise ValueError(
                f"{archive} is truncated or no archive ({error or type(error).__name__}); delete "
                "it and download it again"
            ) from error
    return Path(folder)


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Names and open files of an archive; None for a folder."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file:
            for entry in file.infolist():
                mode = entry.external_attr >> 16
                if mode and mode & 0o170000 not in (0, 0o100000, 0o040000):
                    raise ValueError(_refusal(archive, entry.filename, "a link or a device"))
                yield entry.filename, None if entry.is_dir() else file.open(entry)
        return
    with tarfile.open(archive, "r:*") as tar:
        for member in tar:
            if not member.isfile() and not member.isdir():
                raise ValueError(_refusal(archive, member.name, "a link or a device"))
            yield member.name, tar.extractfile(member)


def _inside(folder: Path, name: str, archive: Path) -> Path:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or PureWindowsPath(name).drive:
        raise ValueError(_refusal(archive, name, "outside the folder it is unpacked into"))
    return folder.joinpath(*path.parts)


def _refusal(archive: Path, name: str, what: str) -> str:
    return f"{archive} holds {name!r}, which is {what}; nothing of it was unpacked"
