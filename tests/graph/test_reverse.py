"""The reverse graph: right, cached beside a saved graph, and never stale."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.toy import TOY_EDGES, hub_graph, line_graph, toy_graph
from wikinav_jax.graph import reverse as reverse_module
from wikinav_jax.graph.store import open_graph, save_graph

FACTS = {"source": "s", "licence": "l", "command": "c"}


@pytest.fixture
def saved(tmp_path):
    return save_graph(toy_graph(), tmp_path / "toy", **FACTS)


def check_toy_reverse(reverse):
    for node in range(8):
        row = slice(*reverse.indptr[node : node + 2])
        expected = [(slot, edge[0]) for slot, edge in enumerate(TOY_EDGES) if edge[1] == node]
        assert list(zip(reverse.edge[row], reverse.indices[row], strict=True)) == expected


def test_in_memory():
    graph = toy_graph()
    check_toy_reverse(graph.reverse())
    assert graph.reverse() is graph.reverse()


def test_cached_beside_the_graph(saved, monkeypatch):
    check_toy_reverse(open_graph(saved).reverse())
    monkeypatch.setattr(reverse_module, "reverse_csr", lambda graph: pytest.fail("built again"))
    check_toy_reverse(open_graph(saved).reverse())
    open_graph(saved, verify=True)


@pytest.mark.parametrize("name", ["reverse.json", "reverse_edge.npy", "reverse_indptr.npy"])
def test_an_incomplete_cache_is_built_again(saved, name):
    open_graph(saved).reverse()
    (saved / name).unlink()
    check_toy_reverse(open_graph(saved).reverse())
    assert (saved / name).exists()


def test_a_truncated_cache_is_built_again(saved):
    open_graph(saved).reverse()
    size = (saved / "reverse_indices.npy").stat().st_size
    (saved / "reverse_indices.npy").write_bytes(b"")
    check_toy_reverse(open_graph(saved).reverse())
    assert (saved / "reverse_indices.npy").stat().st_size == size


def test_an_altered_cache_is_built_again(saved):
    open_graph(saved).reverse()
    whole = (saved / "reverse_indices.npy").read_bytes()
    (saved / "reverse_indices.npy").write_bytes(whole[:-1] + b"\x7f")
    check_toy_reverse(open_graph(saved).reverse())
    assert (saved / "reverse_indices.npy").read_bytes() == whole


def test_a_cache_without_hashes_is_built_again(saved):
    """As earlier versions wrote it."""
    open_graph(saved).reverse()
    meta = json.loads((saved / "reverse.json").read_text())
    (saved / "reverse.json").write_text(json.dumps({"forward_sha256": meta["forward_sha256"]}))
    check_toy_reverse(open_graph(saved).reverse())
    assert json.loads((saved / "reverse.json").read_text()) == meta


def test_the_cache_of_another_graph_is_not_used(saved, tmp_path):
    other = save_graph(line_graph(8), tmp_path / "line", **FACTS)
    open_graph(other).reverse()
    for file in other.glob("reverse*"):
        (saved / file.name).write_bytes(file.read_bytes())
    check_toy_reverse(open_graph(saved).reverse())


def test_a_read_only_directory_works_without_a_cache(saved, monkeypatch):
    monkeypatch.setattr(reverse_module.os, "access", lambda path, mode: False)
    check_toy_reverse(open_graph(saved).reverse())
    assert not list(saved.glob("reverse*"))


def test_hub():
    reverse = hub_graph(50_000).reverse()
    assert reverse.indptr[1] == 50_000
    np.testing.assert_array_equal(reverse.indices[:50_000], np.arange(1, 50_001))
    np.testing.assert_array_equal(reverse.edge[:50_000], np.arange(50_000, 100_000))
