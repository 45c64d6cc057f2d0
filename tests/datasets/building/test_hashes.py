"""Names as numbers, tables of them, and redirects to their ends."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from wikinav_jax.datasets.building.hashes import (
    HashTable,
    name_hash,
    resolve_redirects,
    section_hash,
)


def resolve(redirects: dict[str, tuple[str, str]]) -> tuple[dict[str, tuple[str, str]], int, int]:
    """(where each redirect ends, rings, redirects lost), by name."""
    names = {name for title, pair in redirects.items() for name in (title, *pair)}
    by_hash = {name_hash(name): name for name in names} | {0: ""}
    columns = [
        np.array([name_hash(name) for name in values], np.uint64)
        for values in (
            redirects,
            (target for target, _ in redirects.values()),
            (fragment for _, fragment in redirects.values()),
        )
    ]
    found = resolve_redirects(*columns)
    ends = {
        title: (by_hash[int(found.target[i])], by_hash[int(found.fragment[i])])
        for i, title in enumerate(redirects)
        if not found.lost[i]
    }
    return ends, found.cycles, int(found.lost.sum())


def test_redirect_chains_end_at_their_end():
    redirects = {"A": ("B", "x"), "B": ("C", ""), "C": ("D", "y"), "Z": ("A", ""), "Q": ("D", "")}
    ends = dict.fromkeys("ABCZ", ("D", "y")) | {"Q": ("D", "")}
    assert resolve(redirects) == (ends, 0, 0)


def test_the_section_nearest_to_the_end_counts():
    ends, _, _ = resolve({"A": ("B", "x"), "B": ("C", ""), "Z": ("A", "z")})
    assert ends == {"A": ("C", "x"), "B": ("C", ""), "Z": ("C", "x")}


def test_rings_are_counted_and_dropped():
    redirects = {
        "A": ("B", ""),
        "B": ("C", ""),
        "C": ("A", ""),
        "D": ("E", ""),
        "E": ("F", ""),
        "Into": ("B", ""),
        "Self": ("Self", ""),
    }
    assert resolve(redirects) == ({"D": ("F", ""), "E": ("F", "")}, 2, 5)


def test_long_chains_and_none():
    ends, cycles, lost = resolve({str(i): (str(i + 1), "") for i in range(5000)})
    assert set(ends.values()) == {("5000", "")}
    assert (cycles, lost) == (0, 0)
    assert resolve({}) == ({}, 0, 0)


def test_random_redirects_against_walking():
    rng = np.random.default_rng(3)
    redirects = {
        str(i): (str(rng.integers(0, 310)), "s" * int(rng.random() < 0.3)) for i in range(300)
    }
    ends, _, lost = resolve(redirects)
    assert lost > 0
    for title in redirects:
        at, fragment, steps = title, "", 0
        while at in redirects and steps <= 300:
            at, named = redirects[at]
            fragment, steps = named or fragment, steps + 1
        assert ends.get(title) == ((at, fragment) if steps <= 300 else None)


def test_names_and_tables():
    assert name_hash("") == 0
    assert len({name_hash(str(i)) for i in range(10_000)}) == 10_000
    assert name_hash("lone \ud800 surrogate") != name_hash("lone ? surrogate")
    table = HashTable(np.array([5, 3, 5], np.uint64), np.array([10, 11, 12]))
    assert_array_equal(table.get(np.array([5, 3, 4, 9], np.uint64)), [10, 11, -1, -1])
    empty = HashTable(np.zeros(0, np.uint64), np.zeros(0, int))
    assert_array_equal(empty.get(np.array([1], np.uint64)), [-1])
    titles, headings = (
        np.array([name_hash(c) for c in text], np.uint64) for text in ("aab", "xyx")
    )
    assert len(set(section_hash(titles, headings).tolist())) == 3
