"""The text of a node as encoders read it: its article's title, then its own words."""

from __future__ import annotations

from collections.abc import Iterable

TITLE_SEPARATOR = ". "


def with_titles(titles: Iterable[str], texts: Iterable[str], *, repeats: int = 1) -> list[str]:
    """`title. text` for each pair; the title alone where the text is empty, and the reverse.

    Args:
      titles: one per text.
      texts: the texts.
      repeats: how often the title stands before the text; 0 leaves it out. Above 1 it weighs more
        in bags of words (LSA, BM25); encoders that read want 1.

    Raises:
      ValueError: the lengths differ, or repeats is negative.
    """
    if repeats < 0:
        raise ValueError(f"repeats={repeats} must be 0 or more")
    return [
        TITLE_SEPARATOR.join([*([title] * repeats if title else []), *([text] if text else [])])
        for title, text in zip(titles, texts, strict=True)
    ]
