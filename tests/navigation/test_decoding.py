import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.navigation.toy import policy_input
from wikinav_jax.navigation.decoding import (
    ALL_VISITED,
    DECODINGS,
    NO_ACTION,
    NOT_FINITE,
    check_decoding,
    choose_ranks,
)

LINKS = [[1, 2, 3], [], [4, 5], [6]]
VISITS = [[0, 1, 0], [], [2, 1], [0]]
ACTIONS = policy_input([0, 1, 2, 3], [9] * 4, LINKS, visits=VISITS, padding=3).actions
LOGITS = jnp.array([0.0, 5.0, 1.0, 2.0, 2.0, -1.0, 99.0, jnp.nan, jnp.inf])
choose = jax.jit(choose_ranks, static_argnums=3)
KEYS = jax.random.split(jax.random.key(0), 4)


def chosen(decoding: str, logits=LOGITS) -> list[int]:
    return choose(logits, ACTIONS, KEYS, 4, DECODINGS[decoding]).tolist()


def test_argmax_takes_the_best_and_the_first_of_equals():
    assert chosen("argmax") == [1, NO_ACTION, 0, 0]


def test_no_revisit_takes_the_best_unvisited_and_else_the_best_of_all():
    assert chosen("no_revisit") == [2, NO_ACTION, 0, 0]


def test_dfs_goes_back_where_all_is_visited():
    assert chosen("dfs") == [2, ALL_VISITED, ALL_VISITED, 0]
    ranks = chosen("sample_dfs")
    assert ranks[0] in (0, 2) and ranks[1:] == [ALL_VISITED, ALL_VISITED, 0]


def test_logits_that_are_not_finite_are_seen_and_padding_is_not():
    assert chosen("argmax", LOGITS.at[3].set(jnp.nan))[2] == NOT_FINITE
    assert chosen("sample", LOGITS.at[5].set(jnp.inf))[3] == NOT_FINITE


def test_samples_follow_the_softmax():
    logits = jnp.append(jnp.log(jnp.array([0.2, 0.5, 0.3, 0.9, 0.1])), jnp.zeros(4))

    def draw(key):
        return choose(logits, ACTIONS, jax.random.split(key, 4), 4, DECODINGS["sample"])

    ranks = np.asarray(jax.vmap(draw)(jax.random.split(jax.random.key(1), 20_000)))
    np.testing.assert_allclose(
        np.bincount(ranks[:, 0], minlength=3) / 20_000, [0.2, 0.5, 0.3], atol=0.015
    )
    np.testing.assert_allclose((ranks[:, 2] == 0).mean(), 0.9, atol=0.01)
    assert (ranks[:, 1] == NO_ACTION).all() and (ranks[:, 3] == 0).all()


def test_a_draw_does_not_depend_on_what_else_is_in_the_batch():
    alone = policy_input([2], [9], [[4, 5]], padding=6).actions
    for seed in range(20):
        keys = jax.random.split(jax.random.key(seed), 4)
        together = choose(jnp.zeros(9), ACTIONS, keys, 4, DECODINGS["sample"])[2]
        single = choose(jnp.zeros(8), alone, keys[2:3], 1, DECODINGS["sample"])[0]
        assert together == single


def test_an_unknown_decoding_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match="decoding='beam' is not one of sample, argmax"):
        check_decoding("beam")
