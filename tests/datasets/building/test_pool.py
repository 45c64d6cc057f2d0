"""Limits per page, and workers that die or stand still."""

from __future__ import annotations

import functools
import os
import sys
import time
from pathlib import Path

import pytest

from tests.datasets.mediawiki.dumps import Page
from wikinav_jax.datasets.building.chunks import PageOptions
from wikinav_jax.datasets.building.limits import PageLimitError, time_limit
from wikinav_jax.datasets.building.pool import (
    ChunkSource,
    ParserPool,
    parse_chunks,
    serve,
    work_on_chunks,
)
from wikinav_jax.datasets.building.spill import Spill
from wikinav_jax.datasets.mediawiki import pages as pages_module
from wikinav_jax.datasets.mediawiki.pages import PageParser
from wikinav_jax.datasets.mediawiki.titles import SiteInfo


def sources(*texts: str) -> list[bytes]:
    return [Page(text[:10], text, i).xml().encode() for i, text in enumerate(texts, 1)]


def run(folder: Path, *chunks: list[bytes], options=None, **more) -> Spill:
    """Parses chunks; returns what they left."""
    given = [ChunkSource(number, pages, 0) for number, pages in enumerate(chunks)]
    options = options or PageOptions()
    make_parser = functools.partial(PageParser, SiteInfo(), options)
    done = parse_chunks(given, make_parser=make_parser, options=options, spill=folder, **more)
    counts = dict(done)
    assert counts == {number: len(pages) for number, pages in enumerate(chunks)}
    return Spill(folder)


def titles(spill: Spill, number: int) -> list[str]:
    return spill.texts(number).titles


def hostile_work(*arguments) -> None:
    """A worker that dies at some pages and stands still at others."""
    parse_page = pages_module.parse_page

    def parse(source):
        if b"KILL" in source:
            os._exit(9)
        if b"STILL" in source:
            time.sleep(600)  # takes no processor time
        return parse_page(source)

    pages_module.parse_page = parse
    work_on_chunks(*arguments)


def dying_work(*arguments) -> None:
    os._exit(3)


def test_a_page_that_ends_a_worker_is_named_and_the_rest_is_parsed(tmp_path):
    chunks = [
        sources("Aa", "KILL one", "Bb", "KILL two", "Cc"),
        sources("Dd"),
        sources("Ee", "KILL three"),
    ]
    spill = run(tmp_path, *chunks, workers=2, work=hostile_work)
    assert [titles(spill, number) for number in range(3)] == [["Aa", "Bb", "Cc"], ["Dd"], ["Ee"]]
    reason = "it ended a worker process"
    assert spill.head(0)["failed"] == [["KILL one", reason], ["KILL two", reason]]
    assert spill.head(2)["failed"] == [["KILL three", reason]]


def test_a_worker_that_stands_still_is_replaced(tmp_path):
    spill = run(
        tmp_path,
        sources("Aa", "STILL", "Bb"),
        workers=1,
        work=hostile_work,
        patience=2.0,
        options=PageOptions(max_seconds=1.0),
    )
    assert titles(spill, 0) == ["Aa", "Bb"]
    assert spill.head(0)["failed"] == [["STILL", "a worker process stood still for 3 s"]]


def test_workers_that_die_of_themselves_are_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="no page is to blame"):
        run(tmp_path, sources("Aa"), workers=1, work=dying_work)


def test_a_page_over_its_time_is_left_out():
    chunk = PageParser(SiteInfo(), PageOptions(max_seconds=0.3)).parse(
        sources("Aa", "Slow " + "[[a]] " * 600_000, "Bb")
    )
    assert [article.document.title for article in chunk.articles] == ["Aa", "Bb"]
    assert chunk.failed == [("Slow [[a]]", "took more than 0.3 s")]


def work_for(seconds: float) -> None:
    """Takes processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_time_limits_end_with_their_block():
    with time_limit(0.05):
        pass
    work_for(0.1)  # an alarm left behind would go off here
    with pytest.raises(PageLimitError, match=r"took more than 0\.05 s"), time_limit(0.05):
        work_for(5)


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits are Linux's")
def test_a_page_over_its_memory_is_left_out(tmp_path):
    # A million links of a page are a million strings and a list.
    spill = run(
        tmp_path,
        sources("Aa", "Wide " + "[[a|b]]c" * 700_000, "Bb"),
        workers=1,
        options=PageOptions(max_memory=60 << 20, max_seconds=60),
    )
    assert titles(spill, 0) == ["Aa", "Bb"]
    assert spill.head(0)["failed"] == [["Wide [[a|b", "took more than 60 MB"]]


def test_a_spill_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        run(tmp_path / "file", sources("Aa"), workers=1)


@pytest.mark.parametrize("suffix", ["texts", "npz"])
def test_damaged_spill_files_say_so(tmp_path, suffix):
    spill = run(tmp_path, sources("Aa"), workers=1)
    file = next(tmp_path.rglob(f"*.{suffix}"))
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"is damaged.*build again"):
        spill.texts(0) if suffix == "texts" else spill.numbers(0)


def test_options_that_cannot_be():
    with pytest.raises(ValueError, match="target_words=200 and max_words=120"):
        PageOptions(target_words=200)
    with pytest.raises(ValueError, match="max_seconds=0"):
        PageOptions(max_seconds=0)


def pid_work(connection, page, make_parser, options, folder) -> None:
    """A worker that says who it is."""

    def write(number, chunk, checksum):
        (folder / f"{number}-{checksum}").write_text(str(os.getpid()))

    serve(connection, page, make_parser, options, write)


def test_a_pool_keeps_its_workers(tmp_path):
    options = PageOptions()
    pool = ParserPool(
        make_parser=functools.partial(PageParser, SiteInfo(), options),
        options=options,
        spill=tmp_path,
        workers=1,
        work=pid_work,
    )
    for checksum in (1, 2):
        assert list(pool.parse([ChunkSource(0, sources("text"), checksum)])) == [(0, 1)]
    first, second = ((tmp_path / f"0-{checksum}").read_text() for checksum in (1, 2))
    assert first == second != str(os.getpid())
    pool.close()
    # A pool that was closed starts anew.
    assert list(pool.parse([ChunkSource(0, sources("text"), 3)])) == [(0, 1)]
    assert (tmp_path / "0-3").read_text() != first
    pool.close()
