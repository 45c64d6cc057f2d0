"""The rehearsal of full scale, on a few hundred blocks."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import full_scale, full_scale_graph
from benchmarks.full_scale_graph import Plan, build
from tests.navigation.toy import mesh_of
from tests.text.toy import make_checkpoint
from wikinav_jax.graph.linked_text import EdgeKind, check_graph
from wikinav_jax.navigation import navigator as navigator_module
from wikinav_jax.navigation.config import default_config
from wikinav_jax.navigation.text_model import token_place
from wikinav_jax.text.tokens import TokenTable, open_tokens

PLAN = Plan(num_nodes=250, num_edges=2_000, seed=3)


class CutShortError(Exception):
    """Stands in for a kill."""


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    """The config's fields, with a tokenizer of forty ids; and chunks of a hundred blocks."""
    monkeypatch.setattr(full_scale_graph, "BATCH_ROWS", 100)
    monkeypatch.setattr(full_scale_graph, "_CHUNKS_PER_SAVE", 1)
    fields = default_config().encoder
    fields.tokenizer = str(make_checkpoint(tmp_path / "bert"))
    fields.max_tokens = 16
    return fields


def tokens_of(encoder, cache, graph) -> TokenTable:
    path, about, _ = token_place(encoder, cache, graph)
    return open_tokens(path, about)


def test_the_graph_is_what_it_says(tmp_path, encoder):
    graph = build(PLAN, tmp_path / "graph", tmp_path / "cache", encoder)
    check_graph(graph)
    assert (graph.num_nodes, graph.num_edges) == (250, 2_000)
    source = np.repeat(np.arange(250), graph.out_degree)
    local = graph.edge_kind >= EdgeKind.NEXT
    assert (np.abs(graph.indices[local] - source[local]) == 1).all()
    assert (graph.article[graph.indices[local]] == graph.article[source[local]]).all()
    inside = int((np.diff(graph.article) == 0).sum())
    assert local.sum() == 2 * inside
    first = np.flatnonzero(np.diff(graph.article, prepend=-1))
    assert np.isin(graph.indices[~local], first).all()  # hyperlinks lead to first blocks
    in_degree = np.bincount(graph.indices[~local], minlength=250)[first]
    assert in_degree.max() > 5 * np.median(in_degree)  # and some to popular ones
    assert graph.out_degree.max() > 4 * np.median(graph.out_degree)
    assert graph.text(101) == "Words of block 101."

    tokens = tokens_of(encoder, tmp_path / "cache", graph)
    assert tokens.ids.dtype == np.uint16 and tokens.ids.max() < 40
    ids, mask = tokens.rows(np.arange(250))
    assert (ids[~mask] == 0).all() and mask.sum(axis=1).min() >= 5
    width = tokens.spans[:, 1].astype(int) - tokens.spans[:, 0]
    assert (width[local] == 0).all() and set(width[~local]) == {1, 2}
    assert (tokens.spans[:, 1] < tokens.length[source])[~local].all()


def test_a_build_that_is_cut_short_goes_on_and_ends_the_same(tmp_path, encoder, monkeypatch):
    whole = build(PLAN, tmp_path / "whole", tmp_path / "cache", encoder)
    links, calls = full_scale_graph._links, []

    def cut_short(plan, chunk, *more):
        calls.append(chunk)
        if calls == [0, 1]:
            raise CutShortError
        return links(plan, chunk, *more)

    monkeypatch.setattr(full_scale_graph, "_links", cut_short)
    arguments = (PLAN, tmp_path / "graph", tmp_path / "other", encoder)
    with pytest.raises(CutShortError):
        build(*arguments)
    graph = build(*arguments)
    assert calls == [0, 1, 1, 2]
    assert graph.meta["files"] == whole.meta["files"]
    ours, theirs = tokens_of(encoder, tmp_path / "other", graph), None
    theirs = tokens_of(encoder, tmp_path / "cache", whole)
    np.testing.assert_array_equal(ours.ids, theirs.ids)
    np.testing.assert_array_equal(ours.spans, theirs.spans)
    assert build(*arguments).num_nodes == 250 and len(calls) == 4  # opened, not built
    with pytest.raises(ValueError, match="holds another graph"):
        build(Plan(250, 2_001, seed=3), *arguments[1:])


def test_graphs_that_cannot_be():
    with pytest.raises(ValueError, match="num_edges=300 is less than 4 for each of 100 nodes"):
        Plan(100, 300)
    with pytest.raises(ValueError, match="num_nodes=1 must be at least 2"):
        Plan(1, 300)


def test_the_rehearsal(tmp_path, encoder, capsys, monkeypatch):
    # Two shards do not spread over the four devices of the tests.
    monkeypatch.setattr(navigator_module, "make_mesh", lambda: mesh_of(2))
    arguments = [
        f"--folder={tmp_path / 'scale'}",
        "--nodes=600",
        "--edges=6000",
        "--small_nodes=200",
        "--steps=8",
        "--decisions=8",
        "--shards=4",
        "--rounds=1",
        f"--tokenizer={encoder.tokenizer}",
        "--max_tokens=16",
        f"--json={tmp_path / 'result.json'}",
        "--remove",
    ]
    result = full_scale.main(arguments)
    assert json.loads((tmp_path / "result.json").read_text()) == result
    assert result["graphs"]["large"]["nodes"] == 600
    assert result["graphs"]["small"]["edges"] == 2_000
    rehearsal = result["rehearsal"]
    assert rehearsal["steps"] == 8 and rehearsal["memory_gib"]["VmRSS"] > 0.05
    resume = rehearsal["resume"]
    assert resume["equal"] and resume["rows"] > 8 and 2 <= resume["resumed_at"] <= 8
    for what in ("step", "sampling"):
        times = result["comparison"][what]["cpu"]
        assert times["ratio"] == pytest.approx(times["large"] / times["small"])
    assert "| killed and resumed | at step" in capsys.readouterr().out
    assert not (tmp_path / "scale").exists()
