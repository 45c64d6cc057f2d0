"""A synthetic Wikipedia on disk, of any size: a graph folder and the token table of its blocks.

Made chunk by chunk into memory-mapped files, a chunk being a function of (seed, its number): the
memory does not grow with the graph, and a build that was killed goes on where it was. Token rows
are drawn, not tokenised (that takes a core about an hour for three million blocks).

Axes: N blocks, A articles, E links, L tokens of a block.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from ml_collections import ConfigDict

from wikinav_jax.common.files import atomic_directory, read_json, write_json
from wikinav_jax.common.progress import progress
from wikinav_jax.graph.block_table import BATCH_ROWS, BlockTable
from wikinav_jax.graph.linked_text import EdgeKind, LinkedTextGraph
from wikinav_jax.graph.store import open_graph, save_graph
from wikinav_jax.navigation.text_model import token_place
from wikinav_jax.text.tokenizer import load_tokenizer
from wikinav_jax.text.tokens import (
    HEADER_FILE,
    IDS_FILE,
    LENGTH_FILE,
    SPANS_FILE,
    open_tokens,
    token_dtype,
    token_header,
)

VERSION = 1
_BLOCKS_PER_ARTICLE = 6.5  # on average, as in Wikipedia
_SCATTER = 2**31 - 1  # a prime: multiplying by it spreads the popular articles over the graph
_LONGEST_TAIL = 500.0  # links of a block, in multiples of the shortest list
_CHUNKS_PER_SAVE = 16
_TEXT = pa.schema([("text", pa.large_string()), ("section", pa.large_string())])


@dataclass(frozen=True)
class Plan:
    """All that a synthetic graph follows from."""

    num_nodes: int
    num_edges: int
    seed: int = 0
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.num_nodes < 2:
            raise ValueError(f"num_nodes={self.num_nodes} must be at least 2")
        if self.num_edges < 4 * self.num_nodes:
            raise ValueError(
                f"num_edges={self.num_edges} is less than 4 for each of {self.num_nodes} nodes: "
                "next and previous take two of them"
            )

    @property
    def num_chunks(self) -> int:
        """Chunks of BATCH_ROWS blocks."""
        return -(-self.num_nodes // BATCH_ROWS)

    def nodes(self, chunk: int) -> tuple[int, int]:
        """The first node of a chunk and the one after its last."""
        return chunk * BATCH_ROWS, min((chunk + 1) * BATCH_ROWS, self.num_nodes)

    def slots(self, chunk: int) -> tuple[int, int]:
        """Likewise of its links."""
        first, last = self.nodes(chunk)
        return self.num_edges * first // self.num_nodes, self.num_edges * last // self.num_nodes

    def rng(self, chunk: int, stream: int) -> np.random.Generator:
        """The random numbers of a chunk; streams are independent."""
        return np.random.default_rng([self.seed, chunk, stream])


def build(plan: Plan, path: Path, cache: Path, encoder: ConfigDict) -> LinkedTextGraph:
    """The graph at `path` and its token table in `cache`; opened where both are there.

    Args:
      plan: the graph.
      path: its folder.
      cache: as config.cache_dir.
      encoder: the config's fields, for the tokenizer and L.

    Raises ValueError when another graph lies at `path`.
    """
    raw = path.with_name(f".{path.name}.raw")
    if path.is_dir():
        graph = open_graph(path)
        if graph.meta.get("plan") != asdict(plan):
            raise ValueError(f"{path} holds another graph, of {graph.meta.get('plan')}; remove it")
        if not raw.is_dir():
            place, about, _ = token_place(encoder, cache, graph)
            open_tokens(place, about)
            return graph
    articles = _articles(plan)
    _fill(plan, raw, articles, encoder)
    if not path.is_dir():
        _save(plan, raw, path, int(articles[-1]) + 1)
    graph = open_graph(path)
    _keep_tokens(raw, cache, encoder, graph)
    shutil.rmtree(raw)
    return graph


def _articles(plan: Plan) -> np.ndarray:
    """The article of every block, int32 [N]; a chunk begins with a new one."""
    article = np.empty(plan.num_nodes, np.int32)
    number = 0
    for chunk in range(plan.num_chunks):
        first, last = plan.nodes(chunk)
        begins = plan.rng(chunk, 0).random(last - first) < 1 / _BLOCKS_PER_ARTICLE
        begins[0] = True
        article[first:last] = number + np.cumsum(begins) - 1
        number += int(begins.sum())
    return article


def _files(plan: Plan, encoder: ConfigDict, vocab_size: int) -> dict[str, tuple[type, tuple]]:
    nodes, edges = plan.num_nodes, plan.num_edges
    return {
        "degree.npy": (np.int32, (nodes,)),
        "indices.npy": (np.int32, (edges,)),
        "edge_kind.npy": (np.uint8, (edges,)),
        "anchor.npy": (np.uint16, (edges, 2)),
        IDS_FILE: (token_dtype(vocab_size), (nodes, encoder.max_tokens)),
        LENGTH_FILE: (np.int32, (nodes,)),
        SPANS_FILE: (np.uint16, (edges, 2)),
    }


def _fill(plan: Plan, raw: Path, article: np.ndarray, encoder: ConfigDict) -> None:
    """Writes the arrays, from the first chunk on that is not counted as done."""
    vocab_size = load_tokenizer(encoder.tokenizer).vocab_size
    files = _files(plan, encoder, vocab_size)
    wanted = {**asdict(plan), "max_tokens": encoder.max_tokens, "vocab_size": vocab_size}
    done = 0
    if (raw / "progress.json").is_file():
        before = read_json(raw / "progress.json")
        if before["plan"] == wanted and all((raw / name).is_file() for name in files):
            done = before["done"]
    if done == plan.num_chunks:
        return
    raw.mkdir(parents=True, exist_ok=True)
    first_blocks = np.flatnonzero(np.diff(article, prepend=-1)).astype(np.int32)
    arrays = {
        name: np.lib.format.open_memmap(raw / name, mode="r+")
        if done
        else np.lib.format.open_memmap(raw / name, mode="w+", dtype=dtype, shape=shape)
        for name, (dtype, shape) in files.items()
    }
    with progress(desc="Building", total=plan.num_chunks, initial=done, unit="chunk") as bar:
        for chunk in range(done, plan.num_chunks):
            rows, slots = slice(*plan.nodes(chunk)), slice(*plan.slots(chunk))
            links = _links(plan, chunk, article, first_blocks)
            length, ids, spans = _tokens(plan, chunk, links, encoder.max_tokens, vocab_size)
            arrays["degree.npy"][rows] = links.degree
            arrays["indices.npy"][slots] = links.indices
            arrays["edge_kind.npy"][slots] = links.edge_kind
            arrays["anchor.npy"][slots] = links.anchor
            arrays[IDS_FILE][rows] = ids
            arrays[LENGTH_FILE][rows] = length
            arrays[SPANS_FILE][slots] = spans
            bar.update()
            if (chunk + 1) % _CHUNKS_PER_SAVE == 0 or chunk + 1 == plan.num_chunks:
                for array in arrays.values():
                    array.flush()
                write_json(raw / "progress.json", {"plan": wanted, "done": chunk + 1})


class Links(NamedTuple):
    """The links of a chunk's n blocks, block by block."""

    degree: np.ndarray  # int [n]
    indices: np.ndarray  # int [e], nodes of the whole graph
    edge_kind: np.ndarray  # uint8 [e]
    anchor: np.ndarray  # uint16 [e, 2]


