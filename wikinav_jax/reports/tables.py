"""Tables of rows as Markdown (README) and as plain text (the end of a run)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from wikinav_jax.reports import figures, names
from wikinav_jax.reports.comparison import Comparison, compare
from wikinav_jax.reports.results import Row, parse_row
from wikinav_jax.reports.strings import clip, display_width, one_line, pad

Style = Literal["markdown", "terminal"]
_METHOD_WIDTH = 60  # columns of the terminal, at most
_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def _heading(comparison: Comparison, metric: names.MetricName) -> str:
    group = comparison.group
    unit = " (%)" if metric.fraction else ""
    return one_line(
        f"{metric.label}{unit}, {names.dataset_label(group.dataset)}, "
        f"{names.split_label(group.split)}"
    )


def _body(comparison: Comparison, metric: str) -> tuple[list[str], list[list[str]], list[set[int]]]:
    """(tasks with figures, cells of each line, which of its cells are best)."""
    name = names.metric_name(metric)
    tasks = [
        task
        for task in comparison.tasks
        if any(comparison.get(task, line, metric) for line in comparison.lines)
    ]
    cells, best = [], []
    for line in comparison.lines:
        row, marked = [one_line(line.label)], set()
        for column, task in enumerate(tasks, start=1):
            item = comparison.get(task, line, metric)
            if item is None:
                row.append(figures.EN_DASH)
                continue
            spread = figures.spread(item, name)
            value = figures.metric_value(item.value, name)
            row.append(
                f"{value} ({spread})"
                if spread and item.deviation is None
                else f"{value} {spread}".rstrip()
            )
            if line in comparison.best(task, metric):
                marked.add(column)
        if any(cell != figures.EN_DASH for cell in row[1:]):
            cells.append(row)
            best.append(marked)
    return tasks, cells, best


def _escape(cell: str) -> str:
    """Text that Markdown takes literally, also inside a table."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in cell)


def _markdown(comparison: Comparison, metric: str) -> list[str]:
    tasks, cells, best = _body(comparison, metric)
    header = ["Method", *(_escape(one_line(names.task_label(task))) for task in tasks)]
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * len(tasks)]
    for row, marked in zip(cells, best, strict=True):
        shown = [
            f"**{_escape(cell)}**" if column in marked else _escape(cell)
            for column, cell in enumerate(row)
        ]
        lines.append("| " + " | ".join(shown) + " |")
    return lines


def _terminal(comparison: Comparison, metric: str, color: bool) -> list[str]:
    tasks, cells, best = _body(comparison, metric)
    header = ["Method", *(one_line(names.task_label(task)) for task in tasks)]
    # Without colour a star says which is best; its column is kept free so that figures align.
    cells = [
        [clip(row[0], _METHOD_WIDTH)]
        + [
            cell if color else cell + ("*" if column in marked else " ")
            for column, cell in enumerate(row[1:], start=1)
        ]
        for row, marked in zip(cells, best, strict=True)
    ]
    if not color:
        header = [header[0], *(f"{cell} " for cell in header[1:])]
    widths = [max(map(display_width, column)) for column in zip(header, *cells, strict=True)]

    def joined(row: list[str], marked: set[int]) -> str:
        shown = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            cell = pad(cell, width, "right" if column else "left")
            shown.append(f"{_BOLD}{cell}{_RESET}" if color and column in marked else cell)
        return "  ".join(shown).rstrip()

    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    top = joined(header, set())
    lines = [f"{_DIM}{top}{_RESET}" if color else top, f"{_DIM}{rule}{_RESET}" if color else rule]
    return lines + [joined(row, marked) for row, marked in zip(cells, best, strict=True)]


def results_table(
    rows: Iterable[Row | Mapping[str, Any]],
    *,
    metric: str = "success",
    style: Style = "markdown",
    color: bool = False,
) -> str:
    """A table of one metric: a column per task, a line per method and decoding, the best in bold.

    A cell is the value with its 95% interval, or the mean and standard deviation over seeds;
    fractions are in per cent. Rows of several systems, data sets or splits give one table each.

    Args:
        rows: rows of results.json.
        metric: which of their metrics.
        style: "markdown", or "terminal" (aligned columns; a star marks the best without colour).
        color: for the terminal: bold and dim by ANSI codes.

    Raises:
        ValueError: a row is wrong, no row has `metric`, or the style is unknown.
    """
    if style not in ("markdown", "terminal"):
        raise ValueError(f"style={style!r} is not one of 'markdown', 'terminal'")
    parsed = [parse_row(row) for row in rows]
    chosen = [row for row in parsed if row.metric == metric]
    if not chosen:
        known = ", ".join(sorted({row.metric for row in parsed})) or "there are no rows"
        raise ValueError(f"no row has metric={metric!r}; metrics in these rows: {known}")
    comparisons = compare(chosen)
    name = names.metric_name(metric)
    blocks = []
    for comparison in comparisons:
        heading = _heading(comparison, name)
        if style == "markdown":
            lines = _markdown(comparison, metric)
            lines = [f"**{_escape(heading)}**", "", *lines] if len(comparisons) > 1 else lines
        else:
            bold = f"{_BOLD}{heading}{_RESET}" if color else heading
            lines = [bold, *_terminal(comparison, metric, color)]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)
