"""Files as streams of UTF-8 bytes, whatever they are packed and encoded in."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import io
import itertools
import lzma
import re
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from wikinav_jax.datasets.building.seven_zip import import_py7zr, unpack_7z

_CHUNK = 1 << 20  # bytes handed on at a time, so that no file unpacks into all of memory
_READ = 1 << 18

_DECLARED = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"']")
_LONG_STREAM = 16 << 20  # bytes; a longer bz2 stream is not unpacked at once
_THREADS = 4  # bz2 lets go of Python's lock
_BZ2_STREAM = re.compile(rb"BZh[1-9]1AY&SY")  # the head of a stream and of its first block
_ERRORS = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)


class _Stream(NamedTuple):
    """What became of a stream of a bz2 file."""

    data: bytes
    decompressor: bz2.BZ2Decompressor
    error: Exception | None
    bytes_fed: int  # when the error came; without one, the length of the stream


class CompressedFile:
    """Iterates over a file's unpacked bytes; keeps what stands before any damage."""

    def __init__(self, path: Path):
        """Looks at the first bytes.

        Raises:
          FileNotFoundError: there is no such file.
          ValueError: it is packed as zip, or as 7z and py7zr is not installed.
        """
        if not path.is_file():
            raise FileNotFoundError(f"{path} is no file; give the path of a dump")
        self.path = path
        self.problems: list[str] = []
        self.num_bytes = path.stat().st_size
        self.bytes_read = 0
        with open(path, "rb") as file:
            head = file.read(6)
        if head.startswith(b"PK\x03\x04"):
            raise ValueError(
                f"{path} is a zip archive, which is not read as a stream; unpack it first "
                f"(7z x {path.name}), or take the .bz2 file of the same dump"
            )
        self._is_7z = head.startswith(b"7z\xbc\xaf'\x1c")
        if self._is_7z:
            import_py7zr(path)
        self._decompressor: Callable[[], Any] | None = None
        if head.startswith(b"BZh"):
            self._decompressor = bz2.BZ2Decompressor
        elif head.startswith(b"\x1f\x8b"):
            self._decompressor = lambda: zlib.decompressobj(wbits=31)
        elif head.startswith(b"\xfd7zXZ"):
            self._decompressor = lzma.LZMADecompressor

    def report(self, problem: str) -> None:
        """Notes something wrong with the file."""
        self.problems.append(problem)

    def nothing(self) -> ValueError:
        """The error for a file that yielded nothing: damaged from its start, or empty."""
        what = "; ".join(self.problems) or f"{self.path} ({self.num_bytes:,} bytes) holds no data"
        return ValueError(
            f"{what}. Nothing of it can be read: download it again, and compare its size and "
            "checksum with those of the download page"
        )

    def _note_share(self, share: float) -> None:
        self.bytes_read = int(share * self.num_bytes)

    def __iter__(self) -> Iterator[bytes]:
        if self._is_7z:
            yield from unpack_7z(self.path, self._note_share, self.report)
            return
        with open(self.path, "rb") as file:
            if self._decompressor is None:
                while data := file.read(_CHUNK):
                    self.bytes_read += len(data)
                    yield data
                return
            rest = b""
            if self._decompressor is bz2.BZ2Decompressor:
                left = yield from self._unpack_in_parallel(file)
                if left is None:
                    return
                rest = left
            yield from self._unpack(file, self._decompressor, rest)

    def _unpack_in_parallel(self, file: Any) -> Generator[bytes, None, bytes | None]:
        """The streams of a bz2 file on several threads, in their order, while they are short.

        Dumps called "multistream" start a stream every hundred pages. From the first long stream on
        the file is for `_unpack`.

        Returns:
          What was read of the rest, or None if all is done.
        """
        pending: deque[tuple[int, Future[_Stream]]] = deque()  # (first byte in the file, stream)
        buffer, offset = b"", 0  # where the buffer stands in the file
        with ThreadPoolExecutor(_THREADS) as pool:
            more = True
            while more:
                data = file.read(_READ)
                self.bytes_read += len(data)
                more = bool(data)
                searched = max(1, len(buffer) - 10)
                buffer += data
                starts = [match.start() for match in _BZ2_STREAM.finditer(buffer, searched)]
                ends = [*starts, *([] if more else [len(buffer)])]
                for start, end in itertools.pairwise([0, *ends]):
                    if end > start:
                        stream = pool.submit(_unpack_stream, buffer[start:end])
                        pending.append((offset + start, stream))
                if ends:
                    buffer, offset = buffer[ends[-1] :], offset + ends[-1]
                while pending and (len(pending) > 2 * _THREADS or not more):
                    if not (yield from self._hand_on(*pending.popleft())):
                        return None
                if len(buffer) > _LONG_STREAM:
                    break
            while pending:
                if not (yield from self._hand_on(*pending.popleft())):
                    return None
        return buffer if more else None

    def _hand_on(self, first: int, future: Future[_Stream]) -> Generator[bytes, None, bool]:
        """Yields what the stream at byte `first` holds; returns whether to go on behind it."""
        data, decompressor, error, bytes_fed = future.result()
        yield data
        try:
            while error is None and not decompressor.eof and not decompressor.needs_input:
                yield decompressor.decompress(b"", _CHUNK)
        except _ERRORS as late:
            error = late
        if error is None and decompressor.eof and decompressor.unused_data.strip(b"\0"):
            error = OSError("a stream is followed by what is none")
            bytes_fed -= len(decompressor.unused_data)
        if error is not None:
            self._report_damage(error, first + bytes_fed)
        elif not decompressor.eof:
            self._report_cut()
        return error is None and decompressor.eof

    def _report_damage(self, error: Exception, place: int) -> None:
        """Notes damage that came to light when `place` bytes had been unpacked."""
        self.report(
            f"{self.path} is damaged at its byte {place:,} or before ({error}); what was unpacked "
            "until then is kept"
        )

    def _report_cut(self) -> None:
        self.report(
            f"{self.path} is cut off after {self.num_bytes:,} bytes, inside a compressed stream; "
            "what stands before the cut is kept"
        )

    def _unpack(self, file: Any, new: Callable[[], Any], rest: bytes) -> Iterator[bytes]:
        """All streams (bz2), members (gz) or blocks (xz) from `rest` on, one after another."""
        before, data, decompressor = io.BytesIO(rest), b"", new()
        started = False  # whether the current stream has any byte yet
        num_streams = 0
        while True:
            if not data:
                data = before.read(_READ)
                if not data:
                    data = file.read(_READ)
                    self.bytes_read += len(data)
                if not data:
                    if started:
                        self._report_cut()
                    return
            if not started and num_streams:
                data = data.lstrip(b"\0")  # padding between streams
                if not data:
                    continue
            try:
                started = True
                unpacked = decompressor.decompress(data, _CHUNK)
                data = getattr(decompressor, "unconsumed_tail", b"")
                yield unpacked
                while not decompressor.eof and not getattr(decompressor, "needs_input", True):
                    yield decompressor.decompress(b"", _CHUNK)
            except _ERRORS as error:
                self._report_damage(error, self.bytes_read - len(rest) + before.tell())
                return
            if decompressor.eof:
                data = decompressor.unused_data
                decompressor, started = new(), False
                num_streams += 1


