"""What the command lines of benchmarks have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from wikinav_jax.common.files import write_json


def benchmark_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the flags of every benchmark; `description`: the first paragraph is shown."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write the result")
    return parser


def run_benchmark(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    measure: Callable[[argparse.Namespace], dict],
    print_table: Callable[[dict], None],
) -> dict:
    """Parses flags, measures, prints, and writes the result where --json says."""
    args = parser.parse_args(argv)
    result = measure(args)
    print_table(result)
    if args.json:
        write_json(args.json, result)
    return result
