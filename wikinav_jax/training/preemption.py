"""SIGTERM as a polite request: finish the step, save, stop."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

import jax
from jax.experimental import multihost_utils


class Preempted(SystemExit):
    """The run was asked to stop (SIGTERM); its state is saved at `step`.

    A SystemExit with status 143 (128 + SIGTERM), so that a program that does not catch it ends
    cleanly and a launcher sees that the training is not finished.
    """

    def __init__(self, step: int) -> None:
        super().__init__(143)
        self.step = step

    def __str__(self) -> str:
        return f"stopped by SIGTERM after step {self.step}; run again to resume"


class SigtermWatch:
    """A context in which SIGTERM is noted instead of ending the process.

    With several processes, JAX's own service spreads the notice and all of them stop after the
    same step; alone, a handler sets a flag. Outside the main thread no handler can be set, and
    SIGTERM keeps its meaning.
    """

    def __init__(self) -> None:
        self._noticed = threading.Event()
        self._previous: Any = None
        self._installed = False

    def __enter__(self) -> SigtermWatch:
        alone = jax.process_count() == 1
        if alone and threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGTERM, self._notice)
            self._installed = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._installed:
            # None stands for a handler that C code set; Python cannot put that one back.
            signal.signal(signal.SIGTERM, self._previous or signal.SIG_DFL)
            self._installed = False

    def _notice(self, number: int, frame: FrameType | None) -> None:
        self._noticed.set()

    def reached(self, step: int) -> bool:
        """Whether to stop after `step`. Every process must ask once after every step."""
        if jax.process_count() > 1:
            return bool(multihost_utils.reached_preemption_sync_point(step))
        return self._noticed.is_set()
