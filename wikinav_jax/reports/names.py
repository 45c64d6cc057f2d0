"""What people read for the names that code writes: methods, decodings, metrics, tasks, splits."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class MetricName:
    """How a metric is shown."""

    label: str
    fraction: bool = False  # lies in [0, 1] and is shown in per cent
    higher_is_better: bool | None = True  # None: neither, so nothing is set in bold
    decimals: int = 2  # of what is no fraction
    is_note: bool = False  # about the task, the same for all methods: said once, not tabled


_METRICS = {
    "success": MetricName("Success", fraction=True),
    "spl": MetricName("SPL", fraction=True),
    # Over successes only: a method that reaches just the near targets looks short.
    "mean_steps": MetricName("Mean steps", higher_is_better=None, decimals=1),
    # Of a search, which opens more nodes than lie on the path that it finds.
    "mean_links": MetricName("Links of the path", higher_is_better=None, decimals=1),
    "clicks_per_shortest": MetricName("Clicks / shortest path", higher_is_better=False),
    **{
        f"{word}_{than}_{opponent}": MetricName(
            f"{word.capitalize()} {than} {name}", fraction=True, higher_is_better=better
        )
        for opponent, name in (
            ("human", "people"),
            ("human_clicks", "people, back clicks counted"),
            ("gpt_4o_mini", "GPT-4o-mini"),
        )
        for word, than, better in (
            ("fewer", "than", True),
            ("same", "as", None),
            ("more", "than", False),
        )
    },
    "excluded": MetricName("Excluded", higher_is_better=None, decimals=0, is_note=True),
    "accuracy": MetricName("Accuracy", fraction=True),
    "accuracy_per_relation": MetricName("Accuracy, threshold per relation", fraction=True),
    "roc_auc": MetricName("ROC AUC", fraction=True),
    "pr_auc": MetricName("PR AUC", fraction=True),
    "mrr": MetricName("MRR", fraction=True),
    "hits": MetricName("Hits", fraction=True),
    "recall": MetricName("Recall", fraction=True),
    "precision": MetricName("Precision", fraction=True),
    "f1": MetricName("F1", fraction=True),
    "exact_match": MetricName("Exact match", fraction=True),
    "loss": MetricName("Loss", higher_is_better=False),
    "ece": MetricName("Calibration error (ECE)", fraction=True, higher_is_better=False),
    "mean_rank": MetricName("Mean rank", higher_is_better=False, decimals=1),
}
_METHODS = {
    "rfbc": "RFBC",
    "rl": "RL",
    "random": "Random",
    "greedy": "Greedy",
    "greedy_lookahead": "Greedy look-ahead",
    "feed_forward": "Feed-forward",
    "r2d2": "R2D2",
    "r2d2_plus": "R2D2+",
    "prior_and_others_stacked": "All but the debate, stacked",
    "judge_walks": "Judge on random walks",
    "judge_alone": "Judge without arguments",
    "prior": "Prior: count(p, o) in training",
    "minerva": "Single walker (as MINERVA)",
    "transe": "TransE",
    "transr": "TransR",
    "distmult": "DistMult",
    "complex": "ComplEx",
    "simple": "SimplE",
    "bm25": "BM25",
    "human": "People",
    "gpt_4o_mini": "GPT-4o-mini",
}
_DECODINGS = {
    "sample": "Sampled",
    "sampled": "Sampled",
    "argmax": "Argmax",
    "no_revisit": "Without revisits",
    "beam": "Beam search",
    "dfs": "Depth first",
}
_DATASETS = {
    "fb15k237": "FB15k-237",
    "fb15k237_completion": "FB15k-237, asked of people",
    "wn18rr": "WN18RR",
    "codex_s": "CoDEx-S",
    "codex_m": "CoDEx-M",
    "umls": "UMLS",
    "hetionet_ctd": "Hetionet, compound treats disease",
    "hetionet_dag": "Hetionet, disease associates gene",
}
_SPLITS = {
    "eval": "held-out graph",
    "evaluation": "held-out graph",
    "held_out": "held-out graph",
    "test": "test split",
    "validation": "validation split",
    "train": "training graph",
    "finished_games": "games that people finished",
    "given_up_games": "games that people gave up",
    "finished_games_by_distance": "games that people finished, by distance",
    "given_up_games_by_distance": "games that people gave up, by distance",
}
_KINDS = {
    "hyperlink": ("↗", "link"),
    "entity": ("◇", "mention"),
    "next": ("↓", "next block"),
    "previous": ("↑", "previous block"),
}
_BASELINE_PREFIXES = (
    "random",
    "greedy",
    "human",
    "gpt",
    "bm25",
    "tfidf",
    "tf_idf",
    "prior",
    "oracle",
    "judge_",
    "minerva",
    "transe",
    "transr",
    "distmult",
    "complex",
    "simple",
)
_BASELINE_SUFFIXES = ("_pro_alone", "_con_alone")  # a debate with one agent silenced
_NOTHING = ("", "-", "–", "none")


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")


def _plain(name: str) -> str:
    """`name` with underscores as spaces and a capital first letter."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def metric_name(metric: str) -> MetricName:
    """How `metric` is shown; 'hits@10' is looked up as 'hits'; unknown ones are plain numbers."""
    stem, at, k = metric.partition("@")
    known = _METRICS.get(_key(stem))
    if known is None:
        return MetricName(_plain(metric), higher_is_better=None)
    return dataclasses.replace(known, label=f"{known.label}{at}{k}")


