"""Markdown files: front matter, wikilinks, ordinary links, code."""

from __future__ import annotations

import pytest

from tests.datasets.sources.corpora import built, edges, links, texts, write_files
from wikinav_jax.datasets.building.source import SourceOptions
from wikinav_jax.datasets.sources.links import LinkResolver
from wikinav_jax.datasets.sources.markdown import MarkdownReader, slug, split_front_matter
from wikinav_jax.datasets.sources.parser import Parsed


def read(source: str | bytes, key: str = "notes/a.md", **options) -> Parsed:
    reader = MarkdownReader(SourceOptions(**options))
    data = source.encode() if isinstance(source, str) else source
    return reader.read(data, key, LinkResolver(key), ())


def test_text():
    page = read(
        "# Top\n\nSome *text*\nwith `code`.\n\n- one\n- two\n\n## Part\n\nMore\n\n### Sub\nx"
    )
    assert page.title == "Top"
    assert texts(page.sections) == [
        ((), ["Some text with code.", "one", "two"]),
        (("Part",), ["More"]),
        (("Part", "Sub"), ["x"]),
    ]


def test_links():
    page = read(
        '[a](b.md#x-y), [b](../c/d%20e.md "title"), [c][r], <https://e.org>, [[Note]], '
        "[[Other note|label]], [[Note#Part One|p]], [[#Here]], [[sub/Note.md]], ![[Embedded]], "
        "![[pic.png]] ![i](p.png) `[[code]]` \\[[no]]\n\n[r]: ./f.md\n"
    )
    assert links(page.sections) == [
        ("a", "notes/b.md", "x-y"),
        ("b", "c/d e.md", ""),
        ("c", "notes/f.md", ""),
        ("Note", "[[note]]", ""),
        ("label", "[[other note]]", ""),
        ("p", "[[note]]", "Part One"),
        ("Here", "notes/a.md", "Here"),
        ("Note.md", "[[sub/note]]", ""),
        ("Embedded", "[[embedded]]", ""),
    ]
    assert page.counts["links_to_other_sites"] == 1


def test_code_holds_no_links_and_no_headings():
    page = read("```python\n# not a heading\n[[not a link]] [x](y.md)\n```\n\n    indented [[z]]\n")
    assert texts(page.sections) == [
        ((), ["# not a heading\n[[not a link]] [x](y.md)", "indented [[z]]"])
    ]
    assert links(page.sections) == []
    assert read("a\n\n```\ncode\n```\n", keep_code=False).sections[0].passages[0].text == "a"


def test_front_matter():
    page = read("---\ntitle: 'Real: title'\naliases: [One, /old/path/]\n---\n# Heading\ntext")
    assert page.title == "Real: title"
    names = {(name.key, name.title) for name in page.names}
    assert {("[[one]]", "One"), ("[[real: title]]", ""), ("[[a]]", ""), ("old/path", "")} <= names
    assert texts(page.sections) == [((), ["text"])]
    assert read("+++\ntitle = 'Toml'\n+++\ntext").title == "Toml"
    assert read("---\n\ntext\n\n---\nmore").title == ""  # two rules, no front matter


@pytest.mark.parametrize("front", ["a: [", "!!python/object:os.system {}", "- list", "x: *y"])
def test_front_matter_that_cannot_be_read(front):
    found, rest, is_read = split_front_matter(f"---\n{front}\n---\nrest")
    assert found == {}
    assert rest.endswith("rest")
    assert is_read == (front == "- list")


def test_fragments():
    page = read(
        "## Getting started!\na\n## Getting started!\nb\n## Set up {#install}\nc\n## C++ é\nd"
    )
    assert page.fragments == {
        "getting-started": ("Getting started!",),
        "getting-started-1": ("Getting started!",),
        "install": ("Set up",),
        "set-up": ("Set up",),
        "c-é": ("C++ é",),
    }
    assert slug("A `b` & C_d") == "a-b--c_d"


def test_tables_and_html():
    table = "|A|B|\n|-|-|\n|1|[x](y.md)|\n\nafter"
    assert texts(read(table).sections) == [((), ["after"])]
    assert texts(read(table, keep_tables=True).sections) == [((), ["A; B", "1; x", "after"])]
    page = read("<div align='center'>\n  <a href='b.html'>B</a>\n</div>\n\n<!-- [[no]] -->\n")
    assert links(page.sections) == [("B", "notes/b.html", "")]


def test_encodings():
    assert texts(read(b"\xef\xbb\xbfcaf\xc3\xa9\r\n\r\nb").sections) == [((), ["café", "b"])]
    page = read(b"caf\xe9")
    assert texts(page.sections) == [((), ["café"])]
    assert page.counts["pages_in_a_broken_encoding"] == 1


def test_generators_own_links():
    page = read('[a]({{< ref "guide/b.md" >}}) [b]({% link _posts/c.md %})')
    assert links(page.sections) == [("a", "notes/guide/b.md", ""), ("b", "_posts/c.md", "")]


@pytest.mark.parametrize(
    "source",
    [
        "[" * 20_000,
        "*" * 20_000,
        "> " * 5_000 + "x",
        "- " * 3_000 + "x",
        "[[" * 10_000,
        "`" * 9_999,
    ],
)
def test_pathological_markdown(source):
    read(source + " end")


def test_a_vault(tmp_path):
    vault = {
        "Bees.md": "Bees make [[honey]], [[Honey#Kinds|kinds]], see [wax](things/Wax%20comb.md).",
        "things/Honey.md": "# Honey\nFrom [[bees]].\n## Kinds\n[[things/Wax comb]] [[Nothing]].",
        "things/Wax comb.md": "---\naliases: beeswax\n---\nMade by [[Bees]] with [[Beeswax]]. "
        "[up](../README.md)",
        "README.md": "Start at [things](things/Honey.html) or [[beeswax]].",
    }
    graph = built(write_files(tmp_path / "vault", vault), tmp_path)
    assert graph.article_titles == ["Bees.md", "README.md", "Honey", "Wax comb.md"]
    assert edges(graph) == [
        ("Bees.md", "honey", "Honey", ""),
        ("Bees.md", "kinds", "Honey", "Kinds"),
        ("Bees.md", "wax", "Wax comb.md", ""),
        ("README.md", "things", "Honey", ""),
        ("README.md", "beeswax", "Wax comb.md", ""),
        ("Honey", "bees", "Bees.md", ""),
        ("Honey", "Wax comb", "Wax comb.md", ""),
        ("Wax comb.md", "Bees", "Bees.md", ""),
        ("Wax comb.md", "up", "README.md", ""),
    ]
