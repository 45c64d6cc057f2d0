"""The graph directory: what it says, and how a bad one is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.toy import graph_from_edges, one_node_graph, toy_graph
from wikinav_jax.common import files
from wikinav_jax.common.files import sha256_of
from wikinav_jax.graph.block_table import BlockTable
from wikinav_jax.graph.store import open_graph, save_graph
from wikinav_jax.graph.subgraph import induced_subgraph

FACTS = {"source": "tests/toy.py", "licence": "Apache-2.0", "command": "python -m pytest"}
FILES = ["anchor.npy", "article.npy", "blocks.arrow", "edge_kind.npy", "indices.npy", "indptr.npy"]


@pytest.fixture
def saved(tmp_path):
    return save_graph(toy_graph(), tmp_path / "toy", **FACTS)


def rewrite_meta(path, change):
    meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
    change(meta)
    (path / "meta.json").write_text(json.dumps(meta), encoding="utf-8")


def forge(path, name, write):
    """Changes a file and makes meta.json agree with the new size and hash."""
    write(path / name)
    entry = {"bytes": (path / name).stat().st_size, "sha256": sha256_of(path / name)}
    rewrite_meta(path, lambda meta: meta["files"].update({name: entry}))


def truncate(file, keep=0.5):
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * keep)])


def assert_equal_graphs(one, other):
    for name in ("indptr", "indices", "edge_kind", "anchor", "article"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert one.texts() == other.texts()
    assert one.article_titles == other.article_titles
    assert one.blocks.sections() == other.blocks.sections()


def test_meta_tells_what_the_graph_is(saved):
    meta = json.loads((saved / "meta.json").read_text(encoding="utf-8"))
    assert meta["format"] == "wikinav_jax.LinkedTextGraph"
    assert meta["version"] == 1
    assert {name: meta[name] for name in FACTS} == FACTS
    assert meta["counts"] == {
        "nodes": 8, "edges": 13, "articles": 5,
        "hyperlink": 6, "entity": 1, "next": 3, "previous": 3,
    }  # fmt: skip
    assert sorted(meta["files"]) == FILES
    assert sorted(file.name for file in saved.iterdir()) == sorted([*FILES, "meta.json"])
    for name, entry in meta["files"].items():
        assert entry == {
            "bytes": (saved / name).stat().st_size,
            "sha256": sha256_of(saved / name),
        }


@pytest.mark.parametrize("verify", [False, True])
def test_round_trip(saved, verify):
    graph = open_graph(saved, verify=verify)
    assert_equal_graphs(graph, toy_graph())
    assert graph.path == saved
    assert graph.meta["licence"] == "Apache-2.0"


def test_arrays_are_mapped_not_read(saved):
    graph = open_graph(saved)
    base = graph.indices
    while not isinstance(base, np.memmap):
        assert base is not None
        base = base.base
    assert str(base.filename) == str(saved / "indices.npy")


@pytest.mark.parametrize("make", [one_node_graph, lambda: graph_from_edges([], 3)])
def test_a_graph_without_edges(tmp_path, make):
    graph = open_graph(save_graph(make(), tmp_path / "g", **FACTS), verify=True)
    assert graph.num_edges == 0
    assert graph.anchor.shape == (0, 2)
    assert_equal_graphs(graph, make())


def test_a_subgraph_of_a_mapped_graph_can_be_saved(saved, tmp_path):
    part, _ = induced_subgraph(open_graph(saved), np.array([0, 1, 0, 1, 1, 0, 1, 0], bool))
    again = open_graph(save_graph(part, tmp_path / "part", **FACTS), verify=True)
    assert_equal_graphs(part, again)
    assert again.article_titles == ["Cat", "Mouse", "קפה שחור"]


def test_own_meta_and_extra_meta_are_kept(tmp_path):
    graph = graph_from_edges([(0, 1)], 2)
    graph.meta["statistics"] = {"dropped": 3}
    saved = save_graph(graph, tmp_path / "g", **FACTS, extra_meta={"note": "ü"})
    meta = open_graph(saved).meta
    assert meta["statistics"] == {"dropped": 3}
    assert meta["note"] == "ü"


def test_saving_needs_provenance_and_keeps_its_names(tmp_path):
    for name in FACTS:
        with pytest.raises(ValueError, match=f"{name} is empty"):
            save_graph(toy_graph(), tmp_path / "g", **{**FACTS, name: " "})
    with pytest.raises(ValueError, match=r"reserved names \['counts'\]"):
        save_graph(toy_graph(), tmp_path / "g", **FACTS, extra_meta={"counts": 1})
    assert list(tmp_path.iterdir()) == []


def test_saving_replaces_a_graph_even_one_that_is_open(saved):
    graph = open_graph(saved)
    save_graph(graph.article_view(), saved, **FACTS)
    assert open_graph(saved, verify=True).num_nodes == 5
    assert graph.text(0) == "A cat hunts the mouse."


def test_a_failed_save_leaves_the_old_graph_and_no_litter(saved, monkeypatch):
    def fail(self, path, article):
        raise OSError("disk full")

    monkeypatch.setattr(BlockTable, "write", fail)
    with pytest.raises(OSError, match="disk full"):
        save_graph(one_node_graph(), saved, **FACTS)
    assert open_graph(saved, verify=True).num_nodes == 8
    assert [entry.name for entry in saved.parent.iterdir()] == ["toy"]


def test_missing_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a directory; build the graph first"):
        open_graph(tmp_path / "nowhere")


def test_a_directory_that_is_no_graph(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no meta\.json: it is not a saved graph"):
        open_graph(tmp_path)


@pytest.mark.parametrize("content", ["{}", "[]", '{"format": "something else", "version": 1}'])
def test_foreign_meta(saved, content):
    (saved / "meta.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="does not describe a graph"):
        open_graph(saved)


def test_truncated_meta(saved):
    truncate(saved / "meta.json")
    with pytest.raises(ValueError, match="is not valid JSON"):
        open_graph(saved)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_other_versions(saved, version):
    rewrite_meta(saved, lambda meta: meta.update(version=version))
    with pytest.raises(ValueError, match=rf"format version {version}, this package reads 1"):
        open_graph(saved)


def test_meta_without_a_file_entry(saved):
    rewrite_meta(saved, lambda meta: meta["files"].pop("anchor.npy"))
    with pytest.raises(ValueError, match=r"meta\.json lacks 'anchor\.npy'"):
        open_graph(saved)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(saved, name):
    (saved / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"{name} is missing"):
        open_graph(saved)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("keep", [0, 0.5, 0.99])
def test_a_truncated_file(saved, name, keep):
    truncate(saved / name, keep)
    with pytest.raises(ValueError, match=rf"{name} has [\d,]+ bytes, meta.json says .* truncated"):
        open_graph(saved)


@pytest.mark.parametrize("name", FILES)
def test_an_altered_file(saved, name, monkeypatch):
    data = bytearray((saved / name).read_bytes())
    place = len(data) - 1 if name != "blocks.arrow" else data.index(b"hunts")
    data[place] ^= 1
    (saved / name).write_bytes(data)
    message = rf"{name} was altered: its SHA-256 is not .*; build the graph again"
    with pytest.raises(ValueError, match=message):
        open_graph(saved)
    # Large files are read on demand only.
    monkeypatch.setattr(files, "CHECKED_BYTES", len(data) - 1)
    open_graph(saved)
    with pytest.raises(ValueError, match=message):
        open_graph(saved, verify=True)


def test_a_truncated_npy_whose_size_is_forged(saved):
    forge(saved, "indices.npy", lambda file: truncate(file, 0.9))
    with pytest.raises(ValueError, match=r"indices\.npy is not a readable npy file"):
        open_graph(saved)


def test_a_truncated_arrow_file_whose_size_is_forged(saved):
    forge(saved, "blocks.arrow", lambda file: truncate(file, 0.9))
    with pytest.raises(ValueError, match=r"not a readable Arrow IPC file .* truncated"):
        open_graph(saved)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("indptr.npy", np.arange(5), r"int64 \[5\], expected int64 \[9\]"),
        ("indices.npy", np.zeros(13, np.int64), r"int64 \[13\], expected int32 \[13\]"),
        (
            "anchor.npy",
            np.zeros((13, 3), np.uint16),
            r"uint16 \[13, 3\], expected uint16 \[13, 2\]",
        ),
        ("article.npy", np.zeros((8, 1), np.int32), r"int32 \[8, 1\], expected int32 \[8\]"),
    ],
)
def test_an_array_of_another_size_or_type(saved, name, array, message):
    forge(saved, name, lambda file: np.save(file, array))
    with pytest.raises(ValueError, match=message):
        open_graph(saved)


def test_pickled_arrays_are_never_read(saved):
    forge(saved, "indices.npy", lambda file: np.save(file, np.array([{}] * 13), allow_pickle=True))
    with pytest.raises(ValueError, match=r"indices\.npy is not a readable npy file"):
        open_graph(saved)


def test_words_of_another_graph(saved, tmp_path):
    other = save_graph(one_node_graph(), tmp_path / "other", **FACTS)
    forge(
        saved, "blocks.arrow", lambda file: file.write_bytes((other / "blocks.arrow").read_bytes())
    )
    with pytest.raises(ValueError, match=r"holds 1 blocks of 1 articles, meta\.json says 8 of 5"):
        open_graph(saved)


def test_verify_reads_the_values(saved):
    forge(saved, "indices.npy", lambda file: np.save(file, np.full(13, 99, np.int32)))
    open_graph(saved)
    with pytest.raises(ValueError, match="indices holds 99 at position 0"):
        open_graph(saved, verify=True)


def test_verify_compares_articles_with_titles(saved):
    moved = np.array([0, 0, 1, 1, 1, 2, 3, 4], np.int32)
    forge(saved, "article.npy", lambda file: np.save(file, moved))
    with pytest.raises(ValueError, match=r"article\.npy and blocks\.arrow disagree"):
        open_graph(saved, verify=True)
