"""The report of a run as one self-contained HTML page, put together from sections."""

from __future__ import annotations

import base64
import hashlib
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from wikinav_jax import __version__
from wikinav_jax.common.files import atomic_file
from wikinav_jax.reports import figures, names
from wikinav_jax.reports.comparison import Comparison
from wikinav_jax.reports.curves import make_charts
from wikinav_jax.reports.debate_view import view_debate
from wikinav_jax.reports.debates import Debate, parse_debate
from wikinav_jax.reports.distributions import Plot
from wikinav_jax.reports.games import (
    MIN_PAIRS,
    is_by_distance,
    make_distance_charts,
    make_matches,
)
from wikinav_jax.reports.headline import make_headline
from wikinav_jax.reports.intervals import learned_methods, make_panels
from wikinav_jax.reports.quiz import quiz_claims
from wikinav_jax.reports.run_files import RunFiles, read_run
from wikinav_jax.reports.strings import one_line
from wikinav_jax.reports.walk_view import plural, view_walk
from wikinav_jax.reports.walks import Walk, parse_walk

MAIN_CURVES = 4  # charts shown at once; the others unfold
GLANCE = 6  # facts shown at the top
WIDE_FACT = 38  # characters; longer facts get a line of their own
_TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> jinja2.Environment:
    """Templates in which every value is escaped, and an unknown name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(figures=figures, names=names)
    return environment


def _render(template: str, **values: Any) -> Markup:
    return Markup(_environment().get_template(template).render(**values))


def _own(name: str) -> tuple[Markup, str]:
    """(a style sheet or script of ours, its hash for the Content-Security-Policy)."""
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return Markup(text), f"'sha256-{digest}'"


# Sections. Each takes what the run wrote and returns HTML, or None when it has nothing to show.


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
    return _render("results.html", blocks=blocks)


def _group_heading(comparison: Comparison, every: tuple[Comparison, ...]) -> str:
    """What tells this comparison from the others; empty when there is only one."""
    if len(every) == 1:
        return ""
    group = comparison.group
    return f"{names.dataset_label(group.dataset)}, {names.split_label(group.split)}"


def games_section(run: RunFiles) -> Markup | None:
    """The agent against people and a language model, on the pairs that they played."""
    matches = [match for comparison in run.comparisons for match in make_matches(comparison)]
    charts = make_distance_charts(run.comparisons)
    if not matches and not charts:
        return None
    return _render("games.html", matches=matches, charts=charts, min_pairs=MIN_PAIRS)


def curves_section(run: RunFiles) -> Markup | None:
    """Learning curves: loss, accuracy and evaluation results over training steps."""
    charts = make_charts(run.metrics)
    if not charts:
        return None
    return _render("curves.html", charts=charts[:MAIN_CURVES], more=charts[MAIN_CURVES:])


def walks_section(run: RunFiles) -> Markup | None:
    """Example walks, step by step."""
    return _walks_html(run.walks)


def _walks_html(walks: Iterable[Walk]) -> Markup | None:
    views = [view_walk(walk, number) for number, walk in enumerate(walks, start=1)]
    if not views:
        return None
    # One of each outcome lies open, so that the page can be read without a click.
    opened = {
        next((view.number for view in views if view.walk.outcome == outcome), 0)
        for outcome in ("success", "failure")
    }
    return _render(
        "walks.html",
        views=views,
        opened=opened,
        tasks=list(dict.fromkeys(view.task for view in views)),
        decodings=list(dict.fromkeys(view.decoding for view in views if view.decoding)),
        outcomes={view.walk.outcome for view in views},
    )


def debates_section(run: RunFiles) -> Markup | None:
    """Debates over claims: the verdict, and what was said for and against."""
    return _debates_html(run.debates)


def _debates_html(debates: Iterable[Debate]) -> Markup | None:
    views = [view_debate(debate) for debate in debates]
    return _render("debates.html", views=views, opened=2) if views else None


def calibration_section(run: RunFiles) -> Markup | None:
    """How far the judge's probabilities can be trusted, and its figures per relation."""
    found = run.calibration
    if found is None or not (found.bins or found.relations):
        return None
    most = max((item.claims for item in found.bins), default=1)
    return _render("calibration.html", calibration=found, most=most)


