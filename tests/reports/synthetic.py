"""Makes the workdir of a run that never was, to look at the report and to test it.

`python -m tests.reports.synthetic DIR` writes the files and DIR/report.html. All text is invented.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

# (title, section, text); [[Title]] is a hyperlink, {{Title}} an entity link.
BLOCKS = [
    (
        "Harrow Sound",
        "",
        "Harrow Sound is a drowned valley on the western coast, nineteen kilometres long and "
        "nowhere wider than two. Three rivers empty into it, and twice a day the sea pushes back "
        "against all of them. The villages along its shore lived from the [[Tide mill|tide "
        "mills]], from the [[Salt road]] and from the pilots of the [[Lantern guild]], who took "
        "ships past the narrows for a fee that was fixed once a year on the first of March.",
    ),
    (
        "Harrow Sound",
        "Geography > The narrows",
        "At the narrows the sound bends sharply and the current runs at six knots. The bottom is "
        "of [[Blue clay]], which gives no hold to an anchor, so that ships wait for slack water "
        "in the lee of Corrie Island. A {{Tide table}} nailed to the harbour wall was for two "
        "centuries the only printed matter in the parish besides the psalter.",
    ),
    (
        "Harrow Sound",
        "History > The pilots",
        "Pilots were first licensed after the winter in which eleven ships were lost. Each was "
        "given a lamp with glass of his own colour by the [[Glassworks at Penn]], so that the "
        "warden could tell from the shore who was leading whom. The wardens' books survive, and "
        "are the earliest continuous {{Weather record}} of the coast.",
    ),
    (
        "Tide mill",
        "",
        "A tide mill fills a pond at high water and grinds while the pond drains. It works for "
        "ten hours a day at most, and never at the same ten hours, so millers kept a [[Tide "
        "table]] and slept when the moon allowed. The wheels were of oak, the bearings of "
        "[[Bell bronze]], and the sluice gates were sealed with [[Blue clay]].",
    ),
    (
        "Tide mill",
        "Decline",
        "Steam mills inland ended the trade within twenty years. Some ponds were turned into "
        "oyster beds, and the last mill on [[Harrow Sound]] ground pigment for the [[Glassworks "
        "at Penn]] until its roof fell in.",
    ),
    (
        "Salt road",
        "",
        "The salt road ran from the pans on [[Harrow Sound]] to the hill markets, four days with "
        "a mule. Milestones carry a number and a {{Tally mark}} in place of a name, since few "
        "carriers could read. Bridges were kept up by the [[Lantern guild]], which took one "
        "load in forty for it.",
    ),
    (
        "Salt road",
        "Route > Over the pass",
        "Above the tree line the road follows a ridge of [[Blue clay]] that freezes hard in "
        "winter and was then better than in June. Carriers hung small bells of [[Bell bronze]] "
        "on the lead mule, one for every ten loads behind it.",
    ),
    (
        "Lantern guild",
        "",
        "The lantern guild held the right to show lights on the shore of [[Harrow Sound]]. It "
        "kept pilots, lamps and bridges, judged quarrels over wrecks, and published the [[Tide "
        "table]]. Its members swore to burn no oil of their own, so that a light never depended "
        "on what a keeper could afford.",
    ),
    (
        "Lantern guild",
        "Instruments",
        "The guild's storehouse lists forty lamps, nine {{Tide gauge|tide gauges}}, and an "
        "orrery made at the [[Glassworks at Penn]] that showed the phase of the moon to within "
        "an hour. The [[Tally mark]] cut in the base of each lamp tells how often it was lent.",
    ),
    (
        "Glassworks at Penn",
        "",
        "The glassworks at Penn made lamp glass in eleven colours. Their red, coloured with "
        "gold, was the only one that could be told from a cottage fire at two miles, and was "
        "kept for the [[Lantern guild]]. Sand came by the [[Salt road]] on mules that would "
        "otherwise have gone back empty.",
    ),
    (
        "Blue clay",
        "",
        "Blue clay is a marine clay of the last ice age. When salt has been washed out of it, a "
        "small shock can turn it liquid; the slide of 1751 carried a whole [[Tide mill]] into "
        "the sound, with the miller asleep in it and unhurt. It is still dug for sealing ponds.",
    ),
    (
        "Bell bronze",
        "",
        "Bell bronze has more tin than gun metal has, and is hard and brittle. Offcuts of the "
        "bell foundries went into bearings for the [[Tide mill]], and into the weights by which "
        "a [[Tide gauge]] is kept taut.",
    ),
    (
        "Tide table",
        "",
        "A tide table gives the hours of high and low water for a year ahead. The oldest ones "
        "were worked out from the moon's age by rules of thumb that each port kept secret; later "
        "ones were fitted to the readings of a [[Tide gauge]], and were sold openly.",
    ),
    (
        "Tide gauge",
        "",
        "A tide gauge is a float in a well that is joined to the sea by a narrow pipe, so that "
        "waves are smoothed away and only the tide is left. A pen on the float draws the level "
        "on a drum. The drums of three gauges on [[Harrow Sound]] make up the longest {{Weather "
        "record}} of its kind.",
    ),
    (
        "Weather record",
        "",
        "A weather record is worth what its gaps are worth. Keepers of lights noted wind and sea "
        "four times a day because they were paid by the entry, and the [[Lantern guild]] checked "
        "each book against its neighbours', which is why so few lines in them were invented.",
    ),
    (
        "Tally mark",
        "",
        "A tally mark counts by strokes, usually in fives. On the [[Salt road]] a slanting "
        "stroke stood for a mule that had died on the way, and carriers would not camp beside a "
        "stone that had two of them.",
    ),
]
METHODS = [  # method, decoding, success by task, SPL, mean steps
    ("random", "sample", (0.418, 0.347, 0.291, 0.283), 0.061, 38.1),
    ("rfbc", "sample", (0.861, 0.812, 0.768, 0.774), 0.402, 21.7),
    ("greedy", "argmax", (0.611, 0.489, 0.421, 0.443), 0.331, 7.9),
    ("rfbc", "argmax", (0.742, 0.604, 0.521, 0.548), 0.433, 7.2),
    ("random", "no_revisit", (0.562, 0.47, 0.402, 0.408), 0.083, 41.0),
    ("greedy", "no_revisit", (0.941, 0.902, 0.862, 0.871), 0.427, 18.4),
    ("rfbc", "no_revisit", (0.972, 0.948, 0.921, 0.929), 0.571, 13.2),
    ("random", "dfs", (0.602, 0.511, 0.438, 0.449), 0.071, 44.2),
    ("greedy", "dfs", (0.921, 0.871, 0.819, 0.832), 0.402, 19.6),
]
TASKS = ("5-step", "10-step", "20-step", "multistep")
_LINK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]|\{\{([^}|]+)(?:\|([^}]+))?\}\}")


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95% interval of a share of n."""
    z = 1.96
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


