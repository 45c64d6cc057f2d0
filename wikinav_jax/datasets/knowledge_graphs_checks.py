"""From triple files to a KnowledgeGraph: what is wrong is refused or noted, with file and line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from absl import logging

from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.datasets.knowledge_graphs_files import FolderFiles, TripleFile, read_triples
from wikinav_jax.graph.triples import KnowledgeGraph, Triple, from_triples
from wikinav_jax.reports.strings import visible

LEAKS = ("drop_from_train", "refuse", "keep")
UNSEEN = ("keep", "drop", "refuse")
_HINTS = 3_000


@dataclass(frozen=True)
class Policy:
    """What to do with odd triples. Raises ValueError for a name that is no choice."""

    # Triples of valid or test that also stand in train: taken out of train by default, since a
    # model has then been told the answer.
    leaks: str = "drop_from_train"
    # Triples of valid or test with an entity or relation that train lacks: such entities have no
    # edges, but the public splits have some, so they are kept by default.
    unseen: str = "keep"

    def __post_init__(self) -> None:
        for name, choices in (("leaks", LEAKS), ("unseen", UNSEEN)):
            value = getattr(self, name)
            if value not in choices:
                raise ValueError(
                    f"{name}={value!r} is not one of {', '.join(choices)}."
                    f"{did_you_mean(value, choices)}"
                )


def read_graph(
    name: str,
    files: FolderFiles,
    *,
    policy: Policy,
    entity_names: Mapping[str, str] | None = None,
    relation_names: Mapping[str, str] | None = None,
    entity_texts: Mapping[str, str] | None = None,
    relation_aliases: Mapping[str, str] | None = None,
) -> KnowledgeGraph:
    """Reads and checks the files that `classify` found.

    Args:
      name: of the data set.
      files: where they are.
      policy: what to do with leaks and unseen entities.
      entity_names: id -> name.
      relation_names: id -> name.
      entity_texts: id -> description.
      relation_aliases: how labelled files spell relations -> how train does.

    Raises:
      ValueError: with file and line, what the files or the policy refuse.
    """
    notes: list[str] = []
    splits: dict[str, TripleFile] = {}
    labelled: dict[str, TripleFile] = {}
    for split in ("train", "valid", "test"):
        read = read_triples(files.splits[split])
        notes += read.notes
        if read.labels is not None:
            if split == "train" and 0 in read.labels:
                place = read.labels.index(0)
                raise ValueError(
                    f"{read.at(place)}: {_shown(read.triples[place])} is labelled false, but train "
                    "holds facts only; take false triples out of it"
                )
            if split != "train":
                labelled[split] = _without_repeats(read, notes)
            read = _kept(read, [label == 1 for label in read.labels])
            read.labels = None
            if not read.triples:
                raise ValueError(f"{read.path} labels no triple as true; it needs some facts")
        splits[split] = _without_repeats(read, notes)
    _check_leaks(splits, policy, notes)
    _check_unseen(splits, policy, notes)
    for split in ("valid", "test"):
        found = _labelled(split, files, splits, relation_aliases or {}, notes)
        if found is not None:
            labelled[split] = found
    facts = {triple for read in splits.values() for triple in read.triples}
    known = _vocabulary(list(splits.values()))
    for split, read in list(labelled.items()):
        _check_labelled(read, facts, known, notes)
        if not _has_both(read, notes):
            del labelled[split]
    notes = [visible(note) for note in notes]  # paths too, and names that are near
    for note in notes:
        logging.warning("%s: %s", visible(name), note)
    return from_triples(
        *(splits[split].triples for split in ("train", "valid", "test")),
        valid_labelled=_pair(labelled.get("valid")),
        test_labelled=_pair(labelled.get("test")),
        entity_names=entity_names,
        relation_names=relation_names,
        entity_texts=entity_texts,
        name=name,
        notes=notes,
    )


def _labelled(
    split: str,
    files: FolderFiles,
    splits: Mapping[str, TripleFile],
    aliases: Mapping[str, str],
    notes: list[str],
) -> TripleFile | None:
    """The labelled file of a split, or its facts followed by its negatives; None without both."""
    if split in files.labelled:
        read = _renamed(read_triples(files.labelled[split]), aliases)
        if read.labels is None:
            raise ValueError(
                f"{read.at(0)} has no fourth column; {read.path.name} needs a label, 1 or 0, in "
                "every line"
            )
        if split in files.negatives:
            notes.append(
                f"{files.negatives[split]} is not read, as {read.path.name} has false triples too"
            )
        notes += read.notes
        return _without_repeats(read, notes)
    if split not in files.negatives:
        return None
    negatives = _renamed(read_triples(files.negatives[split]), aliases)
    if negatives.labels is not None and 1 in negatives.labels:
        place = negatives.labels.index(1)
        raise ValueError(
            f"{negatives.at(place)}: {_shown(negatives.triples[place])} is labelled true, but "
            f"{negatives.path.name} holds false triples by its name"
        )
    notes += negatives.notes
    negatives = _without_repeats(negatives, notes)
    facts = splits[split]
    return TripleFile(
        negatives.path,
        facts.triples + negatives.triples,
        facts.lines + negatives.lines,
        [1] * len(facts.triples) + [0] * len(negatives.triples),
    )


def _without_repeats(read: TripleFile, notes: list[str]) -> TripleFile:
    """The first of each triple, but all of labelled ones; refuses a triple with two labels.

    Labelled files are published to be scored as they are, and R2D2's repeat some negatives.
    """
    first: dict[Triple, int] = {}
    keep, repeats = [], []
    for place, triple in enumerate(read.triples):
        before = first.setdefault(triple, place)
        keep.append(before == place)
        if before == place:
            continue
        repeats.append(place)
        if read.labels is not None and read.labels[before] != read.labels[place]:
            raise ValueError(
                f"{read.at(place)}: {_shown(triple)} is labelled {read.labels[place]} here and "
                f"{read.labels[before]} in line {read.lines[before]}; keep one"
            )
    if not repeats:
        return read
    triple = read.triples[repeats[0]]
    done = "left out" if read.labels is None else "kept, as the triples are labelled"
    notes.append(
        f"{read.at(repeats[0])}: {_shown(triple)} stands in line {read.lines[first[triple]]} "
        f"already; {_count(repeats, 'repeat')} {done}"
    )
    return _kept(read, keep) if read.labels is None else read


def _check_leaks(splits: dict[str, TripleFile], policy: Policy, notes: list[str]) -> None:
    """Looks for triples of valid or test in train, and of test in valid."""
    train = splits["train"]
    at = {triple: place for place, triple in enumerate(train.triples)}
    leaked: set[int] = set()
    for split in ("valid", "test"):
        read = splits[split]
        places = [place for place, triple in enumerate(read.triples) if triple in at]
        if not places:
            continue
        triple = read.triples[places[0]]
        what = f"{read.at(places[0])}: {_shown(triple)} is also in {train.at(at[triple])}"
        if policy.leaks == "refuse":
            raise ValueError(
                f"{what}, and so are {len(places)} of the {len(read.triples)} {split} triples; "
                "take them out of train, or set leaks to drop_from_train or keep"
            )
        done = "left out of train" if policy.leaks == "drop_from_train" else "kept in train"
        notes.append(f"{what}; {_count(places, f'such {split} triple')} {done}")
        leaked |= {at[read.triples[place]] for place in places}
    if leaked and policy.leaks == "drop_from_train":
        splits["train"] = _kept(train, [i not in leaked for i in range(len(train.triples))])
        if not splits["train"].triples:
            raise ValueError(f"all triples of {train.path} stand in valid or test as well")
    valid = set(splits["valid"].triples)
    both = [i for i, triple in enumerate(splits["test"].triples) if triple in valid]
    if both:
        test = splits["test"]
        notes.append(
            f"{test.at(both[0])}: {_shown(test.triples[both[0]])} is also in "
            f"{splits['valid'].path.name}; {_count(both, 'such triple')} kept in both"
        )


def _check_unseen(splits: dict[str, TripleFile], policy: Policy, notes: list[str]) -> None:
    """Looks for entities and relations of valid and test that train lacks."""
    entities, relations = _vocabulary([splits["train"]])
    for split in ("valid", "test"):
        read = splits[split]
        unseen = [_unseen_part(triple, entities, relations) is not None for triple in read.triples]
        if not any(unseen):
            continue
        place = unseen.index(True)
        part = _unseen_part(read.triples[place], entities, relations)
        assert part is not None
        vocabulary = entities if part[0] == "entity" else relations
        # Among many ids some are always near, and finding them takes long.
        hint = did_you_mean(part[1], vocabulary, limit=1) if len(vocabulary) < _HINTS else ""
        what = f"{read.at(place)}: the {part[0]} {part[1]!r} does not occur in train"
        count = _count([i for i, new in enumerate(unseen) if new], f"such {split} triple")
        if policy.unseen == "refuse":
            raise ValueError(f"{what}.{hint} {count} in all; set unseen to keep or drop")
        done = "kept" if policy.unseen == "keep" else "left out"
        notes.append(f"{what}.{hint} {count} {done}")
        if policy.unseen == "drop":
            splits[split] = _kept(read, [not new for new in unseen])
            if not splits[split].triples:
                raise ValueError(f"{read.path}: no triple is left, all have unseen entities")


def _check_labelled(
    read: TripleFile,
    facts: set[Triple],
    known: tuple[set[str], set[str]],
    notes: list[str],
) -> None:
    """Leaves out false triples that are facts; notes entities that no fact has."""
    assert read.labels is not None
    wrong = [
        label == 0 and triple in facts
        for triple, label in zip(read.triples, read.labels, strict=True)
    ]
    if any(wrong):
        place = wrong.index(True)
        notes.append(
            f"{read.at(place)}: {_shown(read.triples[place])} is labelled false but is a fact; "
            f"{_count([i for i, bad in enumerate(wrong) if bad], 'such triple')} left out"
        )
        kept = _kept(read, [not bad for bad in wrong])
        read.triples, read.lines, read.labels = kept.triples, kept.lines, kept.labels
    new = [i for i, triple in enumerate(read.triples) if _unseen_part(triple, *known) is not None]
    if new:
        part = _unseen_part(read.triples[new[0]], *known)
        assert part is not None
        notes.append(
            f"{read.at(new[0])}: the {part[0]} {part[1]!r} occurs in no fact; "
            f"{_count(new, 'such labelled triple')} kept"
        )


def _has_both(read: TripleFile, notes: list[str]) -> bool:
    """Whether there are false triples beside the true ones: without them every claim is true.

    Raises ValueError where there are false ones only.
    """
    assert read.labels is not None
    if 1 not in read.labels:
        raise ValueError(
            f"{read.path} labels no triple as true; give some, or name the file as negatives are "
            "named (test_negatives.txt)"
        )
    if 0 in read.labels:
        return True
    notes.append(f"{read.path} has no false triple; negatives are drawn, as without labels")
    return False


def _vocabulary(files: Sequence[TripleFile]) -> tuple[set[str], set[str]]:
    triples = [triple for read in files for triple in read.triples]
    return {e for s, _, o in triples for e in (s, o)}, {p for _, p, _ in triples}


def _unseen_part(triple: Triple, entities: set[str], relations: set[str]) -> tuple[str, str] | None:
    subject, relation, obj = triple
    if relation not in relations:
        return "relation", relation
    return next((("entity", e) for e in (subject, obj) if e not in entities), None)


def _renamed(read: TripleFile, aliases: Mapping[str, str]) -> TripleFile:
    triples = [(s, aliases.get(p, p), o) for s, p, o in read.triples]
    return TripleFile(read.path, triples, read.lines, read.labels, read.notes)


def _kept(read: TripleFile, keep: Sequence[bool]) -> TripleFile:
    places = [place for place, kept in enumerate(keep) if kept]
    return TripleFile(
        read.path,
        [read.triples[place] for place in places],
        [read.lines[place] for place in places],
        None if read.labels is None else [read.labels[place] for place in places],
        read.notes,
    )


def _pair(read: TripleFile | None) -> tuple[list[Triple], list[int]] | None:
    return None if read is None or read.labels is None else (read.triples, read.labels)


def _shown(triple: Triple) -> str:
    # Ids may hold anything, also what a terminal acts on.
    return visible(" | ".join(part if len(part) <= 40 else f"{part[:37]}..." for part in triple))


def _count(places: Sequence[int], what: str) -> str:
    return f"{len(places):,} {what}{'s' if len(places) != 1 else ''}"
