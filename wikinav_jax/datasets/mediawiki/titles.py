"""Titles by MediaWiki's rules: what a link names.

Source of the rules: MediaWikiTitleCodec::splitTitleString and the manual page "Page title".
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
from urllib.parse import unquote

from wikinav_jax.datasets.mediawiki.characters import decode_references
from wikinav_jax.datasets.mediawiki.names import (
    CANONICAL_NAMESPACES,
    CATEGORY,
    DOTTED_I,
    FILE,
    LANGUAGES,
    MEDIA,
    NAMESPACE_ALIASES,
    SISTERS,
)

_SPACES = re.compile(r"[ _\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\t\n\r]+")
_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202e]")
_ILLEGAL = re.compile(
    r"[\x00-\x1f\x7f<>\[\]{}|\ufffd]|%[0-9A-Fa-f]{2}|&(?:[A-Za-z0-9\x80-\xff]+|#\d+|#x[0-9A-Fa-f]+);"
)
# Most links: nothing to decode, no prefix, no section, no double space, a capital at the start.
_PLAIN = re.compile(r"[A-Z][A-Za-z0-9,()'.\-]*(?: [A-Za-z0-9,()'.\-]+)*")
_PARENTHESES = re.compile(r"^(.*?)[ _]*(?:\([^()]*\)|（[^（）]*）)$", re.DOTALL)
# The ids that MediaWiki gave headings until 2017: ".D0.9F" for "П", ".28" for "(". A sign behind a
# digit is left alone: "Version 1.20" has no space in it.
_DOT_LETTERS = re.compile(r"(?:\.[89A-F][0-9A-F]){2,}")
_DOT_SIGNS = re.compile(r"(?<!\d)\.(2[1-9A-CF]|3[A-F]|40|5B|5D|60|7[B-E])(?![0-9A-F])")
_COMMA = re.compile(r"^(.*?)(?:, |，|، ).*$", re.DOTALL)
_MAX_BYTES = 255  # of a title in UTF-8
_WIKI_SUFFIX = re.compile(
    r"(?:wiki|wiktionary|wikibooks|wikiquote|wikisource|wikinews|wikiversity|wikivoyage)$"
)


class LinkKind(Enum):
    """What stands between the brackets."""

    ARTICLE = "article"
    FILE = "file"  # shows a picture: no text
    CATEGORY = "category"  # no text
    LANGUAGE = "language"  # the same article in another language: no text
    OTHER = "other"  # another namespace, another site: text, but no article
    INVALID = "invalid"  # no title: MediaWiki shows the source


class LinkTarget(NamedTuple):
    """Where a link leads; `title` is "" for a section of the page itself."""

    kind: LinkKind
    title: str = ""
    fragment: str = ""


@dataclass(frozen=True)
class SiteInfo:
    """A dump's `<siteinfo>`; the defaults stand for a dump without one."""

    name: str = ""
    database: str = ""  # "ltgwiki"
    base: str = ""  # the address of the main page
    language: str = "en"
    first_letter: bool = True  # titles start with a capital
    namespaces: Mapping[str, int] = field(default_factory=dict)  # local name -> number


