"""A plot of a table as SVG: a panel per column, a dot with its interval per line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from wikinav_jax.reports.axes import linear_axis

_LABELS, _PANEL, _GAP, _ROW, _TOP, _BOTTOM = 300, 190, 34, 26, 64, 34
_INK, _QUIET, _GRID = "#1f2933", "#6b7280", "#e2e5ea"
_COLORS = ("#1d4ed8", "#b45309", "#047857", "#9d174d")  # by group


@dataclass(frozen=True)
class Dot:
    """A value in [0, 1] and its interval."""

    value: float
    low: float
    high: float


def dot_plot(
    title: str,
    columns: Sequence[str],
    lines: Sequence[str],
    dots: dict[tuple[int, int], Dot],
    groups: Sequence[int] | None = None,
) -> str:
    """The SVG.

    Args:
      title: above the plot.
      columns: labels of the panels.
      lines: labels of the rows.
      dots: by (line, column); what is missing stays blank.
      groups: a number for each line; lines of a group have one colour.
    """
    groups = [0] * len(lines) if groups is None else groups
    width = _LABELS + len(columns) * (_PANEL + _GAP)
    height = _TOP + len(lines) * _ROW + _BOTTOM
    axis = linear_axis(0.0, 1.0, parts=4, tight=True, label=lambda value: f"{100 * value:.0f}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="13" fill="{_INK}" '
        f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="22" font-size="15" font-weight="600">{escape(title)}</text>',
    ]
    bottom = _TOP + len(lines) * _ROW
    for row, line in enumerate(lines):
        middle = _TOP + (row + 0.5) * _ROW
        parts.append(f'<text x="8" y="{middle + 4:.1f}">{escape(line)}</text>')
    for column, label in enumerate(columns):
        left = _LABELS + column * (_PANEL + _GAP)
        parts.append(
            f'<text x="{left + _PANEL / 2}" y="{_TOP - 14}" text-anchor="middle">'
            f"{escape(label)}</text>"
        )
        for place, tick in axis.ticks:
            x = left + place * _PANEL
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}" stroke="{_GRID}"/>'
                f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" font-size="11" '
                f'fill="{_QUIET}">{tick}</text>'
            )
        for row in range(len(lines)):
            dot = dots.get((row, column))
            if dot is None:
                continue
            y = _TOP + (row + 0.5) * _ROW
            low, high, x = (left + axis.at(v) * _PANEL for v in (dot.low, dot.high, dot.value))
            color = _COLORS[groups[row] % len(_COLORS)]
            parts.append(
                f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}" '
                f'stroke="{color}" stroke-width="2"/>'
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}">'
                f"<title>{100 * dot.value:.1f}%</title></circle>"
            )
    return "\n".join([*parts, "</svg>"]) + "\n"
