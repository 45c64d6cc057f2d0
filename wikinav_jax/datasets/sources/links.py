"""Addresses in pages to the keys of other pages."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")


class Link(NamedTuple):
    """Where a link leads. `key` is "" where that is no page of the corpus, for `reason`."""

    key: str
    fragment: str = ""
    reason: str = ""


@dataclass(frozen=True)
class LinkResolver:
    """Resolves the addresses in one page.

    Attributes:
      path: of the page inside its corpus, "/" between folders.
      base_url: web address of the corpus's root, or "".
      keep_query: whether "?…" belongs to a page's path, as in archives of web sites.
    """

    path: str
    base_url: str = ""
    keep_query: bool = False

    def resolve(self, address: str) -> Link:
        """The key that an address names: the path of its page inside the corpus.

        The path of a folder ends in "/", so that `dir/` is never mistaken for `dir.html`.
        """
        address = address.strip()
        if not address:
            return Link("", reason="links_without_an_address")
        target, _, fragment = address.partition("#")
        fragment = unquote(fragment)
        if not target:
            return Link(self.path, fragment)
        inside = self._inside(target)
        if isinstance(inside, Link):
            return inside
        folder, target = inside
        if self.keep_query:
            target, question, query = target.partition("?")
            target = unquote(target) + question + unquote(query)
        else:
            target = unquote(target.partition("?")[0])
        if not target:
            return Link(self.path, fragment)
        target = target.replace("\0", "")
        path = posixpath.normpath(posixpath.join(folder, target))
        if path == ".." or path.startswith("../"):
            return Link("", reason="links_out_of_the_folder")
        if path in (".", "/"):
            return Link("/", fragment)
        is_folder = posixpath.basename(target) in ("", ".", "..")
        # Which page stands at the top of a folder is told by `other_paths`.
        return Link(path.lstrip("/") + ("/" if is_folder else ""), fragment)

    def _inside(self, target: str) -> tuple[str, str] | Link:
        """(folder, path from there), or a link that leads elsewhere."""
        host = self._host()
        if self.base_url and target.startswith(self.base_url):
            return "", target[len(self.base_url) :].lstrip("/") or "."
        scheme = _SCHEME.match(target)
        if scheme or target.startswith("//"):
            if scheme and scheme[1].lower() not in ("http", "https"):
                return Link("", reason="links_of_other_schemes")
            rest = target[scheme.end() if scheme else 0 :].lstrip("/")
            if host and rest.partition("/")[0] == host:
                return self._namespace(), rest if "/" in rest else rest + "/"
            return Link("", reason="links_to_other_sites")
        if target.startswith("/"):
            return posixpath.join(self._namespace(), host), target.lstrip("/") or "."
        return posixpath.dirname(self.path), target

    def _namespace(self) -> str:
        """The "A" of archives in the old layout, where the site's name comes second."""
        first, _, rest = self.path.partition("/")
        site, slash, _ = rest.partition("/")
        return first if slash and len(first) == 1 and _HOST.fullmatch(site) else ""

    def _host(self) -> str:
        """The site's name, where paths start with it (mirrors and archives of web sites)."""
        path = self.path[2:] if self._namespace() else self.path
        first, slash, _ = path.partition("/")
        return first if slash and _HOST.fullmatch(first) else ""


def is_index(name: str, index_names: tuple[str, ...], suffixes: tuple[str, ...]) -> bool:
    """Whether a file of that name is the page at the top of its folder."""
    stem, suffix = posixpath.splitext(name.lower())
    return suffix in suffixes and stem in index_names


def other_paths(
    path: str,
    index_names: tuple[str, ...],
    suffixes: tuple[str, ...],
    *,
    beside_folder: bool = False,
) -> list[str]:
    """Other paths that web servers and generators know a page by.

    Args:
      path: its own.
      index_names: stems of the page at the top of a folder.
      suffixes: of pages, with the dot, which addresses leave out.
      beside_folder: whether there is a folder of the page's name, without the suffix, that has a
        page at its top: `dir/` is that page then, not `dir.html`.
    """
    folder, name = posixpath.split(path)
    stem, suffix = posixpath.splitext(name)
    if suffix.lower() not in suffixes:
        return []
    others = [posixpath.join(folder, stem)]
    if not beside_folder:
        others.append(posixpath.join(folder, stem, ""))
    if is_index(name, index_names, suffixes):
        others += [folder, posixpath.join(folder, "")] if folder else ["/"]
    others += [posixpath.join(folder, stem + other) for other in suffixes if other != suffix]
    return others
