"""Shortest paths in numba, drawn uniformly; for read-only arrays, compiled at the first call.

A search keeps one label a node: `base + level`, where each search has a higher base than the one
before, so that nothing is ever cleared. Beside it stands the number of shortest paths to the node,
by which a path is drawn backwards, one link after another, so that all are equally likely.
"""

from __future__ import annotations

import numba
import numpy as np

# Path counts, float32 to halve what a search touches, stop growing here: the product of two is
# still a float32.
_MANY = np.float32(1e18)


@numba.njit(nogil=True)
def _next_level(indptr, indices, label, count, queue, begin, end, base, level):
    """Fills queue[end:] with the nodes of `level`, from those of the level before.

    Returns the new end, and the out-links of the new level.
    """
    new_end, work, now = end, 0, base + level
    for position in range(begin, end):
        node = queue[position]
        for slot in range(indptr[node], indptr[node + 1]):
            neighbour = indices[slot]
            if label[neighbour] < base:
                label[neighbour] = now
                count[neighbour] = count[node]
                queue[new_end] = neighbour
                new_end += 1
                work += indptr[neighbour + 1] - indptr[neighbour]
            elif label[neighbour] == now:
                count[neighbour] = min(count[neighbour] + count[node], _MANY)
    return new_end, work


@numba.njit(nogil=True)
def _draw_slot(indptr, indices, label, count, node, wanted, uniform):
    """One of the node's links to a neighbour labelled `wanted`, weighed by the paths beyond it."""
    rest = uniform * count[node]
    chosen = -1
    for slot in range(indptr[node], indptr[node + 1]):
        neighbour = indices[slot]
        if label[neighbour] == wanted:
            chosen = slot
            rest -= count[neighbour]
            if rest < 0:
                break
    return chosen


@numba.njit(nogil=True)
def _trace_back(back_indptr, back_indices, back_edge, label, count, level, draws, nodes, edges):
    """Fills nodes[:level] and edges[:level] with a path to nodes[level], drawn backwards."""
    for step in range(level, 0, -1):
        node = nodes[step]
        wanted = label[node] - 1
        slot = _draw_slot(back_indptr, back_indices, label, count, node, wanted, draws[step - 1])
        nodes[step - 1] = back_indices[slot]
        edges[step - 1] = back_edge[slot]


