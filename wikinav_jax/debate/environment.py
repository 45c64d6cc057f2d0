"""Where an agent may go: admissible actions, hidden edges, and exact choice among all edges.

Axes: B walkers, K actions at hand, C tiles of a pass (see `choose_among_all`), d width of a table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from wikinav_jax.debate.types import Array, DebateGraph, Queries
from wikinav_jax.graph.triples import KnowledgeGraph
from wikinav_jax.training.mesh import replicate

MARKS = ("none", "object", "neighbours")  # number of marks: 0, 1, 2
HIDING = ("answers", "pair", "query", "query_forward", "none")
_UNIFORM_TRIES = 8  # draws of a random walker before it stays
_NEVER = -1e30


def to_device(kg: KnowledgeGraph, mesh: Mesh, *, seed: int = 0, shuffle: bool = True) -> Any:
    """The graph's edges on every device.

    Each entity's edges come in an order drawn from `seed`, so that a window of them is a sample;
    with `shuffle=False` they come in the order of the training file.
    """
    source = np.repeat(np.arange(kg.num_entities), np.diff(kg.indptr))
    rank = np.asarray(kg.edge_triple)
    if shuffle:
        rank = np.random.default_rng([seed, len(source)]).permutation(len(source))
    order = np.lexsort((rank, source))
    return replicate(
        mesh,
        DebateGraph(
            indptr=kg.indptr.astype(np.int32),
            relation=kg.edge_relation[order],
            entity=kg.edge_object[order],
            neighbour=kg.edge_object[np.lexsort((kg.edge_object, source))],
            num_relations=kg.num_relations,
            max_degree=int(np.diff(kg.indptr).max()),
        ),
    )


def is_hidden(
    graph: DebateGraph, queries: Queries, node: Array, relation: Array, entity: Array, rule: str
) -> jax.Array:
    """Whether an edge would give the answer away; all arguments broadcast against each other.

    Rules: "answers" hides every training fact (s, p, ?) in both directions, "pair" these and every
    edge between s and o, "query" the claim itself in both directions, "query_forward" the claim as
    it stands, "none" nothing. The first three are the same for training facts, which are edges, and
    test facts, which are not, in what they leave to be seen of the claim. "pair" is for graphs
    whose test facts were chosen to join entities that no training fact joins, as FB15k-237's were:
    there an edge between s and o tells in training what it never tells in the test.
    """
    subject, p, o = queries.subject, queries.relation, queries.object
    inverse = jnp.where(p < graph.num_relations, p + graph.num_relations, p - graph.num_relations)
    if rule in ("answers", "pair"):
        forward = (node == subject) & (relation == p)
        hidden = forward | ((entity == subject) & (relation == inverse))
        if rule == "pair":
            hidden |= (node == subject) & (entity == o) | (node == o) & (entity == subject)
        return hidden
    forward = (node == subject) & (relation == p) & (entity == o)
    if rule == "query":
        return forward | ((node == o) & (relation == inverse) & (entity == subject))
    if rule == "query_forward":
        return forward
    if rule == "none":
        return jnp.zeros_like(forward)
    raise ValueError(f"rule={rule!r} is not one of {', '.join(HIDING)}")


def marks_of(graph: DebateGraph, queries: Queries, entity: jax.Array, num_marks: int) -> jax.Array:
    """What can be told of places with the claim's object in view, bool [B, K, M].

    Mark 0: the place is the object. Mark 1: an edge joins it to the object, and neither is
    the subject: all hidden edges are at the subject, and none may show.

    Args:
      graph: from `to_device`.
      queries: leaves [B].
      entity: int32 [B, K].
      num_marks: M, at most 2.
    """
    if not num_marks:
        return jnp.zeros((*entity.shape, 0), bool)
    goal = queries.object[:, None]
    marks = [entity == goal]
    if num_marks > 1:
        subject = queries.subject[:, None]
        shows = (entity != subject) & (goal != subject)
        marks.append(_are_joined(graph, goal, entity) & shows)
    return jnp.stack(marks, axis=-1)


def _are_joined(graph: DebateGraph, one: jax.Array, other: jax.Array) -> jax.Array:
    """Whether an edge of any relation joins two entities; bisects the first one's neighbours."""
    shape = jnp.broadcast_shapes(one.shape, other.shape)
    begin = jnp.broadcast_to(graph.indptr[one], shape)
    end = jnp.broadcast_to(graph.indptr[one + 1], shape)
    last = graph.neighbour.shape[0] - 1

    def halve(_: Any, bounds: Any) -> Any:
        low, high = bounds
        middle = (low + high) // 2
        goes_up = (low < high) & (graph.neighbour[jnp.minimum(middle, last)] < other)
        return jnp.where(goes_up, middle + 1, low), jnp.where(goes_up, high, middle)

    low, _ = jax.lax.fori_loop(0, graph.max_degree.bit_length(), halve, (begin, end))
    return (low < end) & (graph.neighbour[jnp.minimum(low, last)] == other)


