"""MediaWiki XML dumps to graphs.

The data set "corpus" (`sources/loader.py`) reads them: `DumpSource` of `build.py` is its source.

First pass, in parallel (`build.py`, `pool.py`): `dump.py` cuts the stream (`compression.py`) into
page sources, `pages.py` parses each within its limits (`limits.py`) by `wikitext.py`, which stands
on `preprocess.py` (comments, templates, tables), `templates.py`, `inline.py` (links, HTML),
`titles.py` (what a link names), `names.py` and `characters.py`; `spill.py` keeps the blocks on
disk.

Second pass, chunk by chunk (`assembly.py`): `corpus.py` numbers the articles and turns names into
nodes by the tables of `hashes.py`. `summary.py` tells what came of it.
"""
