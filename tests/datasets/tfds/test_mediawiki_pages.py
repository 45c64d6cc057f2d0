"""A dump by Apache Beam's DirectRunner: the graph is the local build's, byte for byte."""

from __future__ import annotations

import bz2
import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import tensorflow_datasets as tfds
from apache_beam.options.pipeline_options import PipelineOptions
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry
from ml_collections import ConfigDict

from tests.datasets.mediawiki.dumps import Page, dump, header, numbered
from tests.datasets.mediawiki.test_build import PAGES
from wikinav_jax.common.config import ConfigError, load_config
from wikinav_jax.common.files import read_json
from wikinav_jax.datasets.sources import loader
from wikinav_jax.datasets.tfds import command
from wikinav_jax.datasets.tfds.mediawiki_pages import MediawikiPagesBuilder

CONFIG = Path(__file__).resolve().parents[3] / "configs" / "build_wiki_beam.py"


def config_of(source: Path, folder: Path, **changes) -> ConfigDict:
    config = load_config(str(CONFIG))
    config.source = str(source)
    config.prepared = str(folder / "prepared")
    config.output = str(folder / "graph")
    config.held_out = 0.3
    config.min_link_probability = 0.0
    with config.unlocked():
        config.update(changes)
    return config


def assert_same_graph(folder: Path, config: ConfigDict, cache: Path) -> dict:
    """Builds the graph here too; returns the meta that both have."""
    loader.load(
        None,
        cache,
        cache / "graph",
        source=config.source,
        entity_links=config.entity_links,
        held_out=config.held_out,
        min_link_probability=config.min_link_probability,
        max_page_seconds=config.max_page_seconds,
        workers=1,
        log_summary=False,
    )
    names = {file.name for file in (cache / "graph").iterdir()}
    assert {"blocks.arrow", "indices.npy", "anchor.npy", "meta.json"} <= names
    for name in names - {"meta.json"}:
        assert (folder / name).read_bytes() == (cache / "graph" / name).read_bytes(), name
    ours, local = (read_json(path / "meta.json") for path in (folder, cache / "graph"))
    for meta in (ours, local):
        meta.pop("command")
    ours.pop("build_key")
    assert ours == local
    return ours


@pytest.fixture
def parts(tmp_path) -> Path:
    """A dump in three files: links from one to another, a redirect ring, all kinds of damage."""
    folder = tmp_path / "parts"
    folder.mkdir()
    rng = np.random.default_rng(2)
    first = numbered(PAGES)
    many = [
        Page(
            f"Page {i}",
            f"{'filler words ' * 100} Page {i + 1} and wasp. "
            + " ".join(f"[[Page {j}#S|page {j}]]" for j in rng.integers(0, 90, 6))
            + "\n== S ==\n[[Bee]] and [[Bees|those bees]].",
            page_id=100 + i,
        )
        for i in range(80)
    ]
    again = [Page("Bee", "seen before", first[0].page_id), Page("Law", "twice", 999)]
    broken = Page("Broken", "x", 998).xml().replace("<text", "&undefined;<text")
    (folder / "wiki-part1.xml.bz2").write_bytes(bz2.compress(dump(first).encode()))
    xml = header() + "".join(page.xml() for page in [*many[:50], *again]) + broken
    (folder / "wiki-part2.xml.gz").write_bytes(gzip.compress((xml + "</mediawiki>").encode()))
    cut = dump(many[50:])
    (folder / "wiki-part10.xml").write_text(cut[: len(cut) - 400], encoding="utf-8")
    return folder


def test_the_graph_is_that_of_the_local_build(parts, tmp_path, capsys):
    config = config_of(parts, tmp_path)
    command.run(config, None, "build")
    meta = assert_same_graph(tmp_path / "graph", config, tmp_path / "cache")
    assert meta["mediawiki"]["files"] == [
        "wiki-part1.xml.bz2",
        "wiki-part2.xml.gz",
        "wiki-part10.xml",
    ]
    assert [title for title, _ in meta["mediawiki"]["failed_pages"]] == ["Broken"]
    (problem,) = meta["mediawiki"]["problems"]
    assert "ends inside the page" in problem
    counts = meta["mediawiki"]["counts"]
    assert counts["redirects"] == 8 and counts["redirect_cycles"] == 1
    assert counts["pages_with_an_id_seen_before"] == 1
    assert meta["statistics"]["edges_by_kind"]["hyperlink"] > 200
    assert meta["statistics"]["edges_by_kind"]["entity"] > 0
    assert meta["entity_linking"]["held_out"]["anchors"] > 50
    assert "articles" in capsys.readouterr().out
    assert not (tmp_path / ".graph.build").exists()

    # Both are there: nothing is done again.
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    command.run(config, None, "build")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert "is built already" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="holds another graph"):
        command.run(config_of(parts, tmp_path, entity_links=False), None, "build")


