"""Overrides and choices fail with the near names."""

from __future__ import annotations

from pathlib import Path

import pytest
from ml_collections import ConfigDict

from wikinav_jax.common import config as config_lib
from wikinav_jax.common.suggest import did_you_mean, near_names


@pytest.fixture
def config():
    return ConfigDict({"seed": 0, "train": {"batch_size": 8, "num_steps": 10}})


def test_flatten_keeps_order(config):
    assert list(config_lib.flatten(config)) == [
        ("seed", 0),
        ("train.batch_size", 8),
        ("train.num_steps", 10),
    ]


def test_known_overrides_pass(config):
    argv = ["main", "--config.seed=3", "--config.train.batch_size=4", "--workdir=x", "-config=y"]
    config_lib.check_override_names(config, argv)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--config.train.batchsize=4", r"Near names: train\.batch_size"),
        ("--config.batch_size=4", r"Near names: train\.batch_size"),
        ("--config.train=4", "is a group"),
        ("--config.zzz=4", r"All fields: seed, train\.batch_size"),
    ],
)
def test_unknown_overrides_list_near_names(config, argument, message):
    with pytest.raises(config_lib.ConfigError, match=message):
        config_lib.check_override_names(config, ["main", argument])


def test_choices_and_ranges():
    config_lib.check_choice("mode", "sample", ("sample", "argmax"))
    with pytest.raises(config_lib.ConfigError, match=r"config\.mode='sampel'.*mean 'sample'"):
        config_lib.check_choice("mode", "sampel", ("sample", "argmax"))
    config_lib.check_range("budget", 0, 0)
    with pytest.raises(config_lib.ConfigError, match=r"config\.budget=-1 must be at least 0"):
        config_lib.check_range("budget", -1, 0)
    with pytest.raises(config_lib.ConfigError, match="between 0 and 1"):
        config_lib.check_range("dropout", float("nan"), 0, 1)


def test_folders(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    for good in (tmp_path, tmp_path / "new" / "newer", Path("relative")):
        assert config_lib.check_folder("config.x", good) == good
    for bad, what in ((file, "it"), (file / "a" / "b", str(file)), (tmp_path / "nowhere", "it")):
        with pytest.raises(
            config_lib.ConfigError, match=f"^config.x={bad}: {what} is a file; name"
        ):
            config_lib.check_folder("config.x", bad)
    with pytest.raises(config_lib.ConfigError, match=r"^config\.cache_dir=.*file: it is a file"):
        config_lib.cache_folder(ConfigDict({"cache_dir": str(file)}))
    monkeypatch.setenv("WIKINAV_CACHE", str(file / "c"))
    with pytest.raises(config_lib.ConfigError, match=r"^WIKINAV_CACHE=.*file is a file"):
        config_lib.cache_folder(ConfigDict({"cache_dir": ""}))
    assert config_lib.cache_folder(ConfigDict({"cache_dir": str(tmp_path)})) == tmp_path


def test_near_names():
    known = ["Ireland", "Iceland", "Northern Ireland", "Physics"]
    assert near_names("irland", known)[0] == "Ireland"
    assert "Northern Ireland" in near_names("ireland", known)
    assert did_you_mean("qqq", known) == ""
    assert did_you_mean("Physic", known, limit=1) == " Did you mean 'Physics'?"


def test_a_variant_of_a_config_without_variants_is_refused(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text(
        "from ml_collections import ConfigDict\n\ndef get_config():\n    return ConfigDict()\n"
    )
    assert not config_lib.load_config(str(file))
    with pytest.raises(config_lib.ConfigError, match="has no variants; leave :best out"):
        config_lib.load_config(f"{file}:best")
