"""Near names for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near_names(name: str, known: Iterable[str], limit: int = 5) -> list[str]:
    """The known names most like `name`, best first; case is ignored."""
    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.casefold(), candidate)
    folded = name.casefold()
    matches = difflib.get_close_matches(folded, by_folded, n=limit, cutoff=0.5)
    if len(matches) < limit:
        inside = (key for key in by_folded if folded and folded in key and key not in matches)
        matches += sorted(inside, key=len)[: limit - len(matches)]
    return [by_folded[match] for match in matches]


def did_you_mean(name: str, known: Iterable[str], limit: int = 5) -> str:
    """` Did you mean 'a', 'b'?`, or an empty string when nothing is near."""
    names = near_names(name, known, limit)
    return f" Did you mean {', '.join(map(repr, names))}?" if names else ""
