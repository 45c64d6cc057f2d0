"""Public knowledge graphs, and any folder of tab-separated triples, as a KnowledgeGraph.

`folder` reads every layout in which the names of the files say what is in them, in any case:

- `train`, `valid` (or `dev`, `val`, `validation`) and `test`, each `.txt`, `.tsv` or without a
  suffix: lines of `subject TAB relation TAB object`, ids of any UTF-8 text. A fourth column labels
  a triple 1 or 0 (true/false and 1/-1 will do); valid and test are then their true triples.
- false triples, of the splits valid and test: files with the word `negatives`, `negative`, `neg`
  or `false` in their name or in that of their folder, such as `test_negatives.txt`, `neg_dev.tsv`
  or `negatives/test.txt`.
- or true and false triples in one file with a fourth column: files with the word `labelled`,
  `labeled` or `classification`, such as `test_labelled.tsv`, beside `test.txt` or instead of it.
  Where no triple is labelled false, a split counts as one without labels.
- names: `entity_names.tsv`, `entities.tsv`, `entity2text.txt`, `entities.json` and the like, and
  the same for relations: `id TAB name`, or `id TAB name TAB ... TAB description`.

Relations are given in one direction; the graph adds the inverse of each.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from absl import logging

from wikinav_jax.common.files import sha256_of
from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.datasets.download import fetch, unpack
from wikinav_jax.datasets.knowledge_graphs_checks import Policy, read_graph
from wikinav_jax.datasets.knowledge_graphs_files import (
    classify,
    place_of,
    read_names,
    read_triples,
)
from wikinav_jax.datasets.knowledge_graphs_sources import SOURCES
from wikinav_jax.datasets.knowledge_graphs_tasks import (
    FB15K237_TASKS,
    load_hetionet,
    people_asked,
)
from wikinav_jax.graph.triples import SPLITS, KnowledgeGraph
from wikinav_jax.reports.strings import visible

_ARCHIVES = (".tar.xz", ".tar.gz", ".tgz", ".tar.bz2", ".tar", ".zip")


def load_knowledge_graph(
    name: str,
    *,
    data_dir: str | Path | None = None,
    cache_dir: str | Path,
    options: Mapping[str, Any] | None = None,
) -> KnowledgeGraph:
    """Reads a graph by name.

    Args:
      name: a key of LOADERS.
      data_dir: the folder that has the graph's folder or archive (or a folder `kg` that has it),
        or that folder or archive itself; None to download what is public.
      cache_dir: where archives are unpacked.
      options: keyword arguments of the loader; all take `leaks` and `unseen`, see `Policy`.

    Raises:
      KeyError: no graph has that name.
      FileNotFoundError: it is not in data_dir, or cannot be downloaded and there is no data_dir.
      ValueError: no option has that name; a file is not as it should be, with file and line.
    """
    if name not in LOADERS:
        raise KeyError(
            f"no knowledge graph is called {name!r}.{did_you_mean(name, LOADERS)} "
            f"There are: {', '.join(LOADERS)}"
        )
    loader = LOADERS[name]
    options = dict(options or {})
    known = [
        parameter.name
        for parameter in inspect.signature(loader).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    for option in options:
        if option not in ("leaks", "unseen", *known):
            raise ValueError(
                f"knowledge graph {name!r} has no option {option!r}."
                f"{did_you_mean(option, ['leaks', 'unseen', *known])}"
            )
    policy = Policy(**{key: options.pop(key) for key in ("leaks", "unseen") if key in options})
    folder = _folder_of(name, None if data_dir is None else Path(data_dir), Path(cache_dir))
    graph = loader(name, folder, policy, **options)
    expected = SOURCES[name].contents if name in SOURCES else ""
    if expected and contents_of(graph) != expected:
        if data_dir is None:
            raise ValueError(
                f"what was downloaded from {SOURCES[name].page} to {folder} is not the release "
                "that this package knows; give your own copy as data_dir"
            )
        graph = replace(
            graph, notes=(*graph.notes, f"{visible(str(folder))} is not the public release")
        )
    logging.info("%s: %r from %s", name, graph, folder)
    return graph


# ---- Where the files are ------------------------------------------------------------------------


def _folder_of(name: str, data_dir: Path | None, cache_dir: Path) -> Path:
    """The folder of a graph's files; archives are unpacked into the cache once."""
    if data_dir is None:
        return _downloaded(name, cache_dir)
    if not data_dir.exists():
        raise FileNotFoundError(f"there is nothing at data_dir={data_dir}")
    if data_dir.is_file():
        return _unpacked(data_dir, cache_dir)
    if name == "folder":
        return _single_inside(data_dir, cache_dir)
    wanted = [folder.lower() for folder in SOURCES[name].folders]
    if data_dir.name.lower() in wanted:
        return data_dir
    for place in (data_dir, data_dir / "kg"):
        if not place.is_dir():
            continue
        entries = sorted(place.iterdir())
        for entry in entries:
            if entry.is_dir() and entry.name.lower() in wanted:
                return entry
        for entry in entries:
            stem = _archive_stem(entry.name)
            if entry.is_file() and stem is not None and stem.lower() in wanted:
                return _unpacked(entry, cache_dir)
    listed = ", ".join(sorted(path.name for path in data_dir.iterdir())[:12])
    raise FileNotFoundError(
        f"data_dir={data_dir} holds {listed or 'nothing'}. Looked there, and in its folder kg, for "
        f"a folder {SOURCES[name].folders[0]} or an archive of it ({', '.join(_ARCHIVES)}); get it "
        f"from {SOURCES[name].page}"
    )


