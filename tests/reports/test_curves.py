"""Learning curves: reading, thinning, averages, axes and charts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.reports.synthetic import make_metrics
from wikinav_jax.reports.axes import linear_axis, log_axis
from wikinav_jax.reports.curves import MAX_BINS, averages, make_chart, make_charts, spaced, thin
from wikinav_jax.reports.figures import duration, number, short_number
from wikinav_jax.reports.metric_log import MetricLog, read_metrics
from wikinav_jax.reports.names import metric_name


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(step, value, name="loss", split="train"):
    return {"step": step, "split": split, "name": name, "value": value}


def test_read_sorts_and_lets_the_later_line_win(tmp_path):
    log = read_metrics(
        write(tmp_path / "m", [row(20, 2), row(10, 3), row(20, 1.5), row(10, 9, "a")])
    )
    steps, values = log.series["train", "loss"]
    assert steps.tolist() == [10, 20] and values.tolist() == [3, 1.5]
    assert set(log.series) == {("train", "loss"), ("train", "a")}
    assert log.complaints == []


def test_read_leaves_out_what_it_cannot_use(tmp_path):
    path = tmp_path / "metrics.jsonl"
    lines = [
        json.dumps(row(1, 1.0)),
        '{"step": 2, "split": "train", "name": "loss", "value": NaN}',
        '{"step": 3, "split": "train", "name": "loss", "value": 1e200}',
        "[1, 2]",
        '{"step": "4", "split": "train", "name": "loss", "value": 1}',
        '{"step": 5, "split": "train", "name": 6, "value": 1}',
        "",
        json.dumps(row(6, 2.0))[:-9],
    ]
    path.write_bytes("\n".join(lines).encode() + b"\xff")
    log = read_metrics(path)
    assert log.series["train", "loss"][0].tolist() == [1]
    assert log.complaints == [
        "4 lines that cannot be read left out (lines 4, 5, 6, 8)",
        "values that are not finite left out: 2",
    ]


def test_thin_keeps_ends_and_extremes():
    x = np.arange(100_000) / 1e5
    y = np.sin(x * 300)
    y[54_321] = 7.0
    kept = thin(x, y)
    assert len(kept) <= 2 * MAX_BINS + 2 and (np.diff(kept) > 0).all()
    assert {0, 54_321, 99_999} <= set(kept.tolist())
    assert thin(x[:50], y[:50]).tolist() == list(range(50))
    at = spaced(x)
    assert at[0] == 0 and at[-1] == 99_999 and len(at) <= MAX_BINS + 1
    assert spaced(x[:1]).tolist() == [0]


def test_averages_by_hand():
    values = np.array([10.0, 4, 1, 3, 8])
    # Windows: [0], [0..2], [1..3], [2..4], and at the end [3, 4].
    expected = [10, 5, 8 / 3, 4, 5.5]
    assert averages(values, np.arange(5), 1) == pytest.approx(expected)
    assert averages(values, np.array([2]), 0).tolist() == [1]


def test_averages_forget_an_enormous_value():
    values = np.full(1000, 2.0)
    values[100] = 1e30
    assert averages(values, np.array([500, 999]), 10).tolist() == [2, 2]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.317, 0.954), (-3, 20_000), (5, 5), (0, 0)])
def test_linear_axis(low, high):
    axis = linear_axis(low, high)
    assert axis.low <= low and axis.high >= high and axis.low < axis.high
    positions = [position for position, _ in axis.ticks]
    assert 2 <= len(positions) <= 7 and positions == sorted(positions)
    assert positions[0] == 0 and positions[-1] == 1
    assert len({label for _, label in axis.ticks}) == len(axis.ticks)


def test_linear_ticks_are_round():
    assert [label for _, label in linear_axis(0, 1).ticks] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    tight = linear_axis(0, 17_300, tight=True)
    assert tight.high == 17_300 and [label for _, label in tight.ticks] == ["0", "5k", "10k", "15k"]
    with pytest.raises(ValueError, match="no length"):
        linear_axis(0, float("nan"))


@pytest.mark.parametrize(("low", "high"), [(1, 1e6), (0.8, 2.9), (3, 3), (1e-7, 2), (100, 190)])
def test_log_axis(low, high):
    axis = log_axis(low, high)
    assert 2 <= len(axis.ticks) <= 8
    assert axis.at(axis.low) == 0 and axis.at(axis.high) == pytest.approx(1)
    assert all(0 <= position <= 1 for position, _ in axis.ticks)


def test_log_axis_needs_positive_values():
    with pytest.raises(ValueError, match="0 < low"):
        log_axis(0, 5)


def test_charts_of_a_run():
    log = MetricLog({})
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for item in make_metrics(steps=5000):
        points.setdefault((item["split"], item["name"]), []).append((item["step"], item["value"]))
    for key, pairs in points.items():
        log.series[key] = (np.array([s for s, _ in pairs]), np.array([v for _, v in pairs]))
    charts = make_charts(log)
    assert [chart.title for chart in charts[:3]] == ["Loss", "Accuracy (%)", "Success (%)"]
    loss = charts[0]
    assert [view.name for view in loss.views] == ["linear", "log"]
    assert loss.views[1].y_axis.log and not charts[1].views[1].y_axis.log
    train, held_out = loss.views[0].lines
    assert train.smooth_path and not train.dots
    assert len(held_out.dots) == 5 and not held_out.smooth_path
    assert [item.label for item in charts[2].summaries] == ["sampled", "argmax", "without revisits"]
    assert "from" in loss.description and "train" in loss.description
    assert max(len(line.path) for line in loss.views[0].lines) < 20_000


def chart_of(values, steps=None, name="loss"):
    steps = np.arange(1, len(values) + 1) if steps is None else np.array(steps)
    return make_chart(name, {"train": (steps, np.array(values, float))}, metric_name(name))


def test_tiny_and_flat_charts():
    one = chart_of([0.5], steps=[0])
    assert [view.name for view in one.views] == ["linear"]
    assert one.views[0].lines[0].dots[0][0] == 0
    flat = chart_of([0.0] * 3)
    assert len(flat.views) == 2 and not flat.views[1].y_axis.log
    negative = chart_of([-1.0, -2.0, 3.0])
    assert negative.views[0].y_axis.low <= -2
    late = make_chart(
        "loss",
        {
            "train": (np.array([1, 10]), np.array([1.0, 2.0])),
            "eval": (np.array([0]), np.array([1.5])),
        },
        metric_name("loss"),
    )
    assert [line.label for line in late.views[1].lines] == ["train"]


def test_positions_of_points():
    chart = chart_of([0.0, 1.0], steps=[0, 10], name="accuracy")
    view = chart.views[0]
    assert view.y_axis.high == 100
    assert view.lines[0].path == "M0.0 1000.0L1000.0 0.0"
    assert [(x, y) for x, y, _ in view.lines[0].dots] == [(0, 100), (100, 0)]
    assert view.lines[0].dots[1][2] == "step 10: 100.0%"


def test_a_spike_does_not_flatten_the_curve():
    values = np.linspace(2, 1, 2000)
    values[700] = 1e6
    assert chart_of(values).views[0].y_axis.high < 1e5


def test_many_variants_are_cut_into_charts():
    log = MetricLog(
        {
            ("eval", f"success/{task}/{decoding}"): (np.array([1]), np.array([0.5]))
            for task in ("5-step", "multistep")
            for decoding in ("sample", "argmax", "no_revisit", "beam")
        }
    )
    charts = make_charts(log)
    assert [chart.title for chart in charts] == [
        "Success, 5-step (%)",
        "Success, multistep (%)",
    ]
    assert [len(chart.summaries) for chart in charts] == [4, 4]


def test_names_with_underscores():
    point = (np.array([1]), np.array([0.5]))
    names = ("success_no_revisit", "success_sample_train_half", "loss_scale", "new/loss")
    charts = make_charts(MetricLog({("eval", name): point for name in names}))
    found = {chart.title: [item.label for item in chart.summaries] for chart in charts}
    assert found == {
        "Loss": ["eval, new"],
        "Success (%)": ["without revisits", "sampled, train half"],
        "Loss scale": ["eval"],
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345, "12,345"),
        (-12345, "−12,345"),
        (0.0, "0"),
        (0.012345, "0.01235"),
        (1.5, "1.5"),
        (99999.6, "100,000"),
        (1.234e-7, "1.2e-07"),
        (1000.0, "1,000"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_short_numbers_and_durations():
    assert [short_number(value) for value in (20_000, 1.5e6, 250, 0.05)] == [
        "20k",
        "1.5M",
        "250",
        "0.05",
    ]
    assert [duration(value) for value in (4.126, 59.99, 123.4, 11_520)] == [
        "4.13 s",
        "60 s",
        "2 min 03 s",
        "3 h 12 min",
    ]
