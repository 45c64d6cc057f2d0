"""Tiny knowledge graphs for the tests of debates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ml_collections import ConfigDict

from wikinav_jax.debate.config import default_config
from wikinav_jax.graph.triples import KnowledgeGraph, from_triples

CITIES, COUNTRIES = 12, 4


def make_graph(people: int = 48, seed: int = 0) -> KnowledgeGraph:
    """People live in cities and are citizens of the cities' countries.

    "citizen of" follows from "lives in" and "lies in": the two steps are the argument to find.
    """
    rng = np.random.default_rng(seed)
    country = np.arange(CITIES) % COUNTRIES
    home = rng.integers(0, CITIES, people)
    facts = [(f"city{c:02}", "lies in", f"land{country[c]}") for c in range(CITIES)]
    facts += [(f"person{i:02}", "lives in", f"city{home[i]:02}") for i in range(people)]
    friends = [(f"person{i:02}", "knows", f"person{(i + 1) % people:02}") for i in range(people)]
    citizens = [
        (f"person{i:02}", "citizen of", f"land{country[home[i]]}")
        for i in rng.permutation(people).tolist()
    ]
    held = people // 4
    return from_triples(
        [*facts, *friends, *citizens[2 * held :]],
        citizens[:held],
        citizens[held : 2 * held],
        entity_names={f"land{i}": f"Land {i}" for i in range(COUNTRIES)},
        name="toy",
    )


def make_star(leaves: int = 300) -> KnowledgeGraph:
    """A hub with many leaves, and one leaf that leads on."""
    facts = [("hub", "has", f"leaf{i:03}") for i in range(leaves)]
    return from_triples([*facts, ("leaf000", "near", "goal")], name="star")


def write_folder(kg: KnowledgeGraph, folder: Path) -> Path:
    """The graph as a folder of tab-separated files."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "valid", "test"):
        rows = [
            f"{kg.entities[s]}\t{kg.relations[p]}\t{kg.entities[o]}\n"
            for s, p, o in kg.split(split)
        ]
        (folder / f"{split}.txt").write_text("".join(rows), encoding="utf-8")
    named = zip(kg.entities, kg.entity_names, strict=True)
    names = [f"{entity}\t{name}\n" for entity, name in named]
    (folder / "entity_names.tsv").write_text("".join(names), encoding="utf-8")
    return folder


# Changes to the default config that make every run small.
TINY = {
    "dataset.name": "folder",
    "agents.dim": 4,
    "agents.learning_rate": 0.02,
    "judge.dim": 4,
    "judge.hidden_dim": 8,
    "judge.learning_rate": 0.02,
    "debate.rounds": 2,
    "debate.path_length": 2,
    "train.num_steps": 20,
    "train.pretrain_steps": 6,
    "train.phase_steps": 4,
    "train.queries_per_shard": 4,
    "train.rollouts": 2,
    "train.max_actions": 8,
    "train.log_every": 4,
    "train.checkpoint_every": 5,
    "train.evaluate_every": 10,
    "train.evaluate_queries": 16,
    "train.evaluate_rollouts": 2,
    "evaluate.rollouts": 3,
    "evaluate.queries": 4,
    "evaluate.example_debates": 2,
    "evaluate.embeddings": (),
    "evaluate.stack": False,
    "embedding.epochs": 1,
    "quiz.claims": 4,
}


def tiny_config(**changes: object) -> ConfigDict:
    """The default config with TINY and `changes`."""
    config = default_config()
    config.update_from_flattened_dict({**TINY, **changes})
    return config