def metric_prefix(name: str) -> str:
    """The known metric that `name` is or begins with ('success' of 'success_sample'), or ''."""
    key = _key(name)
    found = [known for known in _METRICS if key == known or key.startswith(f"{known}_")]
    return max(found, key=len, default="")


def method_label(method: str) -> str:
    """A method's name for people; 'rfbc_transformer' is 'RFBC transformer'."""
    key = _key(method)
    if key in _METHODS:
        return _METHODS[key]
    words = method.replace("_", " ")
    known = [name for name in _METHODS if key.startswith(f"{name}_")]
    stem = max(known, key=len, default="")
    return _METHODS[stem] + words[len(stem) :] if stem else words


def decoding_label(decoding: str) -> str:
    """A decoding's name for people; empty when the method has none."""
    if decoding.strip().casefold() in _NOTHING:
        return ""
    return _DECODINGS.get(_key(decoding), _plain(decoding))


def line_label(method: str, decoding: str) -> str:
    """A method under a decoding, as a name: 'RFBC, argmax', 'Greedy without revisits'.

    Baselines have names in the literature; under their usual decoding they are just Random and
    Greedy.
    """
    label, note = method_label(method), decoding_label(decoding)
    note = note[:1].lower() + note[1:]
    if is_baseline(method):
        usual = "sample" if _key(method).startswith("random") else "argmax"
        if _key(decoding) == "dfs":
            return f"{label} DFS"
        if _key(decoding) == "no_revisit":
            return f"{label} {note}"
        if _key(decoding) == usual:
            return label
    return f"{label}, {note}" if note else label


def known_decoding(name: str) -> tuple[str, str]:
    """'no_revisit_train_half' -> ('no_revisit', 'train half'); without a known one ('', name)."""
    key = _key(name)
    found = [known for known in _DECODINGS if key == known or key.startswith(f"{known}_")]
    longest = max(found, key=len, default="")
    return longest, key[len(longest) :].replace("_", " ").strip() if longest else name


def split_label(split: str) -> str:
    """A split's name for people."""
    return _SPLITS.get(_key(split), split.replace("_", " "))


def task_label(task: str) -> str:
    """A task's name for people: '5_step' is '5-step'."""
    counted = re.fullmatch(r"(\d+)[ _-]?steps?", task, re.IGNORECASE)
    return f"{counted[1]}-step" if counted else _plain(task)


# What the figures of a task are over; others are over episodes.
_UNITS = {"classification": "claims", "completion": "queries"}


def unit(tasks: Iterable[str]) -> str:
    """What is counted by `n` in the figures of these tasks: 'episodes', 'claims' or 'queries'."""
    found = {_UNITS.get(_key(task).partition("_")[0], "episodes") for task in tasks}
    return found.pop() if len(found) == 1 else "cases"


def dataset_label(dataset: str) -> str:
    """A data set's name for people."""
    return _DATASETS.get(_key(dataset)) or _plain(dataset)


def kind_label(kind: str) -> tuple[str, str]:
    """(symbol, word) of a kind of edge."""
    return _KINDS.get(_key(kind), ("·", kind))


def is_baseline(method: str) -> bool:
    """Whether `method` is one to compare with, by its name, rather than a learned one."""
    key = _key(method)
    return key.startswith(_BASELINE_PREFIXES) or key.endswith(_BASELINE_SUFFIXES)


def _order(name: str, known: dict[str, str]) -> int:
    keys = list(known)
    return keys.index(_key(name)) if _key(name) in known else len(keys)


def decoding_order(decoding: str) -> tuple[int, str]:
    """Sort key: sampled, argmax, without revisits, …, then by name."""
    return _order(decoding, _DECODINGS), decoding


def metric_order(metric: str) -> tuple[int, list[tuple[int, str]]]:
    """Sort key: success, SPL, mean steps, …, then by name."""
    stem = _key(metric.partition("@")[0])
    keys = list(_METRICS)
    return keys.index(stem) if stem in keys else len(keys), natural(metric)


def natural(name: str) -> list[tuple[int, str]]:
    """Sort key under which '5-step' comes before '10-step', and numbers before words."""
    parts = re.findall(r"\d+|\D+", name.casefold())
    return [(int(part), "") if part.isdigit() else (1 << 62, part) for part in parts]


def split_order(split: str) -> tuple[int, str]:
    """Sort key: games first, then held-out figures, training figures last."""
    known = {"training graph": 2, _SPLITS["finished_games"]: -2, _SPLITS["given_up_games"]: -1}
    return known.get(split_label(split), int(_key(split) not in _SPLITS)), split
