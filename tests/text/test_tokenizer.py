"""Token ids, truncation and padding."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.text.toy import make_checkpoint, vocabulary
from wikinav_jax.text.tokenizer import BUCKETS, Tokenizer, bucket_length, load_tokenizer, pad

VOCABULARY = vocabulary()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Tokenizer:
    return load_tokenizer(make_checkpoint(tmp_path_factory.mktemp("toy") / "checkpoint"))


def words(ids) -> list[str]:
    return [VOCABULARY[i] for i in ids]


def test_ids_by_hand(tokenizer):
    rows = tokenizer.tokenize(["The old Rivers.", "", "日本", "town"])
    assert [row.dtype for row in rows] == [np.int32] * 4
    assert words(rows[0]) == ["[CLS]", "the", "old", "river", "##s", ".", "[SEP]"]
    assert words(rows[1]) == ["[CLS]", "[SEP]"]
    assert set(words(rows[2])) == {"[CLS]", "[UNK]", "[SEP]"}
    assert words(rows[3]) == ["[CLS]", "town", "[SEP]"]
    assert tokenizer.tokenize([]) == []


def test_batches_are_padded_to_a_bucket(tokenizer):
    batch = tokenizer(["the town", "a"], buckets=(8, 16))
    assert batch.ids.shape == (2, 8) and batch.ids.dtype == np.int32
    assert batch.mask.dtype == bool and batch.mask.sum(axis=1).tolist() == [4, 3]
    assert (batch.ids[~batch.mask] == VOCABULARY.index("[PAD]")).all()
    assert batch.offsets is None
    assert tokenizer([]).ids.shape[0] == 0


def test_very_long_texts_are_cut_at_the_limit(tokenizer):
    text = "the river runs under the stone bridge " * 20_000
    (row,) = tokenizer.tokenize([text])
    assert len(row) == tokenizer.max_length == 24
    assert words(row)[-1] == "[SEP]"
    assert tokenizer([text]).ids.shape == (1, 24)  # no bucket beyond the position table
    assert len(tokenizer.tokenize([text], max_length=5)[0]) == 5


def test_offsets_lead_back_to_the_characters(tokenizer):
    text = "Old bridges, rivers"
    batch = tokenizer([text], offsets=True)
    assert batch.offsets is not None and batch.offsets.dtype == np.int32
    assert batch.offsets.shape == (*batch.ids.shape, 2)
    spans = [text[a:b] for a, b in batch.offsets[0, :8]]
    assert spans == ["", "Old", "bridge", "s", ",", "river", "s", ""]


@pytest.mark.parametrize("limit", [2, 25, -1])
def test_limits_that_cannot_be_are_refused(tokenizer, limit):
    with pytest.raises(ValueError, match=rf"max_length={limit} must be from 3 .* to 24"):
        tokenizer(["a"], max_length=limit)


def test_one_string_is_refused(tokenizer):
    with pytest.raises(TypeError, match="give a list of strings"):
        tokenizer.tokenize("the town")


def test_buckets():
    assert [bucket_length(n, (4, 8)) for n in (0, 1, 4, 5, 8, 9, 17)] == [4, 4, 4, 8, 8, 16, 24]
    assert list(BUCKETS) == sorted(set(BUCKETS))


def test_pad_refuses_rows_that_do_not_fit():
    with pytest.raises(ValueError, match="row 1 has 3 tokens, above the padded 2"):
        pad([[1], [1, 2, 3]], 2, 0)


def test_byte_pair_vocabularies_of_roberta(tmp_path):
    folder = make_checkpoint(tmp_path / "c", "roberta")
    (folder / "vocab.txt").unlink()
    entries = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *"hilt", "Ġ", "hi", "ll", "hill", "Ġhill"]
    vocab = {entry: i for i, entry in enumerate(entries)}
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    merges = "#version: 0.2\nh i\nl l\nhi ll\nĠ hill\n"
    (folder / "merges.txt").write_text(merges, encoding="utf-8")
    settings = json.dumps({"tokenizer_class": "RobertaTokenizer"})
    (folder / "tokenizer_config.json").write_text(settings, encoding="utf-8")
    tokenizer = load_tokenizer(folder)
    assert tokenizer.pad_id == 1 and tokenizer.max_length == 22
    batch = tokenizer(["hill hill", "hit"], buckets=(6,))
    assert [[entries[i] for i in row] for row in batch.ids] == [
        ["<s>", "hill", "Ġhill", "</s>", "<pad>", "<pad>"],
        ["<s>", "hi", "t", "</s>", "<pad>", "<pad>"],
    ]


def test_folders_without_a_tokenizer(tmp_path):
    folder = make_checkpoint(tmp_path / "c")
    (folder / "tokenizer.json").write_text("{ broken")
    with pytest.raises(ValueError, match="cannot read the tokenizer in"):
        load_tokenizer(folder)
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"has no tokenizer: expected one of tokenizer\.json"
    ):
        load_tokenizer(folder)


def test_torch_is_never_imported(tmp_path):
    folder = make_checkpoint(tmp_path / "c")
    code = f"""
import sys
sys.modules["torch"] = None  # importing it is an ImportError from here on
from wikinav_jax.text.tokenizer import load_tokenizer
print(load_tokenizer({str(folder)!r})(["the town"]).ids.tolist())
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("[[2, ")
    assert "PyTorch" not in result.stderr  # nor advised
