"""Documents as lines of JSON."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import pytest

from tests.datasets.sources.corpora import built, edges, texts
from wikinav_jax.datasets.building.source import SourceOptions
from wikinav_jax.datasets.sources.json_lines import JsonReader

LINES = [
    {
        "title": "Bee",
        "aliases": ["honey bee"],
        "sections": [
            {
                "path": [],
                "passages": [
                    {
                        "text": "A bee and a flower.",
                        "anchors": [
                            {"start": 12, "end": 18, "target": "Flower", "fragment": "Use"}
                        ],
                    },
                    "More.",
                ],
            },
            {"heading": "Life", "passages": ["Short."]},
        ],
    },
    {
        "id": "F1",
        "title": "Flower",
        "blocks": [
            ["prose", "A flower and a bee.", [["Bee", 15, 18, "how"]]],
            ["heading", "Use"],
            ["line", "For a honey bee.", [["Bee", -1, -1, "how"]]],
            ["table", "1; 2"],
        ],
    },
    {"title": "Flower", "id": 7, "text": "Another.\n\n  \nflower"},
]


def lines(*documents) -> bytes:
    return "".join(json.dumps(document) + "\n" for document in documents).encode()


def test_documents(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_bytes(lines(*LINES))
    graph = built(path, tmp_path)
    assert graph.article_titles == ["Bee", "Flower (F1)", "Flower (7)"]
    assert graph.texts(None) == [
        "A bee and a flower.\nMore.",
        "Short.",
        "A flower and a bee.",
        "For a honey bee.",
        "Another.\nflower",
    ]
    assert edges(graph) == [
        ("Bee", "flower", "Flower (F1)", "Use"),
        ("Flower (F1)", "bee", "Bee", ""),
    ]
    assert graph.meta["jsonl"]["counts"]["table_blocks_left_out"] == 1
    assert graph.meta["jsonl"]["counts"]["links_without_a_place"] == 1


@pytest.mark.parametrize("packed", [bz2.compress, gzip.compress, lzma.compress])
def test_packed_files(tmp_path, packed):
    path = tmp_path / "docs"
    path.write_bytes(packed(lines(*LINES)))
    assert built(path, tmp_path).num_articles == 3


def read(line) -> object:
    data = line if isinstance(line, bytes) else json.dumps(line).encode()
    return JsonReader(SourceOptions()).read((1, data))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "Expecting"),
        (b"\xff", "not UTF-8 at byte 0"),
        ([], "a list, not an object"),
        ({"text": "x"}, "title=None is no string"),
        ({"title": " ", "text": "x"}, "title=' ' is no string with text"),
        ({"title": "A"}, "none of the fields sections, blocks, text"),
        ({"title": "A", "text": 3}, "text=3 is no string"),
        ({"title": "A", "id": [], "text": ""}, r"id=\[\] is no string"),
        ({"title": "A", "aliases": "x", "text": ""}, "aliases is no list"),
        ({"title": "A", "sections": {}}, "sections is no list"),
        ({"title": "A", "sections": ["x"]}, r"sections\[0\] is no object"),
        ({"title": "A", "sections": [{"path": 1}]}, r"sections\[0\].path is no list"),
        ({"title": "A", "sections": [{"passages": [1]}]}, r"passages\[0\] is neither"),
        ({"title": "A", "blocks": [["prose"]]}, r"blocks\[0\] is not \[kind, text\]"),
        ({"title": "A", "blocks": [["prose", 1]]}, r"blocks\[0\]: the text is no string"),
        ({"title": "A", "blocks": [["prose", "ab", [["B", 1, 9]]]]}, "start=1, end=9; need"),
        ({"title": "A", "blocks": [["prose", "ab", [["B", True, 2]]]]}, "start=True"),
        ({"title": "A", "blocks": [["prose", "ab", [["B"]]]]}, "target=None"),
        ({"title": "A", "blocks": [["prose", "ab", ["B"]]]}, "neither an object nor a list"),
    ],
)
def test_lines_that_are_no_documents(line, message):
    with pytest.raises(ValueError, match=message):
        read(line)


def test_overlapping_links_and_odd_text():
    parsed = read(
        {"title": "A", "blocks": [["prose", "abcd", [["B", 0, 2], ["C", 1, 3], ["D", 2, 4]]]]}
    )
    assert parsed.counts["overlapping_links_dropped"] == 1
    assert texts(read({"title": "A", "text": "\r\n\n"}).sections) == []


def test_bad_lines_are_listed_and_the_rest_is_kept(tmp_path):
    path = tmp_path / "docs.jsonl"
    long = {"title": "Long", "text": "x" * (1 << 20)}
    odd = b'{"title": "Odd \\ud800", "text": "half a pair \\ud800"}\n'
    deep = b'{"title": "Deep", "text": ' + b"[" * 100_000 + b"\n"
    path.write_bytes(
        lines({"title": "A", "text": "a"}) + b"\nnot json\n" + odd + deep
        + lines(long, {"title": "A", "text": "again"}, {"title": "B", "text": "b"})[:-1]
    )  # fmt: skip
    graph = built(path, tmp_path, max_source_megabytes=1)
    assert graph.article_titles == ["A", "Odd ?", "B"]
    failed = graph.meta["jsonl"]["failed_pages"]
    assert [name for name, _ in failed] == ["line 3", "line 5 (Deep)", "line 6 (Long)"]
    assert graph.meta["statistics"]["dropped"]["documents_with_a_title_seen_before"] == 1


def test_a_file_that_is_cut(tmp_path):
    rng_text = [{"title": f"T{i}", "text": f"{hash((i, 'x'))} " * 20} for i in range(2_000)]
    data = gzip.compress(lines(*rng_text))
    path = tmp_path / "docs.jsonl.gz"
    path.write_bytes(data[: len(data) // 2])
    graph = built(path, tmp_path)
    assert 100 < graph.num_articles < 2_000
    assert "is cut off" in graph.meta["jsonl"]["problems"][0]
