"""What a path holds."""

from __future__ import annotations

import bz2
import json

import pytest

from tests.datasets.mediawiki.dumps import Page, dump
from tests.datasets.sources.corpora import write_files
from wikinav_jax.datasets.sources.detect import detect, find_source, open_source

DUMP = dump([Page("A", "a")]).encode()
LINE = json.dumps({"title": "A", "text": "a"}).encode()


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"x": DUMP}, "mediawiki"),
        ({"x": bz2.compress(DUMP)}, "mediawiki"),
        ({"x": DUMP.decode().encode("utf-16")}, "mediawiki"),
        ({"x.json": b"\xef\xbb\xbf\n " + LINE}, "jsonl"),
        ({"x": bz2.compress(LINE)}, "jsonl"),
        ({"d/p1.xml.bz2": bz2.compress(DUMP), "d/README.html": "x"}, "mediawiki"),
        ({"d/a.html": "x", "d/b.HTM": "x", "d/c.md": "x"}, "html"),
        ({"d/a.html": "x", "d/sub/b.md": "x", "d/c.markdown": "x"}, "markdown"),
    ],
)
def test_by_content(tmp_path, files, kind):
    write_files(tmp_path, files)
    path = tmp_path / next(iter(files)).partition("/")[0]
    assert detect(path) == kind
    assert open_source(path).kind == kind
    assert open_source(path, kind).kind == kind


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"x": b""}, "x is empty"),
        ({"x.bz2": bz2.compress(DUMP)[:50]}, r"cut off after 50 .*download it again"),
        ({"x.html": b"<p>x"}, "is one html file; give the folder that it is in"),
        ({"x": b"[1]"}, "is none of MediaWiki XML dump, ZIM file, JSON lines: it starts with"),
        ({"x": b"PK\x03\x04"}, "is a zip archive"),
        ({"x.zim": b"ZIM\x04 and no more"}, "cannot be opened as a ZIM file"),
        ({"d/a.pdf": b"x"}, r"holds no HTML, no Markdown .* its 1 files end in .pdf \(1\)"),
        ({"d/.git/a.md": b"x"}, "it is empty; give a folder"),
    ],
)
def test_what_is_none(tmp_path, files, message):
    write_files(tmp_path, files)
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path / next(iter(files)).partition("/")[0])


def test_named_types(tmp_path):
    write_files(tmp_path, {"d/a.html": "x", "f": LINE})
    with pytest.raises(ValueError, match=r"='markdwn' is not .* Did you mean 'markdown'"):
        open_source(tmp_path / "d", "markdwn")
    with pytest.raises(ValueError, match="is a folder; source_type='zim' needs a file"):
        open_source(tmp_path / "d", "zim")
    with pytest.raises(ValueError, match="is a file; source_type='html' needs a folder"):
        open_source(tmp_path / "f", "html")
    with pytest.raises(FileNotFoundError, match=r"no file that ends in .md"):
        open_source(tmp_path / "d", "markdown")
    with pytest.raises(ValueError, match="is no MediaWiki XML dump"):
        open_source(tmp_path / "f", "mediawiki")


def test_places(tmp_path):
    write_files(tmp_path, {"f": LINE})
    assert find_source(tmp_path, "f") == find_source(None, str(tmp_path / "f")) == tmp_path / "f"
    with pytest.raises(ValueError, match="source is empty"):
        find_source(None, "")
    with pytest.raises(FileNotFoundError, match="source='none' does not exist"):
        find_source(tmp_path, "none")
