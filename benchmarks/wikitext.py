"""The wikitext parser beside mwparserfromhell: speed, links, text; and pages made to break it.

    pip install mwparserfromhell
    python -m benchmarks.wikitext DUMP... --json wikitext.json
    python -m benchmarks.wikitext DUMP... --mutations 100000

The first parses every article of the dumps by both, page by page in turn, and compares processor
time, the links (each difference with its cause) and the words. What is timed of mwparserfromhell
is `parse`, `strip_code` and `filter_wikilinks`; of ours, sections with anchors. The second cuts,
swaps and repeats pieces of real pages (the seed decides how) and reports failures, the slowest page
and the most memory that a worker took.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import re
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wikinav_jax.common.files import write_json
from wikinav_jax.common.progress import progress
from wikinav_jax.datasets.blocks import split_into_blocks
from wikinav_jax.datasets.building.limits import limit_memory, time_limit
from wikinav_jax.datasets.documents import Document, Section
from wikinav_jax.datasets.mediawiki.build import dump_files
from wikinav_jax.datasets.mediawiki.dump import DumpReader, parse_page
from wikinav_jax.datasets.mediawiki.titles import LinkKind, SiteInfo, Titles
from wikinav_jax.datasets.mediawiki.wikitext import WikitextParser

_MARKUP = re.compile(
    r"\[\[|\]\]|\{\{+|\}\}+|\{\||\|\}|\|-|\||<!--|-->|</?[a-zA-Z]+[^<>\n]{0,40}>|'{2,5}|={2,6}"
    r"|\[https?://|\]|&[a-z]+;|\n[*#:;]+|\n+|__[A-Z]+__"
)
# What is taken off the source, one after another, to tell why a link is not in our text.
_REGIONS = (
    ("comment", re.compile(r"<!--.*?-->", re.DOTALL)),
    ("reference", re.compile(r"<ref(?:\s[^<>]*)?(?<!/)>.*?</ref\s*>", re.DOTALL | re.IGNORECASE)),
    ("gallery", re.compile(r"<(gallery|timeline|imagemap|math)\b.*?</\1\s*>", re.DOTALL)),
    ("html table", re.compile(r"<table\b.*</table\s*>", re.DOTALL | re.IGNORECASE)),
)
_WORD = re.compile(r"\w+")
_OWN_MARKS = re.compile("[\x01-\x05\ue000-\ue07f]")
_MOST_CHARACTERS = 2 << 20  # MediaWiki's limit for a page

Link = tuple[str, str]


class Page(NamedTuple):
    """An article as it stands in a dump."""

    title: str
    text: str


def articles(path: Path) -> tuple[SiteInfo, list[Page]]:
    """The articles of a dump, redirects left out."""
    reader = DumpReader(path)
    titles = Titles(reader.site)
    found = []
    for source in reader.pages():
        page = parse_page(source)
        number = titles.namespace(page.title) if page.namespace is None else page.namespace
        if number == 0 and not page.is_redirect and page.text:
            found.append(Page(titles.normalize(page.title), page.text))
    return reader.site, found


def mutated(text: str, rng: np.random.Generator) -> str:
    """A page after one to eight cuts, swaps, and repeats, insertions or losses of markup."""
    marks = _MARKUP.findall(text) or ["[["]
    for _ in range(rng.integers(1, 9)):
        length = len(text)
        size = int(length ** rng.random())
        at, other = (int(x) for x in rng.integers(0, length + 1, 2))
        mark = marks[rng.integers(len(marks))]
        match rng.integers(6):
            case 0:
                text = text[:at] + text[at + size :]
            case 1:
                low, high = sorted((at, other))
                first, second = text[low : low + size], text[high : high + size]
                middle = text[low + size : high]
                text = text[:low] + second + middle + first + text[high + size :]
            case 2:
                text = text[:at] + mark * int(10_000 ** rng.random()) + text[at:]
            case 3:
                text = text[:at] + text[at:].replace(mark, "", 1)
            case 4:
                text = text[:at] + mark + text[at:]
            case 5:
                text = text[:at] + text[other : other + size] * int(50 ** rng.random()) + text[at:]
        text = text[:_MOST_CHARACTERS]
    return text


def check_sections(sections: tuple[Section, ...]) -> None:
    """Raises ValueError where a mark of the parser's own is left in a text."""
    for section in sections:
        for text in (*section.path, *(passage.text for passage in section.passages)):
            if _OWN_MARKS.search(text):
                raise ValueError(f"a mark is left in {text[:200]!r}")


class Survey(NamedTuple):
    """What mutated pages did."""

    pages: int
    characters: int
    failures: list[str]
    slowest: float  # seconds
    slowest_page: int
    memory: int  # bytes that the process took at most, on top of its start


