"""Entity links: mentions of article titles in running text, found by one Aho-Corasick automaton."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import ahocorasick

from wikinav_jax.datasets.documents import Anchor
from wikinav_jax.datasets.sentences import is_spaceless

# Variants of one character for another, so that offsets stay: typographic spaces, quotes, dashes.
_SAME = str.maketrans(
    dict.fromkeys("\t\u00a0\u2002\u2003\u2009\u202f", " ")
    | dict.fromkeys("\u2010\u2011\u2012\u2013", "-")
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
)


@dataclass(frozen=True)
class LinkerOptions:
    """Which mentions count.

    Matching is case-sensitive, but for the first letter (see `small_first_letter`).
    """

    min_length: int = 3  # characters; an ideograph or kana counts as two
    # Whether "Oil painting" is also found as "oil painting": "phrases" says yes for titles of
    # several words only, so that "time" or "gold" in running text is no mention of Time or Gold.
    small_first_letter: Literal["never", "phrases", "always"] = "phrases"
    # Characters that tie words together when words stand on both sides: with "." there is no
    # mention of `os` in `os.path`, but there is one in "see os."
    joiners: str = ""
    exclude: frozenset[str] = frozenset()  # mentions never linked, in any case

    def __post_init__(self) -> None:
        if self.min_length < 1:
            raise ValueError(f"min_length={self.min_length}: need at least 1 character")
        if self.small_first_letter not in ("never", "phrases", "always"):
            raise ValueError(
                f"small_first_letter={self.small_first_letter!r} is none of "
                "'never', 'phrases', 'always'"
            )


def plain_mention(mention: str) -> str:
    """A mention as texts are searched for it: typographic variants of a character made one."""
    return mention.strip().translate(_SAME)


def unambiguous_mentions(names: Iterable[tuple[str, Sequence[str]]]) -> tuple[dict[str, str], int]:
    """Mentions to titles, without the aliases that could mean several articles.

    A title always means its own article, even if it is another's alias.

    Args:
      names: (title, aliases) of each article.

    Returns:
      {mention: title}, and the number of aliases dropped because two articles share them.
    """
    names = list(names)
    mentions = {title: title for title, _ in names}
    by_alias: dict[str, str | None] = {}
    for title, aliases in names:
        for alias in aliases:
            if alias not in mentions and by_alias.setdefault(alias, title) != title:
                by_alias[alias] = None
    mentions.update((alias, title) for alias, title in by_alias.items() if title is not None)
    return mentions, sum(title is None for title in by_alias.values())


class EntityLinker:
    """Finds mentions in texts. Reading is thread-safe after construction."""

    def __init__(self, mentions: Mapping[str, str], options: LinkerOptions | None = None):
        """Builds the automaton: about 1 s for 10^5 mentions.

        Args:
          mentions: {mention: title it means}, see `unambiguous_mentions`.
          options: which mentions count; None for the defaults.
        """
        self.options = options or LinkerOptions()
        excluded = {_fold(mention) for mention in self.options.exclude}
        exact: dict[str, str | None] = {}
        variants: dict[str, str | None] = {}
        for mention, title in mentions.items():
            mention = plain_mention(mention)
            if _length(mention) < self.options.min_length or _fold(mention) in excluded:
                continue
            _add(exact, mention, title)
            if self._may_start_small(mention):
                _add(variants, mention[0].lower() + mention[1:], title)
        # A title written exactly so wins over another one's variant.
        means = {key: title for key, title in {**variants, **exact}.items() if title is not None}
        self.num_mentions = len(means)
        self._variants = {
            variant: variant[0].upper() + variant[1:]
            for variant in variants
            if variant not in exact
        }
        self._automaton = ahocorasick.Automaton()
        for mention, title in means.items():
            self._automaton.add_word(mention, (len(mention), title))
        if means:
            self._automaton.make_automaton()

    def find(
        self, text: str, own_title: str, taken_spans: Iterable[tuple[int, int]] = ()
    ) -> list[Anchor]:
        """The mentions in a text, longest first where they overlap, each title once.

        Args:
          text: a block's text.
          own_title: the article it belongs to, which is never linked.
          taken_spans: (start, end) of hyperlinks; no mention may touch these characters.

        Returns:
          Anchors sorted by their start.
        """
        if not self.num_mentions:
            return []
        text = text.translate(_SAME)
        found = []
        for last, (length, title) in self._automaton.iter(text):
            start, end = last + 1 - length, last + 1
            if title != own_title and self._stands_alone(text, start, end):
                found.append((-length, start, end, title))
        if not found:
            return []
        taken = sorted(taken_spans)
        linked: set[str] = set()
        anchors = []
        for _, start, end, title in sorted(found):
            if title not in linked and not any(low < end and start < high for low, high in taken):
                linked.add(title)
                taken.append((start, end))
                anchors.append(Anchor(start, end, title))
        return sorted(anchors, key=lambda anchor: anchor.start)

    def count(self, text: str, counts: Counter[str]) -> None:
        """Counts how often each mention stands in a text, also inside longer ones.

        A mention with a small first letter counts for the one that it stands for.
        """
        if not self.num_mentions:
            return
        text = text.translate(_SAME)
        for last, (length, _) in self._automaton.iter(text):
            start, end = last + 1 - length, last + 1
            if self._stands_alone(text, start, end):
                mention = text[start:end]
                counts[self._variants.get(mention, mention)] += 1

    def _may_start_small(self, mention: str) -> bool:
        if not mention[0].isupper() or mention[1:2].isupper():  # "DNA test" is never "dNA test"
            return False
        small = self.options.small_first_letter
        return small == "always" or (small == "phrases" and " " in mention)

    def _stands_alone(self, text: str, start: int, end: int) -> bool:
        """Whether no word goes on at either end of `text[start:end]`."""
        return not (
            (start > 0 and self._goes_on(text[start], text[start - 1], text[max(0, start - 2)]))
            or (
                end < len(text)
                and self._goes_on(text[end - 1], text[end], text[min(end + 1, len(text) - 1)])
            )
        )

    def _goes_on(self, inner: str, outer: str, beyond: str) -> bool:
        if outer in self.options.joiners:
            return _in_word(beyond)
        return (
            _in_word(inner) and _in_word(outer) and not (is_spaceless(inner) or is_spaceless(outer))
        )


def _add(means: dict[str, str | None], mention: str, title: str) -> None:
    """Records a meaning; two different ones cancel each other."""
    if means.setdefault(mention, title) != title:
        means[mention] = None


def _fold(mention: str) -> str:
    return mention.strip().translate(_SAME).casefold()


def _length(mention: str) -> int:
    return sum(2 if is_spaceless(character) else 1 for character in mention)


def _in_word(character: str) -> bool:
    """Letters, digits, underscores, and the combining marks that `str.isalnum` leaves out."""
    return (
        character.isalnum()
        or character == "_"
        or (character > "\u02ff" and unicodedata.category(character)[0] == "M")
    )
