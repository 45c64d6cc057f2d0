"""Small MediaWiki dumps, written by the tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    4: "Wikipedia",
    6: "File",
    10: "Template",
    14: "Category",
}


@dataclass
class Page:
    """A page to be; `redirect` is the title of a <redirect> element."""

    title: str
    text: str
    page_id: int = 0
    namespace: int = 0
    redirect: str = ""
    model: str = "wikitext"

    def xml(self) -> str:
        redirect = f"<redirect title={quoteattr(self.redirect)} />" if self.redirect else ""
        return (
            f"  <page>\n    <title>{escape(self.title, {chr(34): '&quot;'})}</title>\n"
            f"    <ns>{self.namespace}</ns>\n    <id>{self.page_id}</id>\n    {redirect}\n"
            f"    <revision>\n      <id>{self.page_id + 1000}</id>\n"
            "      <contributor><username>Writer</username><id>7</id></contributor>\n"
            f"      <model>{self.model}</model>\n"
            f'      <text bytes="1" xml:space="preserve">{escape(self.text)}</text>\n'
            "    </revision>\n  </page>\n"
        )


def header(
    namespaces: dict[int, str] | None = None, language: str = "en", database: str = "enwiki"
) -> str:
    """Everything in front of the first page."""
    names = "".join(
        f'      <namespace key="{number}" case="first-letter">{escape(name)}</namespace>\n'
        for number, name in (namespaces or NAMESPACES).items()
    )
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" '
        f'xml:lang="{language}">\n  <siteinfo>\n    <sitename>Wikipedia</sitename>\n'
        f"    <dbname>{database}</dbname>\n"
        f"    <base>https://{language}.wikipedia.org/wiki/Main_Page</base>\n"
        f"    <case>first-letter</case>\n    <namespaces>\n{names}    </namespaces>\n"
        "  </siteinfo>\n"
    )


def numbered(pages: Iterable[Page]) -> list[Page]:
    """Pages with ids 1, 2, … where they have none."""
    pages = list(pages)
    for number, page in enumerate(pages, 1):
        page.page_id = page.page_id or number
    return pages


def dump(pages: Iterable[Page], **options) -> str:
    """A whole dump."""
    return header(**options) + "".join(p.xml() for p in numbered(pages)) + "</mediawiki>\n"