def make_rows(
    *, seeds: int = 1, n: int = 1000, dataset: str = "harrow", split: str = "eval", shift: float = 0
) -> list[dict[str, Any]]:
    """Rows of results.json."""
    rng = np.random.default_rng([7, seeds])
    rows = []
    for seed in range(seeds):
        for method, decoding, by_task, spl, steps in METHODS:
            for task, success in zip(TASKS, by_task, strict=True):
                bump = float(rng.normal(0, 0.008)) if seeds > 1 else 0.0
                share = round(min(max(success + shift + bump, 0), 1) * n) / n
                common = {
                    "system": "rfbc",
                    "dataset": dataset,
                    "split": split,
                    "task": task,
                    "method": method,
                    "decoding": decoding,
                }
                half = 0.02
                factor = share / by_task[-1]
                for metric, value, low, high in (
                    ("success", share, *wilson(share, n)),
                    ("spl", spl * factor, spl * factor - half, spl * factor + half),
                    ("mean_steps", steps / factor, steps / factor - 1.1, steps / factor + 1.1),
                ):
                    figures = {"metric": metric, "value": value, "low": low, "high": high}
                    count = round(share * n) if metric == "mean_steps" else n
                    rows.append({**common, **figures, "n": count, "seed": seed})
                nothing = {"metric": "excluded", "value": 4, "low": None, "high": None}
                rows.append({**common, **nothing, "n": n + 4, "seed": seed})
    return rows