class Actions(NamedTuple):
    """What can be done at a step; the last action is to stay, which is always possible."""

    relation: jax.Array  # int32 [B, K + 1]
    entity: jax.Array  # int32 [B, K + 1]
    valid: jax.Array  # bool [B, K + 1]
    marks: jax.Array  # bool [B, K + 1, M], see `marks_of`


def window(
    graph: DebateGraph,
    queries: Queries,
    node: jax.Array,
    key: jax.Array,
    *,
    width: int,
    rule: str,
    sample: bool = True,
    num_marks: int = 0,
) -> Actions:
    """At most `width` edges of each walker's entity, and to stay.

    Where there are more, a uniform sample of them for this visit (the edges lie in random order,
    and the window starts anywhere); with `sample=False` the first ones.

    Args:
      graph: from `to_device`.
      queries: leaves [B].
      node: int32 [B], where the walkers stand.
      key: typed key.
      width: K.
      rule: see `is_hidden`.
      sample: see above.
      num_marks: M.
    """
    chex.assert_rank([node, queries.subject], 1)
    begin = graph.indptr[node]
    degree = graph.indptr[node + 1] - begin
    lane = jnp.arange(width)[None]
    if sample:
        offset = jax.random.randint(key, node.shape, 0, jnp.maximum(degree, 1))
        offset = jnp.where(degree > width, offset, 0)
        place = (offset[:, None] + lane) % jnp.maximum(degree, 1)[:, None]
    else:
        place = lane
    exists = lane < degree[:, None]
    slot = jnp.where(exists, begin[:, None] + place, 0)
    relation, entity = graph.relation[slot], graph.entity[slot]
    column = jax.tree.map(lambda leaf: leaf[:, None], queries)
    hidden = is_hidden(graph, column, node[:, None], relation, entity, rule)
    stay = jnp.full_like(node, graph.stay)[:, None]
    entity = jnp.concatenate([entity, node[:, None]], axis=1)
    return Actions(
        relation=jnp.concatenate([relation, stay], axis=1),
        entity=entity,
        valid=jnp.concatenate([exists & ~hidden, jnp.ones_like(stay, bool)], axis=1),
        marks=marks_of(graph, queries, entity, num_marks),
    )


def step_uniformly(
    graph: DebateGraph, queries: Queries, node: jax.Array, key: jax.Array, rule: str
) -> tuple[jax.Array, jax.Array]:
    """A random walker's step: (relation, entity), int32 [B] each.

    Uniform over the entity's edges and staying; a draw that is hidden is drawn again, and a walker
    with nothing but hidden draws stays.
    """
    begin = graph.indptr[node][:, None]
    degree = (graph.indptr[node + 1] - graph.indptr[node])[:, None]
    place = jax.random.randint(key, (node.shape[0], _UNIFORM_TRIES), 0, degree + 1)
    stays = place == degree
    slot = jnp.where(stays, 0, begin + place)
    relation = jnp.where(stays, graph.stay, graph.relation[slot])
    entity = jnp.where(stays, node[:, None], graph.entity[slot])
    column = jax.tree.map(lambda leaf: leaf[:, None], queries)
    hidden = is_hidden(graph, column, node[:, None], relation, entity, rule)
    first = jnp.argmin(hidden, axis=1)[:, None]
    found = ~hidden.all(axis=1)

    def chosen(values: jax.Array, otherwise: Any) -> jax.Array:
        return jnp.where(found, jnp.take_along_axis(values, first, axis=1)[:, 0], otherwise)

    return chosen(relation, graph.stay), chosen(entity, node)


