"""What a checkpoint keeps, and every way in which one can be unusable."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tests.training.toy import numbers
from wikinav_jax.training.checkpoint import Checkpointer, CheckpointError
from wikinav_jax.training.mesh import make_mesh, replicate
from wikinav_jax.training.state import TrainState, apply_gradients, create_state

OPTIMIZER = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.1))


def make_state(value: float = 0.0, *, width: int = 300, devices: int | None = None) -> TrainState:
    """A state with a small array (Orbax inlines it) and a big one (a file of its own)."""
    params = {"big": jnp.full((width, 300), float(value)), "bias": jnp.arange(3.0) + value}
    state = create_state(params, OPTIMIZER, jax.random.key(5), ema_decay=0.5)
    return replicate(make_mesh(jax.devices()[:devices]), state)


@functools.partial(jax.jit, static_argnums=1)
def changed(state: TrainState, steps: int = 1) -> TrainState:
    for _ in range(steps):
        state = apply_gradients(state, jax.tree.map(jnp.ones_like, state.params), OPTIMIZER)
    return state


def assert_same(left: TrainState, right: TrainState) -> None:
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for a, b in zip(numbers(left), numbers(right), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the checkpoints of steps 1 and 2."""
    folder = tmp_path_factory.mktemp("saved") / "checkpoints"
    with Checkpointer(folder, identity={"policy": {"width": 300}, "seed": 1}) as checkpointer:
        checkpointer.save(1, changed(make_state(), 1), progress={"sums": {"a": 0.1}})
        checkpointer.save(2, changed(make_state(), 2), progress={"sums": {"a": 0.2}})
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "checkpoints"))


def restore(folder: Path, template: TrainState | None = None, **options) -> TrainState | None:
    identity = {"policy": {"width": 300}, "seed": 1}
    with Checkpointer(folder, **{"identity": identity, **options}) as checkpointer:
        return checkpointer.restore_latest(make_state() if template is None else template)


@pytest.mark.parametrize("devices", [4, 1])
def test_restores_to_the_bit_on_any_number_of_devices(saved: Path, devices: int) -> None:
    template = make_state(devices=devices)
    restored = restore(saved, template)
    assert restored is not None
    assert_same(restored, changed(make_state(), 2))
    assert restored.params["big"].sharding == template.params["big"].sharding
    assert restored.key.dtype == template.key.dtype
    assert type(restored.opt_state[1][0]) is type(template.opt_state[1][0])
    assert int(changed(restored).step) == 3  # usable, not only equal


def test_progress_and_older_steps(saved: Path) -> None:
    with Checkpointer(saved, identity={"policy": {"width": 300}, "seed": 1}) as checkpointer:
        assert checkpointer.latest_step() == 2
        assert checkpointer.read_run(2)["progress"] == {"sums": {"a": 0.2}}
        assert_same(checkpointer.restore(1, make_state()), changed(make_state(), 1))


def test_counting_on_after_save_does_not_change_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = {"loss_sum": 1.0}
    with Checkpointer(tmp_path / "checkpoints", identity={}) as checkpointer:
        save = checkpointer._manager.save

        def late(*args: Any, **kwargs: Any) -> Any:
            # A background thread writes: what the caller does meanwhile may come first.
            sums["loss_sum"] += 1.0
            return save(*args, **kwargs)

        monkeypatch.setattr(checkpointer._manager, "save", late)
        checkpointer.save(1, make_state(), progress={"sums": sums})
        checkpointer.wait()
        assert checkpointer.read_run(1)["progress"]["sums"] == {"loss_sum": 1.0}


def test_nothing_saved_is_none(tmp_path: Path) -> None:
    assert restore(tmp_path / "new") is None
    assert (tmp_path / "new").is_dir()


def test_donating_after_save_does_not_change_what_is_written(tmp_path: Path) -> None:
    step = jax.jit(lambda state: changed(state), donate_argnums=0)
    with Checkpointer(tmp_path / "c") as checkpointer:
        state = make_state()
        checkpointer.save(0, state)
        for _ in range(5):
            state = step(state)
        jax.block_until_ready(state)
        checkpointer.wait()
        assert_same(checkpointer.restore(0, state), make_state())


def steps_in(folder: Path) -> list[int]:
    return sorted(int(entry.name) for entry in folder.iterdir())


