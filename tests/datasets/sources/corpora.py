"""Tiny corpora, written by hand, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wikinav_jax.datasets.documents import Section
from wikinav_jax.datasets.sources.loader import load
from wikinav_jax.graph.linked_text import EdgeKind, LinkedTextGraph


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes files by their paths; returns the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def built(source: Path, tmp_path: Path, **options) -> LinkedTextGraph:
    """The graph of a corpus, in memory, without entity links unless asked for."""
    options = {"entity_links": False, "workers": 1, **options}
    return load(None, tmp_path / "cache", None, source=str(source), **options)


def edges(graph: LinkedTextGraph, kind: EdgeKind = EdgeKind.HYPERLINK) -> list[tuple[str, ...]]:
    """(article, anchor's words, article, section) of all edges of a kind, in order."""
    found = []
    for src in range(graph.num_nodes):
        for slot in range(graph.indptr[src], graph.indptr[src + 1]):
            if graph.edge_kind[slot] == kind:
                start, end = graph.anchor[slot]
                dst = int(graph.indices[slot])
                words = graph.text(src)[start:end]
                found.append((graph.title(src), words, graph.title(dst), graph.section(dst)))
    return found


def texts(sections: tuple[Section, ...]) -> list[tuple[tuple[str, ...], list[str]]]:
    """(path, texts) of sections."""
    return [(section.path, [passage.text for passage in section.passages]) for section in sections]


def links(sections: tuple[Section, ...]) -> list[tuple[str, str, str]]:
    """(words, target, fragment) of all anchors."""
    return [
        (passage.text[anchor.start : anchor.end], anchor.target, anchor.fragment)
        for section in sections
        for passage in section.passages
        for anchor in passage.anchors
    ]
