"""Addresses to keys."""

from __future__ import annotations

import pytest

from wikinav_jax.datasets.sources.links import LinkResolver, other_paths


@pytest.mark.parametrize(
    ("path", "address", "key", "fragment"),
    [
        ("guide/a.html", "b.html", "guide/b.html", ""),
        ("guide/a.html", "./b.html#x%20y", "guide/b.html", "x y"),
        ("guide/a.html", "../b/c.html?v=1", "b/c.html", ""),
        ("guide/a.html", "/top.html", "top.html", ""),
        ("guide/a.html", "..", "/", ""),
        ("guide/a.html", "/", "/", ""),
        ("guide/a.html", "sub/", "guide/sub/", ""),
        ("guide/a.html", "sub/?v=1#x", "guide/sub/", "x"),
        ("guide/a.html", "sub/..", "guide/", ""),
        ("guide/a.html", "./", "guide/", ""),
        ("guide/sub/a.html", "..", "guide/", ""),
        ("guide/a.html", "#here", "guide/a.html", "here"),
        ("guide/a.html", "?page=2", "guide/a.html", ""),
        ("a.html", "B%C3%A4r%3F.html", "Bär?.html", ""),
        ("a.html", " b.html ", "b.html", ""),
        # archives of sites: the name of the site comes first
        ("e.org/x/a", "/y", "e.org/y", ""),
        ("e.org/x/a", "https://e.org/y#z", "e.org/y", "z"),
        ("e.org/x/a", "//e.org/y", "e.org/y", ""),
        ("e.org/x/a", "/", "e.org/", ""),
        ("e.org/x/a", "https://e.org", "e.org/", ""),
        ("A/e.org/x", "/y", "A/e.org/y", ""),
        ("A/e.org/x", "http://e.org/y", "A/e.org/y", ""),
    ],
)
def test_inside(path, address, key, fragment):
    link = LinkResolver(path).resolve(address)
    assert (link.key, link.fragment) == (key, fragment)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("", "links_without_an_address"),
        ("mailto:a@e.org", "links_of_other_schemes"),
        ("javascript:void(0)", "links_of_other_schemes"),
        ("https://e.org/a", "links_to_other_sites"),
        ("//e.org/a", "links_to_other_sites"),
        ("../../etc/passwd", "links_out_of_the_folder"),
        ("%2e%2e/%2e%2e/x", "links_out_of_the_folder"),
    ],
)
def test_outside(address, reason):
    link = LinkResolver("guide/a.html").resolve(address)
    assert (link.key, link.reason) == ("", reason)


def test_the_address_of_the_root():
    resolve = LinkResolver("guide/a.html", "https://docs.e.org/en/").resolve
    assert resolve("https://docs.e.org/en/b.html").key == "b.html"
    assert resolve("https://docs.e.org/en/").key == "/"
    assert resolve("https://docs.e.org/de/b.html").key == ""


def test_queries_belong_to_archived_pages():
    resolve = LinkResolver("e.org/a", keep_query=True).resolve
    assert resolve("b%3Fid=1").key == "e.org/b?id=1"
    assert resolve("b?id=1#c").key == "e.org/b?id=1"


def test_other_paths():
    html = (".html", ".htm")
    assert other_paths("a/b.html", ("index",), html) == ["a/b", "a/b/", "a/b.htm"]
    assert other_paths("a/b.html", ("index",), html, beside_folder=True) == ["a/b", "a/b.htm"]
    index = ["a/index", "a/index/", "a", "a/", "a/index.htm"]
    assert other_paths("a/index.html", ("index",), html) == index
    assert other_paths("index.html", ("index",), html) == ["index", "index/", "/", "index.htm"]
    assert other_paths("a/b", ("index",), html) == []
