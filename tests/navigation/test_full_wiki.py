"""configs/full_wiki.py at toy size: two graphs, learned phi, a kill, and the same numbers after it.

Both graphs are built here; everything else is the code that trains on Wikipedia.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest
from ml_collections import ConfigDict

from tests.harness import kill_hard, run_python, start_python, wait_until
from tests.navigation.toy import mesh_of
from tests.text.toy import WORDS, make_checkpoint
from tests.toy import ENTITY, HYPERLINK, NEXT, PREVIOUS, graph_from_edges
from wikinav_jax.common.config import ConfigError
from wikinav_jax.graph.store import open_graph, save_graph
from wikinav_jax.navigation import navigator as navigator_module
from wikinav_jax.navigation.config import check_config, dataset_of
from wikinav_jax.navigation.data import prepare
from wikinav_jax.navigation.navigator import Navigator
from wikinav_jax.navigation.text_policy import TextLoss
from wikinav_jax.navigation.train import make_text_step
from wikinav_jax.reports.results import read_results
from wikinav_jax.training.mesh import shard_batch
from wikinav_jax.training.step import jit_step

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "full_wiki.py"
OVERRIDES = {
    "encoder.max_tokens": 16,
    "encoder.hidden_size": 8,
    "encoder.intermediate_size": 16,
    "eval_dataset.max_nodes": 60,
    "train.num_steps": 12,
    "train.num_shards": 4,
    "train.decisions_per_shard": 8,
    "train.log_every": 2,
    "train.checkpoint_every": 3,
    "train.evaluate_episodes": 5,
    "walks.steps": (1, 5),
    "policy.transformer.context": 5,
    "evaluate.tasks": ("5-step",),
    "evaluate.num_episodes": 10,
    "evaluate.budget": 8,
    "evaluate.decodings": ("no_revisit",),
    "evaluate.baselines": False,
    "evaluate.example_walks": 1,
}


def save_toy_wiki(path: Path, num_articles: int, seed: int) -> Path:
    """Articles of two blocks; every block links two words of its text."""
    rng = np.random.default_rng(seed)
    edges, kinds, anchors, texts = [], [], [], []
    for block in range(2 * num_articles):
        words = [str(word) for word in rng.choice(WORDS.split(), 6)]
        texts.append(" ".join(words))
        for place, kind in ((1, HYPERLINK), (3, ENTITY)):
            start = len(" ".join(words[:place])) + 1
            edges.append((block, 2 * int(rng.integers(num_articles))))
            kinds.append(kind)
            anchors.append((start, start + len(words[place])))
        other = block ^ 1
        edges.append((block, other))
        kinds.append(NEXT if other > block else PREVIOUS)
        anchors.append((0, 0))
    graph = graph_from_edges(
        edges,
        2 * num_articles,
        kinds=kinds,
        anchors=anchors,
        article=np.repeat(np.arange(num_articles), 2),
        texts=texts,
        titles=[f"old stone {number}" for number in range(num_articles)],
    )
    return save_graph(graph, path, source=f"toy wiki {seed}", licence="none", command="a test")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Overrides that name the two graphs, the tokenizer and the cache."""
    folder = tmp_path_factory.mktemp("wiki")
    return {
        "dataset.options.path": str(save_toy_wiki(folder / "2017", 100, seed=1)),
        "eval_dataset.options.path": str(save_toy_wiki(folder / "2018", 50, seed=2)),
        "encoder.tokenizer": str(make_checkpoint(folder / "bert")),
        "cache_dir": str(folder / "cache"),
    }


def make_config(places: dict[str, object], variant: str) -> ConfigDict:
    config = runpy.run_path(str(CONFIG))["get_config"](variant)
    config.update_from_flattened_dict({**OVERRIDES, **places})
    return config


def arguments(places: dict[str, object], variant: str, workdir: Path, *more: str) -> list[str]:
    fields = {**OVERRIDES, **places}
    return [
        f"--config={CONFIG}:{variant}",
        f"--workdir={workdir}",
        *(f"--config.{name}={value}" for name, value in fields.items()),
        *more,
    ]


def train(places: dict[str, object], variant: str, workdir: Path, devices: int = 1) -> str:
    log = workdir.with_suffix(".log")
    run_python("wikinav_jax.main", arguments(places, variant, workdir), devices=devices, log=log)
    return log.read_text(encoding="utf-8")


