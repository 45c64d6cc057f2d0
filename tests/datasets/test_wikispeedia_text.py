"""The layout of a text browser, read back into sections and passages."""

from __future__ import annotations

import pytest

from tests.datasets.wikispeedia_archive import VELLIA, page, paragraph
from wikinav_jax.datasets.wikispeedia_text import clean_text, parse_article


def kinds(text: str, heading: str = "Page") -> list[tuple[tuple[str, ...], str, str]]:
    """(path, kind, text) of each passage of a body."""
    article = parse_article(page(heading, text))
    return [(s.path, p.kind, p.text) for s in article.sections for p in s.passages]


def test_a_whole_article():
    article = parse_article(VELLIA)
    assert article.heading == "Vellia"
    assert article.subjects == ("Islands", "Trade")
    assert [section.path for section in article.sections] == [(), ("History",), ("Neighbours",)]
    lead, history, neighbours = (section.passages for section in article.sections)
    assert [p.text for p in lead if p.kind == "table"] == [
        "Republic of Vellia",
        "Flag of Vellia",
        "Capital Port Oram",
        "Currency Oram shell",
        "- Total 4,210 km²",
    ]
    (text,) = [p.text for p in lead if p.kind == "paragraph"]
    assert text.startswith("Vellia is an island country in the Grey Sea. Its capital")
    assert text.endswith("The Vellians (from an old word for wind) have traded with Sarnt since "
                         "the age of sail.")  # fmt: skip
    assert [(p.kind, p.text[:30]) for p in history] == [
        ("paragraph", "The first boats came from Sarn"),
        ("caption", "The harbour of Port Oram at du"),
    ]
    assert [(p.kind, p.text) for p in neighbours] == [
        ("item", "Sarnt, across the strait"),
        ("item", "The Grey Sea, on all other sides"),
    ]


def test_subjects_may_wrap():
    text = page("P", paragraph("Something happened here once."), subjects="One of two; " * 8)
    assert parse_article(text).subjects == ("One of two",) * 8


def test_wrapped_lines_are_joined_and_words_keep_their_hyphens():
    sentence = (
        "The well-known re-introduction of the two- or three-toed heron to the north-western "
        "marshes was, as far as anybody can tell, an unquestionable success for all concerned."
    )
    assert kinds(paragraph(sentence)) == [((), "paragraph", sentence)]


def test_a_line_broken_on_purpose_starts_a_new_passage():
    first = "A paragraph that ends well before the margin is at its end there and then."
    second = "The next one begins on the line below it, without any blank line in between."
    assert [text for _, _, text in kinds(paragraph(first) + "\n" + paragraph(second))] == [
        first,
        second,
    ]


def test_a_space_that_may_not_break_does_not_end_a_paragraph():
    # "17 km/h" went to the next line as one word, although "17" alone would have fitted.
    body = (
        "   Nobody had ever run that far before, and certainly nobody at that\n"
        "   17 km/h, which the judges had believed to be quite impossible here.\n"
    )
    assert [text for _, _, text in kinds(body)] == [
        "Nobody had ever run that far before, and certainly nobody at that 17 km/h, which the "
        "judges had believed to be quite impossible here."
    ]


def test_quotations_have_a_narrower_margin():
    body = (
        "     The captain said that the sea had never been so calm as in the night\n"
        "     of the fair, and that no one had believed him when he told of a light.\n"
    )
    ((_, kind, text),) = kinds(paragraph("He wrote it all down, in the end.") + "\n\n" + body)[1:]
    assert kind == "paragraph"
    assert text.startswith("The captain") and text.endswith("told of a light.")


def test_a_heading_without_text_goes_before_the_next_one():
    body = "Crew\n\nPrimary crew\n\n   Two cooks and a captain went along.\n\nBackup crew\n\n"
    body += "     * A third cook\n"
    assert [path for path, _, _ in kinds(body)] == [("Crew", "Primary crew"), ("Backup crew",)]


def test_a_wrapped_heading_is_one():
    heading = "Structural changes that lay behind the decline of trade with the isles in the east"
    body = f"{heading[:70]}\n{heading[71:]}\n\n   Trade declined because of structural changes.\n"
    assert kinds(body)[0][0] == (heading,)


