"""Checkpointer: whole train states on disk, written while training runs on.

`directory/STEP/` holds `state/` (Orbax arrays) and `run/metadata`, a small JSON of ours: format
version, the identity of the run, the shape of every array, and the loop's progress. A folder takes
its final name last, so one that a kill cut off is never mistaken for a checkpoint; and the size
and hash of every file of `state/` are written with it, so that later damage is found and named.
"""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import jax
import orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import (
    AnyPreservationPolicy,
    LatestN,
    PolicyCheckpointInfo,
    PreservationContext,
    PreservationPolicy,
)

from wikinav_jax.common.files import read_json, sha256_of, write_json
from wikinav_jax.common.lock import FileLock
from wikinav_jax.training.distributed import agreed_by_first
from wikinav_jax.training.state import TrainState

FORMAT = "wikinav_jax checkpoint"
FORMAT_VERSION = 1
_LISTING = "files.json"  # path in state/ -> [bytes, sha256]
_TEMPORARY = ".orbax-checkpoint-tmp"  # in the name of a folder that Orbax has not finished


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; says which path, what is wrong and the remedy."""


class _Manager(ocp.CheckpointManager):
    """Orbax's manager without its own questions to JAX's preemption service.

    Orbax asks about old steps from a background thread. The service takes the step last asked
    about as this process's position, so such a question can make it agree on a step that has
    passed, and the run would never stop. SigtermWatch alone asks, once per step.
    """

    def reached_preemption(self, step: int) -> bool:
        return False


class _VerifiedHandler(ocp.StandardCheckpointHandler):
    """Orbax's array writer, which also lists what it wrote.

    `finalize` runs in the background on one process, when all files are complete and before the
    folder takes its final name.
    """

    def finalize(self, directory: Any) -> None:
        super().finalize(directory)
        root = Path(directory)
        files = sorted(path for path in root.rglob("*") if path.is_file())
        listed = {
            path.relative_to(root).as_posix(): [path.stat().st_size, sha256_of(path)]
            for path in files
        }
        write_json(root / _LISTING, listed)


class _KeepBest(PreservationPolicy):
    """Preserves the checkpoint with the best metric."""

    def __init__(self, checkpointer: Checkpointer) -> None:
        self._checkpointer = checkpointer

    def should_preserve(
        self, checkpoints: Sequence[PolicyCheckpointInfo], *, context: PreservationContext
    ) -> Sequence[bool]:
        best = self._checkpointer.best_step()
        return [info.step == best for info in checkpoints]


class Checkpointer:
    """Saves and restores TrainStates in `directory`; keeps the last `keep`, and the best one.

    `identity` is plain JSON that describes the run (such as the config's fields that shape the
    model or the data): a checkpoint with another identity is refused, naming the fields that
    differ. With `best_metric`, a checkpoint whose `metrics` have the best such value ("max" or
    "min" by `best_mode`) is kept too; ties go to the later step. `read_only` neither makes nor
    cleans the folder, for evaluating while another process trains. Otherwise the folder belongs to
    this run until `close`, or the end of the process: a second one there is refused, for two
    would mix their checkpoints and metrics. Meanwhile `.NAME.lock` lies beside the folder.

    All processes of a run call every method together, on a folder that all of them see. A URL
    (gs://...) is refused: mount the bucket. Raises CheckpointError for a folder that
    holds something else or where another run trains, and ValueError for bad arguments.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        keep: int = 2,
        identity: Mapping[str, Any] | None = None,
        best_metric: str | None = None,
        best_mode: str = "max",
        read_only: bool = False,
    ) -> None:
        if keep < 1:
            raise ValueError(f"keep={keep} is less than 1; a run needs its last checkpoint")
        if best_mode not in ("max", "min"):
            raise ValueError(f"best_mode={best_mode!r} is neither 'max' nor 'min'")
        if "://" in os.fspath(directory):
            raise ValueError(
                f"{directory} is a URL; checkpoints need a folder: mount the bucket (gcsfuse) and "
                "name the mounted folder"
            )
        self.directory = Path(directory).absolute()
        self.best_metric = best_metric
        self._best_mode = best_mode
        # As JSON would give it back (tuples become lists), so that it can be compared.
        self._identity = json.loads(json.dumps(dict(identity or {})))
        _check_folder(self.directory)
        self._lock = None if read_only else _locked(self.directory)
        try:
            self._open(keep, read_only)
        except BaseException:
            self._release()
            raise

    def _open(self, keep: int, read_only: bool) -> None:
        self._scores: dict[int, float] = {}
        policies: list[PreservationPolicy] = [LatestN(keep)]
        if self.best_metric is not None:
            policies.append(_KeepBest(self))
        registry = ocp.handlers.DefaultCheckpointHandlerRegistry()
        arrays, run = _VerifiedHandler(), ocp.JsonCheckpointHandler()
        registry.add("state", ocp.args.StandardSave, arrays)
        registry.add("state", ocp.args.StandardRestore, arrays)
        registry.add("run", ocp.args.JsonSave, run)
        self._manager = _Manager(
            self.directory,
            handler_registry=registry,
            options=ocp.CheckpointManagerOptions(
                create=not read_only,
                read_only=read_only,
                cleanup_tmp_directories=not read_only,
                preservation_policy=AnyPreservationPolicy(policies),
                save_root_metadata=False,
                # Reads no file of the steps at opening: our own checks come first.
                lightweight_initialize=True,
            ),
        )
        if self.best_metric is not None:
            for step in self._manager.all_steps():
                self._note_score(step, self.read_run(step)["metrics"])

    def latest_step(self) -> int | None:
        """The last finished or started save, None when there is none."""
        return self._manager.latest_step()

    def best_step(self) -> int | None:
        """The step with the best metric, None when no checkpoint has the metric."""
        if not self._scores:
            return None
        sign = 1 if self._best_mode == "max" else -1
        return max(self._scores, key=lambda step: (sign * self._scores[step], step))

    def path_of(self, step: int) -> Path:
        """The folder of a step's checkpoint."""
        return self.directory / str(step)

    def save(
        self,
        step: int,
        state: TrainState,
        *,
        progress: Mapping[str, Any] | None = None,
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        """Starts writing; returns when `state` may be changed or donated.

        `progress` is plain JSON for the loop. Waits for the save before, and raises what went
        wrong in it. Saving a step that is already there raises ValueError.
        """
        if step in self._manager.all_steps():
            raise ValueError(f"{self.path_of(step)} already exists; a step is saved once")
        metrics = dict(metrics or {})
        run = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "step": step,
            "identity": self._identity,
            "arrays": _describe(state),
            "progress": copy.deepcopy(dict(progress or {})),  # the caller goes on counting
            "metrics": metrics,
        }
        self._note_score(step, metrics)
        self._manager.save(
            step,
            args=ocp.args.Composite(state=ocp.args.StandardSave(state), run=ocp.args.JsonSave(run)),
            force=True,
        )

    def _note_score(self, step: int, metrics: Mapping[str, float]) -> None:
        score = math.nan if self.best_metric is None else metrics.get(self.best_metric, math.nan)
        if math.isfinite(score):
            self._scores[step] = score

    def read_run(self, step: int) -> dict[str, Any]:
        """Our JSON beside the state of `step`, checked for format, version and identity."""
        path = self.path_of(step)
        file = path / "run" / "metadata"
        if not file.is_file():
            raise CheckpointError(
                f"{path} is not a whole checkpoint of wikinav_jax: it has no run/metadata. "
                f"{_REMEDY}"
            )
        try:
            run = json.loads(file.read_bytes())
        except ValueError as error:
            raise CheckpointError(
                f"{file} is not JSON, so truncated: {error}. {_REMEDY}"
            ) from error
        if not isinstance(run, dict) or run.get("format") != FORMAT:
            raise CheckpointError(f"{file} was not written by wikinav_jax. {_REMEDY}")
        if run["version"] != FORMAT_VERSION:
            newer = run["version"] > FORMAT_VERSION
            raise CheckpointError(
                f"{path} has format version {run['version']}, this wikinav_jax reads version "
                f"{FORMAT_VERSION}; {'upgrade wikinav_jax' if newer else 'use an older one'}, or "
                "train in a new workdir"
            )
        if run["identity"] != self._identity:
            differences = _differences(run["identity"], self._identity)
            raise CheckpointError(
                f"{path} belongs to another run; checkpoint against now: "
                f"{'; '.join(differences)}. Use the same settings, or a new workdir"
            )
        return run

    def restore_latest(self, template: TrainState) -> TrainState | None:
        """The last state, or None when nothing was saved. See `restore`."""
        step = self.latest_step()
        return None if step is None else self.restore(step, template)

    def restore(self, step: int, template: TrainState) -> TrainState:
        """The state saved at `step`, placed like `template` (on whatever devices that is on).

        Raises CheckpointError when it is truncated, foreign, or of another shape. There is no
        falling back to an older step in silence: the error says how to do so.
        """
        path = self.path_of(step)
        run = self.read_run(step)
        differences = _differences(run["arrays"], _describe(template))
        if differences:
            raise CheckpointError(
                f"{path} holds another model or optimizer; checkpoint against now: "
                f"{'; '.join(differences)}. Use the settings it was trained with, or a new workdir"
            )
        damage = _damage(path / "state")
        if damage:
            raise CheckpointError(f"{path} is truncated or damaged: {damage}. {_REMEDY}")
        abstract = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding),
            template,
        )
        restored = self._manager.restore(
            step, args=ocp.args.Composite(state=ocp.args.StandardRestore(abstract))
        )
        return restored["state"]

    def wait(self) -> None:
        """Blocks until the save under way is whole on disk; raises what went wrong in it."""
        self._manager.wait_until_finished()

    def close(self) -> None:
        """Waits, ends the background threads and lets the folder go."""
        try:
            self._manager.close()
        finally:
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Checkpointer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


