"""Second pass over wikitext: internal and external links, and HTML tags."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from wikinav_jax.datasets.mediawiki.characters import (
    DROPPED,
    LINK_END,
    LINK_LABEL,
    LINK_START,
    NOTHING,
    decode_references,
    shield,
)
from wikinav_jax.datasets.mediawiki.names import ASCII_TRAILS, DEVANAGARI_TRAILS
from wikinav_jax.datasets.mediawiki.titles import (
    LinkKind,
    Titles,
    pipe_trick,
    reverse_pipe_trick,
)

_MAX_OPEN = 40  # links inside links; what opens deeper is text
_PROTOCOL = (
    r"(?i:(?:https?|ftps?|sftp|ircs?|gopher|telnet|nntp|mms|svn|git|ssh|worldwind)://"
    r"|(?:mailto|news|tel|sips?|xmpp|bitcoin|magnet|urn|geo):|//)"
)
_ADDRESS = re.compile(rf"[^\s<>\[\]\"{LINK_START}-{LINK_END}']*(?:'[^\s<>\[\]\"'{LINK_START}]+)*'?")
_LINK_MARKS = re.compile(f"{LINK_START}\\d+{LINK_LABEL}|{LINK_END}")

_INVISIBLE = f" \t\n\xa0'{DROPPED}{NOTHING}"
_PIPE, _MARK = shield("|"), shield("!!")

_BLOCK = """
    p div h1 h2 h3 h4 h5 h6 hr ul ol li dl dt dd table tr td th caption thead tbody tfoot
    blockquote
    center poem pre section article aside
"""
_BLOCK_TAGS = frozenset(_BLOCK.split())
_INLINE = """
    a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q rb rp rt rtc ruby s samp
    small span strike strong sub sup time tt u var wbr nowiki noinclude onlyinclude includeonly
    templatestyles ref references nobr translate tvar languages section lang gallery math source
    syntaxhighlight
"""
_INLINE_TAGS = frozenset(_INLINE.split())


@dataclass
class Inline:
    """A page's text with marks for its links: LINK_START, number, LINK_LABEL, label, LINK_END."""

    text: str
    links: list[tuple[str, str]]  # (title, fragment) by number
    counts: Counter[str]


class InlineParser:
    """Reads links and tags with the rules of one wiki."""

    def __init__(self, titles: Titles):
        self._titles = titles
        self._trail = _trail_pattern(titles.language)
        self._token = re.compile(
            # A link without anything nested: by far the most.
            rf"\[\[([^\[\]|<>{{}}\n{LINK_START}-{DROPPED}]*)(?:\|([^\[\]]*))?\]\]"
            rf"|\[\[(?!\[)|(\]+)|\[(?={_PROTOCOL})"
            r"|<(/?)([a-zA-Z][a-zA-Z0-9]*)(?:\s[^<>]*)?/?>"
        )

    def parse(self, text: str, title: str) -> Inline:
        """Replaces links and tags of a page without templates.

        Args:
          text: as `drop_templates` gives it.
          title: the page's; links without a title (`[[#Section]]`) lead there.
        """
        scan = _Scan(self._titles, title)
        out = scan.out
        trail = self._trail
        position = 0
        for match in self._token.finditer(text):
            start, end = match.span()
            if start < position:
                continue  # inside what was handled already
            out.append(text[position:start])
            position = end
            target, label, closing, _, tag = match.groups()
            if target is not None:
                tail = trail.match(text, end)
                position = tail.end() if tail else end
                out.append(scan.link(target, label, tail[0] if tail else ""))
            elif tag is not None:
                out.append(_tag_text(match[0], tag.lower()))
            elif closing is None:
                scan.open(match[0])
            else:
                position = scan.close(text, start, end, trail)
        out.append(text[position:])
        return Inline("".join(out), scan.links, scan.counts)


