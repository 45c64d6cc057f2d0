"""Command line: `python -m wikinav_jax.main --config=configs/NAME.py --workdir=DIR`.

Flags only; the work is done by the room that `config.room` names.
"""

from __future__ import annotations

import io
import logging as logging_lib
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

from wikinav_jax.common.allocator import keep_freed_memory
from wikinav_jax.common.threads import leave_threads_for

if __name__ == "__main__":
    # Before NumPy starts threads: one that has an arena of its own would go on faulting in it.
    keep_freed_memory()
    leave_threads_for()  # before jax starts

# ruff: isort: split
from absl import app, flags, logging
from ml_collections import ConfigDict, config_flags

from wikinav_jax.common.config import (
    ConfigError,
    check_folder,
    check_override_names,
    flag_value,
    load_config,
)
from wikinav_jax.common.progress import set_quiet
from wikinav_jax.common.suggest import did_you_mean

MODES = ("train", "evaluate", "explain", "quiz", "build")

_CONFIG = config_flags.DEFINE_config_file(
    "config", None, "Experiment file; override a field by --config.a.b=VALUE.", lock_config=True
)
_WORKDIR = flags.DEFINE_string("workdir", None, "Folder for checkpoints, metrics and the report.")
_MODE = flags.DEFINE_enum(
    "mode", "train", MODES, "train also builds what is missing, evaluates and writes the report."
)
_QUIET = flags.DEFINE_bool("quiet", False, "No progress bars, warnings and errors only.")
_COORDINATOR = flags.DEFINE_string(
    "coordinator", None, "HOST:PORT of process 0, for a run over several processes ('auto' on TPU)."
)
_NUM_PROCESSES = flags.DEFINE_integer("num_processes", None, "How many processes run together.")
_PROCESS_ID = flags.DEFINE_integer("process_id", None, "Which of them this is, from 0.")


def _corpus() -> ModuleType:
    from wikinav_jax.datasets.sources import command

    return command


def _corpus_beam() -> ModuleType:
    from wikinav_jax.datasets.tfds import command

    return command


def _navigation() -> ModuleType:
    from wikinav_jax.navigation import run

    return run


def _debate() -> ModuleType:
    from wikinav_jax.debate import run

    return run


# Imported on use, so that the flags are read before jax is.
ROOMS = {
    "corpus": _corpus,
    "corpus_beam": _corpus_beam,
    "debate": _debate,
    "navigation": _navigation,
}
WITHOUT_WORKDIR = ("corpus", "corpus_beam")  # they say themselves where their result goes


def run(config: ConfigDict, workdir: Path | None, mode: str) -> None:
    """Runs one mode of the config's room; raises what the room raises."""
    if config.room not in ROOMS:
        raise ConfigError(
            f"config.room={config.room!r} is not one of {', '.join(ROOMS)}."
            + did_you_mean(config.room, ROOMS)
        )
    distributed = (_COORDINATOR.value, _NUM_PROCESSES.value, _PROCESS_ID.value)
    if distributed != (None, None, None):
        from wikinav_jax.training.distributed import initialize_distributed

        if _COORDINATOR.value == "auto":
            initialize_distributed(auto=True)
        else:
            initialize_distributed(*distributed)
    ROOMS[config.room]().run(config, workdir, mode)


def _is_for_the_user(record: logging_lib.LogRecord) -> bool:
    """Keeps our own lines and everybody's errors; orbax alone would print fifty lines a save."""
    return "wikinav_jax" in Path(record.pathname).parts or record.levelno >= logging_lib.ERROR


def _main(argv: list[str]) -> int:
    if len(argv) > 1:
        print(f"error: unexpected argument {argv[1]!r}; flags start with --", file=sys.stderr)
        return 2
    set_quiet(_QUIET.value)
    logging.set_verbosity(logging.WARNING if _QUIET.value else logging.INFO)
    logging.get_absl_handler().addFilter(_is_for_the_user)
    workdir = Path(flags.FLAGS.workdir).expanduser() if flags.FLAGS.workdir else None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows "?" for it
            stream.reconfigure(errors="replace")
    try:
        if workdir is not None:
            check_folder("--workdir", workdir)
        run(_CONFIG.value, workdir, _MODE.value)
    except (ValueError, OSError, LookupError, ArithmeticError, RuntimeError, ImportError) as error:
        # The message is for the user; the traceback, for whoever mends the code, goes to a file.
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"error: {message}", file=sys.stderr)
        if os.environ.get("WIKINAV_TRACEBACK"):
            traceback.print_exc()
        elif workdir is not None and workdir.is_dir():
            (workdir / "error.log").write_text(traceback.format_exc(), encoding="utf-8")
            print(f"(traceback: {workdir / 'error.log'})", file=sys.stderr)
        else:
            print("(WIKINAV_TRACEBACK=1 prints the traceback)", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from where it was", file=sys.stderr)
        return 130
    return 0


def _parse_flags(argv: list[str]) -> list[str]:
    """absl's parsing, with an error for unknown fields that lists the near names."""
    needs_workdir = True
    try:
        path = flag_value(argv, "config")
        if path and not {"--help", "--helpfull", "--helpshort", "-h"} & set(argv):
            config = load_config(path)
            check_override_names(config, argv)
            needs_workdir = config.get("room") not in WITHOUT_WORKDIR
        rest = flags.FLAGS(argv)
        for required in ("config", "workdir") if needs_workdir else ("config",):
            if flags.FLAGS[required].value is None:
                raise ConfigError(
                    f"--{required} is missing. Usage: python -m wikinav_jax.main "
                    "--config=configs/quickstart.py --workdir=runs/quickstart"
                )
        return rest
    except (flags.Error, ConfigError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def cli() -> None:
    """The entry point."""
    app.run(lambda argv: sys.exit(_main(argv)), flags_parser=_parse_flags)


if __name__ == "__main__":
    cli()
