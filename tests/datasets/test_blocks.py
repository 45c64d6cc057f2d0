"""Sentences by hand, and blocks that keep every word, every anchor and every limit."""

from __future__ import annotations

import numpy as np
import pytest

from wikinav_jax.datasets.blocks import MAX_CHARACTERS, split_into_blocks
from wikinav_jax.datasets.documents import Anchor, Document, Passage, Section
from wikinav_jax.datasets.sentences import count_words, has_words, sentence_spans, word_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "parts",
    [
        ["One ends here.", "Two ends there!", "And three?", "Yes."],
        ["Dr. J. R. R. Smith met Mrs. Jones at 3.5 km.", "They left."],
        ["The U.S. Army came, i.e. Soldiers and their horses etc. on foot.", "Then peace."],
        ["He said “Stop.”", "She did (at once).", "End"],
        ["Yahoo! was a company.", "What?", "7 of them."],
        ["It was no art.", "He said no.", "Built c. 1500 by St. John."],
        ["See Fig. 3 and No. 5 of vol. 2.", "In 1914.", "War began..."],
        ["Wait... then it went on.", "So."],
        ["Это первое.", "А это второе!"],
        ["هذه جملة أولى؟", "وهذه ثانية.", "وثالثة۔"],
        ["שלום עולם.", "מה שלומך?"],
        ["यह पहला है।", "यह दूसरा है।"],
    ],
)
def test_sentences(parts):
    assert sentences(" ".join(parts)) == parts


