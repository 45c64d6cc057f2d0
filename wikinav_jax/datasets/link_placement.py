"""Finds the words that a link stood on, where only the linked titles are known.

Some corpora give, per article, the titles that it links to but not where. A link is placed on
the target's title (or a plural of it, or the title without what tells it apart from others:
"Boston, Massachusetts", "Henry VIII of England", "Cell (biology)", "Tamil language"); else on a
word that stands for the target in this corpus ("Dutch" for "Netherlands"; learned from articles
that link to it without naming it); else on the words of the title or their relatives ("Christian"
for "Christianity"). Of several mentions the first is taken: that is where editors set links.
"""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import ahocorasick

How = Literal["title", "alias", "word"]

_NON_WORD = re.compile(r"[^\w]|_")
_ASCII_FOLD = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
_PARENTHESES = re.compile(r" \([^()]*\)$")
_OF_A_REALM = re.compile(r"^(.+ [IVX]+) of .+$")  # "Henry VIII of England"
# Words of titles that say nothing about their subject.
_SMALL_WORDS = frozenset(
    {"a", "an", "and", "as", "at", "by", "de", "der", "for", "from", "in", "la", "le", "of"}
    | {"on", "or", "the", "to", "und", "under", "van", "von", "with"}
)
# Words that say what kind of thing a title names; the rest names it: "Tamil language".
_KINDS = frozenset(("language", "people"))
_MIN_MENTION = 2  # characters
_LEAD_WORDS = 200  # of an article, in which its other names stand
# A learned alias: how many articles must use it, and how much more often than articles at large.
# Less is asked of relatives of the title ("christian") and of names ("Dutch") than of any other
# word, which may just belong to the topic ("species").
_MIN_ARTICLES = 3
_MIN_LIFT_NEAR = 1.5
_MIN_LIFT_FAR = 5.0
_RELATIVE_WEIGHT = 3.0
_MAX_ALIASES = 2


@dataclass(frozen=True, slots=True)
class Placement:
    """Link to `target`: the characters `[start, end)` of passage `passage`."""

    target: str
    passage: int
    start: int
    end: int
    how: How


@dataclass(slots=True)
class _Article:
    """Its passages folded into one text, in the order in which mentions are preferred."""

    title: str
    text: str  # each passage as " words of it ", joined by newlines
    begins: list[int]  # where each passage's first character stands in `text`
    passages: list[int]  # the number of the passage that begins there
    wanted: list[str]  # targets without a place so far
    taken: list[tuple[int, int]]  # spans of `text`
    placements: list[Placement]

    def place(self, target: str, start: int, end: int, how: How) -> bool:
        """Takes a span of `text` unless another link has it."""
        if any(low < end and start < high for low, high in self.taken):
            return False
        self.taken.append((start, end))
        i = bisect.bisect_right(self.begins, start) - 1
        low = self.begins[i]
        self.placements.append(Placement(target, self.passages[i], start - low, end - low, how))
        return True


@dataclass(frozen=True, slots=True)
class _Lead:
    """The folded words at the beginning of an article, and those of them that start small."""

    words: frozenset[str]
    small: frozenset[str]


_NO_LEAD = _Lead(frozenset(), frozenset())


