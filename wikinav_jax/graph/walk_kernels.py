"""The walk loop in numba. Compiled at the first call (under a second), for read-only arrays.

It is not cached on disk: a cache beside an installed package may be read-only or shared, and the
compilation is short. Random numbers are SplitMix64 (Steele et al., 2014) read at any position:
draw (walker b, step t) is a function of the seed and b * T + t, whatever the order of evaluation.
"""

from __future__ import annotations

import numba
import numpy as np

# One step waits for memory twice (indptr, then indices). With this many walkers in loops that do
# nothing but load, the processor has dozens of such loads on the way at once.
_WALKERS = 256
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xD1B54A32D192ED03)  # parts the second draw of a step from the first
_ONE = np.uint64(1)


@numba.njit(nogil=True, inline="always")
def _mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(nogil=True, inline="always")
def _below(x, limit):
    """An integer in [0, limit) from 64 random bits; the same rounding as the NumPy backend."""
    return np.int64(np.float64(x >> np.uint64(11)) * (1.0 / 9007199254740992.0) * limit)


@numba.njit(nogil=True)
def _slot_elsewhere(indices, low, high, before, slot, x):
    """A uniform slot of low..high that does not lead to `before`; `slot` where all do."""
    choices = 0
    for other in range(low, high):
        choices += indices[other] != before
    if choices == 0:
        return slot
    pick = _below(x, choices)
    for other in range(low, high):
        if indices[other] != before:
            if pick == 0:
                return other
            pick -= 1
    return slot


@numba.njit(nogil=True)
def walk_interleaved(indptr, indices, starts, seed, non_backtracking, nodes, edges):
    """Fills nodes int32 [B, T + 1] and edges int64 [B, T]; a dead end stays put with edge -1.

    Args: indptr int64 [N + 1] and indices int32 [E], both read-only; starts int64 [B], seed uint64,
    non_backtracking bool. Nothing is checked here: see `walks.sample_forward_walks`.
    """
    num_walks, num_steps = edges.shape
    # Unsigned, so that numba emits no code for negative indices.
    node = np.empty(_WALKERS, np.uint64)
    before = np.empty(_WALKERS, np.int64)
    low = np.empty(_WALKERS, np.int64)
    high = np.empty(_WALKERS, np.int64)
    slot = np.empty(_WALKERS, np.int64)
    stride = np.uint64(num_steps) * _GOLDEN
    for first in range(0, num_walks, _WALKERS):
        count = min(_WALKERS, num_walks - first)
        for w in range(count):
            node[w] = np.uint64(starts[first + w])
            nodes[first + w, 0] = starts[first + w]
            before[w] = -1
        for step in range(num_steps):
            for w in range(count):
                low[w] = indptr[node[w]]
                high[w] = indptr[node[w] + _ONE]
            counter = seed + np.uint64(first) * stride + np.uint64(step + 1) * _GOLDEN
            for w in range(count):
                degree = high[w] - low[w]
                x = _mix(counter + np.uint64(w) * stride)
                drawn = low[w] + _below(x, degree)
                slot[w] = drawn if degree > 0 else -1
            if non_backtracking:
                for w in range(count):
                    if slot[w] >= 0 and indices[slot[w]] == before[w]:
                        x = _mix(_mix(counter + np.uint64(w) * stride) ^ _SECOND)
                        slot[w] = _slot_elsewhere(indices, low[w], high[w], before[w], slot[w], x)
                for w in range(count):
                    before[w] = np.int64(node[w])
            for w in range(count):
                if slot[w] >= 0:
                    node[w] = np.uint64(indices[np.uint64(slot[w])])
            for w in range(count):
                nodes[first + w, step + 1] = node[w]
                edges[first + w, step] = slot[w]
