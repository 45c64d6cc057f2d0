"""Tiny knowledge graphs for the tests of debates."""

from __future__ import annotations

import numpy as np

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
