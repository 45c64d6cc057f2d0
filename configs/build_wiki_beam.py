"""A MediaWiki dump as a graph of blocks, its pages parsed by Apache Beam on many machines.

Command:   python -m wikinav_jax.main --mode=build --config=configs/build_wiki_beam.py \
               --config.source=DUMP --config.prepared=PAGES --config.output=DIR
           (launch/build_wiki_beam.sh sets the runner: Dataflow, Flink or Spark)
Data:      MediaWiki XML (plain, bz2, gz, xz, 7z), best in parts: a file is read by one machine
Hardware:  any cluster for the pages; one machine with the disk of the graph joins them
Result:    PAGES holds the TFDS data set `mediawiki_pages`; DIR the same graph that
           configs/build_wiki.py makes
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    """Every option; `datasets/tfds/command.py` says more."""
    config = ConfigDict()
    config.room = "corpus_beam"
    config.source = ""  # a dump, or a folder of its parts; all workers must reach it
    config.prepared = ""  # TFDS's data_dir, for the parsed pages; all workers must reach it
    config.output = ""  # the folder of the graph; empty: the pages only
    config.overwrite = False  # build anew where another graph stands
    config.cache_dir = ""  # for chunks, until the graph stands; empty: a hidden folder beside it
    config.runner = "direct"  # "dataflow", "flink" or "spark"; "direct": this machine
    config.beam_options = ()  # flags of Apache Beam, e.g. ("--project=P", "--region=R")
    config.keep_tables = False  # keep the text and links of tables
    config.entity_links = True  # also link titles and known anchors that the text mentions
    config.min_commonness = 0.75  # share of a mention's anchors that must lead to its target
    config.min_link_probability = 0.05  # share of a mention's occurrences that must be anchors
    config.held_out = 0.1  # share of anchors hidden to measure entity links; 0: do not measure
    config.seed = 0  # which anchors are hidden
    config.target_words = 100  # of a block
    config.max_words = 120  # likewise; only a longer sentence makes a longer block
    config.max_page_seconds = 5.0  # of processor time; a page over a limit is left out and listed
    config.max_page_megabytes = 500  # of memory, on top of what a parser starts with
    return config
