"""Debates in reports: parsing, the terminal, the page, and the quiz's claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.reports.debates import make_debate
from wikinav_jax.reports.calibration import parse_calibration
from wikinav_jax.reports.debate_view import format_debate, percent, view_debate
from wikinav_jax.reports.debates import parse_debate, readable_debates
from wikinav_jax.reports.page import write_debates_page, write_quiz_page, write_report
from wikinav_jax.reports.quiz import MASK, quiz_claims
from wikinav_jax.reports.strings import display_width

HOSTILE = '<script>document.title="pwned"</script><img src=x onerror=alert(1)>'


def test_verdict_and_label():
    assert parse_debate(make_debate(0)).is_right
    assert not parse_debate(make_debate(1)).is_right
    assert parse_debate(make_debate(1, label=None)).is_right is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probability": 1.5}, r"debate\.probability=1.5 must lie in \[0, 1\]"),
        ({"probability": float("nan")}, r"debate\.probability=nan must be a finite"),
        ({"label": "yes"}, r"debate\.label='yes'"),
        ({"subject": {"id": "x"}}, r"debate\.subject\.name=None must be a str"),
        ({"rollouts": 0}, r"debate\.rollouts=0 must be at least 1"),
        ({"pro": [{"score": 1.0, "count": 1}]}, r"debate\.pro\[0\]\.hops=None"),
        ({"con": {}}, r"debate\.con={} must be a list"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        parse_debate(make_debate(**changes))


def test_bad_debates_are_left_out_with_a_complaint():
    found, complaints = readable_debates([make_debate(), {"subject": 1}, "no"])
    assert len(found) == 1
    assert len(complaints) == 2
    assert "debates[1]" in complaints[0]


def test_in_the_terminal():
    text = format_debate(make_debate(), width=60)
    assert "Person 0 | citizen of | Land" in text
    assert "+2.50  Person 0 —lives in→ City 0 —lies in→ Land" in text
    assert "−1.25  Person 0 —lives in→ City 0 —has resident→ Person 0" in text
    assert "With con silenced it would say 90%, with pro silenced" in text.replace("\n", " ")
    assert "the judge is right" in text
    assert all(len(line) <= 60 for line in text.splitlines())
    assert "\x1b[" in format_debate(make_debate(), color=True)


def test_wide_letters_are_wrapped_by_the_columns_they_take():
    hops = [{**make_debate()["pro"][0]["hops"][1], "relation": "位于城市"}] * 6
    text = format_debate(make_debate(pro=[{"score": 1.0, "count": 1, "hops": hops}]), width=60)
    assert all(display_width(line) <= 60 for line in text.splitlines())


def test_control_characters_never_reach_the_terminal():
    debate = make_debate(relation={"id": "r", "name": "\x1b[31mred"})
    assert "\x1b" not in format_debate(debate)


@pytest.mark.parametrize(
    ("share", "shown"), [(0, "0%"), (0.001, "<1%"), (0.5, "50%"), (0.999, ">99%"), (1, "100%")]
)
def test_percent(share, shown):
    assert percent(share) == shown


def test_bars_are_shares_of_the_strongest():
    view = view_debate(parse_debate(make_debate()))
    assert [item.bar for item in view.pro] == [100]
    assert [item.bar for item in view.con] == [50, 0]


def test_bars_are_coloured_by_what_an_argument_speaks_for():
    hops = make_debate()["pro"][0]["hops"]
    con = [{"score": score, "count": 1, "hops": hops} for score in (-1.0, 0.5)]
    view = view_debate(parse_debate(make_debate(con=con)))
    assert [item.speaks for item in view.pro] == ["pro"]
    assert [item.speaks for item in view.con] == ["con", "pro"]


def test_the_report_shows_debates(tmp_path: Path):
    debates = [make_debate(0), make_debate(1), make_debate(2, label=None)]
    (tmp_path / "debates.json").write_text(json.dumps({"debates": debates}))
    html = write_report(tmp_path).read_text()
    assert 'id="debates"' in html
    assert html.count('<details class="debate ') == 3
    assert "is true: the judge is wrong" in html
    assert "walks.json is not there" not in html


CALIBRATION = {
    "method": "r2d2",
    "threshold": 0.5,
    "relations": [{"relation": "citizen of", "claims": 30, "accuracy": 0.8, "roc_auc": None}],
    "reliability": [
        {"probability": 0.1, "true": 0.2, "claims": 9},
        {"probability": 0.9, "true": 0.75, "claims": 21},
    ],
}


def test_the_report_shows_calibration(tmp_path: Path):
    (tmp_path / "classification.json").write_text(json.dumps(CALIBRATION))
    html = write_report(tmp_path).read_text()
    assert 'id="calibration"' in html
    assert html.count("<circle class") == 2
    assert 'cx="270.0" cy="75.0"' in html  # said 0.9, true 0.75
    assert "citizen of" in html


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threshold": None}, "threshold=None must be a finite number"),
        ({"relations": [{"relation": 3}]}, r"relations\[0\]\.relation=3"),
        (
            {"reliability": [{"probability": 2, "true": 0, "claims": 1}]},
            r"reliability\[0\]\.probability=2.0 must lie",
        ),
        ({"reliability": [{"probability": 0, "true": 0, "claims": 0}]}, "claims=0"),
        ({"reliability": {}}, "reliability must be a list"),
    ],
)
def test_calibration_that_cannot_be_is_named(changes, message, tmp_path: Path):
    with pytest.raises(ValueError, match=message):
        parse_calibration({**CALIBRATION, **changes})
    (tmp_path / "classification.json").write_text(json.dumps({**CALIBRATION, **changes}))
    assert "classification.json could not be read" in write_report(tmp_path).read_text()


def test_a_page_escapes_what_the_graph_says(tmp_path: Path):
    hostile = make_debate(relation={"id": "r", "name": HOSTILE})
    for page in (
        write_debates_page([hostile], tmp_path / "page.html", HOSTILE),
        write_quiz_page([hostile], tmp_path / "quiz.html", HOSTILE),
    ):
        html = page.read_text()
        assert "<script>document" not in html
        assert "<img src=x" not in html


def test_quiz_claims_mask_the_subject():
    debates = [parse_debate(make_debate(i, label=i % 2 == 0)) for i in range(6)]
    claims = quiz_claims(debates, seed=3, arguments=1)
    assert [claim.number for claim in claims] == [1, 2, 3, 4, 5, 6]
    for claim in claims:
        assert claim.question == f"{MASK} — citizen of — Land"
        assert len(claim.arguments) == 2  # one of each side; nothing said is not shown
        assert all("Person" not in path for path, _ in claim.arguments)
        assert claim.answer.startswith("Person")
    again = quiz_claims(debates, seed=3, arguments=1)
    assert claims == again
    others = quiz_claims(debates, seed=4, arguments=1)
    assert [c.answer for c in claims] != [c.answer for c in others]


def test_a_quiz_masks_a_subject_that_is_its_own_object():
    person = make_debate(0)["subject"]
    claim = quiz_claims([parse_debate(make_debate(0, object=person))], seed=0, arguments=1)[0]
    assert claim.question == f"{MASK} — citizen of — {MASK}"
    assert claim.answer == "Person 0 — citizen of — Person 0"


def test_a_quiz_needs_labelled_debates():
    with pytest.raises(ValueError, match="at least one"):
        quiz_claims([], seed=0, arguments=1)
    with pytest.raises(ValueError, match="has no label"):
        quiz_claims([parse_debate(make_debate(label=None))], seed=0, arguments=1)
