"""Trails: the whole walks behind the decisions of a batch, for policies that read them.

Axes: M decisions, W walks, T steps of the longest walk.
"""

from __future__ import annotations

import numpy as np

from wikinav_jax.navigation.types import NO_NODE, Trails


def trails_of(
    walk: np.ndarray, step: np.ndarray, history: np.ndarray, num_trails: int = 0
) -> Trails:
    """The walks of decisions, each up to its last decision; nodes [W, T].

    Args:
      walk: int [M], a number that tells the walks apart.
      step: int [M], moves made before the decision.
      history: int32 [M, T], nodes stood at, the present one last; padded by NO_NODE.
      num_trails: W, rows to return; 0: as many as there are walks.

    Raises:
      ValueError: the decisions belong to more walks than `num_trails`.
    """
    walks, row = np.unique(walk, return_inverse=True)
    num_trails = num_trails or len(walks)
    if len(walks) > num_trails:
        raise ValueError(f"the decisions are of {len(walks)} walks; there is room for {num_trails}")
    # The last decision of a walk remembers the others.
    order = np.lexsort((step, row))
    last = order[np.searchsorted(row[order], np.arange(len(walks)), side="right") - 1]
    length = history.shape[1]
    place, moves = np.arange(length)[None], step[last][:, None]
    column = np.minimum(length - 1 - moves + place, length - 1)
    nodes = np.full((num_trails, length), NO_NODE, np.int32)
    nodes[: len(walks)] = np.where(
        place <= moves, np.take_along_axis(history[last], column, axis=1), NO_NODE
    )
    return Trails(nodes=nodes, of_decision=row.astype(np.int32))


def choose_within(
    walk: np.ndarray, count: int, num_trails: int, rng: np.random.Generator
) -> np.ndarray:
    """`count` of the decisions, ascending, of at most `num_trails` walks; int [count].

    A uniform choice, wherever there is room for all walks. Else whole walks stay out, and if too
    few decisions are then left, some of them come twice.
    """
    walks = np.unique(walk)
    left = np.arange(len(walk))
    if len(walks) > num_trails:
        stay = rng.choice(walks, num_trails, replace=False)
        left = np.flatnonzero(np.isin(walk, stay))
    chosen = rng.choice(left, min(count, len(left)), replace=False)
    again = rng.choice(left, count - len(chosen))
    return np.sort(np.concatenate([chosen, again]))
