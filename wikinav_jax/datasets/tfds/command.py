"""`--mode=build` by Apache Beam: from `config.source` to prepared pages, and to a graph."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds
from absl import logging
from etils import epath
from ml_collections import ConfigDict

from wikinav_jax.common.config import ConfigError
from wikinav_jax.common.files import atomic_directory, fingerprint
from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.datasets.building.chunks import PageOptions
from wikinav_jax.datasets.building.summary import summary
from wikinav_jax.datasets.linking import LinkingOptions
from wikinav_jax.datasets.mediawiki.remote import INSTALL, is_remote
from wikinav_jax.datasets.sources.command import OVERVIEW, is_free
from wikinav_jax.datasets.sources.overview import write_overview
from wikinav_jax.datasets.tfds.leftovers import swept
from wikinav_jax.datasets.tfds.mediawiki_graph import build_graph_of_pages
from wikinav_jax.datasets.tfds.mediawiki_pages import MediawikiPagesBuilder

# What the flags of each runner must hold; the rest is the user's.
RUNNERS: dict[str, tuple[str, ...]] = {
    # The last flag asks for nothing but Beam's own batch engine: without it the runner first
    # tries to download another one from GitHub.
    "direct": ("--runner=DirectRunner", "--allow_unsafe_triggers"),
    "dataflow": ("--runner=DataflowRunner",),
    "flink": ("--runner=FlinkRunner",),
    "spark": ("--runner=SparkRunner",),
}
_LINKING = ("min_commonness", "min_link_probability", "held_out", "seed")


def run(config: ConfigDict, workdir: Path | None, mode: str) -> None:
    """Prepares the pages if they are not there, then builds the graph and prints its statistics.

    Args:
      config: see `configs/build_wiki_beam.py`.
      workdir: what `config.output` is if that is empty.
      mode: "build".

    Raises:
      ConfigError: another mode or runner, no folder for the pages, something else at the output.
      ImportError: Apache Beam is not installed.
      ValueError, FileNotFoundError: see `MediawikiPagesBuilder` and `build_graph_of_pages`.
    """
    if mode != "build":
        raise ConfigError(f"this config builds a graph: give --mode=build, not {mode!r}")
    if not config.prepared:
        raise ConfigError(
            "config.prepared is empty: give the folder for the parsed pages, --config.prepared=DIR"
        )
    options = PageOptions(
        keep_tables=config.keep_tables,
        target_words=config.target_words,
        max_words=config.max_words,
        max_seconds=config.max_page_seconds,
        max_memory=config.max_page_megabytes << 20,
    )
    builder = MediawikiPagesBuilder(source=config.source, options=options, data_dir=config.prepared)
    output = Path(config.output).expanduser() if config.output else workdir
    key = _key(builder, config)
    if output is not None and not is_free(output, key, config.overwrite):
        print(f"{output} is built already, from the same dump with the same options.")
        return
    prepare(builder, config.runner, config.beam_options)
    print(f"Pages: {builder.data_dir}")
    if output is None:
        return
    cache_dir = (
        Path(config.cache_dir).expanduser()
        if config.cache_dir
        else output.absolute().with_name(f".{output.absolute().name}.build")
    )
    linking = LinkingOptions(**{name: config[name] for name in _LINKING})
    graph = build_graph_of_pages(
        here(builder, cache_dir),
        output,
        cache_dir=cache_dir,
        command=(
            "python -m wikinav_jax.main --mode=build --config=configs/build_wiki_beam.py "
            f"--config.source={Path(config.source).name} --config.prepared=PAGES "
            f"--config.keep_tables={config.keep_tables} "
            f"--config.entity_links={config.entity_links} "
            f"--config.target_words={config.target_words} --config.max_words={config.max_words}"
        ),
        linking=linking if config.entity_links else None,
        log_summary=False,
        extra_meta={"build_key": key},
    )
    if not config.cache_dir:
        shutil.rmtree(cache_dir, ignore_errors=True)
    page = write_overview(graph, output / OVERVIEW)
    print(summary(graph.meta))
    print(f"\nGraph: {output}\nPlots: {page}")


def beam_flags(runner: str, flags: Sequence[str]) -> list[str]:
    """All flags of Apache Beam.

    Raises:
      ConfigError: there is no such runner, or the flags name one.
    """
    if runner not in RUNNERS:
        raise ConfigError(
            f"config.runner={runner!r} is not one of {', '.join(RUNNERS)}."
            + did_you_mean(runner, RUNNERS)
        )
    for flag in flags:
        if not flag.startswith("--"):
            raise ConfigError(f"config.beam_options: {flag!r} is no flag; flags start with --")
        if flag.partition("=")[0] == "--runner":
            raise ConfigError("config.beam_options names a runner; set config.runner instead")
    return [*RUNNERS[runner], *flags]


def prepare(builder: MediawikiPagesBuilder, runner: str, flags: Sequence[str]) -> None:
    """Runs the pipeline, unless the pages are there.

    Args:
      builder: of the dump.
      runner: a key of RUNNERS.
      flags: of Apache Beam.

    Raises:
      ConfigError: see `beam_flags`.
      ImportError: Apache Beam is not installed.
    """
    flags = beam_flags(runner, flags)
    try:
        from apache_beam.options.pipeline_options import PipelineOptions
    except ImportError as error:
        raise ImportError(f"Apache Beam is not installed ({error}): {INSTALL}") from error
    # Without flags of its own Beam would read those of this program.
    config = tfds.download.DownloadConfig(beam_options=PipelineOptions(flags))
    folder = str(builder.data_dir)
    with contextlib.nullcontext() if is_remote(folder) else swept(Path(folder)):
        builder.download_and_prepare(download_config=config)


def here(builder: MediawikiPagesBuilder, cache_dir: Path) -> Any:
    """The builder, or one of a copy on this disk where the pages are elsewhere."""
    if not is_remote(str(builder.data_dir)):
        return builder
    copy = cache_dir / "pages" / builder.info.full_name
    if not copy.is_dir():
        logging.info("copying %s to %s", builder.data_dir, copy)
        with atomic_directory(copy) as folder:
            for file in epath.Path(builder.data_dir).iterdir():
                file.copy(folder / file.name)
    return tfds.builder_from_directory(copy)


def _key(builder: MediawikiPagesBuilder, config: ConfigDict) -> str:
    """Changes with the dump and with the options that matter."""
    linking = {name: config[name] for name in _LINKING} if config.entity_links else None
    return fingerprint({"pages": builder.info.full_name, "linking": linking})