def facts_section(run: RunFiles) -> Markup | None:
    """Training facts, and the whole config folded."""
    groups: list[tuple[str, list[tuple[str, str]]]] = [("", [])]
    for label, value in run.facts.items():
        if isinstance(value, dict):
            named = ((_spoken(name), shown) for name, shown in _flat(value))
            groups.append((_spoken(label), list(named)))
        else:
            groups[0][1].append(_fact(_spoken(label), value))
    settings = list(_flat(run.config))
    # What needs a line of its own comes after what stands in columns.
    groups = [
        (title, sorted(facts, key=lambda fact: len(fact[1]) > WIDE_FACT))
        for title, facts in groups
        if facts
    ]
    if not groups and not settings:
        return None
    return _render("facts.html", groups=groups, settings=settings, wide=WIDE_FACT)


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """(dotted name, shown value) of every leaf."""
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from _flat(item, f"{prefix}{key}.")
        else:
            yield _fact(f"{prefix}{key}", item)


def _spoken(name: str) -> str:
    """'evaluation.first_step', a name from code, is 'evaluation: first step'; others stay."""
    if re.fullmatch(r"[a-z0-9_.]+", name):
        return name.replace(".", ": ").replace("_", " ")
    return name


def _fact(label: str, value: Any) -> tuple[str, str]:
    """A fact as shown; 'Training time (s)': 123.4 becomes 'Training time': '2 min 03 s'."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if label.endswith(" (s)") and 0 <= value < math.inf:
            return label.removesuffix(" (s)"), figures.duration(float(value))
        return label, figures.number(value)
    if value is None or isinstance(value, bool):
        return label, {None: figures.EN_DASH, True: "yes", False: "no"}[value]
    if isinstance(value, list):
        return label, ", ".join(_fact("", item)[1] for item in value) or figures.EN_DASH
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


def _page(
    path: Path,
    title: str,
    eyebrow: str,
    parts: list[tuple[str, str, Markup]],
    header: Markup,
    notes: Iterable[str],
    made_from: str = "the files of the run’s folder",
    script_name: str = "page.js",
) -> Path:
    """Writes the frame around `parts` (anchor, title, HTML), atomically."""
    style, style_hash = _own("style.css")
    script, script_hash = _own(script_name)
    html = _render(
        "page.html",
        title=one_line(title),
        eyebrow=eyebrow,
        header=header,
        parts=parts,
        notes=list(notes),
        style=style,
        script=script,
        policy=(
            f"default-src 'none'; style-src {style_hash}; script-src {script_hash}; "
            "base-uri 'none'; form-action 'none'"
        ),
        version=__version__,
        made_from=made_from,
    )
    with atomic_file(path) as temporary:
        temporary.write_text(str(html), encoding="utf-8")
    return path


def _default_title(run: RunFiles) -> str:
    if run.comparisons:
        group = run.comparisons[0].group
        system = names.method_label(group.system)
        return f"{system[:1].upper()}{system[1:]} on {names.dataset_label(group.dataset)}"
    return f"Run {run.workdir.resolve().name}"


def _subtitle(run: RunFiles) -> str:
    """'Held-out graph · 4 tasks · 1,000 episodes each · 1 seed', of the main comparison."""
    if not run.comparisons:
        return ""
    comparison = run.comparisons[0]
    split = names.split_label(comparison.group.split)
    main = [item for (_, _, of), item in comparison.figures.items() if of == comparison.main_metric]
    sizes = sorted({item.n for item in main})
    seeds = {seed for item in main for seed in item.seeds}
    episodes = " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
    return " · ".join(
        (
            split[:1].upper() + split[1:],
            plural(len(comparison.tasks), "task"),
            f"{episodes} {names.unit(comparison.tasks)} each",
            plural(len(seeds), "seed"),
        )
    )


def write_report(workdir: str | os.PathLike[str], title: str | None = None) -> Path:
    """Writes `workdir`/report.html from the files of the run and returns its path.

    Parts whose file is missing or unreadable are left out, and the page says so.

    Args:
        workdir: a folder with results.json, metrics.jsonl, walks.json, debates.json, facts.json,
            config.json, or some of them.
        title: the page's title; by default the system and the data set of the results.

    Raises:
        FileNotFoundError: `workdir` is not a folder.
    """
    run = read_run(workdir)
    headline = make_headline(run.comparisons[0]) if run.comparisons else None
    flat = [
        _fact(_spoken(label), item)
        for label, item in run.facts.items()
        if not isinstance(item, dict)
    ]
    header = _render(
        "headline.html", headline=headline, subtitle=_subtitle(run), glance=flat[:GLANCE]
    )
    rendered = [(section, section.render(run)) for section in SECTIONS]
    return _page(
        run.workdir / "report.html",
        _default_title(run) if title is None else title,
        "Run report",
        [(section.anchor, section.title, html) for section, html in rendered if html is not None],
        header,
        run.notes,
    )


def write_plots_page(
    path: str | os.PathLike[str],
    title: str,
    plots: Sequence[Plot],
    facts: Sequence[tuple[str, Sequence[tuple[str, str]]]],
    *,
    eyebrow: str = "Overview",
    notes: Iterable[str] = (),
) -> Path:
    """Writes plots of distributions and groups of facts as a page of their own; returns its path.

    Args:
        path: of the page.
        title: of the page.
        plots: in order.
        facts: (heading, [(label, value)]) of each group.
        eyebrow: a few words above the title.
        notes: what the reader should know before the rest.
    """
    parts = []
    if plots:
        parts.append(("plots", "Plots", _render("distributions.html", plots=plots)))
    if facts:
        html = _render("facts.html", groups=facts, settings=[], wide=WIDE_FACT)
        parts.append(("facts", "Figures", html))
    return _page(Path(path), title, eyebrow, parts, Markup(""), notes, "the graph’s meta.json")


def write_walks_page(
    walks: Iterable[Walk | Mapping[str, Any]], path: str | os.PathLike[str], title: str
) -> Path:
    """Writes walks (as in walks.json) as a page of their own and returns its path.

    Raises:
        ValueError: a walk lacks a field or has a wrong one; the message gives its path.
    """
    parsed = [parse_walk(walk, f"walks[{index}]") for index, walk in enumerate(walks)]
    html = _walks_html(parsed)
    parts = [] if html is None else [("walks", "Walks", html)]
    notes = ["There are no walks to show."] if html is None else []
    return _page(Path(path), title, "Walks", parts, Markup(""), notes)


def write_debates_page(
    debates: Iterable[Debate | Mapping[str, Any]], path: str | os.PathLike[str], title: str
) -> Path:
    """Writes debates (as in debates.json) as a page of their own and returns its path.

    Raises:
        ValueError: a debate lacks a field or has a wrong one; the message gives its path.
    """
    parsed = [parse_debate(debate, f"debates[{index}]") for index, debate in enumerate(debates)]
    html = _debates_html(parsed)
    parts = [] if html is None else [("debates", "Debates", html)]
    notes = ["There are no debates to show."] if html is None else []
    return _page(Path(path), title, "Debates", parts, Markup(""), notes)


def write_quiz_page(
    debates: Iterable[Debate | Mapping[str, Any]],
    path: str | os.PathLike[str],
    title: str,
    *,
    seed: int = 0,
    arguments: int = 3,
) -> Path:
    """Writes a page in which the reader is the judge, as in the survey of the R2D2 paper.

    Each claim's arguments come in random order with its subject masked; the reader votes with a
    confidence and at the end sees the score beside the judge's. Answers can be saved as JSON.

    Args:
        debates: with labels, as in debates.json.
        path: of the page.
        title: of the page.
        seed: of the order of claims and arguments.
        arguments: of each side that are shown at most, the strongest.

    Raises:
        ValueError: a debate is wrong, has no label, or there is none.
    """
    parsed = [parse_debate(debate, f"debates[{index}]") for index, debate in enumerate(debates)]
    claims = quiz_claims(parsed, seed=seed, arguments=arguments)
    html = _render("quiz.html", claims=claims)
    parts = [("quiz", "Quiz", html)]
    return _page(Path(path), title, "Be the judge", parts, Markup(""), [], script_name="quiz.js")
