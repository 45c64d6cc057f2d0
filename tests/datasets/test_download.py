"""Downloads against a server on this machine that cuts, lies and refuses; archives that attack."""

from __future__ import annotations

import gzip
import hashlib
import io
import stat
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from wikinav_jax.datasets.download import fetch, unpack

CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Site:
    """What the server does; `requests` are the Range headers it got."""

    content: bytes = CONTENT
    etag: str | None = '"v1"'
    ranges: bool = True
    cut_after: list[int] = field(default_factory=list)  # bytes sent, per request, then silence
    statuses: list[int] = field(default_factory=list)  # to answer instead, per request
    requests: list[str | None] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            site.requests.append(asked)
            if site.statuses and (status := site.statuses.pop(0)) != 200:
                self.send_error(status)
                return
            start = 0
            fresh = self.headers.get("If-Range") == site.etag
            if asked and site.ranges and fresh:
                start = int(asked.removeprefix("bytes=").rstrip("-"))
                if start >= len(site.content):
                    self.send_error(416)
                    return
                self.send_response(206)
                end = len(site.content) - 1
                self.send_header("Content-Range", f"bytes {start}-{end}/{end + 1}")
            else:
                self.send_response(200)
            if site.etag:
                self.send_header("ETag", site.etag)
            self.send_header("Content-Length", str(len(site.content) - start))
            self.end_headers()
            body = site.content[start:]
            self.wfile.write(body[: site.cut_after.pop(0)] if site.cut_after else body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}/data.tar.gz"
    yield site
    server.shutdown()
    thread.join()
    server.server_close()


def get(site: Site, path: Path, sha256: str | None = SHA256, retries: int = 2) -> Path:
    return fetch(site.url, path, sha256=sha256, retries=retries, wait=0.01, timeout=5)


def test_a_whole_file(site: Site, tmp_path: Path):
    path = get(site, tmp_path / "new" / "data.tar.gz")
    assert path.read_bytes() == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["data.tar.gz"]
    get(site, path)
    assert len(site.requests) == 1, "a file that is there is not downloaded again"


def test_a_cut_connection_is_resumed(site: Site, tmp_path: Path):
    site.cut_after = [100_000, 50_000]
    assert get(site, tmp_path / "data").read_bytes() == CONTENT
    assert site.requests == [None, "bytes=100000-", "bytes=150000-"]


def test_a_later_call_resumes(site: Site, tmp_path: Path):
    site.cut_after = [100_000]
    with pytest.raises(ConnectionError, match=r"byte 100000 of 300000.*data\.part") as error:
        get(site, tmp_path / "data", retries=0)
    assert site.url in str(error.value) and "--config.data_dir" in str(error.value)
    assert not (tmp_path / "data").exists()
    assert get(site, tmp_path / "data").read_bytes() == CONTENT
    assert site.requests == [None, "bytes=100000-"]


@pytest.mark.parametrize("change", ["no ranges", "no ETag", "changed since"])
def test_what_cannot_be_resumed_is_read_from_the_start(site: Site, tmp_path: Path, change: str):
    site.cut_after = [100_000]
    site.etag = None if change == "no ETag" else '"v1"'
    with pytest.raises(ConnectionError):
        get(site, tmp_path / "data", sha256=None, retries=0)
    if change == "no ranges":
        site.ranges = False
    if change == "changed since":
        site.etag, site.content = '"v2"', CONTENT[::-1]
    assert get(site, tmp_path / "data", sha256=None).read_bytes() == site.content


def test_a_part_that_is_longer_than_the_file(site: Site, tmp_path: Path):
    (tmp_path / "data.part").write_bytes(CONTENT + b"more")
    (tmp_path / "data.part.validator").write_text('"v1"')
    assert get(site, tmp_path / "data").read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(site: Site, tmp_path: Path):
    with pytest.raises(ValueError, match=r"SHA-256 .* should have 0{64}.*delete it"):
        get(site, tmp_path / "data", sha256="0" * 64)
    assert not list(tmp_path.glob("data")) + list(tmp_path.glob("data.part"))


def test_a_file_that_is_there_but_damaged(site: Site, tmp_path: Path):
    (tmp_path / "data").write_bytes(CONTENT[:-1])
    with pytest.raises(ValueError, match="damaged or was replaced"):
        get(site, tmp_path / "data")


def test_without_a_checksum_the_first_download_is_trusted(site: Site, tmp_path: Path):
    path = get(site, tmp_path / "data", sha256=None)
    assert (tmp_path / "data.sha256").read_text() == SHA256 + "\n"
    assert get(site, path, sha256=None) == path
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match=SHA256):
        get(site, path, sha256=None)


def test_not_found_is_not_tried_again(site: Site, tmp_path: Path):
    site.statuses = [404]
    with pytest.raises(FileNotFoundError, match=r"HTTP 404.*--config\.data_dir") as error:
        get(site, tmp_path / "data")
    assert site.url in str(error.value)
    assert len(site.requests) == 1


