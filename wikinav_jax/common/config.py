"""Checks on configs that ml_collections leaves to us."""

from __future__ import annotations

import inspect
import os
import runpy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from wikinav_jax.common.suggest import near_names


class ConfigError(ValueError):
    """A config or a flag that cannot be used; the message says what to change."""


def flatten(config: ConfigDict, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields (dotted name, value) of every leaf field, in the config's order."""
    for key, value in config.items():
        if isinstance(value, ConfigDict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def flag_value(argv: Sequence[str], name: str) -> str | None:
    """The value of `--name=value` or `--name value` in argv, the last one; None without."""
    value = None
    for place, arg in enumerate(argv):
        flag, equals, text = arg.partition("=")
        if flag.startswith("-") and flag.lstrip("-") == name:
            value = text if equals else next(iter(argv[place + 1 : place + 2]), None)
    return value


def load_config(path: str) -> ConfigDict:
    """The config of a file, given as `FILE` or `FILE:ARGUMENT` of its get_config.

    Raises ConfigError when the file cannot be read, has no get_config, or refuses the argument.
    """
    file, _, argument = path.partition(":")
    if not Path(file).is_file():
        folder = Path(file).parent
        near = near_names(Path(file).name, (entry.name for entry in folder.glob("*.py")), limit=3)
        hint = f" Near names in {folder}: {', '.join(near)}." if near else ""
        raise ConfigError(f"--config={path}: there is no file {file}.{hint}")
    try:
        get_config = runpy.run_path(file)["get_config"]
        if argument and not inspect.signature(get_config).parameters:
            raise ConfigError(f"--config={path}: {file} has no variants; leave :{argument} out")
        config = get_config(*([argument] if argument else []))
    except KeyError as error:
        raise ConfigError(f"--config={path}: {file} defines no function get_config") from error
    except (ValueError, TypeError, SyntaxError, ImportError) as error:
        raise ConfigError(f"--config={path}: {error}") from error
    if not isinstance(config, ConfigDict):
        raise ConfigError(
            f"--config={path}: get_config returned a {type(config).__name__}, not a ConfigDict"
        )
    return config


def cache_folder(config: ConfigDict) -> Path:
    """Where a run keeps what it builds (graphs, features, compiled programs) for the next one.

    Raises ConfigError when that is no folder and cannot become one.
    """
    name, folder = "config.cache_dir", config.cache_dir
    if not folder:
        name, folder = "WIKINAV_CACHE", os.environ.get("WIKINAV_CACHE") or "~/.cache/wikinav_jax"
    return check_folder(name, Path(folder).expanduser())


def check_folder(name: str, path: Path) -> Path:
    """Returns `path` if it is a folder or can become one; ConfigError where a file is in the way.

    Args:
      name: of the field or flag that gave it.
      path: old or new.
    """
    for place in (path, *path.parents):
        if place.is_dir():
            break
        if os.path.lexists(place):
            what = "it" if place == path else str(place)
            raise ConfigError(f"{name}={path}: {what} is a file; name a folder, old or new")
    return path


def check_override_names(config: ConfigDict, argv: Sequence[str]) -> None:
    """Raises ConfigError for a `--config.a.b` in argv that is no field of `config`."""
    known = dict(flatten(config))
    for arg in argv:
        name = arg.lstrip("-").partition("=")[0]
        if not arg.startswith("-") or not name.startswith("config."):
            continue
        name = name.removeprefix("config.")
        if name in known:
            continue
        if any(field.startswith(f"{name}.") for field in known):
            fields = [field for field in known if field.startswith(f"{name}.")]
            raise ConfigError(
                f"config.{name} is a group, not a field: set one of its fields, for example "
                f"--config.{fields[0]}=…"
            )
        near = near_names(name, known) or near_names(name.rpartition(".")[2], known)
        hint = f" Near names: {', '.join(near)}." if near else ""
        raise ConfigError(
            f"config.{name} is no field of this config.{hint} All fields: {', '.join(known)}"
        )


def check_choice(field: str, value: str, choices: Sequence[str]) -> None:
    """Raises ConfigError unless `value` is one of `choices`."""
    if value not in choices:
        near = near_names(value, choices, limit=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"config.{field}={value!r} is not one of {', '.join(choices)}.{hint}")


def check_range(field: str, value: float, low: float | None, high: float | None = None) -> None:
    """Raises ConfigError unless low <= value <= high (either bound may be None)."""
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        if low is None:
            bounds = f"at most {high}"
        raise ConfigError(f"config.{field}={value} must be {bounds}")
