"""Saving a KnowledgeGraph as a folder of `.npy` arrays and JSON, and opening it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wikinav_jax.common.files import atomic_directory, read_json, sha256_of, write_json
from wikinav_jax.graph.triples import KnowledgeGraph, from_arrays

FORMAT = "wikinav_jax.KnowledgeGraph"
VERSION = 1
_TEXTS = ("entities", "relations", "entity_names", "relation_names", "entity_texts")
_SPLITS = ("train", "valid", "test")
_LABELLED = ("valid_labelled", "valid_labels", "test_labelled", "test_labels")


def save_knowledge_graph(graph: KnowledgeGraph, path: str | Path) -> Path:
    """Writes a graph as a folder, which appears only when it is complete.

    The folder holds `meta.json` (format, version, counts, notes, SHA-256 of each file),
    `texts.json` (ids, names, descriptions), and an array per split. Edges are made anew on opening.
    """
    path = Path(path)
    with atomic_directory(path) as temporary:
        for name in (*_SPLITS, *_LABELLED):
            array = getattr(graph, name)
            if array is not None:
                np.save(temporary / f"{name}.npy", array, allow_pickle=False)
        write_json(temporary / "texts.json", {name: list(getattr(graph, name)) for name in _TEXTS})
        files = sorted(file.name for file in temporary.iterdir())
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "name": graph.name,
            "notes": list(graph.notes),
            "counts": {
                "entities": graph.num_entities,
                "relations": graph.num_relations,
                **{split: len(getattr(graph, split)) for split in _SPLITS},
            },
            "files": {file: sha256_of(temporary / file) for file in files},
        }
        write_json(temporary / "meta.json", meta)
    return path


def open_knowledge_graph(path: str | Path) -> KnowledgeGraph:
    """Reads a graph that `save_knowledge_graph` wrote; its files are checked by their hashes.

    Raises:
      FileNotFoundError: no such folder, or one of its files is missing.
      ValueError: not a graph, another version, or an altered file.
    """
    path = Path(path)
    if not (path / "meta.json").is_file():
        raise FileNotFoundError(f"{path} has no meta.json: it is not a saved knowledge graph")
    meta = read_json(path / "meta.json")
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(f"{path / 'meta.json'} does not describe a knowledge graph")
    if meta.get("version") != VERSION:
        raise ValueError(
            f"{path} has format version {meta.get('version')}, this package reads {VERSION}; "
            "save the graph again, or install the wikinav_jax that wrote it"
        )
    files: dict[str, Any] = meta["files"]
    for name in ("texts.json", *(f"{split}.npy" for split in _SPLITS)):
        if name not in files:
            raise ValueError(f"{path / 'meta.json'} lists no {name}; save the graph again")
    for name, sha256 in files.items():
        if not (path / name).is_file():
            raise FileNotFoundError(f"{path / name} is missing; save the graph again")
        if sha256_of(path / name) != sha256:
            raise ValueError(f"{path / name} is truncated or was altered; save the graph again")
    arrays = {
        name: np.load(path / f"{name}.npy", allow_pickle=False)
        for name in (*_SPLITS, *_LABELLED)
        if f"{name}.npy" in files
    }
    labelled: dict[str, Any] = {
        f"{split}_labelled": (arrays[f"{split}_labelled"], arrays[f"{split}_labels"])
        for split in ("valid", "test")
        if f"{split}_labelled" in arrays
    }
    return from_arrays(
        arrays["train"],
        arrays["valid"],
        arrays["test"],
        **labelled,
        **read_json(path / "texts.json"),
        name=meta["name"],
        notes=meta["notes"],
    )