def _links(plan: Plan, chunk: int, article: np.ndarray, first_blocks: np.ndarray) -> Links:
    """The links of a chunk's blocks: hyperlinks to popular articles, then next and previous."""
    first, last = plan.nodes(chunk)
    count = last - first
    left = np.flatnonzero(article[first + 1 : last] == article[first : last - 1])
    start, stop = plan.slots(chunk)
    num_links = stop - start - 2 * len(left)
    rng = plan.rng(chunk, 1)
    weight = np.minimum(1 + rng.pareto(1.3, count), _LONGEST_TAIL)
    source = np.repeat(np.arange(count), rng.multinomial(num_links, weight / weight.sum()))
    # The article of rank r is linked in proportion to r^(-2/3): the first gets a link in
    # A^(1/3), a million of 370 million.
    rank = (len(first_blocks) * rng.random(num_links) ** 3).astype(np.int64)
    target = first_blocks[rank * _SCATTER % len(first_blocks)]
    anchor = np.zeros((stop - start, 2), np.uint16)
    anchor[:num_links, 1] = len("Words")
    kinds = (EdgeKind.HYPERLINK, EdgeKind.NEXT, EdgeKind.PREVIOUS)
    source = np.concatenate([source, left, left + 1])
    target = np.concatenate([target, first + left + 1, first + left])
    kind = np.repeat(np.array(kinds, np.uint8), [num_links, len(left), len(left)])
    order = np.argsort(source, kind="stable")
    return Links(np.bincount(source, minlength=count), target[order], kind[order], anchor[order])