@pytest.mark.parametrize(("mode", "best", "kept"), [("max", 2, [2, 5, 6]), ("min", 3, [3, 5, 6])])
def test_keeps_the_last_and_the_best(tmp_path: Path, mode: str, best: int, kept: list[int]) -> None:
    options = {"keep": 2, "best_metric": "success", "best_mode": mode}
    scores = {1: 0.3, 2: 0.9, 3: 0.1, 4: 0.5, 5: np.nan}
    with Checkpointer(tmp_path / "c", **options) as checkpointer:  # type: ignore[arg-type]
        for step in (1, 2, 3, 4):
            checkpointer.save(step, make_state(step, width=2), metrics={"success": scores[step]})
        assert checkpointer.best_step() == best
    with Checkpointer(tmp_path / "c", **options) as checkpointer:  # type: ignore[arg-type]
        checkpointer.save(5, make_state(5, width=2), metrics={"success": scores[5]})
        checkpointer.save(6, make_state(6, width=2))
        checkpointer.wait()
        assert checkpointer.best_step() == best  # remembered from the files
        assert steps_in(tmp_path / "c") == kept
        restored = checkpointer.restore(best, make_state(width=2))
    assert_same(restored, make_state(best, width=2))


def test_a_tie_goes_to_the_later_step(tmp_path: Path) -> None:
    with Checkpointer(tmp_path / "c", keep=1, best_metric="success") as checkpointer:
        for step in (1, 2, 3):
            checkpointer.save(step, make_state(width=2), metrics={"success": 1.0 - (step == 3)})
        checkpointer.wait()
        assert steps_in(tmp_path / "c") == [2, 3]


def test_a_save_that_a_kill_cut_off_is_swept_away(copy: Path) -> None:
    (copy / "3.orbax-checkpoint-tmp").mkdir()
    assert_same(restore(copy), changed(make_state(), 2))
    assert steps_in(copy) == [1, 2]


def test_read_only_makes_and_changes_nothing(copy: Path, tmp_path: Path) -> None:
    (copy / "3.orbax-checkpoint-tmp").mkdir()
    assert_same(restore(copy, read_only=True), changed(make_state(), 2))
    assert (copy / "3.orbax-checkpoint-tmp").is_dir()
    assert restore(tmp_path / "absent", read_only=True) is None
    assert not (tmp_path / "absent").exists()


# ---- Truncated and damaged ------------------------------------------------------------------


def damaged(path: Path, how: str) -> None:
    content = path.read_bytes()
    middle = len(content) // 2
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(
            {
                "empty": b"",
                "half": content[:middle],
                "zeros": bytes(len(content)),
                "bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            }[how]
        )


# Files that Orbax writes and does not need; without them the state is whole.
NEEDLESS = ("commit_success.txt", "_CHECKPOINT_METADATA")


@pytest.mark.parametrize("how", ["missing", "empty", "half", "zeros", "bit"])
def test_damage_to_any_file_is_a_clear_error_or_does_no_harm(copy: Path, how: str) -> None:
    files = [path for path in sorted((copy / "2").rglob("*")) if path.is_file()]
    assert max(path.stat().st_size for path in files) > 1000
    needed = [path for path in files if path.name not in NEEDLESS]
    assert len(needed) > 8
    for path in needed:
        if how == "bit" and path == copy / "2" / "run" / "metadata":
            continue  # a changed digit of it cannot be told from a true one
        content = path.read_bytes()
        damaged(path, how)
        with pytest.raises(CheckpointError) as caught:
            restore(copy)
        assert str(copy / "2") in str(caught.value)
        assert "Delete this folder to resume from the checkpoint before it" in str(caught.value)
        path.write_bytes(content)
    for path in files:
        if path.name in NEEDLESS:
            damaged(path, how)
    assert_same(restore(copy), changed(make_state(), 2))


def test_the_remedy_works(copy: Path) -> None:
    damaged(copy / "2" / "state" / "manifest.ocdbt", "half")
    with pytest.raises(CheckpointError, match="bytes instead of"):
        restore(copy)
    shutil.rmtree(copy / "2")
    assert_same(restore(copy), changed(make_state(), 1))


# ---- Foreign --------------------------------------------------------------------------------


def fewer(state: TrainState) -> TrainState:
    return state.replace(params={"big": state.params["big"]})


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (lambda: make_state(width=4), r"big: \"float32\[300, 300\]\" -> \"float32\[4, 300\]\""),
        (lambda: fewer(make_state()), r"params/bias: \"float32\[3\]\" -> absent"),
        (
            lambda: make_state().replace(params={"extra": jnp.ones(2)}),
            r"params/extra: absent -> \"float32\[2\]\"",
        ),
        (
            lambda: make_state().replace(step=jnp.zeros((), jnp.int16)),
            r"step: \"int32\[\]\" -> \"int16\[\]\"",
        ),
        (
            lambda: make_state().replace(key=jax.random.key(0, impl="rbg")),
            r"key: \"key<fry>\[\]\" -> \"key<rbg>\[\]\"",
        ),
        (lambda: make_state().replace(ema_params=None), r"ema_params/bias: .* -> absent"),
    ],
)
def test_another_model_is_named_array_by_array(
    saved: Path, template: Callable[[], TrainState], message: str
) -> None:
    with pytest.raises(CheckpointError, match=message) as caught:
        restore(saved, template())
    assert "Use the settings it was trained with, or a new workdir" in str(caught.value)


