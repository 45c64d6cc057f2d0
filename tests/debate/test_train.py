"""The training step: phases, who learns when, rewards and the baseline, and that it learns."""

from __future__ import annotations

import itertools
from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.debate.graphs import make_graph, tiny_config
from wikinav_jax.common.config import ConfigError
from wikinav_jax.debate.config import RELEASED_CODE, apply_compat, check_config, default_config
from wikinav_jax.debate.data import QuerySampler, labelled_split, training_facts
from wikinav_jax.debate.evaluate import debate_claims
from wikinav_jax.debate.room import JUDGES, Room
from wikinav_jax.debate.train import AGENT, JUDGE, PRETRAIN, make_train_step, phase_of
from wikinav_jax.debate.types import AGENTS
from wikinav_jax.graph.triples import from_triples
from wikinav_jax.training.mesh import make_mesh, shard_batch
from wikinav_jax.training.step import jit_step

KG = make_graph()


def make_room(tmp_path: Path, **changes: object) -> Room:
    return Room(tiny_config(**changes), tmp_path, KG)


def test_phases():
    found = [int(phase_of(jnp.array(step), 3, 2)) for step in range(9)]
    expected = [PRETRAIN] * 3 + [JUDGE] * 2 + [AGENT] * 2 + [JUDGE] * 2
    assert found == expected


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory):
    """States and metrics of a short run: pretraining, judge, agents, judge, agents."""
    room = make_room(
        tmp_path_factory.mktemp("room"), **{"train.pretrain_steps": 1, "train.phase_steps": 1}
    )
    pure = chex.assert_max_traces(make_train_step(room), n=1)
    step_fn = jit_step(pure, room.mesh, room.graph)
    state = room.initial_state()
    states, metrics = [jax.device_get(state)], []
    for step in range(5):
        batch = shard_batch(room.mesh, room.sampler.batch_at(step, room.shards))
        state, found = step_fn(state, batch)
        states.append(jax.device_get(state))
        metrics.append(jax.device_get(found))
    return room, states, metrics


def moved(before, after) -> set[str]:
    names = set()
    for name in before.params:
        pairs = zip(
            jax.tree.leaves(before.params[name]), jax.tree.leaves(after.params[name]), strict=True
        )
        if any((np.asarray(a) != np.asarray(b)).any() for a, b in pairs):
            names.add(name)
    return names


def test_each_phase_moves_its_learners_alone(course):
    _, states, _ = course
    turns = [moved(a, b) for a, b in itertools.pairwise(states)]
    judges, agents = set(JUDGES), set(AGENTS)
    assert turns == [judges, judges, agents, judges, agents]


def test_metrics_of_each_phase(course):
    room, _, metrics = course
    debates = 4 * room.config.train.queries_per_shard * room.config.train.rollouts
    for number, found in enumerate(metrics):
        is_agents = number in (2, 4)
        assert 0 < found["count"] <= debates
        assert found["reward_pro_count"] == is_agents
        assert (found["entropy_count"] > 0) == is_agents
        assert (found["loss_walks_count"] > 0) != is_agents
        assert len(metrics[0]) == len(found)


def test_the_baseline_follows_the_rewards(course):
    _, states, metrics = course
    baseline = states[3].opt_state.baseline
    assert baseline.updates == 1
    expected = [metrics[2]["reward_pro_sum"], metrics[2]["reward_con_sum"]]
    np.testing.assert_allclose(baseline.mean(), expected, rtol=1e-5)


def test_rewards_are_the_judges_scores_with_the_agents_signs(course):
    """Pro and con get the same scores of the same kind of paths, con with the sign turned."""
    _, _, metrics = course
    pro, con = metrics[2]["reward_pro_sum"], metrics[2]["reward_con_sum"]
    assert np.isfinite([pro, con]).all()
    assert abs(pro + con) < abs(pro) + abs(con) + 1e-9
    assert np.sign(pro) != np.sign(con)


def test_batches_are_functions_of_seed_shard_and_step():
    sampler = QuerySampler(KG, queries_per_shard=6, seed=3)
    whole = sampler.batch_at(5, range(4))
    part = sampler.batch_at(5, [2, 3])
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[2:], b), whole, part)
    assert whole.label[0].tolist() == [1, 0] * 3
    facts = {tuple(row) for row in KG.train.tolist()}
    q = whole.queries
    for s, p, o, label, weight in zip(
        *(leaf.ravel().tolist() for leaf in (q.subject, q.relation, q.object)),
        whole.label.ravel(),
        whole.weight.ravel(),
        strict=True,
    ):
        if weight:
            assert ((s, p, o) in facts) == (label == 1)


def test_training_can_debate_the_facts_of_some_relations_only():
    sampler = QuerySampler(KG, queries_per_shard=32, seed=3, relations=("citizen of", "knows"))
    drawn = set(sampler.batch_at(0, range(4)).queries.relation.ravel().tolist())
    assert {KG.relations[number] for number in drawn} == {"citizen of", "knows"}
    np.testing.assert_array_equal(training_facts(KG), KG.train)