def make_metrics(steps: int = 20_000, every: int = 5) -> list[dict[str, Any]]:
    """Rows of metrics.jsonl."""
    rng = np.random.default_rng(3)
    rows: list[dict[str, Any]] = []

    def add(step: int, split: str, name: str, value: float) -> None:
        rows.append({"step": step, "split": split, "name": name, "value": float(value)})

    for step in range(every, steps + 1, every):
        fall = math.exp(-step / 900) * 1.3 + math.exp(-step / 7000) * 0.5
        add(step, "train", "loss", 0.92 + fall + rng.normal(0, 0.06))
        add(step, "train", "accuracy", 0.66 - 0.27 * fall + rng.normal(0, 0.02))
        add(step, "train", "learning_rate", 1e-3 * min(step / 1000, 1) * (1 - step / (steps + 1)))
        add(step, "train", "gradient_norm", 0.4 + fall + abs(rng.normal(0, 0.15)))
        if step % 1000 == 0:
            add(step, "eval", "loss", 1.03 + fall * 0.97 + rng.normal(0, 0.008))
            add(step, "eval", "accuracy", 0.62 - 0.26 * fall + rng.normal(0, 0.004))
            for decoding, top in (("sample", 0.77), ("argmax", 0.55), ("no_revisit", 0.93)):
                value = top - 0.42 * fall * top + rng.normal(0, 0.012)
                add(step, "eval", f"success_{decoding}", value)
    return rows


def _graph() -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """(places, their links) of the invented encyclopaedia."""
    places, links = [], []
    first: dict[str, int] = {}
    for node, (title, section, source) in enumerate(BLOCKS):
        first.setdefault(title, node)
        text, found, position = "", [], 0
        for match in _LINK.finditer(source):
            text += source[position : match.start()]
            target = match[1] or match[3]
            shown = match[2] or match[4] or target
            found.append((len(text), len(text) + len(shown), target, match[1] is not None))
            text += shown
            position = match.end()
        text += source[position:]
        places.append({"node": node, "title": title, "section": section, "text": text})
        links.append(found)
    edges = []
    for node, found in enumerate(links):
        out = []
        for start, end, target, is_link in found:
            goal = places[first[target]]
            kind = "hyperlink" if is_link else "entity"
            out.append({**goal, "kind": kind, "anchor": [start, end]})
        for neighbour, kind in ((node + 1, "next"), (node - 1, "previous")):
            if 0 <= neighbour < len(places) and places[neighbour]["title"] == places[node]["title"]:
                out.append({**places[neighbour], "kind": kind, "anchor": None})
        edges.append(out)
    return places, edges


