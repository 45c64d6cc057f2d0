"""Learned phi: tokens of blocks and of links' words, training, and the same logits in rollouts."""

import dataclasses

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tests.navigation.toy import mesh_of
from tests.text.toy import make_checkpoint
from tests.toy import HYPERLINK, NEXT, PREVIOUS, graph_from_edges
from wikinav_jax.graph.store import open_graph, save_graph
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.config import check_config, default_config
from wikinav_jax.navigation.device_graph import with_link_vectors
from wikinav_jax.navigation.policies import FeedForwardPolicy, PolicyScorer
from wikinav_jax.navigation.text_batches import TextSampler, nodes_read
from wikinav_jax.navigation.text_model import TextModel, make_encoder
from wikinav_jax.navigation.text_policy import BlockReader, TextLoss
from wikinav_jax.navigation.text_types import BlockTokens
from wikinav_jax.text import tokens as tokens_module
from wikinav_jax.text.bert import Encoder, EncoderConfig
from wikinav_jax.text.features import text_hash
from wikinav_jax.text.titles import TitledBlocks, with_titles
from wikinav_jax.text.tokenizer import load_tokenizer
from wikinav_jax.text.tokens import Spans, build_tokens

TITLES = ["River", "Old town", "Bridge"]
TEXTS = ["the river runs under the old town.", "a bridge stands over the river.", "cold stone", ""]


def text_graph():
    """Four blocks of three articles whose links are words of their texts."""
    links = [
        (0, 1, HYPERLINK, "old town"),
        (0, 2, HYPERLINK, "river"),
        (1, 2, HYPERLINK, "bridge"),
        (1, 0, HYPERLINK, "river"),
        (2, 3, NEXT, ""),
        (2, 0, HYPERLINK, "stone"),
        (3, 2, PREVIOUS, ""),
    ]
    anchors = []
    for source, _, _, words in links:
        start = TEXTS[source].index(words) if words else 0
        anchors.append((start, start + len(words)))
    return graph_from_edges(
        [link[:2] for link in links],
        4,
        kinds=[link[2] for link in links],
        anchors=anchors,
        article=[0, 1, 2, 2],
        texts=TEXTS,
        titles=TITLES,
    )


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return make_checkpoint(tmp_path_factory.mktemp("text") / "bert")


def make_config(checkpoint, **fields):
    config = default_config()
    config.encoder.enabled = True
    config.encoder.checkpoint = str(checkpoint)
    config.encoder.num_layers = 1
    config.encoder.max_tokens = 16
    config.encoder.update(fields)
    check_config(config)
    return config


def make_model(checkpoint, cache, **fields) -> TextModel:
    sampler = WalkSampler(text_graph(), BatchSpec(num_shards=2, decisions_per_shard=8), seed=0)
    policy = FeedForwardPolicy(hidden_dims=(8,), kind_bias=True)
    return TextModel(make_config(checkpoint, **fields), cache, policy, sampler)


@pytest.fixture(scope="module")
def model(checkpoint, tmp_path_factory) -> TextModel:
    return make_model(checkpoint, tmp_path_factory.mktemp("cache"))


def test_links_are_found_behind_the_title(model, checkpoint):
    graph = text_graph()
    tokens = model.tokens(graph)
    vocabulary = load_tokenizer(checkpoint)._fast.convert_ids_to_tokens
    words = [
        " ".join(vocabulary(tokens.ids[source, first:end].tolist()))
        for source in range(4)
        for first, end in tokens.spans[graph.indptr[source] : graph.indptr[source + 1]]
    ]
    assert words == ["old town", "river", "bridge", "river", "", "stone", ""]
    assert vocabulary(tokens.ids[0, 1:2].tolist()) == ["river"]  # the title comes first


class CutShortError(Exception):
    """Stands in for a kill."""


