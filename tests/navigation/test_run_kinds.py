"""Every kind of training, from the command line: killed and resumed it ends at the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.navigation.runs import flags_of, run_killed, run_main
from tests.text.toy import make_checkpoint
from wikinav_jax.reports.results import read_results

PLAIN = {"features.hops": 0, "train.num_steps": 12, "train.evaluate_every": 0}
KINDS = {
    "transformer": {
        **PLAIN,
        "policy.name": "transformer",
        "policy.transformer.width": 16,
        "policy.transformer.mlp_dim": 32,
        "policy.transformer.dropout": 0.1,
    },
    "reinforce": {
        **PLAIN,
        "policy.name": "feed_forward",
        "policy.feed_forward.hidden_dims": (16,),
        "train.algorithm": "reinforce",
        "train.reinforce.max_steps": 6,
    },
    "sentence": {
        **PLAIN,
        "features.hops": 1,
        "sentence.enabled": True,
        "sentence.hidden_dim": 16,
        "evaluate.tasks": ("sentence-5",),
        "evaluate.decodings": ("no_revisit", "beam"),
    },
    "learned": {
        **PLAIN,
        "policy.name": "feed_forward",
        "policy.feed_forward.hidden_dims": (16,),
        "encoder.enabled": True,
        "encoder.max_tokens": 24,
        "encoder.dropout": 0.1,
        "encoder.remat": True,
        "encoder.dtype": "bfloat16",
    },
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("kind", KINDS)
def test_killed_and_resumed_equals_uninterrupted(kind: str, cache: Path, tmp_path: Path):
    changes = dict(KINDS[kind])
    if kind == "learned":
        changes["encoder.checkpoint"] = str(make_checkpoint(tmp_path / "bert"))
    flags = flags_of(changes)
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    run_main(cache, whole, *flags)
    run_killed(cache, resumed, *flags, after=(6, 8))
    run_main(cache, resumed, *flags)
    for name in ("metrics.jsonl", "results.json", "walks.json"):
        assert (resumed / name).read_bytes() == (whole / name).read_bytes(), name
    assert {row.n for row in read_results(whole / "results.json")} != {0}
