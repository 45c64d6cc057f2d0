"""configs/wikispeedia.py: every variant can be, and those of the paper change one thing each."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from wikinav_jax.common.config import flatten, load_config
from wikinav_jax.navigation.config import check_config

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "wikispeedia.py"
MODULE = runpy.run_path(str(CONFIG))
CHANGES = {
    "reverse": {"walks.policy"},
    "shortest_uniform": {"walks.policy"},
    "shortest_walk": {"walks.policy"},
    "random_features": {"features.sources", "features.center"},
    "rl": {"train.algorithm"},
    "rl_random": {"train.algorithm", "features.sources", "features.center"},
}


@pytest.mark.parametrize("variant", MODULE["VARIANTS"])
def test_every_variant_can_be(variant):
    config = load_config(f"{CONFIG}:{variant}")
    check_config(config)
    assert variant in MODULE["__doc__"]


@pytest.mark.parametrize("variant", CHANGES)
def test_variants_of_the_paper_change_one_thing_each(variant):
    plain = dict(flatten(load_config(f"{CONFIG}:paper")))
    changed = dict(flatten(load_config(f"{CONFIG}:{variant}")))
    different = {name for name, value in changed.items() if plain[name] != value}
    assert different == CHANGES[variant] | {"name"}


def test_each_variant_has_a_name_of_its_own():
    names = [load_config(f"{CONFIG}:{variant}").name for variant in MODULE["VARIANTS"]]
    assert len(set(names)) == len(names)
