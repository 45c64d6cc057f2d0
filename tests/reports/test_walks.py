"""Walks: parsed with care, laid out for the page, and printed for the terminal."""

from __future__ import annotations

import copy
import itertools
import math
import re

import pytest

from tests.reports.synthetic import make_walks
from wikinav_jax.reports.strings import display_width
from wikinav_jax.reports.terminal import MIN_WIDTH, format_walk
from wikinav_jax.reports.walk_view import HEAD_STEPS, TAIL_STEPS, percent, signed, view_walk
from wikinav_jax.reports.walks import parse_walk, readable_walks


def place(node, title="Place", section="", text="Some text."):
    return {"node": node, "title": f"{title} {node}", "section": section, "text": text}


def option(node, probability, **more):
    plain = {"kind": "hyperlink", "cosine": None, "anchor": None, "visited": False}
    return {**place(node), **plain, "probability": probability, **more}


def walk_over(nodes, *, target=99, outcome="failure", offers=None, **more):
    """A walk that stands on each of `nodes` and moves to the next one."""
    offers = offers or {}
    steps = [
        {
            **place(node),
            "chosen": 0,
            "alternatives": [option(after, 0.5), *offers.get(node, [])],
            "num_alternatives": 1 + len(offers.get(node, [])),
        }
        for node, after in itertools.pairwise(nodes)
    ]
    return {
        "task": "multistep",
        "decoding": "argmax",
        "outcome": outcome,
        "start": place(nodes[0]),
        "target": place(target),
        "shortest": 3,
        "steps": steps,
        "reason": "",
        **more,
    }


def test_all_walks_of_a_run_parse():
    walks, complaints = readable_walks(make_walks())
    assert len(walks) == 6 and complaints == []
    first = walks[0]
    assert parse_walk(first) is first
    assert next(step.place.node for step in first.steps) == first.start.node
    assert first.route[-1][0] == first.target.node


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("outcome",), "won", "'success' or 'failure'"),
        (("outcome",), None, "a string"),
        (("start",), None, r"walk\.start is None: it must be an object"),
        (("shortest",), -1, "an integer from 0"),
        (("steps",), {}, r"walk\.steps .* a list"),
        (("steps", 0, "chosen"), 9, "an index below"),
        (("steps", 0, "chosen"), True, "an integer"),
        (("steps", 0, "node"), "7", r"walk\.steps\[0\]\.node"),
        (("steps", 0, "alternatives", 0, "probability"), math.nan, "a number from 0 to 1"),
        (("steps", 0, "alternatives", 0, "probability"), 62.0, "a number from 0 to 1"),
        (("steps", 0, "alternatives", 0, "cosine"), "x", "a number from -1 to 1"),
        (("steps", 0, "alternatives", 0, "anchor"), [1], r"\[start, end\] or null"),
        (("steps", 0, "alternatives", 0, "visited"), 1, "true or false"),
        (("steps", 0, "alternatives", 0, "title"), 5, "a string"),
    ],
)
def test_wrong_walks(path, value, message):
    walk = copy.deepcopy(make_walks()[0])
    inner = walk
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        parse_walk(walk)
    walks, complaints = readable_walks([walk, make_walks()[0], 5])
    assert len(walks) == 1 and len(complaints) == 2


def test_missing_fields_are_named():
    walk = make_walks()[0]
    del walk["steps"][0]["alternatives"][1]["kind"]
    with pytest.raises(ValueError, match=r"walk\.steps\[0\]\.alternatives\[1\] lacks 'kind'"):
        parse_walk(walk)


def test_what_may_be_absent():
    walk = parse_walk(walk_over([1, 2], shortest=None, steps=[], reason="no links lead on"))
    assert walk.num_moves == 0 and walk.shortest is None
    assert view_walk(walk, 1).ending == "Target not reached after 0 steps: no links lead on."
    stuck = walk_over([1, 2])
    stuck["steps"].append({**place(2), "chosen": None, "alternatives": []})
    assert parse_walk(stuck).num_moves == 1
    assert [node for node, _ in parse_walk(stuck).route] == [1, 2]


def test_rounding_and_the_graph_s_empty_anchor():
    walk = walk_over([1, 2], offers={1: [option(5, 1.0000001, anchor=[0, 0], cosine=-1.0000002)]})
    alternative = parse_walk(walk).steps[0].alternatives[1]
    assert alternative.probability == 1 and alternative.cosine == -1
    assert alternative.anchor is None


def test_failure_notes():
    circle = parse_walk(walk_over([1, 2, 3, 4, 3, 4, 3, 4]))
    assert circle.failure_note == (
        "It saw 4 different blocks, the last new one at step 4, and then went round 2 blocks for "
        "4 steps."
    )
    missed = parse_walk(walk_over([1, 2, 3], offers={1: [option(99, 0.1)], 2: [option(99, 0.25)]}))
    assert missed.failure_note == (
        "The target was within reach 2 times, the likeliest at step 2 (probability 25.0%), and "
        "was passed by."
    )
    assert parse_walk(walk_over([1, 2, 3])).failure_note == ""
    assert parse_walk(walk_over([1, 1, 1, 1])).failure_note.startswith(
        "It saw 1 different block, none but the start"
    )
    assert parse_walk(walk_over([1, 99], outcome="success")).failure_note == ""


