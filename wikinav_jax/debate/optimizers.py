"""Several optimizers in one state, of which a step moves only some; and the agents' baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from wikinav_jax.debate.types import AGENTS


class Baseline(NamedTuple):
    """Moving averages of the agents' rewards; they begin at 0."""

    reward: jax.Array  # float32 [2], of pro and con
    weight: jax.Array  # float32 [], what the averages weigh by now; the mean is reward / weight
    updates: jax.Array  # int32 [], of the agents

    def mean(self) -> jax.Array:
        """float32 [2]: the averages so far, 0 before the first update."""
        return self.reward / jnp.maximum(self.weight, 1e-8)

    def after(self, reward: jax.Array, decay: float) -> Baseline:
        """The averages once `reward`, float32 [2], has come in."""
        fresh = 1 - decay
        return Baseline(
            decay * self.reward + fresh * reward, decay * self.weight + fresh, self.updates + 1
        )


class AlternatingState(NamedTuple):
    """What the optimizers of all learners remember."""

    learners: dict[str, Any]
    baseline: Baseline


def alternating(
    optimizers: Mapping[str, optax.GradientTransformation],
) -> optax.GradientTransformation:
    """One optimizer a learner, by the first key of the parameters.

    Gradients may lack some learners: these stay as they are, and so do their optimizers, whose
    momenta and schedules therefore count the learner's own updates.
    """

    def init(params: Any) -> AlternatingState:
        return AlternatingState(
            {name: optimizers[name].init(params[name]) for name in params},
            Baseline(jnp.zeros(len(AGENTS)), jnp.zeros(()), jnp.zeros((), jnp.int32)),
        )

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, AlternatingState]:
        moved = {name: jax.tree.map(jnp.zeros_like, leaf) for name, leaf in params.items()}
        learners = dict(state.learners)
        for name, gradient in updates.items():
            moved[name], learners[name] = optimizers[name].update(
                gradient, state.learners[name], params[name]
            )
        return moved, state._replace(learners=learners)

    return optax.GradientTransformation(init, update)
