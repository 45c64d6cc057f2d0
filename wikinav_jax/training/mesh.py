"""The device mesh, and the one place where data goes from host to device.

S below is the number of sampler shards: the leading axis of every leaf of a batch. Shard s of step
t is a function of (seed, s, t), so that one device, four devices, or two processes of two devices
see the same global batch. Axis 0 of a batch is split over the mesh axis 'data'; the state is
replicated. This replaces `pmap`: JAX sees one global computation and splits it itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

DATA_AXIS = "data"


def make_mesh(devices: Sequence[Any] | None = None) -> Mesh:
    """A one-dimensional mesh over `devices` (all devices of all processes when None)."""
    devices = list(jax.devices() if devices is None else devices)
    if not devices:
        raise ValueError("a mesh needs at least one device; pass devices=None for all of them")
    # Linen's Embed needs Auto axes: JAX then chooses the shardings inside the step.
    axis_types = (AxisType.Auto,)
    mesh = jax.make_mesh((len(devices),), (DATA_AXIS,), axis_types=axis_types, devices=devices)
    if not _contiguous_by_process(mesh.devices.flat):
        # A topology-aware order may interleave the hosts, but a process draws one range of shards.
        ordered = sorted(devices, key=lambda device: (device.process_index, device.id))
        mesh = Mesh(np.asarray(ordered), (DATA_AXIS,), axis_types=axis_types)
    return mesh


def _contiguous_by_process(devices: Any) -> bool:
    """Whether each process's devices stand side by side."""
    owners = [device.process_index for device in devices]
    changes = sum(left != right for left, right in itertools.pairwise(owners))
    return changes == len(set(owners)) - 1


def replicated(mesh: Mesh) -> NamedSharding:
    """Every device holds the whole array."""
    return NamedSharding(mesh, P())


def sharded(mesh: Mesh) -> NamedSharding:
    """Axis 0 is split over the devices."""
    return NamedSharding(mesh, P(DATA_AXIS))


def local_shards(num_shards: int, mesh: Mesh) -> range:
    """The shards that this process draws, of 0..num_shards-1.

    Raises ValueError when `num_shards` is not a positive multiple of the device count, or when
    this process has no device in the mesh.
    """
    if num_shards < 1 or num_shards % mesh.size:
        raise ValueError(
            f"num_shards={num_shards} is not a positive multiple of the {mesh.size} devices of "
            f"the mesh; use {max(1, -(-num_shards // mesh.size)) * mesh.size} shards"
        )
    process = jax.process_index()
    own = [i for i, device in enumerate(mesh.devices.flat) if device.process_index == process]
    if not own:
        raise ValueError(
            f"process {process} of {jax.process_count()} has no device in the mesh; build the "
            "mesh over all devices: make_mesh()"
        )
    per_device = num_shards // mesh.size
    return range(own[0] * per_device, (own[-1] + 1) * per_device)


def shard_batch(mesh: Mesh, batch: Any) -> Any:
    """Puts this process's shards on its devices; the result is the global batch.

    Every leaf is a NumPy array [S_local, ...] with the same S_local = len(local_shards(S, mesh));
    the result's leaves are [S, ...], split over 'data'. The training loop calls this and nothing
    else to move data to devices. Raises ValueError for scalars and for uneven leading axes.
    """
    own = sum(device.process_index == jax.process_index() for device in mesh.devices.flat)
    leaves = jax.tree_util.tree_leaves_with_path(batch)
    sizes = {}
    for path, leaf in leaves:
        name = jax.tree_util.keystr(path)
        if np.ndim(leaf) == 0:
            raise ValueError(
                f"batch{name} is a scalar; every leaf of a batch has a leading shard axis [S, ...]"
            )
        sizes[name] = np.shape(leaf)[0]
    if len(set(sizes.values())) > 1 or any(size == 0 or size % own for size in sizes.values()):
        raise ValueError(
            f"the leading axes of the batch are {sizes}; all must be the same positive multiple "
            f"of this process's {own} devices: draw the shards of local_shards(num_shards, mesh)"
        )
    with jax.transfer_guard("allow"):  # explicit by being here; JAX's guard cannot tell
        return jax.make_array_from_process_local_data(sharded(mesh), batch)


def replicate(mesh: Mesh, tree: Any) -> Any:
    """A copy of `tree` (NumPy or JAX arrays, the same in every process) on every device.

    The result shares no buffer with `tree`, so that a step may donate it. Typed keys are kept.
    """
    sharding = replicated(mesh)

    def place(leaf: Any) -> jax.Array:
        if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            bits = place(jax.random.key_data(leaf))
            return jax.random.wrap_key_data(bits, impl=jax.random.key_impl(leaf))
        host = np.array(jax.device_get(leaf))
        return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])

    with jax.transfer_guard("allow"):
        return jax.tree.map(place, tree)


def shard_rows(mesh: Mesh, table: Any) -> jax.Array:
    """A big table [N, ...] with its rows split over the devices, padded by zero rows.

    `table` is any array-like with the whole table in each process (a memory map will do: each
    process reads its own rows only). The result has N rounded up to a multiple of the devices.
    """
    rows = -(-table.shape[0] // mesh.size) * mesh.size

    def block(index: Any) -> np.ndarray:
        start, stop, _ = index[0].indices(rows)
        part = np.asarray(table[start : min(stop, table.shape[0])])
        padding = [(0, stop - start - part.shape[0])] + [(0, 0)] * (part.ndim - 1)
        return np.pad(part, padding)

    with jax.transfer_guard("allow"):
        return jax.make_array_from_callback((rows, *table.shape[1:]), sharded(mesh), block)
