"""Folders of files: what is read, what is left out and said to be, how links are resolved."""

from __future__ import annotations

import os

import pytest

from tests.datasets.sources.corpora import built, edges, write_files
from wikinav_jax.datasets.sources.folder import FolderSource, list_files
from wikinav_jax.datasets.sources.loader import load
from wikinav_jax.graph.store import open_graph

SITE = {
    "index.html": "<title>Home</title><h1>Home</h1>Read the <a href=guide/>guide</a>, or "
    "<a href='guide/setup#Next%20steps'>steps</a> or <a href=old.html>old</a>.",
    "guide/index.html": "<h1>Guide</h1>Back <a href=../index.html>home</a>, to <a href=setup.html>"
    "setup</a>, <a href=missing.html>missing</a>, <a href=../../out.html>out</a>.",
    "guide/setup.html": "<h1>Setup</h1>First.<h2 id=next>Next steps</h2>Second.",
    "old.html": "<meta http-equiv=refresh content='0;url=guide/setup.html#next'>Moved.",
    "style.css": "x",
}


def test_a_site(tmp_path):
    graph = built(write_files(tmp_path / "site", SITE), tmp_path)
    assert graph.article_titles == ["Guide", "Setup", "Home"]
    # "steps" and "old" lead to the same section: the first counts
    assert edges(graph) == [
        ("Guide", "home", "Home", ""),
        ("Guide", "setup", "Setup", ""),
        ("Home", "guide", "Guide", ""),
        ("Home", "steps", "Setup", "Next steps"),
    ]
    report = graph.meta["html"]
    assert report["counts"]["redirects"] == 1
    assert report["counts"]["links_out_of_the_folder"] == 1
    assert report["passed_over"] == {"files_of_other_types": 1}
    assert graph.meta["statistics"]["dropped"]["links_to_unknown_titles"] == 1
    assert graph.meta["statistics"]["dropped"]["links_repeated_in_a_block"] == 1


def test_a_folder_and_a_page_of_one_name(tmp_path):
    files = {
        "start.html": "<h1>Start</h1><a href=dir/>folder</a>, <a href=dir.html>page</a>, "
        "<a href=lone/>lone</a>, <a href=bare/>bare</a>",
        "dir.html": "<h1>Page</h1>p <a href=dir/>to the folder</a>",
        "dir/Index.HTML": "<h1>Folder</h1>f <a href=../dir.html>to the page</a>, <a href=./>me</a>",
        "lone.html": "<h1>Lone</h1>There is no folder of my name.",
        "bare.html": "<h1>Bare</h1>There is a folder of my name, with no page at its top.",
        "bare/other.html": "<h1>Other</h1>o <a href=..>up</a>",
    }
    graph = built(write_files(tmp_path / "site", files), tmp_path)
    assert edges(graph) == [
        ("Page", "to the folder", "Folder", ""),
        ("Folder", "to the page", "Page", ""),
        ("Start", "folder", "Folder", ""),
        ("Start", "page", "Page", ""),
        ("Start", "lone", "Lone", ""),
        ("Start", "bare", "Bare", ""),
    ]


def test_titles_of_several_pages_are_told_apart(tmp_path):
    files = {name: f"<h1>Index</h1>{name}" for name in ("a.html", "b/a.html")}
    graph = built(write_files(tmp_path / "site", {**files, "c.html": "<h1>C</h1>c"}), tmp_path)
    assert graph.article_titles == ["Index (a.html)", "Index (b/a.html)", "C"]
    assert graph.meta["html"]["counts"]["articles_with_a_title_of_another"] == 2


