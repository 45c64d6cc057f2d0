"""Where the public knowledge graphs come from, and what they should be."""

from __future__ import annotations

from dataclasses import dataclass

from wikinav_jax.graph.triples import SPLITS

_CONVE = "https://github.com/TimDettmers/ConvE/raw/master/"
_CODEX = "https://github.com/tsafavi/codex/raw/master/data/triples/"
_CODEX_FILES = (*(f"{split}.txt" for split in SPLITS), "valid_negatives.txt", "test_negatives.txt")


@dataclass(frozen=True)
class Source:
    """Where a public graph comes from, and what it should be."""

    folders: tuple[str, ...]  # what its folder or archive is called, in any case
    page: str
    licence: str
    # URLs of one archive, or of files. Publishers give no checksums, so that the content is
    # checked instead: see `contents_of`.
    urls: tuple[str, ...] = ()
    contents: str = ""


SOURCES: dict[str, Source] = {
    "fb15k237": Source(
        ("FB15k-237", "fb15k237"),
        "https://github.com/TimDettmers/ConvE",
        "CC BY 2.5 (Freebase)",
        (f"{_CONVE}FB15k-237.tar.gz",),
        "956a3f11b3d36c9e1bb0edbce8d95abd4ba12b62e72609170c90da78423b3720",
    ),
    "wn18rr": Source(
        ("WN18RR",),
        "https://github.com/TimDettmers/ConvE",
        "WordNet 3.0 licence",
        (f"{_CONVE}WN18RR.tar.gz",),
        "450746a655f16e076aa4cf5ca70ac92f1b0002a6d5ad51299de98499e1d38f9a",
    ),
    "codex_s": Source(
        ("codex-s", "codex_s"),
        "https://github.com/tsafavi/codex",
        "MIT; Wikidata is CC0",
        tuple(f"{_CODEX}codex-s/{name}" for name in _CODEX_FILES),
        "6f80fc2f1e7f745498d94fbcd479f5b8166137bed5e02c3211980304a03de1ca",
    ),
    "codex_m": Source(
        ("codex-m", "codex_m"),
        "https://github.com/tsafavi/codex",
        "MIT; Wikidata is CC0",
        tuple(f"{_CODEX}codex-m/{name}" for name in _CODEX_FILES),
    ),
    "nations": Source(
        ("nations",),
        "https://github.com/pykeen/pykeen",
        "MIT",
        contents="31d4165dbc72f6e3680a7c0878e90df78a4419b5a252454e1538c82bfbad6d95",
    ),
    "umls": Source(
        ("umls",),
        "https://github.com/pykeen/pykeen",
        "MIT",
        contents="aaf4ca043e008074e461c159b6da6ce6f4298fd85a3433e028eb568761add862",
    ),
    "kinship": Source(("kinships", "kinship"), "https://github.com/pykeen/pykeen", "MIT"),
    "countries": Source(("countries",), "https://github.com/TimDettmers/ConvE", "MIT"),
    "hetionet": Source(
        ("hetionet-subset", "hetionet"),
        "https://github.com/hetio/hetionet",
        "CC0, some edges under licences of their sources",
    ),
}
