"""The sections of a run's report.

Each takes what the run wrote and returns HTML, or None when it has nothing to show.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from wikinav_jax.reports import figures, names
from wikinav_jax.reports.comparison import Comparison
from wikinav_jax.reports.curves import make_charts
from wikinav_jax.reports.debate_view import view_debate
from wikinav_jax.reports.debates import Debate
from wikinav_jax.reports.frame import render
from wikinav_jax.reports.games import (
    MIN_PAIRS,
    is_by_distance,
    make_distance_charts,
    make_matches,
)
from wikinav_jax.reports.intervals import learned_methods, make_panels
from wikinav_jax.reports.run_files import RunFiles
from wikinav_jax.reports.walk_view import view_walk
from wikinav_jax.reports.walks import Walk

MAIN_CURVES = 4  # charts shown at once; the others unfold
WIDE_FACT = 38  # characters; longer facts get a line of their own


def results_section(run: RunFiles) -> Markup | None:
    """Success per task against all baselines: panels, then the exact figures."""
    comparisons = tuple(item for item in run.comparisons if not is_by_distance(item))
    if not comparisons:
        return None
    blocks = []
    for comparison in comparisons:
        panels = make_panels(comparison)
        learned = learned_methods(comparison)
        blocks.append(
            {
                "comparison": comparison,
                "heading": _group_heading(comparison, comparisons),
                "panels": panels,
                "metric": names.metric_name(comparison.main_metric),
                "learned": {names.method_label(name): style for name, style in learned.items()},
                "has_baselines": any(names.is_baseline(line.method) for line in comparison.lines),
                "several_seeds": any(len(item.seeds) > 1 for item in comparison.figures.values()),
            }
        )
    return render("results.html", blocks=blocks)


def _group_heading(comparison: Comparison, every: tuple[Comparison, ...]) -> str:
    """What tells this comparison from the others; empty when there is only one."""
    if len(every) == 1:
        return ""
    group = comparison.group
    parts = [names.dataset_label(group.dataset), names.split_label(group.split)]
    if sum(item.group == group for item in every) > 1:
        parts.append(names.metric_name(comparison.main_metric).label)
    return ", ".join(parts)


def games_section(run: RunFiles) -> Markup | None:
    """The agent against people and a language model, on the pairs that they played."""
    matches = [match for comparison in run.comparisons for match in make_matches(comparison)]
    charts = make_distance_charts(run.comparisons)
    if not matches and not charts:
        return None
    return render("games.html", matches=matches, charts=charts, min_pairs=MIN_PAIRS)


def curves_section(run: RunFiles) -> Markup | None:
    """Learning curves: loss, accuracy and evaluation results over training steps."""
    charts = make_charts(run.metrics)
    if not charts:
        return None
    return render("curves.html", charts=charts[:MAIN_CURVES], more=charts[MAIN_CURVES:])


def walks_section(run: RunFiles) -> Markup | None:
    """Example walks, step by step."""
    return walks_html(run.walks)


def walks_html(walks: Iterable[Walk]) -> Markup | None:
    """Walks of any origin; None without any."""
    views = [view_walk(walk, number) for number, walk in enumerate(walks, start=1)]
    if not views:
        return None
    # One of each outcome lies open, so that the page can be read without a click.
    opened = {
        next((view.number for view in views if view.walk.outcome == outcome), 0)
        for outcome in ("success", "failure")
    }
    return render(
        "walks.html",
        views=views,
        opened=opened,
        tasks=list(dict.fromkeys(view.task for view in views)),
        decodings=list(dict.fromkeys(view.decoding for view in views if view.decoding)),
        outcomes={view.walk.outcome for view in views},
    )


def debates_section(run: RunFiles) -> Markup | None:
    """Debates over claims: the verdict, and what was said for and against."""
    return debates_html(run.debates)


def debates_html(debates: Iterable[Debate]) -> Markup | None:
    """Debates of any origin; None without any."""
    views = [view_debate(debate) for debate in debates]
    return render("debates.html", views=views, opened=2) if views else None


def calibration_section(run: RunFiles) -> Markup | None:
    """How far the judge's probabilities can be trusted, and its figures per relation."""
    found = run.calibration
    if found is None or not (found.bins or found.relations):
        return None
    most = max((item.claims for item in found.bins), default=1)
    return render("calibration.html", calibration=found, most=most)


def facts_section(run: RunFiles) -> Markup | None:
    """Training facts, and the whole config folded."""
    groups: list[tuple[str, list[tuple[str, str]]]] = [("", [])]
    for label, value in run.facts.items():
        if isinstance(value, dict):
            named = ((spoken(name), shown) for name, shown in _flat(value))
            groups.append((spoken(label), list(named)))
        else:
            groups[0][1].append(fact(spoken(label), value))
    settings = list(_flat(run.config))
    # What needs a line of its own comes after what stands in columns.
    groups = [
        (title, sorted(facts, key=lambda fact: len(fact[1]) > WIDE_FACT))
        for title, facts in groups
        if facts
    ]
    if not groups and not settings:
        return None
    return render("facts.html", groups=groups, settings=settings, wide=WIDE_FACT)


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """(dotted name, shown value) of every leaf."""
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from _flat(item, f"{prefix}{key}.")
        else:
            yield fact(f"{prefix}{key}", item)


def spoken(name: str) -> str:
    """'evaluation.first_step', a name from code, is 'evaluation: first step'; others stay."""
    if re.fullmatch(r"[a-z0-9_.]+", name):
        return name.replace(".", ": ").replace("_", " ")
    return name


def fact(label: str, value: Any) -> tuple[str, str]:
    """A fact as shown; 'Training time (s)': 123.4 becomes 'Training time': '2 min 03 s'."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if label.endswith(" (s)") and 0 <= value < math.inf:
            return label.removesuffix(" (s)"), figures.duration(float(value))
        return label, figures.number(value)
    if value is None or isinstance(value, bool):
        return label, {None: figures.EN_DASH, True: "yes", False: "no"}[value]
    if isinstance(value, list):
        return label, ", ".join(fact("", item)[1] for item in value) or figures.EN_DASH
    return label, str(value) or figures.EN_DASH


@dataclass(frozen=True)
class Section:
    """A part of the page. To add one, write a function like those above and list it below."""

    anchor: str
    title: str
    render: Callable[[RunFiles], Markup | None]


SECTIONS = (
    Section("results", "Results", results_section),
    Section("games", "Against people", games_section),
    Section("curves", "Learning curves", curves_section),
    Section("walks", "Example walks", walks_section),
    Section("calibration", "Calibration and relations", calibration_section),
    Section("debates", "Debates", debates_section),
    Section("facts", "Training", facts_section),
)
