"""Wikispeedia: 4,604 encyclopedia articles, and the links that people clicked through.

Reads the public archives' own layout (see `wikispeedia_files`), parses the plain text (see
`wikispeedia_text`) and places each link of `links.tsv` where its anchor must have stood (see
`link_placement`; `benchmarks/link_placement.py` measures how well).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wikinav_jax.common.progress import progress
from wikinav_jax.datasets import wikispeedia_files as files
from wikinav_jax.datasets.assemble import assemble_graph
from wikinav_jax.datasets.documents import Anchor, Document, Passage, Section
from wikinav_jax.datasets.entities import LinkerOptions
from wikinav_jax.datasets.link_placement import LinkPlacer, Placement
from wikinav_jax.datasets.wikispeedia_text import Kind, RawArticle, RawSection, parse_article
from wikinav_jax.graph.store import LinkedTextGraph

VERSION = 2  # raise it when the same files give another graph
LICENCE = "GFDL-1.2 (Wikipedia, the free encyclopedia, 2006-2007; authors in its page histories)"

# Pages of the site itself among the articles: forms for donations, and the text of the licence.
SITE_PAGES = frozenset(
    {
        "Directdebit",
        "Donation",
        "Friend_Directdebit",
        "Sponsorship_Directdebit",
        "Wikipedia_Text_of_the_GNU_Free_Documentation_License",
        "Wowpurchase",
    }
)
# Where links are rather placed: as a rule editors set them in running text, at first mention.
_RANK: dict[Kind, int] = {"paragraph": 0, "item": 1, "line": 1, "caption": 2, "table": 3}
_SHORTENED = re.compile(r"^(.+?)(?: \([^()]*\)|, .+|(?<=[IVX]) of .+)$")


def fingerprint_inputs(data_dir: Path | None, cache_dir: Path, **options: Any) -> dict[str, Any]:
    """What the input files are, without reading them; no option changes which they are.

    Raises:
      FileNotFoundError: see `wikispeedia_files.find`.
    """
    return files.fingerprint_inputs(data_dir, cache_dir)


def load(
    data_dir: Path | None,
    cache_dir: Path,
    output: Path | None,
    *,
    tables: bool = False,
    captions: bool = True,
    entity_links: bool = True,
    min_link_share: float = 0.1,
    target_words: int = 100,
    max_words: int = 120,
) -> LinkedTextGraph:
    """Builds the graph of blocks, about a minute on one core.

    Args:
      data_dir: a folder with the archives or the unpacked folders; None to download them.
      cache_dir: where archives are downloaded and unpacked to.
      output: the directory to save the graph to; None keeps it in memory.
      tables: see `Corpus`.
      captions: see `Corpus`.
      entity_links: whether mentions of articles become edges.
      min_link_share: names count as mentions if at least this share of the articles where they
        stand link to the article: "Isaac Newton", but not "Time" or "Queen" (the band).
      target_words: see `blocks.split_into_blocks`.
      max_words: see `blocks.split_into_blocks`.

    Raises:
      FileNotFoundError, ConnectionError, ValueError: files are missing or damaged, see
        `wikispeedia_files`.
    """
    corpus = Corpus(data_dir, cache_dir, tables=tables, captions=captions)
    linker_options = None
    if entity_links:
        linker_options = LinkerOptions(
            small_first_letter="always", exclude=corpus.rarely_linked(min_link_share)
        )
    return assemble_graph(
        corpus.documents(min_link_share),
        linker_options=linker_options,
        target_words=target_words,
        max_words=max_words,
        source=f"Wikispeedia ({files.PAGE}): Wikipedia Selection for Schools 2007",
        licence=LICENCE,
        command="python -m wikinav_jax.main --config=configs/wikispeedia.py --mode=build",
        output=output,
        extra_meta={"wikispeedia": corpus.statistics},
    )


class Corpus:
    """The parsed articles with their links placed.

    A link whose anchor is not found is dropped: most of those stood in tables. `statistics` is
    filled while the documents are read: how links were placed, what was dropped.
    """

    def __init__(
        self,
        data_dir: Path | None,
        cache_dir: Path,
        *,
        tables: bool = False,
        captions: bool = True,
    ):
        """Reads and parses all articles (about 10 s).

        Args:
          data_dir: a folder with the archives or the unpacked folders; None to download them.
          cache_dir: where archives are downloaded and unpacked to.
          tables: keep the rows of tables and infoboxes. An article with most of its words in
            tables, like a list of countries, keeps them in any case.
          captions: keep the captions of images.

        Raises:
          FileNotFoundError, ConnectionError, ValueError: see `wikispeedia_files`.
        """
        graph_folder = files.folder_of(files.GRAPH, data_dir, cache_dir)
        text_folder = files.folder_of(files.TEXTS, data_dir, cache_dir)
        all_names = files.read_names(graph_folder)
        links = files.read_links(graph_folder, all_names)
        names = [name for name in all_names if name not in SITE_PAGES]
        if not names:
            raise ValueError(f"{graph_folder / 'articles.tsv'} names nothing but pages of the site")
        self._titles = {name: files.title_of(name) for name in names}
        self._headings: dict[str, str] = {}
        self._sections: dict[str, list[RawSection]] = {}
        table_articles = 0
        for name in progress(names, desc="Articles", unit="article"):
            article = parse_article(files.read_text(text_folder, name))
            keep_tables = tables or _is_mostly_tables(article)
            table_articles += keep_tables and not tables
            self._headings[name] = article.heading
            self._sections[name] = list(_select(article, keep_tables, captions))
        self._placer = self._place(links)
        self.statistics: dict[str, Any] = {
            "public_release": files.is_public_release(all_names, links),
            "links": len(links),
            "site_pages_dropped": len(all_names) - len(names),
            "links_of_site_pages_dropped": sum(
                source in SITE_PAGES or target in SITE_PAGES for source, target in links
            ),
            "articles_mostly_of_tables": table_articles,
        }

    def _place(self, links: list[tuple[str, str]]) -> LinkPlacer:
        placer = LinkPlacer(
            {title: (self._headings[name],) for name, title in self._titles.items()}
        )
        targets: dict[str, list[str]] = {name: [] for name in self._titles}
        for source, target in links:
            if source in self._titles and target in self._titles:
                targets[source].append(self._titles[target])
        articles = self._titles.items()
        for name, title in progress(articles, desc="Mentions", unit="article"):
            passages = [passage for section in self._sections[name] for passage in section.passages]
            placer.add(
                title,
                [passage.text for passage in passages],
                [_RANK[passage.kind] for passage in passages],
                targets[name],
            )
        return placer

    def rarely_linked(self, min_share: float) -> frozenset[str]:
        """Titles that articles mention much more often than they link to them: common words."""
        return frozenset(
            title
            for title in self._titles.values()
            if self._placer.link_share(title, title) < min_share
        )

    def documents(self, min_link_share: float = 0.1) -> Iterator[Document]:
        """The articles in the order of `articles.tsv`; to be read once.

        Args:
          min_link_share: other names of an article ("Boston" for "Boston, Massachusetts") are its
            aliases if at least this share of the articles where they stand link to it.
        """
        how: Counter[str] = Counter({"title": 0, "alias": 0, "word": 0})
        without_place = 0
        placed = progress(
            self._placer.placements(), desc="Links", total=len(self._titles), unit="article"
        )
        for name, (title, placements, unplaced) in zip(self._titles, placed, strict=True):
            how.update(placement.how for placement in placements)
            without_place += len(unplaced)
            shortened = _SHORTENED.match(title)
            others = {self._headings[name], shortened[1] if shortened else title} - {title}
            aliases = (
                other
                for other in sorted(others)
                if self._placer.link_share(other, title) >= min_link_share
            )
            yield Document(
                title, tuple(_with_anchors(self._sections[name], placements)), tuple(aliases)
            )
        self.statistics["links_placed_by"] = dict(how)
        self.statistics["links_without_place_dropped"] = without_place


def _is_mostly_tables(article: RawArticle) -> bool:
    words: Counter[bool] = Counter()
    for section in article.sections:
        for passage in section.passages:
            words[passage.kind == "table"] += passage.text.count(" ") + 1
    return words[True] > words[False]


def _select(article: RawArticle, tables: bool, captions: bool) -> Iterator[RawSection]:
    left_out = {kind for kind, keep in (("table", tables), ("caption", captions)) if not keep}
    for section in article.sections:
        passages = tuple(p for p in section.passages if p.kind not in left_out)
        if passages:
            yield RawSection(section.path, passages)


def _with_anchors(sections: list[RawSection], placements: list[Placement]) -> Iterator[Section]:
    anchors: dict[int, list[Anchor]] = {}
    for place in placements:
        anchor = Anchor(place.start, place.end, place.target)
        anchors.setdefault(place.passage, []).append(anchor)
    number = 0
    for section in sections:
        passages = []
        for passage in section.passages:
            passages.append(Passage(passage.text, tuple(anchors.get(number, ()))))
            number += 1
        yield Section(section.path, tuple(passages))
