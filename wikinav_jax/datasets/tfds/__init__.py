"""The package's data sets as TensorFlow Datasets builders, without TensorFlow.

Importing this module registers them: `wikispeedia`, `linked_text` (graph folders),
`knowledge_graph` and `mediawiki_pages` (dumps, by Apache Beam). Each reads through the package's
own loaders and writes ArrayRecord files, which `tfds.data_source` reads at random without
TensorFlow:

    import tensorflow_datasets as tfds
    import wikinav_jax.datasets.tfds

    blocks = tfds.data_source("wikispeedia/halves", split="held_out")
    facts = tfds.data_source("knowledge_graph/codex_s", split="test_labelled")
    mine = tfds.data_source("linked_text", split="train", builder_kwargs={"path": "graphs/mine"})
"""

from wikinav_jax.datasets.tfds.knowledge_graph import KnowledgeGraphBuilder
from wikinav_jax.datasets.tfds.linked_text import LinkedTextBuilder
from wikinav_jax.datasets.tfds.mediawiki_pages import MediawikiPagesBuilder
from wikinav_jax.datasets.tfds.wikispeedia import WikispeediaBuilder

__all__ = [
    "KnowledgeGraphBuilder",
    "LinkedTextBuilder",
    "MediawikiPagesBuilder",
    "WikispeediaBuilder",
]
