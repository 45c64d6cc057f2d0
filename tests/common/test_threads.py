"""Several CPU devices get more threads than there are of them."""

from __future__ import annotations

import os

import pytest

from wikinav_jax.common import threads
from wikinav_jax.common.threads import leave_threads_for


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    for name in ("NPROC", "JAX_NUM_CPU_DEVICES", "XLA_FLAGS"):
        monkeypatch.setenv(name, "")  # put back afterwards, even what the call sets
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JAX_NUM_CPU_DEVICES", "4"),
        ("XLA_FLAGS", "--xla_dump_to=x --xla_force_host_platform_device_count=4"),
    ],
)
def test_devices_that_the_environment_asks_for(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    assert leave_threads_for()
    assert os.environ["NPROC"] == "8"


def test_devices_that_the_caller_knows():
    assert leave_threads_for(3)
    assert os.environ["NPROC"] == "6"


def test_one_device_enough_cores_and_the_users_own_setting_stay(monkeypatch):
    assert not leave_threads_for()
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "1")
    assert not leave_threads_for()
    assert "NPROC" not in os.environ
    monkeypatch.setattr(threads, "_cores", lambda: 8)
    assert not leave_threads_for(4)
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    monkeypatch.setenv("NPROC", "3")
    assert not leave_threads_for(4)
    assert os.environ["NPROC"] == "3"
