"""Games against people: who needed fewer clicks, by hand and in the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wikinav_jax.reports.comparison import compare
from wikinav_jax.reports.games import distance_chart, make_distance_charts, make_matches
from wikinav_jax.reports.page import write_report
from wikinav_jax.reports.results import parse_row

AGENT, GREEDY = ("rfbc_articles", "no_revisit"), ("greedy", "no_revisit")
HUMAN, MODEL = ("human", ""), ("gpt_4o_mini", "")


def row(split: str, task: str, who: tuple[str, str], metric: str, value: float, n: int = 200):
    return {
        "system": "rfbc_articles",
        "dataset": "wikispeedia_articles",
        "split": split,
        "task": task,
        "method": who[0],
        "decoding": who[1],
        "metric": metric,
        "value": value,
        "low": None,
        "high": None,
        "n": n,
        "seed": 0,
    }


def make_rows() -> list[dict[str, Any]]:
    """Rows as the navigation room writes them."""
    rows = []
    for who, success, fewer, same in ((AGENT, 0.995, 0.6, 0.25), (GREEDY, 0.99, 0.4, 0.2)):
        rows.append(row("finished_games", "all_pairs", who, "success", success))
        rows.append(row("given_up_games", "all_pairs", who, "success", success - 0.03, 150))
        for opponent in ("human", "human_clicks", "gpt_4o_mini"):
            for metric, value in (
                (f"fewer_than_{opponent}", fewer),
                (f"same_as_{opponent}", same),
                (f"more_than_{opponent}", 1 - fewer - same),
            ):
                rows.append(row("finished_games", "all_pairs", who, metric, value))
    rows.append(row("finished_games", "all_pairs", MODEL, "success", 0.48))
    for distance in (1, 2, 3, 4, 5):
        task, split = f"{distance}-click", "finished_games_by_distance"
        n = 200 if distance < 5 else 3
        for who, extra in ((AGENT, 0.2), (GREEDY, 1.5), (HUMAN, 2.0)):
            rows.append(row(split, task, who, "mean_steps", distance + extra, n))
        for who, success in ((AGENT, 1.0), (MODEL, 1 - distance / 10)):
            rows.append(row(split, task, who, "success", success, n))
    return rows


@pytest.fixture
def comparisons():
    return tuple(compare([parse_row(item) for item in make_rows()]))


def test_games_come_first_and_by_distance_last(comparisons):
    assert [comparison.group.split for comparison in comparisons] == [
        "finished_games",
        "given_up_games",
        "finished_games_by_distance",
    ]


def test_matches(comparisons):
    people, all_clicks, model = make_matches(comparisons[0])
    assert [match.opponent for match in (people, all_clicks, model)] == [
        "people",
        "people, with the clicks that they took back",
        "GPT-4o-mini, where it arrived",
    ]
    agent, greedy = people.shares
    assert (agent.player, agent.is_baseline) == ("RFBC articles, without revisits", False)
    assert agent.shown == ("60.0", "25.0", "15.0")
    assert (greedy.player, greedy.is_baseline) == ("Greedy without revisits", True)
    assert people.pairs == "200"
    assert make_matches(comparisons[1]) == []


def test_a_chart_over_distances(comparisons):
    chart = distance_chart(comparisons[2], "mean_steps", "Clicks")
    (view,) = chart.views
    # Three pairs at distance 5 are too few for a point.
    assert [label for _, label in view.x_axis.ticks] == ["1", "2", "3", "4"]
    agent = next(line for line in view.lines if line.label.startswith("RFBC"))
    assert [x for x, _, _ in agent.dots] == pytest.approx([0, 33.33, 66.67, 100], abs=0.01)
    assert agent.dots[2][2] == "3 away: 3.2"
    top = view.y_axis.high
    assert agent.dots[3][1] == pytest.approx(100 * (1 - 4.2 / top), abs=0.01)
    assert "RFBC articles, without revisits: from 1.2 to 4.2 at 4" in chart.description
    assert [chart.title for chart in make_distance_charts(comparisons)] == [
        "Mean clicks, where the target was reached",
        "Reached, of pairs that people finished (%)",
    ]


def test_one_distance_makes_no_chart():
    rows = [row("finished_games_by_distance", "3-click", AGENT, "mean_steps", 3.5)]
    (comparison,) = compare([parse_row(item) for item in rows])
    assert distance_chart(comparison, "mean_steps", "Clicks") is None


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games")
    (folder / "results.json").write_text(json.dumps(make_rows()), encoding="utf-8")
    return write_report(folder)


def test_the_page_has_the_section(report: Path):
    page = report.read_text(encoding="utf-8")
    assert "Against people, with the clicks that they took back" in page
    assert "GPT-4o-mini" in page
    # What the charts show is not tabled again as tasks of their own.
    assert "3-click" not in page


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_bars_are_as_wide_as_their_shares(browser, report, width):
    browser.requests()
    browser.open(report, width=width)
    assert browser.complaints() == []
    assert set(browser.requests()) == {report.as_uri()}
    assert browser.run("return document.documentElement.scrollWidth") <= width
    bars = browser.run(
        """return [...document.querySelectorAll('.match tbody tr')].map(row => {
             const track = row.querySelector('.shares svg').getBoundingClientRect();
             const parts = [...row.querySelectorAll('.shares rect')].map(
               part => 100 * part.getBoundingClientRect().width / track.width);
             const said = [...row.querySelectorAll('td.num')].map(cell => +cell.textContent);
             return [parts, said, track.width];
           })"""
    )
    assert len(bars) == 6
    for parts, said, width in bars:
        assert width > 40
        assert parts == pytest.approx(said, abs=0.5)
        assert sum(said) == pytest.approx(100, abs=0.15)
    colors = browser.run(
        """return [...document.querySelectorAll('.shares svg')][0].querySelectorAll('rect').length
             && [...document.querySelector('.shares svg').children].map(
               part => getComputedStyle(part).fill)"""
    )
    assert len(set(colors)) == 3
    dots = browser.run("return document.querySelectorAll('#games .plot circle').length")
    assert dots == 3 * 4 + 2 * 4
