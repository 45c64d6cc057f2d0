"""Texts, titles and section paths, in memory and in the Arrow file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.toy import TOY_ARTICLE, TOY_SECTIONS, TOY_TEXTS, TOY_TITLES
from wikinav_jax.graph import block_table
from wikinav_jax.graph.block_table import BlockTable, open_block_table


@pytest.fixture(params=[3, 4, 8, 65_536], ids=lambda rows: f"batches of {rows}")
def batch_rows(request, monkeypatch):
    monkeypatch.setattr(block_table, "BATCH_ROWS", request.param)


def toy_table() -> BlockTable:
    return BlockTable.from_lists(TOY_TEXTS, TOY_TITLES, TOY_SECTIONS, np.array(TOY_ARTICLE))


@pytest.mark.usefixtures("batch_rows")
@pytest.mark.parametrize("on_disk", [False, True])
def test_every_row_is_found_across_batches(tmp_path, on_disk):
    table = toy_table()
    if on_disk:
        table.write(tmp_path / "blocks.arrow", np.array(TOY_ARTICLE))
        table = open_block_table(tmp_path / "blocks.arrow")
        assert table.title_codes().tolist() == TOY_ARTICLE
    assert len(table) == 8
    assert [table.text(i) for i in range(8)] == table.texts() == TOY_TEXTS
    assert [table.section(i) for i in range(8)] == table.sections() == TOY_SECTIONS
    assert [table.title(i) for i in range(5)] == table.titles.to_pylist() == TOY_TITLES
    assert table.texts(np.array([6, 0])) == [TOY_TEXTS[6], TOY_TEXTS[0]]
    assert table.text_lengths().tolist() == [len(text) for text in TOY_TEXTS]


@pytest.mark.usefixtures("batch_rows")
def test_a_selection_of_a_selection_survives_storage(tmp_path):
    table = toy_table().select(np.array([7, 5, 3, 1]), np.array([4, 2, 1, 0]))
    table = table.select(np.array([1, 2, 3]), np.array([1, 2, 3]))
    article = np.array([0, 1, 2])
    table.write(tmp_path / "blocks.arrow", article)
    stored = open_block_table(tmp_path / "blocks.arrow")
    for each in (table, stored):
        assert each.texts() == [TOY_TEXTS[5], TOY_TEXTS[3], TOY_TEXTS[1]]
        assert each.sections() == ["", "", "Diet"]
        assert each.titles.to_pylist() == [TOY_TITLES[2], TOY_TITLES[1], TOY_TITLES[0]]
        assert each.text(0) == TOY_TEXTS[5]
        assert each.text_lengths().tolist() == [len(text) for text in each.texts()]
    assert stored.title_codes().tolist() == article.tolist()


@pytest.mark.parametrize("block", [-1, 8])
def test_unknown_blocks_and_articles(block):
    table = toy_table()
    for read in (table.text, table.section):
        with pytest.raises(IndexError, match=rf"node {block} does not exist: ids are 0\.\.7"):
            read(block)
    with pytest.raises(IndexError, match=r"article 5 does not exist: ids are 0\.\.4"):
        table.title(5)


@pytest.mark.parametrize(
    ("texts", "titles", "sections", "message"),
    [
        (["a", "b"], ["T"], [""], "2 texts but 1 sections"),
        (["a", "b"], ["T", ""], ["", ""], r"titles\[1\] is empty"),
        (["a", "b"], ["T", "T"], ["", ""], "title 'T' is given to articles 0 and 1"),
        (["a", 7], ["T", "U"], ["", ""], r"texts\[1\] is 7, not a string"),
        (["a", None], ["T", "U"], ["", ""], r"texts\[1\] is None, not a string"),
        (["a", "\ud800"], ["T", "U"], ["", ""], r"texts\[1\] holds a lone surrogate"),
    ],
)
def test_bad_columns_are_named(texts, titles, sections, message):
    with pytest.raises(ValueError, match=message):
        BlockTable.from_lists(texts, titles, sections, np.arange(len(texts)))


def test_a_foreign_arrow_file_is_refused(tmp_path):
    path = tmp_path / "blocks.arrow"
    table = pa.table({"text": ["a"], "title": ["b"], "section": ["c"]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match="of other types; build the graph again"):
        open_block_table(path)


def test_a_file_with_unequal_batches_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "blocks.arrow"
    monkeypatch.setattr(BlockTable, "_iter_batches", lambda self: iter(unequal))
    table = toy_table()
    whole = table._batches[0]
    unequal = [whole.slice(0, 2), whole.slice(2, 5), whole.slice(7, 1)]
    table.write(path, np.array(TOY_ARTICLE))
    with pytest.raises(ValueError, match=r"unequal size \[2, 5, 1\]"):
        open_block_table(path)