class LinkPlacer:
    """Places the links of a corpus: add every article, then read `placements` once.

    Titles are the keys of articles and at the same time what is looked for in the texts.
    """

    def __init__(self, names: Mapping[str, Sequence[str]]):
        """Prepares the search for all articles that can be linked.

        Args:
          names: title of each article -> other names that texts may call it by.

        Raises:
          ValueError: there are none.
        """
        if not names:
            raise ValueError("no titles to look for; give the titles of all articles")
        meanings: dict[str, list[str]] = defaultdict(list)
        for title, others in names.items():
            mentions = [mention for name in (title, *others) for mention in _mentions(name)]
            for mention in dict.fromkeys(mentions):
                meanings[mention].append(title)
        self._automaton = ahocorasick.Automaton()
        for mention, targets in meanings.items():
            # With a space on both sides only whole words are found.
            self._automaton.add_word(f" {mention} ", (mention, targets))
        self._automaton.make_automaton()
        self._articles: list[_Article] = []
        self._leads: dict[str, _Lead] = {}
        self._document_frequency: Counter[str] = Counter()
        self._mentioned_in: Counter[str] = Counter()  # mention -> articles
        self._linked_in: Counter[tuple[str, str]] = Counter()  # and of those, that link to a title

    def add(
        self, title: str, passages: Sequence[str], ranks: Sequence[int], targets: Iterable[str]
    ) -> None:
        """Adds an article.

        Args:
          title: its own title.
          passages: its texts, in reading order.
          ranks: per passage; links are rather placed in passages of a lower rank.
          targets: titles of the articles it links to, each once.

        Raises:
          ValueError: there is not one rank per passage.
        """
        if len(ranks) != len(passages):
            raise ValueError(f"{title!r}: {len(ranks)} ranks for {len(passages)} passages")
        order = sorted(range(len(passages)), key=lambda i: ranks[i])
        folded = [f" {_fold(passages[i])} " for i in order]
        begins, position = [], 1
        for text in folded:
            begins.append(position)
            position += len(text) + 1
        article = _Article(title, "\n".join(folded), begins, order, [], [], [])
        words = article.text.split()
        self._document_frequency.update(set(words))
        self._leads[title] = _lead(words, (passages[i] for i in order))
        self._place_by_title(article, list(dict.fromkeys(targets)))
        self._articles.append(article)

    def link_share(self, name: str, title: str) -> float:
        """Of the articles that mention `name`, the share that links to `title`.

        Near 1 for "Isaac Newton", near 0 for words that mostly mean something else ("queen" for
        "Queen (band)"). 0 for names that are not looked for or stand nowhere.
        """
        mention = _fold(name)
        return self._linked_in[mention, title] / max(1, self._mentioned_in[mention])

    def placements(self) -> Iterator[tuple[str, list[Placement], list[str]]]:
        """Per article, in the order added: its title, its placed links, the targets not found.

        Placements are sorted by passage and start; no two of them overlap.
        """
        aliases = self._learn_aliases()
        for article in self._articles:
            without_place = [
                target
                for target in article.wanted
                if not self._place_by_alias(article, target, aliases[target])
                and not self._place_by_words(article, target)
            ]
            article.placements.sort(key=lambda placement: (placement.passage, placement.start))
            yield article.title, article.placements, without_place

    def _place_by_title(self, article: _Article, targets: list[str]) -> None:
        hits = [
            (last - len(mention), last, meanings)
            for last, (mention, meanings) in self._automaton.iter(article.text)
        ]
        hits.sort(key=lambda hit: (hit[0], -hit[1]))
        alone: dict[str, list[tuple[int, int]]] = {target: [] for target in targets}
        inside: dict[str, list[tuple[int, int]]] = {target: [] for target in targets}
        reach = 0
        for start, end, meanings in hits:
            # "Africa" in "South Africa" means South Africa, whether that is linked or not.
            spans = inside if end <= reach else alone
            reach = max(reach, end)
            for target in meanings:
                if target in spans:
                    spans[target].append((start, end))
        self._mentioned_in.update({article.text[start:end] for start, end, _ in hits})
        self._linked_in.update(
            {
                (article.text[start:end], target)
                for target in targets
                for start, end in alone[target] + inside[target]
            }
        )
        for target in sorted(targets, key=lambda target: -len(target)):
            spans_of_target = alone[target] + inside[target]
            if not any(article.place(target, *span, "title") for span in spans_of_target):
                article.wanted.append(target)

    def _learn_aliases(self) -> dict[str, list[str]]:
        """Words of a target's lead that articles use which link to it without naming it."""
        uses: dict[str, list[frozenset[str]]] = defaultdict(list)
        for article in self._articles:
            if article.wanted:
                words = frozenset(article.text.split())
                for target in article.wanted:
                    uses[target].append(words & self._leads.get(target, _NO_LEAD).words)
        return {target: list(self._best_words(target, used)) for target, used in uses.items()}

    def _best_words(self, target: str, uses: list[frozenset[str]]) -> Iterator[str]:
        """Words by the evidence for them, each judged on the articles that lack the ones before.

        Args:
          target: what they shall stand for.
          uses: per article that links to it without naming it, the words of the target's lead.
        """
        title = _title_words(target)
        small = self._leads.get(target, _NO_LEAD).small
        for _ in range(_MAX_ALIASES):
            best, best_score = "", 0.0
            counts = Counter(word for used in uses for word in used)
            for word, count in sorted(counts.items()):
                if count < _MIN_ARTICLES or len(word) < 2 or word.isdigit():
                    continue
                share = self._document_frequency[word] / len(self._articles)
                lift = count / (len(uses) * share)
                relative = any(_are_relatives(word, other) for other in title)
                near = relative or word not in small
                if lift >= (_MIN_LIFT_NEAR if near else _MIN_LIFT_FAR):
                    score = count * math.log(lift) * (_RELATIVE_WEIGHT if relative else 1.0)
                    if score > best_score:
                        best, best_score = word, score
            if not best:
                return
            yield best
            uses = [used for used in uses if best not in used]

    def _place_by_alias(self, article: _Article, target: str, aliases: Sequence[str]) -> bool:
        return any(
            self._place_widened(article, target, start + 1, start + 1 + len(alias), "alias")
            for alias in aliases
            for start in _occurrences(article.text, f" {alias} ")
        )

    def _place_by_words(self, article: _Article, target: str) -> bool:
        """On the rarest word in the passage that has most of the title's words or relatives."""
        weights = {word: self._rarity(word) for word in _title_words(target)}
        spans: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
        for word in weights:
            for start in _occurrences(article.text, f" {_stem(word)}"):
                end = article.text.index(" ", start + 1)
                if end - start - 1 <= len(word) + _longest_ending(word):
                    passage = bisect.bisect_right(article.begins, start + 1) - 1
                    spans[passage].setdefault(word, (start + 1, end))
        # The order of passages in `text` decides between equals.
        best_first = sorted(spans, key=lambda i: (-sum(weights[word] for word in spans[i]), i))
        return any(
            self._place_widened(article, target, *spans[passage][word], "word")
            for passage in best_first
            for word in sorted(spans[passage], key=lambda word: -weights[word])
        )

    def _place_widened(
        self, article: _Article, target: str, start: int, end: int, how: How
    ) -> bool:
        """Places a link on a word and the words of the title beside it: "New York", not "York"."""
        title = frozenset(_title_words(target))
        text = article.text
        low, high = start, end
        while True:
            before = text.rfind(" ", 0, low - 1) + 1
            if text[before : low - 1] not in title:
                break
            low = before
        while True:
            after = text.find(" ", high + 1)  # every passage ends in a space
            if text[high + 1 : after] not in title:
                break
            high = after
        return article.place(target, low, high, how) or article.place(target, start, end, how)

    def _rarity(self, word: str) -> float:
        return math.log((2 + len(self._articles)) / (1 + self._document_frequency[word]))


