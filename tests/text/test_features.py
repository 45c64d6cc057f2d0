"""Feature tables: contents, resuming after a kill, and every way that one can be wrong."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from wikinav_jax.common import files
from wikinav_jax.common.files import sha256_of
from wikinav_jax.common.progress import progress
from wikinav_jax.text.features import build_table, open_table, text_hash

TEXTS = [("word " * (i * 7 % 13)) + str(i) for i in range(50)]
HEADER = {"encoder": "toy", "pooling": "mean"}
BUILDER = Path(__file__).with_name("build_slowly.py")


def lengths(texts: list[str]) -> np.ndarray:
    """Two features: characters, and the number at the end."""
    return np.array([[len(text), int(text.split()[-1])] for text in texts], np.float32) / 3


def build(path, texts=TEXTS, encode=lengths, *, header=HEADER, dtype="float32", **kwargs):
    return build_table(path, texts, encode, dim=2, header=header, dtype=dtype, **kwargs)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 0), ("float16", 2**-11), ("bfloat16", 2**-8)]
)
def test_rows_stand_in_the_order_of_the_texts(tmp_path, dtype, tolerance):
    table = build(tmp_path / "t", dtype=dtype, chunk_size=7)
    assert len(table) == 50 and table.dim == 2 and table.array.dtype.name == dtype
    assert isinstance(table.array, np.memmap) and not table.array.flags.writeable
    np.testing.assert_allclose(table.rows(), lengths(TEXTS), rtol=tolerance)
    picked = table.rows(np.array([3, 1]))
    assert picked.dtype == np.float32
    np.testing.assert_allclose(picked, lengths([TEXTS[3], TEXTS[1]]), rtol=tolerance)
    assert table.header == HEADER | {
        "format_version": 1,
        "dtype": dtype,
        "dim": 2,
        "count": 50,
        "text_hash": text_hash(TEXTS),
        "sha256": sha256_of(table.path / "rows.bin"),
    }
    assert sorted(p.name for p in table.path.iterdir()) == ["header.json", "rows.bin"]
    assert [p.name for p in tmp_path.iterdir()] == ["t"]


def test_chunks_are_sorted_longest_first(tmp_path):
    seen: list[list[str]] = []

    def encode(texts):
        seen.append(texts)
        return lengths(texts)

    build(tmp_path / "t", encode=encode, chunk_size=20)
    assert [len(chunk) for chunk in seen] == [20, 20, 10]
    flat = [len(text) for chunk in seen for text in chunk]
    assert flat == sorted(flat, reverse=True)


def test_a_finished_table_is_not_encoded_again(tmp_path):
    first = build(tmp_path / "t")

    def never(texts):
        raise AssertionError("encoded again")

    again = build(tmp_path / "t", encode=never)
    assert again.array.tobytes() == first.array.tobytes()


def test_text_hash_sees_order_and_borders():
    hashes = {text_hash(t) for t in (["ab", "c"], ["a", "bc"], ["c", "ab"], ["ab", "c", ""])}
    assert len(hashes) == 4
    assert text_hash(["\ud800 lone surrogate"]) != text_hash(["? lone surrogate"])


def test_sigkill_then_resume_equals_an_uninterrupted_build(tmp_path):
    whole = build(tmp_path / "whole", chunk_size=4)
    target, log = tmp_path / "killed", tmp_path / "log"
    progress = tmp_path / ".killed.partial" / "progress.json"
    process = subprocess.Popen([sys.executable, str(BUILDER), str(target), str(log), "0.05"])
    try:
        deadline = time.monotonic() + 120
        while not (progress.exists() and json.loads(progress.read_text())["chunks_done"] >= 3):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -9
    assert not target.exists()
    with pytest.raises(FileNotFoundError, match="cut short; build it again and it resumes"):
        open_table(target)
    done = json.loads(progress.read_text())["chunks_done"]
    assert 3 <= done < 13

    log.write_text("")
    subprocess.run([sys.executable, str(BUILDER), str(target), str(log), "0"], check=True)
    assert len(log.read_text().splitlines()) == 13 - done  # only what was not yet done
    table = open_table(target)
    assert table.array.tobytes() == whole.array.tobytes()
    assert table.header == whole.header
    assert not progress.parent.exists()


def interrupted(path: Path, after: int, **kwargs) -> None:
    """Starts a table and fails in chunk `after`."""
    calls = 0

    def encode(texts):
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        return lengths(texts)

    with pytest.raises(KeyboardInterrupt):
        build(path, encode=encode, **kwargs)


def test_a_started_table_keeps_its_chunk_size(tmp_path):
    whole = build(tmp_path / "whole", chunk_size=4)
    interrupted(tmp_path / "t", after=5, chunk_size=4)
    sizes: list[int] = []

    def encode(texts):
        sizes.append(len(texts))
        return lengths(texts)

    table = build(tmp_path / "t", encode=encode, chunk_size=30)
    assert sizes == [4] * 7 + [2]
    assert table.array.tobytes() == whole.array.tobytes()


def test_the_bar_counts_blocks_and_starts_where_the_last_run_stopped(tmp_path, monkeypatch):
    interrupted(tmp_path / "t", after=3, chunk_size=4)
    bars: list[dict] = []

    def watched(**kwargs):
        bars.append(kwargs)
        return progress(**kwargs)

    monkeypatch.setattr("wikinav_jax.text.features.progress", watched)
    build(tmp_path / "t", desc="features")
    assert bars == [{"desc": "features", "total": 50, "initial": 12, "unit": "block"}]


def test_a_started_table_of_other_facts_is_refused(tmp_path):
    interrupted(tmp_path / "t", after=2, chunk_size=4)
    with pytest.raises(
        ValueError, match=r"started with encoder='toy', but encoder='other'.*delete"
    ):
        build(tmp_path / "t", header=HEADER | {"encoder": "other"})
    with pytest.raises(ValueError, match="started with text_hash="):
        build(tmp_path / "t", TEXTS[::-1])


def test_lost_rows_of_a_started_table_are_made_again(tmp_path):
    whole = build(tmp_path / "whole", chunk_size=4)
    interrupted(tmp_path / "t", after=2, chunk_size=4)
    rows = tmp_path / ".t.partial" / "rows.bin"
    rows.write_bytes(rows.read_bytes()[:40])
    assert build(tmp_path / "t").array.tobytes() == whole.array.tobytes()


def test_a_kill_just_before_the_last_rename_costs_nothing(tmp_path, monkeypatch):
    replace = os.replace

    def die_at_the_end(source, target):
        if Path(target).name == "t":
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", die_at_the_end)
        with pytest.raises(KeyboardInterrupt):
            build(tmp_path / "t")

    def never(texts):
        raise AssertionError("encoded again")

    np.testing.assert_array_equal(build(tmp_path / "t", encode=never).rows(), lengths(TEXTS))


def test_two_builders_of_one_table(tmp_path):
    partial = tmp_path / ".t.partial"
    partial.mkdir()
    with open(partial / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RuntimeError, match="another process is building"):
            build(tmp_path / "t")
    assert len(build(tmp_path / "t")) == 50


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"encoder": "bert"}, "encoder='toy', but encoder='bert' is wanted: delete"),
        ({"pooling": "cls"}, "pooling='mean', but pooling='cls' is wanted"),
        ({"unit_norm": True}, "unit_norm=None, but unit_norm=True is wanted"),
        ({"dim": 3}, "dim=2, but dim=3"),
        ({"text_hash": "0"}, "text_hash='[0-9a-f]{64}', but text_hash='0'"),
    ],
)
def test_mismatches_name_the_field_both_values_and_the_remedy(tmp_path, expected, message):
    build(tmp_path / "t")
    assert len(open_table(tmp_path / "t", HEADER)) == 50
    with pytest.raises(ValueError, match=message):
        open_table(tmp_path / "t", expected)


def test_other_texts_do_not_reuse_a_table(tmp_path):
    build(tmp_path / "t")
    with pytest.raises(ValueError, match="count=50, but count=49 is wanted"):
        build(tmp_path / "t", TEXTS[:-1])
    with pytest.raises(ValueError, match="text_hash="):
        build(tmp_path / "t", TEXTS[::-1])


def test_damaged_tables(tmp_path):
    path = tmp_path / "t"
    with pytest.raises(FileNotFoundError, match="no feature table at"):
        open_table(path)
    build(path)
    rows = (path / "rows.bin").read_bytes()
    (path / "rows.bin").write_bytes(rows[:-3])
    with pytest.raises(
        ValueError, match=r"has 397 bytes where 50 rows of 2 float32 take 400.*trunc"
    ):
        open_table(path)
    (path / "rows.bin").write_bytes(rows + b"12")
    with pytest.raises(ValueError, match="no table of this header"):
        open_table(path)
    (path / "rows.bin").write_bytes(rows)
    header = json.loads((path / "header.json").read_text())
    for change, message in (
        ({"format_version": 2}, "has format version 2, this code reads 1"),
        ({"dtype": "int8"}, "dtype 'int8' is not one of"),
    ):
        (path / "header.json").write_text(json.dumps(header | change))
        with pytest.raises(ValueError, match=message):
            open_table(path)
    (path / "header.json").write_text('{"count": 5}')
    with pytest.raises(ValueError, match=r"lacks .* so .* is no feature table"):
        open_table(path)
    (path / "header.json").write_text("[]")
    with pytest.raises(ValueError, match="is no feature table"):
        open_table(path)
    (path / "header.json").write_text('{"coun')
    with pytest.raises(ValueError, match="not valid JSON"):
        open_table(path)
    (path / "rows.bin").unlink()
    with pytest.raises(FileNotFoundError):
        open_table(path)


def test_altered_rows(tmp_path, monkeypatch):
    path = build(tmp_path / "t").path
    rows = bytearray((path / "rows.bin").read_bytes())
    rows[-1] ^= 1
    (path / "rows.bin").write_bytes(rows)
    for use in (open_table, build):
        with pytest.raises(ValueError, match=rf"rows\.bin was altered: .*; delete {path} and"):
            use(path)
    # Large tables are read on demand only.
    monkeypatch.setattr(files, "CHECKED_BYTES", len(rows) - 1)
    open_table(path)
    with pytest.raises(ValueError, match="was altered"):
        open_table(path, verify=True)
    # Tables of earlier versions tell no hash.
    header = json.loads((path / "header.json").read_text())
    assert header.pop("sha256")
    (path / "header.json").write_text(json.dumps(header))
    open_table(path, verify=True)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"texts": []}, "the corpus is empty"),
        ({"dtype": "int8"}, "dtype='int8' is not one of"),
        ({"chunk_size": 0}, "chunk_size=0 and dim=2 must be at least 1"),
        ({"header": {"sha256": ""}}, r"header fields \['sha256'\] are set by build_table"),
        ({"header": {"dim": 3}}, r"header fields \['dim'\] are set by build_table"),
        ({"encode": lambda t: np.zeros((len(t), 3))}, r"returned shape \(50, 3\) for 50 texts"),
        ({"encode": lambda t: np.zeros(len(t))}, r"returned shape \(50,\)"),
        ({"encode": lambda t: lengths(t) * np.nan}, "features of text .* are not finite"),
        (
            {"encode": lambda t: lengths(t) * 1e5, "dtype": "float16"},
            "not finite in float16; store them as float32 or bfloat16",
        ),
    ],
)
def test_bad_input_is_refused(tmp_path, kwargs, message):
    with pytest.raises(ValueError, match=message):
        build(tmp_path / "t", **kwargs)
    assert not (tmp_path / "t").exists()
