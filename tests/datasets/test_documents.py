"""Documents refuse anchors that do not fit their text."""

from __future__ import annotations

import pytest

from wikinav_jax.datasets.documents import Anchor, Document, Passage, drop_overlaps


def test_anchor_spans_the_last_character():
    passage = Passage("a river", (Anchor(2, 7, "River"),))
    anchor = passage.anchors[0]
    assert passage.text[anchor.start : anchor.end] == "river"


@pytest.mark.parametrize("span", [(2, 8), (-1, 3), (3, 3), (5, 4)])
def test_anchor_outside_its_passage_is_an_error(span):
    with pytest.raises(ValueError, match=r"to 'River' is empty or outside its passage of 7"):
        Passage("a river", (Anchor(*span, "River"),))


@pytest.mark.parametrize("spans", [[(0, 3), (2, 5)], [(4, 6), (0, 2)]])
def test_overlapping_or_unsorted_anchors_are_an_error(spans):
    with pytest.raises(ValueError, match="sort anchors"):
        Passage("a river", tuple(Anchor(*span, "River") for span in spans))


def test_drop_overlaps_keeps_the_earlier_then_the_longer():
    a, b, c, d = Anchor(4, 9, "a"), Anchor(0, 3, "b"), Anchor(0, 5, "c"), Anchor(9, 10, "d")
    assert drop_overlaps([a, b, c, d]) == (c, d)
    assert drop_overlaps([]) == ()


@pytest.mark.parametrize("title", ["", " \n"])
def test_a_document_needs_a_title(title):
    with pytest.raises(ValueError, match="empty title"):
        Document(title, ())