def test_a_table_goes_on_where_it_was_cut_short(tmp_path, checkpoint, monkeypatch):
    monkeypatch.setattr(tokens_module, "_CHUNK", 2)
    monkeypatch.setattr(tokens_module, "_CHUNKS_PER_SAVE", 1)
    graph, tokenizer = text_graph(), load_tokenizer(checkpoint)
    blocks = TitledBlocks(graph)
    spans = Spans(graph.indptr, graph.anchor, blocks.shifts())
    seen = []

    def tokenize(texts, **kwargs):
        seen.append(texts)
        if len(seen) == 2:
            raise CutShortError
        return tokenizer(texts, **kwargs)

    def build(name, tokenize):
        tokenize.vocab_size = tokenizer.vocab_size
        return build_tokens(
            tmp_path / name, blocks, tokenize, max_length=16, header={}, spans=spans
        )

    with pytest.raises(CutShortError):
        build("t", tokenize)
    assert not (tmp_path / "t").exists()
    table = build("t", tokenize)
    assert seen == [blocks[:2], blocks[2:], blocks[2:]]
    whole = build_tokens(
        tmp_path / "whole", blocks, tokenizer, max_length=16, header={}, spans=spans
    )
    for name in ("ids", "length", "spans"):
        np.testing.assert_array_equal(getattr(table, name), getattr(whole, name))
    assert {file.name for file in (tmp_path / "t").iterdir()} == {
        "header.json", "ids.npy", "length.npy", "spans.npy"
    }  # fmt: skip


def test_titled_blocks_are_read_as_they_are_asked_for(tmp_path):
    graph = text_graph()
    blocks = TitledBlocks(graph)
    whole = with_titles([graph.title(node) for node in range(4)], TEXTS)
    assert list(blocks) == blocks[:] == whole and len(blocks) == 4
    assert blocks[1:3] == whole[1:3] and blocks[2] == whole[2] == "Bridge. cold stone"
    assert blocks.shifts().tolist() == [len("River. "), len("Old town. "), len("Bridge. "), 0]
    path = save_graph(graph, tmp_path / "graph", source="s", licence="l", command="c")
    saved = TitledBlocks(open_graph(path))
    assert list(saved) == whole
    # A saved graph is told by the hashes in its meta, others by their texts.
    assert blocks.identity() == text_hash(whole) != saved.identity()


def test_batches_bring_the_text_of_what_their_decisions_read(model):
    tokens = model.tokens(text_graph())
    batch = model.sampler.batch_at(3)
    plain = model.sampler._sampler.batch_at(3)
    jax.tree.map(np.testing.assert_array_equal, batch, model.sampler.batch_at(3))
    jax.tree.map(
        lambda a, b: np.testing.assert_array_equal(a[1:], b), batch, model.sampler.batch_at(3, [1])
    )
    for name in ("node", "target"):
        rows = getattr(batch.navigation.inputs.decisions, name)
        nodes = getattr(plain.inputs.decisions, name)
        for shard in range(2):
            np.testing.assert_array_equal(
                batch.blocks.ids[shard, rows[shard]], tokens.ids[nodes[shard]]
            )


def test_room_that_no_draw_fits_in_is_an_error(model):
    sampler = TextSampler(model.sampler._sampler, model.tokens(text_graph()), capacity=1)
    with pytest.raises(ValueError, match=r"encoder\.blocks_per_shard"):
        sampler.batch_at(0)
    assert len(nodes_read(model.sampler._sampler.shard_at(0, 0))) > 1


class Counting(nn.Module):
    """Stands in for an encoder: the hidden state of a token is its id."""

    config: EncoderConfig

    @nn.compact
    def __call__(self, ids, mask, *, deterministic=True):
        return jnp.tile(ids[..., None].astype(jnp.float32), (1, 1, self.config.hidden_size)) / 10


def test_phi_and_links_by_hand():
    shape = EncoderConfig("bert", 40, 2, 1, 1, 4, 16)
    reader = BlockReader(Counting(shape))
    blocks = BlockTokens(ids=jnp.array([[1, 2, 6, 9]]), mask=jnp.array([[1, 1, 1, 0]], bool))
    where = (jnp.zeros(2, jnp.int32), jnp.array([[1, 3], [0, 0]]), jnp.array([0, NEXT]))
    params = reader.init(jax.random.key(0), blocks, *where)
    phi, links = reader.apply(params, blocks, *where)
    np.testing.assert_allclose(phi, np.tanh([[0.3, 0.3]]), rtol=1e-6)
    np.testing.assert_allclose(links[0], np.tanh([0.4, 0.4]), rtol=1e-6)
    np.testing.assert_array_equal(links[1], params["params"]["kinds"][NEXT])


