"""Titles and namespaces by MediaWiki's rules."""

from __future__ import annotations

import pytest

from wikinav_jax.datasets.mediawiki.titles import (
    LinkKind,
    LinkTarget,
    SiteInfo,
    Titles,
    pipe_trick,
)

ENGLISH = Titles(SiteInfo(database="enwiki", namespaces={"": 0, "Talk": 1, "File": 6}))


@pytest.mark.parametrize(
    ("raw", "title", "fragment"),
    [
        ("Moss", "Moss", ""),
        ("moss", "Moss", ""),
        ("_Old__Quay_", "Old Quay", ""),
        ("Old\u00a0 \u2009Quay", "Old Quay", ""),
        ("Caf\u0065\u0301", "Caf\u00e9", ""),
        ("Caf%C3%A9", "Café", ""),
        ("100%", "100%", ""),
        ("AT&amp;T", "AT&T", ""),
        ("AT&T", "AT&T", ""),
        ("\u200eMoss\u200f", "Moss", ""),
        (":Moss", "Moss", ""),
        (": :Moss", "Moss", ""),
        ("éclair", "Éclair", ""),
        ("ßa", "ßa", ""),
        ("2001: A Space Odyssey", "2001: A Space Odyssey", ""),
        ("Stó:lō", "Stó:lō", ""),
        ("B.C._Queen#Club", "B.C. Queen", "Club"),
        ("#Club_house", "", "Club house"),
        ("Мох#.D0.9F.D1.83.D1.82.D1.8C_.28.D0.B0.29", "Мох", "Путь (а)"),
        ("Moss#%D0%9F.22x.22", "Moss", 'П"x"'),
        ("Moss#Version_1.20", "Moss", "Version 1.20"),
        ("Moss#v.D0x", "Moss", "v.D0x"),
        ("w:en:moss", "Moss", ""),
        ("en:moss", "Moss", ""),
        ("/sub", "/sub", ""),
    ],
)
def test_article(raw, title, fragment):
    assert ENGLISH.link(raw) == LinkTarget(LinkKind.ARTICLE, title, fragment)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("File:a.jpg", LinkKind.FILE),
        ("image : a.jpg", LinkKind.FILE),
        ("Fichier:a.jpg", LinkKind.FILE),
        (":File:a.jpg", LinkKind.OTHER),
        ("category:a", LinkKind.CATEGORY),
        ("Κατηγορία:a", LinkKind.CATEGORY),
        ("talk:a", LinkKind.OTHER),
        ("Special:Search/a", LinkKind.OTHER),
        ("de:Moos", LinkKind.LANGUAGE),
        ("zh-min-nan:a", LinkKind.LANGUAGE),
        (":de:Moos", LinkKind.OTHER),
        ("commons:a", LinkKind.OTHER),
        ("wikt:de:a", LinkKind.OTHER),
        ("a<b", LinkKind.INVALID),
        ("a[b", LinkKind.INVALID),
        ("a%2541", LinkKind.INVALID),
        ("a%ff", LinkKind.INVALID),
        ("&amp;eacute;", LinkKind.INVALID),
        ("..", LinkKind.INVALID),
        ("../a", LinkKind.INVALID),
        ("a~~~~", LinkKind.INVALID),
        ("", LinkKind.INVALID),
        (" # ", LinkKind.INVALID),
        ("é" * 128, LinkKind.INVALID),
        ("A" * 256, LinkKind.INVALID),
    ],
)
def test_no_article(raw, kind):
    assert ENGLISH.link(raw).kind is kind


def test_first_letters_of_other_wikis():
    assert Titles(SiteInfo(first_letter=False)).link("moss").title == "moss"
    assert Titles(SiteInfo(language="tr")).link("istanbul").title == "İstanbul"
    assert Titles(SiteInfo(language="ka")).link("ხავსი").title == "ხავსი"


def test_marks_of_direction_are_no_part_of_a_title():
    assert ENGLISH.normalize("\u200fmoss\u3000 bed\u200e") == "Moss bed"


def test_a_turkish_prefix_in_capitals():
    titles = Titles(SiteInfo(language="tr", namespaces={"Kategori": 14, "Vikipedi": 4}))
    assert titles.link("KATEGORİ:Yosun").kind is LinkKind.CATEGORY
    assert titles.namespace("VİKİPEDİ:Yosun") == 4


def test_local_names_win_over_general_ones():
    titles = Titles(SiteInfo(namespaces={"Fil": 100}))
    assert titles.link("Fil:a").kind is LinkKind.OTHER
    assert titles.namespace("Fil:a") == 100
    assert titles.namespace("Nothing: a") == titles.namespace("Nothing") == 0


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("Foo (band)", "Foo"),
        ("Boston, Lincolnshire", "Boston"),
        ("Help:Foo (x)", "Foo"),
        (":Category:Foo", "Foo"),
        ("(x)", "(x)"),
        ("Foo", "Foo"),
    ],
)
def test_pipe_trick(target, text):
    assert pipe_trick(target) == text
