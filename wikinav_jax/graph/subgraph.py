"""Parts of a graph: induced subgraphs, and splits whose articles are disjoint."""

from __future__ import annotations

import numpy as np

from wikinav_jax.graph.csr import csr_from_edges, edge_sources, read_only
from wikinav_jax.graph.linked_text import LinkedTextGraph, own_meta


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
    new_id = np.cumsum(keep) - 1
    src = edge_sources(graph)
    slots = np.flatnonzero(keep[src] & keep[graph.indices])
    csr = csr_from_edges(
        len(node_ids),
        new_id[src[slots]],
        new_id[graph.indices[slots]],
        graph.edge_kind[slots],
        graph.anchor[slots],
    )
    articles, article = np.unique(graph.article[node_ids], return_inverse=True)
    part = LinkedTextGraph(
        **csr._asdict(),
        article=read_only(article.astype(np.int32)),
        blocks=graph.blocks.select(node_ids, articles),
        meta=own_meta(graph),
    )
    return part, node_ids


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