def test_rollouts_see_the_logits_of_training(model):
    graph = text_graph()
    params = model.init(jax.random.key(0))
    batch = jax.tree.map(lambda leaf: leaf[0], model.sampler.batch_at(1, [0]))
    trained = model.policy.apply({"params": params}, batch, train=False)
    features = model.features(params, graph, mesh_of())
    inputs = model.sampler._sampler.batch_at(1, [0]).inputs
    inputs = with_link_vectors(features, jax.tree.map(lambda leaf: leaf[0], inputs))
    scored = PolicyScorer(model.policy.policy)(params["policy"], features, inputs)
    valid = inputs.actions.valid
    np.testing.assert_allclose(scored[valid], trained[valid], atol=2e-3)  # links in half precision


def gradients(model, batch, params):
    loss = TextLoss(model.policy)
    return jax.jit(jax.grad(lambda p: loss(p, batch, jax.random.key(0))[0]))(params)


def test_training_reaches_the_encoder_unless_it_is_frozen(model):
    params, batch = model.init(jax.random.key(0)), model.sampler.batch_at(0)
    found = gradients(model, batch, params)["reader"]
    largest = jax.tree.map(lambda leaf: float(jnp.abs(leaf).max()), found)
    assert largest["encoder"]["layer_0"]["attention"]["qkv"]["kernel"] > 0
    assert largest["encoder"]["word_embeddings"]["embedding"] > 0 and largest["kinds"] > 0
    reader = dataclasses.replace(model.reader, frozen=True)
    model_policy = model.policy.clone(reader=reader)
    loss = TextLoss(model_policy)
    frozen = jax.grad(lambda p: loss(p, batch, jax.random.key(0))[0])(params)["reader"]
    assert all(float(jnp.abs(leaf).max()) == 0 for leaf in jax.tree.leaves(frozen["encoder"]))
    assert float(jnp.abs(frozen["kinds"]).max()) > 0


def test_the_encoders_own_learning_rate(checkpoint, model, tmp_path):
    slow = make_model(checkpoint, tmp_path, learning_rate_scale=0.5)
    params = {"reader": {"encoder": jnp.ones(2), "kinds": jnp.ones(2)}, "policy": jnp.ones(2)}
    optimizer = slow.slow_down(optax.sgd(1.0))
    updates, _ = optimizer.update(params, optimizer.init(params), params)
    assert float(updates["reader"]["encoder"][0]) == -0.5
    assert float(updates["reader"]["kinds"][0]) == float(updates["policy"][0]) == -1.0


def test_encoders_from_scratch_and_from_a_checkpoints_first_layers(checkpoint):
    tokenizer = load_tokenizer(checkpoint)
    fields = make_config(checkpoint).encoder
    encoder, pretrained = make_encoder(fields, tokenizer)
    assert isinstance(encoder, Encoder) and encoder.config.num_layers == 1
    assert "layer_0" in pretrained and "layer_1" not in pretrained
    fields.num_layers = 99
    with pytest.raises(ValueError, match=r"encoder\.num_layers=99"):
        make_encoder(fields, tokenizer)
    fields.update(checkpoint="", num_layers=3, hidden_size=8, num_heads=2, remat=True)
    encoder, pretrained = make_encoder(fields, tokenizer)
    assert pretrained is None and encoder.remat and encoder.config.hidden_size == 8
    assert encoder.config.vocab_size == tokenizer.vocab_size


def test_policies_that_need_their_neighbours_phi_are_refused(checkpoint):
    config = make_config(checkpoint)
    config.policy.name = "similarity"
    with pytest.raises(ValueError, match="knows links by their words"):
        check_config(config)
    config.policy.name = "feed_forward"
    config.sentence.enabled = True
    with pytest.raises(ValueError, match="without sentence search"):
        check_config(config)