def _archive_stem(name: str) -> str | None:
    suffix = next((suffix for suffix in _ARCHIVES if name.endswith(suffix)), None)
    return None if suffix is None else name.removesuffix(suffix)


def _unpacked(archive: Path, cache_dir: Path) -> Path:
    stem = _archive_stem(archive.name)
    if stem is None:
        raise ValueError(f"{archive} is no archive: it must end in {', '.join(_ARCHIVES)}")
    folder = cache_dir / "unpacked" / f"{stem}-{sha256_of(archive)[:12]}"
    if not folder.is_dir():
        unpack(archive, folder)
    return _single_inside(folder, cache_dir)


def _single_inside(folder: Path, cache_dir: Path) -> Path:
    """The folder itself, or the one folder or archive in it where it holds no training triples."""
    inside = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    if any(entry.is_file() and place_of(Path(entry.name)) is not None for entry in inside):
        return folder
    graphs = [entry for entry in inside if entry.is_dir() or _archive_stem(entry.name) is not None]
    if len(graphs) != 1:
        return folder
    if graphs[0].is_dir():
        return _single_inside(graphs[0], cache_dir)
    return _unpacked(graphs[0], cache_dir)


def _downloaded(name: str, cache_dir: Path) -> Path:
    source = SOURCES.get(name)
    if source is None or not source.urls:
        where = "" if source is None else f" (it is at {source.page})"
        raise FileNotFoundError(
            f"{name} is not downloaded by this package{where}; give its folder or archive as "
            "data_dir"
        )
    folder = cache_dir / "downloads" / "kg" / source.folders[0]
    for url in source.urls:
        path = fetch(url, folder / url.rsplit("/", 1)[1], sha256=None)
    return _unpacked(path, cache_dir) if _archive_stem(path.name) is not None else folder


def contents_of(graph: KnowledgeGraph) -> str:
    """A SHA-256 of the triples of train, valid and test, whatever their order."""
    digests = []
    for split in SPLITS:
        lines = sorted(
            f"{graph.entities[s]}\t{graph.relations[p]}\t{graph.entities[o]}\n"
            for s, p, o in graph.split(split).tolist()
        )
        digests.append(hashlib.sha256("".join(lines).encode()).hexdigest())
    return hashlib.sha256("".join(digests).encode()).hexdigest()


# ---- The graphs ---------------------------------------------------------------------------------


def _load_folder(name: str, folder: Path, policy: Policy) -> KnowledgeGraph:
    files = classify(folder)
    entity_names, entity_texts = _names(files.entity_names)
    relation_names, _ = _names(files.relation_names)
    if files.entity_texts is not None:
        # Types or descriptions in a file of their own: id, text.
        more = _names(files.entity_texts)[0]
        entity_texts = {**more, **entity_texts}
    graph = read_graph(
        name if name != "folder" else folder.resolve().name or "folder",
        files,
        policy=policy,
        entity_names=entity_names,
        relation_names=relation_names,
        entity_texts=entity_texts,
    )
    unread = [path for path in files.ignored if path.endswith((".txt", ".tsv"))]
    notes = [f"not read: {visible(', '.join(unread[:8]))}"] if unread else []
    return replace(graph, notes=(*graph.notes, *notes))


