"""Optimizers and learning-rate schedules from plain fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import optax

from wikinav_jax.common.suggest import did_you_mean

# Parameters with these names are never decayed, whatever their rank.
UNDECAYED_NAMES = ("bias", "scale")


def make_schedule(
    name: str,
    learning_rate: float,
    *,
    num_steps: int,
    warmup_steps: int = 0,
    final_fraction: float = 0.0,
) -> optax.Schedule:
    """The learning rate as a function of the update number.

    `name` is "constant", "linear" or "cosine": after a linear warm-up from 0 over `warmup_steps`,
    the rate stays, or falls to `final_fraction * learning_rate` at update `num_steps`.
    Raises KeyError for an unknown name and ValueError for numbers that make no schedule.
    """
    if learning_rate <= 0:
        raise ValueError(f"learning_rate={learning_rate} is not positive")
    if not 0 <= warmup_steps < num_steps:
        raise ValueError(
            f"warmup_steps={warmup_steps} is not within 0..{num_steps - 1} (num_steps="
            f"{num_steps}); warm up for fewer steps or train longer"
        )
    if not 0.0 <= final_fraction <= 1.0:
        raise ValueError(f"final_fraction={final_fraction} is not within [0, 1]")
    decay_steps = num_steps - warmup_steps
    decays: dict[str, Callable[[], optax.Schedule]] = {
        "constant": lambda: optax.constant_schedule(learning_rate),
        "linear": lambda: optax.linear_schedule(
            learning_rate, final_fraction * learning_rate, decay_steps
        ),
        "cosine": lambda: optax.cosine_decay_schedule(
            learning_rate, decay_steps, alpha=final_fraction
        ),
    }
    if name not in decays:
        raise KeyError(
            f"no schedule {name!r}; known: {sorted(decays)}.{did_you_mean(name, decays)}"
        )
    decay = decays[name]()
    if not warmup_steps:
        return decay
    warmup = optax.linear_schedule(0.0, learning_rate, warmup_steps)
    return optax.join_schedules([warmup, decay], [warmup_steps])


def decay_mask(params: Any) -> Any:
    """A tree of bools: True where weight decay applies (not biases, norms or 1-d parameters)."""

    def decays(path: tuple[Any, ...], leaf: Any) -> bool:
        name = str(getattr(path[-1], "key", getattr(path[-1], "name", ""))) if path else ""
        return np.ndim(leaf) > 1 and name not in UNDECAYED_NAMES

    return jax.tree_util.tree_map_with_path(decays, params)


def make_optimizer(
    name: str,
    learning_rate: float | optax.Schedule,
    *,
    weight_decay: float = 0.0,
    clip_norm: float = 0.0,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    accumulate_steps: int = 1,
) -> optax.GradientTransformation:
    """An optimizer "adamw", "adam" or "sgd" (momentum `b1`), at a rate or a `make_schedule`.

    `clip_norm` > 0 clips the gradient's global norm first. Weight decay is decoupled and scaled
    by the learning rate (Loshchilov & Hutter, 2019, as optax.adamw), masked by `decay_mask`;
    "adam" takes none. `accumulate_steps` > 1 averages that many gradients per update; the schedule
    then counts updates. Raises KeyError for an unknown name, ValueError for bad numbers.
    """
    if weight_decay < 0 or clip_norm < 0:
        raise ValueError(
            f"weight_decay={weight_decay} and clip_norm={clip_norm} may not be negative; 0 is off"
        )
    if accumulate_steps < 1:
        raise ValueError(f"accumulate_steps={accumulate_steps} is less than 1; 1 is off")
    if name == "adam" and weight_decay:
        raise ValueError(f"adam has no weight decay (weight_decay={weight_decay}); use adamw")
    directions: dict[str, Callable[[], optax.GradientTransformation]] = {
        "adamw": lambda: optax.scale_by_adam(b1, b2, eps),
        "adam": lambda: optax.scale_by_adam(b1, b2, eps),
        "sgd": lambda: optax.trace(decay=b1) if b1 else optax.identity(),
    }
    if name not in directions:
        raise KeyError(
            f"no optimizer {name!r}; known: {sorted(directions)}.{did_you_mean(name, directions)}"
        )
    parts = [
        optax.clip_by_global_norm(clip_norm) if clip_norm else optax.identity(),
        directions[name](),
        optax.add_decayed_weights(weight_decay, decay_mask) if weight_decay else optax.identity(),
        optax.scale_by_learning_rate(learning_rate),
    ]
    optimizer = optax.chain(*parts)
    if accumulate_steps == 1:
        return optimizer
    return optax.MultiSteps(optimizer, accumulate_steps).gradient_transformation()
