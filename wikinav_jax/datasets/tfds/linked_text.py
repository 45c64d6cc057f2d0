"""LinkedTextGraphs as examples, one a block; and the builder for graph folders."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from wikinav_jax.common.files import fingerprint
from wikinav_jax.datasets import linked_text
from wikinav_jax.datasets.tfds.base import ArrayRecordBuilder
from wikinav_jax.graph.linked_text import EdgeKind, LinkedTextGraph
from wikinav_jax.graph.subgraph import split_by_article

_ROWS_AT_ONCE = 1024
KINDS = ", ".join(f"{kind.value} {kind.name.lower()}" for kind in EdgeKind)

Example = dict[str, Any]


def features() -> tfds.features.FeaturesDict:
    """The features of a block; K is the number of its outgoing links."""
    f = tfds.features
    return f.FeaturesDict(
        {
            "node": f.Scalar(np.int32, doc="number of the block in this split, and its place"),
            "node_in_whole": f.Scalar(np.int32, doc="its number in the graph before the split"),
            "article": f.Scalar(np.int32, doc="number of its article in this split"),
            "title": f.Text(doc="title of its article"),
            "section": f.Text(doc="path of headings, parted by ' > '; empty before the first"),
            "text": f.Text(doc="about 100 words"),
            "targets": f.Tensor(shape=(None,), dtype=np.int32, doc="[K] node that each link names"),
            "kinds": f.Tensor(shape=(None,), dtype=np.uint8, doc=f"[K] {KINDS}"),
            "anchors": f.Tensor(
                shape=(None, 2),
                dtype=np.uint16,
                doc="[K, 2] characters of `text` that carry the link; 0, 0 for none",
            ),
        }
    )


def examples(
    graph: LinkedTextGraph, node_in_whole: np.ndarray | None = None
) -> Iterator[tuple[int, Example]]:
    """(node, example) of every block, in order.

    Args:
      graph: N blocks.
      node_in_whole: int [N], the nodes of a larger graph that these are; None if they are the same.
    """
    for start in range(0, graph.num_nodes, _ROWS_AT_ONCE):
        nodes = np.arange(start, min(start + _ROWS_AT_ONCE, graph.num_nodes))
        rows = zip(nodes.tolist(), graph.texts(nodes), graph.blocks.sections(nodes), strict=True)
        for node, text, section in rows:
            low, high = int(graph.indptr[node]), int(graph.indptr[node + 1])
            yield (
                node,
                {
                    "node": node,
                    "node_in_whole": node if node_in_whole is None else int(node_in_whole[node]),
                    "article": int(graph.article[node]),
                    "title": graph.title(node),
                    "section": section,
                    "text": text,
                    "targets": np.asarray(graph.indices[low:high]),
                    "kinds": np.asarray(graph.edge_kind[low:high]),
                    "anchors": np.asarray(graph.anchor[low:high]),
                },
            )


def splits(
    graph: LinkedTextGraph, fractions: tuple[float, ...], seed: int
) -> dict[str, Iterator[tuple[int, Example]]]:
    """The generators of a graph's splits.

    Args:
      graph: the whole graph.
      fractions: shares of the articles in "train" and "held_out", which keep the links inside
        them, as navigation trains and evaluates; empty for one split "train" of all.
      seed: decides which article goes where.

    Raises:
      ValueError: see `split_by_article`.
    """
    if not fractions:
        return {"train": examples(graph)}
    (train, train_ids), (held_out, held_out_ids) = split_by_article(graph, fractions, seed)
    return {"train": examples(train, train_ids), "held_out": examples(held_out, held_out_ids)}


def check_fractions(fractions: tuple[float, ...]) -> tuple[float, ...]:
    """Two shares, or none.

    Raises:
      ValueError: another number of them.
    """
    if len(fractions) not in (0, 2):
        raise ValueError(
            f"fractions={fractions} must be two shares of the articles, for train and held_out, "
            "such as (0.5, 0.5); leave it out for one split of all"
        )
    return tuple(float(fraction) for fraction in fractions)


@dataclasses.dataclass(eq=False, repr=False)
class LinkedTextConfig(tfds.core.BuilderConfig):
    """Which graph, and how it is split."""

    path: str = ""
    fractions: tuple[float, ...] = ()
    seed: int = 0


class LinkedTextBuilder(ArrayRecordBuilder):
    """Any graph folder that `--mode=build` wrote, one example a block.

    `tfds.builder("linked_text", path="graphs/mine", fractions=(0.5, 0.5))`. The prepared files are
    called by the name of the folder and the hashes of its files, so that another graph there is
    another data set.
    """

    name = "linked_text"
    VERSION = tfds.core.Version("1.0.0")

    def __init__(
        self,
        *,
        path: str | Path = "",
        fractions: tuple[float, ...] = (),
        seed: int = 0,
        config: LinkedTextConfig | None = None,
        **kwargs: Any,
    ):
        """Constructs the builder.

        Args:
          path: the graph's folder.
          fractions: see `splits`.
          seed: likewise.
          config: all of these at once, as pickled builders have it.
          **kwargs: see `ArrayRecordBuilder`.

        Raises:
          ValueError, FileNotFoundError: there is no whole graph at `path`; other fractions.
        """
        if config is None:
            config = _config(str(path), check_fractions(tuple(fractions)), seed)
        elif not isinstance(config, LinkedTextConfig):
            raise ValueError(
                f"config={config!r}: give path=FOLDER of a graph; one that was prepared is opened "
                "by tfds.builder_from_directory"
            )
        super().__init__(config=config, **kwargs)

    @property
    def _graph(self) -> LinkedTextGraph:
        # Not kept: builders are pickled with their data sources.
        return linked_text.load(None, Path(), None, path=self.builder_config.path)

    def _info(self) -> tfds.core.DatasetInfo:
        meta = self._graph.meta
        statistics = meta.get("statistics", {})
        return tfds.core.DatasetInfo(
            builder=self,
            description=(
                f"Blocks of about 100 words and the links between them, from {meta['source']}. "
                f"Built by: {meta['command']}"
            ),
            features=features(),
            disable_shuffling=True,  # example i is node i
            citation=str(meta.get("citation", "")) or None,
            license=meta["licence"],
            metadata=tfds.core.MetadataDict(
                source=meta["source"], counts=meta["counts"], statistics=statistics
            ),
        )

    def _split_generators(self, dl_manager: Any) -> dict[str, Iterator[tuple[int, Example]]]:
        del dl_manager
        config = self.builder_config
        return splits(self._graph, config.fractions, config.seed)


def _config(path: str, fractions: tuple[float, ...], seed: int) -> LinkedTextConfig:
    key = {
        "files": linked_text.fingerprint_inputs(None, Path(), path=path),
        "fractions": fractions,
        "seed": seed if fractions else 0,
    }
    folder = Path(path).expanduser().resolve()
    return LinkedTextConfig(
        name=f"{folder.name}-{fingerprint(key)}",
        description=f"{folder.name}, split {fractions or 'not at all'}",
        path=str(folder),
        fractions=fractions,
        seed=seed,
    )
