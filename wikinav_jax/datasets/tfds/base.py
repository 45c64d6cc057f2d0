"""What all builders share: the file format, and where raw data lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import tensorflow_datasets as tfds
from absl import logging
from ml_collections import ConfigDict

from wikinav_jax.common.config import cache_folder

FILE_FORMAT = "array_record"

T = TypeVar("T")


class ArrayRecordBuilder(tfds.core.GeneratorBasedBuilder):
    """A builder that writes ArrayRecord files; its examples keep the order they are made in."""

    def __init__(self, *, file_format: Any = FILE_FORMAT, **kwargs: Any):
        """Constructs the builder.

        Args:
          file_format: "array_record".
          **kwargs: of `tfds.core.DatasetBuilder`: data_dir, config, version.

        Raises:
          ValueError: another file format.
        """
        check_file_format(file_format)
        super().__init__(file_format=FILE_FORMAT, **kwargs)

    def _generate_examples(self, **kwargs: Any) -> Any:
        # Abstract in the base class; the generators of `_split_generators` are used instead.
        raise NotImplementedError("examples are made by _split_generators")


def check_file_format(file_format: Any) -> None:
    """Refuses formats that lose rows or need TensorFlow.

    Raises:
      ValueError: it is none that this package writes.
    """
    name = getattr(file_format, "value", file_format)
    if name not in (None, FILE_FORMAT):
        why = "loses rows" if name == "parquet" else "is not read without TensorFlow"
        raise ValueError(
            f"file_format={name!r} {why}; leave it out, or give file_format={FILE_FORMAT!r}"
        )


def cache_dir() -> Path:
    """The package's cache: built graphs, downloaded and unpacked archives."""
    return cache_folder(ConfigDict({"cache_dir": ""}))


def load_raw(
    load: Callable[[Path | None], T],
    raw_dir: str | Path | None,
    dl_manager: Any,
    *,
    downloadable: bool,
) -> T:
    """Calls a loader of the package with the folder of the raw data.

    Args:
      load: takes that folder, or None to download.
      raw_dir: the builder's own argument.
      dl_manager: of TFDS; its `manual_dir` is second choice.
      downloadable: whether the loader can do without.

    Raises:
      FileNotFoundError: there is neither, and nothing can be downloaded.
    """
    if raw_dir is not None:
        return load(Path(raw_dir).expanduser())
    try:
        return load(Path(dl_manager.manual_dir))
    except AssertionError as error:  # TFDS says so where the folder is missing or empty
        if not downloadable:
            raise FileNotFoundError(
                f"this data is not downloaded: give its folder as raw_dir. {error}"
            ) from error
    except FileNotFoundError as error:
        if not downloadable:
            raise
        logging.warning("not in TFDS's manual directory, so it is downloaded: %s", error)
    return load(None)
