"""ZIM files, made by libzim's own writer: entries, redirects, links, damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.datasets.sources.corpora import built, edges, links
from wikinav_jax.datasets.building.source import SourceOptions
from wikinav_jax.datasets.sources import zim as zim_module
from wikinav_jax.datasets.sources.detect import detect
from wikinav_jax.datasets.sources.zim import ZimSource

writer = pytest.importorskip("libzim.writer", reason="libzim is not installed")


class Entry(writer.Item):
    """An entry of an archive."""

    def __init__(self, path: str, title: str, content: str, mimetype: str = "text/html"):
        super().__init__()
        self._path, self._title, self._content, self._mimetype = path, title, content, mimetype

    def get_path(self) -> str:
        return self._path

    def get_title(self) -> str:
        return self._title

    def get_mimetype(self) -> str:
        return self._mimetype

    def get_contentprovider(self):
        return writer.StringProvider(self._content)

    def get_hints(self):
        return {writer.Hint.FRONT_ARTICLE: self._mimetype == "text/html"}


def archive(path: Path, entries, redirects=(), metadata=None) -> Path:
    """Writes a ZIM file."""
    with writer.Creator(path).config_indexing(False, "en") as creator:
        creator.set_mainpath(entries[0][0])
        for entry in entries:
            creator.add_item(Entry(*entry))
        for source, title, target in redirects:
            creator.add_redirection(source, title, target, {writer.Hint.FRONT_ARTICLE: False})
        for name, value in {"Title": "Tiny", "Language": "eng", **(metadata or {})}.items():
            creator.add_metadata(name, value)
    return path


def wiki_page(title: str, body: str) -> str:
    return (
        f"<html><head><title>{title}</title></head><body class='mw-body'><h1>{title}</h1>"
        f"<div id='mw-content-text'>{body}</div></body></html>"
    )


WIKI = [
    (
        "Bee",
        "Bee",
        wiki_page(
            "Bee",
            "<p>A bee likes <a href='./Flower'>flowers</a>, <a href='AC/DC'>rock</a> and "
            "<a href='Honey_%26_wax#Kinds%20of_wax'>wax</a>.</p>"
            "<table class=wikitable><tr><td><a href=Hidden>x</a></table>"
            "<div class='navbox'><a href='Stone'>Stone</a></div>",
        ),
    ),
    ("AC/DC", "AC/DC", wiki_page("AC/DC", "<p>From <a href='../Bee'>bees</a>.</p>")),
    ("Flower", "Flower", wiki_page("Flower", "<p>See <a href='Blossom'>blossom</a>, <a "
        "href='Bees'>bees</a> and <a href='Gone'>gone</a>.</p>")),
    ("Honey_&_wax", "Honey & wax", wiki_page("Honey & wax", "<p>Sweet.</p><h2 id=Kinds_of_wax>"
        "Kinds of wax</h2><p>Two kinds.</p>")),
    ("Stone", "Stone", wiki_page("Stone", "<p>Stones and a bee and Honey &amp; wax.</p>")),
    ("style.css", "", "p{}", "text/css"),
]  # fmt: skip
REDIRECTS = [("Bees", "Bees", "Bee"), ("Blossom", "Blossom", "Bloom"), ("Bloom", "Bloom", "Flower")]


@pytest.fixture
def wiki(tmp_path) -> Path:
    metadata = {"Scraper": "mwoffliner 1.14", "Creator": "Wiki", "License": "CC BY-SA 4.0"}
    return archive(tmp_path / "wiki.zim", WIKI, REDIRECTS, metadata)


def test_a_wiki(wiki, tmp_path):
    assert detect(wiki) == "zim"
    graph = built(wiki, tmp_path)
    assert graph.article_titles == ["AC/DC", "Bee", "Flower", "Honey & wax", "Stone"]
    assert edges(graph) == [
        ("AC/DC", "bees", "Bee", ""),
        ("Bee", "flowers", "Flower", ""),
        ("Bee", "rock", "AC/DC", ""),
        ("Bee", "wax", "Honey & wax", "Kinds of wax"),
        ("Flower", "bees", "Bee", ""),
    ]
    report = graph.meta["zim"]
    assert report["counts"]["redirects"] >= 3
    assert report["counts"]["articles"] == 5
    assert report["metadata"]["creator"] == "Wiki"
    assert report["new_namespaces"]
    assert graph.meta["licence"] == "CC BY-SA 4.0"
    assert graph.meta["statistics"]["dropped"]["links_to_unknown_titles"] == 1
    assert graph.meta["statistics"]["dropped"]["links_to_themselves"] == 1  # Blossom is Flower


def test_addresses_with_a_colon_or_a_query(tmp_path):
    pages = [
        ("Мох", "Мох", wiki_page("Мох", "<p>Видел <a href='Star:_Trek'>звезду</a>, <a "
            "href='./%D0%9A%D0%B0%D0%BC%D0%B5%D0%BD%D1%8C?oldid=3#Виды'>вид</a>, "
            "<a href='Что%3F'>что</a>, <a href='mailto:a@b.org'>почта</a>.</p>")),
        ("Star:_Trek", "Star: Trek", wiki_page("Star: Trek", "<p>Far.</p>")),
        ("Камень", "Камень", wiki_page("Камень", "<p>К.</p><h2 id='Виды'>Виды</h2><p>Два.</p>")),
        ("Что?", "Что?", wiki_page("Что?", "<p>Кто.</p>")),
    ]  # fmt: skip
    graph = built(archive(tmp_path / "a.zim", pages), tmp_path)
    assert edges(graph) == [
        ("Мох", "звезду", "Star: Trek", ""),
        ("Мох", "вид", "Камень", "Виды"),
        ("Мох", "что", "Что?", ""),
    ]
    assert graph.meta["zim"]["counts"]["links_of_other_schemes"] == 1


def test_an_archived_site(tmp_path):
    pages = [
        ("e.org/", "Home", "<h1>Home</h1><p>To <a href='blog/one%3Fid=1'>one</a>"),
        ("e.org/blog/one?id=1", "One", "<h1>One</h1><p>Back to <a href='https://e.org/two'>two</a>"),
        ("e.org/two", "Two", "<h1>Two</h1><p>Up to <a href='/blog/one?id=1'>one</a> or out <a "
            "href='https://f.org/'>there</a>, <a href='/'>home</a>, <a href='blog/'>blog</a>"),
        ("e.org/blog", "Blog", "<h1>Blog</h1><p>All in one."),
    ]  # fmt: skip
    path = archive(tmp_path / "site.zim", pages, metadata={"Scraper": "zimit 2.0"})
    graph = built(path, tmp_path)
    assert edges(graph) == [
        ("Home", "one", "One", ""),
        ("One", "two", "Two", ""),
        ("Two", "one", "One", ""),
        ("Two", "home", "Home", ""),
        ("Two", "blog", "Blog", ""),
    ]


def test_pages_that_only_send_on_are_redirects(tmp_path):
    pages = [
        ("Bee", "Bee", "<p>A bee. See <a href=Hive>the hive</a>."),
        ("Hive", "Hive", "<meta http-equiv=refresh content='0;url=./Bee_hive'>"),
        ("Bee_hive", "Bee hive", "<p>A hive of many bees."),
    ]
    graph = built(archive(tmp_path / "w.zim", pages), tmp_path)
    assert edges(graph) == [("Bee", "the hive", "Bee hive", "")]


def test_redirects_are_mentions(wiki, tmp_path):
    graph = built(wiki, tmp_path, entity_links=True)
    assert graph.meta["statistics"]["edges_by_kind"]["entity"] == 1  # Honey & wax, in Stone
    assert graph.meta["entity_linking"]["anchors"] == 6


def test_damage(wiki, tmp_path):
    data = wiki.read_bytes()
    cut = tmp_path / "cut.zim"
    cut.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"cut.zim cannot be opened as a ZIM file .* cut off"):
        ZimSource(cut)
    # A page whose cluster is damaged is listed, the others are kept, or all are listed.
    broken = bytearray(data)
    middle = data.find(b"\x28\xb5\x2f\xfd")  # the first frame of Zstandard
    assert middle > 0
    broken[middle + 12 : middle + 60] = b"\xff" * 48
    path = tmp_path / "broken.zim"
    path.write_bytes(bytes(broken))
    with pytest.raises(ValueError, match=r"has no article .*cannot be unpacked"):
        built(path, tmp_path)


def test_large_pages_are_listed(tmp_path):
    pages = [("A", "A", "<p>a"), ("B", "B", "<p>" + "b " * 700_000)]
    graph = built(archive(tmp_path / "w.zim", pages), tmp_path, max_source_megabytes=1)
    assert graph.article_titles == ["A"]
    assert graph.meta["zim"]["failed_pages"] == [
        ["B", "ValueError: 1,400,003 bytes of HTML; max_bytes=1,048,576"]
    ]


class OldEntry:
    """An entry of an archive in the layout before 2021, which libzim reads but does not write."""

    def __init__(self, path, title="", content="", mimetype="text/html", target=None):
        self.path, self.title, self.mimetype = path, title or path, mimetype
        self.content, self.size = content.encode(), len(content)
        self.is_redirect, self._target = target is not None, target

    def get_item(self):
        return self

    def get_redirect_entry(self):
        return OldEntry(self._target)


class OldArchive:
    has_new_namespace_scheme = False

    def __init__(self, *entries):
        self._entries = entries

    def _get_entry_by_id(self, number):
        return self._entries[number]


def test_the_old_layout(monkeypatch, tmp_path):
    page = (
        "<p>See <a href='../A/Hive.html'>1</a>, <a href=Wax.html>2</a>, <a href='/A/X.html'>3</a>"
    )
    old = OldArchive(
        OldEntry("A/Bee.html", "Bee", page),
        OldEntry("-/page.html", "Layout", page),
        OldEntry("A/Bees.html", "Bees", target="A/Bee.html"),
        OldEntry("A/s.css", "", "p{}", "text/css"),
    )
    monkeypatch.setattr(zim_module, "open_archive", lambda path: old)
    reader = zim_module.ZimReader(tmp_path / "old.zim", SourceOptions(), is_wiki=False)
    bee, layout, bees, style = (reader.read(number) for number in range(4))
    assert (bee.key, bee.title) == ("A/Bee.html", "Bee")
    assert links(bee.sections) == [
        ("1", "A/Hive.html", ""),
        ("2", "A/Wax.html", ""),
        ("3", "A/X.html", ""),
    ]
    assert layout is style is None
    assert bees.is_redirect
    assert bees.names[0][:2] == ("A/Bees.html", "A/Bee.html")
    assert bees.names[0].title == "Bees"
    with pytest.raises(ValueError, match="entry 4 cannot be unpacked"):
        reader.read(4)
