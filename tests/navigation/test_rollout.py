import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.navigation.toy import mesh_of, path_of, plain_features, play, play_by_liking, tree_graph
from tests.toy import (
    NEXT,
    TOY_DEAD_END,
    graph_from_edges,
    hub_graph,
    line_graph,
    random_graph,
    ring_graph,
    toy_graph,
)
from wikinav_jax.navigation import device_graph
from wikinav_jax.navigation.baselines import cosine_scorer, uniform_scorer
from wikinav_jax.navigation.device_graph import expand, to_device
from wikinav_jax.navigation.rollout import run_episodes
from wikinav_jax.navigation.types import AT_START, NO_NODE
from wikinav_jax.navigation.walkers import BUDGET, DEAD_END, EXHAUSTED, SUCCESS


def test_on_a_line_every_walker_walks_to_its_target():
    pairs = [(0, 4), (2, 3), (1, 9), (5, 9), (0, 1), (3, 8), (4, 6)]  # more than there are slots
    walks = play(line_graph(10), uniform_scorer, pairs, "sample")
    assert (walks.outcome == SUCCESS).all()
    assert walks.steps.tolist() == [b - a for a, b in pairs]
    for episode, (start, target) in enumerate(pairs):
        assert path_of(walks, episode) == list(range(start, target + 1))
        assert (walks.path[episode, target - start + 1 :] == NO_NODE).all()
        assert (walks.rank[episode, : target - start] == 0).all()


def test_a_target_behind_is_a_dead_end():
    walks = play(line_graph(12), uniform_scorer, [(5, 2), (0, 9), (11, 0)], "argmax")
    assert walks.outcome.tolist() == [DEAD_END, SUCCESS, DEAD_END]
    assert walks.steps.tolist() == [6, 9, 0]


def test_the_last_step_of_the_budget_may_reach_the_target():
    walks = play(line_graph(12), uniform_scorer, [(0, 9), (0, 10)], "argmax")
    assert walks.outcome.tolist() == [SUCCESS, BUDGET]


def test_a_budget_of_zero_reaches_nothing():
    walks = play(line_graph(4), uniform_scorer, [(0, 1), (1, 2)], "sample", budget=0)
    assert not walks.success.any() and (walks.steps == 0).all()
    assert walks.path.tolist() == [[0], [1]]


def test_argmax_can_run_in_circles_where_no_revisit_does_not():
    # 0 <-> 1, 0 -> 2 -> 3; node 1 is always the better one.
    graph = graph_from_edges([(0, 1), (0, 2), (1, 0), (2, 3), (2, 0)], 4)
    taste = [1, 0, 2, 3]
    circling = play_by_liking(graph, taste, [(0, 3)], "argmax")
    assert path_of(circling, 0) == [0, 1] * 5
    fresh = play_by_liking(graph, taste, [(0, 3)], "no_revisit")
    assert path_of(fresh, 0) == [0, 1, 0, 2, 3]
    assert fresh.success.all()