def choose_among_all(
    graph: DebateGraph,
    queries: Queries,
    node: jax.Array,
    relation_scores: jax.Array,
    entity_query: jax.Array,
    entity_table: jax.Array,
    mark_scores: jax.Array,
    key: jax.Array,
    *,
    rule: str,
    greedy: bool = False,
    tile: int = 64,
) -> tuple[jax.Array, jax.Array]:
    """Each walker draws among all edges of its entity and staying; no hub is cut.

    An entity's edges are cut into tiles; the tiles of all walkers are laid end to end and scored
    pass by pass, so that the work follows the number of edges and not the greatest hub. The draw is
    exact: every edge gets its own Gumbel number, and the greatest sum wins.

    Args:
      graph: from `to_device`.
      queries: leaves [B].
      node: int32 [B], where the walkers stand.
      relation_scores: float32 [B, 2R + 2], score of each relation for each walker.
      entity_query: float32 [B, d]; an entity's score is its dot product with this.
      entity_table: float32 [N, d].
      mark_scores: float32 [B, M]; what each mark adds, see `marks_of`.
      key: typed key.
      rule: see `is_hidden`.
      greedy: take the best edge instead of drawing.
      tile: K, edges of a tile.

    Returns:
      relation and entity of the edges taken, int32 [B] each.
    """
    chex.assert_rank([node, entity_query, relation_scores], [1, 2, 2])
    walkers = node.shape[0]
    num_marks = mark_scores.shape[1]

    def marked(queries: Queries, entity: jax.Array, scores: jax.Array) -> jax.Array:
        marks = marks_of(graph, queries, entity, num_marks).astype(scores.dtype)
        return jnp.einsum("bkm,bm->bk", marks, scores)

    capacity = walkers
    begin = graph.indptr[node]
    degree = graph.indptr[node + 1] - begin
    tiles = -(-degree // tile)
    ends = jnp.cumsum(tiles)
    total = ends[-1]
    lane = jnp.arange(tile)[None]

    stay_key, edge_key = jax.random.split(key)
    stay_score = relation_scores[:, graph.stay] + (entity_query * entity_table[node]).sum(axis=1)
    stay_score += marked(queries, node[:, None], mark_scores)[:, 0]
    if not greedy:
        stay_score += jax.random.gumbel(stay_key, (walkers,))

    def scan_tiles(carry: Any) -> Any:
        number, best, best_slot = carry
        index = number * capacity + jnp.arange(capacity)
        real = index < total
        walker = jnp.minimum(jnp.searchsorted(ends, index, side="right"), walkers - 1)
        local = index - (ends[walker] - tiles[walker])
        place = local[:, None] * tile + lane
        exists = real[:, None] & (place < degree[walker][:, None])
        slot = jnp.where(exists, begin[walker][:, None] + place, 0)
        relation, entity = graph.relation[slot], graph.entity[slot]
        column = jax.tree.map(lambda leaf: leaf[walker][:, None], queries)
        hidden = is_hidden(graph, column, node[walker][:, None], relation, entity, rule)
        score = relation_scores[walker[:, None], relation] + jnp.einsum(
            "ckd,cd->ck", entity_table[entity], entity_query[walker]
        )
        score += marked(
            jax.tree.map(lambda leaf: leaf[walker], queries), entity, mark_scores[walker]
        )
        if not greedy:
            score += jax.random.gumbel(jax.random.fold_in(edge_key, number), score.shape)
        score = jnp.where(exists & ~hidden, score, _NEVER)
        inside = jnp.argmax(score, axis=1)[:, None]
        top = jnp.take_along_axis(score, inside, axis=1)[:, 0]
        top_slot = jnp.take_along_axis(slot, inside, axis=1)[:, 0]
        new_best = best.at[walker].max(top)
        best_slot = jnp.where(new_best > best, -1, best_slot)
        winner = jnp.where((top == new_best[walker]) & (top > _NEVER), top_slot, -1)
        return number + 1, new_best, best_slot.at[walker].max(winner)

    carry = (jnp.zeros((), jnp.int32), stay_score, jnp.full(walkers, -1, jnp.int32))
    _, _, slot = jax.lax.while_loop(lambda c: c[0] * capacity < total, scan_tiles, carry)
    stays = slot < 0
    slot = jnp.where(stays, 0, slot)
    return (
        jnp.where(stays, graph.stay, graph.relation[slot]),
        jnp.where(stays, node, graph.entity[slot]),
    )
