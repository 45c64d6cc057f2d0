"""Plots of distributions, and the page of them."""

from __future__ import annotations

import pytest

from wikinav_jax.reports.distributions import histogram_plot, shares_plot, survival_plot
from wikinav_jax.reports.page import write_plots_page


def test_survival():
    plot = survival_plot(
        "Links", {"out": ([1, 10, 100], [1.0, 0.1, 0.01]), "none": ([], [])}, x_label="links"
    )
    (line,) = plot.view.lines
    # On two logarithmic axes a power law is a straight line from corner to corner.
    assert line.path == "M0.0 0.0L500.0 500.0L1000.0 1000.0"
    assert [dot[2] for dot in line.dots][1] == "10 or more: 10%"
    assert plot.legend == ()
    assert "out: 100% have 1 or more, at most 100" in plot.description


def test_one_value_is_a_plot_still():
    assert survival_plot("Links", {"in": ([2], [1.0])}, x_label="links").view.lines[0].path


def test_histogram():
    plot = histogram_plot("Words", 10, [1, 3], x_label="words")
    assert plot.view.x_axis.high == 20
    path = plot.view.lines[0].path
    assert path.count("L") == 5  # up, along, up, along, down
    assert "most, 75%, lie from 10 to 20" in plot.description


def test_shares():
    plot = shares_plot("Hops", [0.1, 0.4, 0.0, 0.2], x_label="hops")
    assert [dot[2] for dot in plot.view.lines[0].dots] == ["0: 10%", "1: 40%", "2: 0%", "3: 20%"]
    assert "most, 40%, at 1; at most 3" in plot.description


@pytest.mark.parametrize(
    "plot",
    [
        survival_plot("a", {}, x_label="x"),
        histogram_plot("a", 1, [0, 0], x_label="x"),
        shares_plot("a", [], x_label="x"),
        shares_plot("a", [0.0], x_label="x"),
    ],
)
def test_nothing_to_plot(plot):
    assert plot is None


def test_page(tmp_path):
    plots = [shares_plot("<Hops>", [0.5, 0.5], x_label="hops & more", caption="of <pairs>")]
    page = write_plots_page(
        tmp_path / "page.html", "A <title>", plots, [("Left out", [("a<b", "c&d")])], notes=["n<o"]
    )
    html = page.read_text(encoding="utf-8")
    for text in (
        "A &lt;title&gt;",
        "&lt;Hops&gt;",
        "of &lt;pairs&gt;",
        "a&lt;b",
        "c&amp;d",
        "n&lt;o",
    ):
        assert text in html
    assert "<b>" not in html
    assert "http" not in html.split("</style>")[1].split("<script>")[0]  # it loads nothing
    assert "from the graph’s meta.json" in html
