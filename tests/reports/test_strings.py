"""Text made safe: lengths stay, nothing hostile survives, columns add up, excerpts mark anchors."""

from __future__ import annotations

import pytest

from wikinav_jax.reports import strings


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\tand\nlines", "plain\tand\nlines"),
        ("a\x1b[31mred", "a\u241b[31mred"),
        ("nul\x00bell\x07del\x7f", "nul\u2400bell\u2407del\u2421"),
        ("\x9bcsi", "\ufffdcsi"),
        ("abc\u202egpj.exe", "abc\ufffdgpj.exe"),
        ("a\u2067b\u2069c", "a\u200bb\u200bc"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("قرية 山 🗺", "قرية 山 🗺"),
    ],
)
def test_visible(text, shown):
    assert strings.visible(text) == shown
    assert len(strings.visible(text)) == len(text)


def test_visible_json_goes_deep():
    value = {"a\x1b": ["\u202e", {"b": ("\x00", 1, None, True)}]}
    assert strings.visible_json(value) == {"a\u241b": ["\ufffd", {"b": ["\u2400", 1, None, True]}]}


def test_widths():
    assert strings.display_width("abc") == 3
    assert strings.display_width("山川") == 4
    assert strings.display_width("e\u0301") == 1  # a combining accent
    assert strings.clip("山川草木", 5) == "山川…"
    assert strings.display_width(strings.clip("山川草木", 6)) <= 6
    assert strings.clip("short", 5) == "short"
    assert strings.clip("short", 0) == ""
    assert strings.pad("山", 4) == "山  "
    assert strings.pad("7", 3, "right") == "  7"


def joined(window: strings.Excerpt) -> str:
    return "".join(piece.text for piece in window.pieces)


def test_excerpt_around_an_anchor():
    text = "word " * 100 + "the anchor here" + " word" * 100
    start = text.index("anchor")
    window = strings.excerpt(text, (start, start + 6), radius=20)
    assert [piece.text for piece in window.pieces if piece.role == "chosen"] == ["anchor"]
    assert window.cut_before and window.cut_after
    assert joined(window).strip() in text
    # Cut at words.
    assert set(joined(window).split()) <= {"word", "the", "anchor", "here"}
    assert len(joined(window)) <= 6 + 2 * 20


def test_excerpt_without_cuts_is_the_text():
    text = "A short text with two anchors."
    window = strings.excerpt(text, (18, 21), [(2, 7), (18, 29), (22, 29)])
    assert window.is_whole and joined(window) == text
    # The chosen span wins over the one that overlaps it.
    assert [(piece.text, piece.role) for piece in window.pieces if piece.role != "plain"] == [
        ("short", "other"),
        ("two", "chosen"),
        ("anchors", "other"),
    ]


@pytest.mark.parametrize("span", [(5, 5), (-1, 3), (3, 900), (7, 2)])
def test_excerpt_ignores_spans_outside_the_text(span):
    window = strings.excerpt("some text", span, [span])
    assert [piece.role for piece in window.pieces] == ["plain"]


def test_excerpt_at_either_end():
    text = " ".join(f"w{index}" for index in range(200))
    first = strings.excerpt(text, radius=20)
    last = strings.excerpt(text, radius=20, at="end")
    assert joined(first).startswith("w0 ") and not first.cut_before and first.cut_after
    assert joined(last).endswith(" w199") and last.cut_before and not last.cut_after
    assert strings.excerpt("").pieces == ()


def test_excerpt_of_an_endless_word_keeps_the_anchor():
    window = strings.excerpt("x" * 5000, (2500, 2510), radius=50)
    assert [len(piece.text) for piece in window.pieces if piece.role == "chosen"] == [10]
    assert len(joined(window)) == 110
