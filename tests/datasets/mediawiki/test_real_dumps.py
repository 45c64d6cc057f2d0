"""The real dumps, as whole builds. Counts were taken from their XML by other means."""

from __future__ import annotations

import pytest

from wikinav_jax.datasets.sources.loader import load

pytestmark = pytest.mark.data

# articles (not empty, not redirects), redirects; counted with xml.etree over <ns> and <redirect>
DUMPS = {
    "dumpster-smallwiki.xml.xz": (903, 147),
    "wikidump-enwiki-10k.xml.bz2": (68, 85),
    "wikidump-simplewiki.xml.bz2": (6, 0),
    "gensim-enwiki-table-markup.xml.bz2": (5, 0),
}


@pytest.mark.parametrize("name", DUMPS)
def test_counts(name, real_data, tmp_path):
    source = str(real_data / "wiki" / "dumps" / name)
    graph = load(None, tmp_path, None, source=source, workers=2, entity_links=False)
    report = graph.meta["mediawiki"]
    articles, redirects = DUMPS[name]
    assert report["counts"]["articles"] == articles
    assert report["counts"].get("redirects", 0) == redirects
    assert report["failed_pages"] == report["problems"] == []
    assert (
        graph.num_articles
        == articles - graph.meta["statistics"]["dropped"]["documents_without_words"]
    )
    for text in graph.texts(None):
        assert not any(mark in text for mark in ("[[", "{{", "}}", "{|", "<ref", "\x01", "\x04"))


def test_links_inside_a_whole_wiki(real_data, tmp_path):
    source = str(real_data / "wiki" / "dumps" / "dumpster-smallwiki.xml.xz")
    options = {"workers": 2, "entity_links": False, "keep_tables": True}
    graph = load(None, tmp_path, None, source=source, **options)
    hyperlinks = graph.meta["statistics"]["edges_by_kind"]["hyperlink"]
    repeated = graph.meta["statistics"]["dropped"]["links_repeated_in_a_block"]
    own = graph.meta["statistics"]["dropped"]["links_to_themselves"]
    assert hyperlinks + repeated + own >= 3_107
