"""Real corpora, by the way that users build them."""

from __future__ import annotations

import lzma

import numpy as np
import pytest

from tests.datasets.sources.corpora import built
from wikinav_jax.datasets.sources.detect import detect
from wikinav_jax.graph.linked_text import EdgeKind

pytestmark = pytest.mark.data


def test_a_whole_wiki(real_data, tmp_path):
    source = real_data / "wiki" / "dumps" / "dumpster-smallwiki.xml.xz"
    assert detect(source) == "mediawiki"
    graph = built(source, tmp_path, entity_links=True, workers=2)
    without_words = graph.meta["statistics"]["dropped"]["documents_without_words"]
    assert graph.num_articles + without_words == 903
    held_out = graph.meta["entity_linking"]["held_out"]
    assert held_out["anchors"] > 200
    assert held_out["rate"] > 0.5
    assert held_out["precision"] > 0.85
    entity = graph.edge_kind == EdgeKind.ENTITY
    source_article = graph.article[np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))]
    assert not (entity & (source_article == graph.article[graph.indices])).any()


def test_articles_as_lines_of_json(real_data, tmp_path):
    packed = real_data / "wiki" / "wikispeedia_articles.jsonl.xz"
    assert detect(packed) == "jsonl"
    path = tmp_path / "articles.jsonl"
    with lzma.open(packed) as lines, open(path, "wb") as file:
        for _ in range(150):
            file.write(next(lines))
    graph = built(path, tmp_path)
    assert graph.num_articles == 150
    assert graph.meta["jsonl"]["failed_pages"] == []
    assert graph.meta["statistics"]["edges_by_kind"]["hyperlink"] > 100
