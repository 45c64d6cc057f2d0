"""Documents to blocks of about 100 words, the nodes of the graph."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from wikinav_jax.datasets.documents import Anchor, Document, Passage, Section
from wikinav_jax.datasets.sentences import (
    count_words,
    ends_clause,
    has_words,
    sentence_spans,
    word_spans,
)

# The graph stores anchors as uint16 [E, 2]: no block may be longer than this many characters.
MAX_CHARACTERS = 65_535


@dataclass(frozen=True, slots=True)
class Block:
    """One node's text. `section` is the path of headings, `anchors` count characters of `text`."""

    section: tuple[str, ...]
    text: str
    anchors: tuple[Anchor, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, or a part of one that is too long alone: `passage.text[start:end]`."""

    passage: Passage
    start: int
    end: int
    words: int


def split_into_blocks(
    document: Document, *, target_words: int = 100, max_words: int = 120
) -> list[Block]:
    """Packs the sentences of each section into blocks of about equal length.

    A section of W words becomes about W / target_words blocks, so that none is left with a
    stub. A block never crosses a section and never holds more than `max_words` words or 65,535
    characters. A sentence is split only when it is longer than that itself, and never inside an
    anchor (one that is longer than a whole block loses its link and is cut like other text).
    Passages are joined by a newline; inside a passage the text is kept as it is. Blocks without
    any letter or digit are dropped.

    Args:
      document: the article.
      target_words: the length aimed at, in words as `sentences.count_words` counts them.
      max_words: the most words of a block.

    Returns:
      The blocks in reading order; empty when the document has no words.

    Raises:
      ValueError: not 1 <= target_words <= max_words.
    """
    if not 1 <= target_words <= max_words:
        raise ValueError(
            f"target_words={target_words} and max_words={max_words}: need 1 <= target_words <= "
            "max_words"
        )
    blocks = []
    for section in document.sections:
        for pieces in _pack(list(_pieces(section, max_words)), target_words, max_words):
            block = _join(section.path, pieces)
            if has_words(block.text):
                blocks.append(block)
    return blocks


def _pack(pieces: list[_Piece], target_words: int, max_words: int) -> Iterator[list[_Piece]]:
    """Groups pieces so that the groups of a section come out about equally long."""
    words_left = sum(piece.words for piece in pieces)

    def next_goal() -> float:
        count = max(1, round(words_left / target_words), -(-words_left // max_words))
        return words_left / count

    goal = next_goal()
    group: list[_Piece] = []
    words = characters = 0
    for piece in pieces:
        length = piece.end - piece.start + 1  # and the newline in front of it
        full = words + piece.words > max_words or characters + length > MAX_CHARACTERS
        # Halfway over the goal: the block is nearer to it without this sentence.
        if group and (full or words + piece.words / 2 > goal):
            yield group
            words_left -= words
            goal = next_goal()
            group, words, characters = [], 0, 0
        group.append(piece)
        words += piece.words
        characters += length
    if group:
        yield group


def _pieces(section: Section, max_words: int) -> Iterator[_Piece]:
    for passage in map(_trim_anchors, section.passages):
        anchors = [(anchor.start, anchor.end) for anchor in passage.anchors]
        for start, end in _merge_cut_anchors(sentence_spans(passage.text), anchors):
            words = count_words(passage.text[start:end])
            if words <= max_words and end - start < MAX_CHARACTERS:
                yield _Piece(passage, start, end, words)
            else:
                yield from _cut(passage, start, end, anchors, max_words)


def _trim_anchors(passage: Passage) -> Passage:
    """Takes white space off the ends of anchors: sentences have none there either."""
    text = passage.text
    if not any(text[a.start].isspace() or text[a.end - 1].isspace() for a in passage.anchors):
        return passage
    trimmed = []
    for anchor in passage.anchors:
        words = text[anchor.start : anchor.end].strip()
        if words:
            start = text.index(words, anchor.start)
            trimmed.append(Anchor(start, start + len(words), anchor.target, anchor.fragment))
    return Passage(text, tuple(trimmed))


def _merge_cut_anchors(
    sentences: list[tuple[int, int]], anchors: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Joins neighbouring sentences that an anchor reaches across ("St. [John. Paul] II")."""
    next_anchor = 0
    i = 0
    while i < len(sentences):
        start, end = sentences[i]
        i += 1
        while next_anchor < len(anchors) and anchors[next_anchor][0] < end:
            while anchors[next_anchor][1] > end and i < len(sentences):
                end = sentences[i][1]
                i += 1
            next_anchor += 1
        yield start, end


def _cut(
    passage: Passage, start: int, end: int, anchors: list[tuple[int, int]], max_words: int
) -> Iterator[_Piece]:
    """Splits a sentence that is too long alone into about equal parts, outside its anchors."""
    atoms = list(_atoms(passage.text, start, end, anchors, max_words))
    total = sum(words for _, _, words in atoms)
    limit = -(-total // -(-total // max_words))
    first, last, count = atoms[0]
    clause = (0, 0)  # where the last clause ended that is long enough, and its words
    for low, high, words in atoms[1:]:
        if count >= limit / 2 and ends_clause(passage.text, last):
            clause = (last, count)
        # Once more if what is left of a cut clause is too long with this atom, too.
        while count and (count + words > limit or high - first >= MAX_CHARACTERS):
            cut, inside = clause if clause[0] > first else (last, count)
            yield _Piece(passage, first, cut, inside)
            first, count = (low, 0) if cut == last else (_start(passage.text, cut), count - inside)
        last = high
        count += words
    yield _Piece(passage, first, last, count)


def _start(text: str, position: int) -> int:
    """The first place from `position` on that is no white space."""
    while text[position].isspace():
        position += 1
    return position


def _atoms(
    text: str, start: int, end: int, anchors: list[tuple[int, int]], max_words: int
) -> Iterator[tuple[int, int, int]]:
    """What is not cut further: words, and runs of words under one anchor, as (start, end, words).

    Only a "word" of more than MAX_CHARACTERS is cut, and an anchor longer than a block.
    """
    spans = [
        (low, min(low + MAX_CHARACTERS - 1, start + word_end))
        for word_start, word_end in word_spans(text[start:end])
        for low in range(start + word_start, start + word_end, MAX_CHARACTERS - 1)
    ]
    next_anchor = 0
    atom = (*spans[0], 1)
    for low, high in spans[1:]:
        while next_anchor < len(anchors) and anchors[next_anchor][1] <= low:
            next_anchor += 1
        under_one_anchor = next_anchor < len(anchors) and anchors[next_anchor][0] < atom[1]
        short = atom[2] < max_words and high - atom[0] < MAX_CHARACTERS
        if under_one_anchor and short:
            atom = (atom[0], high, atom[2] + 1)
        else:
            yield atom
            atom = (low, high, 1)
    yield atom


def _join(section: tuple[str, ...], pieces: list[_Piece]) -> Block:
    """The text of a group of pieces, with the anchors that lie inside it moved to their place."""
    texts: list[str] = []
    anchors: list[Anchor] = []
    offset = 0
    for _, run in itertools.groupby(pieces, key=lambda piece: id(piece.passage)):
        parts = list(run)
        passage, start, end = parts[0].passage, parts[0].start, parts[-1].end
        for anchor in itertools.islice(passage.anchors, _first_from(passage, start), None):
            if anchor.start >= end:
                break
            if anchor.end <= end:
                shift = offset - start
                anchors.append(
                    Anchor(anchor.start + shift, anchor.end + shift, anchor.target, anchor.fragment)
                )
        texts.append(passage.text[start:end])
        offset += end - start + 1
    return Block(section, "\n".join(texts), tuple(anchors))


def _first_from(passage: Passage, start: int) -> int:
    """The index of the first anchor that starts at `start` or later."""
    return bisect.bisect_left(passage.anchors, start, key=lambda anchor: anchor.start)
