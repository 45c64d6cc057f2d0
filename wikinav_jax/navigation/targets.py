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
    met = nodes[:, None, :num_steps] == target[:, :, None]  # [W, t, u]: is nodes[u] its target?
    return ~(met & _up_to(num_steps)).any(axis=2)


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
    now = np.arange(num_steps)
    here = nodes[:, None, :num_steps]  # [W, t, u]: nodes[u], seen from decision t
    # The first u > t at which the target is met, or else its position.
    met = (here == target[:, :, None]) & ~_up_to(num_steps)
    end = np.where(met.any(axis=2), met.argmax(axis=2), target_position)
    end = np.minimum(end, target_position)
    again = (here == nodes[:, :num_steps, None]) & (now < end[:, :, None]) & ~_up_to(num_steps)
    last = num_steps - 1 - again[:, :, ::-1].argmax(axis=2)
    return np.where(again.any(axis=2), last, now)


def _up_to(num_steps: int) -> np.ndarray:
    """bool [t, u]: u <= t."""
    return np.tri(num_steps, dtype=bool)
