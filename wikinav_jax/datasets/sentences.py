"""Words and sentences of any script, by a few rules and a list of abbreviations."""

from __future__ import annotations

import re

# Scripts written without spaces. One ideograph or kana counts as a word, and so do up to five
# letters of Thai, Lao, Myanmar or Khmer: close to how subword tokenisers cut them.
_IDEOGRAPHS = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# What never starts a word there: vowels and tones behind or around a letter, and repetition marks.
_DEPENDENT = (
    "\u0e30-\u0e3a\u0e45-\u0e4e\u0eb0-\u0ebc\u0ec6-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    "\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd"
)
_WORD = re.compile(
    f"[{_IDEOGRAPHS}]|[{_SOUTH_EAST_ASIAN}]{{1,5}}[{_DEPENDENT}]*+|[^\\s{_IDEOGRAPHS}{_SOUTH_EAST_ASIAN}]+"
)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")

_SPACELESS = re.compile(f"[{_IDEOGRAPHS}{_SOUTH_EAST_ASIAN}]")

_CLOSERS = "\"'”’»›)\\]}」』】）〕》〉"
# Terminators that need white space behind them; and full-width ones and full stops of scripts
# that have no other use for them, which need none (a full-width dot may stand inside a number).
# Possessive, and only at the start of a run of dots: a million dots are passed over once.
_ENDS = ".!?…؟۔։।॥።၊။"
_BOUNDARY = re.compile(
    f"(?<![{_ENDS}])[{_ENDS}]++[{_CLOSERS}]*+(?=\\s)|(?:[。！？｡؟۔।॥\u1362\u104b\u17d4\u17d5]|．(?!\\d))++[{_CLOSERS}]*+"
)
_COMMAS = frozenset("，、；：")
_TITLES_AND_MONTHS = """
    adj adm al approx apr assoc aug ave bros bzw capt cf corp dec dept dr ed eds eg esp est etc etw
    evtl feb fl ft ggf gov hon hr ie inc jan jr jul lat lt ltd maj messrs mlle mme mr mrs ms mt mts
    nov oct orig ph pl pres prof pt rep resp rev sen sep sept sgt sq sr st ste trans usw v vgl viz
    vs"""
_BEFORE_NUMBERS = """
    art c ca ch chap col fig figs max min no nos nr op p par pp pub sec sect ver vol vols"""
_ABBREVIATIONS = frozenset(_TITLES_AND_MONTHS.split())
# Ordinary words too ("no", "art"), or ends of names: abbreviations only when a number follows.
_NUMBER_ABBREVIATIONS = frozenset(_BEFORE_NUMBERS.split())
_TOKEN_BEFORE = re.compile(r"[^\s(\[{\"'“‘«/]+$")


def count_words(text: str) -> int:
    """Words by white space; scripts without spaces are counted by their characters."""
    if text.isascii():
        return len(text.split())
    return sum(1 for _ in _WORD.finditer(text))


def word_spans(text: str) -> list[tuple[int, int]]:
    """The character spans of the words that `count_words` counts."""
    return [match.span() for match in _WORD.finditer(text)]


def has_words(text: str) -> bool:
    """Whether there is a letter or digit at all: rows of dashes or bullets are no text."""
    return _LETTER_OR_DIGIT.search(text) is not None


def is_spaceless(character: str) -> bool:
    """Whether words of this character's script stand without spaces between them."""
    return character > "\u0dff" and _SPACELESS.match(character) is not None


def ends_clause(text: str, end: int) -> bool:
    """Whether a sentence of a script without spaces may well be cut at `end`.

    That is behind a comma of its own, or at white space, which stands for one in Thai and Lao.
    """
    behind = text[end : end + 1]
    if text[end - 1] in _COMMAS:
        return True
    return behind.isspace() and is_spaceless(text[end - 1])


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Character spans of the sentences of a passage, without the white space between them.

    A full stop ends no sentence after an abbreviation or an initial, or before a small letter.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if _ends_sentence(text, match.start(), match.end()):
            _append_stripped(spans, text, start, match.end())
            start = match.end()
    _append_stripped(spans, text, start, len(text))
    return spans


def _append_stripped(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append((start, end))


def _ends_sentence(text: str, at: int, end: int) -> bool:
    """Whether the punctuation `text[at:end]` ends a sentence."""
    if end == len(text):
        return True
    behind = text[end : end + 8].lstrip()[:2]
    first = behind.lstrip("\"'“‘«([")[:1] or behind[:1]
    if first.islower():
        return False
    if text[at] != "." or text[at : at + 2] == "..":
        return True
    token = _TOKEN_BEFORE.search(text, max(0, at - 24), at)
    if token is None:
        return True
    word = token.group()
    folded = word.lower()
    if folded in _NUMBER_ABBREVIATIONS and first.isdigit():
        return False
    if folded in _ABBREVIATIONS:
        # "etc." may end a sentence as well; a capital behind it decides.
        return folded in ("etc", "al") and first.isupper()
    if len(word) == 1:
        # "J. Smith", "J. R. R. Tolkien"; but an ideograph or a digit is no initial.
        return not word.isupper()
    # "U.S. Army", "e.g. This": letters with full stops between them.
    return not all(len(part) == 1 and part.isalpha() for part in word.split("."))
