"""How often links are placed in the passage where a reference places them.

    python -m benchmarks.link_placement --data_dir=DIR --cache_dir=CACHE --json=placement.json

DIR holds the archives of Wikispeedia and the reference, `wikispeedia_articles.jsonl.xz`: the same
articles as blocks with the links placed by other means. One article a line: {"name", "blocks":
[[kind, text, [[target, start, end, how], ...]], ...]}; `how` starts with p where the paragraph of
the link is known, and else tells how it was guessed. Both cut the same text, so that passages are
compared by where they stand in it, white space aside.
"""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wikinav_jax.common.files import write_json
from wikinav_jax.common.progress import progress
from wikinav_jax.datasets import wikispeedia_files as files
from wikinav_jax.datasets.documents import Document
from wikinav_jax.datasets.wikispeedia import SITE_PAGES, Corpus

REFERENCE_NAME = "wikispeedia_articles.jsonl.xz"


class ReferenceLink(NamedTuple):
    """A link of the reference: its block and anchor as spans of the text without white space."""

    target: str
    kind: str
    how: str
    block: tuple[int, int]
    anchor: tuple[int, int]


class OwnLink(NamedTuple):
    """A link of ours: where its anchor stands, and how many passages have the same words."""

    anchor: tuple[int, int]
    passages: int


def squeeze(text: str) -> str:
    """The text without any white space."""
    return "".join(text.split())


def reference_links(article: dict, text: str) -> Iterator[ReferenceLink]:
    """The links of a line of the reference, in the squeezed text of its article."""
    position = 0
    for kind, block, *links in article["blocks"]:
        squeezed = squeeze(block)
        start = text.find(squeezed, position)
        if start < 0:
            raise ValueError(
                f"{article['name']}: the reference's block {block[:60]!r} is not in the text; both "
                "must be of one release"
            )
        position = start + len(squeezed)
        for target, begin, end, how in links[0] if links else ():
            low, high = (start + len(squeeze(block[:place])) for place in (begin, end))
            yield ReferenceLink(target, kind, how, (start, position), (low, high))


def own_links(document: Document, text: str) -> dict[str, OwnLink]:
    """Our links of an article by the title of their target, in its squeezed text."""
    passages = [passage for section in document.sections for passage in section.passages]
    lowered = [passage.text.lower() for passage in passages]
    links = {}
    position = 0
    for passage in passages:
        squeezed = squeeze(passage.text)
        start = text.find(squeezed, position)
        if start < 0:  # a caption: it comes after the passages it stands among
            start = text.find(squeezed)
        else:
            position = start + len(squeezed)
        for anchor in passage.anchors:
            words = passage.text[anchor.start : anchor.end].lower()
            low, high = (
                start + len(squeeze(passage.text[:place])) for place in (anchor.start, anchor.end)
            )
            links[anchor.target] = OwnLink((low, high), sum(words in other for other in lowered))
    return links


def measure(data_dir: Path, cache_dir: Path, reference: Path, num_articles: int, seed: int) -> dict:
    """Places all links and compares them.

    Args:
      data_dir: the folder of the archives.
      cache_dir: where they are unpacked to.
      reference: the JSONL, compressed by xz.
      num_articles: how many articles to take, at random; 0 for all. Only links among them count.
      seed: of that choice.

    Returns:
      {"groups": {name: {"links", "placed", "same_passage", "same_words"}}, ...}, counts of the
      links that the reference places.
    """
    texts = files.folder_of(files.TEXTS, data_dir, cache_dir)
    graph = files.folder_of(files.GRAPH, data_dir, cache_dir)
    names = [name for name in files.read_names(graph) if name not in SITE_PAGES]
    with tempfile.TemporaryDirectory() as folder:
        if num_articles:
            chosen = np.random.default_rng(seed).permutation(len(names))[:num_articles]
            names = [names[i] for i in sorted(chosen)]
            data_dir = _subset(names, texts, graph, Path(folder))
        corpus = Corpus(data_dir, cache_dir)
        documents = dict(zip(names, corpus.documents(), strict=True))
    groups: dict[str, Counter[str]] = {}
    with lzma.open(reference, "rt", encoding="utf-8") as lines:
        for line in progress(lines, desc="Reference", unit="article"):
            article = json.loads(line)
            name = article["name"]
            if name not in documents:
                continue
            text = squeeze(files.read_text(texts, name))
            ours = own_links(documents[name], text)
            for link in reference_links(article, text):
                if link.target in documents:
                    own = ours.get(files.title_of(link.target))
                    for group in _groups(link, own):
                        groups.setdefault(group, Counter()).update(_agreement(link, own))
    return {
        "articles": len(names),
        "statistics": corpus.statistics,
        "groups": {group: dict(groups[group]) for group in sorted(groups)},
    }