def test_long_differences_are_cut(saved: Path) -> None:
    state = make_state()
    other = state.replace(params={str(i): jnp.ones(1) for i in range(30)})
    with pytest.raises(CheckpointError, match=r"and \d+ more") as caught:
        restore(saved, other)
    assert len(str(caught.value)) < 1000


def test_another_run_is_named_field_by_field(saved: Path) -> None:
    with pytest.raises(CheckpointError, match=r"policy\.width: 300 -> 400; seed: 1 -> absent"):
        restore(saved, identity={"policy": {"width": 400}})
    assert restore(saved, identity={"seed": 1, "policy": {"width": 300}}) is not None


def test_tuples_in_an_identity_equal_the_lists_that_json_makes(tmp_path: Path) -> None:
    identity = {"tasks": (5, 10)}
    with Checkpointer(tmp_path / "c", identity=identity) as checkpointer:
        checkpointer.save(1, make_state(width=2))
    assert restore(tmp_path / "c", make_state(width=2), identity=identity) is not None


def edit(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"version": 2}, "version 2, this wikinav_jax reads version 1; upgrade wikinav_jax"),
        ({"version": 0}, "version 0, this wikinav_jax reads version 1; use an older one"),
        ({"format": "something else"}, "was not written by wikinav_jax"),
    ],
)
def test_other_formats(copy: Path, fields: dict[str, object], message: str) -> None:
    edit(copy / "2" / "run" / "metadata", **fields)
    with pytest.raises(CheckpointError, match=message):
        restore(copy)


def test_not_a_checkpoint_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    with pytest.raises(CheckpointError, match="is a file"):
        restore(tmp_path / "file")
    with pytest.raises(CheckpointError, match=r"not a checkpoint folder .* \['file'\]"):
        restore(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]  # nothing was made there
    other = tmp_path / "other"
    (other / "7").mkdir(parents=True)
    (other / "7" / "weights.bin").write_bytes(b"1234")
    with pytest.raises(CheckpointError, match=r"7 is not a whole checkpoint of wikinav_jax"):
        restore(other)
    (other / "7" / "run").mkdir()
    (other / "7" / "run" / "metadata").write_text("[]")
    with pytest.raises(CheckpointError, match="was not written by wikinav_jax"):
        restore(other)


def test_one_run_at_a_time_in_a_folder(copy: Path) -> None:
    with Checkpointer(copy):
        with pytest.raises(CheckpointError, match=rf"^{copy.parent} is in use: process \d+ on .*"):
            Checkpointer(copy)
        with Checkpointer(copy, read_only=True) as reader:
            assert reader.latest_step() == 2
        with pytest.raises(CheckpointError, match="another --workdir"):  # readers free no lock
            Checkpointer(copy)
    with Checkpointer(copy):
        pass
    (copy / "1" / "run" / "metadata").unlink()
    for _ in range(2):  # a folder that cannot be opened is not kept from others
        with pytest.raises(CheckpointError, match="not a whole checkpoint"):
            restore(copy, best_metric="loss")


def test_bad_arguments(copy: Path) -> None:
    with pytest.raises(ValueError, match="keep=0"):
        Checkpointer(copy, keep=0)
    with pytest.raises(ValueError, match="best_mode='most'"):
        Checkpointer(copy, best_mode="most")
    with pytest.raises(ValueError, match="gs://bucket/run is a URL"):
        Checkpointer("gs://bucket/run")
    with (
        Checkpointer(copy) as checkpointer,
        pytest.raises(ValueError, match="2 already exists"),
    ):
        checkpointer.save(2, make_state())
