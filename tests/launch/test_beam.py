"""The launcher of the Beam build: what it would run, and the slips that it names."""

from __future__ import annotations

import ast
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from wikinav_jax.common.config import load_config
from wikinav_jax.datasets.tfds.command import beam_flags

ROOT = Path(__file__).resolve().parents[2]
SOURCE, PREPARED, OUTPUT = "gs://walks/dumps", "gs://walks/pages", "graphs/wiki"
PLACES = [f"--source={SOURCE}", f"--prepared={PREPARED}", f"--output={OUTPUT}"]
DATAFLOW = ["--runner=dataflow", *PLACES, "--project=my-project", "--region=us-central1"]
FLINK = ["--runner=flink", *PLACES, "--master=jobs:8081", "--image=registry/wikinav:1"]
SPARK = ["--runner=spark", *PLACES, "--master=spark://head:7077", "--image=registry/wikinav:1"]
DIRECT = ["--runner=direct", *PLACES]


def launch(*arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GOOGLE_CLOUD_PROJECT", "BEAM_REGION", "BEAM_IMAGE", "FLINK_MASTER")
    }
    return subprocess.run(
        ["bash", str(ROOT / "launch" / "build_wiki_beam.sh"), *arguments],
        env={**environment, **({"PATH": path} if path else {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def program(printed: str) -> dict[str, str]:
    """The flags of the last line, as a shell reads them."""
    words = shlex.split(printed.splitlines()[-1])
    assert words[:3] == [".venv/bin/python", "-m", "wikinav_jax.main"]
    return dict(word.removeprefix("--").split("=", 1) for word in words[3:])


def beam_options(flags: dict[str, str]) -> dict[str, object]:
    """What Apache Beam makes of them."""
    given = ast.literal_eval(flags.get("config.beam_options", "()"))
    options = PipelineOptions(beam_flags(flags["config.runner"], given))
    return options.get_all_options(drop_default=True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            [*DATAFLOW, "--workers=50"],
            {
                "runner": "DataflowRunner",
                "project": "my-project",
                "region": "us-central1",
                "temp_location": "gs://walks/beam-temp",
                "machine_type": "n2-standard-4",
                "max_num_workers": 50,
                "setup_file": "./setup.py",
            },
        ),
        (
            [*DATAFLOW, "--image=registry/wikinav:1", "--temp=gs://other/t", "--machine=e2-small"],
            {
                "sdk_container_image": "registry/wikinav:1",
                "sdk_location": "container",
                "temp_location": "gs://other/t",
                "machine_type": "e2-small",
            },
        ),
        (
            [*FLINK, "--workers=16", "--beam=--flink_version=1.20"],
            {
                "runner": "FlinkRunner",
                "flink_master": "jobs:8081",
                "flink_version": "1.20",
                "environment_type": "DOCKER",
                "environment_config": "registry/wikinav:1",
                "parallelism": 16,
            },
        ),
        (
            SPARK,
            {
                "runner": "SparkRunner",
                "spark_master_url": "spark://head:7077",
                "environment_type": "DOCKER",
                "environment_config": "registry/wikinav:1",
            },
        ),
        (
            [
                *DIRECT,
                "--beam=--direct_num_workers=2",
                "--beam=--direct_running_mode=multi_threading",
            ],
            {"runner": "DirectRunner", "direct_num_workers": 2},
        ),
        (DIRECT, {"runner": "DirectRunner"}),
    ],
    ids=["dataflow", "dataflow-image", "flink", "spark", "direct-flags", "direct"],
)
def test_a_dry_run_prints_flags_that_beam_reads(arguments, expected):
    done = launch(*arguments, "--dry-run", "--", "--config.keep_tables=True")
    assert done.returncode == 0, done.stderr
    extra = "dataflow" if "--runner=dataflow" in arguments else "beam"
    assert f"pip install --quiet --editable .\\[{extra}\\]" in done.stdout
    flags = program(done.stdout)
    assert flags["mode"] == "build" and flags["config"] == "configs/build_wiki_beam.py"
    assert flags["config.source"] == SOURCE and flags["config.prepared"] == PREPARED
    assert flags["config.output"] == OUTPUT and flags["config.keep_tables"] == "True"
    known = load_config(str(ROOT / "configs" / "build_wiki_beam.py"))
    assert all(
        name.removeprefix("config.") in known for name in flags if name.startswith("config.")
    )
    options = beam_options(flags)
    assert expected.items() <= options.items()
    # Both files are read where the launcher runs.
    files = {options[name] for name in ("setup_file", "requirements_file") if name in options}
    assert len(files) == (2 if "setup_file" in expected else 0)
    assert all((ROOT / file).is_file() for file in files)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (PLACES, "--runner is missing"),
        (["--runner=samza", *PLACES], "--runner=samza is none of"),
        (["--runner=direct", *PLACES[1:]], "--source is missing"),
        (["--runner=direct", PLACES[0]], "--prepared is missing"),
        (DATAFLOW[:-1], "--region is missing"),
        ([*DATAFLOW, "--source=/disk/dump.xml"], "do not reach /disk/dump.xml"),
        ([*DATAFLOW, "--temp=walks"], "no gs://BUCKET/FOLDER"),
        ([*DATAFLOW, "--project=a'b"], "holds a character"),
        ([*DATAFLOW, "--workers=many"], "--workers=many is not a number"),
        (FLINK[:-1], "--image is missing"),
        ([*FLINK, "--master="], "--master is missing"),
        ([*SPARK, "--workers=3"], "--workers is for the others"),
        ([*SPARK, "--master=head:7077"], "no spark://HOST:PORT"),
        ([*DIRECT, "--beam=--x='y'"], "holds a character"),
        ([*DIRECT, "--config=x"], "unexpected argument --config=x"),
        ([*DIRECT, "--", "--config.runner=flink"], "--config.runner=flink is set by this script"),
        ([*DIRECT, "--", "more"], "unexpected argument more behind --"),
    ],
)
def test_slips_are_named_before_anything_runs(arguments, message):
    done = launch(*arguments)
    assert done.returncode == 2 and message in done.stderr
    assert done.stdout == ""


def test_java_is_asked_for(tmp_path):
    for tool in ("bash", "basename", "dirname"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    done = launch(*FLINK, path=str(tmp_path))
    assert done.returncode == 2 and "Java is not installed here" in done.stderr


def test_help():
    done = launch("--help")
    assert done.returncode == 0 and "--prepared=PAGES" in done.stdout
