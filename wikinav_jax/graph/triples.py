"""KnowledgeGraph: entities, relations, split triples, and edges in both directions.

With R relations, the relation ids of edges and paths are 0..R-1 as given, r + R for the inverse of
r, and 2R to stay where one is. Triples are always of given relations.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.graph.answers import Answers, answers_of
from wikinav_jax.graph.csr import check_integers, check_num_nodes, read_only

SPLITS = ("train", "valid", "test")

Triple = tuple[str, str, str]
_Labelled = tuple[Sequence[Triple], Sequence[float]]
_NO_TRIPLE = "there is no training triple; a graph needs at least one"


@dataclass(frozen=True, eq=False)
class KnowledgeGraph:
    """Facts (subject, relation, object) by number; E = 2 x the training triples.

    Make one with `from_triples` or `from_arrays`. Arrays are read-only.
    """

    name: str  # of the data set, for reports
    entities: tuple[str, ...]  # [N] ids as the source has them
    relations: tuple[str, ...]  # [R]
    entity_names: tuple[str, ...]  # [N] what a reader calls them; the ids where nothing is known
    relation_names: tuple[str, ...]  # [R]
    entity_texts: tuple[str, ...]  # [N] descriptions or types; "" where there is none
    train: np.ndarray  # int32 [n, 3]: subject, relation (below R), object
    valid: np.ndarray  # int32 [n, 3]
    test: np.ndarray  # int32 [n, 3]
    valid_labelled: np.ndarray | None  # int32 [m, 3], true and false triples; None without
    valid_labels: np.ndarray | None  # float32 [m], 1 true, 0 false
    test_labelled: np.ndarray | None
    test_labels: np.ndarray | None
    indptr: np.ndarray  # int64 [N + 1]: edges of entity i are indptr[i]:indptr[i + 1]
    edge_relation: np.ndarray  # int32 [E], below 2R, sorted within an entity
    edge_object: np.ndarray  # int32 [E], sorted within an entity and relation
    edge_triple: np.ndarray  # int32 [E], row of `train` that the edge stands for
    notes: tuple[str, ...] = field(default=())  # what the loader found odd in the files

    @property
    def num_entities(self) -> int:
        """N."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """R, the relations as given."""
        return len(self.relations)

    @property
    def num_edge_relations(self) -> int:
        """2R + 1: with inverses and STAY; the rows of an agent's relation table."""
        return 2 * self.num_relations + 1

    @property
    def stay(self) -> int:
        """The relation id 2R of staying; no edge has it."""
        return 2 * self.num_relations

    @property
    def num_edges(self) -> int:
        """E."""
        return len(self.edge_object)

    def inverse(self, relation: np.ndarray | int) -> np.ndarray:
        """The inverse of each relation id (r <-> r + R; STAY is its own), int32 like the input."""
        relation = np.asarray(relation, np.int32)
        count = self.num_relations
        swapped = np.where(relation < count, relation + count, relation - count)
        return np.where(relation == self.stay, relation, swapped).astype(np.int32)

    def split(self, name: str) -> np.ndarray:
        """The triples of "train", "valid" or "test", int32 [n, 3]. KeyError for another name."""
        if name not in SPLITS:
            raise KeyError(f"no split is called {name!r}; there are {', '.join(SPLITS)}")
        return getattr(self, name)

    def labelled(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """(triples int32 [m, 3], labels float32 [m]) of "valid" or "test"; None without.

        KeyError for another name.
        """
        if name not in SPLITS[1:]:
            raise KeyError(f"no labelled split is called {name!r}; there are valid and test")
        triples, labels = getattr(self, f"{name}_labelled"), getattr(self, f"{name}_labels")
        return None if triples is None else (triples, labels)

    @functools.cached_property
    def known(self) -> Answers:
        """Objects of every query in all three splits; relations r + R ask for subjects."""
        facts = np.concatenate([self.train, self.valid, self.test])
        return answers_of(self.with_inverses(facts), self.num_entities)

    @functools.cached_property
    def known_in_train(self) -> Answers:
        """Objects of every query in the training triples; relations r + R ask for subjects."""
        return answers_of(self.with_inverses(self.train), self.num_entities)

    def known_objects(self, subject: int, relation: int) -> np.ndarray:
        """Objects o with (subject, relation, o) in any split, int32 [any], sorted.

        `relation` may be an inverse, r + R: then o are the subjects of r.
        """
        return self.known.of(subject, relation)

    def with_inverses(self, triples: np.ndarray) -> np.ndarray:
        """The triples followed by (o, r + R, s) of each, int32 [2n, 3]."""
        turned = triples[:, [2, 1, 0]] + np.array([0, self.num_relations, 0], np.int32)
        return np.concatenate([triples, turned]).astype(np.int32)

    @functools.cached_property
    def _entity_index(self) -> dict[str, int]:
        return {entity: i for i, entity in enumerate(self.entities)}

    @functools.cached_property
    def _relation_index(self) -> dict[str, int]:
        return {relation: i for i, relation in enumerate(self.relations)}

    @functools.cached_property
    def _entities_by_name(self) -> dict[str, list[int]]:
        return _by_folded_name(self.entity_names)

    @functools.cached_property
    def _relations_by_name(self) -> dict[str, list[int]]:
        return _by_folded_name(self.relation_names)

    def find_entity(self, text: str) -> int:
        """The entity with that id, or else with that name (case ignored).

        Raises KeyError when there is none (with near names) or when several share the name.
        """
        return _find("entity", text, self._entity_index, self.entity_names, self._entities_by_name)

    def find_relation(self, text: str) -> int:
        """The given relation (below R) with that id or name, as `find_entity`."""
        return _find(
            "relation", text, self._relation_index, self.relation_names, self._relations_by_name
        )

    def phrase(self, relation: int) -> str:
        """Readable text for a relation id: its name, a phrase for an inverse, "stay"."""
        if relation == self.stay:
            return "stay"
        if not 0 <= relation < self.stay:
            raise IndexError(f"relation={relation} must lie in 0..{self.stay}")
        if relation < self.num_relations:
            return self.relation_names[relation]
        return inverse_phrase(self.relation_names[relation - self.num_relations])

    def __repr__(self) -> str:
        return (
            f"KnowledgeGraph({self.name!r}, {self.num_entities:,} entities, "
            f"{self.num_relations:,} relations, "
            f"{len(self.train):,}/{len(self.valid):,}/{len(self.test):,} triples)"
        )


def inverse_phrase(name: str) -> str:
    """How to say a relation backwards: "member of" -> "has member", else "inverse of ..."."""
    words = name.split()
    if len(words) > 1 and words[-1] == "of" and words[0] not in ("is", "has"):
        return f"has {' '.join(words[:-1])}"
    if len(words) > 1 and words[0] == "has" and words[-1] not in ("of", "in", "on", "to"):
        return f"is {' '.join(words[1:])} of"
    return f"inverse of {name}"


def from_triples(
    train: Iterable[Triple],
    valid: Iterable[Triple] = (),
    test: Iterable[Triple] = (),
    *,
    valid_labelled: _Labelled | None = None,
    test_labelled: _Labelled | None = None,
    entity_names: Mapping[str, str] | None = None,
    relation_names: Mapping[str, str] | None = None,
    entity_texts: Mapping[str, str] | None = None,
    name: str = "graph",
    notes: Sequence[str] = (),
) -> KnowledgeGraph:
    """A graph of triples of strings; ids are numbered in sorted order.

    Args:
      train: what the edges come from.
      valid: like train; its entities need not be in train.
      test: likewise.
      valid_labelled: (triples, labels 1 or 0), or None.
      test_labelled: likewise.
      entity_names: id -> readable name; entities without one are called by their id.
      relation_names: likewise.
      entity_texts: id -> description.
      name: of the data set.
      notes: what to tell about the files.

    Raises:
      ValueError: no training triple, a triple twice in one split, or labels other than 0 and 1.
    """
    parts = [list(train), list(valid), list(test)]
    if not parts[0]:
        raise ValueError(_NO_TRIPLE)
    labelled = [valid_labelled, test_labelled]
    listed = [*parts, *(list(pair[0]) for pair in labelled if pair is not None)]
    entities = sorted({e for part in listed for s, _, o in part for e in (s, o)})
    relations = sorted({p for part in listed for _, p, _ in part})
    entity_index = {entity: i for i, entity in enumerate(entities)}
    relation_index = {relation: i for i, relation in enumerate(relations)}

    def numbered(triples: Iterable[Triple]) -> np.ndarray:
        rows = [(entity_index[s], relation_index[p], entity_index[o]) for s, p, o in triples]
        return np.array(rows, np.int32).reshape(-1, 3)

    pairs = [
        None if pair is None else (numbered(pair[0]), np.asarray(pair[1])) for pair in labelled
    ]
    return from_arrays(
        *(numbered(part) for part in parts),
        entities=entities,
        relations=relations,
        valid_labelled=pairs[0],
        test_labelled=pairs[1],
        entity_names=[(entity_names or {}).get(e, e) for e in entities],
        relation_names=[(relation_names or {}).get(r, r) for r in relations],
        entity_texts=[(entity_texts or {}).get(e, "") for e in entities],
        name=name,
        notes=notes,
    )


def from_arrays(
    train: np.ndarray,
    valid: np.ndarray,
    test: np.ndarray,
    *,
    entities: Sequence[str],
    relations: Sequence[str],
    valid_labelled: tuple[np.ndarray, np.ndarray] | None = None,
    test_labelled: tuple[np.ndarray, np.ndarray] | None = None,
    entity_names: Sequence[str] | None = None,
    relation_names: Sequence[str] | None = None,
    entity_texts: Sequence[str] | None = None,
    name: str = "graph",
    notes: Sequence[str] = (),
) -> KnowledgeGraph:
    """A graph of numbered triples, int [n, 3]; other arguments as in `from_triples`.

    Raises:
      ValueError: no training triple, a triple twice in one split, a number outside its range, an
        id twice, labels other than 0 and 1, or lists of unequal length.
    """
    num_entities, num_relations = check_num_nodes(len(entities)), len(relations)
    for what, ids in (("entities", entities), ("relations", relations)):
        if len(set(ids)) < len(ids):
            raise ValueError(f"{what} holds an id twice; each id names one of them")
    splits = {
        split: _checked(split, triples, num_entities, num_relations)
        for split, triples in zip(SPLITS, (train, valid, test), strict=True)
    }
    if not len(splits["train"]):
        raise ValueError(_NO_TRIPLE)
    for split, triples in splits.items():
        _refuse_twice(split, triples)
    labels: dict[str, np.ndarray | None] = {}
    for split, pair in (("valid", valid_labelled), ("test", test_labelled)):
        labels[f"{split}_labelled"] = labels[f"{split}_labels"] = None
        if pair is not None:
            what = f"{split}_labelled"
            labels[what] = _checked(what, pair[0], num_entities, num_relations)
            labels[f"{split}_labels"] = _checked_labels(what, pair[1], len(pair[0]))

    subject, relation, obj = splits["train"].T
    count = np.arange(len(subject), dtype=np.int32)
    source = np.concatenate([subject, obj])
    edge_relation = np.concatenate([relation, relation + np.int32(num_relations)])
    edge_object = np.concatenate([obj, subject])
    order = np.lexsort((edge_object, edge_relation, source))
    indptr = np.zeros(num_entities + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=num_entities), out=indptr[1:])

    def names(given: Sequence[str] | None, default: Sequence[str], what: str) -> tuple[str, ...]:
        given = default if given is None else given
        if len(given) != len(default):
            raise ValueError(f"{what} has {len(given)} entries for {len(default)} ids")
        return tuple(given)

    return KnowledgeGraph(
        name=name,
        entities=tuple(entities),
        relations=tuple(relations),
        entity_names=names(entity_names, entities, "entity_names"),
        relation_names=names(relation_names, relations, "relation_names"),
        entity_texts=names(entity_texts, [""] * num_entities, "entity_texts"),
        **splits,
        **labels,  # type: ignore[arg-type]
        indptr=read_only(indptr),
        edge_relation=read_only(edge_relation[order]),
        edge_object=read_only(edge_object[order]),
        edge_triple=read_only(np.concatenate([count, count])[order]),
        notes=tuple(notes),
    )


