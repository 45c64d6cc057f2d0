"""The learned phi of a run: encoder, tokens and batches, from the config's `encoder` fields."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import numpy as np
import optax
from jax.sharding import Mesh
from ml_collections import ConfigDict

from wikinav_jax.common.files import fingerprint, sha256_of
from wikinav_jax.graph.linked_text import LinkedTextGraph
from wikinav_jax.navigation.batches import WalkSampler
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.text_batches import TextSampler
from wikinav_jax.navigation.text_features import read_graph
from wikinav_jax.navigation.text_policy import BlockReader, TextPolicy
from wikinav_jax.navigation.types import LinkVectors, NodeFeatures
from wikinav_jax.text.bert import Encoder, EncoderConfig
from wikinav_jax.text.encode import DTYPES
from wikinav_jax.text.pretrained import TOKENIZER_FILES, load_encoder, resolve_checkpoint
from wikinav_jax.text.titles import TitledBlocks, recorded_hashes
from wikinav_jax.text.tokenizer import Tokenizer, load_tokenizer
from wikinav_jax.text.tokens import Spans, TokenTable, build_tokens, open_tokens
from wikinav_jax.training.distributed import first_process_first
from wikinav_jax.training.mesh import replicate


class TextModel:
    """What a navigator needs to read text by itself."""

    def __init__(
        self, config: ConfigDict, cache: Path, policy: nn.Module, sampler: WalkSampler
    ) -> None:
        """Loads or makes the encoder and the tokens of the training graph.

        Raises FileNotFoundError and ValueError of the checkpoint or its tokenizer.
        """
        self._config = config.encoder
        self._hops = config.features.hops
        self._cache = cache
        tokenizer = load_tokenizer(self._config.checkpoint or self._config.tokenizer)
        encoder, self._pretrained = make_encoder(self._config, tokenizer)
        self.reader = BlockReader(
            encoder,
            frozen=self._config.learning_rate_scale == 0,
            dropout=self._config.dropout > 0,
        )
        self.policy = TextPolicy(self.reader, policy)
        self.sampler = TextSampler(
            sampler, self.tokens(sampler.graph), capacity=self._config.blocks_per_shard
        )

    def tokens(self, graph: LinkedTextGraph) -> TokenTable:
        """The tokens of a graph's blocks, titles first, and of its links' words; cached."""
        return graph_tokens(self._config, self._cache, graph)

    def init(self, key: jax.Array) -> Any:
        """Parameters: the checkpoint's where there is one, else drawn."""
        sample = jax.tree.map(lambda leaf: leaf[0], self.sampler.batch_at(0, [0]))

        @jax.jit
        def init(key: jax.Array) -> Any:
            return self.policy.init(key, sample, train=False)["params"]

        params = init(key)
        if self._pretrained is not None:
            params = {**params, "reader": {**params["reader"], "encoder": self._pretrained}}
        return params

    def slow_down(self, optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
        """The optimizer with smaller updates for the encoder than for the policy."""
        scale = self._config.learning_rate_scale
        if scale == 1:
            return optimizer

        def labels(params: Any) -> Any:
            def label(path: Any, leaf: Any) -> str:
                del leaf
                return "encoder" if any(part.key == "encoder" for part in path) else "rest"

            return jax.tree_util.tree_map_with_path(label, params)

        scales = {"encoder": optax.scale(scale), "rest": optax.identity()}
        return optax.chain(optimizer, optax.multi_transform(scales, labels))

    def features(self, params: Any, graph: LinkedTextGraph, mesh: Mesh) -> NodeFeatures:
        """The features of a graph's nodes and links under these parameters, on the devices."""
        phi, links = read_graph(self.reader, params["reader"], self.tokens(graph), graph)
        features = make_node_features(graph, phi, mesh=mesh, hops=self._hops)
        first = np.asarray(graph.indptr[:-1], np.int32)
        return features.replace(links=replicate(mesh, LinkVectors(first=first, vectors=links)))


def graph_tokens(fields: ConfigDict, cache: Path, graph: LinkedTextGraph) -> TokenTable:
    """The tokens of a graph for the encoder of the config's `encoder` fields; made once."""

    def build() -> TokenTable:
        path, about, identity = token_place(fields, cache, graph)
        blocks = TitledBlocks(graph)
        if path.is_dir():
            return open_tokens(path, about)
        return build_tokens(
            path,
            blocks,
            load_tokenizer(fields.checkpoint or fields.tokenizer),
            max_length=fields.max_tokens,
            header=about,
            spans=Spans(graph.indptr, graph.anchor, blocks.shifts()),
            identity=identity,
        )

    return first_process_first(build)


def token_place(
    fields: ConfigDict, cache: Path, graph: LinkedTextGraph
) -> tuple[Path, dict[str, str], str]:
    """Where the tokens of a graph are kept, what their header says, and the identity of the texts.

    A saved graph is told by the hashes in its meta, so that nothing is read at the start of a run.
    """
    folder = resolve_checkpoint(fields.checkpoint or fields.tokenizer)
    files = [folder / file for file in TOKENIZER_FILES]
    links = recorded_hashes(graph, ("indptr.npy", "anchor.npy"))
    about = {
        "tokenizer": fingerprint([sha256_of(file) for file in files if file.is_file()]),
        "links": fingerprint(links or [sha256_of_array(a) for a in (graph.indptr, graph.anchor)]),
    }
    identity = TitledBlocks(graph).identity()
    key = fingerprint({**about, "max_length": fields.max_tokens, "texts": identity})
    return cache / "features" / f"tokens-{key}", about, identity


def sha256_of_array(array: np.ndarray) -> str:
    """The hex SHA-256 of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def make_encoder(fields: ConfigDict, tokenizer: Tokenizer) -> tuple[Encoder, Any]:
    """The encoder of the config, and its pretrained parameters or None.

    Raises:
      ValueError: the checkpoint has fewer layers or positions than asked for.
    """
    dropout = {"hidden_dropout": fields.dropout, "attention_dropout": fields.dropout}
    dtype = DTYPES[fields.dtype]
    if not fields.checkpoint:
        shape = EncoderConfig(
            family="bert",
            vocab_size=tokenizer.vocab_size,
            hidden_size=fields.hidden_size,
            num_layers=fields.num_layers,
            num_heads=fields.num_heads,
            intermediate_size=fields.intermediate_size,
            max_position_embeddings=fields.max_tokens,
            **dropout,
        )
        return Encoder(shape, dtype=dtype, remat=fields.remat), None
    _, params, shape = load_encoder(fields.checkpoint)
    layers = fields.num_layers or shape.num_layers
    if layers > shape.num_layers or fields.max_tokens > shape.max_length:
        raise ValueError(
            f"encoder.num_layers={layers} and encoder.max_tokens={fields.max_tokens} must be at "
            f"most {shape.num_layers} and {shape.max_length}, this checkpoint's"
        )
    kept = {
        name: value
        for name, value in params["params"].items()
        if not name.startswith("layer_") or int(name.removeprefix("layer_")) < layers
    }
    shape = dataclasses.replace(shape, num_layers=layers, **dropout)
    return Encoder(shape, dtype=dtype, remat=fields.remat), kept
