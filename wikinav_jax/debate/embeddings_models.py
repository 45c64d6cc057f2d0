"""TransE, TransR, DistMult, ComplEx and SimplE as scores of a query against entities.

A query (s, p, ?) becomes one vector, and an entity scores by its dot product with it, or by minus
its distance from it. Queries (?, p, o) are queries (o, p + R, ?): every relation has a second
embedding for its inverse (Lacroix et al., 2018; Kazemi & Poole, 2018). Axes: B queries, C objects
of a query, K entities, N all entities, d numbers per embedding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

Params = dict[str, jax.Array]
_TINY = 1e-12  # keeps the gradient of a distance of zero finite


class Query(NamedTuple):
    """B embedded queries; `relation` selects the space that TransR compares in."""

    subject: jax.Array  # float [B, d]
    relation: jax.Array  # float [B, d_r]
    relation_id: jax.Array  # int32 [B]


class Model(NamedTuple):
    """The functions of an embedding model; all are pure."""

    init: Callable[[jax.Array, int, int, int, float], Params]  # key, N, 2R, d, scale
    pairs: Callable[[Params, Query, jax.Array], jax.Array]  # objects float [B, C, d] -> [B, C]
    cross: Callable[[Params, Query, jax.Array], jax.Array]  # entities float [K, d] -> [B, K]
    block: int = 1  # `cross` needs runs of so many queries of one relation


def embed(params: Params, subject: jax.Array, relation: jax.Array) -> Query:
    """Looks up int32 [B] subjects and relation ids (below 2R)."""
    chex.assert_rank([subject, relation], 1)
    return Query(params["entity"][subject], params["relation"][relation], relation)


def score_triples(model: Model, params: Params, triples: jax.Array) -> jax.Array:
    """The score of int32 [B, 3] triples, float [B]."""
    chex.assert_shape(triples, (None, 3))
    query = embed(params, triples[:, 0], triples[:, 1])
    return model.pairs(params, query, params["entity"][triples[:, 2]][:, None])[:, 0]


def _init(key: jax.Array, entities: int, relations: int, dim: int, scale: float) -> Params:
    entity_key, relation_key = jax.random.split(key)
    return {
        "entity": scale * jax.random.normal(entity_key, (entities, dim)),
        "relation": scale * jax.random.normal(relation_key, (relations, dim)),
    }


def _init_even(key: jax.Array, entities: int, relations: int, dim: int, scale: float) -> Params:
    if dim % 2:
        raise ValueError(f"dim={dim} must be even: an entity has two halves")
    return _init(key, entities, relations, dim, scale)


def _init_transr(key: jax.Array, entities: int, relations: int, dim: int, scale: float) -> Params:
    # All spaces start as that of the entities, as in the paper (Lin et al., 2015, section 4).
    space = jnp.tile(jnp.eye(dim)[None], (relations, 1, 1))
    return {**_init(key, entities, relations, dim, scale), "space": space}


def _by_product(combine: Callable[[jax.Array, jax.Array], jax.Array]) -> Model:
    """A model whose score is <combine(subject, relation), object>."""

    def pairs(params: Params, query: Query, objects: jax.Array) -> jax.Array:
        return jnp.einsum("bd,bcd->bc", combine(query.subject, query.relation), objects)

    def cross(params: Params, query: Query, entities: jax.Array) -> jax.Array:
        return combine(query.subject, query.relation) @ entities.T

    return Model(_init_even, pairs, cross)


def _distmult(subject: jax.Array, relation: jax.Array) -> jax.Array:
    """Yang et al. (2015): the score is the sum of s * p * o."""
    return subject * relation


def _complex(subject: jax.Array, relation: jax.Array) -> jax.Array:
    """Trouillon et al. (2016): Re <s, p, conj(o)>; real parts first, then imaginary ones."""
    s_re, s_im = jnp.split(subject, 2, axis=-1)
    p_re, p_im = jnp.split(relation, 2, axis=-1)
    return jnp.concatenate([s_re * p_re - s_im * p_im, s_re * p_im + s_im * p_re], axis=-1)


def _simple(subject: jax.Array, relation: jax.Array) -> jax.Array:
    """Kazemi & Poole (2018): (<h_s, p, t_o> + <t_s, p', h_o>) / 2; an entity is [h; t]."""
    head, tail = jnp.split(subject, 2, axis=-1)
    forward, backward = jnp.split(relation, 2, axis=-1)
    return jnp.concatenate([tail * backward, head * forward], axis=-1) / 2


def _distance(square: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.maximum(square, 0) + _TINY)


def _transe_pairs(params: Params, query: Query, objects: jax.Array) -> jax.Array:
    """Bordes et al. (2013): minus the distance of s + p from o (L2)."""
    gap = (query.subject + query.relation)[:, None] - objects
    return -_distance((gap**2).sum(-1))


def _transe_cross(params: Params, query: Query, entities: jax.Array) -> jax.Array:
    return -_distances(query.subject + query.relation, entities)


def _distances(left: jax.Array, right: jax.Array) -> jax.Array:
    """Distances [B, K] by one matrix product: |l - r|^2 = |l|^2 + |r|^2 - 2 l.r"""
    squares = (left**2).sum(-1)[:, None] + (right**2).sum(-1)[None]
    return _distance(squares - 2 * left @ right.T)


def _transr_pairs(params: Params, query: Query, objects: jax.Array) -> jax.Array:
    """Lin et al. (2015): TransE in the space of the relation, into which M_p projects."""
    space = params["space"][query.relation_id]  # [B, d, d]
    moved = jnp.einsum("bd,bde->be", query.subject, space) + query.relation
    gap = moved[:, None] - jnp.einsum("bcd,bde->bce", objects, space)
    return -_distance((gap**2).sum(-1))


TRANSR_BLOCK = 64


def _transr_cross(params: Params, query: Query, entities: jax.Array) -> jax.Array:
    """As pairs; the entities are projected once for every run of queries of one relation."""
    count, dim = query.subject.shape
    groups = count // TRANSR_BLOCK
    if groups * TRANSR_BLOCK != count:
        raise ValueError(f"{count} queries are no whole number of runs of {TRANSR_BLOCK}")
    space = params["space"][query.relation_id[::TRANSR_BLOCK]]  # [G, d, d]
    subject = query.subject.reshape(groups, TRANSR_BLOCK, dim)
    relation = query.relation.reshape(groups, TRANSR_BLOCK, dim)
    moved = jnp.einsum("gbd,gde->gbe", subject, space) + relation
    projected = jnp.einsum("kd,gde->gke", entities, space)
    return -jax.vmap(_distances)(moved, projected).reshape(count, len(entities))


MODELS: dict[str, Model] = {
    "transe": Model(_init, _transe_pairs, _transe_cross),
    "transr": Model(_init_transr, _transr_pairs, _transr_cross, block=TRANSR_BLOCK),
    "distmult": _by_product(_distmult)._replace(init=_init),
    "complex": _by_product(_complex),
    "simple": _by_product(_simple),
}
HALVED = ("complex", "simple")  # an entity is two halves, so its numbers are even
