"""Pages: the report of a run, and walks, debates, plots or a quiz as pages of their own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from wikinav_jax.reports import names
from wikinav_jax.reports.debates import Debate, parse_debate
from wikinav_jax.reports.distributions import Plot
from wikinav_jax.reports.frame import render, write_page
from wikinav_jax.reports.headline import make_headline
from wikinav_jax.reports.quiz import quiz_claims
from wikinav_jax.reports.run_files import RunFiles, read_run
from wikinav_jax.reports.sections import (
    SECTIONS,
    WIDE_FACT,
    debates_html,
    fact,
    spoken,
    walks_html,
)
from wikinav_jax.reports.walk_view import plural
from wikinav_jax.reports.walks import Walk, parse_walk

GLANCE = 6  # facts shown at the top


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
        fact(spoken(label), item) for label, item in run.facts.items() if not isinstance(item, dict)
    ]
    header = render(
        "headline.html", headline=headline, subtitle=_subtitle(run), glance=flat[:GLANCE]
    )
    rendered = [(section, section.render(run)) for section in SECTIONS]
    return write_page(
        run.workdir / "report.html",
        _default_title(run) if title is None else title,
        "Run report",
        [(section.anchor, section.title, html) for section, html in rendered if html is not None],
        run.notes,
        header=header,
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
        parts.append(("plots", "Plots", render("distributions.html", plots=plots)))
    if facts:
        html = render("facts.html", groups=facts, settings=[], wide=WIDE_FACT)
        parts.append(("facts", "Figures", html))
    source = "the graph’s meta.json"
    return write_page(Path(path), title, eyebrow, parts, notes, made_from=source)


def write_walks_page(
    walks: Iterable[Walk | Mapping[str, Any]], path: str | os.PathLike[str], title: str
) -> Path:
    """Writes walks (as in walks.json) as a page of their own and returns its path.

    Raises:
        ValueError: a walk lacks a field or has a wrong one; the message gives its path.
    """
    parsed = [parse_walk(walk, f"walks[{index}]") for index, walk in enumerate(walks)]
    return _write_list("Walks", walks_html(parsed), path, title)


def write_debates_page(
    debates: Iterable[Debate | Mapping[str, Any]], path: str | os.PathLike[str], title: str
) -> Path:
    """Writes debates (as in debates.json) as a page of their own and returns its path.

    Raises:
        ValueError: a debate lacks a field or has a wrong one; the message gives its path.
    """
    return _write_list("Debates", debates_html(_parsed(debates)), path, title)


def _write_list(what: str, html: Markup | None, path: str | os.PathLike[str], title: str) -> Path:
    if html is None:
        notes = [f"There are no {what.lower()} to show."]
        return write_page(Path(path), title, what, [], notes)
    return write_page(Path(path), title, what, [(what.lower(), what, html)])


def _parsed(debates: Iterable[Debate | Mapping[str, Any]]) -> list[Debate]:
    return [parse_debate(debate, f"debates[{index}]") for index, debate in enumerate(debates)]


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
    claims = quiz_claims(_parsed(debates), seed=seed, arguments=arguments)
    html = render("quiz.html", claims=claims)
    parts = [("quiz", "Quiz", html)]
    return write_page(Path(path), title, "Be the judge", parts, script_name="quiz.js")