def test_no_revisit_with_everything_visited_takes_the_best_of_all():
    # A ring of three with a target that cannot be reached.
    graph = graph_from_edges([(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (3, 0)], 4)
    walks = play_by_liking(graph, [2, 1, 0, 3], [(0, 3)], "no_revisit")
    assert path_of(walks, 0) == [0, 1, 2, 1, 2, 1, 2, 1, 2, 1]


def test_depth_first_search_goes_back_and_pays_for_it():
    pairs = [(0, 5), (0, 4), (1, 5)]
    walks = play_by_liking(tree_graph(), [1, 3, 4, 2, 5, 0], pairs, "dfs")
    assert path_of(walks, 0) == [0, 1, 3, 1, 4, 1, 0, 2, 5]
    assert path_of(walks, 1) == [0, 1, 3, 1, 4]
    # From 1 nothing but 3 and 4 can be reached: the search ends where it began.
    assert path_of(walks, 2) == [1, 3, 1, 4, 1]
    assert walks.outcome.tolist() == [SUCCESS, SUCCESS, EXHAUSTED]
    assert walks.steps.tolist() == [8, 4, 4]


def test_depth_first_search_in_a_cycle_backs_out_of_it():
    # 0 -> 1 -> 2 -> 0 is a cycle; 0 -> 3 leads to the target.
    graph = graph_from_edges([(0, 1), (1, 2), (2, 0), (0, 3)], 4)
    walks = play_by_liking(graph, [1, 2, 0, 3], [(0, 3)], "dfs")
    assert path_of(walks, 0) == [0, 1, 2, 1, 0, 3]


def test_random_depth_first_search_visits_all_that_can_be_reached():
    walks = play(tree_graph(), uniform_scorer, [(0, 5)] * 40, "sample_dfs")
    assert walks.success.all()
    first = walks.path[:, 1]
    assert set(first) == {1, 2}
    assert ((walks.steps == 2) == (first == 2)).all()


def test_isolated_starts_and_dead_ends_fail():
    walks = play(toy_graph(), uniform_scorer, [(7, 0), (TOY_DEAD_END, 0)], "sample")
    assert (walks.outcome == DEAD_END).all() and (walks.steps == 0).all()
    walks = play(toy_graph(), uniform_scorer, [(7, 0)], "sample_dfs")
    assert (walks.outcome == EXHAUSTED).all()


def test_greedy_takes_the_link_nearest_to_the_target():
    angle = np.linspace(0, np.pi, 8, endpoint=False)
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    walks = play(ring_graph(8), cosine_scorer, [(0, 3), (7, 5), (2, 6)], "argmax", vectors=vectors)
    assert walks.steps.tolist() == [3, 2, 4]


def test_a_hub_is_walked_whole_however_many_links_it_has():
    # The target is the very last of 50,000 links, and the scorer likes it best.
    links = 50_000
    graph = hub_graph(links)
    features = np.zeros((links + 1, 2), np.float32)
    features[links] = 1, 0
    features[0] = 0.5, 0.5
    pairs = [(0, links), (7, links), (1, links), (2, links), (3, links)]
    walks = play(graph, cosine_scorer, pairs, "no_revisit", vectors=features)
    assert walks.success.all() and walks.steps.tolist() == [1, 2, 2, 2, 2]
    assert walks.rank[:, :2].max(axis=1).tolist() == [links - 1] * 5


def test_a_hub_is_sampled_evenly_whatever_the_capacity():
    # The target is a node that nobody reaches, so every episode tells of one choice at the hub.
    walks = play(hub_graph(40), uniform_scorer, [(0, 63)] * 1000, "sample")
    share = np.bincount(walks.path[:, 1], minlength=41)[1:] / 1000
    np.testing.assert_allclose(share, 1 / 40, atol=0.02)


@pytest.mark.parametrize("decoding", ["sample", "dfs"])
def test_walks_do_not_depend_on_devices_slots_or_capacity(decoding):
    graph = random_graph(60, 240, seed=4)
    rng = np.random.default_rng(0)
    start = rng.integers(0, 60, 37)
    pairs = list(zip(start, (start + 1 + rng.integers(0, 59, 37)) % 60, strict=True))
    vectors = rng.normal(size=(60, 4)).astype(np.float32)

    def run(**how):
        return play(graph, cosine_scorer, pairs, decoding, vectors=vectors, **how)

    one = run(devices=1, slots=4, capacity=16)
    for how in (
        {"devices": 4, "slots": 3, "capacity": 16},
        {"devices": 1, "slots": 37, "capacity": 512},
    ):
        other = run(**how)
        for name in ("outcome", "steps", "path", "rank"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_seeds_change_sampled_walks_only():
    pairs = [(i, 7) for i in range(7)]

    def run(decoding: str, seed: int) -> np.ndarray:
        return play(ring_graph(8), uniform_scorer, pairs, decoding, seed=seed).path

    assert (run("sample", 1) != run("sample", 2)).any()
    np.testing.assert_array_equal(run("sample", 1), run("sample", 1))
    np.testing.assert_array_equal(run("argmax", 1), run("argmax", 2))


def test_the_policy_sees_how_the_walker_came():
    graph = graph_from_edges([(i, (i + 1) % 5) for i in range(5)], 5, kinds=[0, NEXT, NEXT, 0, 0])
    seen = []

    class Spy:
        def __call__(self, params, features, inputs):
            d, a = inputs.decisions, inputs.actions
            np_fields = (d.node, d.previous, d.arrived_by, d.run, d.step, d.target)
            jax.debug.callback(lambda *x: seen.append([int(v[0]) for v in x]), *np_fields)
            return jnp.zeros(a.node.shape)

    play(graph, Spy(), [(0, 4)], "argmax", slots=1)
    jax.effects_barrier()
    # 0 -> 1 by a link, then by next, next, and by a link again
    expected = [
        (0, NO_NODE, AT_START, 0, 0, 4),
        (1, 0, 0, 0, 1, 4),
        (2, 1, NEXT, 1, 2, 4),
        (3, 2, NEXT, 2, 3, 4),
    ]
    # The padding plays the same episode again.
    assert sorted({tuple(row) for row in seen}, key=lambda row: row[4]) == expected


def test_visits_are_counted_on_the_device():
    graph = ring_graph(3)
    device = to_device(graph, mesh_of())
    path = jnp.array([[0, 1, 0, NO_NODE], [2, NO_NODE, NO_NODE, NO_NODE]])
    actions = expand(device, jnp.array([0, 2]), jnp.array([True, True]), path, 6)
    assert actions.node.tolist()[:4] == graph.neighbours(0).tolist() + graph.neighbours(2).tolist()
    visits = dict(zip(actions.node.tolist()[:2], actions.visits.tolist()[:2], strict=True))
    assert visits == {1: 1, 2: 0}
    assert actions.visits.tolist()[2:4] == [0, 0]
    assert actions.valid.tolist() == [True] * 4 + [False] * 2


def test_walkers_without_links_or_turn_have_no_actions():
    graph = line_graph(3)
    device = to_device(graph, mesh_of())
    path = jnp.array([[0], [2], [1]])
    actions = expand(device, jnp.array([0, 2, 1]), jnp.array([False, True, True]), path, 3)
    assert actions.decision[actions.valid].tolist() == [2]
    assert actions.node[actions.valid].tolist() == [2]


def test_the_loop_is_traced_once_for_every_bucket():
    graph = hub_graph(30)

    class Counted:
        @chex.assert_max_traces(n=2)  # the ordinary round and the one for the hub
        def score(self, inputs):
            return jnp.zeros(inputs.actions.node.shape)

        def __call__(self, params, features, inputs):
            del params, features
            return self.score(inputs)

    scorer = Counted()
    for seed in range(4):
        play(graph, scorer, [(0, 5), (3, 9), (2, 4)], "sample", seed=seed)


def test_a_policy_that_gives_nan_is_an_error():
    graph = line_graph(6)

    class Broken:
        def __call__(self, params, features, inputs):
            bad = inputs.actions.node == 3
            return jnp.where(bad, jnp.nan, 0.0)

    with pytest.raises(ValueError, match="NaN or infinite logits in episode 1"):
        play(graph, Broken(), [(3, 5), (0, 5)], "argmax")


@pytest.mark.parametrize(
    ("pairs", "budget", "message"),
    [
        ([(0, 1), (2, 2)], 5, "1 episodes start at their target"),
        ([(0, 1)], -1, "budget=-1 must be at least 0"),
        ([(0, 9)], 5, "a target is no node of the graph"),
        ([(-1, 1)], 5, "a start is no node of the graph"),
        (np.zeros((0, 2), int), 5, "at least one episode"),
    ],
)
def test_episodes_that_cannot_be(pairs, budget, message):
    graph, mesh = line_graph(5), mesh_of()
    start, target = np.array(pairs).T
    with pytest.raises(ValueError, match=message):
        run_episodes(
            to_device(graph, mesh),
            plain_features(graph),
            uniform_scorer,
            {},
            start,
            target,
            decoding="argmax",
            budget=budget,
            seed=0,
            mesh=mesh,
        )


def test_a_graph_with_too_many_links_for_the_device_is_an_error(monkeypatch):
    monkeypatch.setattr(device_graph, "MAX_EDGES", 3)
    with pytest.raises(ValueError, match="the graph has 9 links"):
        to_device(line_graph(10), mesh_of())