def _tokens(
    plan: Plan, chunk: int, links: Links, max_tokens: int, vocab_size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """length int [n], ids [n, L] and spans [e, 2] of a chunk: most rows are full, as blocks are."""
    first, last = plan.nodes(chunk)
    count = last - first
    rng = plan.rng(chunk, 2)
    length = np.clip(rng.normal(1.0, 0.3, count) * max_tokens, 5, max_tokens).astype(np.int32)
    ids = rng.integers(
        0, vocab_size, (count, max_tokens), np.uint16 if vocab_size < 2**16 else np.int32
    )
    ids[np.arange(max_tokens)[None] >= length[:, None]] = 0
    row = np.repeat(np.arange(count), links.degree)
    begin = 1 + (rng.random(len(row)) * (length[row] - 3)).astype(np.int64)
    spans = np.stack([begin, begin + 1 + rng.integers(0, 2, len(row))], axis=1)
    spans[links.edge_kind >= EdgeKind.NEXT] = 0
    return length, ids, spans


def _save(plan: Plan, raw: Path, path: Path, num_articles: int) -> None:
    """The graph folder, written as every other graph is."""
    article = _articles(plan)
    with pa.OSFile(str(raw / "texts.arrow"), "wb") as sink, pa.ipc.new_file(sink, _TEXT) as writer:
        for chunk in progress(range(plan.num_chunks), desc="Writing texts", unit="chunk"):
            writer.write_batch(_texts(*plan.nodes(chunk)))
    reader = pa.ipc.open_file(pa.memory_map(str(raw / "texts.arrow"), "r"))
    batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
    arrays = {
        name: np.load(raw / f"{name}.npy", mmap_mode="r")
        for name in ("degree", "indices", "edge_kind", "anchor")
    }
    indptr = np.zeros(plan.num_nodes + 1, np.int64)
    np.cumsum(arrays.pop("degree"), out=indptr[1:])
    titles = pa.concat_arrays(list(_titles(num_articles)))
    save_graph(
        LinkedTextGraph(
            indptr=indptr, article=article, blocks=BlockTable(batches, titles), meta={}, **arrays
        ),
        path,
        source="synthetic",
        licence="none: random numbers",
        command=f"python -m benchmarks.full_scale --nodes={plan.num_nodes} "
        f"--edges={plan.num_edges} --seed={plan.seed}",
        extra_meta={"plan": asdict(plan)},
    )


def _texts(first: int, last: int) -> pa.RecordBatch:
    texts = pa.array(
        [f"Words of block {block}." for block in range(first, last)], pa.large_string()
    )
    sections = pa.array([""] * (last - first), pa.large_string())
    return pa.RecordBatch.from_arrays([texts, sections], schema=_TEXT)


def _titles(num_articles: int) -> Iterator[pa.Array]:
    for first in range(0, num_articles, BATCH_ROWS):
        numbers = range(first, min(first + BATCH_ROWS, num_articles))
        yield pa.array([f"Article {number}" for number in numbers], pa.large_string())


def _keep_tokens(raw: Path, cache: Path, encoder: ConfigDict, graph: LinkedTextGraph) -> None:
    """Moves the token rows to where a run looks for them."""
    path, about, identity = token_place(encoder, cache, graph)
    if path.is_dir():
        return
    header = token_header(
        about,
        max_length=encoder.max_tokens,
        count=graph.num_nodes,
        num_spans=graph.num_edges,
        identity=identity,
    )
    with atomic_directory(path) as folder:
        for name in (IDS_FILE, LENGTH_FILE, SPANS_FILE):
            (raw / name).replace(folder / name)
        write_json(folder / HEADER_FILE, header)