def _names(path: Path | None) -> tuple[dict[str, str], dict[str, str]]:
    return ({}, {}) if path is None else read_names(path)


def _load_fb15k237(name: str, folder: Path, policy: Policy, *, task: str = "all") -> KnowledgeGraph:
    """`task` "completion" asks four relations of people only, see `people_asked`."""
    if task not in FB15K237_TASKS:
        raise ValueError(f"task={task!r} is not one of {', '.join(FB15K237_TASKS)}")
    graph = _load_folder(name, folder, policy)
    if task == "completion":
        graph = people_asked(graph)
    return replace(graph, relation_names=short_paths(graph.relations))


def short_paths(relations: Sequence[str]) -> tuple[str, ...]:
    """Readable names of Freebase's relations, the shortest that tell them apart.

    `/people/person/place_of_birth` is "place of birth"; a relation of two steps joined by a full
    stop, as `/a/b/c./d/e/f`, is "c, f". Where that is not unique, the type goes before it.
    """

    def named(relation: str, parts: int) -> str:
        steps = [step.strip("/").split("/")[-parts:] for step in relation.split("./")]
        return ", ".join(" ".join(step) for step in steps).replace("_", " ")

    names = [named(relation, 1) for relation in relations]
    for parts in (2, 99):
        shared = {name for name in names if names.count(name) > 1}
        names = [
            named(relation, parts) if name in shared else name
            for relation, name in zip(relations, names, strict=True)
        ]
    return tuple(names)


_PARTS_OF_SPEECH = {"n": "noun", "v": "verb", "a": "adjective", "s": "adjective", "r": "adverb"}


def _load_wn18rr(name: str, folder: Path, policy: Policy) -> KnowledgeGraph:
    files = classify(folder)
    entity_names, entity_texts = _names(files.entity_names)
    relation_names, _ = _names(files.relation_names)
    # The labelled files of R2D2's authors write relations without the leading underscore.
    relations = {relation for _, relation, _ in read_triples(files.splits["train"]).triples}
    return read_graph(
        name,
        files,
        policy=policy,
        entity_names={key: _sense(value) for key, value in entity_names.items()},
        relation_names=relation_names or {r: r.strip("_").replace("_", " ") for r in relations},
        entity_texts=entity_texts,
        relation_aliases={relation.lstrip("_"): relation for relation in relations},
    )


def _sense(synset: str) -> str:
    """`dog.n.01` is "dog (noun 1)"; anything else stays as it is."""
    match = re.fullmatch(r"(.+)\.([nvasr])\.(\d+)", synset)
    if match is None:
        return synset
    word, part, number = match.groups()
    return f"{word.replace('_', ' ')} ({_PARTS_OF_SPEECH[part]} {int(number)})"


def _load_underscored(name: str, folder: Path, policy: Policy) -> KnowledgeGraph:
    graph = _load_folder(name, folder, policy)
    return replace(
        graph,
        entity_names=tuple(text.replace("_", " ") for text in graph.entity_names),
        relation_names=tuple(text.replace("_", " ") for text in graph.relation_names),
    )


def _load_countries(
    name: str, folder: Path, policy: Policy, *, subset: str = "S1"
) -> KnowledgeGraph:
    """`subset` is S1, S2 or S3 (Bouchard et al., 2015), from easy to hard."""
    if not (folder / subset).is_dir():
        raise ValueError(f"{folder} has no folder {subset!r}; subset is one of S1, S2, S3")
    return replace(_load_underscored("folder", folder / subset, policy), name=f"{name}_{subset}")


LOADERS: dict[str, Callable[..., KnowledgeGraph]] = {
    "fb15k237": _load_fb15k237,
    "wn18rr": _load_wn18rr,
    "codex_s": _load_folder,
    "codex_m": _load_folder,
    "nations": _load_folder,
    "umls": _load_underscored,
    "kinship": _load_underscored,
    "countries": _load_countries,
    "hetionet": load_hetionet,
    "folder": _load_folder,
}
