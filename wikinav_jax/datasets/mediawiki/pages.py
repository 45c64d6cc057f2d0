"""Pages of a dump to chunks: what a worker does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wikinav_jax.datasets.blocks import split_into_blocks
from wikinav_jax.datasets.building.chunks import Article, Chunk, PageOptions, parse_within_limits
from wikinav_jax.datasets.documents import Document
from wikinav_jax.datasets.mediawiki.dump import parse_page
from wikinav_jax.datasets.mediawiki.names import REDIRECT_WORDS
from wikinav_jax.datasets.mediawiki.titles import LinkKind, SiteInfo, Titles
from wikinav_jax.datasets.mediawiki.wikitext import WikitextParser

_REDIRECT = re.compile(r"\s*[#＃]\s*([^\[\n:]{1,40}?)\s*:?\s*\[\[([^\[\]|\n]+)")


class PageParser:
    """Parses the pages of one dump."""

    def __init__(self, site: SiteInfo, options: PageOptions):
        self._titles = Titles(site)
        self._wikitext = WikitextParser(self._titles, keep_tables=options.keep_tables)
        self._options = options

    def parse(
        self,
        sources: Sequence[bytes],
        *,
        skip: Mapping[int, str] | None = None,
        at: Callable[[int], Any] = lambda index: None,
    ) -> Chunk:
        """Parses pages; one that fails, or goes over a limit, is listed and left out.

        Args:
          sources: `<page>` elements in UTF-8.
          skip: pages known to kill a worker, by index, with the reason.
          at: called with the index of each page before it is read.
        """
        return parse_within_limits(sources, self._parse_page, _title_in, self._options, skip, at)

    def _parse_page(self, source: bytes, chunk: Chunk) -> None:
        page = parse_page(source)
        namespace = page.namespace
        if namespace is None:
            namespace = self._titles.namespace(page.title)
        if namespace != 0:
            chunk.counts["pages_of_other_namespaces"] += 1
            return
        title = self._titles.normalize(page.title)
        if page.model != "wikitext":
            chunk.counts["pages_of_other_content_models"] += 1
            return
        target = self._redirect(page.text, page.is_redirect, page.redirect)
        if target is not None:
            chunk.counts["redirects"] += 1
            if target:
                chunk.redirects.append((title, *target))
            else:
                chunk.counts["redirects_to_no_article"] += 1
            return
        if len(page.text) > self._options.max_characters:
            raise ValueError(
                f"{len(page.text):,} characters; max_characters={self._options.max_characters:,}"
            )
        parsed = self._wikitext.parse(page.text, title)
        document = Document(title, parsed.sections)
        # Here, where the page's limits hold, and not once all of the chunk is parsed.
        blocks = split_into_blocks(
            document,
            target_words=self._options.target_words,
            max_words=self._options.max_words,
        )
        chunk.counts["articles"] += 1
        chunk.counts.update(parsed.counts)
        chunk.articles.append(Article(page.page_id, document, blocks))

    def _redirect(
        self, text: str, is_redirect: bool, named: str
    ) -> tuple[str, str] | tuple[()] | None:
        """(title, fragment) of a redirect, () if it leads to no article, None if it is none.

        The `<redirect>` element decides; dumps older than it are read by the first word.
        """
        match = _REDIRECT.match(text)
        if not is_redirect:
            if match is None:
                return None
            word = match[1].strip().casefold().replace(" ", "_")
            if word not in REDIRECT_WORDS:
                return None
        link = self._titles.link(match[2].strip()) if match else None
        if named:
            element = self._titles.link(named)
            if link is None or link.title != element.title:
                link = element  # the element is right about the title; the section is in the text
        if link is None or link.kind is not LinkKind.ARTICLE or not link.title:
            return ()
        return link.title, link.fragment


def _title_in(source: bytes) -> str:
    """The title of a page that cannot be parsed."""
    match = re.search(rb"<title>([^<]{0,1000})", source)
    return match[1].decode("utf-8", "replace") if match else ""
