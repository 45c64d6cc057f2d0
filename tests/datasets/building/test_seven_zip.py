"""Dumps packed as 7z."""

from __future__ import annotations

import sys

import pytest

from tests.datasets.mediawiki.dumps import Page, dump
from wikinav_jax.datasets.building.compression import CompressedFile
from wikinav_jax.datasets.sources.detect import detect
from wikinav_jax.datasets.sources.loader import load

py7zr = pytest.importorskip("py7zr", reason="py7zr is not installed")


def packed(path, **files: str):
    with py7zr.SevenZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(text, f"{name}.xml")
    return path


def test_a_dump(tmp_path):
    pages = [Page(f"Page {i}", f"text {i} [[Page {i + 1}]] " + "word " * 400) for i in range(900)]
    path = packed(tmp_path / "wiki.xml.7z", wiki=dump(pages))
    assert detect(path) == "mediawiki"
    graph = load(None, tmp_path, None, source=str(path), workers=1, entity_links=False)
    assert graph.num_articles == 900
    assert graph.meta["mediawiki"]["problems"] == []


def test_only_the_first_file_is_read(tmp_path):
    file = CompressedFile(packed(tmp_path / "two.7z", a="first", b="second"))
    assert b"".join(file) == b"first"
    assert "holds 2 files; only the first, a.xml, is read" in file.problems[0]
    assert file.bytes_read == file.num_bytes


def test_a_reader_that_stops_early_leaves_no_thread(tmp_path):
    file = CompressedFile(packed(tmp_path / "large.7z", a="x" * (40 << 20)))
    pieces = iter(file)
    assert next(pieces)
    pieces.close()  # joins the thread


def test_damage_is_told(tmp_path):
    path = packed(tmp_path / "wiki.7z", a="text " * 10_000)
    path.write_bytes(path.read_bytes()[:-20])
    file = CompressedFile(path)
    assert b"".join(file) == b""
    assert "is cut off or damaged" in file.problems[0]


def test_without_the_library(tmp_path, monkeypatch):
    path = packed(tmp_path / "wiki.7z", a="x")
    monkeypatch.setitem(sys.modules, "py7zr", None)
    with pytest.raises(ValueError, match=r"pip install 'wikinav_jax\[7z\]'.*7z x wiki.7z"):
        CompressedFile(path)