def _mentions(title: str) -> Iterator[str]:
    """What a text may call an article, folded."""
    names = [title, _PARENTHESES.sub("", title), title.split(", ")[0]]
    match = _OF_A_REALM.match(title)
    if match:
        names.append(match[1])
    rest, _, last = title.rpartition(" ")
    if last in _KINDS:
        names.append(rest)
    for name in names:
        folded = _fold(name)
        if len(folded.strip()) >= _MIN_MENTION:
            yield folded
            yield from _plurals(folded)


def _plurals(name: str) -> Iterator[str]:
    if name[-1] not in " s":
        yield name + "s"
    if name.endswith(("s", "x", "z", "ch", "sh", "o")):
        yield name + "es"
    if name.endswith("y"):
        yield name[:-1] + "ies"
    if name.endswith("man"):
        yield name[:-2] + "en"


def _lead(words: Sequence[str], passages: Iterable[str]) -> _Lead:
    small: set[str] = set()
    seen = 0
    for passage in passages:
        if seen >= _LEAD_WORDS:
            break
        parts = _NON_WORD.sub(" ", passage).split()
        seen += len(parts)
        small.update(part for part in parts if part.islower())
    return _Lead(frozenset(words[:_LEAD_WORDS]), frozenset(small))


def _title_words(title: str) -> list[str]:
    return [word for word in _fold(title).split() if word not in _SMALL_WORDS and len(word) >= 3]


def _are_relatives(word: str, other: str) -> bool:
    return word.startswith(_stem(other)) or other.startswith(_stem(word))


def _stem(word: str) -> str:
    return word[: max(min(len(word), 4), round(0.6 * len(word)))]


def _longest_ending(word: str) -> int:
    """How many letters longer a relative may be: "rainfall" is one of "rain", "cargo" is not of
    "car"."""
    return 0 if len(word) < 4 else 4 if len(word) == 4 else 6


def _fold(text: str) -> str:
    """Lower case, and a space for every sign: character for character, so that spans stay."""
    if text.isascii():
        return text.translate(_ASCII_FOLD)
    return _NON_WORD.sub(" ", text.replace("İ", "i").lower())


def _occurrences(text: str, pattern: str) -> Iterator[int]:
    position = text.find(pattern)
    while position >= 0:
        yield position
        position = text.find(pattern, position + 1)
