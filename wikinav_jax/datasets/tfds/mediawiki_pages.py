"""The parsed pages of a MediaWiki dump: a TFDS builder on Apache Beam."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds
from etils import epath

from wikinav_jax.common.files import fingerprint
from wikinav_jax.datasets.building.build import PARSER_VERSION
from wikinav_jax.datasets.building.chunks import PageOptions
from wikinav_jax.datasets.mediawiki.build import dump_origin
from wikinav_jax.datasets.mediawiki.remote import (
    INSTALL,
    DumpFile,
    find_dump,
    is_remote,
    read_site,
)
from wikinav_jax.datasets.mediawiki.titles import SiteInfo
from wikinav_jax.datasets.tfds.base import FILE_FORMAT, check_file_format


def features() -> tfds.features.FeaturesDict:
    """The features of an article of B blocks and L links."""
    f = tfds.features

    def numbers(dtype: type, doc: str) -> tfds.features.Tensor:
        return f.Tensor(shape=(None,), dtype=dtype, doc=doc)

    return f.FeaturesDict(
        {
            "page_id": f.Scalar(np.int64, doc="of the wiki; -1 for none"),
            "title": f.Text(),
            "texts": f.Sequence(f.Text(), doc="[B] blocks of about 100 words"),
            "sections": f.Sequence(f.Text(), doc="[B] path of headings, a JSON list"),
            "link_block": numbers(np.int32, "[L] block that holds the link"),
            "link_start": numbers(np.uint16, "[L] first character of the anchor in its block"),
            "link_end": numbers(np.uint16, "[L] behind its last character"),
            "link_target": f.Sequence(f.Text(), doc="[L] title of an article or redirect"),
            "link_fragment": f.Sequence(f.Text(), doc="[L] section of the target, or nothing"),
            "report": f.Text(
                doc="split `reports` only: JSON of the redirects, the failed pages and the counts "
                "of a run of pages, or of what was wrong with a file"
            ),
        }
    )


@dataclasses.dataclass(eq=False, repr=False)
class MediawikiPagesConfig(tfds.core.BuilderConfig):
    """Which dump, and how it is parsed."""

    files: tuple[DumpFile, ...] = ()
    site: SiteInfo = dataclasses.field(default_factory=SiteInfo)
    options: PageOptions = dataclasses.field(default_factory=PageOptions)


class ArrayRecordWriter(tfds.core.writer.ExampleWriter):
    """Writes ArrayRecord files here or elsewhere (gs://, s3://): the format knows local files."""

    def write(self, path: Any, examples: Iterable[Any]) -> Any:
        """Writes (key, serialized example) pairs."""
        address = os.fspath(path)
        if not is_remote(address):
            return super().write(path, examples)
        with tempfile.TemporaryDirectory(prefix="wikinav-shard-") as folder:
            local = epath.Path(folder) / "shard"
            positions = super().write(local, examples)
            local.copy(address, overwrite=True)
        return positions


class MediawikiPagesBuilder(tfds.core.BeamBasedBuilder):
    """The articles of a dump, parsed into blocks with their links; links are not resolved yet.

    `tfds.builder("mediawiki_pages", source="wiki.xml.bz2")`, prepared with a `DownloadConfig` that
    has `beam_runner` and `beam_options`. Splits: `articles`, in the dump's order, and `reports`.
    `mediawiki_graph.build_graph_of_pages` makes the graph of blocks from them.
    """

    name = "mediawiki_pages"
    VERSION = tfds.core.Version(f"{PARSER_VERSION}.0.0")

    def __init__(
        self,
        *,
        source: str | Path = "",
        options: PageOptions | None = None,
        file_format: Any = FILE_FORMAT,
        config: Any = None,
        **kwargs: Any,
    ):
        """Finds the files and reads the header of the first one.

        Args:
          source: the dump, or a folder with its parts; may be an address that Apache Beam reads,
            such as gs://BUCKET/FOLDER.
          options: how pages are parsed and what one may take.
          file_format: "array_record".
          config: all of these at once, as pickled builders have it.
          **kwargs: of `tfds.core.DatasetBuilder`.

        Raises:
          ValueError, FileNotFoundError: it is no dump; another file format.
          ImportError: the source is elsewhere and Apache Beam is not installed.
        """
        check_file_format(file_format)
        if config is None:
            config = _config(str(source), options or PageOptions())
        elif not isinstance(config, MediawikiPagesConfig):
            raise ValueError(
                f"config={config!r}: give source=DUMP; pages that were prepared are opened by "
                "tfds.builder_from_directory"
            )
        super().__init__(config=config, file_format=FILE_FORMAT, **kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        config = self.builder_config
        names = [file.name for file in config.files]
        origin = dump_origin(config.site, names)
        return tfds.core.DatasetInfo(
            builder=self,
            description=f"Articles of the {origin.source}, in blocks with their links.",
            features=features(),
            disable_shuffling=True,  # the dump's order
            homepage=config.site.base or None,
            license=origin.licence,
            metadata=tfds.core.MetadataDict(
                files=names,
                site=dataclasses.asdict(config.site),
                options=dataclasses.asdict(config.options),
            ),
        )

    def _split_generators(self, dl_manager: Any, pipeline: Any) -> dict[str, Any]:
        del dl_manager
        try:
            from wikinav_jax.datasets.mediawiki.beam import parse_dump
        except ImportError as error:
            raise ImportError(f"Apache Beam is not installed ({error}): {INSTALL}") from error
        config = self.builder_config
        return parse_dump(pipeline, config.files, config.site, config.options)._asdict()

    def _example_writer(self) -> ArrayRecordWriter:
        return ArrayRecordWriter(file_format=self.info.file_format)


def _config(source: str, options: PageOptions) -> MediawikiPagesConfig:
    files = tuple(find_dump(source))
    key = {
        "files": [[file.name, file.num_bytes, file.modified] for file in files],
        "options": dataclasses.asdict(options),
    }
    stem = files[0].name.partition(".")[0]
    return MediawikiPagesConfig(
        name=f"{stem}-{fingerprint(key)}",
        description=f"pages of {source}",
        files=files,
        site=read_site(files[0]),
        options=options,
    )
