"""Navigation between blocks of Wikipedia articles that were held out of training.

Command:   python -m wikinav_jax.main --config=configs/wikispeedia.py --workdir=runs/wikispeedia
           (--config.data_dir=DIR if the archives are on disk; else they are downloaded)
Data:      Wikispeedia, 4,598 articles of 2007, in two random halves: training and evaluation
Hardware:  2 CPU cores, 8 GB of memory

Variants, as --config=configs/wikispeedia.py:NAME. Each but the first two takes one addition of
ours away from `best`, so that a table of them is the ablation:

  best          the similarity policy on TF-IDF features and what lies up to three links ahead
  paper         the paper's plain setting: feed-forward policy, plain forward walks, end as target
  no_lookahead  without the features of what lies ahead: the policy sees a link's node only
  one_hop, two_hops  looking one or two links ahead instead of three
  plain_walks   the walk's own next step is the label, up to its end, loops and all
  no_siblings   a link is not compared with the others of its block
  history       the policy sees which links lead back (an addition that brought little)
  feed_forward  the paper's policy on the walks of `best`
  sentence      `best` where one random sentence of the target's block tells the target
  learned       phi is learned: a small encoder from scratch, links known by their words
  frozen        the same encoder left as it was drawn: what training it is worth
  articles80    80 % of the articles for training instead of 50 %
  elsewhere     trained on all articles, evaluated on another corpus: a graph folder that
                configs/build_wiki.py made, --config.eval_dataset.options.path=DIR

and of `paper`, each with one change (python -m benchmarks.navigation_tables runs them all):

  reverse           walks drawn backwards from their targets
  shortest_uniform  shortest paths to uniform nodes at uniform distances
  shortest_walk     shortest paths between the ends of walks
  random_features   random unit vectors in place of features
  transformer       the four-layer Transformer over the walk so far
  rl                REINFORCE on its own walks, of as many moves
  rl_random         the same on random unit vectors
"""

from collections.abc import Callable

from ml_collections import ConfigDict

from wikinav_jax.navigation.config import default_config


def get_config(variant: str = "best") -> ConfigDict:
    """The config of a variant; ValueError lists them."""
    if variant not in VARIANTS:
        raise ValueError(f"variant {variant!r} is not one of {', '.join(VARIANTS)}")
    config = default_config()
    config.name = f"rfbc_{variant}"
    config.dataset.name = "wikispeedia"
    options = config.dataset.options
    options.tables = False  # keep the text of tables
    options.captions = True  # keep the captions of pictures
    options.entity_links = True  # also link titles that the text mentions in passing
    options.min_link_share = 0.1  # ... if so many of the articles that name it link it somewhere
    options.target_words = 100  # of a block
    options.max_words = 120  # likewise; only a longer sentence makes a longer block
    config.features.sources = ("lsa",)
    config.features.lsa_dim = 384
    config.features.lsa_title_weight = 3
    config.train.num_shards = 4
    config.train.decisions_per_shard = 256
    config.train.checkpoint_every = 500
    config.train.evaluate_every = 500
    if variant in PAPER_VARIANTS:
        _feed_forward(config)
    else:
        _ours(config)
    VARIANTS[variant](config)
    return config


def _ours(config: ConfigDict) -> None:
    config.policy.name = "similarity"
    config.features.hops = 3
    config.walks.first_visit = True
    config.walks.last_exit = True
    config.walks.skip_forced = True
    config.train.num_steps = 1_500
    config.train.learning_rate = 2e-3


def _feed_forward(config: ConfigDict) -> None:
    config.policy.name = "feed_forward"
    config.features.hops = 0
    config.train.num_steps = 1_500  # 5,000 only learn the training half better by heart
    config.train.learning_rate = 1e-3


def _set_hops(hops: int) -> Callable[[ConfigDict], None]:
    def change(config: ConfigDict) -> None:
        config.features.hops = hops

    return change


def _plain_walks(config: ConfigDict) -> None:
    config.walks.first_visit = False
    config.walks.last_exit = False
    config.walks.skip_forced = False


def _no_siblings(config: ConfigDict) -> None:
    config.policy.similarity.siblings = False


def _history(config: ConfigDict) -> None:
    config.policy.similarity.history = True


def _sentence(config: ConfigDict) -> None:
    config.sentence.enabled = True
    config.evaluate.tasks = ("sentence-5", "sentence-10", "sentence-20")


def _transformer(config: ConfigDict) -> None:
    config.policy.name = "transformer"


def _learned(config: ConfigDict) -> None:
    _feed_forward(config)
    config.policy.feed_forward.hidden_dims = (512,)
    config.policy.feed_forward.residual = True
    config.policy.feed_forward.kind_bias = True
    config.encoder.enabled = True
    config.encoder.num_layers = 2
    config.encoder.hidden_size = 128
    config.encoder.max_tokens = 128
    config.walks.first_visit = True
    config.walks.last_exit = True
    config.walks.skip_forced = True
    config.train.num_steps = 1_500
    config.train.num_shards = 2
    config.train.decisions_per_shard = 128
    config.train.evaluate_every = 0  # it reads every block of the held-out half anew


def _frozen(config: ConfigDict) -> None:
    _learned(config)
    config.encoder.learning_rate_scale = 0.0


def _set_walks(policy: str) -> Callable[[ConfigDict], None]:
    def change(config: ConfigDict) -> None:
        config.walks.policy = policy

    return change


def _random_features(config: ConfigDict) -> None:
    config.features.sources = ("random",)
    config.features.center = False


def _rl(config: ConfigDict) -> None:
    config.name = "rl"
    config.train.algorithm = "reinforce"


def _rl_random(config: ConfigDict) -> None:
    _random_features(config)
    _rl(config)
    config.name = "rl_random_features"


def _articles80(config: ConfigDict) -> None:
    config.split.fractions = (0.8, 0.2)


def _elsewhere(config: ConfigDict) -> None:
    config.eval_dataset.name = "linked_text"
    config.eval_dataset.options.path = ""
    config.explain.graph = "eval"


def _unchanged(config: ConfigDict) -> None:
    del config


PAPER_VARIANTS: dict[str, Callable[[ConfigDict], None]] = {
    "paper": _unchanged,
    "reverse": _set_walks("reverse"),
    "shortest_uniform": _set_walks("shortest_uniform"),
    "shortest_walk": _set_walks("shortest_walk"),
    "random_features": _random_features,
    "transformer": _transformer,
    "rl": _rl,
    "rl_random": _rl_random,
}
VARIANTS: dict[str, Callable[[ConfigDict], None]] = {
    **PAPER_VARIANTS,
    "best": _unchanged,
    "no_lookahead": _set_hops(0),
    "one_hop": _set_hops(1),
    "two_hops": _set_hops(2),
    "plain_walks": _plain_walks,
    "no_siblings": _no_siblings,
    "history": _history,
    "feed_forward": _feed_forward,
    "sentence": _sentence,
    "learned": _learned,
    "frozen": _frozen,
    "articles80": _articles80,
    "elsewhere": _elsewhere,
}
