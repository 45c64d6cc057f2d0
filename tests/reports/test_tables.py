"""Tables as Markdown and for the terminal."""

from __future__ import annotations

import re

import pytest

from tests.reports.synthetic import make_rows
from tests.reports.test_results import GOOD
from wikinav_jax.reports.strings import display_width
from wikinav_jax.reports.tables import results_table

ROWS = [
    GOOD,
    {**GOOD, "method": "greedy", "value": 0.4375, "low": 0.41, "high": 0.48},
    {**GOOD, "task": "5-step", "value": 0.9, "low": 0.85, "high": 0.95},
]


def test_markdown():
    assert results_table(ROWS) == (
        "| Method | 5-step | Multistep |\n"
        "|---|---:|---:|\n"
        "| RFBC, argmax | 90.0 (85.0–95.0) | **50.0 (40.0–60.0)** |\n"
        "| Greedy | – | 43.8 (41.0–48.0) |\n"
    )


def test_terminal():
    assert results_table(ROWS, style="terminal") == (
        "Success (%), Harrow, held-out graph\n"
        "Method                  5-step          Multistep\n"
        "──────────────────────────────────────────────────\n"
        "RFBC, argmax  90.0 (85.0–95.0)   50.0 (40.0–60.0)*\n"
        "Greedy                       –   43.8 (41.0–48.0)\n"
    )


def test_a_method_keeps_its_decoding_in_the_terminal():
    row = {**GOOD, "method": "r2d2_sight_claim_con_alone", "decoding": "beam"}
    table = results_table([row], style="terminal")
    assert "R2D2 sight claim con alone, beam search" in table


def test_terminal_in_colour_differs_only_by_codes():
    coloured = results_table(make_rows(), style="terminal", color=True)
    assert "\x1b[1m" in coloured
    plain = re.sub(r"\x1b\[\d+m", "", coloured)
    widths = {display_width(line) for line in plain.splitlines()[2:]}
    assert len(widths) == 1
    assert "*" not in plain


def test_seeds_and_other_metrics():
    rows = [{**GOOD, "value": 0.4}, {**GOOD, "seed": 1, "value": 0.6}]
    assert "50.0 ± 14.1" in results_table(rows)
    table = results_table(make_rows(), metric="mean_steps")
    assert "13.2 (12.1–14.3)" in table and "**" not in table


def test_several_groups_give_several_tables():
    table = results_table([*ROWS, {**GOOD, "split": "train"}])
    assert table.count("| Method |") == 2
    assert "**Success (%), Harrow, held-out graph**" in table
    assert table.index("held-out") < table.index("training graph")


def test_markdown_of_hostile_names():
    table = results_table([{**GOOD, "method": "a|b<script>*`\x1b[31m\n", "task": "x|y"}])
    line = table.splitlines()[2]
    assert r"a\|b\<script\>\*\`" in line and "\x1b" not in table
    assert len(table.splitlines()) == 3


def test_errors():
    with pytest.raises(ValueError, match="metrics in these rows: success"):
        results_table(ROWS, metric="spl")
    with pytest.raises(ValueError, match="there are no rows"):
        results_table([])
    with pytest.raises(ValueError, match="style='html'"):
        results_table(ROWS, style="html")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1"):
        results_table([{**GOOD, "n": 0}])
