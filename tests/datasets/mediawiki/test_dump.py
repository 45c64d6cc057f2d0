"""Dumps as files: packing, encodings, damage."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re

import numpy as np
import pytest

from tests.datasets.mediawiki.dumps import Page, dump, header
from wikinav_jax.datasets.building import compression
from wikinav_jax.datasets.building.compression import CompressedFile
from wikinav_jax.datasets.mediawiki.dump import DumpReader, parse_page
from wikinav_jax.datasets.mediawiki.titles import Titles

PAGES = [Page(f"Page {i}", f"Text {i} of [[Page {i + 1}]]. " + "é" * 300) for i in range(40)]
XML = dump(PAGES)


def read(path, **options) -> tuple[list[str], DumpReader]:
    reader = DumpReader(path, **options)
    return [parse_page(source).title for source in reader.pages()], reader


def written(tmp_path, data: bytes, name="wiki.xml"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


TITLES = [page.title for page in PAGES]
PACKED = {
    "plain": lambda data: data,
    "bz2": bz2.compress,
    "bz2 of many streams": lambda data: b"".join(
        bz2.compress(data[i : i + 1000]) for i in range(0, len(data), 1000)
    ),
    "gz": gzip.compress,
    "gz of two members and padding": lambda data: (
        gzip.compress(data[:999]) + gzip.compress(data[999:]) + bytes(100)
    ),
    "xz": lzma.compress,
    "xz of two streams": lambda data: lzma.compress(data[:999]) + lzma.compress(data[999:]),
}


@pytest.mark.parametrize("packed", PACKED)
def test_packings(tmp_path, packed):
    titles, reader = read(written(tmp_path, PACKED[packed](XML.encode())))
    assert titles == TITLES
    assert reader.problems == reader.broken_pages == []
    assert reader.bytes_read == reader.num_bytes


def streams_of(data: bytes, size: int) -> list[bytes]:
    return [bz2.compress(data[i : i + size]) for i in range(0, len(data), size)]


def test_short_streams_then_a_long_one_then_short_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "_LONG_STREAM", 700)
    monkeypatch.setattr(compression, "_READ", 300)
    data = XML.encode()
    long = bz2.compress(np.random.default_rng(0).bytes(3000).hex().encode())
    comment = bz2.compress(b"<!--") + long + bz2.compress(b"-->")
    third = XML.index("<page>", len(XML) // 3)
    packed = [*streams_of(data[:third], 500), comment, *streams_of(data[third:], 500)]
    titles, reader = read(written(tmp_path, b"".join(packed)))
    assert titles == [page.title for page in PAGES]
    assert reader.problems == []
    assert reader.bytes_read == reader.num_bytes


def place_of_damage(problems: list[str]) -> int:
    found = re.search(r"is damaged at its byte ([0-9,]+) or before", problems[0])
    assert found is not None
    return int(found[1].replace(",", ""))


def test_damage_in_the_middle_of_many_streams(tmp_path):
    streams = streams_of(XML.encode(), 1000)
    middle = len(streams) // 2
    broken = bytearray(streams[middle])
    broken[len(broken) // 2] ^= 0xFF
    packed = b"".join([*streams[:middle], bytes(broken), *streams[middle + 1 :]])
    titles, reader = read(written(tmp_path, packed))
    whole = XML.encode()[: middle * 1000].count(b"</page>")
    assert titles == TITLES[:whole]
    before = sum(map(len, streams[:middle]))
    assert before < place_of_damage(reader.problems) <= before + len(broken)


@pytest.mark.parametrize("long_stream", [compression._LONG_STREAM, 1])
def test_damage_is_placed_within_a_stream(tmp_path, monkeypatch, long_stream):
    """However far the file was read ahead."""
    monkeypatch.setattr(compression, "_LONG_STREAM", long_stream)
    monkeypatch.setattr(compression, "_READ", 5_000)
    noise = np.random.default_rng(0)
    text = XML + "".join(chr(c) for c in noise.integers(0x100, 0x800, 300_000))
    streams = streams_of(text.encode(), 20_000)
    first = sum(map(len, streams[:4]))
    data = bytearray(b"".join(streams))
    middle = first + len(streams[4]) // 2
    data[middle] ^= 255
    reader = CompressedFile(written(tmp_path, bytes(data)))
    unpacked = b"".join(reader)
    assert text.encode().startswith(unpacked)
    assert len(unpacked) >= 4 * 20_000
    assert len(reader.problems) == 1
    assert middle <= place_of_damage(reader.problems) <= first + len(streams[4]) + 5_000


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings(tmp_path, encoding):
    titles, reader = read(written(tmp_path, XML.encode(encoding)))
    assert titles == TITLES
    assert reader.problems == []
    assert reader.site.database == "enwiki"


def test_a_declared_encoding(tmp_path):
    declaration = '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
    path = written(tmp_path, (declaration + XML).encode("latin-1"))
    sources = list(DumpReader(path).pages())
    assert "ééé" in parse_page(sources[0]).text
    with pytest.raises(ValueError, match="encoding 'klingon', which is unknown"):
        DumpReader(written(tmp_path, b'<?xml version="1.0" encoding="klingon"?>' + XML.encode()))


def test_site_information(tmp_path):
    text = dump([], namespaces={0: "", 6: "Datei", -1: "Spezial"}, language="de", database="dewiki")
    text = text.replace("first-letter</case>", "case-sensitive</case>", 1)
    site = DumpReader(written(tmp_path, text.encode())).site
    assert (site.database, site.language, site.first_letter) == ("dewiki", "de", False)
    assert site.namespaces == {"": 0, "Datei": 6, "Spezial": -1}
    assert site.base == "https://de.wikipedia.org/wiki/Main_Page"
    bare = DumpReader(written(tmp_path, b"<mediawiki>" + PAGES[0].xml().encode())).site
    assert (bare.language, bare.first_letter, dict(bare.namespaces)) == ("en", True, {})
    old = "<mediawiki><siteinfo><base>http://fr.wikipedia.org/wiki/Accueil</base></siteinfo>"
    site = DumpReader(written(tmp_path, old.encode() + PAGES[0].xml().encode())).site
    assert site.language == "fr"
    assert Titles(site).link("fr:abeille").title == "Abeille"


def test_a_cut_keeps_what_stands_before_it(tmp_path):
    streams = [bz2.compress(XML[i : i + 2000].encode()) for i in range(0, len(XML), 2000)]
    data = b"".join(streams[:6]) + streams[6][: len(streams[6]) // 2]
    titles, reader = read(written(tmp_path, data))
    assert titles == TITLES[: len(titles)]
    assert 8 < len(titles) < 40
    assert len(reader.problems) == 2
    assert "is cut off after" in reader.problems[0]
    assert f"ends inside the page {TITLES[len(titles)]!r}" in reader.problems[1]


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress])
def test_damage_keeps_what_stands_before_it(tmp_path, pack):
    half = XML.index("<page>", len(XML) // 2)
    data = pack(XML[:half].encode()) + b"garbage, not a stream"
    titles, reader = read(written(tmp_path, data))
    assert titles == TITLES[: len(titles)]
    assert len(titles) == XML[:half].count("<page>")
    good = len(data) - len(b"garbage, not a stream")
    assert good <= place_of_damage(reader.problems) <= len(data)


def test_a_plain_dump_that_ends_early(tmp_path):
    titles, reader = read(written(tmp_path, XML[: XML.index("</mediawiki>")].encode()))
    assert titles == TITLES
    assert "ends without </mediawiki>" in reader.problems[0]


def test_a_bomb_is_unpacked_in_pieces(tmp_path):
    page = Page("Bomb", "a" * 30_000_000).xml()
    data = bz2.compress((header() + page + PAGES[0].xml() + "</mediawiki>").encode())
    assert len(data) < 10_000
    titles, reader = read(written(tmp_path, data), max_page_bytes=5_000_000)
    assert titles == ["Page 0"]
    assert reader.broken_pages == [("Bomb", "its source is over 5,000,000 bytes")]


def test_a_page_without_an_end_is_told(tmp_path):
    text = header() + "<page><title>Open</title>" + PAGES[0].xml() + "</page></mediawiki>"
    titles, reader = read(written(tmp_path, text.encode()))
    assert titles == ["Page 0"]
    assert reader.broken_pages == [("Open", "no </page>"), ("", "</page> without <page>")]


# With the time of day in it, the test would have another name in each process.
GZIPPED = gzip.compress(XML.encode(), mtime=0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "holds no data"),
        (bz2.compress(b""), "14 bytes.* holds no data"),
        (bz2.compress(XML.encode())[:200], "cut off after 200 bytes.* Nothing of it can be read"),
        (
            gzip.compress(XML.encode(), mtime=0)[:12],
            "cut off after 12 bytes.* Nothing of it can be read",
        ),
        (b"<html><body>Not found</body></html>", "no <mediawiki> element at its start, which"),
        (b"7z\xbc\xaf'\x1c rest", "is cut off or damaged"),
        (b"PK\x03\x04 rest", "is a zip archive"),
        (b"<mediawiki></wrong>" + PAGES[0].xml().encode(), "header is not well-formed"),
        (
            b'<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><mediawiki>&b;<page>',
            "document type declaration.*refused",
        ),
    ],
)
def test_what_is_no_dump(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        DumpReader(written(tmp_path, data))


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file; give the path of a dump"):
        DumpReader(tmp_path / "none.xml")


def test_pages():
    page = parse_page(Page('He said "&quot;"', "a <b> & c", 7, redirect="X & Y").xml().encode())
    assert (page.title, page.namespace, page.page_id) == ('He said "&quot;"', 0, 7)
    assert (page.text, page.is_redirect, page.redirect) == ("a <b> & c", True, "X & Y")
    assert parse_page(b"<page><title>&quot;Hi&quot;</title></page>").title == '"Hi"'


def test_the_last_revision_counts():
    source = (
        b"<page><title>A</title><id>3</id><revision><id>4</id><text>old</text></revision>"
        b"<revision><id>5</id><text>new</text></revision>"
        b"<revision><id>6</id><model>json</model><text deleted='deleted'/></revision></page>"
    )
    page = parse_page(source)
    assert (page.text, page.model, page.page_id, page.namespace) == ("", "json", 3, None)


@pytest.mark.parametrize(
    "source",
    [
        b"<page><title>A</title><text>&undefined;</text></page>",
        b"<page><title>A</title><text>\x08</text></page>",
        b"<page><title>A\xff</title></page>",
        b"<page><title> </title></page>",
        b"<page><title>A</title><ns>x</ns></page>",
    ],
)
def test_broken_pages(source):
    with pytest.raises(ValueError, match=r"well-formed|no title|invalid literal"):
        parse_page(source)
