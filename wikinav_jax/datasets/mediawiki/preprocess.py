"""First pass over wikitext: comments, extension tags, templates and tables go.

What is left is text, links, HTML, lists and headings. Every step reads the source once from left
to right, and nothing is searched twice, so the time grows with the length of the page whatever
stands in it (only what expanded templates hold is copied, once per level, and levels are limited).
"""

from __future__ import annotations

import re

from wikinav_jax.datasets.mediawiki.characters import (
    DROPPED,
    NOTHING,
    decode_references,
    shield,
)
from wikinav_jax.datasets.mediawiki.templates import expand, is_expanded, template_name

_MAX_EXPANSION_DEPTH = 20  # templates inside expanded templates; deeper ones are dropped

_TOKEN = re.compile(r"<!--|<([a-zA-Z]+)((?:\s[^<>]*)?)>|\{\{+|\}\}+|<([a-zA-Z]+)/>")
# Tags whose content is not wikitext, or no running text.
_DROPPED_NAMES = """
    ref references math ce chem gallery imagemap timeline score hiero graph mapframe maplink
    templatedata templatestyles categorytree inputbox indicator section dynamicpagelist rss
    syntaxhighlight source includeonly phonos charinsert
"""
_DROPPED_TAGS = frozenset(_DROPPED_NAMES.split())
_VERBATIM_TAGS = frozenset(("nowiki", "pre"))
_CLOSING = {
    name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _DROPPED_TAGS | _VERBATIM_TAGS
}
# One <ref> inside another is no such thing: the first one's end was forgotten.
_CLOSING["ref"] = re.compile(r"</ref\s*>|(<ref(?:\s[^<>]*)?(?<!/)>)", re.IGNORECASE)
_BLANK_BEFORE = re.compile(r"\n[ \t]*$")
_BLANK_AFTER = re.compile(r"[ \t]*\n")

_TABLE_EDGE = re.compile(rf"^[ \t:{DROPPED}]*(?:(\{{\|)|(\|\}}))", re.MULTILINE)
_HTML_TABLE_EDGE = re.compile(r"<(?:(table)\b[^<>]*|(/table)\s*)>", re.IGNORECASE)
_VARIANT = re.compile(r"-\{([^{}]*)\}-")
# "zh-hans:", "sr-el:"; "text => zh-hant:". Another colon is text: -{Alien: Covenant}-.
_NAMED_VARIANT = re.compile(r"\s*(?:[^;:]*=>\s*)?[a-z]{2,3}(?:-[a-z]+)*\s*:(?!//)")
_NEXT_VARIANT = re.compile(rf";(?={_NAMED_VARIANT.pattern}|\s*$)")


def drop_templates(source: str, title: str) -> str:
    """Wikitext without comments, references and their like, and templates.

    The text-bearing ones of `templates.py` are expanded. A mark (`DROPPED`) stays where something
    inside a line went. Braces, comments and tags without their other half stay as they are, but
    for a comment without an end: it reaches to the end of the page, as in MediaWiki.

    Args:
      source: as `clean_source` gives it.
      title: of the page, for {{PAGENAME}}.
    """
    out: list[str] = []
    opened: list[list[int]] = []  # [number of braces, their place in `out`]
    never_closed: set[str] = set()
    position = 0
    while match := _TOKEN.search(source, position):
        start, end = match.span()
        out.append(source[position:start])
        position = end
        if source[start] == "{":
            opened.append([end - start, len(out)])
            out.append(match[0])
        elif source[start] == "}":
            if opened:
                _close(out, opened, end - start, title)
            else:
                out.append(match[0])
        elif match[0] == "<!--":
            found = source.find("-->", end)
            position = len(source) if found < 0 else found + 3
            # A line of comments alone vanishes with its line end.
            if _BLANK_BEFORE.search(out[-1][-40:]) and (
                blank := _BLANK_AFTER.match(source, position, position + 40)
            ):
                position = blank.end()
        else:
            position = _extension_tag(source, match, out, never_closed)
    out.append(source[position:])
    return "".join(out)