class Titles:
    """Reads titles as one wiki does. Results of `link` are cached."""

    def __init__(self, site: SiteInfo):
        self.site = site
        self.language = site.language.lower()
        self._namespaces = dict(CANONICAL_NAMESPACES)
        for name, number in site.namespaces.items():
            if name:
                self._namespaces[_fold(name)] = number
        for name, number in NAMESPACE_ALIASES.items():
            self._namespaces.setdefault(name, number)
        own = _WIKI_SUFFIX.sub("", site.database).replace("_", "-")
        if not site.database and "wikipedia.org" in site.base:
            own = self.language
        self._own_prefixes = {own} if own in LANGUAGES else set()
        if site.database == "enwiki":
            self._own_prefixes |= {"w", "wikipedia"}
        self.link = functools.lru_cache(maxsize=1 << 16)(self._link)

    def namespace(self, title: str) -> int:
        """The number of the namespace that a page's title stands in."""
        prefix, colon, _ = title.partition(":")
        return self._namespaces.get(_fold(prefix), 0) if colon else 0

    def normalize(self, title: str) -> str:
        """A page's title as links to it come out: spaces, composed letters, a first capital."""
        title = _DIRECTION.sub("", unicodedata.normalize("NFC", title))
        title = _SPACES.sub(" ", title).strip()
        return self._capitalize(title)

    def _link(self, raw: str) -> LinkTarget:
        """Classifies the target of an internal link, as it stands in the source.

        Args:
          raw: what stands before the pipe.

        Returns:
          The target. Percent escapes and character references are decoded (in this order), the
          title is normalised and the section is kept apart.
        """
        if _PLAIN.fullmatch(raw) and len(raw) <= _MAX_BYTES:
            return LinkTarget(LinkKind.ARTICLE, raw)
        text = unquote(raw) if "%" in raw else raw
        text = decode_references(text)
        if not text.isascii():
            text = _DIRECTION.sub("", unicodedata.normalize("NFC", text))
        text, _, fragment = text.partition("#")
        text = _SPACES.sub(" ", text).strip()
        fragment = _SPACES.sub(" ", _undo_dots(fragment)).strip()
        for_text = text.startswith(":")  # [[:Category:X]] is a link to the category
        text = text.lstrip(": ")
        number = 0
        may_leave = True
        while ":" in text:
            prefix, _, rest = text.partition(":")
            folded, rest = _fold(prefix), rest.lstrip(": ")
            if folded in self._namespaces:
                number, text = self._namespaces[folded], rest
                break
            if folded in self._own_prefixes:
                text = rest
            elif may_leave and folded in LANGUAGES:
                return LinkTarget(LinkKind.OTHER if for_text else LinkKind.LANGUAGE)
            elif may_leave and folded in SISTERS:
                return LinkTarget(LinkKind.OTHER)
            else:
                break
            may_leave = True
        if _ILLEGAL.search(text) or len(text.encode("utf-8", "replace")) > _MAX_BYTES:
            return LinkTarget(LinkKind.INVALID)
        if number == FILE and not for_text:
            return LinkTarget(LinkKind.FILE)
        if number == CATEGORY and not for_text:
            return LinkTarget(LinkKind.CATEGORY)
        if number in (FILE, CATEGORY, MEDIA) or number != 0:
            return LinkTarget(LinkKind.OTHER)
        if not text:
            kind = LinkKind.ARTICLE if fragment else LinkKind.INVALID
            return LinkTarget(kind, "", fragment)
        if text in (".", "..") or text.startswith(("./", "../")) or "~~~" in text:
            return LinkTarget(LinkKind.INVALID)
        return LinkTarget(LinkKind.ARTICLE, self._capitalize(text), fragment)

    def _capitalize(self, text: str) -> str:
        first = text[:1]
        if not self.site.first_letter or not first.islower() or "\u10d0" <= first <= "\u10ff":
            return text  # Georgian letters have capitals in Unicode, but not in titles
        if first == "i" and self.language in DOTTED_I:
            return "İ" + text[1:]
        upper = first.upper()
        return upper + text[1:] if len(upper) == 1 else text  # "ß" stays


def pipe_trick(target: str) -> str:
    """The text of `[[target|]]`: without prefix, and without what tells it from others."""
    text = target.strip().lstrip(":")
    prefix, colon, rest = text.partition(":")
    if colon and prefix and rest and not rest.startswith(" "):
        text = rest
    match = _PARENTHESES.match(text) or _COMMA.match(text)
    return (match[1] if match and match[1] else text).strip()


def reverse_pipe_trick(label: str, title: str) -> str:
    """The target of `[[|label]]` on the page `title`: it takes over what tells that from others."""
    parentheses = re.search(r" \([^()]*\)$", title)
    if parentheses:
        return label + parentheses[0]
    comma = title.find(", ")
    return label + title[comma:] if comma > 0 else label


def _fold(prefix: str) -> str:
    # The small form of "İ" is an i with a dot above it: "KATEGORİ" is "kategori".
    return _SPACES.sub(" ", prefix).strip().lower().replace("i\u0307", "i")


def _undo_dots(fragment: str) -> str:
    """A `#section` without the escapes of old ids; what is none stays as it is."""
    if "." not in fragment:
        return fragment
    text = _DOT_LETTERS.sub(_letters, fragment)
    return _DOT_SIGNS.sub(lambda match: chr(int(match[1], 16)), text)


def _letters(match: re.Match[str]) -> str:
    try:
        return bytes.fromhex(match[0].replace(".", "")).decode()
    except UnicodeDecodeError:
        return match[0]
