"""How far long work is: a bar on a terminal, now and then a line of the log elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from absl import logging
from tqdm import tqdm

_LINE_EVERY = (30.0, 300.0)  # seconds between lines: at the start, and in the long run
_LINES_OF_A_RUN = 20  # between the two, about so many lines stand before one

_quiet = False


def set_quiet(quiet: bool) -> None:
    """Turns every later progress bar off (`--quiet`) or on."""
    global _quiet
    _quiet = quiet


def progress(
    iterable: Iterable[Any] | None = None,
    *,
    desc: str,
    total: int | None = None,
    initial: int = 0,
    unit: str = "it",
    **kwargs: Any,
) -> tqdm:
    """A tqdm bar on stderr where that is a terminal; `LoggedProgress` where it is none."""
    kind = tqdm if _quiet or sys.stderr.isatty() else LoggedProgress
    return kind(
        iterable,
        desc=desc,
        total=total,
        initial=initial,
        unit=unit,
        disable=_quiet,
        dynamic_ncols=True,
        mininterval=0.5,
        **kwargs,
    )


class LoggedProgress(tqdm):
    """Says how far it is in lines of the log, for work that takes more than half a minute.

    `Training: step 400 of 800 (50%), 12.3/s, loss=0.53, 33 s to go`; the speed is that since the
    line before. Lines grow rarer as the work goes on.
    """

    def __init__(
        self,
        iterable: Iterable[Any] | None = None,
        *,
        desc: str,
        total: int | None = None,
        initial: int = 0,
        unit: str = "it",
        unit_scale: bool = False,
        **of_a_bar: Any,
    ) -> None:
        del of_a_bar
        super().__init__(iterable, total=total, initial=initial, disable=True)
        self._desc, self._unit, self._scaled = desc, unit, unit_scale
        self._facts = ""
        self._begin = self._said_at = time.monotonic()
        self._said_n = initial
        self._due = self._begin + _LINE_EVERY[0]
        self._is_open = True

    def __iter__(self) -> Iterator[Any]:
        try:
            for item in self.iterable:
                yield item
                self.update()
        finally:
            self.close()

    def update(self, n: float | None = 1) -> bool:
        """Counts `n` more; whether a line was written."""
        self.n += n or 0
        now = time.monotonic()
        if now < self._due:
            return False
        done = self.n - self._said_n
        speed = done / max(now - self._said_at, 1e-9)
        parts = [self._place()]
        # The first step compiles: one alone tells nothing of the speed.
        is_telling = done > 1 or self._said_at > self._begin
        if is_telling:
            parts.append(f"{self._amount(speed)}/s")
        if self._facts:
            parts.append(self._facts)
        if self.total and speed > 0 and is_telling:
            parts.append(f"{_duration(max(self.total - self.n, 0) / speed)} to go")
        logging.info("%s", ", ".join(parts))
        self._said_at, self._said_n = now, self.n
        shortest, longest = _LINE_EVERY
        wait = min(max((now - self._begin) / _LINES_OF_A_RUN, shortest), longest)
        self._due = now + wait
        return True

    def set_postfix(self, ordered_dict: Any = None, refresh: bool | None = True, **facts: Any):
        """Figures for the next line."""
        facts = {**(ordered_dict or {}), **facts}
        self._facts = ", ".join(
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in facts.items()
        )

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
        """Words for the next line."""
        self._facts = s

    def close(self) -> None:
        """Says how long it took, if it said anything before."""
        if getattr(self, "_is_open", False) and self._said_at > self._begin:
            took = f"took {_duration(time.monotonic() - self._begin)}"
            parts = (self._place(), self._facts, took)
            logging.info("%s", ", ".join(filter(None, parts)))
        self._is_open = False

    def _place(self) -> str:
        word = f"{self._unit} " if self._unit != "B" else ""
        place = f"{self._desc}: {word}{self._amount(self.n)}"
        if self.total:
            place += f" of {self._amount(self.total)} ({min(self.n / self.total, 1):.0%})"
        return place

    def _amount(self, value: float) -> str:
        if self._unit == "B" or self._scaled:
            return tqdm.format_sizeof(value, "B" if self._unit == "B" else "")
        return f"{value:,}" if isinstance(value, int) else f"{value:,.{0 if value >= 100 else 1}f}"


def _duration(seconds: float) -> str:
    """Like "45 s", "12 min" or "3 h 20 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
