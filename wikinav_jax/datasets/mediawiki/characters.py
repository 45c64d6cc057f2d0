"""Characters with a meaning inside the parser, and the references to characters of wikitext."""

from __future__ import annotations

import re
from html.entities import html5

# The scanner's marks in a text on its way to passages. `clean_source` takes them off the input.
LINK_START = "\x01"  # LINK_START number LINK_LABEL label LINK_END
LINK_LABEL = "\x02"
LINK_END = "\x03"
DROPPED = "\x04"  # a template, reference or formula stood here
NOTHING = "\x05"  # an empty <nowiki/>: it parts what stands on its sides

# Markup inside <nowiki> and <pre> is moved to private characters and back when all is parsed.
_SHIELD_BASE = 0xE000
_MARKUP = "!\"#&'*-:;<=>[]_{|}~ "
_TO_SHIELD = {ord(c): chr(_SHIELD_BASE + ord(c)) for c in _MARKUP}
_FROM_SHIELD = {_SHIELD_BASE + ord(c): c for c in _MARKUP}
_SHIELDED = re.compile("[\ue000-\ue07f]")

_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ue000-\ue07f]")
_INVISIBLE = re.compile("[\xad\u200e\u200f\u202a-\u202e\u2060\ufeff]")
_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));")


def clean_source(text: str) -> str:
    """Wikitext with Unix line ends and without control characters and the parser's marks."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNWANTED.sub("", text) if _UNWANTED.search(text) else text


def shield(text: str) -> str:
    """Takes its meaning from markup, until `unshield`."""
    return text.translate(_TO_SHIELD)


def unshield(text: str) -> str:
    """Undoes `shield`."""
    return text.translate(_FROM_SHIELD) if _SHIELDED.search(text) else text


def decode_references(text: str) -> str:
    """Replaces `&amp;`, `&#160;` and `&#xA0;` by their characters; unknown names stay."""
    return _REFERENCE.sub(_decode, text) if "&" in text else text


def drop_invisible(text: str) -> str:
    """Text without soft hyphens and marks of direction (joiners stay: scripts need them)."""
    if text.isascii() or not _INVISIBLE.search(text):
        return text
    return _INVISIBLE.sub("", text)


def _decode(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name is not None:
        return html5.get(name + ";", match[0])
    code = int(decimal) if decimal else int(hexadecimal, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return "\ufffd"
    character = chr(code)
    return "" if _UNWANTED.match(character) else character
