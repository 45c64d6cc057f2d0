"""Any corpus to a graph: MediaWiki dumps, Kiwix ZIM files, folders of HTML or Markdown, JSON lines.

`loader.py` is what the catalog knows, `command.py` what `--mode=build` runs. `detect.py` tells what
a path holds and opens it as a `Source` (`../building/source.py`): dumps (`../mediawiki/build.py`),
`zim.py`, `folder.py`, `json_lines.py`. Their parsers run in the workers of `../building`: `html.py`
(by the rules of `html_rules.py`), `markdown.py` (through HTML) and `json_lines.py` make documents,
and `links.py` turns addresses into keys. `overview.py` draws what was built.
"""
