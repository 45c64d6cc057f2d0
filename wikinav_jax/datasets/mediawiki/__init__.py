"""MediaWiki XML dumps as a source of `../building`.

The data set "corpus" (`../sources/loader.py`) reads them: `DumpSource` of `build.py` is its source.
`dump.py` cuts the stream into page sources, `pages.py` parses each by `wikitext.py`, which stands
on `preprocess.py` (comments, templates, tables), `templates.py`, `inline.py` (links, HTML),
`titles.py` (what a link names), `names.py` and `characters.py`. `beam.py` and `remote.py` do the
same on a cluster.
"""
