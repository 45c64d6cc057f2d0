"""A corpus, read once: pages are parsed in parallel, chunk by chunk, into spill files."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from absl import logging

from wikinav_jax.common.files import fingerprint
from wikinav_jax.common.progress import progress
from wikinav_jax.datasets.building.pool import ChunkSource, parse_chunks
from wikinav_jax.datasets.building.source import Source, SourceOptions
from wikinav_jax.datasets.building.spill import Spill

PARSER_VERSION = 4  # raise it when the same page gives other text or links


class CorpusBuild:
    """One run over a corpus: `parse`, then read `spill`."""

    def __init__(
        self,
        source: Source,
        spill_dir: Path,
        *,
        options: SourceOptions,
        workers: int = 0,
    ):
        """Chooses the spill folder.

        Args:
          source: the corpus.
          spill_dir: where parsed chunks are kept; what another run left there is used again.
          options: how to parse.
          workers: processes; 0 for one per core that this process may use.

        Raises:
          ValueError: the number of workers is negative.
        """
        if workers < 0:
            raise ValueError(f"workers={workers}: give 0 for one per core, or their number")
        self.source = source
        self.options = options
        self.workers = workers or num_cores()
        self.folder = spill_dir / fingerprint(
            {
                "parser": PARSER_VERSION,
                "kind": source.kind,
                "options": dataclasses.asdict(self.options),
                "files": source.key(),
            }
        )
        self.spill = Spill(self.folder)
        self.counts: Counter[str] = Counter()
        self.failed: list[tuple[str, str]] = []  # (page, reason)

    @property
    def problems(self) -> list[str]:
        """What was wrong with the files."""
        return self.source.problems

    def parse(self) -> int:
        """Brings the spill folder up to date; returns the number of chunks.

        Raises:
          RuntimeError, OSError: see `parse_chunks`.
        """
        source = self.source
        num_chunks = pages = pages_again = 0
        start = time.monotonic()
        unit_scale = source.unit == "B"
        with progress(
            desc="Parsing", total=source.total, unit=source.unit, unit_scale=unit_scale
        ) as bar:

            def chunks() -> Iterator[ChunkSource]:
                nonlocal num_chunks, pages_again
                for chunk in source.chunks():
                    num_chunks = chunk.number + 1
                    bar.update(source.done - bar.n)
                    head = self.spill.head(chunk.number)
                    if head is not None and head["checksum"] == chunk.checksum:
                        pages_again += len(chunk.pages)
                    else:
                        yield chunk

            for _, count in parse_chunks(
                chunks(),
                make_parser=source.make_parser(self.options),
                options=self.options,
                spill=self.folder,
                workers=self.workers,
            ):
                pages += count
                speed = pages / (time.monotonic() - start)
                bar.set_postfix_str(f"{pages:,} pages, {speed:.0f} pages/s")
        seconds = max(time.monotonic() - start, 1e-9)
        logging.info(
            "%s: %d pages parsed in %.1f s (%.0f pages/s, %d workers), %d from an earlier run",
            source.label,
            pages,
            seconds,
            pages / seconds,
            self.workers,
            pages_again,
        )
        self._read_heads(num_chunks)
        return num_chunks

    def report(self) -> dict[str, Any]:
        """What happened, JSON-like and the same for any number of workers."""
        return {
            **self.source.report(),
            "problems": self.problems,
            "failed_pages": [list(page) for page in self.failed],
            "counts": dict(sorted(self.counts.items())),
        }

    def remove_spill(self) -> None:
        """Deletes the parsed chunks."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read_heads(self, num_chunks: int) -> None:
        self.failed += self.source.failed
        for number in range(num_chunks):
            head = self.spill.head(number)
            if head is None:
                raise ValueError(
                    f"chunk {number} is missing in {self.folder}; was the folder changed by "
                    "another run? Delete it and build again"
                )
            self.failed += [tuple(page) for page in head["failed"]]
            self.counts.update(head["counts"])
        self.counts["failed_pages"] += len(self.failed)
        for problem in self.problems:
            logging.warning("%s", problem)
        for title, reason in self.failed[:20]:
            logging.warning("page %r is left out: %s", title, reason)
        if len(self.failed) > 20:
            logging.warning("%d pages more are left out, see meta.json", len(self.failed) - 20)


def num_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
