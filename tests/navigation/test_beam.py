"""Beam search against brute force, against the walk without revisits, and by hand."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.navigation.test_transformer import FEATURES, GRAPH, PARAMS, SCORER, all_at_once
from tests.navigation.toy import liking_scorer, mesh_of, plain_features, play, tree_graph
from tests.toy import graph_from_edges, line_graph, random_graph
from wikinav_jax.graph.distances import shortest_distances
from wikinav_jax.navigation.baselines import cosine_scorer
from wikinav_jax.navigation.beam import beam_search
from wikinav_jax.navigation.evaluate import BASELINES, Method, evaluate, figures
from wikinav_jax.navigation.explain import explain_walk, walk_inputs
from wikinav_jax.navigation.types import LinkVectors
from wikinav_jax.navigation.walkers import BUDGET, DEAD_END, SUCCESS
from wikinav_jax.training.mesh import replicate

MESH = mesh_of()


def search(graph, scorer, params, pairs, *, width, budget=9, features=None, mesh=MESH, **how):
    start, target = np.array(pairs).T
    features = plain_features(graph, mesh) if features is None else features
    return beam_search(
        graph,
        features,
        scorer,
        params,
        start,
        target,
        width=width,
        budget=budget,
        mesh=mesh,
        together=how.pop("together", 8),
        **how,
    )


def path_of(found, episode: int = 0) -> list[int]:
    return found.path[episode, : found.links[episode] + 1].tolist()


def log_probs(liking: np.ndarray, links: list[int]) -> np.ndarray:
    if not links:
        return np.zeros(0)
    score = liking[links].astype(np.float64)
    return score - np.log(np.exp(score).sum())


def reference(graph, liking, start: int, target: int, width: int, budget: int):
    """The search in plain Python: (found, nodes opened, path)."""
    opened, steps = {start}, 0
    paths = [(0.0, [start])]
    while True:
        reached: dict[int, tuple[float, list[int]]] = {}
        for score, path in paths:
            links = graph.neighbours(path[-1]).tolist()
            for node, gain in zip(links, log_probs(liking, links), strict=True):
                if node not in reached or reached[node][0] < score + gain:
                    reached[node] = (score + gain, [*path, node])
        fresh = {node: found for node, found in reached.items() if node not in opened}
        order = sorted((fresh or reached).values(), key=lambda found: -found[0])
        if not order:
            return False, steps, paths[0][1]
        paths = order[: min(width, budget - steps)]
        for _, path in paths:
            steps += 1
            opened.add(path[-1])
            if path[-1] == target:
                return True, steps, path
        if steps == budget:
            return False, steps, paths[0][1]


RANDOM = random_graph(30, 100, seed=1)
LIKING = np.random.default_rng(7).normal(size=30).astype(np.float32)
PAIRS = [(a, b) for a, b in np.random.default_rng(3).integers(0, 30, (24, 2)) if a != b]


@pytest.mark.parametrize(("width", "budget"), [(1, 12), (2, 7), (3, 20), (30, 40)])
def test_it_is_the_search_in_plain_python(width, budget):
    found = search(RANDOM, liking_scorer, LIKING, PAIRS, width=width, budget=budget)
    for episode, (start, target) in enumerate(PAIRS):
        success, steps, path = reference(RANDOM, LIKING, start, target, width, budget)
        assert found.success[episode] == success
        assert found.steps[episode] == steps
        assert path_of(found, episode) == path
        # The ranks are those of the links along the path.
        ranks = found.rank[episode, : found.links[episode]]
        links = [RANDOM.neighbours(node)[rank] for node, rank in zip(path, ranks, strict=False)]
        assert links == path[1:]


def test_wide_enough_it_finds_the_most_probable_of_the_shortest_paths():
    found = search(RANDOM, liking_scorer, LIKING, PAIRS, width=30, budget=200)
    shortest = shortest_distances(RANDOM, *np.array(PAIRS).T)
    for episode, (start, target) in enumerate(PAIRS):
        assert found.success[episode] == (shortest[episode] >= 0)
        if not found.success[episode]:
            continue
        length = int(shortest[episode])
        assert found.links[episode] == length
        # Every way to take `length` links, one after the other.
        best = -np.inf
        for ranks in itertools.product(range(8), repeat=length):
            node, score = start, 0.0
            for rank in ranks:
                links = RANDOM.neighbours(node).tolist()
                if rank >= len(links):
                    break
                score += log_probs(LIKING, links)[rank]
                node = links[rank]
            else:
                best = max(best, score if node == target else -np.inf)
        path, mine = path_of(found, episode), 0.0
        for node, following in itertools.pairwise(path):
            links = RANDOM.neighbours(node).tolist()
            mine += max(p for n, p in zip(links, log_probs(LIKING, links), strict=True)
                        if n == following)  # fmt: skip
        np.testing.assert_allclose(mine, best, rtol=1e-6)


def test_width_one_is_the_walk_without_revisits():
    vectors = np.random.default_rng(5).normal(size=(30, 3)).astype(np.float32)
    walks = play(RANDOM, cosine_scorer, PAIRS, "no_revisit", budget=9, vectors=vectors)
    found = search(RANDOM, cosine_scorer, {}, PAIRS, width=1, features=plain_features(RANDOM))
    for name in ("outcome", "steps", "path"):
        np.testing.assert_array_equal(getattr(found, name), getattr(walks, name), err_msg=name)


def test_every_node_that_is_opened_is_a_step():
    # 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, and node 1 is liked better than 2, 3 better than 4 and 5.
    liking = np.array([0, 2, 1, 2, 0, 1], np.float32)
    found = search(tree_graph(), liking_scorer, liking, [(0, 5), (0, 4), (2, 5)], width=2)
    # Opened 1, 2; then of 3 (1, 3), 5 (2, 5) and 4 (1, 4): log p(5 | 2) = 0 makes 5 the second.
    assert path_of(found, 0) == [0, 2, 5]
    assert found.steps.tolist() == [4, 4, 1] and found.links.tolist() == [2, 2, 1]
    # 3 and 5 lead nowhere: the search for 4 is over, with the best path that it had.
    assert found.outcome.tolist() == [SUCCESS, DEAD_END, SUCCESS]
    assert path_of(found, 1) == [0, 1, 3]
    # With a budget of 3 the second node of the second level is not opened.
    short = search(tree_graph(), liking_scorer, liking, [(0, 5)], width=2, budget=3)
    assert short.outcome.tolist() == [BUDGET] and short.steps.tolist() == [3]


def test_the_policy_sees_each_path_as_its_walk():
    graph = graph_from_edges([(0, 1), (0, 2), (1, 0), (1, 3), (2, 3), (3, 4)], 5)

    def scorer(params, features, inputs):
        """Likes 0 if the path has been there, and node 1 after node 0."""
        del params, features
        actions, decisions = inputs.actions, inputs.decisions
        back = decisions.previous[actions.decision] == actions.node
        liking = jnp.where((actions.node == 1) & (decisions.step[actions.decision] == 0), 2.0, 0.0)
        return liking + 9.0 * (actions.visits * back)

    found = search(graph, scorer, {}, [(0, 4)], width=1)
    # From 1 it would go back, but only nothing else left would let it.
    assert path_of(found) == [0, 1, 3, 4]
    circle = graph_from_edges([(0, 1), (1, 0), (2, 0)], 3)
    again = search(circle, scorer, {}, [(0, 2)], width=3, budget=4)
    assert path_of(again) == [0, 1, 0, 1, 0] and again.steps.tolist() == [4]


def test_a_transformer_remembers_each_path():
    pairs = [(a, b) for a, b in PAIRS if GRAPH.neighbours(a).size][:10]
    found = search(GRAPH, SCORER, PARAMS, pairs, width=3, budget=14, features=FEATURES)
    assert found.success.any() and found.links.max() > 3
    one = search(GRAPH, SCORER, PARAMS, pairs, width=1, budget=14, features=FEATURES)
    np.testing.assert_array_equal(one.path, play_transformer(pairs))


def play_transformer(pairs) -> np.ndarray:
    """The walk without revisits, each step by reading the whole walk so far; int [P, 15]."""
    paths = np.full((len(pairs), 15), -1)
    for episode, (start, target) in enumerate(pairs):
        path, ranks = [start], []
        while len(path) < 15 and path[-1] != target and GRAPH.neighbours(path[-1]).size:
            links = GRAPH.neighbours(path[-1])
            whole = np.array([*path, links[0]])
            inputs = walk_inputs(GRAPH, whole, np.array([*ranks, 0]), target)
            logits = np.asarray(all_at_once(PARAMS, FEATURES, inputs))
            mine = inputs.actions.valid & (inputs.actions.decision == len(ranks))
            score = logits[mine]
            fresh = ~np.isin(links, path)
            score = np.where(fresh | ~fresh.any(), score, -np.inf)
            ranks.append(int(score.argmax()))
            path.append(int(links[ranks[-1]]))
        paths[episode, : len(path)] = path
    return paths


def test_links_known_by_their_words_lead_it():
    # Node 0 has two links to node 1 and one to 2; only the words of the links tell them apart.
    graph = graph_from_edges([(0, 1), (0, 2), (1, 3), (2, 3)], 4)
    words = np.zeros((4, 3), np.float32)
    words[:, 0] = [1, 5, 0, 0]
    links = LinkVectors(first=graph.indptr[:-1].astype(np.int32), vectors=words)
    features = replicate(MESH, plain_features(graph).replace(links=links))

    def scorer(params, features, inputs):
        del params, features
        return inputs.actions.vector[:, 0]

    found = search(graph, scorer, {}, [(0, 3)], width=1, features=features)
    assert path_of(found) == [0, 2, 3]


def test_it_does_not_depend_on_devices_or_company():
    alone = search(RANDOM, liking_scorer, LIKING, PAIRS, width=2, together=3)
    mesh = mesh_of(4)
    four = search(RANDOM, liking_scorer, LIKING, PAIRS, width=2, together=64, mesh=mesh)
    for name in ("outcome", "steps", "path", "rank", "links"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(four, name), err_msg=name)


def test_rows_say_what_the_search_cost_and_what_it_found():
    graph = random_graph(40, 160, seed=2)
    features = plain_features(graph)
    methods = [Method("mine", "beam", cosine_scorer, beam_width=w) for w in (2, 3)]
    found = evaluate(
        graph,
        features,
        [*methods, BASELINES[3]],
        mesh=MESH,
        system="toy",
        dataset="toy",
        split="eval",
        seed=0,
        tasks=("5-step",),
        num_episodes=20,
        budget=12,
        slots=8,
        capacity=64,
    )
    by = {(row["decoding"], row["metric"]): row["value"] for row in found.rows}
    walks = found.walks["5-step", "mine", "beam_3"]
    assert by["beam_3", "mean_steps"] == walks.steps[walks.success].mean()
    assert by["beam_3", "mean_links"] == walks.links[walks.success].mean()
    assert by["beam_3", "mean_links"] < by["beam_3", "mean_steps"]
    assert ("no_revisit", "mean_links") not in by
    assert figures(found.episodes["5-step"], walks)[0]["metric"] == "success"
    with pytest.raises(ValueError, match="'beam' does not follow one link after the other"):
        explain_walk(graph, features, methods[0], 0, 1, mesh=MESH)


def test_searches_that_cannot_be():
    graph = line_graph(5)
    for width, pairs, message in [
        (0, [(0, 1)], "beam width 0 must be at least 1"),
        (2, [(1, 1)], "1 episodes start at their target"),
        (2, [(0, 9)], "a target is no node"),
    ]:
        with pytest.raises(ValueError, match=message):
            search(graph, cosine_scorer, {}, pairs, width=width)
    nothing = search(graph, cosine_scorer, {}, [(0, 1)], width=2, budget=0)
    assert nothing.outcome.tolist() == [BUDGET] and nothing.path.tolist() == [[0]]

    def broken(params, features, inputs):
        return jnp.where(inputs.actions.node == 3, jnp.nan, 0.0)

    with pytest.raises(ValueError, match="NaN or infinite logits in episode 1"):
        search(graph, broken, {}, [(3, 4), (0, 4)], width=2)


def test_the_program_is_traced_once_for_all_levels():
    traces = []

    def scorer(params, features, inputs):
        traces.append(inputs)
        return jnp.zeros(inputs.actions.node.shape)

    search(RANDOM, scorer, {}, PAIRS, width=2)
    assert len(traces) == 1
    assert isinstance(traces[0].decisions.node, jax.core.Tracer)
