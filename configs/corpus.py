"""A navigator over any corpus: a dump, a ZIM file, a folder of HTML or Markdown, JSON lines.

Command:   python -m wikinav_jax.main --config=configs/corpus.py --workdir=runs/mydocs \
               --config.dataset.options.source=DOCS
           python -m wikinav_jax.main --config=configs/corpus.py:built --workdir=runs/mywiki \
               --config.dataset.options.path=GRAPH   (a folder that configs/build_wiki.py made)
           (--mode=build stops after the graph and its features, and prints what is in them)
Data:      some hundred to some hundred thousand pages
Hardware:  2 CPU cores
"""

from ml_collections import ConfigDict

from wikinav_jax.navigation.config import default_config


def get_config(source: str = "source") -> ConfigDict:
    """The similarity policy on TF-IDF features; `source` is "source" or "built"."""
    config = default_config()
    config.name = "rfbc_similarity"
    options = config.dataset.options
    if source == "built":
        config.dataset.name = "linked_text"
        options.path = ""  # the folder of a graph
    elif source == "source":
        config.dataset.name = "corpus"
        options.source = ""  # a dump, a ZIM file, a folder, a JSONL file
        options.source_type = "auto"  # "mediawiki", "zim", "html", "markdown" or "jsonl"
        options.keep_tables = False  # keep the text and links of tables
        options.keep_code = True  # keep blocks of code
        options.base_url = ""  # web address of a folder's root
        options.entity_links = True  # also link titles and known anchors that the text mentions
        options.min_commonness = 0.75  # share of a mention's anchors that lead to its target
        options.min_link_probability = 0.05  # share of a mention's occurrences that are anchors
        options.target_words = 100  # of a block
        options.max_words = 120  # likewise; only a longer sentence makes a longer block
    else:
        raise ValueError(f"configs/corpus.py:{source}: give :source or :built")
    config.features.sources = ("lsa",)
    config.features.lsa_dim = 128
    config.features.lsa_title_weight = 3
    config.features.hops = 3
    config.walks.first_visit = True
    config.walks.last_exit = True
    config.walks.skip_forced = True
    config.policy.name = "similarity"
    config.train.num_steps = 800
    config.train.decisions_per_shard = 256
    config.train.learning_rate = 2e-3
    config.train.checkpoint_every = 400
    config.train.evaluate_every = 400
    return config
