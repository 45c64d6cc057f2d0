"""Means of sums, and the files that metrics go to."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

from wikinav_jax.training.metrics import Accumulator, MetricWriter, means, read_metrics


def test_means_divide_last() -> None:
    sums = Accumulator()
    sums.add({"loss_sum": 6.0, "count": 2.0, "norm_sum": 3.0, "norm_count": 1.0})
    sums.add({"loss_sum": 4.0, "count": 8.0, "norm_sum": 5.0, "norm_count": 1.0})
    assert sums.take() == {"loss": 1.0, "norm": 4.0}
    assert sums.sums == {}


def test_a_mean_over_nothing_has_no_value() -> None:
    assert means({"loss_sum": 0.0, "count": 0.0, "hit_sum": 1.0, "hit_count": 2.0}) == {"hit": 0.5}


def test_bad_metric_names() -> None:
    with pytest.raises(ValueError, match="'loss' is neither"):
        means({"loss": 1.0})
    with pytest.raises(ValueError, match="'loss_sum' has no count"):
        means({"loss_sum": 1.0})
    sums = Accumulator({"loss_sum": 1.0, "count": 1.0})
    with pytest.raises(ValueError, match="the same names"):
        sums.add({"loss_sum": 1.0})


def test_sums_survive_json_exactly() -> None:
    sums = Accumulator()
    sums.add({"loss_sum": 0.1, "count": 3.0})
    sums.add({"loss_sum": 1e-17 + 0.2, "count": 3.0})
    copy = Accumulator(json.loads(json.dumps(sums.sums)))
    assert copy.take() == sums.take()


def rows_of(folder: Path) -> list[tuple[int, str, str, float]]:
    return [tuple(row.values()) for row in read_metrics(folder / "metrics.jsonl")]  # type: ignore[misc]


def test_rows_and_rewinding(tmp_path: Path) -> None:
    writer = MetricWriter(tmp_path / "new", tensorboard=False)
    writer.write(5, "train", {"loss": 0.5, "nothing": math.nan})
    writer.write(5, "eval", {"success": 1.0})
    writer.write(10, "train", {"loss": 0.25})
    assert rows_of(tmp_path / "new") == [
        (5, "train", "loss", 0.5),
        (5, "eval", "success", 1.0),
        (10, "train", "loss", 0.25),
    ]
    writer.rewind(9)
    assert [row[0] for row in rows_of(tmp_path / "new")] == [5, 5]
    writer.rewind(0)
    assert (tmp_path / "new" / "metrics.jsonl").read_bytes() == b""


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_half_written_last_line_is_dropped(tmp_path: Path, cut: int) -> None:
    writer = MetricWriter(tmp_path, tensorboard=False)
    for step in (1, 2, 3):
        writer.write(step, "train", {"loss": 1 / step})
    path = tmp_path / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: -cut - 1])  # -1: without the newline the row of step 3 is whole
    assert [row["step"] for row in read_metrics(path)] == [1, 2]
    writer.rewind(3)
    assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:2])
    writer.write(3, "train", {"loss": 1 / 3})
    assert path.read_bytes() == whole


def test_a_last_line_that_lacks_only_its_newline_is_kept(tmp_path: Path) -> None:
    writer = MetricWriter(tmp_path, tensorboard=False)
    writer.write(1, "train", {"loss": 1.0})
    path = tmp_path / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    writer.rewind(1)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("line", ["{", "[1]", '{"step": 1}', ""])
def test_a_damaged_middle_line_is_an_error(tmp_path: Path, line: str) -> None:
    writer = MetricWriter(tmp_path, tensorboard=False)
    writer.write(1, "train", {"loss": 1.0})
    with open(tmp_path / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write(line + "\n")
    writer.write(2, "train", {"loss": 1.0})
    with pytest.raises(ValueError, match=r"metrics.jsonl, line 2: .* move it away"):
        writer.rewind(2)


def events_of(folder: Path) -> list[Event]:
    events = []
    for file in sorted(folder.iterdir()):
        data = file.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            payload = data[12 : 12 + length]
            assert masked_crc32c(payload) == int.from_bytes(
                data[12 + length : 16 + length], "little"
            )
            events.append(Event.FromString(payload))
            data = data[16 + length :]
    return events


def test_tensorboard_events(tmp_path: Path) -> None:
    writer = MetricWriter(tmp_path)
    writer.write(7, "train", {"loss": 0.5})
    writer.write_scalars(7, {"train/steps_per_second": 3.0})
    writer.close()
    found = {
        (event.step, value.tag): value.simple_value
        for event in events_of(tmp_path / "tensorboard")
        for value in event.summary.value
    }
    assert found == {(7, "train/loss"): 0.5, (7, "train/steps_per_second"): 3.0}


def test_resuming_purges_later_events(tmp_path: Path) -> None:
    writer = MetricWriter(tmp_path)
    writer.rewind(7)
    writer.write(8, "train", {"loss": 0.5})
    writer.close()
    starts = [e.step for e in events_of(tmp_path / "tensorboard") if e.HasField("session_log")]
    assert starts == [8]
