"""Bars on a terminal, lines in a log, nothing when quiet."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from absl import logging

from wikinav_jax.common import progress as progress_module
from wikinav_jax.common.progress import progress, set_quiet


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress_module, "time", clock)
    return clock


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(logging, "info", lambda text, *args: lines.append(text % args))
    return lines


@pytest.fixture
def quiet() -> Iterator[None]:
    set_quiet(True)
    yield
    set_quiet(False)


def test_short_work_is_silent_away_from_a_terminal(capsys, lines):
    assert list(progress(range(3), desc="x")) == [0, 1, 2]
    with progress(desc="x", total=3, delay=3) as bar:
        bar.update(3)
    assert lines == []
    assert capsys.readouterr().err == ""


def test_long_work_writes_lines(clock, lines):
    with progress(desc="Training", total=800, initial=100, unit="step") as bar:
        for step in range(101, 801):
            clock.now += 0.25
            bar.set_postfix(loss=1 / step, refresh=False)
            bar.update()
    assert lines == [
        "Training: step 220 of 800 (28%), 4.0/s, loss=0.004545, 2 min to go",
        "Training: step 340 of 800 (42%), 4.0/s, loss=0.002941, 2 min to go",
        "Training: step 460 of 800 (57%), 4.0/s, loss=0.002174, 85 s to go",
        "Training: step 580 of 800 (72%), 4.0/s, loss=0.001724, 55 s to go",
        "Training: step 700 of 800 (88%), 4.0/s, loss=0.001429, 25 s to go",
        "Training: step 800 of 800 (100%), loss=0.00125, took 3 min",
    ]


def test_lines_grow_rarer(clock, lines):
    for _ in progress(range(86_400), desc="A day", unit="batch"):
        clock.now += 1
    assert 250 < len(lines) < 400
    assert lines[-1] == "A day: batch 86,400 of 86,400 (100%), took 24 h 0 min"


def test_the_speed_is_that_since_the_line_before(clock, lines):
    bar = progress(desc="Slow, then fast", total=10_000)
    clock.now += 100
    bar.update(1)
    clock.now += 40
    bar.update(4000)
    assert lines == [
        "Slow, then fast: it 1 of 10,000 (0%)",  # it may have compiled: no time to go yet
        "Slow, then fast: it 4,001 of 10,000 (40%), 100/s, 60 s to go",
    ]
    bar.close()
    bar.close()
    assert len(lines) == 3  # closed once


def test_bytes_words_and_no_total(clock, lines):
    with progress(desc="Parsing", total=5_000_000, unit="B", unit_scale=True) as bar:
        bar.set_postfix_str("12 pages/s")
        clock.now += 50
        bar.update(1_000_000)
    with progress(desc="Files", unit="file") as bar:
        clock.now += 50
        bar.update(200)
    assert lines == [
        "Parsing: 1.00MB of 5.00MB (20%), 20.0kB/s, 12 pages/s, 3 min to go",
        "Parsing: 1.00MB of 5.00MB (20%), 12 pages/s, took 50 s",
        "Files: file 200, 4.0/s",
        "Files: file 200, took 50 s",
    ]


def test_an_error_ends_the_lines(clock, lines):
    def work() -> None:
        for number in progress(range(100), desc="Work"):
            clock.now += 10
            if number == 4:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        work()
    places = [line.partition(",")[0] for line in lines]
    assert places == ["Work: it 3 of 100 (3%)", "Work: it 4 of 100 (4%)"]


@pytest.mark.usefixtures("quiet")
def test_quiet_work_says_nothing(clock, lines, capsys, monkeypatch):
    for is_terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal)
        for _ in progress(range(3), desc="x"):
            clock.now += 100
    assert lines == []
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(lines, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(progress(range(3), desc="Reading", unit="page")) == [0, 1, 2]
    shown = capsys.readouterr().err
    assert "Reading" in shown and "3/3" in shown
    assert lines == []
