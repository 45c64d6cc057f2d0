"""From the parsed pages of any source of text to a graph. Imports no source; all sources import it.

`source.py` says what a `Source` is: pages in chunks, and a `ChunkParser` for them (`chunks.py`,
which also holds what a chunk is and parses each page within its limits; `limits.py`).

First pass, in parallel: `build.py` hands the chunks to the workers of `pool.py`, which write them
into spill files (`spill.py`); `records.py` does the same for records of other programs, such as
Beam's. Second pass, chunk by chunk: `graph.py` has an `Assembly` (`assembly.py`) join them:
`corpus.py` numbers the articles and turns names into nodes by the tables of `hashes.py`, and
`mentions.py` links entities. `summary.py` tells what came of it. `compression.py` and
`seven_zip.py` open what is packed.
"""
