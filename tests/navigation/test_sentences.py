import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.navigation.toy import mesh_of, plain_features, policy_input
from tests.toy import ring_graph, toy_graph
from wikinav_jax.navigation.baselines import cosine_scorer
from wikinav_jax.navigation.batches import BatchSpec, WalkSampler
from wikinav_jax.navigation.evaluate import Method, evaluate
from wikinav_jax.navigation.goals import GoalLoss, GoalPolicy, GoalReader, auxiliary_loss
from wikinav_jax.navigation.policies import FeedForwardPolicy
from wikinav_jax.navigation.sentences import SentenceGoals, SentenceIndex, split_sentences

TEXTS = ["One is here. Two is there! Three?", "", "Alone"]


def numbered(index: SentenceIndex, width: int = 3) -> SentenceGoals:
    """Sentences whose features are their numbers."""
    return SentenceGoals(index, lambda numbers: np.tile(numbers[:, None], (1, width)) * 1.0)


def one_each(num_nodes: int, rows: np.ndarray) -> SentenceGoals:
    index = SentenceIndex(np.arange(num_nodes), np.ones(num_nodes, np.int64))
    return SentenceGoals(index, lambda numbers: rows[numbers].copy())


def test_sentences_are_pieces_of_their_own_text_and_every_one_is_drawn():
    index, sentences = split_sentences(TEXTS)
    assert sentences == ["One is here.", "Two is there!", "Three?", "Alone"]
    assert index.first.tolist() == [0, 3, 3] and index.count.tolist() == [3, 0, 1]
    drawn = index.draw(np.repeat([0, 2], 100), np.random.default_rng(0))
    assert set(drawn[:100]) == {0, 1, 2} and set(drawn[100:]) == {3}


def test_a_sentence_never_holds_the_title_line():
    graph = toy_graph()
    index, sentences = split_sentences(graph.texts(None))
    for node in range(graph.num_nodes):
        for number in range(index.first[node], index.first[node] + index.count[node]):
            assert sentences[number] in graph.text(node)
            assert not sentences[number].startswith(f"{graph.title(node)}. ")


def test_a_block_without_text_is_told_by_zeros():
    index, _ = split_sentences(TEXTS)
    found = numbered(index).draw(np.array([1, 2]), np.random.default_rng(0))
    np.testing.assert_array_equal(found, [[0, 0, 0], [3, 3, 3]])


def test_part_of_a_graph_keeps_its_own_sentences():
    index, _ = split_sentences(TEXTS)
    part = index.of_nodes(np.array([2, 0]))
    assert part.draw(np.array([0]), np.random.default_rng(0)).tolist() == [3]


def test_batches_tell_their_targets_and_are_else_the_same():
    graph = ring_graph(12)
    spec = BatchSpec(num_shards=2, decisions_per_shard=16)
    goals = one_each(12, np.arange(36, dtype=np.float32).reshape(12, 3))
    told = WalkSampler(graph, spec, 3, goals).batch_at(5)
    plain = WalkSampler(graph, spec, 3).batch_at(5)
    decisions = told.inputs.decisions
    np.testing.assert_array_equal(
        decisions.goal, goals.rows(decisions.target.reshape(-1)).reshape(2, 16, 3)
    )
    without = told.replace(inputs=told.inputs.replace(decisions=decisions.replace(goal=None)))
    jax.tree.map(np.testing.assert_array_equal, without, plain)


def test_the_reader_starts_as_the_sentence_itself():
    goal = jax.random.normal(jax.random.key(0), (4, 6))
    reader = GoalReader(hidden_dim=8)
    params = reader.init(jax.random.key(1), goal, train=False)
    np.testing.assert_array_equal(reader.apply(params, goal, train=False), goal)
    assert GoalReader(hidden_dim=0).apply({}, goal, train=False) is not None


def test_auxiliary_loss_by_hand():
    found = auxiliary_loss(jnp.array([[1.0, 2.0], [0.0, 0.0]]), jnp.array([[0.0, 0.0], [3.0, 0.0]]))
    assert float(found) == 1 + 4 + 9


def test_a_goal_stands_in_for_the_targets_own_row():
    features = plain_features(ring_graph(6))
    inputs = policy_input([0, 1], [3, 4], [[1, 5], [2, 0]])
    policy = GoalPolicy(FeedForwardPolicy(hidden_dims=(8,)), hidden_dim=0)
    params = policy.init(jax.random.key(0), features, inputs, train=False)

    def logits(goal):
        decisions = inputs.decisions.replace(goal=goal)
        return policy.apply(params, features, inputs.replace(decisions=decisions), train=False)

    true = features.vectors[jnp.array([3, 4])]
    np.testing.assert_allclose(logits(true), logits(None), rtol=1e-6)
    assert np.abs(logits(true + 1) - logits(None)).max() > 1e-3


def test_both_losses_reach_the_reader():
    graph = ring_graph(8)
    features = plain_features(graph)
    rows = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    batch = WalkSampler(graph, BatchSpec(decisions_per_shard=8), 0, one_each(8, rows)).batch_at(0)
    policy = GoalPolicy(FeedForwardPolicy(hidden_dims=(8,)), hidden_dim=8, dropout=0.0)
    sample = jax.tree.map(lambda leaf: leaf[0], batch).inputs
    params = policy.init(jax.random.key(0), features, sample, train=False)["params"]

    def gradient(weight: float):
        loss = GoalLoss(policy, weight)
        grad = jax.grad(lambda p: loss(p, features, batch, jax.random.key(1))[0])
        return grad(params)["reader"]["Dense_1"]["kernel"]

    cloning, both = gradient(0.0), gradient(1.0)
    assert np.abs(cloning).max() > 0 and np.abs(both - cloning).max() > 1e-3
    _, sums = GoalLoss(policy, 1.0)(params, features, batch, jax.random.key(1))
    truth = features.vectors[batch.inputs.decisions.target[0]]
    expected = jnp.square(batch.inputs.decisions.goal[0] - truth).sum()
    np.testing.assert_allclose(sums["goal_sum"], expected, rtol=1e-5)  # FF is 0 at the start


def test_walkers_follow_their_goal_and_stop_at_their_target():
    angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    graph = ring_graph(16)
    features = plain_features(graph).replace(
        vectors=jnp.asarray(vectors), log_out_degree=jnp.zeros(16), log_in_degree=jnp.zeros(16)
    )
    found = evaluate(
        graph,
        features,
        [Method("greedy", "argmax", cosine_scorer)],
        mesh=mesh_of(),
        system="toy",
        dataset="ring",
        split="eval",
        seed=0,
        tasks=("5-step", "sentence-5"),
        num_episodes=20,
        budget=8,
        sentences=one_each(16, -vectors),  # each sentence tells the opposite place
        slots=8,
        capacity=64,
    )
    plain, told = (found.walks[task, "greedy", "argmax"] for task in ("5-step", "sentence-5"))
    assert plain.success.all()
    assert not told.success.any() or told.success.mean() < 0.5
    for name in ("start", "target"):  # the same pairs
        left, right = (getattr(found.episodes[task], name) for task in ("5-step", "sentence-5"))
        np.testing.assert_array_equal(left, right)
    assert set(found.goals) == {"sentence-5"}


def test_sentence_search_needs_sentences():
    graph = ring_graph(6)
    with pytest.raises(ValueError, match="sentences"):
        evaluate(
            graph,
            plain_features(graph),
            [],
            mesh=mesh_of(),
            system="toy",
            dataset="ring",
            split="eval",
            seed=0,
            tasks=("sentence-5",),
        )
