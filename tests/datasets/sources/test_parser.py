"""Pages to chunks: limits, failures, titles."""

from __future__ import annotations

import gc

import pytest

from tests.datasets.sources.corpora import write_files
from wikinav_jax.datasets.building.source import SourceOptions
from wikinav_jax.datasets.sources.folder import FileReader
from wikinav_jax.datasets.sources.parser import DocumentParser


def parse(folder, *names: str, kind: str = "html", **options):
    chosen = SourceOptions(**options)
    parser = DocumentParser(FileReader(folder, kind, chosen), chosen)
    return parser.parse([(name, (folder / name).stat().st_size) for name in names])


@pytest.fixture
def no_gc_callbacks():
    """Other tests' jax watches the garbage collector; what is raised inside of it is lost."""
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(callbacks)


def test_a_page_over_its_time_is_left_out(tmp_path, no_gc_callbacks):
    slow = "".join(f"<p id=i{i}>x <a href=b>y</a>" for i in range(200_000))
    files = {"a.html": "a", "slow.html": slow, "z.html": "z", "s.md": "[[a]] " * 90_000}
    write_files(tmp_path, files)
    chunk = parse(tmp_path, "a.html", "slow.html", "z.html", max_seconds=0.3)
    assert chunk.keys == ["a.html", "z.html"]
    assert chunk.failed == [("slow.html", "took more than 0.3 s")]
    chunk = parse(tmp_path, "s.md", kind="markdown", max_seconds=0.3)
    assert chunk.failed == [("s.md", "took more than 0.3 s")]


def test_titles_are_never_empty_and_never_long(tmp_path):
    long = f"<title>{'t' * 999}</title>x"
    write_files(tmp_path, {"sub/a.html": "<title> </title>x", "b.html": long})
    chunk = parse(tmp_path, "sub/a.html", "b.html")
    assert [article.document.title for article in chunk.articles] == ["a.html", "t" * 300]


def test_a_file_that_goes_away_is_listed(tmp_path):
    write_files(tmp_path, {"a.html": "a", "b.html": "b"})
    reader = FileReader(tmp_path, "html", SourceOptions())
    (tmp_path / "a.html").unlink()
    chunk = DocumentParser(reader, SourceOptions()).parse([("a.html", 1), ("b.html", 1)])
    assert chunk.failed == [("a.html", "ValueError: cannot be read: No such file or directory")]
    assert chunk.keys == ["b.html"]
    chunk = DocumentParser(reader, SourceOptions()).parse([("b.html", 1)], skip={0: "it kills"})
    assert chunk.failed == [("b.html", "it kills")]
