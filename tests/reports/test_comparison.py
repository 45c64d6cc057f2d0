"""What is compared: groups, order, seeds, the best, the headline and the panels."""

from __future__ import annotations

import pytest

from tests.reports.synthetic import make_rows
from tests.reports.test_results import GOOD
from wikinav_jax.reports import names
from wikinav_jax.reports.comparison import Line, compare
from wikinav_jax.reports.headline import make_headline
from wikinav_jax.reports.intervals import make_panels
from wikinav_jax.reports.results import parse_row


def rows_of(*changes):
    return [parse_row({**GOOD, "low": None, "high": None, **change}) for change in changes]


def test_seeds_are_averaged_with_their_deviation():
    rows = [
        parse_row({**GOOD, "seed": 0, "value": 0.4, "low": 0.3, "high": 0.5}),
        parse_row({**GOOD, "seed": 1, "value": 0.5, "low": 0.4, "high": 0.6, "n": 80}),
        parse_row({**GOOD, "seed": 2, "value": 0.6, "low": 0.5, "high": 0.7}),
    ]
    (comparison,) = compare(rows)
    figure = comparison.get("multistep", Line("rfbc", "argmax"), "success")
    assert figure is not None
    assert figure.value == pytest.approx(0.5)
    assert figure.deviation == pytest.approx(0.1)
    assert (figure.low, figure.high) == (pytest.approx(0.4), pytest.approx(0.6))
    assert figure.n == 80 and figure.seeds == (0, 1, 2)
    assert (
        compare(rows[:1])[0].get("multistep", Line("rfbc", "argmax"), "success").deviation is None
    )


def test_groups_are_kept_apart_and_held_out_comes_first():
    groups = compare(rows_of({"split": "train"}, {"split": "eval"}, {"dataset": "other"}))
    assert [(c.group.split, c.group.dataset) for c in groups] == [
        ("eval", "harrow"),
        ("eval", "other"),
        ("train", "harrow"),
    ]


def test_tasks_that_share_no_metric_are_kept_apart():
    ranks = [
        {"task": task, "metric": metric, "value": 1.0}
        for task, metric in (("ranks_a", "mrr"), ("ranks_b", "mean_rank"))
    ]
    apart = compare(rows_of(*ranks, {}))
    assert [c.tasks for c in apart] == [("multistep",), ("ranks_a",), ("ranks_b",)]
    assert [c.main_metric for c in apart] == ["success", "mrr", "mean_rank"]
    # A task that has both metrics joins the others.
    joint = {"task": "ranks_c", "value": 1.0}
    bridge = [{**joint, "metric": "mean_rank"}, {**joint, "metric": "mrr"}]
    together = compare(rows_of(*ranks, *bridge, {}))
    assert [c.tasks for c in together] == [("multistep",), ("ranks_a", "ranks_b", "ranks_c")]


def test_order_of_tasks_lines_and_metrics():
    (comparison,) = compare(map(parse_row, make_rows()))
    assert comparison.tasks == ("5-step", "10-step", "20-step", "multistep")
    assert comparison.metrics == ("success", "spl", "mean_steps")
    # Decodings in a fixed order, and the learned method first under each.
    assert comparison.lines[:4] == (
        Line("rfbc", "sample"),
        Line("random", "sample"),
        Line("rfbc", "argmax"),
        Line("greedy", "argmax"),
    )


def test_best_and_ties():
    changes = [("a", 0.5), ("b", 0.5001), ("c", 0.2)]
    (comparison,) = compare(rows_of(*({"method": m, "value": v} for m, v in changes)))
    assert comparison.best("multistep", "success") == {Line("a", "argmax"), Line("b", "argmax")}
    steps = [{"metric": "mean_steps", "method": m, "value": v} for m, v in changes]
    (comparison,) = compare(rows_of(*steps))
    assert comparison.best("multistep", "mean_steps") == frozenset()
    (comparison,) = compare(rows_of({}))
    assert comparison.best("multistep", "success") == frozenset()  # nothing to beat


def headline_of(*rows):
    headline = make_headline(compare(rows)[0])
    assert headline is not None
    return headline.sentence


def test_headline_claims_what_the_intervals_allow():
    ours = parse_row({**GOOD, "value": 0.9, "low": 0.88, "high": 0.92})
    theirs = {**GOOD, "method": "greedy"}
    apart = parse_row({**theirs, "value": 0.8, "low": 0.78, "high": 0.82})
    near = parse_row({**theirs, "value": 0.89, "low": 0.87, "high": 0.91})
    ahead = parse_row({**theirs, "value": 0.95, "low": 0.94, "high": 0.96})
    assert headline_of(ours, apart) == (
        "RFBC (argmax) reaches 90.0% of its targets on the multistep task (95% interval "
        "88.0–92.0, 100 episodes). The best baseline, Greedy, reaches 80.0%; the intervals do not "
        "overlap."
    )
    assert headline_of(ours, near).endswith("reaches 89.0%; the intervals overlap.")
    assert "does better, at 95.0%; the intervals do not overlap." in headline_of(ours, ahead)


