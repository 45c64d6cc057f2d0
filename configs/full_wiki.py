"""The RFBC paper's full scale: phi is learned, trained on one Wikipedia, evaluated on the next.

Command:   python -m wikinav_jax.main --config=configs/full_wiki.py --workdir=runs/full_wiki \
               --config.dataset.options.path=GRAPH_2017 \
               --config.eval_dataset.options.path=GRAPH_2018
           (graph folders that --mode=build has made; --mode=build of this config makes the tokens)
Data:      two graphs of about 38 million blocks and 387 million links (built from the dumps of two
           years); on disk 5 GB of links, 10 GB of tokens and 25 GB of text each
Hardware:  64 TPU v5e chips (launch/tpu_vm_run.sh), or 8 A100 with --config.train.num_shards=64
Time:      not run at this size; from arithmetic. A shard of 64 decisions reads about 75 blocks
           (feed_forward) or 146 (transformer), so a step costs 0.42 or 0.81 PFLOP with layers
           computed twice, and 200,000 steps at 35 % of the chips' peak take 5 or 10 hours on
           v5e-64, 27 or 52 hours on 8 A100. Drawing a shard took 0.6 ms of one core here.
Memory:    of a host: what it has read of the files, all of which are mapped; of a chip: an encoder
           of 110 million weights with its optimizer, 1.3 GB, and in evaluation 200,000 rows of
           phi and about 2 million of links, 3.7 GB. `python -m benchmarks.full_scale` rehearses
           the host's side on 37 million blocks.
Scores:    the paper's, in success within 100 steps on 200,000 held-out blocks: 96 % on 5-step and
           92 % on 20-step navigation (its best), 77 % multistep with sampled moves, 34.6 % for
           20-step sentence search. Its optimizer, batch and encoder are not known to us: those
           below are our choice. We have not run this config at full size and claim no score.
Variants, as --config=configs/full_wiki.py:NAME:

  feed_forward      the paper's first policy (default)
  transformer       the paper's second policy: four causal layers over the walk so far
  tiny              feed_forward with an encoder of a few thousand weights: the same code in minutes
  tiny_transformer  likewise
"""

from collections.abc import Callable

from ml_collections import ConfigDict

from wikinav_jax.navigation.config import default_config


def get_config(variant: str = "feed_forward") -> ConfigDict:
    """The config of a variant; ValueError lists them."""
    if variant not in VARIANTS:
        raise ValueError(f"variant {variant!r} is not one of {', '.join(VARIANTS)}")
    config = default_config()
    config.name = f"rfbc_full_wiki_{variant}"
    config.dataset.name = "linked_text"
    config.dataset.options.path = ""  # the graph that is trained on (the paper: 2017)
    config.eval_dataset.name = "linked_text"
    config.eval_dataset.options.path = ""  # the graph that is evaluated on (the paper: 2018)
    config.eval_dataset.max_nodes = 200_000  # as in the paper; every block of it is read

    config.encoder.enabled = True
    config.encoder.checkpoint = "google-bert/bert-base-uncased"  # hub id, or a local folder
    config.encoder.num_layers = 0  # all 12
    config.encoder.max_tokens = 128  # title and about 100 words
    config.encoder.dtype = "bfloat16"
    config.encoder.remat = True
    config.encoder.learning_rate_scale = 0.2  # pretrained layers move less than a new policy

    config.policy.feed_forward.hidden_dims = (1024,)
    config.policy.feed_forward.kind_bias = True
    config.policy.transformer.width = 512
    config.policy.transformer.num_heads = 8
    config.policy.transformer.mlp_dim = 2_048
    config.policy.transformer.kind_bias = True

    config.train.num_steps = 200_000
    config.train.num_shards = 64  # one a chip; a multiple of the number of devices
    config.train.decisions_per_shard = 64
    config.train.learning_rate = 5e-4
    config.train.warmup_steps = 4_000
    config.train.workers = 4
    config.train.log_every = 100
    config.train.checkpoint_every = 1_000
    config.train.evaluate_every = 20_000

    config.evaluate.sampling = ("forward", "reverse")
    config.explain.graph = "eval"  # explaining reads every block of the graph
    VARIANTS[variant](config)
    return config


def _feed_forward(config: ConfigDict) -> None:
    config.policy.name = "feed_forward"


def _transformer(config: ConfigDict) -> None:
    config.policy.name = "transformer"


def _tiny(config: ConfigDict) -> None:
    _feed_forward(config)
    config.eval_dataset.max_nodes = 2_000
    config.encoder.checkpoint = ""  # from scratch
    config.encoder.num_layers = 1
    config.encoder.hidden_size = 32
    config.encoder.num_heads = 2
    config.encoder.intermediate_size = 64
    config.encoder.learning_rate_scale = 1.0
    config.policy.feed_forward.hidden_dims = (64,)
    config.policy.transformer.width = 32
    config.policy.transformer.num_heads = 2
    config.policy.transformer.mlp_dim = 64
    config.train.num_steps = 200
    config.train.num_shards = 2
    config.train.decisions_per_shard = 64
    config.train.learning_rate = 2e-3
    config.train.warmup_steps = 20
    config.train.workers = 1
    config.train.log_every = 20
    config.train.checkpoint_every = 50
    config.train.evaluate_every = 0
    config.evaluate.num_episodes = 100


def _tiny_transformer(config: ConfigDict) -> None:
    _tiny(config)
    _transformer(config)


VARIANTS: dict[str, Callable[[ConfigDict], None]] = {
    "feed_forward": _feed_forward,
    "transformer": _transformer,
    "tiny": _tiny,
    "tiny_transformer": _tiny_transformer,
}
