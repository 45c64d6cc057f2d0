"""Parsed pages as plain records: numbers and strings by name, and back.

What the local build keeps in its spill files by hash, these hold in full, so that other programs
can read them. A chunk of pages becomes a record for each article and one report of the rest.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from wikinav_jax.common.files import atomic_file, read_json
from wikinav_jax.datasets.blocks import Block
from wikinav_jax.datasets.building.chunks import Article, Chunk, ChunkParser, PageOptions
from wikinav_jax.datasets.building.pool import serve
from wikinav_jax.datasets.documents import Anchor, Document

Record = dict[str, Any]
# Of an article with B blocks and L links.
EMPTY: Mapping[str, Any] = {
    "page_id": -1,  # -1 for none
    "title": "",
    "texts": (),  # [B]
    "sections": (),  # [B], each the path of headings as a JSON list
    "link_block": (),  # [L], counted from the article's first
    "link_start": (),  # [L], characters of that block's text
    "link_end": (),  # [L]
    "link_target": (),  # [L], title of the article or redirect
    "link_fragment": (),  # [L], section of the target; "" for its top
    "report": "",  # of a run of pages, as JSON; "" for an article
}


def record_of(article: Article) -> Record:
    """An article as a record."""
    record: Record = {name: [] for name in EMPTY}
    record["page_id"] = -1 if article.page_id is None else article.page_id
    record["title"] = article.document.title
    record["report"] = ""
    for number, block in enumerate(article.blocks):
        record["texts"].append(block.text)
        record["sections"].append(json.dumps(block.section, ensure_ascii=False))
        for anchor in block.anchors:
            record["link_block"].append(number)
            record["link_start"].append(anchor.start)
            record["link_end"].append(anchor.end)
            record["link_target"].append(anchor.target)
            record["link_fragment"].append(anchor.fragment)
    return record


def article_of(record: Mapping[str, Any]) -> Article:
    """The article of a record. Its document has a title only: blocks are all that is needed."""
    anchors: list[list[Anchor]] = [[] for _ in record["texts"]]
    links = ("link_block", "link_start", "link_end", "link_target", "link_fragment")
    for block, start, end, target, fragment in zip(*(record[name] for name in links), strict=True):
        anchors[block].append(Anchor(int(start), int(end), target, fragment))
    blocks = [
        Block(tuple(json.loads(section)), text, tuple(own))
        for section, text, own in zip(record["sections"], record["texts"], anchors, strict=True)
    ]
    page_id = int(record["page_id"])
    return Article(None if page_id < 0 else page_id, Document(record["title"], ()), blocks)


def report_of(chunk: Chunk) -> Record:
    """What a run of pages had beside articles: redirects, pages that failed, counts."""
    return {
        "redirects": [list(redirect) for redirect in chunk.redirects],
        "failed": [list(page) for page in chunk.failed],
        "counts": dict(chunk.counts),
    }


def chunk_of(report: Mapping[str, Any]) -> Chunk:
    """The chunk of a report, without its articles."""
    return Chunk(
        redirects=[(title, target, fragment) for title, target, fragment in report["redirects"]],
        failed=[(title, reason) for title, reason in report["failed"]],
        counts=Counter(report["counts"]),
    )


def write_records(folder: Path, number: int, chunk: Chunk) -> None:
    """Writes a chunk as JSON: {"articles": [record, …], "report": …}."""
    value = {"articles": [record_of(each) for each in chunk.articles], "report": report_of(chunk)}
    with atomic_file(folder / f"{number}.json") as path:
        # A lone surrogate (from a damaged dump) has no UTF-8 form.
        path.write_text(json.dumps(value, ensure_ascii=False), "utf-8", "replace")


def read_records(folder: Path, number: int) -> tuple[list[Record], Record]:
    """The records of a chunk's articles, and its report."""
    value = read_json(folder / f"{number}.json")
    return value["articles"], value["report"]


def work_on_records(
    connection: Connection,
    page: Synchronized,
    make_parser: Callable[[], ChunkParser],
    options: PageOptions,
    folder: Path,
) -> None:
    """The life of a worker, see `pool.ParserPool`: chunks in, files of records out."""

    def write(number: int, chunk: Chunk, checksum: int) -> None:
        del checksum
        write_records(folder, number, chunk)

    serve(connection, page, make_parser, options, write)
