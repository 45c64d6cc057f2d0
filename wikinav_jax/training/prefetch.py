"""Prefetcher: batches drawn ahead by a few threads, in order and within bounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any


class BatchError(RuntimeError):
    """`batch_at(step)` raised; the cause is chained and `step` names the batch."""

    def __init__(self, step: int, cause: BaseException) -> None:
        super().__init__(
            f"drawing the batch of step {step} failed: {type(cause).__name__}: {cause}; call "
            f"batch_at({step}) alone to reproduce it"
        )
        self.step = step


class Prefetcher:
    """Iterates over batch_at(start), ..., batch_at(stop - 1) in this order.

    `workers` threads draw ahead; at most `buffer` batches are finished or in the making (default:
    two per worker). As a batch is a function of its step, the number of workers changes nothing
    but the speed. Threads suit batches made by NumPy and numba, which release the GIL. `batch_at`
    is called from several threads at once, so it may share only what it does not change.

    Use it as a context manager: leaving it waits for the batches in the making and ends all
    threads. Raises BatchError from the iteration when a batch fails, ValueError for bad bounds.
    """

    def __init__(
        self,
        batch_at: Callable[[int], Any],
        start: int,
        stop: int,
        *,
        workers: int = 1,
        buffer: int | None = None,
    ) -> None:
        buffer = 2 * workers if buffer is None else buffer
        if workers < 1:
            raise ValueError(f"workers={workers} is less than 1; use at least one thread")
        if buffer < workers:
            raise ValueError(
                f"buffer={buffer} is less than workers={workers}, so some would idle; raise the "
                "buffer or lower the workers"
            )
        if start > stop:
            raise ValueError(f"start={start} lies beyond stop={stop}")
        self._batch_at = batch_at
        self._buffer = buffer
        self._steps = iter(range(start, stop))
        self._pending: deque[tuple[int, Future[Any]]] = deque()
        self._closed = False
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="prefetch")
        self._fill()

    def _fill(self) -> None:
        while len(self._pending) < self._buffer:
            step = next(self._steps, None)
            if step is None:
                return
            self._pending.append((step, self._pool.submit(self._batch_at, step)))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._closed or not self._pending:
            raise StopIteration
        step, future = self._pending.popleft()
        error = future.exception()  # waits
        if error is not None:
            self.close()
            raise BatchError(step, error) from error
        self._fill()
        return future.result()

    def close(self) -> None:
        """Drops what is waiting, lets what is running finish, and ends the threads."""
        self._closed = True
        self._pending.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Prefetcher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
