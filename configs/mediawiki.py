"""A navigator over any MediaWiki dump (XML: plain, bz2, gz or xz), the whole wiki in memory.

Command:   python -m wikinav_jax.main --config=configs/mediawiki.py --workdir=runs/mywiki \
               --config.dataset.options.source=DUMP.xml.bz2
           (--mode=build stops after the graph and its features, and prints what is in them)
Data:      a pages-articles dump of some thousand to some hundred thousand articles
Hardware:  2 CPU cores
"""

from ml_collections import ConfigDict

from wikinav_jax.navigation.config import default_config


def get_config() -> ConfigDict:
    """The similarity policy on TF-IDF features of a dump's articles."""
    config = default_config()
    config.name = "rfbc_similarity"
    config.dataset.name = "mediawiki"
    options = config.dataset.options
    options.source = ""  # the dump, or a folder of its parts
    options.keep_tables = False  # keep the text and links of tables
    options.entity_links = True  # also link titles that the text mentions in passing
    options.target_words = 100  # of a block
    options.max_words = 120  # likewise; only a longer sentence makes a longer block
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