def test_hostile_folders(tmp_path):
    (tmp_path / "secret.html").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "far.html").write_text("far")
    site = write_files(
        tmp_path / "site",
        {
            "a.html": "a <a href=b.html>b</a>",
            "b.html": b"caf\xe9 \x81",
            "big.html": b"x" * (2 << 20),
            "empty.html": "",
            ".git/c.html": "c",
            ".d.html": "d",
        },
    )
    (site / "loop").symlink_to(site)
    (site / "out").symlink_to(tmp_path / "elsewhere")
    (site / "out.html").symlink_to(tmp_path / "secret.html")
    (site / "again.html").symlink_to(site / "a.html")
    (site / "self.html").symlink_to(site / "self.html")
    os.mkfifo(site / "pipe.html")
    graph = built(site, tmp_path, max_source_megabytes=1)
    assert graph.texts(None) == ["a b", "a b", "café \ufffd"]
    assert graph.article_titles == ["a.html", "again.html", "b.html"]
    report = graph.meta["html"]
    assert dict(map(tuple, report["failed_pages"])) == {
        "loop": "a link to a folder, which is not followed",
        "out": "a link to a folder, which is not followed",
        "out.html": "a link that leads out of the folder",
        "self.html": "cannot be read: Too many levels of symbolic links",
        "big.html": "ValueError: 2,097,152 bytes; max_bytes=1,048,576",
    }
    assert report["counts"]["failed_pages"] == 5
    assert report["counts"]["pages_in_a_broken_encoding"] == 1
    assert report["passed_over"] == {
        "devices_and_pipes": 1,
        "hidden_files": 1,
        "hidden_folders": 1,
    }
    assert graph.meta["statistics"]["dropped"]["documents_without_words"] == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read(tmp_path):
    site = write_files(tmp_path / "site", {"a.html": "a", "b.html": "b"})
    (site / "b.html").chmod(0)
    graph = built(site, tmp_path)
    reason = "ValueError: cannot be read: Permission denied"
    assert graph.meta["html"]["failed_pages"] == [["b.html", reason]]


def test_names_that_are_no_utf8(tmp_path):
    site = write_files(tmp_path / "site", {"a.html": "a"})
    try:
        (site / os.fsdecode(b"b\xff.html")).write_text("b")
    except OSError:
        pytest.skip("this file system has only names in UTF-8")
    assert built(site, tmp_path).article_titles == ["a.html", "b\ufffd.html"]


def test_the_order_does_not_depend_on_the_file_system(tmp_path):
    names = ["b.html", "a/z.html", "a.html", "a/b/c.html", "B.html"]
    for folder, order in (("one", names), ("two", names[::-1])):
        write_files(tmp_path / folder, {name: name for name in order})
    one, two = (list_files(tmp_path / folder).files for folder in ("one", "two"))
    assert [file[0] for file in one] == [file[0] for file in two] == sorted(names)


def test_a_graph_inside_the_folder_is_no_part_of_it(tmp_path):
    site = write_files(tmp_path / "site", {"a.html": "a", "graph/meta.json": "{}"})
    write_files(site, {"graph/indptr.npy": "", "graph/overview.html": "plots"})
    assert [file[0] for file in FolderSource(site, "html").files] == ["a.html"]


def test_any_number_of_workers(tmp_path, monkeypatch):
    monkeypatch.setattr("wikinav_jax.datasets.sources.folder.CHUNK_BYTES", 2_000)
    site = write_files(
        tmp_path / "site",
        {
            f"p{i}.html": f"<h1>Page {i}</h1>{'word ' * 150}<a href=p{i * 7 % 60}.html>next</a>"
            f" and Page {i * 3 % 60} too"
            for i in range(60)
        },
    )
    graphs = []
    for workers in (1, 3):
        output = tmp_path / f"graph{workers}"
        load(None, tmp_path / "cache", output, source=str(site), workers=workers)
        graphs.append(open_graph(output))
    files = [graph.meta["files"] for graph in graphs]
    assert files[0] == files[1]
    assert graphs[0].meta["html"] == graphs[1].meta["html"]
    assert graphs[0].meta["entity_linking"] == graphs[1].meta["entity_linking"]