def test_a_server_error_is_tried_again(site: Site, tmp_path: Path):
    site.statuses = [503, 500, 200]
    assert get(site, tmp_path / "data").read_bytes() == CONTENT


@pytest.mark.parametrize(("statuses", "tries"), [([503] * 3, 3), ([403], 1)])
def test_a_server_that_keeps_failing(site: Site, tmp_path: Path, statuses: list[int], tries: int):
    site.statuses = statuses
    with pytest.raises(ConnectionError, match=rf"HTTP {statuses[0]}.*by hand"):
        get(site, tmp_path / "data")
    assert len(site.requests) == tries


def test_no_network(tmp_path: Path):
    url = "http://127.0.0.1:9/data.tar.gz"  # the discard port: nobody listens
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:9/data.*after 2 tries.*by hand"):
        fetch(url, tmp_path / "data", sha256=None, retries=1, wait=0.01)


def test_only_https(tmp_path: Path):
    with pytest.raises(ValueError, match="only https"):
        fetch("http://example.org/data", tmp_path / "data", sha256=None)


def tar_with(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def entry(name: str, **attributes: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for key, value in attributes.items():
        setattr(info, key, value)
    return info


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.bz2", "tar.xz", "zip"])
def test_unpack(kind: str, tmp_path: Path):
    archive = tmp_path / f"data.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("a/", "")
            file.writestr("a/é.txt", "text")
    else:
        with tarfile.open(archive, f"w:{kind.partition('.')[2]}") as tar:
            tar.addfile(entry("a", type=tarfile.DIRTYPE, mode=0o000))
            tar.addfile(entry("a/é.txt", size=4, mode=0o4777), io.BytesIO(b"text"))
    folder = unpack(archive, tmp_path / "out")
    assert folder == tmp_path / "out"
    assert (folder / "a" / "é.txt").read_text() == "text"
    assert not (folder / "a" / "é.txt").stat().st_mode & (stat.S_ISUID | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (entry("../evil"), "outside"),
        (entry("a/../../evil"), "outside"),
        (entry("/evil"), "outside"),
        (entry("..\\evil"), "outside"),
        (entry("C:\\evil"), "outside"),
        (entry("evil", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "a link or a device"),
        (entry("evil", type=tarfile.LNKTYPE, linkname="good"), "a link or a device"),
        (entry("evil", type=tarfile.CHRTYPE), "a link or a device"),
        (entry("evil", type=tarfile.FIFOTYPE), "a link or a device"),
    ],
)
def test_hostile_members_of_a_tar(member: tarfile.TarInfo, why: str, tmp_path: Path):
    archive = tar_with(tmp_path / "evil.tar.gz", (entry("good"), b"1"), (member, b""))
    with pytest.raises(ValueError, match=rf"evil.*{why}.*nothing of it was unpacked"):
        unpack(archive, tmp_path / "inner" / "out")
    assert not list((tmp_path / "inner").iterdir()), "nor is anything left of the good member"


@pytest.mark.parametrize("name", ["../evil", "/evil", "link"])
def test_hostile_members_of_a_zip(name: str, tmp_path: Path):
    info = zipfile.ZipInfo(name)
    if name == "link":
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as file:
        file.writestr(info, "/etc/passwd")
    with pytest.raises(ValueError, match="nothing of it was unpacked"):
        unpack(tmp_path / "evil.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_limits(tmp_path: Path):
    archive = tar_with(tmp_path / "big.tar.gz", (entry("a"), bytes(1000)), (entry("b"), bytes(1)))
    with pytest.raises(ValueError, match="more than max_bytes=1000 bytes"):
        unpack(archive, tmp_path / "out", max_bytes=1000)
    with pytest.raises(ValueError, match="more than max_files=1 members"):
        unpack(archive, tmp_path / "out", max_files=1)
    unpack(archive, tmp_path / "out", max_bytes=1001, max_files=2)


def test_a_failure_keeps_what_was_there(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    archive = tar_with(tmp_path / "evil.tar.gz", (entry("../evil"), b""))
    with pytest.raises(ValueError):
        unpack(archive, tmp_path / "out")
    assert (tmp_path / "out" / "old").exists()


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2", ""])
def test_truncated_archives(kind: str, tmp_path: Path):
    whole = tmp_path / "whole.tar"
    with tarfile.open(whole, f"w:{kind}") as tar:
        tar.addfile(entry("a", size=len(CONTENT)), io.BytesIO(CONTENT))
    (tmp_path / "cut.tar").write_bytes(whole.read_bytes()[:200_000])
    with pytest.raises(ValueError, match=r"cut\.tar is truncated or no archive"):
        unpack(tmp_path / "cut.tar", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "content", [b"", b"<html>Not found</html>", gzip.compress(b"no tar", mtime=0)]
)
def test_no_archive(content: bytes, tmp_path: Path):
    (tmp_path / "data.tar.gz").write_bytes(content)
    with pytest.raises(ValueError, match="truncated or no archive"):
        unpack(tmp_path / "data.tar.gz", tmp_path / "out")


def test_no_file(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no archive at"):
        unpack(tmp_path / "data.tar.gz", tmp_path / "out")
