"""Builds the table of test_features.py chunk by chunk with pauses, to be killed on the way.

Arguments: the table's path, a log that gains a line per encoded chunk, seconds per chunk.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.text.test_features import build, lengths

    target, log, pause = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])

    def encode(texts):
        with open(log, "a") as file:
            file.write(f"{len(texts)}\n")
        time.sleep(pause)
        return lengths(texts)

    build(target, encode=encode, chunk_size=4)
