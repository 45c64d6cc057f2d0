import numpy as np
import pytest

from wikinav_jax.navigation.targets import (
    before_first_visit,
    choose_targets,
    last_exits,
    walk_lengths,
)

# A walk that passes its end (node 2) early, and one that leaves node 0 three times.
NODES = np.array([[0, 1, 2, 3, 2], [0, 1, 0, 4, 0]])
MASK = np.ones((2, 4), bool)


def test_lengths_count_the_moves_before_a_dead_end():
    mask = np.array([[True, True, False], [False, False, False], [True, True, True]])
    assert walk_lengths(mask).tolist() == [2, 0, 3]


def test_the_end_of_the_walk_is_the_papers_target():
    lengths = np.array([4, 2])
    position = choose_targets(NODES, lengths, "end", np.random.default_rng(0))
    assert position.tolist() == [[4] * 4, [2] * 4]


def test_later_targets_are_uniform_over_the_nodes_that_follow():
    nodes = np.zeros((30_000, 4), int)
    lengths = np.full(len(nodes), 3)
    position = choose_targets(nodes, lengths, "later", np.random.default_rng(0))
    for t in range(3):
        count = np.bincount(position[:, t], minlength=4)
        assert (count[: t + 1] == 0).all()
        np.testing.assert_allclose(count[t + 1 :] / len(nodes), 1 / (3 - t), atol=0.015)


def test_an_unknown_target_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match="target='nearest' is not one of end, later"):
        choose_targets(NODES, np.array([4, 4]), "nearest", np.random.default_rng(0))


def test_decisions_before_the_first_visit():
    target = np.broadcast_to(NODES[:, -1:], (2, 4))
    fresh = before_first_visit(NODES, target)
    assert fresh.tolist() == [[True, True, False, False], [False] * 4]


def test_last_exits_skip_the_loops():
    # 0 -> 1 -> 0 -> 1 -> 5: the loop 0, 1, 0 is skipped from both of its nodes.
    nodes = np.array([[0, 1, 0, 1, 5]])
    target = np.full((1, 4), 5)
    position = np.full((1, 4), 4)
    assert last_exits(nodes, target, position).tolist() == [[2, 3, 2, 3]]


def test_last_exits_look_no_further_than_the_first_visit_of_the_target():
    # From node 0 to 7, then back to 0 and on: only the first exit led to 7.
    nodes = np.array([[0, 7, 0, 1, 7]])
    target = np.full((1, 4), 7)
    position = np.full((1, 4), 4)
    assert last_exits(nodes, target, position)[0, 0] == 0
    assert last_exits(nodes, target, position)[0, 2] == 2


def test_last_exits_look_no_further_than_the_chosen_position():
    nodes = np.array([[0, 1, 0, 2, 3]])
    position = np.array([[1, 3, 3, 4]])
    target = np.take_along_axis(nodes, position, axis=1)
    assert last_exits(nodes, target, position)[0].tolist() == [0, 1, 2, 3]
