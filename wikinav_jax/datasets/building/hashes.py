"""Names as 64-bit numbers, and tables from them to nodes: a few bytes a title, not a few hundred.

Two of n names share a number with probability n² / 2^65: about 2e-5 for the 30 million titles and
redirects of the English Wikipedia. Such a pair would be taken for one title.
"""

from __future__ import annotations

import functools
import hashlib
from typing import NamedTuple

import numpy as np

NO_NAME = 0


@functools.lru_cache(maxsize=1 << 16)
def name_hash(name: str) -> int:
    """The number of a name; NO_NAME for the empty one."""
    if not name:
        return NO_NAME
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def fold_heading(heading: str) -> str:
    """Headings that a `#section` does not tell apart, as `datasets.assemble` folds them."""
    return heading.replace("_", " ").strip().casefold()


def section_hash(title: np.ndarray, heading: np.ndarray) -> np.ndarray:
    """The numbers of (title, folded heading) pairs; uint64 [K] each."""
    mixed = title ^ (heading * np.uint64(0x9E3779B97F4A7C15))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


class HashTable:
    """uint64 keys to values; of equal keys the first counts."""

    def __init__(self, keys: np.ndarray, values: np.ndarray):
        """Sorts once.

        Args:
          keys: uint64 [K].
          values: any integers [K].
        """
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._values = values[order]

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._keys.nbytes + self._values.nbytes

    def get(self, keys: np.ndarray) -> np.ndarray:
        """The values of keys, -1 where there is none; int64 [L]."""
        if not len(self._keys):
            return np.full(len(keys), -1, np.int64)
        place = np.searchsorted(self._keys, keys)
        place[place == len(self._keys)] = 0
        return np.where(self._keys[place] == keys, self._values[place].astype(np.int64), -1)


class Redirects(NamedTuple):
    """Where redirects end. Arrays have an entry for each redirect given."""

    target: np.ndarray  # uint64 [R], behind all redirects
    fragment: np.ndarray  # uint64 [R], NO_NAME for the top
    lost: np.ndarray  # bool [R], in a ring or leading into one
    cycles: int  # rings


def resolve_redirects(source: np.ndarray, target: np.ndarray, fragment: np.ndarray) -> Redirects:
    """Follows every chain to its end, all at once by doubling the length of the hops.

    The section named nearest to the end counts. A ring leads nowhere.

    Args:
      source: uint64 [R], titles of the redirects, distinct.
      target: uint64 [R], titles that they name.
      fragment: uint64 [R], folded sections that they name, or NO_NAME.
    """
    num = len(source)
    after = HashTable(source, np.arange(num)).get(target)
    ends = after < 0
    hop = np.where(ends, np.arange(num), after)
    fragment = fragment.copy()
    for _ in range(num.bit_length() + 1):
        further = fragment[hop]
        fragment = np.where(further != NO_NAME, further, fragment)
        hop = hop[hop]
    lost = ~ends[hop] if num else np.zeros(0, bool)
    cycles, seen = 0, set()
    for start in np.flatnonzero(lost).tolist():
        walk = start
        path = set()
        while walk not in seen:
            seen.add(walk)
            path.add(walk)
            walk = int(after[walk])
        cycles += walk in path
    return Redirects(target[hop], fragment, lost, cycles)
