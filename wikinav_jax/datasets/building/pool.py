"""Worker processes that parse chunks, watched by their parent.

A worker that dies or stands still is replaced; the page that it was reading is named as failed and
the rest of its chunk is parsed again. Chunks keep their numbers, so neither their order nor their
content depends on how many workers there are.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, NamedTuple

from wikinav_jax.datasets.building.chunks import Chunk, ChunkParser, PageOptions
from wikinav_jax.datasets.building.limits import limit_memory
from wikinav_jax.datasets.building.spill import Spill

_MAX_DEATHS = 20  # of one chunk


class ChunkSource(NamedTuple):
    """Pages to parse."""

    number: int
    pages: list[Any]
    checksum: int


@dataclass
class _Task:
    source: ChunkSource
    skip: dict[int, str] = field(default_factory=dict)


class _Worker:
    def __init__(self, context: Any, work: Callable[..., None], arguments: tuple):
        self.connection, theirs = context.Pipe()
        self.page: Synchronized = context.Value("q", -1, lock=False)
        self.process = context.Process(
            target=work, args=(theirs, self.page, *arguments), daemon=True
        )
        self.process.start()
        theirs.close()
        self.task: _Task | None = None
        self.seen = (-1, time.monotonic())  # the page it was last seen at, and since when

    def send(self, task: _Task) -> None:
        self.task = task
        self.page.value = -1
        self.seen = (-1, time.monotonic())
        self.connection.send((task.source, task.skip))

    def stands_still(self, seconds: float) -> bool:
        page = self.page.value
        if page != self.seen[0]:
            self.seen = (page, time.monotonic())
        # Before its first page it starts up, which takes long on a busy machine.
        return page >= 0 and time.monotonic() - self.seen[1] > seconds

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def parse_chunks(
    chunks: Iterable[ChunkSource],
    *,
    make_parser: Callable[[], ChunkParser],
    options: PageOptions,
    spill: Path,
    workers: int,
    patience: float = 120.0,
    work: Callable[..., None] | None = None,
) -> Iterator[tuple[int, int]]:
    """Parses chunks into spill files by a `ParserPool` of its own; see there."""
    pool = ParserPool(
        make_parser=make_parser,
        options=options,
        spill=spill,
        workers=workers,
        patience=patience,
        work=work,
    )
    try:
        yield from pool.parse(chunks)
    finally:
        pool.close()


class ParserPool:
    """Workers, started when they are first needed, that stay until the pool is closed."""

    def __init__(
        self,
        *,
        make_parser: Callable[[], ChunkParser],
        options: PageOptions,
        spill: Path,
        workers: int,
        patience: float = 120.0,
        work: Callable[..., None] | None = None,
    ):
        """Starts nothing yet.

        Args:
          make_parser: called once in each worker; it must be picklable.
          options: the limits of a page.
          spill: the folder that workers write to.
          workers: processes.
          patience: seconds beyond a page's limit after which a worker is taken for dead.
          work: the life of a worker; None for `work_on_chunks`.
        """
        self._work = work or work_on_chunks
        self._arguments = (make_parser, options, spill)
        self._context = multiprocessing.get_context("spawn")
        self._most = workers
        self._seconds = options.max_seconds + patience
        self._workers: list[_Worker] = []

    def close(self) -> None:
        """Ends the workers."""
        while self._workers:
            self._workers.pop().stop()

    def parse(self, chunks: Iterable[ChunkSource]) -> Iterator[tuple[int, int]]:
        """Parses chunks into files.

        Args:
          chunks: read as workers ask for them, at most two per worker ahead.

        Yields:
          (chunk's number, number of pages) of each chunk as it is done, in no fixed order.

        Raises:
          RuntimeError: workers end without a page that could be the reason.
          OSError: the files cannot be written.
        """
        source = iter(chunks)
        waiting: deque[_Task] = deque()
        pool = self._workers
        more = True
        while True:
            if more and len(waiting) < self._most:
                chunk = next(source, None)
                more = chunk is not None
                if chunk is not None:
                    waiting.append(_Task(chunk))
            idle = [worker for worker in pool if worker.task is None]
            if waiting and not idle and len(pool) < self._most:
                idle = [_Worker(self._context, self._work, self._arguments)]
                pool += idle
            for worker in idle[: len(waiting)]:
                _send(worker, waiting.popleft())
            busy = [worker for worker in pool if worker.task is not None]
            if not (busy or waiting or more):
                return
            full = not more or len(waiting) >= self._most
            ready = wait([worker.connection for worker in busy], 0.5 if full and busy else 0)
            for worker in busy:
                if worker.connection in ready:
                    done = _receive(worker)
                    if done is not None:
                        worker.task = None
                        yield done
                        continue
                    reason = "it ended a worker process"
                elif worker.stands_still(self._seconds):
                    reason = f"a worker process stood still for {self._seconds:g} s"
                else:
                    continue
                waiting.appendleft(_without_culprit(worker, reason))
                pool.remove(worker)
                worker.stop()


def _send(worker: _Worker, task: _Task) -> None:
    # If it died meanwhile its connection is ready, and gives the end of the file.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        worker.send(task)


def _receive(worker: _Worker) -> tuple[int, int] | None:
    try:
        result = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        return None
    if isinstance(result, Exception):
        raise result
    return result


def _without_culprit(worker: _Worker, reason: str) -> _Task:
    """The task of a lost worker, without the page that it was at."""
    task = worker.task
    assert task is not None
    page = worker.page.value
    if page < 0 or page in task.skip or len(task.skip) >= _MAX_DEATHS:
        raise RuntimeError(
            f"worker processes end while parsing chunk {task.source.number} (exit code "
            f"{worker.process.exitcode}), and no page is to blame: is the machine short of memory, "
            "or a script started without `if __name__ == '__main__':`? Try workers=1"
        )
    task.skip[page] = reason
    return task


def work_on_chunks(
    connection: Connection,
    page: Synchronized,
    make_parser: Callable[[], ChunkParser],
    options: PageOptions,
    folder: Path,
) -> None:
    """The life of a worker: chunks in, spill files out."""
    serve(connection, page, make_parser, options, Spill(folder).write)


def serve(
    connection: Connection,
    page: Synchronized,
    make_parser: Callable[[], ChunkParser],
    options: PageOptions,
    write: Callable[[int, Chunk, int], None],
) -> None:
    """Parses what comes, within the limits, until the connection ends.

    Args:
      connection: to the parent.
      page: where the parent sees which page is being read.
      make_parser: called once.
      options: the limits of a page.
      write: keeps (chunk's number, chunk, checksum of its source).
    """
    parser = make_parser()
    limit_memory(options.max_memory)

    def at(index: int) -> None:
        page.value = index

    while True:
        try:
            source, skip = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            chunk = parser.parse(source.pages, skip=skip, at=at)
            write(source.number, chunk, source.checksum)
        except OSError as error:  # such as a full disk: the parent's matter
            connection.send(error)
            return
        except KeyboardInterrupt:
            return
        connection.send((source.number, len(source.pages)))
