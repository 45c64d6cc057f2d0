"""The main result in a sentence, worked out from the rows alone."""

from __future__ import annotations

from dataclasses import dataclass

from wikinav_jax.reports import figures, names
from wikinav_jax.reports.comparison import Comparison, Figure, Line


@dataclass(frozen=True)
class Duel:
    """The best learned method against the best baseline under one decoding, on one task."""

    decoding: str
    learned: str
    value: str
    spread: str
    baseline: str  # "" when no baseline has this decoding
    baseline_value: str


@dataclass(frozen=True)
class Headline:
    """What a reader should take away."""

    sentence: str
    task: str
    metric: str
    duels: tuple[Duel, ...]


def main_task(comparison: Comparison) -> str:
    """The task that the headline is about: multistep, else the one with the most figures."""
    if "multistep" in comparison.tasks:
        return "multistep"

    def size(task: str) -> int:
        return sum(of == task for of, _, _ in comparison.figures)

    # Of equals the last: tasks are in rising order of difficulty ('5-step' … '20-step').
    return max(reversed(comparison.tasks), key=size)


def _best(
    comparison: Comparison, task: str, *, baseline: bool, decoding: str | None = None
) -> tuple[Line, Figure] | None:
    """The line with the best main figure among learned methods or baselines."""
    metric = comparison.main_metric
    sign = -1 if names.metric_name(metric).higher_is_better is False else 1
    found = [
        (line, item)
        for line in comparison.lines
        if names.is_baseline(line.method) == baseline
        and (decoding is None or line.decoding == decoding)
        and (item := comparison.get(task, line, metric)) is not None
    ]
    return max(found, key=lambda pair: sign * pair[1].value, default=None)


def _described(line: Line) -> str:
    """A line's name inside a sentence: 'RFBC (without revisits)'."""
    if names.is_baseline(line.method) or not line.decoding_note:
        return line.label
    return f"{line.method_label} ({line.decoding_note})"


def _in_brackets(item: Figure, metric: names.MetricName, counted: str) -> str:
    if item.deviation is not None:
        deviation = figures.metric_value(item.deviation, metric)
        return f"mean of {len(item.seeds)} seeds, standard deviation {deviation}"
    episodes = f"{item.n:,} {counted}"
    found = figures.interval(item, metric)
    return f"95% interval {found}, {episodes}" if found else episodes


def _against(
    ours: Figure, line: Line, theirs: Figure, metric: names.MetricName, is_success: bool
) -> str:
    """The sentence about the best baseline, claiming no more than the intervals allow."""
    value = figures.metric_with_unit(theirs.value, metric)
    ahead = ours.value > theirs.value
    if metric.higher_is_better is False:
        ahead = ours.value < theirs.value
    verb = "reaches" if is_success else "has"
    if metric.higher_is_better is not None and not ahead:
        verb = "does no worse, at" if ours.value == theirs.value else "does better, at"
    sentence = f" The best baseline, {_described(line)}, {verb} {value}"
    if ours.low is None or ours.high is None or theirs.low is None or theirs.high is None:
        return sentence + "."
    apart = ours.low > theirs.high or theirs.low > ours.high
    return sentence + f"; the intervals {'do not overlap' if apart else 'overlap'}."


def make_headline(comparison: Comparison) -> Headline | None:
    """The main result of a comparison; None when its main task has no figure."""
    task = main_task(comparison)
    metric = comparison.main_metric
    name = names.metric_name(metric)
    ours = _best(comparison, task, baseline=False)
    theirs = _best(comparison, task, baseline=True)
    first = ours or theirs
    if first is None:
        return None
    line, item = first
    value = figures.metric_with_unit(item.value, name)
    is_success = metric == "success"
    did = f"reaches {value} of its targets" if is_success else f"has {name.label} {value}"
    label = names.task_label(task)
    task_words = label if label.endswith("step") and label[0].isdigit() else label.lower()
    counted = names.unit((task,))
    sentence = (
        f"{_described(line)} {did} on the {task_words} task ({_in_brackets(item, name, counted)})"
    )
    sentence += "."
    if ours is not None and theirs is not None:
        sentence += _against(item, *theirs, name, is_success)
    duels = []
    for decoding in dict.fromkeys(line.decoding for line in comparison.lines):
        mine = _best(comparison, task, baseline=False, decoding=decoding)
        if mine is None:
            continue
        rival = _best(comparison, task, baseline=True, decoding=decoding)
        duels.append(
            Duel(
                decoding=names.decoding_label(decoding),
                learned=names.method_label(mine[0].method),
                value=figures.metric_with_unit(mine[1].value, name),
                spread=figures.spread(mine[1], name),
                baseline="" if rival is None else rival[0].label,
                baseline_value=""
                if rival is None
                else figures.metric_with_unit(rival[1].value, name),
            )
        )
    return Headline(sentence, task_words, name.label, tuple(duels))
