"""7z archives as streams: py7zr pushes what it unpacks, a thread turns that into a pull."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_PIECE = 1 << 20  # bytes
_PIECES = 8  # that wait to be read


class _StopReadingError(Exception):
    """Nobody reads on."""


def unpack_7z(
    path: Path, on_progress: Callable[[float], None], report: Callable[[str], None]
) -> Iterator[bytes]:
    """The bytes of the first file in an archive.

    Args:
      path: the archive.
      on_progress: called with the share that was unpacked.
      report: called with what is wrong with the archive; what stands before it is kept.

    Raises:
      ValueError: py7zr is not installed.
    """
    py7zr = import_py7zr(path)
    pieces: queue.Queue[bytes | BaseException | None] = queue.Queue(_PIECES)
    stopped = threading.Event()

    def put(piece: bytes | BaseException | None) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                pieces.put(piece, timeout=0.5)
                return
        raise _StopReadingError

    def work() -> None:
        try:
            with py7zr.SevenZipFile(path) as archive:
                files = [file for file in archive.list() if not file.is_directory]
                if not files:
                    raise ValueError("it holds no file")
                if len(files) > 1:
                    report(
                        f"{path} holds {len(files)} files; only the first, {files[0].filename}, "
                        "is read"
                    )
                size = max(files[0].uncompressed, 1)
                factory = _factory(py7zr, put, lambda done: on_progress(done / size))
                archive.extract(targets=[files[0].filename], factory=factory)
            put(None)
        except _StopReadingError:
            return
        except Exception as error:  # whatever py7zr raises, the reader must hear of it
            with contextlib.suppress(_StopReadingError):
                put(error)

    thread = threading.Thread(target=work, name="unpack 7z", daemon=True)
    thread.start()
    try:
        while (piece := pieces.get()) is not None:
            if isinstance(piece, BaseException):
                report(f"{path} is cut off or damaged ({piece}); what stands before is kept")
                return
            yield piece
    finally:
        stopped.set()
        thread.join()


def import_py7zr(path: Path) -> Any:
    """The library.

    Raises:
      ValueError: it is not installed.
    """
    try:
        import py7zr
    except ImportError:
        raise ValueError(
            f"{path} is a 7z archive; reading those needs py7zr: pip install 'wikinav_jax[7z]' (or "
            f"unpack it first, 7z x {path.name}, or take the .bz2 file of the same dump)"
        ) from None
    return py7zr


def _factory(py7zr: Any, put: Callable[[bytes], None], on_bytes: Callable[[int], None]) -> Any:
    """py7zr's writer of files, that hands on what it is given."""
    from py7zr.io import Py7zIO, WriterFactory

    class Writer(Py7zIO):
        def __init__(self) -> None:
            self._done = 0

        def write(self, s: bytes | bytearray) -> int:
            for start in range(0, len(s), _PIECE):
                put(bytes(s[start : start + _PIECE]))
            self._done += len(s)
            on_bytes(self._done)
            return len(s)

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return self._done

        def flush(self) -> None:
            """Nothing waits."""

        def size(self) -> int:
            return self._done

    class Factory(WriterFactory):
        def create(self, filename: str) -> Py7zIO:
            return Writer()

    return Factory()