def _extension_tag(source: str, match: re.Match[str], out: list[str], never: set[str]) -> int:
    """Handles a tag; returns where to go on."""
    name = (match[1] or match[3]).lower()
    closing = _CLOSING.get(name)
    if closing is None:
        out.append(match[0])  # HTML: the second pass
        return match.end()
    if match[3] or match[2].endswith("/"):
        out.append(NOTHING if name == "nowiki" else DROPPED)
        return match.end()
    end = None if name in never else closing.search(source, match.end())
    if end is None:
        never.add(name)
    if end is None or (name == "ref" and end[1]):
        out.append(DROPPED)
        return match.end()
    if name == "nowiki":
        out.append(shield(decode_references(source[match.end() : end.start()])))
    elif name == "pre":
        verbatim = decode_references(source[match.end() : end.start()].strip())
        out.append(f"\n\n{shield(verbatim)}\n\n")
    else:
        out.append(DROPPED)
    return end.end()


def _close(out: list[str], opened: list[list[int]], closing: int, title: str) -> None:
    """Matches a run of closing braces with the open ones, two or three at a time."""
    while closing >= 2 and opened:
        count, place = opened[-1]
        taken = 3 if count >= 3 and closing >= 3 else 2
        if taken == 3:
            text = _parameter("".join(out[place + 1 :])) if len(opened) <= 20 else DROPPED
        else:
            text = _template(out, place + 1, title, len(opened))
        left = count - taken
        out[place] = "{" * left
        out[place + 1 :] = [text]
        closing -= taken
        if left >= 2:
            opened[-1][0] = left
        else:
            opened.pop()
    if closing:
        out.append("}" * closing)


def _template(out: list[str], start: int, title: str, depth: int) -> str:
    name = template_name("".join(out[start : start + 8])[:200])
    if depth > _MAX_EXPANSION_DEPTH or not is_expanded(name):
        return DROPPED
    return expand(name, "".join(out[start:]), title)


def _parameter(content: str) -> str:
    """{{{name|default}}} outside of a template is its default."""
    _, pipe, default = content.partition("|")
    return default if pipe else DROPPED


def drop_tables(text: str) -> tuple[str, bool]:
    """Text without `{| … |}` and `<table>`, nested ones too.

    Returns:
      The text, and whether a table was left open: its rows are still there.
    """
    left_open = False
    if "{|" in text:
        text, left_open = _drop_pairs(text, _TABLE_EDGE)
    if "<table" in text or "<TABLE" in text or "<Table" in text:
        text, _ = _drop_pairs(text, _HTML_TABLE_EDGE)
    return text, left_open


def _drop_pairs(text: str, edge: re.Pattern[str]) -> tuple[str, bool]:
    """Cuts out what lies between matching edges: group 1 opens, group 2 closes."""
    opened: list[int] = []
    regions: list[tuple[int, int]] = []
    for match in edge.finditer(text):
        if match[1]:
            opened.append(match.start())
        elif opened:
            region = (opened.pop(), match.end())
            while regions and regions[-1][0] > region[0]:
                regions.pop()  # inside this one
            regions.append(region)
    parts = []
    position = 0
    for start, end in regions:
        parts.append(text[position:start])
        position = end
    parts.append(text[position:])
    return "\n\n".join(parts), bool(opened)


def choose_variant(text: str) -> str:
    """Resolves -{ }- of languages with several scripts: the first variant named is taken."""
    return _VARIANT.sub(_variant, text) if "-{" in text else text


def _variant(match: re.Match[str]) -> str:
    flags, pipe, rest = match[1].partition("|")
    if pipe and set(flags.strip()) & set("THD-"):
        return ""  # a rule for the page or its title, without text
    content = rest if pipe else match[1]
    named = _NAMED_VARIANT.match(content)
    if named is None:
        return content
    return _NEXT_VARIANT.split(content[named.end() :], maxsplit=1)[0].strip()
