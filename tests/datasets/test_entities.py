"""Mentions: where words end, which of two overlapping ones counts, what is left alone."""

from __future__ import annotations

import pytest

from wikinav_jax.datasets.documents import Anchor
from wikinav_jax.datasets.entities import EntityLinker, LinkerOptions, unambiguous_mentions


def linker(*titles: str, **options) -> EntityLinker:
    return EntityLinker({title: title for title in titles}, LinkerOptions(**options))


def found(linker: EntityLinker, text: str, own: str = "", taken=()) -> list[tuple[str, str]]:
    return [(text[a.start : a.end], a.target) for a in linker.find(text, own, taken)]


def test_the_longest_mention_wins():
    links = linker("York", "New York", "New York City", "City")
    assert found(links, "In New York City and York.") == [
        ("New York City", "New York City"),
        ("York", "York"),
    ]
    # The longer one is cut short by a letter: the shorter one is a mention still.
    assert found(links, "In New York Citylike places") == [("New York", "New York")]


def test_the_longest_wins_wherever_it_starts():
    links = linker("Red Army", "Army of the North")
    assert found(links, "The Red Army of the North") == [("Army of the North",) * 2]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Art.", 1),
        ("(Art)", 1),
        ("Art's", 1),
        ("Arts", 0),
        ("Art_1", 0),
        ("Art1", 0),
        ("PartyArt", 0),
        ("Ärt Artä", 0),
        ("Art\u0301", 0),  # a combining accent belongs to the word
        ("art", 0),
        ("", 0),
    ],
)
def test_word_boundaries(text, count):
    assert len(found(linker("Art"), text)) == count


def test_non_latin_scripts():
    assert found(linker("ירושלים"), "העיר ירושלים, בירה") == [("ירושלים", "ירושלים")]
    assert found(linker("ירושלים"), "בירושלים") == []  # a prefix makes another word
    assert found(linker("日本"), "私は日本人です") == [("日本", "日本")]
    assert found(linker("भारत"), "भारतीय") == []
    assert found(linker("Ελλάδα"), "στην Ελλάδα!") == [("Ελλάδα", "Ελλάδα")]
    assert found(linker("Rome"), "\U0001f600 Rome \U0001f600")[0][0] == "Rome"


def test_own_article_and_hyperlinks_are_left_alone():
    links = linker("Rome", "Ancient Rome", "Paris")
    text = "Rome, Ancient Rome, Paris."
    assert found(links, text, own="Rome") == [("Ancient Rome",) * 2, ("Paris", "Paris")]
    # A hyperlink over "Ancient" frees neither "Ancient Rome" nor, inside it, Rome again.
    assert found(links, text, taken=[(6, 13)]) == [("Rome", "Rome"), ("Paris", "Paris")]
    assert found(links, text, taken=[(0, len(text))]) == []


def test_each_target_once_a_block_by_its_longest_mention():
    links = EntityLinker({"UK": "Britain", "Great Britain": "Britain"}, LinkerOptions(min_length=2))
    assert links.find("UK or Great Britain or UK", "", ()) == [Anchor(6, 19, "Britain")]


def test_small_first_letters():
    text = "oil painting in time, Oil Painting"
    titles = ("Oil painting", "Time")
    assert found(linker(*titles), text) == [("oil painting", "Oil painting")]
    assert found(linker(*titles, small_first_letter="never"), text) == []
    assert found(linker(*titles, small_first_letter="always"), text) == [
        ("oil painting", "Oil painting"),
        ("time", "Time"),
    ]
    assert found(linker("DNA test"), "dNA test") == []


def test_an_exact_title_wins_over_a_variant_and_two_variants_cancel():
    links = EntityLinker({"Free will": "Free will", "free will": "Free Will (album)"})
    assert found(links, "of free will. Free will") == [
        ("free will", "Free Will (album)"),
        ("Free will", "Free will"),
    ]
    # Two titles that differ by their dash only: a mention would be a guess.
    links = EntityLinker({"A\u2013B line": "One", "A-B line": "Two", "C": "C", "CDE": "CDE"})
    assert found(links, "A-B line, A\u2013B line, CDE") == [("CDE", "CDE")]
    assert links.num_mentions == 1


def test_typographic_variants_match():
    assert found(linker("Franco-Prussian War"), "the Franco\u2013Prussian\u00a0War") == [
        ("Franco\u2013Prussian\u00a0War", "Franco-Prussian War")
    ]


def test_short_and_excluded_mentions():
    assert found(linker("Au", "Oxygen"), "Au Oxygen") == [("Oxygen", "Oxygen")]
    assert found(
        linker("Au", "Oxygen", min_length=2, exclude=frozenset({"OXYGEN"})), "Au Oxygen"
    ) == [("Au", "Au")]


def test_joiners():
    links = linker("os", "os.path", min_length=2, joiners=".")
    assert found(links, "see os. And os.path.join, x.os") == [("os", "os")]
    assert found(links, "os.path...") == [("os.path", "os.path")]


def test_no_mentions_at_all():
    assert EntityLinker({}).find("any text", "") == []
    assert linker("ab").find("ab", "") == []


def test_unambiguous_mentions():
    mentions, dropped = unambiguous_mentions(
        [
            ("Mercury (planet)", ["Mercury", "Hermes"]),
            ("Mercury (element)", ["Mercury", "Quicksilver", "Quicksilver"]),
            ("Hermes", []),
        ]
    )
    assert mentions == {
        "Mercury (planet)": "Mercury (planet)",
        "Mercury (element)": "Mercury (element)",
        "Hermes": "Hermes",
        "Quicksilver": "Mercury (element)",
    }
    assert dropped == 1


def test_senseless_options_are_an_error():
    with pytest.raises(ValueError, match="min_length=0"):
        LinkerOptions(min_length=0)
    with pytest.raises(ValueError, match="small_first_letter='sometimes'"):
        LinkerOptions(small_first_letter="sometimes")  # type: ignore[arg-type]