def test_pages_as_examples(parts, tmp_path):
    config = config_of(parts, tmp_path, output="")
    command.run(config, None, "build")
    builder = tfds.builder("mediawiki_pages", source=parts, data_dir=config.prepared)
    articles = builder.as_data_source(split="articles")
    titles = [example["title"].decode() for example in articles]
    assert titles[:6] == ["Bee", "Law", "B.C. Queen", "Wasp", "Lonely", "Page 0"]  # the dump's
    assert titles[-1] == "Page 78"
    bee = articles[0]
    assert bee["page_id"] == 1
    assert [text.decode() for text in bee["texts"]] == [
        "A bee visits the rule and a wasp.\nBumble."
    ]
    assert bee["link_target"] == [b"Law", b"Wasp", b"Bumble"]
    assert bee["link_fragment"] == ["History (1871–1945)".encode(), b"", b""]
    text = bee["texts"][0].decode()
    spans = zip(bee["link_start"], bee["link_end"], strict=True)
    assert [text[start:end] for start, end in spans] == ["rule", "wasp", "Bumble"]
    assert bee["link_block"].tolist() == [0, 0, 0] and bee["report"] == b""
    reports = [json.loads(row["report"]) for row in builder.as_data_source(split="reports")]
    assert sum(len(report["redirects"]) for report in reports) == 7
    assert sum("problems" in report for report in reports) == 3  # one a file
    assert builder.info.redistribution_info.license.startswith("CC BY-SA 4.0")
    again = pickle.loads(pickle.dumps(articles))
    assert again[0]["title"] == b"Bee"


def test_by_a_job_server(tmp_path):
    """Flink and Spark are given a pipeline this way: serialized, over the network."""
    source = tmp_path / "wiki.xml"
    source.write_text(dump(PAGES), encoding="utf-8")
    builder = MediawikiPagesBuilder(source=source, data_dir=tmp_path)
    flags = ("--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK")
    config = tfds.download.DownloadConfig(beam_options=PipelineOptions(flags))
    builder.download_and_prepare(download_config=config)
    titles = [example["title"] for example in builder.as_data_source(split="articles")]
    assert titles == [b"Bee", b"Law", b"B.C. Queen", b"Wasp", b"Lonely"]


def test_a_folder_that_is_elsewhere(parts, tmp_path, monkeypatch):
    """Pages are written to an address (here: memory that calls itself gs://) and fetched."""

    class Bucket(MemoryFileSystem):
        protocol = "gs"
        store = {}  # noqa: RUF012 - the base class keeps it so
        pseudo_dirs = [""]  # noqa: RUF012

        def __init__(self, *arguments, **options):
            options.pop("finalize_on_close", None)
            super().__init__(*arguments, **options)

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(str(path).removeprefix("gs:/"))

    monkeypatch.setitem(_registry, "gcs", Bucket)
    config = config_of(parts, tmp_path, prepared="gs://bucket/pages")
    command.run(config, None, "build")
    assert any(name.endswith(".array_record-00000-of-00001") for name in Bucket.store)
    assert_same_graph(tmp_path / "graph", config, tmp_path / "cache")


def test_slips_are_named_before_anything_runs(parts, tmp_path):
    with pytest.raises(ConfigError, match="give --mode=build"):
        command.run(config_of(parts, tmp_path), None, "train")
    with pytest.raises(ConfigError, match=r"config\.prepared is empty"):
        command.run(config_of(parts, tmp_path, prepared=""), None, "build")
    for changes, message in (
        ({"runner": "flunk"}, "is not one of direct.*flink"),
        ({"beam_options": ("project=x",)}, "flags start with --"),
        ({"beam_options": ("--runner=SparkRunner",)}, r"set config\.runner instead"),
    ):
        with pytest.raises(ConfigError, match=message):
            command.run(config_of(parts, tmp_path, **changes), None, "build")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        command.run(config_of(tmp_path / "none.xml", tmp_path), None, "build")
    with pytest.raises(ValueError, match="give source=DUMP"):
        MediawikiPagesBuilder(config="wiki-0", data_dir=tmp_path)
    with pytest.raises(ValueError, match="loses rows"):
        MediawikiPagesBuilder(source=parts, file_format="parquet", data_dir=tmp_path)
    assert not (tmp_path / "prepared").exists() and not (tmp_path / "graph").exists()


def test_another_data_set_has_no_pages(tmp_path, monkeypatch):
    from wikinav_jax.datasets.tfds.mediawiki_graph import build_graph_of_pages

    (tmp_path / "kg").mkdir()
    for name in ("train", "valid", "test"):
        (tmp_path / "kg" / f"{name}.txt").write_text(f"a\tr\t{name}\n")
    builder = tfds.builder("knowledge_graph", path=tmp_path / "kg", data_dir=tmp_path)
    builder.download_and_prepare()
    with pytest.raises(ValueError, match="lacks the splits articles, reports"):
        build_graph_of_pages(builder, None, cache_dir=tmp_path, command="c", linking=None)
