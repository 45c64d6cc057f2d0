"""A build's parsed chunks to a saved graph with its description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from absl import logging

from wikinav_jax.datasets.building.assembly import Assembly
from wikinav_jax.datasets.building.build import CorpusBuild
from wikinav_jax.datasets.building.summary import path_lengths, summary
from wikinav_jax.datasets.linking import LinkingOptions
from wikinav_jax.graph.store import LinkedTextGraph, open_graph, save_graph


def build_graph(
    build: CorpusBuild,
    output: Path | None,
    *,
    command: str,
    linking: LinkingOptions | None,
    log_summary: bool = True,
    extra_meta: dict[str, Any] | None = None,
) -> LinkedTextGraph:
    """Parses what is not parsed yet, joins names, writes the graph.

    `meta[KIND]` (the source's kind) tells what happened: counts, everything wrong with the files,
    and every page that was left out with the reason. `meta["statistics"]`, `meta["path_lengths"]`
    and `meta["entity_linking"]` describe the graph and are logged.

    Args:
      build: the corpus.
      output: the directory to save to; None keeps the graph in memory.
      command: for `meta.json`.
      linking: which mentions become entity links; None for no entity links.
      log_summary: whether to log the statistics.
      extra_meta: more for `meta.json`.

    Raises:
      ValueError: the corpus has no article with text; see `CorpusBuild.parse` as well.
    """
    assembly = Assembly(build.spill, build.parse(), build.folder / "assembly")
    corpus, source = assembly.corpus, build.source
    build.counts.update(corpus.counts)
    if not corpus.num_blocks:
        raise ValueError(_empty(build))
    assembly.write(linking)
    origin = source.origin()
    meta: dict[str, Any] = {
        "source": origin.source,
        "licence": origin.licence,
        "command": command,
        **(extra_meta or {}),
        source.kind: build.report(),
    }
    graph = assembly.graph(meta, in_memory=output is None)
    meta["path_lengths"] = path_lengths(graph)
    logging.info("%s: %r", source.label, graph)
    if log_summary:
        logging.info("%s\n%s", source.label, summary(meta))
    names = corpus.num_articles + build.counts["redirects"]
    logging.info(
        "%d titles and redirects (and the headings of articles) took %.0f bytes of memory each",
        names,
        corpus.nbytes / names,
    )
    if output is not None:
        save_graph(graph, output, source=origin.source, licence=origin.licence, command=command)
        graph = open_graph(output)
    build.remove_spill()
    return graph


def _empty(build: CorpusBuild) -> str:
    counts, source = build.counts, build.source
    message = (
        f"{source.label} has no article with any text: of {counts['pages']} pages "
        f"{counts['pages_of_other_namespaces']} are of other namespaces, "
        f"{counts['redirects']} redirects, {len(build.failed)} could not be read"
    )
    if source.kind == "mediawiki":
        return f"{message}; is it a dump of pages-articles?"
    if build.failed:
        name, reason = build.failed[0]
        return f"{message}; the first of these is {name}: {reason}"
    return f"{message}; is it a corpus of type {source.kind!r}?"
