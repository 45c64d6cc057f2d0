"""A whole graph read by a trained reader: phi of its nodes and the vectors of its links.

Axes: N nodes and E links of the graph, d width; R blocks of a chunk, L their tokens.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wikinav_jax.common.progress import progress
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.navigation.text_policy import BlockReader
from wikinav_jax.navigation.text_types import BlockTokens
from wikinav_jax.text.tokens import TokenTable

_TOKENS_ON_CPU = 2_048  # of a chunk, whose activations should stay in the cache
_TOKENS = 65_536  # of a chunk elsewhere
_LENGTH_STEP = 32  # chunks are padded to multiples of it: each length is a program


def read_graph(
    reader: BlockReader, params: Any, tokens: TokenTable, graph: LinkedTextGraph
) -> tuple[np.ndarray, np.ndarray]:
    """phi float32 [N, d] and the links' vectors float16 [E, d]; tanh fits half precision.

    The blocks are spread over this process's devices.

    Args:
      reader: encoder and link vectors.
      params: of the reader.
      tokens: a text for each node and a span for each link.
      graph: N nodes, E links.
    """
    width = reader.encoder.config.hidden_size
    phi = np.zeros((graph.num_nodes, width), np.float32)
    links = np.zeros((graph.num_edges, width), np.float16)
    devices = jax.local_devices()
    replicas = [jax.device_put(jax.device_get(params), device) for device in devices]
    chunks = _chunks(tokens, _TOKENS_ON_CPU if devices[0].platform == "cpu" else _TOKENS)

    def read(number: int) -> int:
        rows, length = chunks[number]
        which = number % len(devices)
        ids, mask = tokens.rows(rows)
        degree = (graph.indptr[rows + 1] - graph.indptr[rows]).astype(np.int64)
        block = np.repeat(np.arange(len(rows)), degree)
        within = np.arange(len(block)) - np.repeat(np.cumsum(degree) - degree, degree)
        slots = graph.indptr[rows][block] + within
        room = 1 << max(int(len(slots) - 1).bit_length(), 6)  # few sizes, each a program
        inputs = (
            BlockTokens(ids[:, :length], mask[:, :length]),
            _padded(block.astype(np.int32), room),
            _padded(tokens.spans[slots].astype(np.int32), room),
            _padded(np.asarray(graph.edge_kind[slots], np.int32), room),
        )
        found = _read(reader)(replicas[which], *jax.device_put(inputs, devices[which]))
        vectors, words = jax.device_get(found)
        phi[rows] = vectors
        links[slots] = words[: len(slots)]
        return len(rows)

    workers = max(2, len(devices))
    with (
        ThreadPoolExecutor(workers) as executor,
        progress(desc="Reading blocks", total=graph.num_nodes, unit="block") as bar,
    ):
        for count in executor.map(read, range(len(chunks))):
            bar.update(count)
    return phi, links


def _chunks(tokens: TokenTable, most: int) -> list[tuple[np.ndarray, int]]:
    """Blocks of about the same length together: (rows, padded length)."""
    longest = tokens.ids.shape[1]
    padded = np.minimum(-(-tokens.length // _LENGTH_STEP) * _LENGTH_STEP, longest)
    chunks = []
    for length in np.unique(padded)[::-1]:
        rows = np.flatnonzero(padded == length)
        size = max(1, most // max(int(length), 1))
        chunks += [(rows[i : i + size], int(length)) for i in range(0, len(rows), size)]
    return chunks


def _padded(values: np.ndarray, room: int) -> np.ndarray:
    return np.pad(values, [(0, room - len(values))] + [(0, 0)] * (values.ndim - 1))


@functools.cache
def _read(reader: BlockReader) -> Any:
    def read(
        params: Any, blocks: BlockTokens, row: jax.Array, span: jax.Array, kind: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        found: Any = reader.apply({"params": params}, blocks, row, span, kind)
        phi, links = found
        return phi, links.astype(jnp.float16)

    return jax.jit(read)