def survey_mutations(
    dumps: list[tuple[SiteInfo, list[Page]]], first: int, stop: int, seed: int
) -> Survey:
    """Parses the mutated pages numbered first … stop - 1, each with its own random numbers."""
    parsers = [
        WikitextParser(Titles(site), keep_tables=tables)
        for site, _ in dumps
        for tables in (False, True)
    ]
    choices = [(number, page) for number, (_, pages) in enumerate(dumps) for page in pages]
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    failures: list[str] = []
    slowest, slowest_page, characters = 0.0, -1, 0
    for number in range(first, stop):
        rng = np.random.default_rng([seed, number])
        dump, page = choices[rng.integers(len(choices))]
        text = mutated(page.text, rng)
        characters += len(text)
        parser = parsers[2 * dump + int(rng.integers(2))]
        began = time.process_time()
        try:
            with time_limit(30.0):
                sections = parser.parse(text, page.title).sections
                check_sections(sections)
                split_into_blocks(Document(page.title, sections))
        except Exception as error:  # any error is a finding
            failures.append(f"{number} ({page.title}): {type(error).__name__}: {error}")
        seconds = time.process_time() - began
        if seconds > slowest:
            slowest, slowest_page = seconds, number
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) * 1024
    return Survey(stop - first, characters, failures, slowest, slowest_page, memory)


def _survey_part(arguments: tuple) -> Survey:
    limit_memory(500 << 20)
    return survey_mutations(*arguments)


def survey_in_parallel(args: argparse.Namespace) -> dict[str, Any]:
    """All mutated pages over several processes."""
    dumps = [articles(path) for path in args.files]
    step = 1000
    parts = [
        (dumps, first, min(first + step, args.mutations), args.seed)
        for first in range(0, args.mutations, step)
    ]
    context = multiprocessing.get_context("spawn")
    with context.Pool(args.workers) as pool:
        surveys = list(
            progress(
                pool.imap(_survey_part, parts), desc="Mutated pages", total=len(parts), unit="k"
            )
        )
    worst = max(surveys, key=lambda survey: survey.slowest)
    return {
        "benchmark": "wikitext mutations",
        "settings": _settings(args),
        "pages": sum(survey.pages for survey in surveys),
        "megabytes": sum(survey.characters for survey in surveys) / 1e6,
        "failures": [failure for survey in surveys for failure in survey.failures],
        "slowest_seconds": worst.slowest,
        "slowest_page": worst.slowest_page,
        "most_memory_megabytes": max(survey.memory for survey in surveys) / 1e6,
    }


def compare(args: argparse.Namespace) -> dict[str, Any]:
    """Speed, links and words of all dumps."""
    rows = []
    for path in args.files:
        site, pages = articles(path)
        rows.append(compare_dump(path.name, site, pages, args.keep_tables))
    total = {
        key: sum(row[key] for row in rows)
        for key in ("pages", "megabytes", "our_seconds", "their_seconds", "our_links")
    }
    return {
        "benchmark": "wikitext",
        "settings": _settings(args),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "rows": rows,
        "total": total | _rates(total),
        "their_links": sum((Counter(row["their_links"]) for row in rows), Counter()),
    }


def compare_dump(name: str, site: SiteInfo, pages: list[Page], keep_tables: bool) -> dict[str, Any]:
    """One dump by both parsers, page by page in turn."""
    import mwparserfromhell

    titles = Titles(site)
    parser = WikitextParser(titles, keep_tables=keep_tables)
    ours_seconds = theirs_seconds = 0.0
    our_links = 0
    causes: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for page in progress(pages, desc=name, unit="page"):
        began = time.process_time()
        sections = parser.parse(page.text, page.title).sections
        between = time.process_time()
        code = mwparserfromhell.parse(page.text)
        their_text = code.strip_code()
        theirs = code.filter_wikilinks()
        theirs_seconds += time.process_time() - between
        ours_seconds += between - began

        links = _our_links(sections)
        our_links += links.total()
        causes.update(_difference(page, titles, links, _their_links(theirs, titles, page.title)))
        text = "\n".join(p.text for s in sections for p in s.passages)
        our_words, their_words = Counter(_WORD.findall(text)), Counter(_WORD.findall(their_text))
        words["ours"] += our_words.total()
        words["theirs"] += their_words.total()
        words["both"] += (our_words & their_words).total()
    row = {
        "dump": name,
        "pages": len(pages),
        "megabytes": sum(len(page.text.encode()) for page in pages) / 1e6,
        "our_seconds": ours_seconds,
        "their_seconds": theirs_seconds,
        "our_links": our_links,
        "their_links": dict(sorted(causes.items())),
        "words": dict(words),
    }
    return row | _rates(row)


def _our_links(sections: tuple[Section, ...]) -> Counter[Link]:
    return Counter(
        (anchor.target, anchor.fragment)
        for section in sections
        for passage in section.passages
        for anchor in passage.anchors
    )


def _their_links(wikilinks: list[Any], titles: Titles, page: str) -> Counter[Link]:
    """The links to articles among wikilinks, by our reading of their titles."""
    found: Counter[Link] = Counter()
    for wikilink in wikilinks:
        link = titles.link(str(wikilink.title).strip())
        if link.kind is LinkKind.ARTICLE:
            found[link.title or page, link.fragment] += 1
    return found


