"""The TFDS builders, on tiny data, without TensorFlow."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import tensorflow_datasets as tfds

import wikinav_jax.datasets.tfds  # noqa: F401 - registers the builders
from tests.datasets.wikispeedia_archive import write_archives
from tests.toy import TOY_TITLES, toy_graph
from wikinav_jax.datasets import wikispeedia_files
from wikinav_jax.datasets.catalog import load_graph
from wikinav_jax.datasets.knowledge_graphs_sources import SOURCES
from wikinav_jax.datasets.tfds.citations import CITATIONS
from wikinav_jax.datasets.tfds.knowledge_graph import KnowledgeGraphBuilder
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.store import save_graph
from wikinav_jax.graph.subgraph import induced_subgraph, split_by_article


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WIKINAV_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def graph_folder(tmp_path):
    save_graph(
        toy_graph(), tmp_path / "toy", source="invented", licence="CC0-1.0", command="build toy"
    )
    return tmp_path / "toy"


def assert_same(source, graph: LinkedTextGraph, node_in_whole=None) -> None:
    """Every block of a graph is an example, in order, with all that belongs to it."""
    assert len(source) == graph.num_nodes
    for node, example in enumerate(source):
        low, high = graph.indptr[node], graph.indptr[node + 1]
        assert example["node"] == node
        assert example["node_in_whole"] == (node if node_in_whole is None else node_in_whole[node])
        assert example["article"] == graph.article[node]
        assert example["title"].decode() == graph.title(node)
        assert example["section"].decode() == graph.section(node)
        assert example["text"].decode() == graph.text(node)
        for name, array in (
            ("targets", graph.indices),
            ("kinds", graph.edge_kind),
            ("anchors", graph.anchor),
        ):
            assert example[name].dtype == array.dtype
            np.testing.assert_array_equal(example[name], array[low:high])


def test_a_graph_folder(graph_folder, tmp_path):
    source = tfds.data_source(
        "linked_text",
        split="train",
        data_dir=tmp_path / "tfds",
        builder_kwargs={"path": str(graph_folder)},
    )
    assert_same(source, toy_graph())
    builder = tfds.builder("linked_text", path=graph_folder, data_dir=tmp_path / "tfds")
    assert builder.info.splits["train"].num_examples == 8  # prepared already
    assert builder.info.redistribution_info.license == "CC0-1.0"
    assert "invented" in builder.info.description and "build toy" in builder.info.description
    by_name = tfds.builder(f"linked_text/{builder.builder_config.name}", data_dir=tmp_path / "tfds")
    assert len(by_name.as_data_source(split="train")) == 8
    again = tfds.builder_from_directory(builder.data_dir)
    assert_same(again.as_data_source(split="train"), toy_graph())
    assert again.info.metadata["counts"]["edges"] == toy_graph().num_edges


def test_halves_of_a_graph_folder(graph_folder, tmp_path):
    builder = tfds.builder(
        "linked_text", path=graph_folder, fractions=(0.6, 0.4), seed=3, data_dir=tmp_path / "tfds"
    )
    builder.download_and_prepare()
    parts = split_by_article(toy_graph(), (0.6, 0.4), 3)
    titles = set()
    for name, (graph, nodes) in zip(("train", "held_out"), parts, strict=True):
        assert_same(builder.as_data_source(split=name), graph, nodes)
        titles |= set(graph.article_titles)
    assert titles == set(TOY_TITLES)


def test_another_graph_in_the_same_folder_is_another_data_set(graph_folder, tmp_path):
    names = set()
    for part in (slice(None), slice(0, 3)):
        keep = np.zeros(toy_graph().num_nodes, bool)
        keep[part] = True
        graph, _ = induced_subgraph(toy_graph(), keep)
        save_graph(graph, graph_folder, source="s", licence="l", command="c")
        names.add(tfds.builder("linked_text", path=graph_folder, data_dir=tmp_path).data_dir)
    assert len(names) == 2


def test_data_sources_are_pickled(graph_folder, tmp_path):
    source = tfds.data_source(
        "linked_text",
        split="train",
        data_dir=tmp_path / "tfds",
        builder_kwargs={"path": str(graph_folder), "fractions": (0.6, 0.4)},
    )
    again = pickle.loads(pickle.dumps(source))
    assert [int(example["node_in_whole"]) for example in again] == [
        int(example["node_in_whole"]) for example in source
    ]


def test_what_cannot_be_a_graph_folder(graph_folder, tmp_path):
    with pytest.raises(ValueError, match="path is empty"):
        tfds.builder("linked_text", data_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="no saved graph"):
        tfds.builder("linked_text", path=tmp_path / "none", data_dir=tmp_path)
    with pytest.raises(ValueError, match="two shares of the articles"):
        tfds.builder("linked_text", path=graph_folder, fractions=(0.5,), data_dir=tmp_path)
    with pytest.raises(ValueError, match="'parquet' loses rows"):
        tfds.builder("linked_text", path=graph_folder, file_format="parquet", data_dir=tmp_path)
    with pytest.raises(ValueError, match="'tfrecord' is not read without TensorFlow"):
        tfds.builder(
            "linked_text",
            path=graph_folder,
            file_format=tfds.core.FileFormat.TFRECORD,
            data_dir=tmp_path,
        )


@pytest.fixture
def archives(tmp_path):
    stems = ("wikispeedia_articles_plaintext", "wikispeedia_paths-and-graph")
    return write_archives(tmp_path / "raw", ".tar.gz", stems)


@pytest.mark.parametrize("where", ["raw_dir", "manual_dir"])
def test_wikispeedia(archives, tmp_path, where):
    config = tfds.download.DownloadConfig(manual_dir=archives if where == "manual_dir" else None)
    kwargs = {"raw_dir": archives} if where == "raw_dir" else {}
    builder = tfds.builder("wikispeedia", data_dir=tmp_path / "tfds", **kwargs)
    builder.download_and_prepare(download_config=config)
    graph = load_graph("wikispeedia", data_dir=archives, cache_dir=tmp_path / "other")
    assert_same(builder.as_data_source(split="train"), graph)
    assert "West" in builder.info.citation
    assert builder.info.redistribution_info.license.startswith("GFDL")
    assert str(builder.version) == "2.0.0"


@pytest.mark.parametrize("manual", ["missing", "of something else"])
def test_what_is_not_in_the_manual_directory_is_downloaded(archives, tmp_path, monkeypatch, manual):
    fetched = []

    def fetch(url, path, *, sha256):
        fetched.append(url)
        return next(each for each in archives.iterdir() if each.name == url.rsplit("/", 1)[1])

    monkeypatch.setattr(wikispeedia_files, "fetch", fetch)
    if manual != "missing":
        (tmp_path / "manual").mkdir()
        (tmp_path / "manual" / "other.zip").write_bytes(b"PK")
    builder = tfds.builder("wikispeedia", data_dir=tmp_path / "tfds")
    config = tfds.download.DownloadConfig(manual_dir=tmp_path / "manual")
    builder.download_and_prepare(download_config=config)
    assert set(fetched) == {wikispeedia_files.TEXTS.url, wikispeedia_files.GRAPH.url}
    assert builder.info.splits["train"].num_examples > 5


def test_halves_and_articles_of_wikispeedia(archives, tmp_path):
    graph = load_graph("wikispeedia", data_dir=archives, cache_dir=tmp_path / "other")
    parts = split_by_article(graph, (0.5, 0.5), 0)
    kwargs = {"data_dir": tmp_path / "tfds", "builder_kwargs": {"raw_dir": archives}}
    for name, (part, nodes) in zip(("train", "held_out"), parts, strict=True):
        source = tfds.data_source("wikispeedia/halves", split=name, **kwargs)
        assert_same(source, part, nodes)
    articles = tfds.data_source("wikispeedia/articles", split="train", **kwargs)
    graph = load_graph("wikispeedia_articles", data_dir=archives, cache_dir=tmp_path / "other")
    assert_same(articles, graph)


def test_wikispeedia_is_not_where_it_should_be(tmp_path):
    builder = tfds.builder("wikispeedia", raw_dir=tmp_path / "none", data_dir=tmp_path / "tfds")
    with pytest.raises(FileNotFoundError, match="no folder at data_dir"):
        builder.download_and_prepare()


TRIPLES = {
    "train.txt": "a\tlikes\tb\nb\tlikes\tc\nc\tknows\ta\n",
    "valid.txt": "a\tlikes\tc\n",
    "test.txt": "b\tknows\ta\n",
    "test_negatives.txt": "b\tknows\tc\n",
    "entity_names.tsv": "a\tAda\nb\tBob\nc\tCafé\n",
}


@pytest.fixture
def triples(tmp_path):
    folder = tmp_path / "nations"
    folder.mkdir()
    for name, text in TRIPLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def spoken(source) -> list[tuple[str, ...]]:
    parts = ("subject_id", "relation_id", "object_id")
    return [tuple(example[part].decode() for part in parts) for example in source]


@pytest.mark.parametrize("how", ["path", "raw_dir"])
def test_knowledge_graphs(triples, tmp_path, how):
    if how == "path":
        builder = tfds.builder("knowledge_graph", path=triples, data_dir=tmp_path / "tfds")
    else:
        builder = tfds.builder(
            "knowledge_graph/nations", raw_dir=tmp_path, data_dir=tmp_path / "tfds"
        )
    builder.download_and_prepare()
    sources = builder.as_data_source()
    assert set(sources) == {"train", "validation", "test", "test_labelled"}
    assert spoken(sources["train"]) == [
        tuple(x.split("\t")) for x in TRIPLES["train.txt"].split("\n")[:-1]
    ]
    assert spoken(sources["validation"]) == [("a", "likes", "c")]
    assert spoken(sources["test"]) == [("b", "knows", "a")]
    assert spoken(sources["test_labelled"]) == [("b", "knows", "a"), ("b", "knows", "c")]
    assert [example["label"] for example in sources["test_labelled"]] == [1, 0]
    assert [example["label"] for example in sources["train"]] == [1, 1, 1]
    assert builder.info.features["label"].names == ["false", "true"]
    last = sources["test_labelled"][1]
    assert (last["subject"], last["relation"], last["object"]) == (1, 0, 2)
    assert last["object_name"].decode() == "Café" and last["relation_name"] == b"knows"
    assert builder.info.metadata["entities"] == 3 and builder.info.metadata["relations"] == 2
    if how == "raw_dir":
        assert "Kemp" in builder.info.citation
        assert builder.info.redistribution_info.license == "MIT"
        assert any("not the public release" in note for note in builder.info.metadata["notes"])
    again = tfds.builder_from_directory(builder.data_dir)
    assert spoken(again.as_data_source(split="test")) == [("b", "knows", "a")]
    assert again.info.metadata["entities"] == 3


def test_which_knowledge_graphs_there_are(triples, tmp_path):
    names = {config.name for config in KnowledgeGraphBuilder.BUILDER_CONFIGS}
    assert {"fb15k237", "wn18rr", "codex_s", "countries_s1", "hetionet_ctd"} <= names
    assert CITATIONS.keys() == SOURCES.keys()
    with pytest.raises(ValueError, match=r"name a graph .* not neither"):
        tfds.builder("knowledge_graph", data_dir=tmp_path)
    with pytest.raises(ValueError, match="not both"):
        tfds.builder("knowledge_graph/umls", path=triples, data_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing at path"):
        tfds.builder("knowledge_graph", path=tmp_path / "none", data_dir=tmp_path)
    builder = tfds.builder("knowledge_graph/umls", data_dir=tmp_path / "tfds")
    with pytest.raises(FileNotFoundError, match="give its folder as raw_dir"):
        builder.download_and_prepare()


def test_no_tensorflow(graph_folder, tmp_path):
    """In a process of its own: this one has imported all kinds of things."""
    code = f"""
import sys
import tensorflow_datasets as tfds
import wikinav_jax.datasets.tfds
source = tfds.data_source("linked_text", split="train", data_dir={str(tmp_path / "tfds")!r},
                          builder_kwargs={{"path": {str(graph_folder)!r}}})
print(len(source), source[3]["text"].decode())
assert not {{"tensorflow", "jax"}} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "8 A mouse fears the cat."
