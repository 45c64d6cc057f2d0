"""The documentation on every user's disk: docstrings of Python and of installed packages.

Source files are parsed by `ast`; no documented package is imported, and no code of it runs.
"""

from __future__ import annotations

import functools
import importlib.metadata
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import logging

from wikinav_jax.common.progress import progress
from wikinav_jax.datasets.assemble import assemble_graph
from wikinav_jax.datasets.documents import Document
from wikinav_jax.datasets.entities import LinkerOptions
from wikinav_jax.datasets.python_names import PythonNames
from wikinav_jax.datasets.python_pages import PythonPages
from wikinav_jax.datasets.python_source import STDLIB, ModuleSource, package_files, read_module
from wikinav_jax.graph.store import LinkedTextGraph

VERSION = 2  # raise it when the same sources give another graph
# scipy comes with jax; without it there are some 13,000 blocks, with it 20,000.
DEFAULT_PACKAGES = (STDLIB, "numpy", "scipy", "jax", "flax", "optax")
MIN_WORDS = 25
_MIN_MENTION = 4  # characters of a name that is linked wherever it is mentioned
# What a hostile or newer source file may raise in the parser; MemoryError is how CPython reports
# that its own stack is exhausted.
_UNREADABLE = (OSError, SyntaxError, ValueError, RecursionError, MemoryError)


def documents(
    packages: Sequence[str] = DEFAULT_PACKAGES, *, min_words: int = MIN_WORDS
) -> Iterator[Document]:
    """The documents of these packages, in an order that depends on their sources only.

    Args:
      packages: top-level package names; "stdlib" is the standard library.
      min_words: functions and classes with fewer words are told in their module's document.

    Raises:
      ValueError: a package is not installed or has no Python source, or none has docstrings.
    """
    return _pages(packages, min_words, Counter()).documents()


def load(
    data_dir: Path | None,
    cache_dir: Path,
    output: Path,
    *,
    packages: Sequence[str] = DEFAULT_PACKAGES,
    min_words: int = MIN_WORDS,
    target_words: int = 100,
    max_words: int = 120,
    entity_links: bool = True,
) -> LinkedTextGraph:
    """Builds the graph of these packages' documentation at `output`.

    Hyperlinks come from cross-references (roles, back-ticks and calls that name a documented
    object where they stand, See Also entries), from a page to the class or module around it and to
    its neighbours there, and from modules and classes to their members. Entity links come from
    mentions of qualified or otherwise unambiguous names.

    Args:
      data_dir: not used: the sources are found where Python finds them.
      cache_dir: not used.
      output: the directory to save to.
      packages: see `documents`.
      min_words: see `documents`.
      target_words: see `blocks.split_into_blocks`.
      max_words: see `blocks.split_into_blocks`.
      entity_links: whether to make entity links.

    Raises:
      ValueError: a package is not installed or has no Python source, or none has docstrings.
    """
    skipped: Counter[str] = Counter()
    pages = _pages(packages, min_words, skipped)
    options = LinkerOptions(
        min_length=_MIN_MENTION,
        small_first_letter="never",
        joiners=".",
        exclude=pages.common_words(),
    )
    versions = {package: _version(package) for package in packages}
    shown = ", ".join(f"{package} {version}" for package, version in versions.items())
    return assemble_graph(
        pages.documents(),
        source=f"docstrings in the installed sources of {shown}",
        licence="; ".join(f"{package}: {_licence(package)}" for package in packages),
        command=f"wikinav_jax.datasets.python_docs.load(packages={tuple(packages)!r}, "
        f"min_words={min_words}, target_words={target_words}, max_words={max_words}, "
        f"entity_links={entity_links})",
        linker_options=options if entity_links else None,
        target_words=target_words,
        max_words=max_words,
        output=output,
        extra_meta={
            "packages": versions,
            "source_files": {
                "read": len(pages.names.modules),
                "skipped": dict(sorted(skipped.items())),
            },
        },
    )


def fingerprint_inputs(
    data_dir: Path | None,
    cache_dir: Path,
    *,
    packages: Sequence[str] = DEFAULT_PACKAGES,
    **options: Any,
) -> dict[str, Any]:
    """What the graph depends on beside the options: versions and sizes of the source files."""
    del data_dir, cache_dir, options
    inputs = {}
    for package in packages:
        sizes = [path.stat().st_size for _, path in package_files(package)]
        inputs[package] = [_version(package), len(sizes), sum(sizes)]
    return {"python": platform.python_version(), "packages": inputs}


def _pages(packages: Sequence[str], min_words: int, skipped: Counter[str]) -> PythonPages:
    """Reads the sources; `skipped` counts the files that could not be read, by error."""
    if isinstance(packages, str):
        raise ValueError(f"packages={packages!r} is a string; give a tuple such as ({packages!r},)")
    if not packages:
        raise ValueError(f"packages is empty; name some, e.g. {DEFAULT_PACKAGES}")
    files = [
        (name, path, package)
        for package in dict.fromkeys(packages)
        for name, path in package_files(package)
    ]
    modules: list[ModuleSource] = []
    first_skipped = ""
    for name, path, package in progress(files, desc="Python sources", unit="file"):
        try:
            modules.append(read_module(name, path, package))
        except _UNREADABLE as error:
            skipped[type(error).__name__] += 1
            first_skipped = first_skipped or f"{name} ({error})"
    if skipped:
        logging.warning(
            "python_docs: %d of %d source files could not be read and are left out, first %s",
            skipped.total(),
            len(files),
            first_skipped,
        )
    pages = PythonPages(PythonNames(modules), min_words)
    if not pages.outline.index_entries:
        raise ValueError(
            f"the sources of {', '.join(packages)} ({len(modules)} files read) have no docstrings; "
            "name other packages"
        )
    return pages


def _version(package: str) -> str:
    if package == STDLIB:
        return platform.python_version()
    try:
        return importlib.metadata.version(_distribution(package))
    except importlib.metadata.PackageNotFoundError:
        return "unknown"  # a folder on sys.path that was never installed


def _licence(package: str) -> str:
    if package == STDLIB:
        return "PSF-2.0"
    try:
        metadata = importlib.metadata.metadata(_distribution(package))
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
    if metadata["License-Expression"]:
        return metadata["License-Expression"]
    classifiers = metadata.get_all("Classifier") or []
    licences = [c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License ::")]
    short = (metadata["License"] or "").strip()
    return ", ".join(licences) or (short if 0 < len(short) < 60 else "see its distribution")


def _distribution(package: str) -> str:
    """The name on the package index: scikit-learn for sklearn."""
    names = _distributions().get(package)
    return names[0] if names else package


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()  # reads the files of everything installed
