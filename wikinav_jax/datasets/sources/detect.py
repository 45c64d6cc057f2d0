"""What kind of corpus a path holds, by its content."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from wikinav_jax.common.suggest import did_you_mean
from wikinav_jax.datasets.building.compression import CompressedFile, to_utf8
from wikinav_jax.datasets.building.source import Source
from wikinav_jax.datasets.mediawiki.build import DUMP_SUFFIXES, DumpSource
from wikinav_jax.datasets.sources.folder import SUFFIXES, FolderSource, list_files
from wikinav_jax.datasets.sources.json_lines import JsonLinesSource
from wikinav_jax.datasets.sources.zim import ZimSource

AUTO = "auto"
SOURCE_TYPES = ("mediawiki", "zim", "html", "markdown", "jsonl")
_ZIM = b"ZIM\x04"
_LOOKED_AT = 1 << 16  # bytes of a file's unpacked start


def find_source(data_dir: Path | None, source: str) -> Path:
    """A corpus's path: as given, or inside `data_dir`.

    Raises:
      ValueError: `source` is empty.
      FileNotFoundError: it is in neither place.
    """
    if not source:
        raise ValueError(
            "source is empty: give the path of a MediaWiki XML dump, a ZIM file, a folder of HTML "
            "or Markdown, or a JSONL file, for example "
            "--config.source=enwiki-latest-pages-articles.xml.bz2"
        )
    path = Path(source).expanduser()
    places = [path] if data_dir is None or path.is_absolute() else [path, Path(data_dir) / path]
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(
        f"source={source!r} does not exist (looked for {', '.join(map(str, places))}); give the "
        "path of a dump, a ZIM file, a folder of HTML or Markdown, or a JSONL file"
    )


def open_source(path: Path, source_type: str = AUTO) -> Source:
    """Opens a corpus.

    Args:
      path: a file or folder that exists.
      source_type: one of SOURCE_TYPES, or AUTO to find out.

    Raises:
      ValueError: no such type, or the path holds none of them, or a damaged one.
      FileNotFoundError: the folder has no file of the type.
      ImportError: an optional library is missing.
    """
    if source_type == AUTO:
        source_type = detect(path)
    if source_type not in SOURCE_TYPES:
        raise ValueError(
            f"source_type={source_type!r} is not one of {AUTO}, {', '.join(SOURCE_TYPES)}."
            + did_you_mean(source_type, (AUTO, *SOURCE_TYPES))
        )
    if path.is_dir() != (source_type in SUFFIXES) and source_type != "mediawiki":
        is_what = "a folder" if path.is_dir() else "a file"
        wanted = "a folder" if source_type in SUFFIXES else "a file"
        raise ValueError(f"{path} is {is_what}; source_type={source_type!r} needs {wanted}")
    if source_type == "mediawiki":
        return DumpSource(path)
    if source_type == "zim":
        return ZimSource(path)
    if source_type == "jsonl":
        return JsonLinesSource(path)
    return FolderSource(path, "html" if source_type == "html" else "markdown")


def detect(path: Path) -> str:
    """The type of a corpus: a file's by its first bytes, a folder's by what most files in it are.

    Raises:
      ValueError: it is none that we read.
    """
    return _detect_folder(path) if path.is_dir() else _detect_file(path)


def _detect_file(path: Path) -> str:
    with open(path, "rb") as file:
        head = file.read(len(_ZIM))
    if head == _ZIM:
        return "zim"
    if not head:
        raise ValueError(f"{path} is empty; is its download complete?")
    start = b""
    packed = CompressedFile(path)
    for data in to_utf8(iter(packed), path):
        start += data
        if len(start) >= _LOOKED_AT:
            break
    if not start:
        raise packed.nothing()
    if b"<mediawiki" in start:
        return "mediawiki"
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "jsonl"
    suffix = path.suffix.lower()
    for kind, suffixes in SUFFIXES.items():
        if suffix in suffixes:
            raise ValueError(
                f"{path} is one {kind} file; give the folder that it is in: links lead from file "
                "to file"
            )
    raise ValueError(
        f"{path} is none of MediaWiki XML dump, ZIM file, JSON lines: it starts with "
        f"{start[:40]!r}; name its type with source_type ({', '.join(SOURCE_TYPES)}) if it is "
        "one all the same"
    )


def _detect_folder(path: Path) -> str:
    if any(file.name.endswith(DUMP_SUFFIXES) for file in path.iterdir() if file.is_file()):
        return "mediawiki"
    listing = list_files(path)
    counts = Counter(
        kind
        for name, _, _ in listing.files
        for kind, suffixes in SUFFIXES.items()
        if name.lower().endswith(suffixes)
    )
    if counts:
        return counts.most_common(1)[0][0]
    found = Counter(Path(name).suffix or "no suffix" for name, _, _ in listing.files)
    endings = ", ".join(f"{suffix} ({count})" for suffix, count in found.most_common(5))
    raise ValueError(
        f"{path} holds no HTML, no Markdown and no part of a dump: "
        + (f"its {len(listing.files):,} files end in {endings}" if endings else "it is empty")
        + "; give a folder of .html or .md files, or a file"
    )