class _Scan:
    """The state of reading one page."""

    def __init__(self, titles: Titles, title: str):
        self.out: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.counts: Counter[str] = Counter()
        self._titles = titles
        self._title = title
        self._opened: list[tuple[str, int]] = []  # ("[[" or "[", its place in `out`)

    def open(self, sign: str) -> None:
        if len(self._opened) < _MAX_OPEN:
            self._opened.append((sign, len(self.out)))
        self.out.append(sign)

    def close(self, text: str, start: int, end: int, trail: re.Pattern[str]) -> int:
        """Handles a run of closing brackets; returns where to go on."""
        while start < end:
            if not self._opened:
                self.out.append(text[start:end])
                return end
            sign, place = self._opened[-1]
            if sign == "[":
                self._opened.pop()
                if self._close_external(place):
                    start += 1
                continue
            if end - start == 1:
                self.out.append("]")
                return end
            content = "".join(self.out[place + 1 :])
            if end - start > 2 and content.count("[") > content.count("]"):
                content += "]"  # [[a|[b]]]
                start += 1
            start += 2
            self._opened.pop()
            del self.out[place:]
            start = self._close_internal(content, text, start, end, trail)
        return start

    def _close_external(self, place: int) -> bool:
        """[http://… label]: only the label stays. A line end before the bracket: no link."""
        content = "".join(self.out[place + 1 :])
        if "\n" in content:
            self.out[place + 1 :] = [content]
            return False
        address = _ADDRESS.match(content)
        label = content[address.end() if address else 0 :].lstrip(" \t")
        self.out[place:] = [label or DROPPED]
        return True

    def _close_internal(
        self, content: str, text: str, start: int, end: int, trail: re.Pattern[str]
    ) -> int:
        target, pipe, label = content.partition("|")
        if "\n" in target or (pipe and "\n==" in label):
            self.out.append(f"[[{content}]]")  # its end was forgotten: other text stands inside
            return start
        if start == end and (tail := trail.match(text, start)):
            self.out.append(self.link(target, label if pipe else None, tail[0]))
            return tail.end()
        self.out.append(self.link(target, label if pipe else None, ""))
        return start

    def link(self, target: str, label: str | None, trail: str) -> str:
        """The text that stands for a link."""
        if label is not None:
            if "\n" in label:
                label = label.replace("\n", " ")
            if "|" in label or "!!" in label:  # no edges of cells, where tables are kept
                label = label.replace("|", _PIPE).replace("!!", _MARK)
            if "<" in label:
                label = _TAG.sub(_tag_in_label, label)
            if not label:
                label = pipe_trick(target)
            elif not target.strip():
                target = reverse_pipe_trick(label, self._title)
        kind, title, fragment = self._titles.link(target)
        if kind is not LinkKind.ARTICLE:
            self.counts[f"links_{kind.value}"] += 1
            if kind is LinkKind.INVALID:
                if label is None:
                    return f"[[{target}]]{trail}"
                return label + trail
            if kind is not LinkKind.OTHER:
                return trail
        text = label if label is not None else target.strip().lstrip(":").lstrip()
        if kind is LinkKind.OTHER:
            return text + trail
        if LINK_START in text:
            self.counts["links_around_links"] += 1
            return text + trail
        visible = decode_references(text) if "&" in text else text
        if not visible.strip(_INVISIBLE):
            self.counts["links_without_text"] += 1  # a flag or another template that is dropped
            return DROPPED + trail
        self.counts["links_article"] += 1
        self.links.append((title or self._titles.normalize(self._title), fragment))
        # White space at the ends of a label is none of the anchor's.
        words = text.strip() if not trail else text.lstrip()
        before = " " if text[:1].isspace() else ""
        after = " " if text[-1:].isspace() and not trail else ""
        number = len(self.links) - 1
        return f"{before}{LINK_START}{number}{LINK_LABEL}{words}{trail}{LINK_END}{after}"


_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)(?:\s[^<>]*)?/?>")


def _tag_in_label(match: re.Match[str]) -> str:
    return _tag_text(match[0], match[2].lower()).replace("\n\n", " ")


def _tag_text(source: str, name: str) -> str:
    if name in _INLINE_TAGS:
        return ""
    if name == "br":
        return " "
    return "\n\n" if name in _BLOCK_TAGS else source  # an unknown tag is text


def _trail_pattern(language: str) -> re.Pattern[str]:
    """The letters behind a link that belong to its text: [[bus]]es."""
    base = language.partition("-")[0]
    if base in ASCII_TRAILS:
        return re.compile("[a-z]+")
    if base == "zh":
        return re.compile("(?!)")  # none at all
    if base == "he":
        return re.compile("[a-zא-ת]+")
    if base in ("ar", "arz"):
        return re.compile("[a-zء-ي]+")
    if base in ("fa", "azb", "glk", "mzn", "ckb"):
        return re.compile("[ء-یپچژگکآئ\u200c]+")
    if base in DEVANAGARI_TRAILS:
        return re.compile("[a-z\u0900-\u0963\u0966-\u097f\ua8e0-\ua8ff]+")
    if base == "ka":
        return re.compile("[a-zა-ჰ“»]+")
    if base == "ca":
        return re.compile(r"(?:[a-zàèéíòóúç·ïü]|'(?!'))+")
    return re.compile(f"[{_SMALL_LETTERS}]+")


def _small_letters() -> str:
    """All small letters of the Latin, Greek, Cyrillic and Armenian scripts, as ranges."""
    codes = [c for c in range(0x61, 0x590) if chr(c).islower() and c not in (0xAA, 0xBA)]
    codes += [c for c in range(0x1E00, 0x2000) if chr(c).islower()]
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and code - ranges[-1][1] <= 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in ranges)


_SMALL_LETTERS = _small_letters()
