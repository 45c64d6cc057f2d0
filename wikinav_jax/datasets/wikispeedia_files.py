"""Wikispeedia's public files: found in a folder or downloaded, and read.

Two archives on SNAP's page (https://snap.stanford.edu/data/wikispeedia.html): the texts of the
4,604 articles of the Wikipedia Selection for Schools 2007, and the links between them. SNAP
publishes no checksums; those below are what several public projects wrote down on their own, and
they agree. The contents are checked as well, since the same files also travel in other archives:
the names of all articles and all links have the hashes below, in whatever archive they came.

Cite West and Leskovec (WWW 2012) and West, Pineau and Precup (IJCAI 2009).
"""

from __future__ import annotations

import hashlib
import urllib.parse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wikinav_jax.common.files import sha256_of
from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.datasets.download import fetch, unpack

PAGE = "https://snap.stanford.edu/data/wikispeedia.html"
# The sorted lines of articles.tsv and links.tsv, without comments, each ended by a newline.
ARTICLES_SHA256 = "295da70f6530fbfc69046f1f656f22ece491f527d90e9dd94b0847fc44b69b46"
LINKS_SHA256 = "e3133f187b969f4184fb7ca8b92e496b0996c31e34bf6d98c4ce2e5be2c771a4"

_SUFFIXES = (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar", ".zip")


@dataclass(frozen=True)
class Part:
    """One of the two public archives, and the folder that is in it."""

    folder: str
    url: str
    sha256: str
    stems: tuple[str, ...]  # names an archive of it may have, without suffix
    needs: tuple[str, ...]  # patterns of files that the folder must hold

    def is_at(self, folder: Path) -> bool:
        return all(next(folder.glob(pattern), None) is not None for pattern in self.needs)


TEXTS = Part(
    folder="plaintext_articles",
    url="https://snap.stanford.edu/data/wikispeedia/wikispeedia_articles_plaintext.tar.gz",
    sha256="8e43d12822d05746a59f7de8987ffd6eafa57d248303d1c02cfe85b519359dc1",
    stems=("wikispeedia_articles_plaintext", "wikispeedia_plaintext_raw", "plaintext_articles"),
    needs=("*.txt",),
)
GRAPH = Part(
    folder="wikispeedia_paths-and-graph",
    url="https://snap.stanford.edu/data/wikispeedia/wikispeedia_paths-and-graph.tar.gz",
    sha256="97697096f5d2dcb77aa69e3992305c6c561de89edb9fb10b5ad9feaf8ba534d5",
    stems=("wikispeedia_paths-and-graph",),
    needs=("articles.tsv", "links.tsv"),
)


def find(part: Part, data_dir: Path | None, cache_dir: Path) -> Path:
    """The folder or archive of a part: in `data_dir` or a folder of it, or else downloaded.

    Raises:
      FileNotFoundError: `data_dir` is given and it is not there; the message lists what is.
      ConnectionError: it could not be downloaded, see `download.fetch`.
    """
    if data_dir is None:
        name = part.url.rsplit("/", 1)[1]
        return fetch(part.url, cache_dir / "downloads" / name, sha256=part.sha256)
    if not data_dir.is_dir():
        raise FileNotFoundError(f"no folder at data_dir={data_dir}")
    inside = sorted(path for path in data_dir.iterdir() if path.is_dir())
    places = [data_dir, *inside]
    for place in places:
        if place.name == part.folder and part.is_at(place):
            return place
        if part.is_at(place / part.folder):
            return place / part.folder
    for place in places:
        for stem in part.stems:
            for suffix in _SUFFIXES:
                if (place / (stem + suffix)).is_file():
                    return place / (stem + suffix)
    found = sorted(path.name + "/" * path.is_dir() for path in data_dir.iterdir())
    listed = ", ".join(found[:12]) + (f" and {len(found) - 12} more" if len(found) > 12 else "")
    archives = " or ".join(f"{stem}.tar.gz" for stem in part.stems[:2])
    raise FileNotFoundError(
        f"data_dir={data_dir} holds {listed or 'nothing'}. Looked there, and in the folders in "
        f"it, for a folder {part.folder}/ with {' and '.join(part.needs)}, or for an archive "
        f"{archives} (also .tar.xz, .tar.bz2, .zip). Leave data_dir empty to download it, or get "
        f"it from {PAGE}"
    )


def fingerprint_inputs(data_dir: Path | None, cache_dir: Path) -> dict[str, Any]:
    """What the files are, cheaply: names and sizes, or the checksums of the public archives.

    Raises:
      FileNotFoundError: see `find`.
    """
    if data_dir is None:
        return {part.folder: part.sha256 for part in (TEXTS, GRAPH)}
    inputs: dict[str, Any] = {}
    for part in (TEXTS, GRAPH):
        path = find(part, data_dir, cache_dir)
        if path.is_file():
            inputs[part.folder] = [path.name, path.stat().st_size]
        else:
            sizes = [file.stat().st_size for need in part.needs for file in path.glob(need)]
            inputs[part.folder] = [len(sizes), sum(sizes)]
    return inputs


def folder_of(part: Part, data_dir: Path | None, cache_dir: Path) -> Path:
    """The folder with a part's files; an archive is unpacked into `cache_dir` once.

    Raises:
      FileNotFoundError: see `find`, or the archive holds something else.
      ConnectionError, ValueError: see `download.fetch` and `download.unpack`.
    """
    path = find(part, data_dir, cache_dir)
    if path.is_dir():
        return path
    unpacked = cache_dir / "unpacked" / f"{part.folder}-{sha256_of(path)[:12]}"
    if not unpacked.is_dir():
        unpack(path, unpacked)
    for place in (unpacked / part.folder, unpacked):
        if part.is_at(place):
            return place
    names = ", ".join(sorted(entry.name for entry in unpacked.iterdir())[:8])
    raise FileNotFoundError(
        f"{path} holds {names or 'nothing'}, but should hold {part.folder}/ with "
        f"{' and '.join(part.needs)}; get it again from {PAGE}"
    )


def read_names(folder: Path) -> list[str]:
    """The URL-encoded names of all articles, in the order of `articles.tsv`.

    Raises:
      ValueError: there is none, or one stands there twice, or a line has several columns.
    """
    path = folder / "articles.tsv"
    names = [name for _, (name,) in _rows(path, 1)]
    if not names:
        raise ValueError(f"{path} names no article; get it again from {PAGE}")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{path} names {twice!r} twice; get it again from {PAGE}")
    return names


def read_links(folder: Path, names: Iterable[str]) -> list[tuple[str, str]]:
    """The links as (source, target), both URL-encoded, in the order of `links.tsv`.

    Raises:
      ValueError: there is none, or a line does not hold two names of `articles.tsv`.
    """
    path = folder / "links.tsv"
    known = set(names)
    links = []
    for number, (source, target) in _rows(path, 2):
        for name in (source, target):
            if name not in known:
                raise ValueError(
                    f"{path}:{number}: {name!r} is not in articles.tsv beside it."
                    f"{did_you_mean(name, known)} The two files must be of one release: {PAGE}"
                )
        links.append((source, target))
    if not links:
        raise ValueError(f"{path} holds no link; get it again from {PAGE}")
    return links


def read_text(folder: Path, name: str) -> str:
    """The text of an article.

    Raises:
      FileNotFoundError: it has no file.
      ValueError: the file is empty or not UTF-8.
    """
    path = folder / f"{name}.txt"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        count = sum(1 for _ in folder.glob("*.txt"))
        raise FileNotFoundError(
            f"no text of the article {name!r} at {path} (the folder holds {count} texts); the "
            f"archive may be incomplete: get it again from {PAGE}"
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error}); get it again from {PAGE}") from error
    if not text.strip():
        raise ValueError(f"{path} is empty; get it again from {PAGE}")
    return text


def title_of(name: str) -> str:
    """What a reader calls an article: "%C3%89ire" is "Éire", "Star_Trek__Nemesis" is
    "Star Trek: Nemesis"."""
    return urllib.parse.unquote(name).replace("__", ": ").replace("_", " ")


def is_public_release(names: list[str], links: list[tuple[str, str]]) -> bool:
    """Whether articles and links are exactly those that SNAP publishes."""
    return (
        _sha256_of_lines(names) == ARTICLES_SHA256
        and _sha256_of_lines("\t".join(link) for link in links) == LINKS_SHA256
    )


def _sha256_of_lines(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()


def _rows(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and columns; comments (#) and blank lines are left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error}); get it again from {PAGE}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        row = line.split("\t")
        if len(row) != columns or not all(row):
            raise ValueError(
                f"{path}:{number}: {line!r} has {len(row)} columns, expected {columns} that are "
                f"not empty, parted by tabs; get the file again from {PAGE}"
            )
        yield number, row