@pytest.mark.parametrize(
    ("name", "message"), [("citizen off", "Did you mean 'citizen of'"), ("unused", "no training")]
)
def test_a_relation_without_training_facts_is_refused(name: str, message: str):
    kg = from_triples([("a", "citizen of", "b")], [("a", "unused", "b")])
    with pytest.raises(ConfigError, match=message):
        training_facts(kg, (name,))


def test_made_negatives_of_evaluation_are_no_known_facts():
    labelled = labelled_split(KG, "test", seed=0)
    assert not labelled.published
    known = {tuple(row) for part in (KG.train, KG.valid, KG.test) for row in part.tolist()}
    for row, label in zip(labelled.triples.tolist(), labelled.labels, strict=True):
        assert (tuple(row) in known) == (label == 1)
    again = labelled_split(KG, "test", seed=0)
    np.testing.assert_array_equal(labelled.triples, again.triples)
    few = labelled_split(KG, "test", seed=0, limit=5)
    assert len(few.triples) == 5


def test_released_code_sets_its_fields():
    config = default_config()
    assert apply_compat(config) is config
    config.compat = "released_code"
    changed = apply_compat(config)
    check_config(changed)
    for name, value in RELEASED_CODE.items():
        group, field = name.split(".")
        assert changed[group][field] == value
    assert default_config().train.l2 > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compat": "code"}, "compat='code'"),
        ({"debate.hide": "answer"}, r"debate\.hide='answer'.*Did you mean 'answers'"),
        ({"judge.aggregate": "max"}, r"judge\.aggregate"),
        ({"train.queries_per_shard": 3}, "must be even"),
        ({"train.rollouts": 0}, r"train\.rollouts=0"),
        ({"tables": "complex"}, "tables"),
    ],
)
def test_configs_that_cannot_be(changes, message):
    config = default_config()
    config.update_from_flattened_dict(changes)
    with pytest.raises(ValueError, match=message):
        check_config(config)


def test_it_learns_who_is_a_citizen(tmp_path):
    """After some training, true claims are more probable than false ones; before, they are not."""
    room = make_room(
        tmp_path,
        **{
            "train.num_steps": 240,
            "train.pretrain_steps": 120,
            "train.phase_steps": 30,
            "train.queries_per_shard": 16,
            "train.schedule": "constant",
        },
    )
    step_fn = jit_step(make_train_step(room), room.mesh, room.graph)
    state = room.initial_state()
    labelled = labelled_split(KG, "test", seed=0)

    def gap(state) -> float:
        found = debate_claims(
            room, state.params, labelled.triples, rollouts=8, progress_bar=False
        ).probability
        return found[labelled.labels == 1].mean() - found[labelled.labels == 0].mean()

    before = gap(state)
    for step in range(240):
        batch = shard_batch(room.mesh, room.sampler.batch_at(step, room.shards))
        state, _ = step_fn(state, batch)
    after = gap(state)
    assert abs(before) < 0.1
    assert after > 0.15


def test_evaluation_is_the_same_on_one_device_and_on_four(tmp_path, monkeypatch):
    triples = labelled_split(KG, "test", seed=0).triples
    found = []
    for devices in (jax.devices()[:1], jax.devices()):
        with monkeypatch.context() as patch:
            patch.setattr("wikinav_jax.debate.room.make_mesh", lambda d=devices: make_mesh(d))
            room = make_room(tmp_path)
        params = room.initial_state().params
        debated = debate_claims(
            room, params, triples, rollouts=2, keep_arguments=True, progress_bar=False
        )
        found.append(debated)
    one, four = found
    assert one.verdicts.logit.shape == (len(triples), 2)
    np.testing.assert_array_equal(one.arguments.entity, four.arguments.entity)
    np.testing.assert_allclose(one.verdicts.logit, four.verdicts.logit, atol=1e-5)


@pytest.mark.parametrize("hearing", ["agents", "walks", "alone"])
def test_silencing_takes_one_sides_arguments_away(tmp_path, hearing):
    room = make_room(tmp_path)
    params = room.initial_state().params
    triples = labelled_split(KG, "test", seed=0).triples[:5]
    verdicts = debate_claims(
        room, params, triples, rollouts=3, hearing=hearing, progress_bar=False
    ).verdicts
    if hearing == "alone":
        assert verdicts.scores.shape == (5, 3, 1)
        np.testing.assert_allclose(verdicts.logit, verdicts.pro_logit, atol=1e-6)
        # The same for every rollout; rows of one product may differ in their last bits.
        one = np.broadcast_to(verdicts.logit[:, :1], verdicts.logit.shape)
        np.testing.assert_allclose(verdicts.logit, one, atol=1e-6)
    else:
        assert verdicts.scores.shape == (5, 3, 4)
        assert (verdicts.pro_logit != verdicts.con_logit).any()


@pytest.mark.parametrize(
    ("triples", "hearing", "message"),
    [
        (np.zeros((0, 3), int), "agents", r"\[0, 3\]"),
        (np.zeros((2, 2), int), "agents", r"\[2, 2\]"),
        (np.zeros((2, 3), int), "birds", "hearing='birds'"),
    ],
)
def test_bad_claims_are_refused(tmp_path, triples, hearing, message):
    room = make_room(tmp_path)
    with pytest.raises(ValueError, match=message):
        debate_claims(room, {}, triples, rollouts=1, hearing=hearing)
