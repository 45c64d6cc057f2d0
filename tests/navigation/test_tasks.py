from dataclasses import replace

import numpy as np
import pytest

from tests.toy import (
    graph_from_edges,
    line_graph,
    one_node_graph,
    random_graph,
    ring_graph,
    toy_graph,
)
from wikinav_jax.navigation.tasks import TASKS, Task, draw_episodes, task_names


def test_episodes_are_a_function_of_their_arguments():
    graph = random_graph(80, 300)
    first, again, other = (
        draw_episodes(graph, TASKS["multistep"], num_episodes=50, seed=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.start, again.start)
    np.testing.assert_array_equal(first.target, again.target)
    assert (first.start != other.start).any()


@pytest.mark.parametrize("task", list(TASKS))
def test_targets_can_be_reached_within_the_walks_steps(task):
    graph = random_graph(80, 300)
    episodes = draw_episodes(graph, TASKS[task], num_episodes=200, seed=0)
    assert len(episodes) == 200
    assert (episodes.start != episodes.target).all()
    assert (episodes.shortest >= 1).all()
    assert (episodes.shortest <= TASKS[task].max_steps).all()


def test_on_a_line_the_targets_lie_the_tasks_steps_ahead():
    episodes = draw_episodes(line_graph(5000), TASKS["5-step"], num_episodes=100, seed=0)
    np.testing.assert_array_equal(episodes.target - episodes.start, 5)
    np.testing.assert_array_equal(episodes.shortest, 5)
    assert episodes.num_excluded == 0


def test_reverse_pairs_are_drawn_from_their_targets():
    # Star: 1..9 link to 0, and 0 to 1. Forward walks of two steps end at 1 or 0, but for 0's own.
    graph = graph_from_edges([*((i, 0) for i in range(1, 10)), (0, 1)], 10)
    task = Task("2-step", 1, 1)
    forward = draw_episodes(graph, task, num_episodes=300, seed=0)
    reverse = draw_episodes(graph, replace(task, reverse=True), num_episodes=300, seed=0)
    assert np.mean(forward.target == 0) > 0.8  # nine of ten starts lead there
    assert 0.4 < np.mean(reverse.target == 0) < 0.6  # 0 and 1 have links to them, the others none
    assert reverse.num_excluded > 1_000
    np.testing.assert_array_equal(reverse.shortest, 1)


def test_names_of_tasks_under_each_sampling():
    names = task_names(("5-step", "multistep"), ("forward", "reverse"))
    assert names == ("5-step", "multistep", "5-step-reverse", "multistep-reverse")
    assert set(names) <= set(TASKS)


def test_multistep_walks_have_uniformly_1_to_20_steps():
    episodes = draw_episodes(line_graph(100_000), TASKS["multistep"], num_episodes=8000, seed=0)
    share = np.bincount(episodes.target - episodes.start, minlength=21)[1:] / 8000
    np.testing.assert_allclose(share, 1 / 20, atol=0.01)


def test_pairs_whose_start_is_the_target_are_left_out_and_counted():
    # On a ring of three, two steps lead back half of the time.
    episodes = draw_episodes(ring_graph(3), Task("2-step", 2, 2), num_episodes=400, seed=0)
    assert len(episodes) == 400
    assert episodes.num_drawn == 400 + episodes.num_excluded
    assert 0.4 < episodes.num_excluded / episodes.num_drawn < 0.6


def test_isolated_starts_are_excluded_and_short_walks_counted():
    # Of four nodes two are isolated; 0 -> 1 ends at once.
    graph = graph_from_edges([(0, 1)], 4)
    episodes = draw_episodes(graph, TASKS["5-step"], num_episodes=50, seed=0)
    assert set(episodes.start) == {0} and set(episodes.target) == {1}
    assert episodes.num_cut_short == 50
    assert episodes.num_excluded > 75
    np.testing.assert_array_equal(episodes.shortest, 1)


def test_the_toy_graphs_dead_end_ends_walks():
    episodes = draw_episodes(toy_graph(), TASKS["20-step"], num_episodes=30, seed=0)
    assert episodes.num_cut_short > 0


def test_graphs_without_episodes_are_errors():
    with pytest.raises(ValueError, match="the graph has 1 nodes and no links"):
        draw_episodes(one_node_graph(), TASKS["5-step"], num_episodes=10, seed=0)
    loops = graph_from_edges([(0, 0), (1, 1)], 2)
    with pytest.raises(ValueError, match="only 0 of 2000 walks"):
        draw_episodes(loops, TASKS["5-step"], num_episodes=10, seed=0)
    with pytest.raises(ValueError, match="num_episodes=0"):
        draw_episodes(ring_graph(4), TASKS["5-step"], num_episodes=0, seed=0)
