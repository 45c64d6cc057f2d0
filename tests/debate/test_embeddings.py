"""Embedding models: scores by hand, batches, the loss, ranks, training and resuming."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wikinav_jax.debate.embeddings import (
    EmbeddingConfig,
    EmbeddingLoss,
    EmbeddingTables,
    log_probabilities,
    make_embedding_optimizer,
    make_embedding_step,
    preset,
    score_with,
    train_embedding,
)
from wikinav_jax.debate.embeddings_batches import QuerySampler, runs_of
from wikinav_jax.debate.embeddings_models import MODELS, embed, score_triples
from wikinav_jax.debate.embeddings_ranking import filtered_ranks
from wikinav_jax.graph.triples import KnowledgeGraph, from_arrays, from_triples
from wikinav_jax.training.checkpoint import CheckpointError
from wikinav_jax.training.mesh import make_mesh
from wikinav_jax.training.state import create_state


def random_graph(entities: int = 30, relations: int = 3, facts: int = 150) -> KnowledgeGraph:
    rng = np.random.default_rng(0)
    limits = [entities, relations, entities]
    triples = np.unique(rng.integers(0, 10**6, (facts, 3)) % limits, axis=0)
    rng.shuffle(triples)
    return from_arrays(
        triples[20:],
        triples[:10],
        triples[10:20],
        entities=[f"e{i}" for i in range(entities)],
        relations=[f"r{i}" for i in range(relations)],
        name="random",
    )


def sampler_of(graph: KnowledgeGraph, block: int = 1, **changes) -> QuerySampler:
    settings = {"batch_size": 16, "num_shards": 2, "num_negatives": 8, "block": block, "seed": 0}
    return QuerySampler(graph.known_in_train, **{**settings, **changes})


def by_hand(name: str, s: np.ndarray, p: np.ndarray, o: np.ndarray, space: np.ndarray) -> float:
    half = len(s) // 2
    if name == "transe":
        return -float(np.linalg.norm(s + p - o))
    if name == "transr":
        return -float(np.linalg.norm(s @ space + p - o @ space))
    if name == "distmult":
        return float((s * p * o).sum())
    if name == "complex":
        s, p, o = (v[:half] + 1j * v[half:] for v in (s, p, o))
        return float((s * p * o.conj()).sum().real)
    forward = (s[:half] * p[:half] * o[half:]).sum()
    return float((forward + (s[half:] * p[half:] * o[:half]).sum()) / 2)


@pytest.mark.parametrize("name", MODELS)
def test_scores_by_hand_and_against_all_entities(name):
    model = MODELS[name]
    params = model.init(jax.random.key(0), 7, 4, 6, 1.0)
    if name == "transr":  # away from the identity
        params["space"] += jax.random.normal(jax.random.key(1), params["space"].shape)
    count = model.block * 2
    subject = np.arange(count) % 7
    relation = np.repeat([2, 1], model.block)
    triples = np.stack([subject, relation, (subject + 3) % 7], axis=1)
    pairs = np.asarray(score_triples(model, params, jnp.asarray(triples)))
    table = {key: np.asarray(value, np.float64) for key, value in params.items()}
    for (s, p, o), score in list(zip(triples, pairs, strict=True))[:: max(1, count // 4)]:
        space = table["space"][p] if "space" in table else np.eye(6)
        entity = table["entity"]
        expected = by_hand(name, entity[s], table["relation"][p], entity[o], space)
        assert score == pytest.approx(expected, rel=1e-4, abs=1e-4)
    query = embed(params, jnp.asarray(subject), jnp.asarray(relation))
    cross = np.asarray(model.cross(params, query, params["entity"]))
    assert cross.shape == (count, 7)
    np.testing.assert_allclose(cross[np.arange(count), triples[:, 2]], pairs, rtol=1e-3, atol=1e-3)


def test_an_odd_width_has_no_halves():
    with pytest.raises(ValueError, match="dim=5 must be even"):
        MODELS["complex"].init(jax.random.key(0), 3, 2, 5, 1.0)


@pytest.mark.parametrize("block", [1, 4])
def test_an_epoch_holds_every_answer_once(block):
    graph = random_graph()
    sampler = sampler_of(graph, block)
    seen = []
    for step in range(sampler.steps_per_epoch):
        batch = sampler.batch_at(step, range(2))
        assert batch.subject.shape == (2, 8)
        assert batch.negatives.shape == (2, 8)
        for shard in batch.negatives:
            assert len(set(shard.tolist())) == 8
        if block > 1:
            assert (np.ptp(batch.relation.reshape(-1, block), axis=1) == 0).all()
        for shard, row, slot in zip(*np.nonzero(batch.mask), strict=True):
            seen.append(
                (
                    batch.subject[shard, row],
                    batch.relation[shard, row],
                    batch.answers[shard, row, slot],
                )
            )
    # The last batch is filled up from the beginning; nothing is left out.
    facts = set(map(tuple, graph.with_inverses(graph.train).tolist()))
    assert set(seen) == facts
    assert len(seen) < len(facts) + 16 * 16


def test_batches_are_a_function_of_the_step():
    graph = random_graph()
    whole = sampler_of(graph).batch_at(5, range(2))
    again = sampler_of(graph).batch_at(5, range(1, 2))
    for left, right in zip(whole, again, strict=True):
        assert np.array_equal(left[1:], right)
    other = sampler_of(graph, seed=1).batch_at(5, range(2))
    assert not np.array_equal(whole.negatives, other.negatives)


def test_a_query_with_many_answers_takes_several_rows():
    graph = from_triples([("s", "p", f"o{i:02}") for i in range(40)])
    sampler = sampler_of(graph, batch_size=4, num_shards=1)
    assert sampler.num_rows == 3 + 40  # 40 answers by 16, and 40 inverse queries


def test_uneven_batches_are_refused():
    with pytest.raises(ValueError, match="batch_size=15 is not a positive multiple of 2 shards"):
        sampler_of(random_graph(), batch_size=15)


def test_runs_of_one_relation():
    assert runs_of(np.array([0, 0, 0, 2]), 2).tolist() == [[0, 1], [2, -1], [3, -1]]


def batch_of(graph: KnowledgeGraph, negatives: int):
    return sampler_of(graph, num_negatives=negatives).batch_at(0, range(2))


def test_the_loss_against_all_entities_by_hand():
    graph = random_graph()
    config = EmbeddingConfig("distmult", dim=4, num_negatives=0)
    params = MODELS["distmult"].init(jax.random.key(0), 30, 6, 4, 1.0)
    batch = batch_of(graph, 0)
    _, metrics = EmbeddingLoss(MODELS["distmult"], config, 30)(params, batch, jax.random.key(1))
    entity, relation = np.asarray(params["entity"]), np.asarray(params["relation"])
    total = 0.0
    for shard, row, slot in zip(*np.nonzero(batch.mask), strict=True):
        s, p = batch.subject[shard, row], batch.relation[shard, row]
        scores = entity @ (entity[s] * relation[p])
        total += np.log(np.exp(scores).sum()) - scores[batch.answers[shard, row, slot]]
    assert float(metrics["loss_sum"]) == pytest.approx(total, rel=1e-4)
    assert int(metrics["count"]) == batch.mask.sum()


def test_a_sample_of_all_entities_is_nearly_the_full_loss():
    graph = random_graph()
    params = MODELS["transe"].init(jax.random.key(0), 30, 6, 4, 1.0)
    found = []
    for negatives in (0, 30):
        config = EmbeddingConfig("transe", dim=4, num_negatives=negatives)
        loss = EmbeddingLoss(MODELS["transe"], config, 30)
        found.append(float(loss(params, batch_of(graph, negatives), jax.random.key(0))[0]))
    # The sampled loss counts the answer once more: at most log 2.
    assert found[0] < found[1] < found[0] + np.log(2)


def test_dropout_and_the_cubed_norms_change_the_loss():
    graph = random_graph()
    params = MODELS["complex"].init(jax.random.key(0), 30, 6, 4, 1.0)
    batch = batch_of(graph, 8)

    def loss_of(**changes) -> float:
        config = EmbeddingConfig("complex", dim=4, **changes)
        return float(
            EmbeddingLoss(MODELS["complex"], config, 30)(params, batch, jax.random.key(0))[0]
        )

    plain = loss_of()
    norms = loss_of(n3=0.1) - plain
    table = np.abs(np.asarray(params["entity"])) ** 3
    relations = np.abs(np.asarray(params["relation"])) ** 3
    expected = np.mean(
        [
            table[batch.subject[i, j]].sum()
            + relations[batch.relation[i, j]].sum()
            + table[batch.answers[i, j, k]].sum()
            for i, j, k in zip(*np.nonzero(batch.mask), strict=True)
        ]
    )
    assert norms == pytest.approx(0.1 * expected, rel=1e-4)
    assert loss_of(entity_dropout=0.5) != plain


def slow_ranks(scores: np.ndarray, queries: np.ndarray, known: set) -> list[float]:
    ranks = []
    for row, (s, p, o) in zip(scores, queries.tolist(), strict=True):
        rivals = [row[e] for e in range(len(row)) if e != o and (s, p, e) not in known]
        above = sum(rival > row[o] for rival in rivals)
        ranks.append(1 + above + sum(rival == row[o] for rival in rivals) / 2)
    return ranks


@pytest.mark.parametrize("name", ["distmult", "transr"])
def test_filtered_ranks_agree_with_a_slow_count(name):
    graph = random_graph()
    model = MODELS[name]
    params = model.init(jax.random.key(0), 30, 6, 4, 1.0)
    # Rounded and repeated embeddings make ties.
    entity = np.round(np.asarray(params["entity"]))
    entity[15:] = entity[:15]
    params = {**params, "entity": jnp.asarray(entity)}
    queries = graph.with_inverses(graph.test)
    order = np.argsort(queries[:, 1], kind="stable")
    facts = np.concatenate([graph.train, graph.valid, graph.test])
    known = set(map(tuple, graph.with_inverses(facts).tolist()))
    scores = np.stack(
        [
            score_triples(model, params, jnp.asarray([[s, p, e] for e in range(30)]))
            for s, p, _ in queries.tolist()
        ]
    )
    found = filtered_ranks(model, params, queries, graph.known, batch_size=8)
    if name == "distmult":  # distances of a matrix product round ties apart
        assert found.tolist() == slow_ranks(scores, queries, known)
    else:
        assert np.median(np.abs(found - slow_ranks(scores, queries, known))) <= 0.5
    assert np.array_equal(
        found[order], filtered_ranks(model, params, queries[order], graph.known, batch_size=16)
    )


def test_a_constant_score_ranks_in_the_middle():
    graph = random_graph()
    model = MODELS["distmult"]
    params = jax.tree.map(jnp.zeros_like, model.init(jax.random.key(0), 30, 6, 4, 1.0))
    queries = graph.with_inverses(graph.test)
    for (s, p, _), rank in zip(
        queries.tolist(), filtered_ranks(model, params, queries, graph.known), strict=True
    ):
        others = 30 - len(graph.known_objects(s, p))
        assert rank == 1 + others / 2


@pytest.mark.parametrize("name", ["complex", "transr"])
def test_probabilities_of_all_objects_add_up_to_one(name):
    graph = random_graph()
    params = MODELS[name].init(jax.random.key(0), 30, 6, 4, 1.0)
    tables = EmbeddingTables(name, {key: np.asarray(value) for key, value in params.items()})
    for subject, relation in ((3, 1), (7, 5)):  # 5 is an inverse
        triples = [[subject, relation, o] for o in range(30)]
        found = log_probabilities(tables, graph, np.array(triples))
        assert np.exp(found).sum() == pytest.approx(1, rel=1e-4)
    assert log_probabilities(tables, graph, np.zeros((0, 3))).shape == (0,)


def toy_line() -> KnowledgeGraph:
    """Entities in a line, a relation to the next and one to the one after it."""
    facts = [(f"e{i:02}", "next", f"e{i + 1:02}") for i in range(23)]
    facts += [(f"e{i:02}", "second", f"e{i + 2:02}") for i in range(22)]
    return from_triples(facts, facts[:1], facts[1:2], name="line")


@pytest.mark.parametrize("name", MODELS)
def test_training_fits_its_facts(name, tmp_path):
    graph = toy_line()
    config = EmbeddingConfig(
        name,
        dim=16,
        epochs=60,
        batch_size=256 if name == "transr" else 32,
        num_negatives=0,
        optimizer="adam",
        learning_rate=0.1,
        init_scale=0.1,
    )
    tables, record = train_embedding(
        graph, config, tmp_path, mesh=make_mesh(jax.devices()[:1]), evaluations=1
    )
    model = MODELS[name]
    ranks = filtered_ranks(model, tables.params, graph.with_inverses(graph.train), graph.known)
    assert (1 / ranks).mean() > 0.7
    assert tables.entity.shape == (24, 16)
    assert tables.relation.shape == (5, 16)
    assert not tables.relation[4].any()
    assert record.end_step == 60 * (1 if name == "transr" else 3)
    right = score_with(tables, graph, graph.train)
    wrong = graph.train.copy()
    wrong[:, 2] = (wrong[:, 2] + 7) % 24
    assert right.mean() > score_with(tables, graph, wrong).mean()


def test_a_finished_run_is_read_and_another_is_refused(tmp_path):
    graph = random_graph()
    config = EmbeddingConfig("transe", dim=8, epochs=2, batch_size=16, num_negatives=8)
    first, record = train_embedding(graph, config, tmp_path)
    again, later = train_embedding(graph, config, tmp_path)
    assert record.start_step == 0
    assert later.start_step == later.end_step == record.end_step
    for name, table in first.params.items():
        assert np.array_equal(table, again.params[name])
    with pytest.raises(CheckpointError, match="dim: 8 -> 4"):
        train_embedding(graph, EmbeddingConfig("transe", dim=4, epochs=2, batch_size=16), tmp_path)


def test_a_small_graph_is_passed_over_more_often(tmp_path):
    config = EmbeddingConfig("transe", dim=4, epochs=1, batch_size=16, min_steps=37)
    assert train_embedding(random_graph(), config, tmp_path)[1].end_step == 37


def test_the_same_seed_gives_the_same_tables(tmp_path):
    graph = random_graph()
    found = []
    for run in ("a", "b"):
        config = EmbeddingConfig("complex", dim=8, epochs=1, batch_size=16, entity_dropout=0.2)
        found.append(train_embedding(graph, config, tmp_path / run)[0].entity)
    assert np.array_equal(*found)


def test_a_step_is_traced_once():
    graph = random_graph()
    config = EmbeddingConfig("distmult", dim=8, num_negatives=8)
    model = MODELS["distmult"]
    optimizer = make_embedding_optimizer(config, 10)
    step = jax.jit(make_embedding_step(EmbeddingLoss(model, config, 30), optimizer))
    state = create_state(model.init(jax.random.key(0), 30, 6, 8, 0.1), optimizer, jax.random.key(1))
    sampler = sampler_of(graph)
    for number in range(3):
        state, metrics = step(state, sampler.batch_at(number, range(2)))
    assert step._cache_size() == 1
    assert np.isfinite(float(metrics["loss_sum"]))


def test_presets_are_configs_of_their_model():
    for name in MODELS:
        config = preset(name, seed=3)
        assert (config.model, config.seed) == (name, 3)
        assert config.batch_size % MODELS[name].block == 0
        assert make_embedding_optimizer(config, 10)
    with pytest.raises(KeyError, match="no embedding model 'rescal'"):
        preset("rescal")


def test_wrong_names_are_refused():
    with pytest.raises(KeyError, match="Did you mean 'transe'"):
        EmbeddingConfig("trans_e")
    with pytest.raises(ValueError, match="epochs=0"):
        EmbeddingConfig("transe", epochs=0)
    with pytest.raises(KeyError, match="there are adagrad, adam"):
        make_embedding_optimizer(EmbeddingConfig("transe", optimizer="sgd"), 5)
