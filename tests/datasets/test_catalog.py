"""Graphs by name: built once, rebuilt when something changes, never half there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from wikinav_jax.common import files
from wikinav_jax.datasets import catalog
from wikinav_jax.datasets.assemble import assemble_graph
from wikinav_jax.datasets.catalog import load_graph
from wikinav_jax.datasets.documents import Document, Passage, Section
from wikinav_jax.graph.store import LinkedTextGraph


class ToyLoader:
    """A data set of one article; counts how often it is built."""

    def __init__(self) -> None:
        self.VERSION = 1
        self.built = 0
        self.input_size = 10

    def load(self, data_dir, cache_dir, output, *, text: str = "Some words.", sizes=(1, 2)):
        self.built += 1
        document = Document("A", (Section((), (Passage(text),)),))
        return assemble_graph(
            [document], source="a test", licence="CC0-1.0", command="pytest", output=output
        )

    def fingerprint_inputs(self, data_dir, cache_dir, **options):
        return {"size": self.input_size}


@pytest.fixture
def toy(monkeypatch) -> ToyLoader:
    loader = ToyLoader()
    monkeypatch.setitem(catalog.LOADERS, "toy", lambda: loader)
    return loader


def test_builds_once(toy, tmp_path):
    first = load_graph("toy", cache_dir=tmp_path)
    second = load_graph("toy", cache_dir=tmp_path)
    assert isinstance(second, LinkedTextGraph)
    assert toy.built == 1
    assert first.path == second.path
    assert second.path.parent == tmp_path / "graphs"
    assert second.path.name.startswith("toy-")
    assert second.texts() == ["Some words."]


def test_options_inputs_and_version_each_make_another_graph(toy, tmp_path):
    paths = {load_graph("toy", cache_dir=tmp_path).path}
    paths.add(load_graph("toy", cache_dir=tmp_path, options={"text": "Other words."}).path)
    toy.input_size = 11
    paths.add(load_graph("toy", cache_dir=tmp_path).path)
    toy.VERSION = 2
    paths.add(load_graph("toy", cache_dir=tmp_path).path)
    assert len(paths) == toy.built == 4


def test_a_tuple_and_a_list_are_the_same_option(toy, tmp_path):
    load_graph("toy", cache_dir=tmp_path, options={"sizes": (3, 4)})
    load_graph("toy", cache_dir=tmp_path, options={"sizes": [3, 4]})
    assert toy.built == 1


def test_unknown_names_get_suggestions(toy, tmp_path):
    with pytest.raises(KeyError, match=r"'python_doc'\. Did you mean 'python_docs'"):
        load_graph("python_doc", cache_dir=tmp_path)
    with pytest.raises(
        ValueError, match=r"no option 'texts'. Did you mean 'text'\? .* text, sizes"
    ):
        load_graph("toy", cache_dir=tmp_path, options={"texts": "x"})
    assert toy.built == 0


@pytest.mark.parametrize("damage", ["truncate", "remove"])
def test_a_damaged_graph_is_named(toy, tmp_path, damage):
    path = load_graph("toy", cache_dir=tmp_path).path
    victim = path / "indptr.npy"
    if damage == "truncate":
        os.truncate(victim, 10)
    else:
        victim.unlink()
    with pytest.raises(ValueError, match=r"is damaged .* delete that folder") as error:
        load_graph("toy", cache_dir=tmp_path)
    assert str(path) in str(error.value)


def alter(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_an_altered_graph_is_named(toy, tmp_path):
    path = load_graph("toy", cache_dir=tmp_path).path
    alter(path / "article.npy")
    with pytest.raises(ValueError, match=rf"{path} is damaged .*article\.npy was altered"):
        load_graph("toy", cache_dir=tmp_path)


@pytest.mark.parametrize("opened", [False, True], ids=["built", "opened by path"])
def test_large_files_are_read_on_demand(toy, tmp_path, monkeypatch, opened):
    path = load_graph("toy", cache_dir=tmp_path).path
    alter(path / "article.npy")
    name, options = ("linked_text", {"path": str(path)}) if opened else ("toy", {})
    monkeypatch.setattr(files, "CHECKED_BYTES", 0)
    load_graph(name, cache_dir=tmp_path, options=options)
    with pytest.raises(ValueError, match=r"article\.npy was altered"):
        load_graph(name, cache_dir=tmp_path, options=options, verify=True)


def test_old_leftovers_are_removed_and_young_ones_are_not(toy, tmp_path):
    graphs = tmp_path / "graphs"
    old, young = graphs / ".toy-x.1234.tmp", graphs / ".toy-y.1234.tmp"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "indptr.npy").write_bytes(b"half")
    days_ago = time.time() - 3 * 24 * 3600
    os.utime(old, (days_ago, days_ago))
    load_graph("toy", cache_dir=tmp_path)
    assert not old.exists()
    assert young.exists()


def test_every_loader_keeps_its_promise():
    for name, get in catalog.LOADERS.items():
        loader = get()
        assert isinstance(loader.VERSION, int), name
        assert callable(loader.load) and callable(loader.fingerprint_inputs), name


KILLED_BUILD = """
    import os, signal, sys
    from pathlib import Path
    import numpy as np
    from wikinav_jax.datasets import catalog
    from tests.datasets.test_catalog import ToyLoader

    save = np.save
    def save_and_die(path, *args, **kwargs):
        save(path, *args, **kwargs)
        if "edge_kind" in str(path):
            os.kill(os.getpid(), signal.SIGKILL)
    np.save = save_and_die
    toy = ToyLoader()
    catalog.LOADERS["toy"] = lambda: toy
    catalog.load_graph("toy", cache_dir=Path(sys.argv[1]))
"""


def test_a_killed_build_leaves_no_graph(toy, tmp_path):
    """Killed between two of the files of the graph, for real."""
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED_BUILD), str(tmp_path)],
        cwd=Path(__file__).resolve().parents[2],
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    (leftover,) = (tmp_path / "graphs").iterdir()
    assert leftover.name.startswith(".")
    assert (leftover / "indptr.npy").exists()
    graph = load_graph("toy", cache_dir=tmp_path)
    assert toy.built == 1
    assert graph.texts() == ["Some words."]
