"""Markdown files to documents: CommonMark with tables and wikilinks, rendered to HTML and read."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from wikinav_jax.datasets.building.chunks import OtherName
from wikinav_jax.datasets.building.source import SourceOptions
from wikinav_jax.datasets.sources.html import read_html
from wikinav_jax.datasets.sources.html_encoding import decode_html
from wikinav_jax.datasets.sources.links import Link, LinkResolver
from wikinav_jax.datasets.sources.parser import Parsed

_SCHEME = "wikilink:"
_FRONT = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\n(.*?\n)??(?:\1|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_MAX_FRONT = 64 << 10  # characters
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n|]{1,500})(?:\|([^\[\]\n]{0,500}))?\]\]")
_PICTURE = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|mp[34]|webm|mov|og[gv]|wav|pdf)$", re.IGNORECASE
)
_EXPLICIT_ID = re.compile(r"\s*\{:?\s*#([^\s{}]+)[^{}]*\}\s*$")
_HUGO_REF = re.compile(r"\{\{[<%]\s*(?:rel)?ref\s+\"?([^\"\s>%]+)\"?\s*[>%]\}\}")
_JEKYLL_LINK = re.compile(r"\{%-?\s*link\s+([^%\s]+)\s*-?%\}")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


class MarkdownReader:
    """Reads Markdown files."""

    def __init__(self, options: SourceOptions):
        self._options = options
        self._markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        self._markdown.inline.ruler.before("link", "wikilink", _wikilink)

    def read(
        self, source: bytes, key: str, resolver: LinkResolver, names: Sequence[OtherName]
    ) -> Parsed:
        """Reads a file.

        A wikilink leads to the file whose name it gives, with or without its last folders, or whose
        title or alias it is (front matter: `title`, `aliases`); case does not matter. An ordinary
        link leads to a path. `#fragment`s name headings as they are written, by GitHub's slugs, or
        by an explicit `{#id}`.

        Args:
          source: the file.
          key: its path.
          resolver: of ordinary links.
          names: other paths of the file.
        """
        text, is_clean = _decode(source)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        front, text, is_read = split_front_matter(text)
        text = _HUGO_REF.sub(r"\1", text)
        text = _JEKYLL_LINK.sub(r"/\1", text)
        page = read_html(
            self._markdown.render(text),
            _with_wikilinks(resolver),
            keep_tables=self._options.keep_tables,
            keep_code=self._options.keep_code,
            heading_names=_heading_names(),
        )
        title = _as_text(front.get("title")) or page.title
        aliases = [alias for alias in _as_list(front.get("aliases", front.get("alias"))) if alias]
        called = [*_path_names(key), *(_fold(name) for name in (title, *aliases))]
        others = [OtherName(f"[[{name}]]", key) for name in dict.fromkeys(called) if name]
        # Hugo's aliases are paths; people mention the others.
        mentions = [
            OtherName(f"[[{_fold(alias)}]]", key, title=alias)
            for alias in aliases
            if not alias.startswith("/")
        ]
        paths = [
            OtherName(alias.strip("/") + end, key)
            for alias in aliases
            if alias.startswith("/")
            for end in ("", "/")
        ]
        counts = {
            **page.counts,
            "pages_in_a_broken_encoding": int(not is_clean),
            "front_matter_not_read": int(not is_read),
        }
        return Parsed(
            key,
            title,
            page.sections,
            page.fragments,
            (*names, *mentions, *others, *paths),
            counts,
        )


def split_front_matter(text: str) -> tuple[Mapping[str, Any], str, bool]:
    """YAML (---) or TOML (+++) in front of a text: (what it says, the rest, is it valid)."""
    match = _FRONT.match(text)
    if match is None or len(match[0]) > _MAX_FRONT:
        return {}, text, True
    source, rest = match[2] or "", text[match.end() :]
    try:
        front = tomllib.loads(source) if match[1] == "+++" else yaml.safe_load(source)
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError):
        return {}, rest, False
    if front is None:
        return {}, rest, True
    if not isinstance(front, dict):  # a text between two rules
        return {}, text, True
    return front, rest, True


def slug(heading: str) -> str:
    """The fragment that GitHub and most generators give a heading."""
    return _NOT_IN_SLUG.sub("", heading.lower().strip()).replace(" ", "-")


def _heading_names() -> Callable[[str], tuple[str, list[str]]]:
    """For each heading of a page: its text, and what fragments name it."""
    seen: dict[str, int] = {}

    def names(heading: str) -> tuple[str, list[str]]:
        found = []
        match = _EXPLICIT_ID.search(heading)
        if match:
            found.append(match[1])
            heading = heading[: match.start()]
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.append(f"{name}-{count}" if count else name)
        return heading, found

    return names


def _wikilink(state: StateInline, silent: bool) -> bool:
    """markdown-it's rule for [[target#heading|label]] and ![[embedded]]."""
    start = state.pos
    if not state.src.startswith(("[[", "![["), start):
        return False
    match = _WIKILINK.match(state.src, start)
    if match is None:
        return False
    embedded, target, label = match[1], match[2].strip().rstrip("\\"), match[3]
    if not silent and not (embedded and _PICTURE.search(target.partition("#")[0])):
        opening = state.push("link_open", "a", 1)
        opening.attrs = {"href": _SCHEME + quote(target, safe="#")}
        words = (label or target.rpartition("/")[2].lstrip("#").replace("#", " > ")).strip()
        state.push("text", "", 0).content = words
        state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


def _with_wikilinks(resolver: LinkResolver) -> Callable[[str], Link]:
    def resolve(address: str) -> Link:
        if not address.startswith(_SCHEME):
            return resolver.resolve(address)
        target, _, fragment = unquote(address[len(_SCHEME) :]).partition("#")
        fragment = fragment.rpartition("#")[2].strip()
        target = target.strip()
        if not target:
            return Link(resolver.path, fragment)
        if target.startswith(("./", "../")):
            return Link(resolver.resolve(quote(target)).key, fragment, "links_out_of_the_folder")
        return Link(f"[[{_fold(target.lstrip('/'))}]]", fragment)

    return resolve


def _path_names(key: str) -> list[str]:
    """What wikilinks may call a file: its name, with its last folders too."""
    parts = _fold(key).split("/")
    return [
        "/".join(parts[start:]) for start in reversed(range(max(0, len(parts) - 8), len(parts)))
    ]


def _fold(name: str) -> str:
    name = unicodedata.normalize("NFC", name)
    name = re.sub(r"\.(?:md|markdown|mdx)$", "", name.strip(), flags=re.IGNORECASE)
    return " ".join(name.split()).casefold()


def _as_text(value: Any) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _as_list(value: Any) -> list[str]:
    if isinstance(value, str):
        value = value.split(",") if "," in value else [value]
    return [_as_text(item) for item in value] if isinstance(value, list) else []


def _decode(source: bytes) -> tuple[str, bool]:
    try:
        return source.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        return decode_html(source)