def _unpack_stream(source: bytes) -> _Stream:
    decompressor = bz2.BZ2Decompressor()
    try:
        data = decompressor.decompress(source, _LONG_STREAM)
        return _Stream(data, decompressor, None, len(source))
    except _ERRORS as error:
        data, bytes_fed = _unpack_before_damage(source)
        return _Stream(data, decompressor, error, bytes_fed)


def _unpack_before_damage(source: bytes) -> tuple[bytes, int]:
    """What stands in front of a stream's damage, and the bytes unpacked when it came to light."""
    decompressor = bz2.BZ2Decompressor()
    parts: list[bytes] = []
    fed = 0
    with contextlib.suppress(*_ERRORS):
        while fed < len(source) and sum(map(len, parts)) <= _LONG_STREAM:
            piece = source[fed : fed + 4096]
            fed += len(piece)
            parts.append(decompressor.decompress(piece, _CHUNK))
    return b"".join(parts), fed


def to_utf8(stream: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """Recodes a stream of XML to UTF-8, by its byte order mark or its declaration.

    The declaration itself stays as it is, so parsers must be told that they read UTF-8.

    Raises:
      ValueError: the declared encoding is unknown.
    """
    head = b""
    for data in stream:
        head += data
        if len(head) >= 1024:
            break
    encoding, mark = _encoding(head)
    if encoding == "utf-8":
        yield head[mark:]
        yield from stream
        return
    try:
        decoder = codecs.getincrementaldecoder(encoding)("replace")
    except LookupError:
        raise ValueError(
            f"{path} declares the encoding {encoding!r}, which is unknown; recode it to UTF-8"
        ) from None
    yield decoder.decode(head[mark:]).encode("utf-8")
    for data in stream:
        yield decoder.decode(data).encode("utf-8")
    yield decoder.decode(b"", True).encode("utf-8")


def _encoding(head: bytes) -> tuple[str, int]:
    """The encoding, and the length of the byte order mark."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if head.startswith(mark):
            return encoding, len(mark)
    if head.startswith(b"<\0"):
        return "utf-16-le", 0
    if head.startswith(b"\0<"):
        return "utf-16-be", 0
    declared = _DECLARED.match(head.lstrip())
    name = declared[1].decode("ascii").lower() if declared else "utf-8"
    return ("utf-8" if name in ("utf-8", "utf8", "us-ascii", "ascii") else name), 0