def _difference(
    page: Page, titles: Titles, ours: Counter[Link], theirs: Counter[Link]
) -> Counter[str]:
    """How many of their links are in our text, and why the others are not.

    Regions are taken off the source one after another; a link that goes with one was lost to it.
    """
    causes: Counter[str] = Counter()
    causes["in our text"] = (ours & theirs).total()
    causes["ours only"] = (ours - theirs).total()
    missing = theirs - ours
    left = theirs
    for cause, source in _stages(page.text):
        if not missing:
            break
        remaining = _their_links(_wikilinks(source), titles, page.title)
        lost = (left - remaining) & missing
        causes[cause] += lost.total()
        missing -= lost
        left = remaining
    causes["UNEXPLAINED"] += missing.total()
    return causes


def _wikilinks(source: str) -> list[Any]:
    import mwparserfromhell

    return mwparserfromhell.parse(source, skip_style_tags=True).filter_wikilinks()


def _stages(source: str) -> Iterator[tuple[str, str]]:
    """The source with more and more taken off: (cause, what is left)."""
    import mwparserfromhell

    for cause, pattern in _REGIONS:
        source = pattern.sub("", source)
        yield cause, source
    source = _without_tables(source)
    yield "table", source
    code = mwparserfromhell.parse(source, skip_style_tags=True)
    for template in code.filter_templates(recursive=False):
        code.remove(template)
    source = str(code)
    yield "template", source
    code = mwparserfromhell.parse(source, skip_style_tags=True)
    for link in code.filter_wikilinks(recursive=False):
        if ":" in str(link.title):
            code.remove(link)
    source = str(code)
    yield "file caption", source
    yield "heading", re.sub(r"^=+.*=+\s*$", "", source, flags=re.MULTILINE)


def _without_tables(source: str) -> str:
    """Drops the lines from each {| to its |}."""
    depth = 0
    kept = []
    for line in source.split("\n"):
        start = line.lstrip(" \t:")
        if start.startswith("{|"):
            depth += 1
        if not depth:
            kept.append(line)
        if depth and start.startswith("|}"):
            depth -= 1
            if not depth:
                kept.append(start[2:])
    return "\n".join(kept)


def _rates(row: dict[str, Any]) -> dict[str, float]:
    return {
        "our_pages_per_second": row["pages"] / row["our_seconds"],
        "our_megabytes_per_second": row["megabytes"] / row["our_seconds"],
        "times_mwparserfromhell": row["their_seconds"] / row["our_seconds"],
    }


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "dumps": [path.name for path in args.files],
        "keep_tables": args.keep_tables,
        "mutations": args.mutations,
        "seed": args.seed,
    }


def print_comparison(result: dict[str, Any]) -> None:
    """The comparison for people."""
    print(f"{'dump':<36}{'pages':>7}{'MB':>7}{'pages/s':>9}{'MB/s':>7}{'times mwpfh':>13}")
    for row in [*result["rows"], {"dump": "all", **result["total"]}]:
        print(
            f"{row['dump'][:35]:<36}{row['pages']:7d}{row['megabytes']:7.2f}"
            f"{row['our_pages_per_second']:9.0f}{row['our_megabytes_per_second']:7.2f}"
            f"{row['times_mwparserfromhell']:13.1f}"
        )
    print("\nmwparserfromhell's links to articles, by where they are with us:")
    for cause, count in sorted(result["their_links"].items(), key=lambda item: -item[1]):
        print(f"  {cause:<14}{count:8d}")
    for row in result["rows"]:
        words = row["words"]
        print(
            f"words of {row['dump']}: ours {words['ours']}, theirs {words['theirs']}; "
            f"{words['both'] / words['ours']:.1%} of ours are in theirs, "
            f"{words['both'] / words['theirs']:.1%} of theirs in ours"
        )


def print_survey(result: dict[str, Any]) -> None:
    """The mutations for people."""
    print(
        f"{result['pages']:,} mutated pages, {result['megabytes']:.0f} MB: "
        f"{len(result['failures'])} failures; slowest {result['slowest_seconds']:.2f} s of "
        f"processor time (page {result['slowest_page']}); a worker grew by at most "
        f"{result['most_memory_megabytes']:.0f} MB"
    )
    for failure in result["failures"][:20]:
        print(" ", failure)


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Parses flags, measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("dumps", nargs="+", type=Path, help="dumps, or folders of dumps")
    parser.add_argument("--keep_tables", action="store_true")
    parser.add_argument("--mutations", type=int, default=0, help="how many mutated pages to parse")
    parser.add_argument("--workers", type=int, default=1, help="processes for mutated pages")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write the result")
    args = parser.parse_args(argv)
    args.files = [file for path in args.dumps for file in dump_files(path)]
    if args.mutations:
        result = survey_in_parallel(args)
        print_survey(result)
    else:
        result = compare(args)
        print_comparison(result)
    if args.json:
        write_json(args.json, result)
    return result


if __name__ == "__main__":
    main()