def named_leaves(tree) -> dict[str, np.ndarray]:
    return {
        jax.tree_util.keystr(path): np.asarray(
            jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
        )
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def checkpoint_params(workdir: Path) -> dict[str, np.ndarray]:
    """The parameters in the last checkpoint, on whatever devices they were trained."""
    with ocp.StandardCheckpointer() as reader:
        return named_leaves(reader.restore(workdir / "checkpoints" / "12" / "state")["params"])


def assert_same_params(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_every_variant_is_a_config_that_can_run():
    module = runpy.run_path(str(CONFIG))
    for variant in module["VARIANTS"]:
        config = module["get_config"](variant)
        check_config(config)
        assert config.encoder.dtype == "bfloat16" and config.encoder.remat
        assert config.policy.name == variant.removeprefix("tiny_").replace("tiny", "feed_forward")
    with pytest.raises(ValueError, match="not one of feed_forward, transformer, tiny"):
        module["get_config"]("huge")


def test_a_missing_graph_is_named(places):
    for field in ("dataset", "eval_dataset"):
        with pytest.raises(ConfigError, match=rf"^config\.{field}\.options\.path is empty"):
            prepare(make_config({**places, f"{field}.options.path": ""}, "tiny"))
    with pytest.raises(FileNotFoundError, match="nowhere is no saved graph"):
        prepare(make_config({**places, "eval_dataset.options.path": "nowhere"}, "tiny"))


def test_two_graphs_are_kept_apart(places):
    data = prepare(make_config(places, "tiny"))
    assert data.two_graphs and data.all is data.train
    changed = make_config({**places, "eval_dataset.name": "corpus"}, "tiny")
    assert dataset_of(changed, "eval") == "corpus" != dataset_of(changed, "train")
    assert data.train.graph.num_nodes == 200 and data.train.graph.path is not None
    assert data.train.vectors.size == 0  # no table of phi
    whole = open_graph(str(places["eval_dataset.options.path"]))
    assert data.eval.graph.num_nodes == 60 < whole.num_nodes
    assert set(data.eval.graph.texts()) <= set(whole.texts())
    config = make_config({**places, "eval_dataset.max_nodes": 0}, "tiny")
    assert prepare(config).eval.graph.num_nodes == 100


def test_fixed_features_of_two_graphs_are_fitted_on_the_first(places):
    changes = {
        "encoder.enabled": False,
        "features.sources": ("lsa", "random"),
        "features.lsa_dim": 4,
        "features.random_dim": 3,
    }
    data = prepare(make_config({**places, **changes}, "tiny"))
    assert data.train.vectors.shape == (200, 7) and data.eval.vectors.shape == (60, 7)
    # Centred by the training graph's mean before scaling, so that only its own rows add up to
    # little; and random codes of the two graphs differ.
    assert not np.array_equal(data.train.vectors[:60, 4:], data.eval.vectors[:, 4:])
    same = {**places, **changes, "eval_dataset.options.path": places["dataset.options.path"]}
    same["eval_dataset.max_nodes"] = 0
    twice = prepare(make_config(same, "tiny"))
    np.testing.assert_array_equal(twice.train.vectors[:, :4], twice.eval.vectors[:, :4])
    np.testing.assert_array_equal(twice.train.vectors[:, :4], data.train.vectors[:, :4])


def test_training_a_kill_and_the_same_numbers(places, tmp_path):
    undisturbed = tmp_path / "undisturbed"
    output = train(places, "tiny", undisturbed)
    assert "Report:" in output
    rows = read_results(undisturbed / "results.json")
    played = {(row.task, row.split, row.n) for row in rows if row.metric == "success"}
    assert played == {("5-step", "eval", 10), ("5-step-reverse", "eval", 10)}
    facts = json.loads((undisturbed / "facts.json").read_text())
    assert facts["Training graph"].startswith("100 articles, 200 blocks")
    assert facts["Evaluation graph"].startswith("30 articles, 60 blocks")
    assert facts["Source"] == "toy wiki 1; toy wiki 2"

    workdir, log = tmp_path / "killed", tmp_path / "killed.log"
    process = start_python(
        "wikinav_jax.main", arguments(places, "tiny", workdir), devices=1, log=log
    )
    wait_until((workdir / "checkpoints" / "3").is_dir, [process], log)
    kill_hard(process)
    train(places, "tiny", workdir)
    assert_same_params(checkpoint_params(workdir), checkpoint_params(undisturbed))
    assert read_results(workdir / "results.json") == rows
    resumed = json.loads((workdir / "facts.json").read_text())["Training record"]
    assert resumed["start_step"] >= 3 and resumed["end_step"] == 12


def steps_on(places, devices: int, monkeypatch) -> tuple[dict[str, np.ndarray], list[float]]:
    """Parameters and losses of two steps on so many devices."""
    monkeypatch.setattr(navigator_module, "make_mesh", lambda: mesh_of(devices))
    config = make_config({**places, "encoder.dtype": "float32"}, "tiny_transformer")
    navigator = Navigator(config, Path("unused"), prepare(config))
    text = navigator.text
    step_fn = jit_step(make_text_step(TextLoss(text.policy), navigator.optimizer), navigator.mesh)
    state, losses = navigator.initial_state(), []
    for step in range(2):
        batch = text.sampler.batch_at(step, navigator.shards)
        state, metrics = step_fn(state, shard_batch(navigator.mesh, batch))
        losses.append(float(metrics["loss_sum"] / metrics["count"]))
    return named_leaves(state.params), losses


def test_four_devices_learn_what_one_does(places, monkeypatch):
    (one, losses), (four, same) = (steps_on(places, count, monkeypatch) for count in (1, 4))
    np.testing.assert_allclose(losses, same, rtol=1e-5)
    assert one.keys() == four.keys()
    for name, value in one.items():
        np.testing.assert_allclose(four[name], value, atol=2e-4, err_msg=name)


def test_building_makes_the_tokens(places, tmp_path):
    elsewhere = {**places, "cache_dir": str(tmp_path / "cache")}
    log = tmp_path / "build.log"
    run_python(
        "wikinav_jax.main",
        arguments(elsewhere, "tiny", tmp_path / "run", "--mode=build"),
        devices=1,
        log=log,
    )
    assert "train: 100 articles, 200 blocks" in log.read_text()
    tables = sorted((tmp_path / "cache" / "features").glob("tokens-*"))
    assert len(tables) == 2
    assert not (tmp_path / "run").exists()
