"""Wikispeedia as people play it: a node for each article, an edge for each published link.

The graph of blocks (see `wikispeedia`) drops links that it cannot place in the text. A game must
offer every link that people could click, so this one has the edges of `links.tsv`, all but
those of an article to itself and no others, between all articles of `articles.tsv`, the site's own
pages among them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wikinav_jax.common.progress import progress
from wikinav_jax.datasets import wikispeedia_files as files
from wikinav_jax.datasets.wikispeedia import LICENCE
from wikinav_jax.datasets.wikispeedia_text import parse_article
from wikinav_jax.graph.csr import csr_from_edges
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.graph.store import open_graph, save_graph

VERSION = 1  # raise it when the same files give another graph


def fingerprint_inputs(data_dir: Path | None, cache_dir: Path, **options: Any) -> dict[str, Any]:
    """What the input files are, without reading them; no option changes which they are.

    Raises:
      FileNotFoundError: see `wikispeedia_files.find`.
    """
    return files.fingerprint_inputs(data_dir, cache_dir)


def load(
    data_dir: Path | None, cache_dir: Path, output: Path | None, *, tables: bool = True
) -> LinkedTextGraph:
    """Builds the graph of articles: its nodes stand in the order of `articles.tsv`.

    Edges have no anchors: what a reader sees of a link is the title of its article.

    Args:
      data_dir: a folder with the archives or the unpacked folders; None to download them.
      cache_dir: where archives are downloaded and unpacked to.
      output: the directory to save the graph to; None keeps it in memory.
      tables: keep the rows of tables and infoboxes in the texts, as people saw them.

    Raises:
      FileNotFoundError, ConnectionError, ValueError: files are missing or damaged, see
        `wikispeedia_files`.
    """
    graph_folder = files.folder_of(files.GRAPH, data_dir, cache_dir)
    text_folder = files.folder_of(files.TEXTS, data_dir, cache_dir)
    names = files.read_names(graph_folder)
    links = files.read_links(graph_folder, names)
    node = {name: number for number, name in enumerate(names)}
    pairs = dict.fromkeys((node[source], node[target]) for source, target in links)
    edges = np.array([pair for pair in pairs if pair[0] != pair[1]], np.int64).reshape(-1, 2)
    csr = csr_from_edges(len(names), edges[:, 0], edges[:, 1])
    graph = LinkedTextGraph.from_arrays(
        **csr._asdict(),
        article=np.arange(len(names)),
        texts=[
            article_text(files.read_text(text_folder, name), tables)
            for name in progress(names, desc="Articles", unit="article")
        ],
        titles=[files.title_of(name) for name in names],
        sections=[""] * len(names),
        meta={
            "wikispeedia": {
                "public_release": files.is_public_release(names, links),
                "links": len(links),
                "links_twice_or_to_itself_dropped": len(links) - len(edges),
            }
        },
    )
    if output is None:
        return graph
    save_graph(
        graph,
        output,
        source=f"Wikispeedia ({files.PAGE}): Wikipedia Selection for Schools 2007",
        licence=LICENCE,
        command="python -m wikinav_jax.main --config=configs/wikispeedia_games.py --mode=build",
    )
    return open_graph(output)


def article_text(printed: str, tables: bool) -> str:
    """The words of an article file without what the site printed around them."""
    passages = (
        passage.text
        for section in parse_article(printed).sections
        for passage in section.passages
        if tables or passage.kind != "table"
    )
    return "\n".join(passages)
