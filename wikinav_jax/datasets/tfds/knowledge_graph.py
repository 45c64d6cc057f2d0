"""Knowledge graphs as a TFDS builder: one example a triple."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from wikinav_jax.common.files import fingerprint
from wikinav_jax.datasets.knowledge_graphs import load_knowledge_graph
from wikinav_jax.datasets.knowledge_graphs_sources import SOURCES
from wikinav_jax.datasets.knowledge_graphs_tasks import HETIONET_TASKS
from wikinav_jax.datasets.tfds.base import ArrayRecordBuilder, cache_dir, load_raw
from wikinav_jax.datasets.tfds.citations import CITATIONS
from wikinav_jax.graph.triples import KnowledgeGraph

# TFDS's names of the splits -> ours.
SPLITS = {"train": "train", "validation": "valid", "test": "test"}
LABELS = ("false", "true")

Example = dict[str, Any]


def features() -> tfds.features.FeaturesDict:
    """The features of a triple."""
    f = tfds.features
    parts: dict[str, Any] = {}
    for part in ("subject", "relation", "object"):
        parts[part] = f.Scalar(np.int32, doc=f"number of the {part} in the graph")
        parts[f"{part}_id"] = f.Text(doc=f"id of the {part} as its source has it")
        parts[f"{part}_name"] = f.Text(doc=f"what a reader calls the {part}; else its id")
    parts["label"] = f.ClassLabel(names=LABELS, doc="whether it is a fact")
    return f.FeaturesDict(parts)


def splits(graph: KnowledgeGraph) -> dict[str, Iterator[tuple[int, Example]]]:
    """The generators of a graph's splits: train, validation, test, and `…_labelled` of the last.

    Splits without a triple are left out. The plain splits hold facts only; labelled ones facts and
    false triples, where the source has them.
    """
    found = {}
    for name, ours in SPLITS.items():
        triples = graph.split(ours)
        if len(triples):
            found[name] = _examples(graph, triples, np.ones(len(triples), np.int64))
    for name, ours in list(SPLITS.items())[1:]:
        labelled = graph.labelled(ours)
        if labelled is not None and len(labelled[0]):
            found[f"{name}_labelled"] = _examples(graph, labelled[0], labelled[1].astype(np.int64))
    return found


def _examples(
    graph: KnowledgeGraph, triples: np.ndarray, labels: np.ndarray
) -> Iterator[tuple[int, Example]]:
    rows = zip(triples.tolist(), labels.tolist(), strict=True)
    for place, ((subject, relation, obj), label) in enumerate(rows):
        yield (
            place,
            {
                "subject": subject,
                "subject_id": graph.entities[subject],
                "subject_name": graph.entity_names[subject],
                "relation": relation,
                "relation_id": graph.relations[relation],
                "relation_name": graph.relation_names[relation],
                "object": obj,
                "object_id": graph.entities[obj],
                "object_name": graph.entity_names[obj],
                "label": label,
            },
        )


@dataclasses.dataclass(eq=False, repr=False)
class KnowledgeGraphConfig(tfds.core.BuilderConfig):
    """Which graph."""

    graph: str = "folder"  # of `knowledge_graphs.LOADERS`
    options: tuple[tuple[str, str], ...] = ()  # of its loader
    path: str = ""  # of "folder"


def _configs() -> list[KnowledgeGraphConfig]:
    configs = []
    for graph, source in SOURCES.items():
        variants: dict[str, tuple[tuple[str, str], ...]] = {graph: ()}
        if graph == "countries":
            variants = {f"{graph}_{s.lower()}": (("subset", s),) for s in ("S1", "S2", "S3")}
        elif graph == "hetionet":
            variants = {f"{graph}_{task}": (("task", task),) for task in HETIONET_TASKS}
        configs += [
            KnowledgeGraphConfig(
                name=name,
                description=f"{name}, from {source.page}",
                graph=graph,
                options=options,
            )
            for name, options in variants.items()
        ]
    return configs


class KnowledgeGraphBuilder(ArrayRecordBuilder):
    """FB15k-237, WN18RR, CoDEx and others by name, and any folder of triples by its path.

    `tfds.builder("knowledge_graph/fb15k237")` takes the graph's folder or archive from `raw_dir`,
    else from TFDS's manual directory, else downloads it where `knowledge_graphs` does;
    `tfds.builder("knowledge_graph", path="my/triples")` reads a folder of your own.
    """

    name = "knowledge_graph"
    VERSION = tfds.core.Version("1.0.0")
    MANUAL_DOWNLOAD_INSTRUCTIONS = (
        "Put the graph's folder or archive here: "
        + ", ".join(f"{source.folders[0]} ({source.page})" for source in SOURCES.values())
        + ". FB15k-237, WN18RR and CoDEx are downloaded otherwise."
    )
    BUILDER_CONFIGS = _configs()

    def __init__(
        self,
        *,
        raw_dir: str | Path | None = None,
        path: str | Path = "",
        config: Any = None,
        **kwargs: Any,
    ):
        """Constructs the builder.

        Args:
          raw_dir: where the named graph lies, see `load_knowledge_graph`; what is prepared already
            is not prepared again from another one.
          path: a folder of triples of your own; then no config.
          config: the name of a graph.
          **kwargs: see `ArrayRecordBuilder`.

        Raises:
          ValueError: neither or both of config and path.
          FileNotFoundError: there is no such path.
        """
        if bool(path) == (config is not None):
            names = ", ".join(each.name for each in self.BUILDER_CONFIGS)
            raise ValueError(
                "name a graph (tfds.builder('knowledge_graph/NAME'), NAME one of "
                f"{names}) or give path=FOLDER of your own triples, not "
                f"{'both' if path else 'neither'}"
            )
        self._raw_dir = raw_dir
        super().__init__(config=_folder_config(Path(path)) if path else config, **kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        config = self.builder_config
        source = SOURCES.get(config.graph)
        where = config.path if source is None else source.page
        return tfds.core.DatasetInfo(
            builder=self,
            description=(
                f"Facts (subject, relation, object) of {config.name}, from {where}. Relations are "
                "given in one direction."
            ),
            features=features(),
            disable_shuffling=True,
            homepage=None if source is None else source.page,
            citation=CITATIONS.get(config.graph),
            license="not told by the folder" if source is None else source.licence,
            metadata=tfds.core.MetadataDict(),
        )

    def _split_generators(self, dl_manager: Any) -> dict[str, Iterator[tuple[int, Example]]]:
        config = self.builder_config

        def load(data_dir: Path | None) -> KnowledgeGraph:
            return load_knowledge_graph(
                config.graph, data_dir=data_dir, cache_dir=cache_dir(), options=dict(config.options)
            )

        if config.path:
            graph = load(Path(config.path))
        else:
            downloadable = bool(SOURCES[config.graph].urls)
            graph = load_raw(load, self._raw_dir, dl_manager, downloadable=downloadable)
        self.info.metadata.update(
            entities=graph.num_entities, relations=graph.num_relations, notes=list(graph.notes)
        )
        return splits(graph)


def _folder_config(path: Path) -> KnowledgeGraphConfig:
    path = path.expanduser().resolve()
    if not path.exists():
        raise FileNotFoundError(f"there is nothing at path={path}; give a folder of triples")
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    status = [(str(file.relative_to(path)), file.stat()) for file in files]
    key = fingerprint([[name, stat.st_size, stat.st_mtime_ns] for name, stat in status])
    return KnowledgeGraphConfig(
        name=f"{path.name}-{key}", description=f"triples of {path.name}", path=str(path)
    )
