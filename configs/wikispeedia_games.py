"""The agent against people and GPT-4o-mini, on the article graph and the pairs that they played.

Command:   python -m wikinav_jax.main --config=configs/wikispeedia_games.py --workdir=runs/games
           (--config.data_dir=DIR if the archives are on disk; else they are downloaded)
Data:      Wikispeedia, the 4,604 articles and the 119,882 published links; 27,320 pairs of finished
           games, 17,264 pairs that were given up. GPT-4o-mini's games are not in the public
           archive: where its file is missing, that opponent is left out
Hardware:  2 CPU cores, 8 GB of memory

The agent learns from random walks between half of the articles, and never sees a game. It then
plays on the graph of all articles, as people did. It knows what people do not: the map of links.

Expected:  of pairs that people finished 99.9 % reached, of those they gave up 99 %; fewer clicks
           than people on 62 %, more on 9 %; 1.23 times the clicks of shortest paths

Variants, as --config=configs/wikispeedia_games.py:NAME; each takes one thing more away:

  best        text, what lies up to three links ahead of a link and one behind the target, and
              random codes of the articles, by which it tells whether the target itself lies there
  text        without the codes: it goes by the texts of those articles
  ahead_only  ... and without what links to the target
"""

from ml_collections import ConfigDict

from wikinav_jax.navigation.config import default_config

VARIANTS = ("best", "text", "ahead_only")


def get_config(variant: str = "best") -> ConfigDict:
    """The config of a variant; ValueError lists them."""
    if variant not in VARIANTS:
        raise ValueError(f"variant {variant!r} is not one of {', '.join(VARIANTS)}")
    config = default_config()
    config.name = "rfbc_articles" if variant == "best" else f"rfbc_articles_{variant}"
    config.dataset.name = "wikispeedia_articles"
    config.dataset.options.tables = True  # the texts keep what tables say
    config.features.sources = ("lsa", "random") if variant == "best" else ("lsa",)
    config.features.random_dim = 384
    config.features.lsa_dim = 384
    config.features.lsa_title_weight = 3
    config.features.hops = 3
    config.features.inward_hops = 0 if variant == "ahead_only" else 1

    config.walks.steps = (1, 4)  # articles are 3 links apart: longer walks end anywhere
    config.walks.first_visit = True
    config.walks.last_exit = True
    config.walks.skip_forced = True

    config.policy.name = "similarity"

    config.train.num_steps = 400
    config.train.num_shards = 4
    config.train.decisions_per_shard = 64  # with some 30 links each
    config.train.learning_rate = 2e-3
    config.train.evaluate_every = 0
    config.train.evaluate_episodes = 100
    config.train.checkpoint_every = 200
    config.train.log_every = 20

    config.evaluate.splits = ()  # the games are the evaluation; ("eval",) also plays the tasks
    config.evaluate.decodings = ("no_revisit",)
    config.evaluate.example_walks = 2  # of each kind of games; their texts are whole articles
    config.games.enabled = True
    config.games.num_pairs = 4_000  # of each kind of games, uniformly chosen; 0: all
    return config
