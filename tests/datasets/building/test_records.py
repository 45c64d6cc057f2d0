"""Parsed pages as records, and back."""

from __future__ import annotations

from tests.datasets.mediawiki.dumps import Page, numbered
from wikinav_jax.datasets.building.chunks import PageOptions
from wikinav_jax.datasets.building.records import (
    EMPTY,
    article_of,
    chunk_of,
    read_records,
    record_of,
    write_records,
)
from wikinav_jax.datasets.mediawiki.pages import PageParser
from wikinav_jax.datasets.mediawiki.titles import SiteInfo

PAGES = [
    Page(
        "Bee", 'A "bee" & a [[wasp]] > [[Law#A > B|law]].\n== Life > death ==\n=== Hive ===\nWax.'
    ),
    Page("Wasp", "#REDIRECT [[Bee#Life]]", redirect="Bee"),
    Page("Empty", ""),
    Page("Data", "{}", model="json"),
]


def test_there_and_back(tmp_path):
    sources = [page.xml().encode() for page in numbered(PAGES)]
    sources.append(b"<page><title>Cut</title><ns>0</ns>&undefined;</page>")
    chunk = PageParser(SiteInfo(), PageOptions()).parse(sources)
    for article in chunk.articles:
        again = article_of(record_of(article))
        assert again.page_id == article.page_id
        assert again.document.title == article.document.title
        assert again.blocks == article.blocks
        assert record_of(article).keys() == EMPTY.keys()
    assert chunk.articles[0].blocks[1].section == ("Life > death", "Hive")

    write_records(tmp_path, 3, chunk)
    articles, report = read_records(tmp_path, 3)
    assert articles == [record_of(article) for article in chunk.articles]
    again = chunk_of(report)
    assert again.redirects == chunk.redirects == [("Wasp", "Bee", "Life")]
    assert again.failed == chunk.failed and chunk.failed[0][0] == "Cut"
    assert again.counts == chunk.counts


def test_a_page_without_id():
    (article,) = (
        PageParser(SiteInfo(), PageOptions())
        .parse([b"<page><title>A</title><ns>0</ns><revision><text>words</text></revision></page>"])
        .articles
    )
    assert article.page_id is None
    assert record_of(article)["page_id"] == -1
    assert article_of(record_of(article)).page_id is None