def test_endings():
    direct = walk_over([1, 2, 5, 99], outcome="success")
    assert view_walk(parse_walk(direct), 1).ending == "Target reached in 3 steps, a shortest path."
    longer = view_walk(parse_walk({**direct, "shortest": 2}), 1)
    assert longer.ending == "Target reached in 3 steps; a shortest path takes 2."
    unknown = view_walk(parse_walk({**direct, "shortest": None}), 1)
    assert unknown.ending == "Target reached in 3 steps."
    failed = view_walk(parse_walk(walk_over([1, 2], reason="the budget ran out.")), 1)
    assert failed.ending == "Target not reached after 1 step: the budget ran out."


def test_long_walks_are_shown_in_short():
    view = view_walk(parse_walk(walk_over(list(range(1, 102)))), 1)
    assert len(view.head) == HEAD_STEPS and len(view.tail) == TAIL_STEPS
    assert len(view.head) + len(view.middle) + len(view.tail) == 100
    numbers = [step.number for step in (*view.head, *view.middle, *view.tail)]
    assert numbers == list(range(1, 101))
    assert sum(stop.count for stop in view.route) == 101


def test_alternatives_are_ranked_and_never_hide_the_chosen_or_the_target():
    others = [option(node, 0.9 - node / 100) for node in range(10, 30)]
    walk = walk_over([1, 2, 3], offers={1: [*others, option(99, 0.001)]})
    walk["steps"][0]["alternatives"][0]["probability"] = 0.01
    walk["steps"][0]["num_alternatives"] = 500
    step = view_walk(parse_walk(walk), 1).head[0]
    assert [item.percent for item in step.shown[:3]] == ["80.0%", "79.0%", "78.0%"]
    assert step.shown[3].chosen and step.shown[4].is_target
    assert len(step.shown) == 5 and len(step.folded) == 17
    assert step.unlisted == 478 and step.total == 500
    assert step.taken is not None and step.taken.percent == "1.0%"


def test_text_shown_for_a_step_to_the_next_block():
    text = "start " + "middle " * 200 + "finish"
    walk = walk_over([1, 2, 3])
    walk["steps"][0].update(text=text)
    walk["steps"][0]["alternatives"][0]["kind"] = "next"
    step = view_walk(parse_walk(walk), 1).head[0]
    assert step.window.pieces[-1].text.endswith("finish") and step.window.cut_before
    assert step.whole is not None and step.whole.is_whole


def test_signed():
    assert [signed(value) for value in (0.414, -0.071, -0.0049, 0.0)] == [
        "0.41",
        "−0.07",
        "0.00",
        "0.00",
    ]


def test_percent():
    assert [percent(p) for p in (0, 1e-9, 0.0005, 0.1234, 1)] == [
        "0.0%",
        "<0.1%",
        "0.1%",
        "12.3%",
        "100.0%",
    ]


ANSI = re.compile(r"\x1b\[[\d;]*m")


@pytest.mark.parametrize("width", [10, 40, 64, 88, 200])
@pytest.mark.parametrize("index", range(6))
def test_terminal_keeps_to_its_width(width, index):
    walk = make_walks()[index]
    plain = format_walk(walk, width)
    assert max(map(display_width, plain.splitlines())) <= max(width, MIN_WIDTH)
    assert "\x1b" not in plain
    coloured = ANSI.sub("", format_walk(walk, width, color=True))
    assert max(map(display_width, coloured.splitlines())) <= max(width, MIN_WIDTH)


def test_terminal_says_what_matters():
    text = format_walk(make_walks()[0], 88)
    assert text.startswith("Start   Salt road › Route › Over the pass\nTarget  Tide gauge\n")
    assert "hung small bells of [Bell bronze] on the lead mule" in text
    assert "▸  79.6% █████████▌    0.40 ↗ link Tide gauge (target)" in text
    assert text.endswith("Target reached in 2 steps, a shortest path.\n")
    failed = format_walk(make_walks()[5], 88)
    assert "(visited)" in failed and "(back here, first at step" in failed
    assert "budget of 100 steps was used up" in " ".join(failed.split())


def test_terminal_with_hostile_and_wide_text():
    walk = make_walks()[0]
    for step in walk["steps"]:
        step["title"] = "\x1b]0;owned\x07\u202e山川草木" * 30
        step["text"] = "山川草木" * 400 + "\x1b[2J\x9b2J" + "word\u0301 " * 300
        for alternative in step["alternatives"]:
            alternative["title"] = "عنوان طويل جدا " * 20 + "\x1b[31m"
            alternative["anchor"] = [10, 900]
    text = format_walk(walk, 72)
    assert max(map(display_width, text.splitlines())) <= 72
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    coloured = format_walk(walk, 72, color=True)
    assert not re.search(r"\x1b(?!\[[\d;]*m)", coloured)


def test_terminal_of_empty_texts_and_walks():
    walk = walk_over([1, 2])
    walk["steps"][0]["text"] = ""
    assert "(no text)" in format_walk(walk)
    stuck = walk_over([1, 2], steps=[{**place(1), "chosen": None, "alternatives": []}])
    assert "No links lead on from here." in format_walk(stuck)
    assert format_walk(walk_over([1, 2], steps=[])).endswith("Target not reached after 0 steps.\n")


def test_ends_are_told_apart():
    walk = walk_over([1, 2, 3])
    assert view_walk(parse_walk(walk), 1).ends == (("Place 1",), ("Place 99",))
    walk["target"]["title"] = walk["start"]["title"] = "Salt"
    assert view_walk(parse_walk(walk), 1).ends == (("Salt", "#1"), ("Salt", "#99"))
    walk["target"]["section"] = "Trade > Roads"
    assert view_walk(parse_walk(walk), 1).ends == (("Salt",), ("Salt", "Trade", "Roads"))
