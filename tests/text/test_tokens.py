"""Token tables: tokens behind spans of characters, and tables that do not fit."""

import numpy as np
import pytest

from tests.text.toy import make_checkpoint
from wikinav_jax.text.tokenizer import load_tokenizer
from wikinav_jax.text.tokens import Spans, build_tokens, open_tokens, token_spans

TEXTS = ["the river runs under the old town.", "a bridge stands over the river.", "cold stone", ""]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return make_checkpoint(tmp_path_factory.mktemp("text") / "bert")


def test_spans_of_tokens_by_hand():
    #               [CLS]   river   run     ##s     .       [SEP]
    offsets = [[0, 0], [0, 5], [6, 9], [9, 10], [10, 11], [0, 0]]
    characters = [[0, 5], [6, 10], [7, 8], [5, 6], [0, 0], [10, 30], [12, 20]]
    expected = [[1, 2], [2, 4], [2, 3], [0, 0], [0, 0], [4, 5], [0, 0]]
    first = np.zeros(len(characters), int)
    found = token_spans(np.array([offsets]), first, np.array(characters))
    assert found.tolist() == expected
    nothing = token_spans(np.zeros((1, 2, 2), int), np.array([0]), np.array([[0, 4]]))
    assert nothing.tolist() == [[0, 0]]
    # Several texts at once, one of them without any tokens, padding at the end.
    three = np.array([offsets, np.zeros((6, 2), int), offsets])
    row = np.repeat([2, 1, 0], len(characters))
    found = token_spans(three, row, np.tile(characters, (3, 1)))
    assert found.tolist() == [*expected, *np.zeros((7, 2), int).tolist(), *expected]


def test_a_table_of_other_tokens_is_refused(tmp_path, checkpoint):
    tokenizer = load_tokenizer(checkpoint)
    build_tokens(tmp_path / "t", TEXTS, tokenizer, max_length=8, header={"tokenizer": "a"})
    table = build_tokens(tmp_path / "t", TEXTS, tokenizer, max_length=8, header={"tokenizer": "a"})
    assert table.ids.dtype == np.uint16 and table.ids.shape == (4, 8)
    with pytest.raises(ValueError, match="tokenizer='a', but tokenizer='b' is wanted"):
        build_tokens(tmp_path / "t", TEXTS, tokenizer, max_length=8, header={"tokenizer": "b"})
    with pytest.raises(ValueError, match="text_hash"):
        build_tokens(tmp_path / "t", TEXTS[::-1], tokenizer, max_length=8, header={})
    ids = tmp_path / "t" / "ids.npy"
    ids.write_bytes(ids.read_bytes()[:-8])
    with pytest.raises(ValueError, match="damaged"):
        open_tokens(tmp_path / "t")
    with pytest.raises(FileNotFoundError, match="no token table"):
        open_tokens(tmp_path / "none")
    with pytest.raises(ValueError, match="do not fit"):
        spans = Spans(np.zeros(2, np.int64), np.zeros((0, 2)), np.zeros(1))
        build_tokens(tmp_path / "u", TEXTS, tokenizer, max_length=8, header={}, spans=spans)


@pytest.mark.parametrize("name", ["ids.npy", "length.npy"])
def test_an_altered_table_is_refused(tmp_path, checkpoint, name):
    tokenizer = load_tokenizer(checkpoint)
    build_tokens(tmp_path / "t", TEXTS, tokenizer, max_length=8, header={})
    data = bytearray((tmp_path / "t" / name).read_bytes())
    data[-1] ^= 1
    (tmp_path / "t" / name).write_bytes(data)
    with pytest.raises(ValueError, match=rf"{name} was altered: .*delete {tmp_path / 't'} to"):
        build_tokens(tmp_path / "t", TEXTS, tokenizer, max_length=8, header={})


def test_rows_are_the_tokenizers_own(tmp_path, checkpoint):
    tokenizer = load_tokenizer(checkpoint)
    table = build_tokens(tmp_path / "t", TEXTS, tokenizer, max_length=6, header={})
    ids, mask = table.rows(np.array([2, 0, 3]))
    alone = tokenizer([TEXTS[2], TEXTS[0], TEXTS[3]], max_length=6, buckets=(6,))
    np.testing.assert_array_equal(np.where(mask, ids, 0), np.where(alone.mask, alone.ids, 0))
    np.testing.assert_array_equal(mask, alone.mask)
    assert mask[1].all() and mask[2].sum() == 2  # cut at six; [CLS] [SEP] of a text of no words