@pytest.mark.parametrize("unit", [".", '."', ". ", "…!", "。」"])
def test_a_million_terminators_are_passed_over_once(unit):
    text = unit * (1_000_000 // len(unit))
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert "".join(text[start:end] for start, end in spans) == text.replace(" ", "")


def test_sentences_of_scripts_without_spaces():
    assert sentences("这是第一句。这是「第二句。」完了！") == [
        "这是第一句。",
        "这是「第二句。」",
        "完了！",
    ]


def test_full_stops_that_need_no_space():
    assert sentences("यह पहला है।यह दूसरा है।") == ["यह पहला है।", "यह दूसरा है।"]
    assert sentences("پہلا۔دوسرا۔") == ["پہلا۔", "دوسرا۔"]
    assert sentences("ما هذا؟هذا كتاب.") == ["ما هذا؟", "هذا كتاب."]
    assert sentences("នេះទីមួយ។នេះទីពីរ។") == ["នេះទីមួយ។", "នេះទីពីរ។"]
    assert sentences("値は３．１４です．次の文．") == ["値は３．１４です．", "次の文．"]


def test_no_word_starts_with_a_vowel_sign():
    text = "กกกกกี้ขข"  # the vowel and the tone belong to the fifth letter
    assert [text[start:end] for start, end in word_spans(text)] == ["กกกกกี้", "ขข"]


def test_words_of_any_script():
    assert count_words("a b-c  d.e\nf") == 4
    assert count_words("漢字かな text") == 5
    assert count_words("שלום עולם") == 2
    assert count_words("ภาษาไทยยาว") == 2  # ten characters, five a word
    assert count_words("") == count_words(" \n") == 0
    assert has_words("-- é --")
    assert not has_words("-- * __ …")


def words(count: int, start: int = 0) -> str:
    return " ".join(f"w{i}" for i in range(start, start + count))


def document(*sections: Section) -> Document:
    return Document("T", sections)


def test_blocks_never_cross_sections_and_keep_the_sentence():
    doc = document(
        Section((), (Passage("Lead one. Lead two."),)),
        Section(("A", "B"), (Passage("Alpha beta gamma. Delta."), Passage("Epsilon zeta."))),
    )
    blocks = split_into_blocks(doc, target_words=3, max_words=4)
    assert [(block.section, block.text) for block in blocks] == [
        ((), "Lead one. Lead two."),
        (("A", "B"), "Alpha beta gamma."),
        (("A", "B"), "Delta.\nEpsilon zeta."),
    ]


def test_a_section_is_divided_evenly():
    # 130 words in sentences of 10: two blocks of 70 and 60, not one of 100 and a stub of 30.
    text = " ".join(f"S{words(10)}." for _ in range(13))
    blocks = split_into_blocks(document(Section((), (Passage(text),))))
    assert [count_words(block.text) for block in blocks] == [70, 60]


def test_a_sentence_of_5000_words():
    text = words(5000)
    blocks = split_into_blocks(document(Section((), (Passage(text),))))
    counts = [count_words(block.text) for block in blocks]
    assert " ".join(block.text for block in blocks) == text
    assert len(blocks) == 42  # ceil(5000 / 120)
    assert counts == [120] * 41 + [80]


@pytest.mark.parametrize(
    ("clause", "joint", "cuts"),
    [
        ("苔は湿った場所に生える小さな植物で", "、", [108, 108, 108, 35]),
        ("มอสเป็นพืชขนาดเล็กที่ขึ้นในที่ชื้น", " ", [120]),
    ],
)
def test_long_sentences_without_spaces_are_cut_behind_clauses(clause, joint, cuts):
    text = joint.join([clause] * 20)
    start = text.index(clause, 6 * len(clause)) + 3
    passage = Passage(text, (Anchor(start, start + 4, "X"),))
    blocks = split_into_blocks(document(Section((), (passage,))))
    assert [count_words(block.text) for block in blocks] == cuts
    assert all(block.text.rstrip(joint).endswith(clause) for block in blocks)
    assert all(block.text.startswith(clause) for block in blocks)
    ((words, target),) = (
        (block.text[anchor.start : anchor.end], anchor.target)
        for block in blocks
        for anchor in block.anchors
    )
    assert (words, target) == (text[start : start + 4], "X")


def test_a_long_anchor_behind_a_clause():
    text = "字" * 70 + "，" + "字" * 30 + "一" * 110 + "字" * 60
    passage = Passage(text, (Anchor(101, 211, "X"),))
    blocks = split_into_blocks(document(Section((), (passage,))))
    assert "".join(block.text for block in blocks) == text
    assert max(count_words(block.text) for block in blocks) <= 120
    assert [len(block.anchors) for block in blocks].count(1) == 1


def test_a_cut_never_falls_inside_an_anchor():
    text = words(300)
    start, end = text.index("w95 "), text.index(" w130")
    blocks = split_into_blocks(
        document(Section((), (Passage(text, (Anchor(start, end, "X", "frag"),)),)))
    )
    (anchor,) = (anchor for block in blocks for anchor in block.anchors)
    (block,) = (block for block in blocks if block.anchors)
    assert block.text[anchor.start : anchor.end] == text[start:end]
    assert (anchor.target, anchor.fragment) == ("X", "frag")
    assert " ".join(block.text for block in blocks) == text


def test_an_anchor_over_a_sentence_end_holds_the_sentences_together():
    text = f"{words(3)} ends. Begins {words(3)}."
    start = text.index("ends")
    passage = Passage(text, (Anchor(start, start + len("ends. Begins"), "X"),))
    (block,) = split_into_blocks(document(Section((), (passage,))), target_words=5, max_words=9)
    assert block.text == text
    # Without the link there are two.
    assert (
        len(split_into_blocks(document(Section((), (Passage(text),))), target_words=5, max_words=6))
        == 2
    )


def test_an_anchor_longer_than_a_block_loses_its_link_only():
    text = words(50)
    passage = Passage(text, (Anchor(0, len(text), "X"),))
    blocks = split_into_blocks(document(Section((), (passage,))), target_words=10, max_words=10)
    assert " ".join(block.text for block in blocks) == text
    assert not any(block.anchors for block in blocks)


@pytest.mark.parametrize("text", ["x" * 200_000, "x" * 100_000 + " y. " + "z" * 70_000])
def test_no_block_exceeds_the_uint16_limit(text):
    blocks = split_into_blocks(document(Section((), (Passage(text),))))
    assert max(len(block.text) for block in blocks) <= MAX_CHARACTERS
    assert "".join(block.text for block in blocks).replace(" ", "") == text.replace(" ", "")


def test_many_long_words_stay_under_the_limit_together():
    text = " ".join("x" * 30_000 + "." for _ in range(5))
    blocks = split_into_blocks(document(Section((), (Passage(text),))))
    # Five words are one block by their number; by their length they are three.
    assert [len(block.text) for block in blocks] == [60_003, 60_003, 30_001]


@pytest.mark.parametrize("text", ["", "   \n ", "--- * * * ---", "…"])
def test_texts_without_words_yield_no_block(text):
    assert split_into_blocks(document(Section((), (Passage(text),)))) == []


def test_right_to_left_text_keeps_its_anchor():
    text = "העיר ירושלים היא בירה. היא עתיקה."
    start = text.index("ירושלים")
    passage = Passage(text, (Anchor(start, start + 7, "ירושלים"),))
    blocks = split_into_blocks(document(Section((), (passage,))), target_words=3, max_words=4)
    assert [block.text for block in blocks] == ["העיר ירושלים היא בירה.", "היא עתיקה."]
    (anchor,) = blocks[0].anchors
    assert blocks[0].text[anchor.start : anchor.end] == "ירושלים"


@pytest.mark.parametrize(("target", "most"), [(0, 5), (6, 5)])
def test_senseless_limits_are_an_error(target, most):
    with pytest.raises(ValueError, match=f"target_words={target} and max_words={most}"):
        split_into_blocks(document(), target_words=target, max_words=most)


@pytest.mark.parametrize("seed", range(20))
def test_random_documents_lose_nothing(seed):
    """Every word and every anchor comes out once and in order, within the limits."""
    rng = np.random.default_rng(seed)
    sections = []
    expected_words: list[str] = []
    expected_anchors: list[str] = []
    for s in range(rng.integers(1, 4)):
        passages = []
        for _ in range(rng.integers(0, 4)):
            text = ""
            anchors = []
            for i in range(rng.integers(1, 60)):
                word = f"w{s}x{i}" + rng.choice(["", "", "", ".", ". ", "!", "\n"])
                if rng.random() < 0.2 and (not anchors or len(text) > anchors[-1].end):
                    # White space at the end of an anchor is trimmed, wherever the cut falls.
                    end = len(text) + len(word)
                    anchors.append(Anchor(len(text), end, f"t{len(anchors)}"))
                text += word + " "
            passages.append(Passage(text, tuple(anchors)))
            expected_words += text.split()
            expected_anchors += [text[a.start : a.end].strip() for a in anchors]
        sections.append(Section((str(s),), tuple(passages)))
    blocks = split_into_blocks(document(*sections), target_words=6, max_words=8)
    assert [word for block in blocks for word in block.text.split()] == expected_words
    assert all(count_words(block.text) <= 8 for block in blocks)
    found = [block.text[a.start : a.end] for block in blocks for a in block.anchors]
    assert found == expected_anchors
