"""Which mentions count: commonness, link probability, what was hidden."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from wikinav_jax.datasets.entities import EntityLinker
from wikinav_jax.datasets.linking import (
    UNKNOWN,
    AnchorStatistics,
    HeldOut,
    LinkingOptions,
    anchors_seen,
    likely_mentions,
)

NAMES = [("Mercury (planet)", ()), ("Mercury", ("Quicksilver",)), ("Time", ()), ("Moon", ())]
PLANET, METAL, TIME, MOON = range(4)


def statistics(*anchors: tuple[str, int, int]) -> AnchorStatistics:
    """Of (words, article, how often)."""
    found = AnchorStatistics()
    for surface, article, times in anchors:
        for _ in range(times):
            found.add(surface, article)
    return found


def mentions(found: AnchorStatistics, **options) -> dict[str, str]:
    return likely_mentions(NAMES, found.counts(), LinkingOptions(**options))[0]


def test_titles_mean_what_they_say_until_anchors_say_otherwise():
    assert mentions(statistics()) == {
        "Mercury (planet)": "Mercury (planet)",
        "Mercury": "Mercury",
        "Quicksilver": "Mercury",
        "Time": "Time",
        "Moon": "Moon",
    }
    # Four anchors to the planet, and the title's own vote: 4 of 5.
    assert mentions(statistics(("Mercury", PLANET, 4)))["Mercury"] == "Mercury (planet)"
    assert "Mercury" not in mentions(statistics(("Mercury", PLANET, 2)))  # 2 of 3
    assert "Mercury" not in mentions(statistics(("Mercury", UNKNOWN, 4)))
    assert (
        mentions(statistics(("Mercury", METAL, 5), ("Mercury", PLANET, 2)))["Mercury"] == "Mercury"
    )


def test_anchors_that_are_no_titles():
    found = statistics(
        ("innermost planet", PLANET, 3),
        ("satellite", MOON, 1),
        ("here", MOON, 2),
        ("here", TIME, 2),
    )
    likely = mentions(found)
    assert likely["innermost planet"] == "Mercury (planet)"
    assert "satellite" not in likely  # once is not enough
    assert "here" not in likely
    assert mentions(found, min_anchors=1)["satellite"] == "Moon"
    assert mentions(found, min_commonness=0.5)["here"] == "Time"  # of two, the earlier article
    assert "innermost planet" not in mentions(found, use_anchors=False)


def test_link_probability():
    found = statistics(("Time", TIME, 3), ("innermost planet", PLANET, 3))
    counts = found.counts()
    linker = EntityLinker(likely_mentions(NAMES, counts, LinkingOptions())[0])
    seen: Counter[str] = Counter()
    for _ in range(99):
        linker.count("Time and time again: the Timekeeper", seen)
    linker.count("The innermost planet. Innermost planet", seen)
    assert seen == {"Time": 99, "innermost planet": 1}
    likely, _ = likely_mentions(
        NAMES, counts, LinkingOptions(min_link_probability=0.05), seen, anchors_seen(counts)
    )
    assert "Time" not in likely  # 4 of 100
    assert {"innermost planet", "Moon"} <= set(likely)
    likely, _ = likely_mentions(
        NAMES, counts, LinkingOptions(min_link_probability=0.04), seen, anchors_seen(counts)
    )
    assert "Time" in likely


def test_small_first_letters_count_for_the_title():
    linker = EntityLinker({"Oil painting": "Oil painting"})
    seen: Counter[str] = Counter()
    linker.count("An oil painting. Oil painting", seen)
    assert seen == {"Oil painting": 2}


def test_hidden_anchors_are_not_counted():
    found = statistics(("moonlet", MOON, 2), ("moonlet", TIME, 1))
    counts = found.counts(without=np.array([True, True, False]))
    number = counts.numbers["moonlet"]
    assert (counts.total[number], counts.best[number]) == (1, TIME)
    assert found.targets.tolist() == [MOON, MOON, TIME]


def test_typographic_variants_are_one_mention():
    counts = statistics(("Moon\u2019s\u00a0side", MOON, 1), ("Moon's side", MOON, 1)).counts()
    assert counts.total[counts.numbers["Moon's side"]] == 2


def test_held_out():
    result = HeldOut()
    result.add(
        [(0, 4, "Moon"), (10, 14, "Time"), (20, 24, "Mercury"), (30, 34, None), (40, 44, None)],
        [(0, 4, "Moon"), (9, 15, "Moon"), (30, 33, "Time"), (50, 55, "Moon")],
    )
    assert result.report() == {
        "anchors": 3,
        "linked": 2,
        "same_span": 1,
        "right": 1,
        "outside": 2,
        "outside_linked": 1,
        "rate": 0.6667,
        "precision": 0.3333,
    }
    assert "rate" not in HeldOut().report()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_commonness": 1.5}, "min_commonness=1.5: a share"),
        ({"held_out": 0.9}, "held_out=0.9: hide at most half"),
        ({"min_anchors": 0}, "min_anchors=0: need at least 1"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        LinkingOptions(**options)
