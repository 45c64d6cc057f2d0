"""The Transformer policy: all steps at once, step by step, and against NumPy."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.navigation.test_learning import ring_features, success, train
from tests.navigation.toy import mesh_of, policy_input
from tests.toy import random_graph
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.device_graph import to_device
from wikinav_jax.navigation.evaluate import Method
from wikinav_jax.navigation.explain import walk_inputs
from wikinav_jax.navigation.features import make_node_features
from wikinav_jax.navigation.goals import GoalPolicy, GoalReader, RememberingGoalScorer
from wikinav_jax.navigation.losses import batch_loss
from wikinav_jax.navigation.policies import PolicyTrainer
from wikinav_jax.navigation.rollout import run_episodes
from wikinav_jax.navigation.transformer import TransformerPolicy, TransformerScorer
from wikinav_jax.navigation.types import NO_NODE, RememberingScorer, Trails
from wikinav_jax.training.mesh import replicate, shard_batch

GRAPH = random_graph(30, 120, seed=3)
VECTORS = np.random.default_rng(0).normal(size=(30, 6)).astype(np.float32)
FEATURES = make_node_features(GRAPH, VECTORS, mesh=mesh_of())
POLICY = TransformerPolicy(
    width=8, num_layers=2, num_heads=2, mlp_dim=16, context=4, residual=True, kind_bias=True
)
SCORER = TransformerScorer(POLICY)

# Two walks, and decisions at different steps of them for different targets.
WALKS = [[0, 3, 4, 3, 8, 1, 2], [5, 6, 7]]
AT = [(0, 0), (0, 2), (0, 6), (1, 1), (0, 6), (1, 2)]
TARGETS = [7, 7, 9, 2, 20, 9]


def inputs_of(walks, at, targets, trails=None):
    """Decisions of walks, with up to three links each."""
    links = [GRAPH.neighbours(walks[w][t]).tolist()[:3] for w, t in at]
    kinds = [[0, 3, 2][: len(row)] for row in links]
    inputs = policy_input(
        [walks[w][t] for w, t in at], targets, links, kinds=kinds, padding=18 - sum(map(len, links))
    )
    decisions = inputs.decisions.replace(step=np.array([t for _, t in at], np.int32))
    return inputs.replace(decisions=decisions, trails=trails)


def trails_for(walks, at):
    length = max(map(len, walks))
    nodes = np.array([walk + [NO_NODE] * (length - len(walk)) for walk in walks], np.int32)
    return Trails(nodes=nodes, of_decision=np.array([w for w, _ in at], np.int32))


INPUTS = inputs_of(WALKS, AT, TARGETS, trails_for(WALKS, AT))


def random_params(seed: int = 1):
    """Parameters all away from zero, so that every part of the policy has its say."""
    init = jax.jit(lambda key: POLICY.init(key, FEATURES, INPUTS, train=False))
    params = init(jax.random.key(0))["params"]
    leaves, tree = jax.tree.flatten(params)
    rng = np.random.default_rng(seed)
    noisy = [leaf + 0.3 * rng.normal(size=leaf.shape).astype(np.float32) for leaf in leaves]
    return jax.tree.unflatten(tree, noisy)


PARAMS = random_params()
all_at_once = jax.jit(SCORER)
one_step = jax.jit(SCORER.step)


def norm(x, p):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    return x * p["scale"] + p["bias"]


def dense(x, p):
    return x @ p["kernel"] + p["bias"]


def by_hand(places: list[int], target: int) -> np.ndarray:
    """e_tg by NumPy: one causal sequence of places and target, read anew."""
    p = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), PARAMS)
    kinds = [0] * len(places) + [1]
    x = norm(dense(VECTORS[[*places, target]].astype(np.float64), p["embed"]), p["embed_norm"])
    x = x + p["kind"][kinds]
    length = len(kinds)
    for number in range(2):
        layer = p[f"layers_{number}"]
        h = norm(x, layer["attention_norm"])
        q, kv = dense(h, layer["query"]), dense(h, layer["key_value"])
        found = np.zeros_like(x)
        for head in range(2):
            cut = slice(4 * head, 4 * head + 4)
            for i in range(length):
                # The target looks at itself besides the four last places.
                reach = 5 if i == length - 1 else 4
                seen = [j for j in range(i + 1) if i - j < reach]
                score = np.array(
                    [q[i, cut] @ kv[j, :8][cut] / 2 + layer["distance"][head, i - j] for j in seen]
                )
                weight = np.exp(score - score.max())
                weight /= weight.sum()
                found[i, cut] = weight @ kv[seen, 8:][:, cut]
        x = x + dense(found, layer["output"])
        hidden = dense(norm(x, layer["mlp_norm"]), layer["mlp_in"])
        hidden = np.asarray(jax.nn.gelu(hidden))
        x = x + dense(hidden, layer["mlp_out"])
    head = p["head"]
    query = dense(norm(x[-1], head["norm"]), head["query"])
    return query + head["residual"][0] * VECTORS[target]


def test_all_steps_at_once_equal_one_sequence_each_by_numpy():
    logits = np.asarray(all_at_once(PARAMS, FEATURES, INPUTS))
    actions, bias = INPUTS.actions, np.asarray(PARAMS["head"]["kind_bias"])
    for b, (w, t) in enumerate(AT):
        query = by_hand(WALKS[w][: t + 1], TARGETS[b])
        mine = actions.valid & (actions.decision == b)
        expected = VECTORS[actions.node[mine]] @ query + bias[actions.kind[mine]]
        np.testing.assert_allclose(logits[mine], expected, rtol=1e-4, atol=1e-4)


def test_step_by_step_equals_all_at_once():
    rng = np.random.default_rng(4)
    walks = [rng.integers(0, 30, 11).tolist() for _ in range(3)]
    targets = [4, 5, 6]
    at = [(w, t) for w in range(3) for t in range(11)]
    links = {(w, t): GRAPH.neighbours(walks[w][t]).tolist()[:1] or [0] for w, t in at}
    whole = policy_input(
        [walks[w][t] for w, t in at], [targets[w] for w, _ in at], [links[pair] for pair in at]
    )
    steps = np.array([t for _, t in at], np.int32)
    whole = whole.replace(
        decisions=whole.decisions.replace(step=steps), trails=trails_for(walks, at)
    )
    expected = np.asarray(all_at_once(PARAMS, FEATURES, whole)).reshape(3, 11)

    # What other walkers left in the memory does not matter, nor does a step passed twice.
    memory = jax.tree.map(lambda leaf: leaf + 7.0, SCORER.init_memory(3))
    for t in range(11):
        now = policy_input([walk[t] for walk in walks], targets, [links[w, t] for w in range(3)])
        now = now.replace(decisions=now.decisions.replace(step=np.full(3, t, np.int32)))
        for _ in range(2):
            logits, memory = one_step(PARAMS, FEATURES, now, memory)
            np.testing.assert_allclose(logits, expected[:, t], atol=1e-5)


def test_a_target_told_by_a_sentence_is_read_alike_both_ways():
    policy = GoalPolicy(POLICY, hidden_dim=4)
    scorer = RememberingGoalScorer(policy, SCORER)
    goal = np.random.default_rng(8).normal(size=(6, 6)).astype(np.float32)
    told = INPUTS.replace(decisions=INPUTS.decisions.replace(goal=goal))
    reader = jax.jit(lambda key: GoalReader(4).init(key, goal, train=False))
    reader = jax.tree.map(lambda leaf: leaf + 0.1, reader(jax.random.key(3))["params"])
    params = {"policy": PARAMS, "reader": reader}
    expected = np.asarray(jax.jit(scorer)(params, FEATURES, told))
    assert np.abs(expected - all_at_once(PARAMS, FEATURES, INPUTS))[:3].max() > 1e-3
    # The decisions of step 0 alone: nothing was there to remember.
    first = jax.tree.map(lambda leaf: leaf[:1], told.decisions)
    mine = np.flatnonzero(told.actions.valid & (told.actions.decision == 0))
    actions = jax.tree.map(lambda leaf: leaf[mine], told.actions)
    inputs = told.replace(decisions=first, actions=actions, trails=None)
    logits, _ = jax.jit(scorer.step)(params, FEATURES, inputs, scorer.init_memory(1))
    np.testing.assert_allclose(logits, expected[mine], atol=1e-5)


def test_the_future_and_other_walks_do_not_matter():
    before = all_at_once(PARAMS, FEATURES, INPUTS)
    changed = [[0, 3, 4, 20, 21, 22, 23], [9, 9, 9]]
    after = all_at_once(
        PARAMS,
        FEATURES,
        INPUTS.replace(trails=trails_for(changed, AT)),
    )
    early = INPUTS.actions.decision < 2
    np.testing.assert_array_equal(before[early], after[early])
    late = INPUTS.actions.valid & ~early
    assert (np.abs(before - after)[late] > 1e-6).all()


def test_places_out_of_reach_do_not_matter_to_the_last_layer():
    # Two layers of four places: a token sees six places back, and no further.
    def logits(first: int, second: int) -> np.ndarray:
        walk = [first, second, 3, 4, 3, 8, 1, 2]
        at = [(0, 7)] * 6
        return np.asarray(
            all_at_once(PARAMS, FEATURES, inputs_of([walk], at, TARGETS, trails_for([walk], at)))
        )

    np.testing.assert_array_equal(logits(0, 5), logits(9, 5))
    assert np.abs(logits(0, 5) - logits(0, 6)).max() > 1e-7


def play(budget: int = 9, devices: int = 1, slots: int = 4, decoding: str = "argmax"):
    mesh = mesh_of(devices)
    rng = np.random.default_rng(2)
    start = rng.integers(0, 30, 12)
    target = (start + 1 + rng.integers(0, 29, 12)) % 30
    walks = run_episodes(
        to_device(GRAPH, mesh),
        make_node_features(GRAPH, VECTORS, mesh=mesh),
        SCORER,
        PARAMS,
        start,
        target,
        decoding=decoding,
        budget=budget,
        seed=0,
        mesh=mesh,
        slots=slots,
        capacity=16,
    )
    return walks, target


def test_a_rollout_takes_the_links_that_reading_it_whole_would_take():
    walks, target = play()
    assert isinstance(SCORER, RememberingScorer)
    for episode in range(12):
        moves = int(walks.steps[episode])
        path, rank = walks.path[episode, : moves + 1], walks.rank[episode, :moves]
        if not moves:
            continue
        inputs = walk_inputs(GRAPH, path, rank, int(target[episode]))
        logits = np.asarray(all_at_once(PARAMS, FEATURES, inputs))
        for t in range(moves):
            mine = inputs.actions.valid & (inputs.actions.decision == t)
            assert np.argmax(logits[mine]) == rank[t]
    assert walks.steps.max() > POLICY.context  # the ring of places has come round


@pytest.mark.parametrize("decoding", ["sample", "dfs"])
def test_rollouts_do_not_depend_on_devices_or_slots(decoding):
    one, _ = play(decoding=decoding)
    four, _ = play(decoding=decoding, devices=4, slots=2)
    np.testing.assert_array_equal(one.path, four.path)
    np.testing.assert_array_equal(one.outcome, four.outcome)


def test_it_learns_and_carries_over_to_another_graph():
    graph, features = ring_features(24)
    policy = TransformerPolicy(width=16, num_layers=1, num_heads=2, mlp_dim=32, context=8)
    spec = BatchSpec(decisions_per_shard=256, max_walk_steps=8, first_visit=True, trails=True)
    params, losses = train(policy, graph, features, spec, 100)
    assert np.mean(losses[-10:]) < np.log(2) - 0.1 < np.mean(losses[:2])
    learned = Method("rfbc", "argmax", TransformerScorer(policy), params)
    other, other_features = ring_features(31)
    assert success(other, other_features, learned)["rfbc", "argmax"] > 0.9


def test_one_device_and_four_have_the_same_loss():
    spec = BatchSpec(num_shards=4, decisions_per_shard=16, max_walk_steps=6, trails=True)
    batch = WalkSampler(GRAPH, spec, seed=0).batch_at(0)
    losses = []
    for devices in (1, 4):
        mesh = mesh_of(devices)
        features = make_node_features(GRAPH, VECTORS, mesh=mesh)
        loss = jax.jit(functools.partial(batch_loss, PolicyTrainer(POLICY)))
        value, _ = loss(replicate(mesh, PARAMS), features, shard_batch(mesh, batch), None)
        losses.append(float(value))
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_batches_bring_the_walks_of_their_decisions():
    spec = BatchSpec(decisions_per_shard=64, max_walk_steps=6, trails=True, skip_forced=True)
    sampler = WalkSampler(GRAPH, spec, seed=0)
    for step in range(5):
        inputs = sampler.shard_at(step, 0).inputs
        trails, decisions = inputs.trails, inputs.decisions
        assert trails.nodes.shape == (sampler.num_trails, 6)
        here = trails.nodes[trails.of_decision, decisions.step]
        np.testing.assert_array_equal(here, decisions.node)
        moved = decisions.step > 0
        before = trails.nodes[trails.of_decision, np.maximum(decisions.step - 1, 0)]
        np.testing.assert_array_equal(before[moved], decisions.previous[moved])
        # Every trail is a walk on the graph.
        for row in np.unique(trails.of_decision):
            walk = trails.nodes[row][trails.nodes[row] != NO_NODE]
            assert all(b in GRAPH.neighbours(a) for a, b in itertools.pairwise(walk))


def test_what_it_cannot_read_is_an_error():
    with pytest.raises(ValueError, match="without their trails"):
        SCORER(PARAMS, FEATURES, INPUTS.replace(trails=None))
    with pytest.raises(ValueError, match="width=8 is not a multiple of num_heads=3"):
        TransformerPolicy(width=8, num_heads=3).init(
            jax.random.key(0), FEATURES, INPUTS, train=False
        )


def test_half_precision_tables_score_in_float32():
    features = make_node_features(GRAPH, VECTORS, mesh=mesh_of(), dtype=jnp.bfloat16)
    low, high = (all_at_once(PARAMS, f, INPUTS) for f in (features, FEATURES))
    assert low.dtype == jnp.float32
    np.testing.assert_allclose(low, high, atol=0.2)
