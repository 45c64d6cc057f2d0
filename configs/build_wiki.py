"""Any corpus as a graph of blocks: dumps, ZIM files, folders of HTML or Markdown, JSON lines.

Command:   python -m wikinav_jax.main --mode=build --config=configs/build_wiki.py \
               --config.source=DUMP --config.output=DIR
Data:      MediaWiki XML (plain, bz2, gz, xz, 7z), Kiwix ZIM, .html or .md files, or JSONL
Hardware:  CPU; all cores parse pages
Result:    DIR holds the graph, its statistics (meta.json) and plots of them (overview.html). Train
           on it with --config=configs/corpus.py:built --config.dataset.options.path=DIR
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    """Every option of a build; `datasets/sources/loader.py` says more."""
    config = ConfigDict()
    config.room = "corpus"
    config.source = ""  # a dump (or a folder of its parts), a ZIM file, a folder, a JSONL file
    config.source_type = "auto"  # "mediawiki", "zim", "html", "markdown" or "jsonl"
    config.output = ""  # the folder of the graph; empty: --workdir
    config.overwrite = False  # build anew where another graph stands
    config.data_dir = ""  # where a relative source is looked for as well
    config.cache_dir = ""  # parsed pages, until the graph stands; empty: a hidden folder beside it
    config.keep_tables = False  # keep the text and links of tables
    config.keep_code = True  # keep blocks of code (HTML, Markdown, JSONL)
    config.base_url = ""  # web address of a folder's root: links to it lead into the folder
    config.entity_links = True  # also link titles and known anchors that the text mentions
    config.min_commonness = 0.75  # share of a mention's anchors that must lead to its target
    config.min_link_probability = 0.05  # share of a mention's occurrences that must be anchors
    config.held_out = 0.1  # share of anchors hidden to measure entity links; 0: do not measure
    config.seed = 0  # which anchors are hidden
    config.target_words = 100  # of a block
    config.max_words = 120  # likewise; only a longer sentence makes a longer block
    config.workers = 0  # processes; 0: one per core. The graph does not depend on it
    config.max_page_seconds = 5.0  # of processor time; a page over a limit is left out and listed
    config.max_page_megabytes = 500  # of memory, on top of what a worker starts with
    config.max_source_megabytes = 16  # of a page of HTML, Markdown or JSON
    return config
