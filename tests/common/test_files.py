"""Files and folders are whole or absent."""

from __future__ import annotations

import pytest

from wikinav_jax.common import files


def test_atomic_file_replaces_only_on_success(tmp_path):
    path = tmp_path / "deep" / "value.txt"
    with files.atomic_file(path) as temporary:
        temporary.write_text("one")
        assert not path.exists()
    assert path.read_text() == "one"
    with pytest.raises(RuntimeError), files.atomic_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "one"
    assert [entry.name for entry in path.parent.iterdir()] == ["value.txt"]


def test_atomic_directory_replaces_only_on_success(tmp_path):
    path = tmp_path / "folder"
    for content in ("one", "two"):
        with files.atomic_directory(path) as temporary:
            (temporary / "a").write_text(content)
        assert (path / "a").read_text() == content
    with pytest.raises(RuntimeError), files.atomic_directory(path) as temporary:
        (temporary / "a").write_text("half")
        raise RuntimeError
    assert (path / "a").read_text() == "two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_json_round_trip_and_errors(tmp_path):
    path = tmp_path / "value.json"
    files.write_json(path, {"titre": "Éire", "x": [1, 2.5, None]})
    assert files.read_json(path) == {"titre": "Éire", "x": [1, 2.5, None]}
    with pytest.raises(ValueError, match="Out of range"):
        files.write_json(path, float("nan"))
    path.write_text('{"a": ')
    with pytest.raises(ValueError, match=r"value\.json is not valid JSON"):
        files.read_json(path)


def test_hashes_are_stable(tmp_path):
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    # The test vector of FIPS 180-2.
    assert files.sha256_of(path).startswith("ba7816bf8f01cfea414140de5dae2223")
    assert files.fingerprint({"b": 1, "a": (2, 3)}) == files.fingerprint({"a": [2, 3], "b": 1})
    assert files.fingerprint({"a": 1}) != files.fingerprint({"a": 2})


def test_altered_files_are_found_up_to_a_size(tmp_path, monkeypatch):
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    before = files.sha256_of(path)
    assert not files.is_altered(path, before)
    path.write_bytes(b"abd")
    assert files.is_altered(path, before)
    monkeypatch.setattr(files, "CHECKED_BYTES", 2)
    assert not files.is_altered(path, before)
    assert files.is_altered(path, before, whole=True)