def test_items_nest_and_go_on():
    body = """\
     * First, which is so long that it has to
       go on below
          + Nested inside it
               o And inside that
    1. A numbered one
   12. Another
       that goes on
"""
    assert kinds("Things\n\n" + body) == [
        (("Things",), "item", text)
        for text in (
            "First, which is so long that it has to go on below",
            "Nested inside it",
            "And inside that",
            "A numbered one",
            "Another that goes on",
        )
    ]


def test_a_number_that_starts_a_wrapped_line_is_no_item():
    full = "   The fleet of the northern isles came back to their old harbour on day"
    body = f"{full}\n   12. of the month, and all that lived there were glad to see it again.\n"
    assert len(full) + len(" 12.") >= 75
    assert [kind for _, kind, _ in kinds(body)] == ["paragraph"]
    short = "   Months of the isles:\n"
    body = f"Calendar\n\n{short}   12. The month of storms\n"
    assert [kind for _, kind, _ in kinds(body)] == ["line", "item"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A boat in the color of sand.", "A boat in the colour of sand."),
        ("The war- time boat, seen from afar", "The war-time boat, seen from afar"),
        ("The boat.", "The boat."),
    ],
)
def test_only_the_second_copy_of_a_caption_stays(before: str, after: str):
    body = f"History\n\n   {before}\n   Enlarge\n   {after}\n\n{paragraph('It was a boat.')}"
    assert [(kind, text) for _, kind, text in kinds(body)] == [
        ("line", "It was a boat."),
        ("caption", after),
    ]


def test_an_image_without_the_word_enlarge():
    body = "Gallery\n\n   The tower at noon\n   The tower at noon\n"
    assert kinds(body) == [(("Gallery",), "caption", "The tower at noon")]
    long = "The tower at noon, with the whole of the old town and the river behind it"
    assert kinds("Gallery\n\n" + paragraph(f"{long} {long}")) == [(("Gallery",), "caption", long)]


def test_a_caption_does_not_part_a_paragraph_from_the_next():
    body = "   Two sheep\n   Enlarge\n   Two sheep\n\n" + paragraph("A lead of some length, " * 5)
    assert [kind for _, kind, _ in kinds(body)] == ["paragraph", "caption"]


def test_tables_and_verses_and_code():
    table = "   Year        Boats\n   1801        12\n   1802        15\n"
    code = "if wind > 3:\nreturn to(harbour)\nelse:\n"
    body = f"Trade\n\n{table}\nCode\n\n{code}"
    assert [kind for _, kind, _ in kinds(body)] == ["table"] * 6
    assert kinds("Trade\n\n   Boats of the year:\n")[0][1:] == ("line", "Boats of the year:")


def test_what_stands_above_the_lead_is_dropped_or_table():
    body = f"""\
   This is a featured article. Click here for more information.
          This article is about the sea bird of the northern isles, not the boat.
   Wingspan 2 m
   ^1 Only where it was measured by hand, which is hard to do with such a bird.

{paragraph("The grey gull is a bird of the northern isles. It is seldom seen on land.")}

   Order of gulls
"""
    assert [(kind, text[:12]) for _, kind, text in kinds(body)] == [
        ("table", "Wingspan 2 m"),
        ("table", "^1 Only wher"),
        ("paragraph", "The grey gul"),
        ("table", "Order of gul"),
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "   #copyright\n", "Title\n"])
def test_texts_without_words(text: str):
    assert parse_article(text).sections == ()


def test_rulers_and_names_of_images_are_no_text():
    body = "   Image:boat_1.png\n     ______________________\n\n   [1x1.gif]\n   * ·\n"
    assert kinds(body) == []


def test_no_subject_line_and_right_to_left_letters():
    article = parse_article("جزيرة\n\n" + paragraph("جزيرة غريبة لم يرها أحد من قبل في البحر."))
    assert article.heading == "جزيرة"
    assert article.sections[0].passages[0].text.startswith("جزيرة غريبة")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("the ( old) sea , he said .", "the (old) sea, he said."),
        ('a " new" word and " another"', 'a "new" word and "another"'),
        ('he said "no" and left', 'he said "no" and left'),
        ("from 1801- 15 in the post- war years", "from 1801-15 in the post-war years"),
        ("two- or three-fold", "two- or three-fold"),
        ("and so - he thought - on", "and so - he thought - on"),
        ("a .22 rifle and .NET", "a .22 rifle and .NET"),
        ("  many \t spaces\n", "many spaces"),
        ("", ""),
    ],
)
def test_clean_text(raw: str, clean: str):
    assert clean_text(raw) == clean
