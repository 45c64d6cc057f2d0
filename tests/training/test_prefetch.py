"""Order, bounds, errors and threads of the Prefetcher."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from wikinav_jax.training.prefetch import BatchError, Prefetcher


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


@pytest.mark.parametrize("workers", [1, 3])
def test_order_does_not_depend_on_workers_or_their_speed(workers: int) -> None:
    def batch_at(step: int) -> np.ndarray:
        rng = np.random.default_rng([5, step])
        time.sleep(0.003 * rng.random())  # later batches are often ready first
        return np.concatenate([[step], rng.random(2)])

    with Prefetcher(batch_at, 3, 20, workers=workers) as batches:
        drawn = np.stack(list(batches))
    np.testing.assert_array_equal(drawn, np.stack([batch_at(step) for step in range(3, 20)]))


def test_never_more_than_the_buffer_ahead() -> None:
    drawn: list[int] = []
    lock = threading.Lock()

    def batch_at(step: int) -> int:
        with lock:
            drawn.append(step)
        return step

    with Prefetcher(batch_at, 0, 1000, workers=2, buffer=3) as batches:
        for expected in range(5):
            assert next(batches) == expected
            time.sleep(0.02)
            assert len(drawn) == expected + 1 + 3  # given out, and the buffer full again
    assert len(drawn) == 8


def test_error_names_the_step_and_ends_the_threads() -> None:
    def batch_at(step: int) -> int:
        if step == 4:
            raise IndexError("node 17 of 10")
        return step

    with Prefetcher(batch_at, 0, 100, workers=2) as batches:
        assert [next(batches) for _ in range(4)] == [0, 1, 2, 3]
        with pytest.raises(BatchError, match="step 4 failed: IndexError: node 17 of 10") as caught:
            next(batches)
        assert caught.value.step == 4 and isinstance(caught.value.__cause__, IndexError)
        assert threads() == []
        with pytest.raises(StopIteration):
            next(batches)


def test_closing_early_leaks_no_thread_and_draws_no_more() -> None:
    drawn: list[int] = []

    def batch_at(step: int) -> int:
        time.sleep(0.01)
        drawn.append(step)
        return step

    with Prefetcher(batch_at, 0, 10**6, workers=3, buffer=50) as batches:
        next(batches)
        assert len(threads()) == 3
    assert threads() == []
    count = len(drawn)
    assert count < 20
    time.sleep(0.05)
    assert len(drawn) == count


def test_nothing_to_draw() -> None:
    with Prefetcher(lambda step: step, 7, 7) as batches:
        assert list(batches) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers=0"),
        ({"workers": 4, "buffer": 2}, "buffer=2 is less than workers=4"),
        ({"start": 9}, "start=9 lies beyond stop=5"),
    ],
)
def test_bad_bounds(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Prefetcher(**{"batch_at": int, "start": 0, "stop": 5, **options})  # type: ignore[arg-type]
