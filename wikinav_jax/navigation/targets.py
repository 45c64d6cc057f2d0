"""Which node of a random walk its earlier decisions are said to aim at, and what they should do.

Axes: W walks, T steps. `lengths` int [W] counts a walk's moves: it stands at nodes[:length + 1].
"""

from __future__ import annotations

import numpy as np

TARGETS = ("end", "later")


def walk_lengths(mask: np.ndarray) -> np.ndarray:
    """Moves of each walk, int64 [W], from a mask bool [W, T] that no later move follows a False."""
    return mask.sum(axis=1)


def choose_targets(
    nodes: np.ndarray, lengths: np.ndarray, mode: str, rng: np.random.Generator
) -> np.ndarray:
    """The position in its walk of every decision's target, int64 [W, T].

    'end': the walk's last node (section 2.2 of the RFBC paper).
    'later': one of the later nodes of the walk, uniformly and anew for every decision
      (hindsight: each of them is a place that this decision led to).

    Entries at t >= lengths are meaningless.
    """
    num_walks, num_steps = nodes.shape[0], nodes.shape[1] - 1
    ends = np.broadcast_to(lengths[:, None], (num_walks, num_steps))
    if mode == "end":
        return ends
    if mode == "later":
        now = np.arange(num_steps)[None]
        left = np.maximum(ends - now, 1)
        return now + 1 + (rng.random((num_walks, num_steps)) * left).astype(np.int64)
    raise ValueError(f"target={mode!r} is not one of {', '.join(TARGETS)}")


def before_first_visit(nodes: np.ndarray, target: np.ndarray) -> np.ndarray:
    """True where the walk has not stood at the decision's target yet, bool [W, T].

    Args:
      nodes: int [W, T + 1].
      target: int [W, T], the target node of each decision.
    """
    num_steps = target.shape[1]
    fresh = np.ones(target.shape, bool)
    for offset in range(num_steps):  # compare with the node `offset` steps before the decision
        fresh[:, offset:] &= nodes[:, : num_steps - offset] != target[:, offset:]
    return fresh


def last_exits(nodes: np.ndarray, target: np.ndarray, target_position: np.ndarray) -> np.ndarray:
    """The last time, before the target is first met, that the walk leaves the decision's node.

    A walk that leaves a node, comes back and leaves again has been in a loop: only its last exit
    leads to the target. Returns positions int64 [W, T]; t itself where the node is not met again.

    Args:
      nodes: int [W, T + 1].
      target: int [W, T], the target node of each decision.
      target_position: int [W, T], a position of the target after the decision.
    """
    num_steps = target.shape[1]
    now = np.broadcast_to(np.arange(num_steps)[None], target.shape)
    exits = now.copy()
    open_ = np.ones(target.shape, bool)  # the target has not been met since the decision
    for offset in range(1, num_steps):
        here = nodes[:, offset:num_steps]  # node `offset` steps after decisions 0..T-offset-1
        part = slice(0, num_steps - offset)
        open_[:, part] &= (here != target[:, part]) & (
            now[:, part] + offset < target_position[:, part]
        )
        again = open_[:, part] & (here == nodes[:, part])
        exits[:, part] = np.where(again, now[:, part] + offset, exits[:, part])
    return exits
