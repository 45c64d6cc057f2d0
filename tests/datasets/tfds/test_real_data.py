"""The builders on real data."""

from __future__ import annotations

import pytest
import tensorflow_datasets as tfds

import wikinav_jax.datasets.tfds  # noqa: F401 - registers the builders
from tests.datasets.tfds.test_mediawiki_pages import assert_same_graph, config_of
from wikinav_jax.datasets.tfds import command

pytestmark = pytest.mark.data


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WIKINAV_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("nations", {"train": 1592, "validation": 199, "test": 201}),
        ("umls", {"train": 5216, "validation": 652, "test": 661}),
        ("countries_s1", {"train": 1110, "validation": 24, "test": 24}),  # one line stands twice
        (
            "codex_s",
            {
                "train": 32888,
                "validation": 1827,
                "test": 1828,
                "validation_labelled": 2 * 1827,
                "test_labelled": 2 * 1828,
            },
        ),
    ],
)
def test_knowledge_graphs(real_data, tmp_path, name, counts):
    builder = tfds.builder(f"knowledge_graph/{name}", raw_dir=real_data, data_dir=tmp_path)
    builder.download_and_prepare()
    assert {split: info.num_examples for split, info in builder.info.splits.items()} == counts
    if name == "codex_s":
        labels = [row["label"] for row in builder.as_data_source(split="test_labelled")]
        assert labels.count(1) == labels.count(0) == 1828


@pytest.mark.parametrize("name", ["dumpster-smallwiki.xml.xz", "wikidump-enwiki-10k.xml.bz2"])
def test_a_dump_by_beam(real_data, tmp_path, name):
    config = config_of(real_data / "wiki" / "dumps" / name, tmp_path)
    command.run(config, None, "build")
    assert_same_graph(tmp_path / "graph", config, tmp_path / "local")