def _subset(names: list[str], texts: Path, graph: Path, folder: Path) -> Path:
    """A folder in the public layout with these articles and the links among them."""
    (folder / files.GRAPH.folder).mkdir()
    (folder / files.TEXTS.folder).mkdir()
    kept = set(names)
    links = files.read_links(graph, files.read_names(graph))
    (folder / files.GRAPH.folder / "articles.tsv").write_text(
        "".join(f"{name}\n" for name in names), encoding="utf-8"
    )
    (folder / files.GRAPH.folder / "links.tsv").write_text(
        "".join(f"{a}\t{b}\n" for a, b in links if a in kept and b in kept), encoding="utf-8"
    )
    for name in names:
        shutil.copyfile(texts / f"{name}.txt", folder / files.TEXTS.folder / f"{name}.txt")
    return folder


def _groups(link: ReferenceLink, own: OwnLink | None) -> Iterator[str]:
    yield "all"
    yield f"reference: {'paragraph known' if link.how[0] == 'p' else 'guessed'}"
    yield f"reference: in {link.kind}"
    if own:
        yield f"words stand in {'one passage' if own.passages == 1 else 'several passages'}"


def _agreement(link: ReferenceLink, own: OwnLink | None) -> dict[str, int]:
    same = own is not None and link.block[0] <= own.anchor[0] < link.block[1]
    words = own is not None and own.anchor[0] < link.anchor[1] and link.anchor[0] < own.anchor[1]
    return {"links": 1, "placed": int(own is not None), "same_passage": same, "same_words": words}


def print_table(result: dict) -> None:
    """The result for people."""
    print(f"{result['articles']:,} articles; {result['statistics']}")
    print(f"{'% of the links that the reference places':<42}{'links':>9}", end="")
    print(f"{'placed':>9}{'same passage':>15}{'same words':>13}")
    for group, counts in result["groups"].items():
        shares = [100 * counts[key] / counts["links"] for key in list(counts)[1:]]
        print(f"{group:<42}{counts['links']:>9,}", end="")
        print(f"{shares[0]:>9.1f}{shares[1]:>15.1f}{shares[2]:>13.1f}")


def main(argv: list[str] | None = None) -> dict:
    """Parses flags, measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data_dir", type=Path, required=True, help="archives of Wikispeedia")
    parser.add_argument("--cache_dir", type=Path, default=Path("runs/cache"))
    parser.add_argument("--reference", type=Path, help=f"default: {REFERENCE_NAME} in data_dir")
    parser.add_argument("--articles", type=int, default=0, help="0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write the result")
    args = parser.parse_args(argv)
    reference = args.reference or find_reference(args.data_dir)
    result = measure(args.data_dir, args.cache_dir, reference, args.articles, args.seed)
    print_table(result)
    if args.json:
        write_json(args.json, result)
    return result


def find_reference(data_dir: Path) -> Path:
    """The reference in a folder or in a folder of it."""
    found = [*data_dir.glob(REFERENCE_NAME), *data_dir.glob(f"*/{REFERENCE_NAME}")]
    if not found:
        raise FileNotFoundError(f"no {REFERENCE_NAME} in {data_dir} or a folder of it")
    return found[0]


if __name__ == "__main__":
    main()
