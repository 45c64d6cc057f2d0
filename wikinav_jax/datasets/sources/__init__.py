"""Any corpus to a graph: MediaWiki dumps, Kiwix ZIM files, folders of HTML or Markdown, JSON lines.

`loader.py` is what the catalog knows, `command.py` what `--mode=build` runs. `detect.py` tells what
a path holds and opens it as a `Source` (`source.py`): dumps (`../mediawiki/build.py`), `zim.py`,
`folder.py`, `json_lines.py`. `build.py` hands a source's chunks to the workers of
`../mediawiki/pool.py`; there `html.py` (by the rules of `html_rules.py`), `markdown.py` (through
HTML) and `json_lines.py` make documents, and `links.py` turns addresses into keys. `graph.py` has
the parsed chunks assembled: what `../mediawiki` does with them (spill files, joining names, entity
links, writing the graph) holds for all sources.
"""
