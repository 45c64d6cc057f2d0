"""The judge: by hand, blind to the subject, and sums over arguments."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wikinav_jax.debate.judge import Judge
from wikinav_jax.debate.types import Arguments, Queries, ask

ENTITIES, TOKENS, DIM, HIDDEN, STEPS = 9, 6, 4, 5, 3


def make_judge(**options: object) -> Judge:
    return Judge(ENTITIES, TOKENS, DIM, HIDDEN, STEPS, **options)


def make_debates(count: int = 4, arguments: int = 6, seed: int = 0) -> tuple[Queries, Arguments]:
    rng = np.random.default_rng(seed)
    queries = Queries(*(jnp.array(rng.integers(1, 4, count)) for _ in range(3)))
    shape = (count, arguments, STEPS)
    return queries, Arguments(
        jnp.array(rng.integers(0, TOKENS, shape)), jnp.array(rng.integers(0, ENTITIES, shape))
    )


def params_of(judge: Judge) -> dict:
    queries, arguments = make_debates()
    params = judge.init(jax.random.key(0), queries, arguments)["params"]
    return jax.tree.map(lambda leaf: leaf + 0.3, params)  # biases are not all 0


def relu(values: np.ndarray) -> np.ndarray:
    return np.maximum(values, 0)


@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("aggregate", ["sum", "mean"])
def test_by_hand(aggregate, marks):
    judge = make_judge(aggregate=aggregate, marks_object=marks)
    params = params_of(judge)
    queries, arguments = make_debates()
    found = judge.apply({"params": params}, queries, arguments)
    p = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    arrivals = (np.asarray(arguments.entity) == np.asarray(queries.object)[:, None, None]).sum()
    assert arrivals > 3

    def dense(name: str, values: np.ndarray) -> np.ndarray:
        return values @ p[name]["kernel"] + p[name]["bias"]

    for debate in range(len(found)):
        subject, relation, obj = (int(part[debate]) for part in jax.tree.leaves(queries))
        said = []
        for argument in range(6):
            first = dense("claim", np.concatenate([p["relation"][relation], p["entity"][obj]]))
            for step in range(STEPS):
                r = int(arguments.relation[debate, argument, step])
                e = int(arguments.entity[debate, argument, step])
                first = first + p["relation"][r] @ p["step_relation"][step]
                if e != subject:  # masked wherever a path touches it
                    first = first + p["entity"][e] @ p["step_entity"][step]
                if marks and e == obj:
                    first = first + p["step_object"][step]
            said.append(relu(dense("second", relu(first))))
        total = np.sum(said, axis=0) / (6 if aggregate == "mean" else 1)
        logit = dense("decide", relu(dense("weigh", total)))[0]
        np.testing.assert_allclose(found[debate], logit, rtol=1e-4)


def test_the_subject_is_never_seen():
    judge = make_judge()
    params = params_of(judge)
    queries, arguments = make_debates()
    before = judge.apply({"params": params}, queries, arguments)
    subject = int(queries.subject[0])
    changed = jax.tree.map(lambda leaf: leaf, params)
    changed["entity"] = params["entity"].at[subject].add(100.0)
    after = judge.apply({"params": changed}, queries, arguments)
    blind = [
        i
        for i in range(len(before))
        if int(queries.subject[i]) == subject and int(queries.object[i]) != subject
    ]
    assert blind
    np.testing.assert_array_equal(before[jnp.array(blind)], after[jnp.array(blind)])


def test_a_judge_that_sees_the_subject_says_so():
    judge = make_judge(sees_subject=True)
    params = params_of(judge)
    queries, arguments = make_debates()
    changed = dict(params, entity=params["entity"].at[queries.subject[0]].add(1.0))
    before, after = (judge.apply({"params": p}, queries, arguments) for p in (params, changed))
    assert before[0] != after[0]


def test_what_a_judge_with_tables_of_transe_reads_of_the_claim_by_hand():
    judge = make_judge(sees_subject=True, frozen=True)
    params = params_of(judge)
    queries, arguments = make_debates()
    heard = jnp.zeros(arguments.relation.shape[1])
    found = ask(
        judge,
        params,
        ask(judge, params, queries, arguments, method="weigh_each"),
        queries,
        heard,
        method="verdict",
    )
    by_name = jax.tree.map(np.asarray, params)
    s, o = by_name["entity"][queries.subject], by_name["entity"][queries.object]
    p = by_name["relation"][queries.relation]
    claim = np.concatenate([s, p, o, s * o, s * p * o, np.abs(s + p - o)], axis=1)
    read = relu(claim @ by_name["subject"]["kernel"] + by_name["subject"]["bias"])
    hidden = relu(by_name["weigh"]["bias"] + read @ by_name["weigh_subject"]["kernel"])
    wanted = hidden @ by_name["decide"]["kernel"] + by_name["decide"]["bias"]
    np.testing.assert_allclose(found, wanted[:, 0], rtol=1e-5)


def test_the_order_of_arguments_does_not_matter():
    judge = make_judge()
    params = params_of(judge)
    queries, arguments = make_debates()
    turned = jax.tree.map(lambda leaf: leaf[:, ::-1], arguments)
    np.testing.assert_allclose(
        judge.apply({"params": params}, queries, arguments),
        judge.apply({"params": params}, queries, turned),
        rtol=1e-5,
    )


@pytest.mark.parametrize("aggregate", ["sum", "mean"])
def test_silenced_arguments_count_for_nothing(aggregate):
    judge = make_judge(aggregate=aggregate)
    params = params_of(judge)
    queries, arguments = make_debates()
    weighed = ask(judge, params, queries, arguments, method="weigh_each")
    heard = jnp.array([1.0, 0, 1, 0, 1, 0])
    silenced = ask(judge, params, weighed, queries, heard, method="verdict")
    only = ask(judge, params, weighed[:, ::2], queries, method="verdict")
    np.testing.assert_allclose(silenced, only, rtol=1e-5)


def test_the_score_of_an_argument_is_the_verdict_on_it_alone():
    judge = make_judge()
    params = params_of(judge)
    queries, arguments = make_debates()
    weighed = ask(judge, params, queries, arguments, method="weigh_each")
    scores = ask(judge, params, weighed, queries, method="score_each")
    assert scores.shape == (4, 6)
    for i in range(6):
        alone = jax.tree.map(lambda leaf, i=i: leaf[:, i : i + 1], arguments)
        np.testing.assert_allclose(
            scores[:, i], judge.apply({"params": params}, queries, alone), rtol=1e-5
        )


def test_unknown_aggregate_is_refused():
    with pytest.raises(ValueError, match="aggregate='max'"):
        params_of(make_judge(aggregate="max"))
