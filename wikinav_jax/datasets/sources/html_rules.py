"""What of an HTML page is no text of its own: by element, by role, by class.

The classes of MediaWiki are those of its own skins, of Parsoid's output (which ZIM files of wikis
hold) and of templates that most wikis share; see the "ambox", "navbox" and "hatnote" modules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BLOCKS = _words(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav "
    "ol p pre search section summary table tbody tfoot thead tr ul"
)
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
VOID = _words("area base basefont br col embed hr img input link meta param source track wbr")
DROPPED = _words(
    "applet audio button canvas datalist embed frame frameset iframe input link map math "
    "nav noscript object script select style svg template textarea title video"
)
# Dropped unless they stand inside the page's main part, where they hold text now and then.
FRAME = frozenset(("footer", "aside", "header"))
_ROLES = _words(
    "navigation banner contentinfo search complementary menu menubar toolbar doc-toc dialog"
)
_CLASSES = _words(
    "noprint headerlink headeranchor anchor-link anchorjs-link hash-link visually-hidden sr-only "
    "breadcrumb breadcrumbs sidebar-tree toc table-of-contents tableofcontents "
    "skip-link pagination related cookie-banner linenos lineno"
)
_IDS = frozenset(("toc", "table-of-contents", "searchbox", "cookie-banner", "zim-footer"))
_MEDIAWIKI_CLASSES = _words(
    "navbox navbox-styles navbox-inner vertical-navbox sidebar metadata ambox tmbox cmbox ombox "
    "fmbox imbox mbox-small hatnote dablink rellink homonymie mw-editsection mw-editsection-like "
    "mw-jump-link mw-empty-elt mw-indicators mw-cite-backlink reference references reflist "
    "references-small references-column-width mw-references-wrap mw-references toc tocright "
    "catlinks printfooter siteSub contentSub thumb thumbinner gallery gallerybox sistersitebox "
    "side-box portalbox portal portail bandeau-portail bandeau-container authority-control "
    "shortdescription navigation-not-searchable mwe-math-element texhtml-fallback nomobile "
    "NavFrame NavHead stub mw-authority-control error mw-ext-cite-error geo-nondefault "
    "geo-multi-punct zim-footer mw-kartographer-container mw-kartographer-maplink "
    "mw-collapsible-toggle succession-box navigation-box Navigationsleiste NavContent "
    "noexcerpt-box mw-file-description external-links-box ext-phonos mw-tmh-player "
    "interProject interproject-box sister-wikipedia noviewer"
)
_MEDIAWIKI_IDS = _words(
    "toc catlinks siteSub contentSub mw-navigation coordinates mw-head mw-panel p-search "
    "normdaten mw-toc stub"
)
# Tables by another name: kept when tables are.
_TABLE_CLASSES = _words("infobox infobox_v2 infobox_v3 wikitable taxobox")
_CITED = re.compile(r"cite_(?:note|ref)-")
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)


def is_dropped(tag: str, attributes: Mapping[str, str], *, is_wiki: bool, in_main: bool) -> bool:
    """Whether an element holds no text of the page itself.

    Args:
      tag: in small letters.
      attributes: of the element.
      is_wiki: whether MediaWiki made the page.
      in_main: whether it stands in the main part of the page.
    """
    if tag in DROPPED or (tag in FRAME and not in_main) or (is_wiki and tag == "figure"):
        return True
    if not attributes:
        return False
    if "hidden" in attributes or attributes.get("role", "") in _ROLES:
        return True
    style = attributes.get("style")
    if style and _HIDDEN.search(style):
        return True
    classes = attributes.get("class", "").split()
    if not _CLASSES.isdisjoint(classes) or attributes.get("id") in _IDS:
        return True
    if not is_wiki:
        return False
    name = attributes.get("id", "")
    return (
        not _MEDIAWIKI_CLASSES.isdisjoint(classes)
        or name in _MEDIAWIKI_IDS
        or (tag in ("sup", "li") and bool(_CITED.match(name)))
        or "mw:Extension/ref" in attributes.get("typeof", "")
    )


def is_boxed(attributes: Mapping[str, str]) -> bool:
    """Whether an element that is no <table> is one all the same."""
    return not _TABLE_CLASSES.isdisjoint(attributes.get("class", "").split())


def is_made_by_mediawiki(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element gives away that MediaWiki made the page."""
    if tag == "meta":
        return attributes.get("name", "").lower() == "generator" and attributes.get(
            "content", ""
        ).startswith("MediaWiki")
    if tag in ("body", "div", "main"):
        classes = attributes.get("class", "").split()
        return (
            "mediawiki" in classes
            or "mw-parser-output" in classes
            or "mw-body" in classes
            or attributes.get("id") == "mw-content-text"
        )
    return False


# The page's main part, by how sure the sign is: the surest that holds text counts.
BODY, ARTICLE, MAIN, WIKI_TEXT = range(4)


def main_part(tag: str, attributes: Mapping[str, str]) -> int:
    """How surely an element is the page's main part; BODY says nothing."""
    if attributes.get("id") in ("mw-content-text", "bodyContent"):
        return WIKI_TEXT
    if "mw-parser-output" in attributes.get("class", "").split():
        return WIKI_TEXT
    if tag == "main" or attributes.get("role") == "main":
        return MAIN
    if tag == "article":
        return ARTICLE
    return BODY
