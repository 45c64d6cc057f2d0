"""Debates: paths of the graph, log probabilities by hand, agents apart, the LSTM's memory."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.debate.graphs import make_graph
from wikinav_jax.debate.agents import Agent, fresh_memory
from wikinav_jax.debate.arguments import Rules, no_arguments, play, repeat
from wikinav_jax.debate.data import as_queries
from wikinav_jax.debate.environment import to_device
from wikinav_jax.debate.types import AGENTS, Queries, ask
from wikinav_jax.training.mesh import make_mesh

KG = make_graph()
DEBATES = 40
JOINED = [set(KG.edge_object[KG.indptr[e] : KG.indptr[e + 1]]) for e in range(KG.num_entities)]
RULES = Rules(num_rounds=2, path_length=3, hide="answers", width=8)


@pytest.fixture(scope="module")
def graph():
    return to_device(KG, make_mesh())


@pytest.fixture(scope="module", params=[0, 2], ids=["paper", "marked"])
def agent(graph, request) -> Agent:
    return Agent(KG.num_entities, graph.num_tokens, 4, num_marks=request.param)


@pytest.fixture(scope="module")
def params(agent, queries):
    keys = jax.random.split(jax.random.key(3), 2)
    init = jax.jit(lambda key: agent.init(key, queries)["params"])
    # Ten times the usual spread, so that the policies are far from uniform and from each other.
    return {
        name: jax.tree.map(lambda leaf: 10 * leaf, init(key))
        for name, key in zip(AGENTS, keys, strict=True)
    }


@pytest.fixture(scope="module")
def queries() -> Queries:
    citizens = KG.train[KG.train[:, 1] == KG.find_relation("citizen of")]
    return jax.tree.map(jnp.asarray, as_queries(np.resize(citizens, (DEBATES, 3))))


def played(agent, params, graph, queries, rules, seed=0):
    return jax.jit(lambda p, g, q, k: play(agent, p, g, q, k, rules))(
        params, graph, queries, jax.random.key(seed)
    )


@pytest.mark.parametrize("policy", ["window", "all", "uniform"])
def test_arguments_are_paths_from_the_subject_without_hidden_edges(
    agent, params, graph, queries, policy
):
    rules = dataclasses.replace(RULES, policy=policy)
    arguments, choices = played(agent, params, graph, queries, rules)
    assert arguments.relation.shape == arguments.entity.shape == (DEBATES, 4, 3)
    assert choices.log_prob.shape == (DEBATES, 4, 3)
    edges = set()
    for entity in range(KG.num_entities):
        for slot in range(KG.indptr[entity], KG.indptr[entity + 1]):
            edges.add((entity, int(KG.edge_relation[slot]), int(KG.edge_object[slot])))
    p = KG.find_relation("citizen of")
    for debate in range(DEBATES):
        subject = int(queries.subject[debate])
        for argument in range(4):
            here = subject
            for step in range(3):
                relation = int(arguments.relation[debate, argument, step])
                there = int(arguments.entity[debate, argument, step])
                if relation == KG.stay:
                    assert there == here
                else:
                    assert (here, relation, there) in edges
                assert (here, relation) != (subject, p)
                assert (relation, there) != (p + KG.num_relations, subject)
                here = there


def test_log_probabilities_and_entropies_by_hand(agent, params, graph, queries):
    """The LSTM is replayed step by step over the argument; a wide window holds all edges."""
    rules = dataclasses.replace(RULES, width=64)
    arguments, choices = played(agent, params, graph, queries, rules)
    p = KG.find_relation("citizen of")
    for side, name in enumerate(AGENTS):
        own = params[name]
        context = ask(agent, own, queries, method="context")
        memory = fresh_memory(DEBATES, agent.dim)
        for number in range(rules.num_rounds):
            place = 2 * number + side  # pro speaks first, then con
            node = queries.subject
            previous = jnp.full(DEBATES, graph.start)
            for step in range(3):
                arrived = node == queries.object
                memory, query = ask(
                    agent, own, memory, previous, node, context, arrived, method="read"
                )
                extra = np.asarray(ask(agent, own, query, method="mark_scores"), np.float64)
                assert extra.shape == (DEBATES, agent.num_marks)
                entity, relation = np.asarray(own["entity"]), np.asarray(own["relation"])
                for debate in range(0, DEBATES, 7):
                    here, subject = int(node[debate]), int(queries.subject[debate])
                    edges = [
                        (int(KG.edge_relation[i]), int(KG.edge_object[i]))
                        for i in range(KG.indptr[here], KG.indptr[here + 1])
                    ]
                    edges = [
                        (r, e)
                        for r, e in [*edges, (KG.stay, here)]
                        if not (here == subject and r == p)
                        and not (e == subject and r == p + KG.num_relations)
                    ]
                    q = np.asarray(query[debate], np.float64)
                    goal = int(queries.object[debate])
                    marks = [
                        [e == goal, goal in JOINED[e] and subject not in (e, goal)]
                        for _, e in edges
                    ]
                    score = [relation[r] @ q[:4] + entity[e] @ q[4:] for r, e in edges]
                    if agent.num_marks:
                        score = np.array(score) + np.array(marks) @ extra[debate]
                    log_p = np.array(score) - np.logaddexp.reduce(score)
                    taken = (
                        int(arguments.relation[debate, place, step]),
                        int(arguments.entity[debate, place, step]),
                    )
                    same = [log_p[i] for i, edge in enumerate(edges) if edge == taken]
                    assert len(same) == 1
                    np.testing.assert_allclose(
                        choices.log_prob[debate, place, step], same[0], atol=1e-3
                    )
                    entropy = -(np.exp(log_p) * log_p).sum()
                    np.testing.assert_allclose(
                        choices.entropy[debate, place, step], entropy, atol=1e-3
                    )
                previous = arguments.relation[:, place, step]
                node = arguments.entity[:, place, step]


def test_windows_and_the_exact_choice_agree_in_distribution(agent, params, graph, queries):
    one = jax.tree.map(lambda leaf: jnp.full(4000, leaf[0]), queries)
    counts = []
    for policy in ("window", "all"):
        rules = Rules(1, 1, "answers", policy=policy, width=64)
        arguments, _ = played(agent, params, graph, one, rules)
        flat = np.asarray(arguments.relation[:, 0, 0] * KG.num_entities + arguments.entity[:, 0, 0])
        counts.append(np.bincount(flat, minlength=KG.num_entities * (2 * KG.num_relations + 1)))
    assert (counts[0] > 0).sum() > 1
    assert abs(counts[0] - counts[1]).max() / 4000 < 5 * np.sqrt(2 * 0.25 / 4000)


def test_the_previous_relation_can_be_shared_between_the_agents(agent, params, graph, queries):
    apart, _ = played(agent, params, graph, queries, RULES)
    shared, _ = played(
        agent, params, graph, queries, dataclasses.replace(RULES, share_previous=True)
    )
    # Pro's first argument begins a debate either way; con's begins with pro's last relation.
    np.testing.assert_array_equal(apart.entity[:, 0], shared.entity[:, 0])
    assert (np.asarray(apart.relation[:, 1]) != np.asarray(shared.relation[:, 1])).any()


def test_the_same_key_gives_the_same_debate_and_another_another(agent, params, graph, queries):
    first, _ = played(agent, params, graph, queries, RULES)
    again, _ = played(agent, params, graph, queries, RULES)
    other, _ = played(agent, params, graph, queries, RULES, seed=1)
    np.testing.assert_array_equal(first.entity, again.entity)
    assert (np.asarray(first.entity) != np.asarray(other.entity)).any()


def test_gradients_reach_both_agents_and_only_their_own_steps(agent, params, graph, queries):
    def pro_log_prob(params):
        _, choices = play(agent, params, graph, queries, jax.random.key(0), RULES)
        return choices.log_prob[:, 0::2].sum()

    gradients = jax.jit(jax.grad(pro_log_prob))(params)
    size = {
        name: sum(jnp.abs(leaf).sum() for leaf in jax.tree.leaves(gradients[name]))
        for name in AGENTS
    }
    assert size["pro"] > 0
    assert size["con"] == 0


def test_frozen_tables_get_no_gradient(graph, params, queries):
    frozen = Agent(KG.num_entities, graph.num_tokens, 4, frozen=True)

    def loss(params):
        _, choices = play(frozen, params, graph, queries, jax.random.key(0), RULES)
        return choices.log_prob.sum()

    gradient = jax.jit(jax.grad(loss))(params)["pro"]
    assert not np.asarray(gradient["entity"]).any()
    assert not np.asarray(gradient["relation"]).any()
    assert np.asarray(gradient["recurrent"]["kernel"]).any()


def test_no_arguments_stay_at_the_subject(graph, queries):
    nothing = no_arguments(graph, queries, 3)
    assert nothing.relation.shape == (DEBATES, 1, 3)
    assert set(np.asarray(nothing.relation).ravel().tolist()) == {KG.stay}
    np.testing.assert_array_equal(nothing.entity[:, 0, 2], queries.subject)


def test_rollouts_of_a_query_stand_side_by_side(queries):
    repeated = repeat(queries, 3)
    np.testing.assert_array_equal(repeated.subject[:6], np.repeat(queries.subject[:2], 3))
