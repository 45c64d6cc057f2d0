"""A navigator over the Python documentation that is already on your disk. No download.

Command:   python -m wikinav_jax.main --config=configs/quickstart.py --workdir=runs/quickstart
Data:      docstrings of the standard library, numpy, scipy, jax, flax and optax, from their source
Hardware:  2 CPU cores, 4 GB of memory
"""

from ml_collections import ConfigDict

from wikinav_jax.navigation.config import default_config


def get_config() -> ConfigDict:
    """The similarity policy on TF-IDF features."""
    config = default_config()
    config.name = "rfbc_similarity"
    config.dataset.name = "python_docs"
    options = config.dataset.options
    options.packages = ("stdlib", "numpy", "scipy", "jax", "flax", "optax")  # any importable name
    options.target_words = 100  # of a block
    options.max_words = 120  # likewise; only a longer sentence makes a longer block
    options.entity_links = True  # also link names that the text mentions in passing
    config.features.sources = ("lsa",)
    config.features.lsa_dim = 256
    config.features.lsa_title_weight = 3
    config.features.hops = 3

    config.walks.first_visit = True
    config.walks.last_exit = True
    config.walks.skip_forced = True

    config.policy.name = "similarity"

    config.train.num_steps = 800
    config.train.num_shards = 4
    config.train.decisions_per_shard = 256
    config.train.learning_rate = 2e-3
    config.train.evaluate_every = 400
    config.train.checkpoint_every = 400
    config.train.log_every = 20
    return config
