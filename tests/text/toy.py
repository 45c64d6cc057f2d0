"""Tiny checkpoints on disk: a golden model with a tokenizer that fits its forty ids."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
FAMILIES = ("bert", "bert_sharded", "minilm", "roberta", "distilbert")
WORDS = "the a river hill town bridge stone water cold old runs stands over under near and of to"


def vocabulary() -> list[str]:
    """At most forty WordPiece entries."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return [*special, *WORDS.split(), ".", ",", "##s", "##ed", "r", "##i", "##v"]


def make_checkpoint(folder: Path, family: str = "bert") -> Path:
    """Copies a golden model to `folder` and adds a WordPiece vocabulary."""
    shutil.copytree(GOLDEN / family, folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def edit_config(folder: Path, **fields: object) -> None:
    """Sets fields of a checkpoint's config.json; None removes a field."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | fields
    kept = {key: value for key, value in config.items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")
