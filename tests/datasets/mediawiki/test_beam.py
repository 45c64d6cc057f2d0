"""The pages of a dump by Apache Beam: keys, limits, files that are elsewhere."""

from __future__ import annotations

import bz2
import itertools
import json
import os
import tempfile
import time
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.io.filesystem import FileMetadata, MatchResult
from apache_beam.io.localfilesystem import LocalFileSystem
from apache_beam.options.pipeline_options import PipelineOptions

from tests.datasets.mediawiki.dumps import Page, dump, header, numbered
from wikinav_jax.datasets.building.chunks import PageOptions
from wikinav_jax.datasets.building.records import work_on_records
from wikinav_jax.datasets.mediawiki import pages as pages_module
from wikinav_jax.datasets.mediawiki.beam import ParsePages, ReadFile
from wikinav_jax.datasets.mediawiki.remote import find_dump, local_copy, read_site
from wikinav_jax.datasets.mediawiki.titles import SiteInfo
from wikinav_jax.datasets.tfds.command import beam_flags


class Elsewhere(LocalFileSystem):
    """This machine's files under the scheme of another one: elsewhere:/folder/file."""

    @classmethod
    def scheme(cls):
        return "elsewhere"

    def match(self, patterns, limits=None):
        found = super().match([_local(pattern) for pattern in patterns], limits)
        return [
            MatchResult(
                pattern,
                [
                    FileMetadata(f"elsewhere:/{each.path}", each.size_in_bytes, 5.0)
                    for each in result.metadata_list
                    if Path(each.path).is_file()
                ],
            )
            for pattern, result in zip(patterns, found, strict=True)
        ]

    def open(self, path, *arguments, **options):
        return super().open(_local(path), *arguments, **options)


def _local(path: str) -> str:
    return path.removeprefix("elsewhere:/")


def collected(run) -> list:
    """What a pipeline on this machine yields; `run` makes its collections."""
    # Beam copies what a pipeline holds, but not what is in a file.
    with tempfile.TemporaryDirectory() as folder:
        with beam.Pipeline(options=PipelineOptions(beam_flags("direct", ()))) as pipeline:
            _ = run(pipeline) | beam.Map(json.dumps) | beam.io.WriteToText(f"{folder}/out")
        return [
            json.loads(line)
            for file in sorted(Path(folder).iterdir())
            for line in file.read_text().splitlines()
        ]


def hostile_work(*arguments) -> None:
    """A process that some pages end, hold up or bloat."""
    parse_page = pages_module.parse_page

    def parse(source):
        if b"KILL" in source:
            os._exit(9)
        if b"BUSY" in source:
            end = time.process_time() + 60
            while time.process_time() < end:
                pass
        if b"BLOAT" in source:
            bytearray(2 << 30)
        return parse_page(source)

    pages_module.parse_page = parse
    work_on_records(*arguments)


def test_limits_of_a_page():
    texts = ["good [[One]]", "KILL", "BUSY", "better", "BLOAT", "best"]
    pages = [Page(f"P{i}", text, i).xml().encode() for i, text in enumerate(texts, 1)]
    more = [Page("Q", "after all that", 9).xml().encode()]
    options = PageOptions(max_seconds=0.5, max_memory=1 << 30)

    def run(pipeline):
        parsed = (
            pipeline
            | beam.Create([(7, pages), (9, more)])
            | beam.ParDo(ParsePages(SiteInfo(), options, hostile_work)).with_outputs(
                "reports", main="articles"
            )
        )
        return (parsed.articles, parsed.reports) | beam.Flatten()

    found = dict(collected(run))
    articles = {key: record for key, record in found.items() if not record["report"]}
    assert [articles[key]["texts"] for key in sorted(articles)] == [
        ["good One"],
        ["better"],
        ["best"],
        ["after all that"],
    ]
    assert articles[7 << 18]["link_target"] == ["One"]
    report = json.loads(found[7]["report"])
    assert report["failed"] == [
        ["P2", "it ended a worker process"],
        ["P3", "took more than 0.5 s"],
        ["P5", "took more than 1024 MB"],
    ]
    assert report["counts"]["pages"] == 6 and report["counts"]["articles"] == 3
    assert json.loads(found[9]["report"])["failed"] == []


def test_keys_rise_and_stay_within_their_file(tmp_path):
    pages = [Page(f"Page {i}", f"{'words ' * 2000} {i}") for i in range(400)]
    path = tmp_path / "wiki.xml.bz2"
    path.write_bytes(bz2.compress(dump(pages).encode()))
    first = 1000
    *chunks, report = ReadFile().process((str(path), first))
    keys = [key for key, _ in chunks]
    assert len(keys) > 10
    assert all(low < high for low, high in itertools.pairwise(keys))
    assert sum(len(pages) for _, pages in chunks) == 400
    assert first < keys[0] and report.value[0] == keys[-1] + 1
    assert report.value[0] < first + 2 * path.stat().st_size + 4


@pytest.fixture
def parts(tmp_path) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in (2, 10):
        xml = dump([Page(f"Page {number}", f"text {number}", page_id=number)], language="de")
        (folder / f"wiki-part{number}.xml.bz2").write_bytes(bz2.compress(xml.encode()))
    (folder / "md5sums.txt").write_text("not a dump")
    return folder


def test_files_that_are_elsewhere(parts):
    address = f"elsewhere:/{parts}"
    for source in (address, f"{address}/"):
        files = find_dump(source)
        assert [file.name for file in files] == ["wiki-part2.xml.bz2", "wiki-part10.xml.bz2"]
    assert files[0].num_bytes == (parts / "wiki-part2.xml.bz2").stat().st_size
    assert read_site(files[0]).language == "de"
    (file,) = find_dump(files[1].path)
    assert file == files[1]
    with local_copy(file.path) as copy:
        # Packed as it was, though Beam could unpack it.
        assert copy.read_bytes() == (parts / "wiki-part10.xml.bz2").read_bytes()
    assert not copy.exists()
    with pytest.raises(FileNotFoundError, match="is no dump, nor a folder"):
        find_dump(f"{address}/none")


def test_what_is_wrong_with_a_file_elsewhere_is_told_by_its_address(parts):
    path = parts / "cut.xml"
    text = header() + "".join(page.xml() for page in numbered([Page("A", "a"), Page("B", "b")]))
    path.write_text(text[:-30])
    *_, report = ReadFile().process((f"elsewhere:/{path}", 0))
    (problem,) = json.loads(report.value[1]["report"])["problems"]
    assert problem.startswith(f"elsewhere:/{path} ends inside the page 'B'")


def test_files_here(parts):
    files = find_dump(str(parts))
    assert [Path(file.path) for file in files] == [
        parts / "wiki-part2.xml.bz2",
        parts / "wiki-part10.xml.bz2",
    ]
    with pytest.raises(ValueError, match="source is empty"):
        find_dump("")