@numba.njit(nogil=True)
def pair_paths(
    indptr,
    indices,
    back_indptr,
    back_indices,
    back_edge,
    sources,
    targets,
    draws,
    labels,
    counts,
    queues,
    nodes,
    edges,
    lengths,
):
    """A path for each of P pairs by a search from both ends; the cheaper side moves a level on.

    Args: the graph and its reverse (`back_edge`: forward slots); sources, targets int64 [P]; draws
    float64 [P, T + 1] in [0, 1); scratch: labels int [2, N] of zeros, which hold (P + 1) (T + 1),
    counts float32 [2, N], queues int32 [2, N]. Fills nodes int32 [P, T + 1], edges int64 [P, T] and
    lengths int64 [P], -1 where there is no path of at most T links.
    """
    most = edges.shape[1]
    label, back_label = labels[0], labels[1]
    count, back_count = counts[0], counts[1]
    queue, back_queue = queues[0], queues[1]
    for pair in range(len(sources)):
        source, target = sources[pair], targets[pair]
        nodes[pair, 0] = source
        lengths[pair] = 0
        if source == target:
            continue
        base = (pair + 1) * (most + 1)  # above all labels of the search before
        label[source], back_label[target] = base, base
        count[source], back_count[target] = 1.0, 1.0
        queue[0], back_queue[0] = source, target
        begin, end, back_begin, back_end = 0, 1, 0, 1
        work = indptr[source + 1] - indptr[source]
        back_work = back_indptr[target + 1] - back_indptr[target]
        level, back_level = 0, 0
        total = 0.0  # paths, once the searches have met
        meets_forward = True
        while total == 0.0 and level + back_level < most and work > 0 and back_work > 0:
            meets_forward = work <= back_work
            if meets_forward:
                level += 1
                new_end, work = _next_level(
                    indptr, indices, label, count, queue, begin, end, base, level
                )
                begin, end = end, new_end
                for position in range(begin, end):
                    node = queue[position]
                    if back_label[node] >= base:
                        total += count[node] * back_count[node]
            else:
                back_level += 1
                new_end, back_work = _next_level(
                    back_indptr,
                    back_indices,
                    back_label,
                    back_count,
                    back_queue,
                    back_begin,
                    back_end,
                    base,
                    back_level,
                )
                back_begin, back_end = back_end, new_end
                for position in range(back_begin, back_end):
                    node = back_queue[position]
                    if label[node] >= base:
                        total += count[node] * back_count[node]
        if total == 0.0:
            lengths[pair] = -1
            continue
        # Every shortest path has one node at this level of the search that moved last.
        frontier, first, last = queue, begin, end
        if not meets_forward:
            frontier, first, last = back_queue, back_begin, back_end
        rest = draws[pair, most] * total
        middle = -1
        for position in range(first, last):
            node = frontier[position]
            if label[node] >= base and back_label[node] >= base:
                middle = node
                rest -= count[node] * back_count[node]
                if rest < 0:
                    break
        nodes[pair, level] = middle
        lengths[pair] = level + back_level
        _trace_back(
            back_indptr,
            back_indices,
            back_edge,
            label,
            count,
            level,
            draws[pair],
            nodes[pair],
            edges[pair],
        )
        for step in range(level, level + back_level):
            node = nodes[pair, step]
            wanted = back_label[node] - 1
            slot = _draw_slot(
                indptr, indices, back_label, back_count, node, wanted, draws[pair, step]
            )
            edges[pair, step] = slot
            nodes[pair, step + 1] = indices[slot]


@numba.njit(nogil=True)
def distant_paths(
    indptr,
    indices,
    back_indptr,
    back_indices,
    back_edge,
    starts,
    least,
    draws,
    label,
    count,
    queue,
    nodes,
    edges,
    lengths,
):
    """K paths from each of B starts to nodes at uniformly random distances from least to T.

    Args: as `pair_paths`; starts int64 [B]; draws float64 [B, K, T + 2]; scratch: label int [N]
    of zeros, count float32 [N], queue int32 [N]. Fills nodes [B, K, T + 1], edges [B, K, T] and
    lengths [B, K], -1 where the start reaches no node as far as `least`.
    """
    most = edges.shape[2]
    ends = np.empty(most + 2, np.int64)  # level l lies in queue[ends[l]:ends[l + 1]]
    for row in range(len(starts)):
        start = starts[row]
        base = (row + 1) * (most + 1)  # above all labels of the search before
        label[start] = base
        count[start] = 1.0
        queue[0] = start
        ends[0], ends[1] = 0, 1
        depth, work = 0, indptr[start + 1] - indptr[start]
        while depth < most and work > 0:
            new_end, work = _next_level(
                indptr,
                indices,
                label,
                count,
                queue,
                ends[depth],
                ends[depth + 1],
                base,
                depth + 1,
            )
            if new_end == ends[depth + 1]:
                break
            depth += 1
            ends[depth + 1] = new_end
        for k in range(nodes.shape[1]):
            nodes[row, k, 0] = start
            if depth < least:
                lengths[row, k] = -1
                continue
            level = least + np.int64(draws[row, k, most] * (depth - least + 1))
            size = ends[level + 1] - ends[level]
            nodes[row, k, level] = queue[ends[level] + np.int64(draws[row, k, most + 1] * size)]
            lengths[row, k] = level
            _trace_back(
                back_indptr,
                back_indices,
                back_edge,
                label,
                count,
                level,
                draws[row, k],
                nodes[row, k],
                edges[row, k],
            )
