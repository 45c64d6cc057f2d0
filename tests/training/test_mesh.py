"""Which process draws which shard, and where data goes to the devices."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

from wikinav_jax.training import mesh as mesh_lib
from wikinav_jax.training.mesh import (
    local_shards,
    make_mesh,
    replicate,
    replicated,
    shard_batch,
    shard_rows,
    sharded,
)


def test_mesh_has_one_auto_axis_over_all_devices() -> None:
    mesh = make_mesh()
    assert mesh.axis_names == ("data",)
    assert mesh.axis_types == (AxisType.Auto,)
    assert list(mesh.devices.flat) == jax.devices()
    assert make_mesh(jax.devices()[:1]).size == 1
    with pytest.raises(ValueError, match="at least one device"):
        make_mesh([])


@pytest.mark.parametrize(
    ("owners", "contiguous"),
    [([0, 0, 1, 1], True), ([1, 1, 0], True), ([0], True), ([0, 1, 0, 1], False)],
)
def test_interleaved_processes_are_noticed(owners: list[int], contiguous: bool) -> None:
    devices = [SimpleNamespace(process_index=owner) for owner in owners]
    assert mesh_lib._contiguous_by_process(devices) is contiguous


def test_local_shards_cover_each_process_once(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = np.array([SimpleNamespace(process_index=owner) for owner in (0, 0, 1, 1)])
    mesh = SimpleNamespace(devices=devices, size=4)
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    assert local_shards(8, mesh) == range(4, 8)  # type: ignore[arg-type]
    monkeypatch.setattr(jax, "process_index", lambda: 0)
    assert local_shards(8, mesh) == range(4)  # type: ignore[arg-type]
    monkeypatch.setattr(jax, "process_index", lambda: 2)
    with pytest.raises(ValueError, match=r"process 2 .* has no device"):
        local_shards(8, mesh)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shards", "better"), [(6, 8), (0, 4), (-4, 4), (3, 4)])
def test_uneven_shards_are_refused_with_the_remedy(shards: int, better: int) -> None:
    with pytest.raises(
        ValueError, match=f"num_shards={shards} .* 4 devices .* use {better} shards"
    ):
        local_shards(shards, make_mesh())


def test_shard_batch_splits_axis_0() -> None:
    mesh = make_mesh()
    batch = {"x": np.arange(24).reshape(8, 3), "mask": np.ones(8, bool)}
    placed = shard_batch(mesh, batch)
    np.testing.assert_array_equal(np.asarray(placed["x"]), batch["x"])
    assert placed["x"].sharding == sharded(mesh)
    for number, shard in enumerate(placed["x"].addressable_shards):
        np.testing.assert_array_equal(shard.data, batch["x"][2 * number : 2 * number + 2])


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"x": np.float32(1)}, r"\['x'\] is a scalar"),
        ({"x": np.ones((4, 2)), "y": np.ones(8)}, "leading axes"),
        ({"x": np.ones((6, 2))}, "multiple of this process's 4 devices"),
        ({"x": np.ones((0, 2))}, "positive multiple"),
    ],
)
def test_bad_batches_are_refused(batch: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shard_batch(make_mesh(), batch)


def test_replicate_copies_and_keeps_typed_keys() -> None:
    mesh = make_mesh()
    source = {"w": jnp.arange(3.0), "n": np.int32(2), "key": jax.random.key(3)}
    placed = replicate(mesh, source)
    assert all(
        leaf.sharding.is_equivalent_to(replicated(mesh), leaf.ndim)
        for leaf in jax.tree.leaves(placed)
    )
    assert placed["key"].dtype == source["key"].dtype
    np.testing.assert_array_equal(
        jax.random.key_data(placed["key"]), jax.random.key_data(source["key"])
    )
    jax.jit(lambda tree: jax.tree.map(jnp.copy, tree), donate_argnums=0)(placed)
    np.testing.assert_array_equal(source["w"], [0.0, 1.0, 2.0])  # the source is not donated


def test_shard_rows_pads_to_the_devices() -> None:
    mesh = make_mesh()
    table = np.arange(12, dtype=np.float16).reshape(6, 2)
    placed = shard_rows(mesh, table)
    assert placed.shape == (8, 2) and placed.dtype == np.float16
    np.testing.assert_array_equal(np.asarray(placed), np.pad(table, [(0, 2), (0, 0)]))
    assert placed.addressable_shards[0].data.shape == (2, 2)


def test_shard_rows_of_fewer_rows_than_devices() -> None:
    placed = shard_rows(make_mesh(), np.ones((1, 2), np.float32))
    np.testing.assert_array_equal(np.asarray(placed), [[1, 1], [0, 0], [0, 0], [0, 0]])


def test_shard_rows_reads_only_the_rows_it_places() -> None:
    reads: list[slice] = []

    class Table:
        shape = (8, 2)

        def __getitem__(self, rows: slice) -> np.ndarray:
            reads.append(rows)
            return np.zeros((rows.stop - rows.start, 2), np.float32)

    shard_rows(make_mesh(), Table())
    assert sorted((rows.start, rows.stop) for rows in reads) == [(0, 2), (2, 4), (4, 6), (6, 8)]