_REMEDY = (
    "Delete this folder to resume from the checkpoint before it (or from the start), or restore it "
    "from a copy"
)


def _locked(directory: Path) -> FileLock:
    """The folder's lock, held by the first process for all; CheckpointError where it is taken."""
    lock = FileLock(directory.with_name(f".{directory.name}.lock"))

    def take() -> bool:
        directory.parent.mkdir(parents=True, exist_ok=True)
        return lock.acquire()

    if not agreed_by_first(take):
        raise CheckpointError(
            f"{directory.parent} is in use: {lock.holder()} trains there. Wait for it or stop it, "
            "or give this run another --workdir"
        )
    return lock


def _check_folder(directory: Path) -> None:
    """Refuses a path that is a file, or a folder with anything but checkpoints in it."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise CheckpointError(f"{directory} is a file; checkpoints need a folder of their own")
    foreign = sorted(
        entry.name
        for entry in directory.iterdir()
        if not (entry.is_dir() and (entry.name.isdecimal() or _TEMPORARY in entry.name))
        and not entry.name.startswith(".")  # what file systems and desktops leave behind
    )
    if foreign:
        raise CheckpointError(
            f"{directory} is not a checkpoint folder of wikinav_jax: it holds {foreign[:5]}; name "
            "a new or empty folder"
        )


def _damage(folder: Path) -> str:
    """What is wrong with the files of a `state/` folder; empty when all is as it was written."""
    listing = folder / _LISTING
    if not listing.is_file():
        return f"{listing} is missing"
    try:
        listed = read_json(listing)
    except ValueError as error:
        return str(error)
    for name, (size, digest) in listed.items():
        path = folder / name
        if not path.is_file():
            return f"{path} is missing"
        if path.stat().st_size != size:
            return f"{path} has {path.stat().st_size} bytes instead of {size}"
        if sha256_of(path) != digest:
            return f"the content of {path} has changed"
    return ""


def _describe(state: TrainState) -> dict[str, str]:
    """Path -> "dtype[shape]" of every array, for saying in words how two states differ."""
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): f"{leaf.dtype}{list(leaf.shape)}"
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    }


def _differences(old: Any, new: Any, name: str = "", limit: int = 6) -> list[str]:
    """`name: old -> new` for every differing entry of two JSON-like values, at most `limit`."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in sorted({*old, *new}):
            path = f"{name}.{key}" if name else str(key)
            if key not in old:
                found.append(f"{path}: absent -> {json.dumps(new[key])}")
            elif key not in new:
                found.append(f"{path}: {json.dumps(old[key])} -> absent")
            else:
                found += _differences(old[key], new[key], path, limit + 1)
        if len(found) > limit:
            found = [*found[:limit], f"and {len(found) - limit} more"]
        return found
    return [] if old == new else [f"{name}: {json.dumps(old)} -> {json.dumps(new)}"]
