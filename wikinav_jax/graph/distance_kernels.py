"""Breadth-first searches in numba, for read-only arrays; compiled at the first call.

They release the GIL and run on Python threads: numba's own parallel loops need a threading layer,
and the one that is always there aborts the process when two threads enter it.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(nogil=True)
def _expand(indptr, indices, own, other, queue, begin, end, mark):
    """Moves a frontier queue[begin:end] one level on.

    Returns the end of the new frontier, its out-edges, and whether it met the `other` search.
    """
    new_end, work = end, 0
    for position in range(begin, end):
        node = queue[position]
        for slot in range(indptr[node], indptr[node + 1]):
            neighbour = indices[slot]
            if own[neighbour] != mark:
                if other[neighbour] == mark:
                    return new_end, work, True
                own[neighbour] = mark
                queue[new_end] = neighbour
                new_end += 1
                work += indptr[neighbour + 1] - indptr[neighbour]
    return new_end, work, False


@numba.njit(nogil=True)
def pair_distances(
    indptr, indices, back_indptr, back_indices, sources, targets, limit, first, scratch, out
):
    """Bidirectional search for each pair; the side with fewer edges ahead moves, a whole level.

    Levels are whole, so the searches first meet at exactly the sum of their depths.

    Args: the graph and its reverse; sources, targets int64 [P]; limit in hops; first: number of
    the first pair, unique among calls with this scratch; scratch int32 [4, N]; out int32 [P].
    """
    seen, back_seen, queue, back_queue = scratch[0], scratch[1], scratch[2], scratch[3]
    for pair in range(len(sources)):
        source, target = sources[pair], targets[pair]
        if source == target:
            out[pair] = 0
            continue
        mark = np.int32(first + pair + 1)
        seen[source], back_seen[target] = mark, mark
        queue[0], back_queue[0] = source, target
        begin, end, back_begin, back_end = 0, 1, 0, 1
        work = indptr[source + 1] - indptr[source]
        back_work = back_indptr[target + 1] - back_indptr[target]
        depth, met = 0, False
        while not met and depth < limit and work > 0 and back_work > 0:
            depth += 1
            if work <= back_work:
                new_end, work, met = _expand(
                    indptr, indices, seen, back_seen, queue, begin, end, mark
                )
                begin, end = end, new_end
            else:
                new_end, back_work, met = _expand(
                    back_indptr,
                    back_indices,
                    back_seen,
                    seen,
                    back_queue,
                    back_begin,
                    back_end,
                    mark,
                )
                back_begin, back_end = back_end, new_end
        out[pair] = depth if met else -1


@numba.njit(nogil=True)
def fill_distances(indptr, indices, source, limit, row):
    """Breadth-first search from one node into row int32 [N], which holds -1."""
    queue = np.empty(len(row), np.int32)
    queue[0] = source
    row[source] = 0
    begin, end = 0, 1
    while begin < end:
        node = queue[begin]
        begin += 1
        if row[node] >= limit:
            return
        for slot in range(indptr[node], indptr[node + 1]):
            neighbour = indices[slot]
            if row[neighbour] < 0:
                row[neighbour] = row[node] + 1
                queue[end] = neighbour
                end += 1