def _checked(name: str, triples: np.ndarray, entities: int, relations: int) -> np.ndarray:
    triples = np.asarray(triples)
    if not triples.size:
        triples = np.zeros((0, 3), np.int32)
    check_integers(name, triples, max(entities, relations), shape=(None, 3))
    check_integers(f"{name}[:, [0, 2]]", triples[:, [0, 2]], entities, shape=(None, 2))
    check_integers(f"{name}[:, 1]", triples[:, 1], relations, shape=(None,))
    return read_only(triples.astype(np.int32))


def _checked_labels(name: str, labels: np.ndarray, count: int) -> np.ndarray:
    labels = np.asarray(labels, np.float32)
    if labels.shape != (count,) or not np.isin(labels, (0, 1)).all():
        raise ValueError(f"{name} needs {count} labels that are 1 (true) or 0 (false)")
    return read_only(labels)


def _refuse_twice(split: str, triples: np.ndarray) -> None:
    order = np.lexsort(triples.T)
    same = (triples[order[1:]] == triples[order[:-1]]).all(axis=1)
    if same.any():
        place = int(np.argmax(same))
        raise ValueError(
            f"{split} holds the triple {triples[order[place]].tolist()} at rows "
            f"{order[place]} and {order[place + 1]}; give each fact once"
        )


def _by_folded_name(names: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        found.setdefault(name.strip().casefold(), []).append(i)
    return found


def _find(
    what: str,
    text: str,
    by_id: Mapping[str, int],
    names: Sequence[str],
    by_name: Mapping[str, list[int]],
) -> int:
    for exact in (text, text.strip()):  # an id may begin or end with spaces itself
        if exact in by_id:
            return by_id[exact]
    found = by_name.get(text.strip().casefold(), [])
    if len(found) == 1:
        return found[0]
    if found:
        ids = list(by_id)  # in the order of their numbers
        listed = ", ".join(ids[i] for i in found[:5])
        raise KeyError(f"{len(found)} {what} ids are called {text!r}: {listed}; give the id")
    near = did_you_mean(text, dict.fromkeys([*names, *by_id]))
    raise KeyError(f"no {what} has the id or name {text!r}.{near}")