def _walk(
    rng: np.random.Generator, start: int, target: int, decoding: str, sharpness: float, budget: int
) -> dict[str, Any]:
    """One simulated walk: a softmax over noisy closeness to the target."""
    places, edges = _graph()
    # Distance to the target by breadth-first search over reversed links.
    distance = {target: 0}
    frontier = [target]
    while frontier:
        near = [
            node
            for node in range(len(places))
            if node not in distance and any(edge["node"] in frontier for edge in edges[node])
        ]
        distance |= dict.fromkeys(near, distance[frontier[0]] + 1)
        frontier = near
    node, steps, visited = start, [], {start}
    while node != target and len(steps) < budget:
        out = edges[node]
        score = np.array([-distance.get(edge["node"], 9) for edge in out], float)
        score = sharpness * score + rng.normal(0, 0.7, len(out))
        if decoding == "no_revisit":
            score -= np.array([8.0 * (edge["node"] in visited) for edge in out])
        weight = np.exp(score - score.max())
        probability = weight / weight.sum()
        greedy = decoding != "sample"
        chosen = int(probability.argmax() if greedy else rng.choice(len(out), p=probability))
        alternatives = [
            {
                "node": edge["node"],
                "title": edge["title"],
                "section": edge["section"],
                "kind": edge["kind"],
                "anchor": edge["anchor"],
                "probability": float(p),
                "cosine": float(
                    np.clip(
                        0.55 - 0.13 * distance.get(edge["node"], 9) + rng.normal(0, 0.08), -1, 1
                    )
                ),
                "visited": edge["node"] in visited,
            }
            for edge, p in zip(out, probability, strict=True)
        ]
        steps.append(
            {
                **places[node],
                "chosen": chosen,
                "alternatives": alternatives,
                "num_alternatives": len(out) + (31 if len(out) > 4 else 0),
            }
        )
        node = out[chosen]["node"]
        visited.add(node)
    reached = node == target
    return {
        "task": "multistep",
        "decoding": decoding,
        "outcome": "success" if reached else "failure",
        "start": places[start],
        "target": places[target],
        "shortest": distance.get(start),
        "steps": steps,
        "reason": "" if reached else f"the budget of {budget} steps was used up",
    }


def make_walks() -> list[dict[str, Any]]:
    """Walks of walks.json: successes and failures under three decodings."""
    rng = np.random.default_rng(11)
    walks = [
        _walk(rng, 6, 13, "no_revisit", 0.9, 100),
        _walk(rng, 15, 12, "sample", 0.7, 100),
        _walk(rng, 4, 14, "argmax", 1.2, 100),
        _walk(rng, 9, 11, "no_revisit", 0.8, 100),
        _walk(rng, 11, 8, "sample", -0.6, 25),
        _walk(rng, 2, 6, "sample", -0.9, 100),
    ]
    walks[1]["task"] = "5-step"
    walks[4]["task"] = "20-step"
    return walks


FACTS = {
    "Graph": "Harrow, 16 blocks of 10 articles, held-out half",
    "Features": "TF-IDF + SVD, 256 dimensions",
    "Policy": "feed-forward, 2 × 512",
    "Training steps": 20_000,
    "Training time (s)": 184.23,
    "Device": "CPU × 4",
    "Transitions per second": 21_437.52,
    "Parameters": 525_312,
    "Seed": 0,
    "Graph statistics": {
        "Blocks": 65_904,
        "Edges": 203_117,
        "Hyperlinks": 60_822,
        "Entity links": 71_004,
        "Median out-degree": 3,
        "Start = target episodes left out": 4,
    },
    "Versions": {"jax": "0.10.2", "flax": "0.12.8", "numpy": "2.4.6"},
}
CONFIG = {
    "room": "navigation",
    "seed": 0,
    "dataset": {"name": "harrow", "target_words": 100, "fractions": [0.5, 0.5]},
    "policy": {"name": "feed_forward", "hidden_dim": 512, "dropout": 0.2},
    "optimizer": {"name": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01, "clip": None},
    "tasks": ["5-step", "10-step", "20-step", "multistep"],
}


def make_workdir(path: Path, *, seeds: int = 1) -> Path:
    """Writes all files of a run into `path` and returns it."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "results.json").write_text(json.dumps(make_rows(seeds=seeds)), encoding="utf-8")
    lines = "".join(json.dumps(row) + "\n" for row in make_metrics())
    (path / "metrics.jsonl").write_text(lines, encoding="utf-8")
    (path / "walks.json").write_text(json.dumps({"walks": make_walks()}), encoding="utf-8")
    (path / "facts.json").write_text(json.dumps(FACTS), encoding="utf-8")
    (path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return path


if __name__ == "__main__":
    from wikinav_jax.reports.page import write_report

    print(write_report(make_workdir(Path(sys.argv[1]))))
