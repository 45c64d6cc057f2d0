"""The command line: what goes wrong is one line for the user, and a traceback in a file."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from absl import flags
from absl.testing import flagsaver
from ml_collections import ConfigDict

from wikinav_jax import main
from wikinav_jax.training.loop import NonFiniteLossError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NonFiniteLossError("the metric 'loss_sum' is nan", 7, None), "at step 7"),
        (KeyError("no entity"), "error: no entity\n"),
        (ValueError("limit"), "error: limit\n"),
    ],
)
def test_errors_are_a_line_for_the_user(error, said, tmp_path, monkeypatch, capsys):
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(main, "run", fail)
    monkeypatch.setattr(main, "_CONFIG", SimpleNamespace(value=ConfigDict()))
    monkeypatch.delenv("WIKINAV_TRACEBACK", raising=False)
    with flagsaver.flagsaver():
        flags.FLAGS(["main", f"--workdir={tmp_path}"])
        assert main._main(["main"]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("error: ") and said in printed
    assert "Traceback" not in printed
    assert "Traceback" in (tmp_path / "error.log").read_text()
