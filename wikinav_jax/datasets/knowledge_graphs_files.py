"""Files of a knowledge graph: what each one in a folder is for, and its rows with line numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wikinav_jax.graph.triples import Triple

SUFFIXES = (".txt", ".tsv", "")  # of triples and names; "" is a bare name, as `train`

# Words of a file's name (or of the folder that it is in), and what they say.
_SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "validation": "valid",
    "val": "valid",
    "dev": "valid",
    "test": "test",
}
_NEGATIVE_WORDS = ("negatives", "negative", "negs", "neg", "false", "corrupted")
_LABEL_WORDS = ("labelled", "labeled", "labels", "label", "classification")
_FILLER_WORDS = ("triples", "triple", "hard", "data", "set", "r2d2", "facts", "triplets", "split")
_KNOWN_WORDS = {*_SPLIT_WORDS, *_NEGATIVE_WORDS, *_LABEL_WORDS, *_FILLER_WORDS}
_NAME_STEMS = {
    kind: (
        *(f"{kind}{word}" for word in ("names", "name", "labels", "label")),
        *(f"{kind}2{word}" for word in ("text", "name", "label", "names", "labels")),
        *(f"{kind}to{word}" for word in ("text", "name", "label")),
        plural,
        f"{plural}names",
        f"{plural}labels",
    )
    for kind, plural in (("entity", "entities"), ("relation", "relations"))
}
_TEXT_STEMS = ("entitydescriptions", "entity2textlong", "entitytypes", "entity2types")
_HEADERS = {
    ("head", "relation", "tail"),
    ("subject", "relation", "object"),
    ("subject", "predicate", "object"),
    ("source", "relation", "target"),
    ("h", "r", "t"),
    ("s", "p", "o"),
}
_LABELS = {
    **dict.fromkeys(("1", "1.0", "+1", "true"), 1),
    **dict.fromkeys(("0", "0.0", "-1", "-1.0", "false"), 0),
}


@dataclass
class TripleFile:
    """The triples of a file in its order."""

    path: Path
    triples: list[Triple] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # where each stands, from 1
    labels: list[int] | None = None  # 1 or 0, where the file has a fourth column
    notes: list[str] = field(default_factory=list)

    def at(self, place: int) -> str:
        """FILE:LINE of a triple."""
        return f"{self.path}:{self.lines[place]}"


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a UTF-8 file, without ends; those with nothing in them are left out.

    Only a line feed ends a line, since an id may hold other characters that Unicode calls line
    ends. Raises ValueError with the line for what is not UTF-8.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        place = error.start - data.rfind(b"\n", 0, error.start)
        raise ValueError(
            f"{path}:{number}: byte {place} of the line, {data[error.start]:#04x}, is not UTF-8; "
            "save the file as UTF-8"
        ) from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.isspace():
            yield number, line.removesuffix("\r")


def read_triples(path: Path) -> TripleFile:
    """Reads `subject TAB relation TAB object`, with an optional label in a fourth column.

    Labels are 1/0, true/false or 1/-1. A first line that names the columns is left out.

    Raises:
      ValueError: with file and line: another number of columns, an empty field, a fourth column
        that is no label, bytes that are not UTF-8; or a file without any triple.
    """
    found = TripleFile(path)
    labels: list[int] = []
    columns = 0
    for number, line in lines_of(path):
        row = line.split("\t")
        if not found.triples and tuple(word.strip().lower() for word in row[:3]) in _HEADERS:
            found.notes.append(f"{path}:{number}: {line!r} was taken for a header")
            continue
        columns = columns or len(row)
        if len(row) != columns or columns not in (3, 4):
            expected = "3 (4 with a label)" if columns not in (3, 4) else f"{columns} as before it"
            hint = "" if "\t" in line else "; columns are parted by tabs, and it has none"
            raise ValueError(
                f"{path}:{number}: {_clipped(line)} has {len(row)} columns, expected "
                f"{expected}{hint}"
            )
        subject, relation, obj = row[:3]
        if not (subject.strip() and relation.strip() and obj.strip()):
            raise ValueError(f"{path}:{number}: {_clipped(line)} has an empty column; fill it in")
        if len(row) == 4:
            label = _LABELS.get(row[3].strip().lower())
            if label is None:
                raise ValueError(
                    f"{path}:{number}: the fourth column holds {row[3]!r}, which is no label; "
                    "write 1 for true and 0 (or -1) for false, or leave the column out"
                )
            labels.append(label)
        found.triples.append((subject, relation, obj))
        found.lines.append(number)
    if not found.triples:
        raise ValueError(f"{path} holds no triple; it needs lines of subject, relation, object")
    found.labels = labels or None
    return found


def read_names(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """(id -> name, id -> description) of `id TAB name [TAB ... TAB description]`, or of JSON.

    JSON is `{id: name}` or `{id: {"label": ..., "description": ...}}`. A file with one column
    only lists ids and names nothing.

    Raises:
      ValueError: not UTF-8 or not JSON.
    """
    names: dict[str, str] = {}
    texts: dict[str, str] = {}
    if path.suffix == ".json":
        try:
            loaded = json.loads(path.read_text(encoding="utf-8-sig"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} is not valid JSON in UTF-8 ({error})") from error
        if not isinstance(loaded, dict):
            raise ValueError(f"{path} holds a {type(loaded).__name__}, not an object of names")
        for key, value in loaded.items():
            if isinstance(value, str):
                names[key] = value
            elif isinstance(value, dict):
                label = value.get("label") or value.get("name")
                if isinstance(label, str):
                    names[key] = label
                if isinstance(value.get("description"), str):
                    texts[key] = value["description"]
        return names, texts
    rows = [line.split("\t") for _, line in lines_of(path)]
    # Spaces around an id are padding, unless an id has them itself.
    for rows_with_keys in (rows, [[row[0].strip(), *row[1:]] for row in rows]):
        for key, *rest in rows_with_keys:
            parts = [part.strip() for part in rest]
            if parts and parts[0]:
                names.setdefault(key, parts[0])
            if len(parts) > 1 and parts[-1]:
                texts.setdefault(key, parts[-1])
    return names, texts


@dataclass
class FolderFiles:
    """What each file of a folder is for."""

    splits: dict[str, Path] = field(default_factory=dict)  # train, valid, test
    labelled: dict[str, Path] = field(default_factory=dict)  # valid, test: true and false triples
    negatives: dict[str, Path] = field(default_factory=dict)  # valid, test: false triples
    entity_names: Path | None = None
    relation_names: Path | None = None
    entity_texts: Path | None = None
    ignored: list[str] = field(default_factory=list)


def classify(folder: Path) -> FolderFiles:
    """Tells the files of a folder (and of folders in it) apart by their names.

    Raises:
      ValueError: two files claim one place.
      FileNotFoundError: train, valid or test is missing.
    """
    found = FolderFiles()
    # Files of the folder come before those of folders in it, which cannot take their place.
    files = [
        path
        for pattern in ("*", "*/*")
        for path in sorted(folder.glob(pattern))
        if path.is_file() and not any(p.startswith(".") for p in path.relative_to(folder).parts)
    ]
    for path in files:
        inner = path.relative_to(folder)
        kind = re.sub(r"[^a-z0-9]", "", path.stem.lower())
        if path.suffix.lower() in (*SUFFIXES, ".json") and _claim_names(found, kind, path):
            continue
        place = place_of(inner)
        if place is None or (place[1] == "train" and place[0] != "splits"):
            found.ignored.append(str(inner))
            continue
        role, split = place
        claimed: dict[str, Path] = getattr(found, role)
        if split not in claimed:
            claimed[split] = path
        elif claimed[split].parent == path.parent:
            raise ValueError(
                f"{claimed[split]} and {path} both look like the {role} of {split}; keep one"
            )
        else:
            found.ignored.append(str(inner))
    for split in ("train", "valid", "test"):
        if split not in found.splits and split in found.labelled:
            found.splits[split] = found.labelled.pop(split)  # its true triples
        if split not in found.splits:
            listed = sorted(str(path.relative_to(folder)) for path in files)[:12]
            also = {"valid": " (or dev.txt, validation.txt)"}.get(split, "")
            raise FileNotFoundError(
                f"no {split}.txt or {split}.tsv{also} in {folder}, which holds "
                f"{', '.join(listed) or 'nothing'}"
            )
    return found


def _claim_names(found: FolderFiles, kind: str, path: Path) -> bool:
    if kind in _NAME_STEMS["entity"] and found.entity_names is None:
        found.entity_names = path
    elif kind in _NAME_STEMS["relation"] and found.relation_names is None:
        found.relation_names = path
    elif kind in _TEXT_STEMS and found.entity_texts is None:
        found.entity_texts = path
    else:
        return False
    return True


def place_of(inner: Path) -> tuple[str, str] | None:
    """(role, split) that the words of a path say; None where they say something else.

    The folder's name counts only where all its words are known ones, as in `negatives/test.txt`.
    """
    if inner.suffix.lower() not in SUFFIXES:
        return None
    own = _words(inner.stem)
    outer = [word for part in inner.parts[:-1] for word in _words(part)]
    if not all(word in _KNOWN_WORDS for word in outer):
        outer = []
    splits = {_SPLIT_WORDS[word] for word in own if word in _SPLIT_WORDS} or {
        _SPLIT_WORDS[word] for word in outer if word in _SPLIT_WORDS
    }
    if len(splits) != 1 or any(word not in _KNOWN_WORDS for word in own):
        return None
    words = {*own, *outer}
    if words.intersection(_NEGATIVE_WORDS):
        return "negatives", splits.pop()
    return ("labelled" if words.intersection(_LABEL_WORDS) else "splits"), splits.pop()


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


def _clipped(line: str) -> str:
    return repr(line if len(line) <= 80 else f"{line[:77]}...")
