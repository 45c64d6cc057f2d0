"""Parts of a graph: induced subgraphs, and splits whose articles are disjoint."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wikinav_jax.graph.csr import ranges, read_only, slots_of
from wikinav_jax.graph.linked_text import LinkedTextGraph, own_meta

_EDGES_AT_ONCE = 1 << 24


def induced_subgraph(
    graph: LinkedTextGraph, keep: np.ndarray
) -> tuple[LinkedTextGraph, np.ndarray]:
    """The kept nodes with all edges between them; texts stay where they are.

    Args:
      graph: the whole graph.
      keep: bool [N].

    Returns:
      The subgraph, whose articles are those with a kept node, and int64 [N'], the node of `graph`
      behind each of its nodes. Order is unchanged.

    Raises:
      ValueError: the mask has another shape or dtype, or keeps nothing.
    """
    keep = np.asarray(keep)
    if keep.shape != (graph.num_nodes,) or keep.dtype != np.bool_:
        raise ValueError(
            f"keep must be bool [{graph.num_nodes}], one per node; got {keep.dtype} "
            f"{list(keep.shape)}"
        )
    node_ids = np.flatnonzero(keep)
    if not len(node_ids):
        raise ValueError(f"keep is False for all {graph.num_nodes} nodes: the subgraph is empty")
    new_id = np.cumsum(keep, dtype=np.int32) - 1
    # A few rows at a time: what is held grows with the edges that stay, not with those looked at.
    degrees: list[np.ndarray] = []
    kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for rows in _runs(graph.indptr, node_ids):
        row, slots = slots_of(graph.indptr, rows)
        leads_to = graph.indices[slots]
        inside = keep[leads_to]
        slots = slots[inside]
        degrees.append(np.bincount(row[inside], minlength=len(rows)))
        kept.append((new_id[leads_to[inside]], graph.edge_kind[slots], graph.anchor[slots]))
    indptr = np.zeros(len(node_ids) + 1, np.int64)
    np.cumsum(np.concatenate(degrees), out=indptr[1:])
    indices, edge_kind, anchor = (
        read_only(np.concatenate([part[column] for part in kept])) for column in range(3)
    )
    articles, article = np.unique(graph.article[node_ids], return_inverse=True)
    part = LinkedTextGraph(
        indptr=read_only(indptr),
        indices=indices,
        edge_kind=edge_kind,
        anchor=anchor,
        article=read_only(article.astype(np.int32)),
        blocks=graph.blocks.select(node_ids, articles),
        meta=own_meta(graph),
    )
    return part, node_ids


def _runs(indptr: np.ndarray, nodes: np.ndarray) -> Iterator[np.ndarray]:
    """The nodes in runs of about _EDGES_AT_ONCE edges, each of at least one node."""
    ends = np.cumsum(indptr[nodes + 1] - indptr[nodes])
    start = 0
    while start < len(nodes):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + _EDGES_AT_ONCE, side="right"))
        yield nodes[start : max(stop, start + 1)]
        start = max(stop, start + 1)


def snowball_subgraph(
    graph: LinkedTextGraph, num_nodes: int, seed: int
) -> tuple[LinkedTextGraph, np.ndarray]:
    """A connected piece of a large graph: whole articles, ring by ring around a random one.

    The articles that a ring links to make the next ring, in random order, until the first that
    does not fit; where links end before that, another random article begins. Only the rows that
    are met are read. (Snowball sampling; a uniform sample of one node in a hundred would keep one
    link in a hundred.)

    Args:
      graph: the whole graph.
      num_nodes: at most so many nodes.
      seed: decides where to begin, and the order within a ring.

    Returns: as `induced_subgraph`.

    Raises:
      ValueError: num_nodes is not positive, or the article that was drawn has more.
    """
    if num_nodes < 1:
        raise ValueError(f"num_nodes={num_nodes} must be at least 1")
    rng = np.random.default_rng(seed)
    keep = np.zeros(graph.num_nodes, bool)
    seen = np.zeros(graph.num_articles, bool)
    left, full = num_nodes, False
    ring = np.zeros(0, np.int64)
    while left and not full and not (len(ring) == 0 and seen.all()):
        if not len(ring):
            ring = rng.choice(np.flatnonzero(~seen), 1)
        seen[ring] = True
        ring = rng.permutation(ring)
        first = np.searchsorted(graph.article, ring)
        size = np.searchsorted(graph.article, ring, side="right") - first
        fits = np.cumsum(size) <= left
        full = not fits.all()
        if full and left == num_nodes:
            raise ValueError(
                f"num_nodes={num_nodes} is less than the {int(size[0])} blocks of the article "
                f"{graph.blocks.title(int(ring[0]))!r}, from which to begin; raise it, or take "
                "another seed"
            )
        left -= int(size[fits].sum())
        nodes = ranges(first[fits], size[fits])
        keep[nodes] = True
        _, slots = slots_of(graph.indptr, nodes)
        ring = np.unique(graph.article[graph.indices[slots]])
        ring = ring[~seen[ring]]
    return induced_subgraph(graph, keep)


def split_by_article(
    graph: LinkedTextGraph, fractions: tuple[float, ...], seed: int
) -> list[tuple[LinkedTextGraph, np.ndarray]]:
    """Shares the articles out at random; each part keeps the edges inside it.

    Args:
      graph: the whole graph.
      fractions: the share of articles of each part; they may add up to less than 1.
      seed: decides which article goes where.

    Returns:
      For each fraction, the subgraph and the nodes of `graph` behind its nodes, int64 [N'].

    Raises:
      ValueError: a fraction is not positive, they exceed 1, or a part gets no article.
    """
    if not fractions or min(fractions) <= 0 or sum(fractions) > 1 + 1e-9:
        raise ValueError(f"fractions={fractions} must be positive and add up to at most 1")
    order = np.random.default_rng(seed).permutation(graph.num_articles)
    cuts = np.rint(np.cumsum((0.0, *fractions)) * graph.num_articles).astype(int)
    parts = []
    for fraction, start, stop in zip(fractions, cuts[:-1], cuts[1:], strict=True):
        if start == stop:
            raise ValueError(
                f"a part of fraction {fraction} gets none of the {graph.num_articles} articles; "
                "use a larger corpus or a larger fraction"
            )
        chosen = np.zeros(graph.num_articles, bool)
        chosen[order[start:stop]] = True
        parts.append(induced_subgraph(graph, chosen[graph.article]))
    return parts
