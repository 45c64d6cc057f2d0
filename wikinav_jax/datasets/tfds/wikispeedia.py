"""Wikispeedia as a TFDS builder."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from wikinav_jax.datasets import wikispeedia, wikispeedia_files
from wikinav_jax.datasets.catalog import LOADERS, load_graph
from wikinav_jax.datasets.tfds.base import ArrayRecordBuilder, cache_dir, load_raw
from wikinav_jax.datasets.tfds.linked_text import Example, features, splits

CITATION = """\
@inproceedings{west2012human,
  title={Human Wayfinding in Information Networks},
  author={West, Robert and Leskovec, Jure},
  booktitle={Proceedings of the 21st International Conference on World Wide Web},
  pages={619--628},
  year={2012},
  doi={10.1145/2187836.2187920}
}
@inproceedings{west2009wikispeedia,
  title={Wikispeedia: An Online Game for Inferring Semantic Distances between Concepts},
  author={West, Robert and Pineau, Joelle and Precup, Doina},
  booktitle={Proceedings of the 21st International Joint Conference on Artificial Intelligence},
  pages={1598--1603},
  year={2009}
}"""


@dataclasses.dataclass(eq=False, repr=False)
class WikispeediaConfig(tfds.core.BuilderConfig):
    """Which nodes, and how they are split."""

    dataset: str = "wikispeedia"  # of the catalog
    fractions: tuple[float, ...] = ()


class WikispeediaBuilder(ArrayRecordBuilder):
    """The articles that Wikispeedia is played on, as `datasets.wikispeedia` reads them.

    The archives are taken from `raw_dir`, else from TFDS's manual directory, else downloaded. The
    graph is built in the package's cache (about a minute) and shared with `configs/wikispeedia.py`.
    """

    name = "wikispeedia"
    VERSION = tfds.core.Version(f"{wikispeedia.VERSION}.0.0")
    MANUAL_DOWNLOAD_INSTRUCTIONS = (
        "Only without a network: put the two archives (texts, paths and graph) of "
        f"{wikispeedia_files.PAGE} here."
    )
    BUILDER_CONFIGS = [  # noqa: RUF012 - TFDS reads this name
        WikispeediaConfig(name="blocks", description="All blocks of about 100 words: train."),
        WikispeediaConfig(
            name="halves",
            description="Blocks in two halves without a common article, train and held_out.",
            fractions=(0.5, 0.5),
        ),
        WikispeediaConfig(
            name="articles",
            description="Whole articles and the links that people click: train.",
            dataset="wikispeedia_articles",
        ),
    ]

    def __init__(self, *, raw_dir: str | Path | None = None, **kwargs: Any):
        """Constructs the builder.

        Args:
          raw_dir: the folder of the archives, packed or not; what is prepared already is not
            prepared again from another one.
          **kwargs: see `ArrayRecordBuilder`.
        """
        self._raw_dir = raw_dir
        super().__init__(**kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description=(
                "4,604 articles of the Wikipedia Selection for Schools 2007 and the links that the "
                "players of Wikispeedia click, each placed where its anchor stands in the text."
            ),
            features=features(),
            disable_shuffling=True,  # example i is node i
            homepage=wikispeedia_files.PAGE,
            citation=CITATION,
            license=wikispeedia.LICENCE,
        )

    def _split_generators(self, dl_manager: Any) -> dict[str, Iterator[tuple[int, Example]]]:
        dataset = self.builder_config.dataset
        # Spelt out, as configs do: the graph in the cache is then the same.
        parameters = inspect.signature(LOADERS[dataset]().load).parameters.values()
        options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        graph = load_raw(
            lambda data_dir: load_graph(
                dataset, data_dir=data_dir, cache_dir=cache_dir(), options=options
            ),
            self._raw_dir,
            dl_manager,
            downloadable=True,
        )
        return splits(graph, self.builder_config.fractions, seed=0)