def test_headline_with_little_to_go_by():
    assert headline_of(*rows_of({"method": "greedy"})).startswith("Greedy reaches 50.0%")
    assert "best baseline" not in headline_of(*rows_of({}))
    assert headline_of(*rows_of({"task": "5-step"}, {"task": "10-step"})).count("10-step") == 1
    other = headline_of(*rows_of({"metric": "mrr"}, {"metric": "mrr", "method": "random"}))
    assert other.startswith("RFBC (argmax) has MRR 50.0%")


def test_headline_over_seeds():
    sentence = headline_of(*rows_of({"value": 0.4}, {"value": 0.6, "seed": 1}))
    assert "50.0%" in sentence and "mean of 2 seeds, standard deviation 14.1" in sentence


def test_duels_compare_the_same_decoding():
    headline = make_headline(compare(map(parse_row, make_rows()))[0])
    assert headline is not None
    assert [(d.decoding, d.value, d.baseline, d.baseline_value) for d in headline.duels] == [
        ("Sampled", "77.4%", "Random", "28.3%"),
        ("Argmax", "54.8%", "Greedy", "44.3%"),
        ("Without revisits", "92.9%", "Greedy without revisits", "87.1%"),
    ]


def test_panels_place_values():
    rows = [
        parse_row({**GOOD, "value": 0.25, "low": 0.2, "high": 0.5}),
        parse_row({**GOOD, "method": "greedy", "value": 1.0, "low": 0.9, "high": 1.0}),
    ]
    (panel,) = make_panels(compare(rows)[0])
    ((decoding, (ours, theirs)),) = panel.groups
    assert decoding == "Argmax" and panel.episodes == "100"
    assert (ours.x, ours.low, ours.high) == (25, 20, 50) and not ours.is_baseline
    assert (theirs.x, theirs.is_baseline, theirs.is_best) == (100, True, True)
    # What is no fraction gets an axis from its own values, from 0.
    steps = rows_of(
        {"metric": "mean_steps", "value": 12}, {"metric": "mean_steps", "seed": 1, "value": 30}
    )
    (panel,) = make_panels(compare(steps)[0])
    dot = panel.groups[0][1][0]
    assert panel.axis.low == 0 and panel.axis.high >= 21 and len(dot.seeds) == 2


@pytest.mark.parametrize(
    ("method", "label", "baseline"),
    [
        ("rfbc", "RFBC", False),
        ("rfbc_transformer", "RFBC transformer", False),
        ("greedy", "Greedy", True),
        ("Random DFS", "Random DFS", True),
        ("my_own", "my own", False),
        ("r2d2_sight_claim", "R2D2 sight claim", False),
        ("r2d2_sight_claim_pro_alone", "R2D2 sight claim pro alone", True),
        ("r2d2_con_alone", "R2D2 con alone", True),
    ],
)
def test_method_names(method, label, baseline):
    assert names.method_label(method) == label
    assert names.is_baseline(method) == baseline


def test_dataset_names():
    assert names.dataset_label("codex_s") == "CoDEx-S"
    assert names.dataset_label("my_triples") == "My triples"


def test_line_labels():
    assert Line("greedy", "no_revisit").label == "Greedy without revisits"
    assert Line("greedy", "dfs").label == "Greedy DFS"
    assert Line("greedy", "argmax").label == "Greedy"
    assert Line("greedy", "sample").label == "Greedy, sampled"
    assert Line("random", "sample").label == "Random"
    assert Line("greedy_lookahead", "no_revisit").label == ("Greedy look-ahead without revisits")
    assert Line("rfbc", "no_revisit").label == "RFBC, without revisits"
    assert Line("rfbc", "").label == "RFBC"
    assert Line("rfbc", "-").label == "RFBC"


def test_notes_are_said_once_and_not_tabled():
    excluded = {"metric": "excluded", "value": 4, "n": 104}
    (comparison,) = compare(rows_of({}, excluded, {**excluded, "method": "greedy"}))
    assert comparison.metrics == ("success",) and comparison.lines == (Line("rfbc", "argmax"),)
    assert comparison.notes == {"multistep": "4 excluded"}
    assert make_panels(comparison)[0].note == "4 excluded"
    (comparison,) = compare(rows_of({}, excluded, {**excluded, "value": 6, "seed": 1}))
    assert comparison.notes == {"multistep": "up to 6 excluded"}
    assert compare(rows_of(excluded)) == []


def test_natural_order():
    tasks = ["multistep", "20-step", "5-step", "10-step"]
    assert sorted(tasks, key=names.natural) == ["5-step", "10-step", "20-step", "multistep"]
