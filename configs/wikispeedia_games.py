"""The agent against people and GPT-4o-mini, on the article graph and the pairs that they played.

Command:   python -m wikinav_jax.main --config=configs/wikispeedia_games.py --workdir=runs/games
           (--config.data_dir=DIR if the archives are on disk; else they are downloaded)
Data:      Wikispeedia, the 4,604 articles and the 119,882 published links; 27,320 pairs of finished
           games, 17,264 pairs that were given up. GPT-4o-mini's games are not in the public
           archive: where its file is missing, that opponent is left out
Hardware:  2 CPU cores, 8 GB of memory

The agent learns from random walks between half of the articles, and never sees a game. It then
plays on the graph of all articles, as people did.
"""

from ml_collections import ConfigDict

from wikinav_jax.navigation.config import default_config


def get_config() -> ConfigDict:
    """The similarity policy on TF-IDF features of whole articles, looking three links ahead."""
    config = default_config()
    config.name = "rfbc_articles"
    config.dataset.name = "wikispeedia_articles"
    config.dataset.options.tables = True  # the texts keep what tables say
    config.features.sources = ("lsa",)
    config.features.lsa_dim = 384
    config.features.lsa_title_weight = 3
    config.features.hops = 3

    config.walks.steps = (1, 4)  # articles are 3 links apart: longer walks end anywhere
    config.walks.first_visit = True
    config.walks.last_exit = True
    config.walks.skip_forced = True

    config.policy.name = "similarity"

    config.train.num_steps = 1_000
    config.train.num_shards = 4
    config.train.decisions_per_shard = 64  # with about 35 links each
    config.train.learning_rate = 2e-3
    config.train.evaluate_every = 500
    config.train.evaluate_episodes = 100
    config.train.checkpoint_every = 500
    config.train.log_every = 20

    config.evaluate.decodings = ("argmax", "no_revisit")
    config.evaluate.tasks = ("5-step", "multistep")
    config.evaluate.num_episodes = 500
    config.games.enabled = True
    config.games.num_pairs = 0  # all pairs; 2_000 of each kind give the figures within 2 %
    return config
