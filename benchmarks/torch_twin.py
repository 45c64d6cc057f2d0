"""The navigation policies, loss and optimizer in PyTorch: what our training is timed against.

Written as a PyTorch user would: autograd over gathered rows, fused AdamW, no Python loop over
decisions. It takes the same initial parameters and draws the same batches; its loss on the first
batch is compared with ours before anything is timed. Run by benchmarks.train_navigation; needs
torch beside the requirements of this package.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from wikinav_jax.navigation.types import AT_START, NUM_EDGE_KINDS, NavigationBatch

Tensors = dict[str, torch.Tensor]


class Twin(torch.nn.Module):
    """What both policies share: the node table and the parameters, by their names in Flax."""

    def __init__(self, params: dict[str, np.ndarray], table: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.weights = torch.nn.ParameterDict(
            {name: torch.nn.Parameter(torch.tensor(value)) for name, value in params.items()}
        )
        for name, value in table.items():
            self.register_buffer(name, torch.from_numpy(value))

    def dense(self, name: str, x: torch.Tensor) -> torch.Tensor:
        """x W + b."""
        x = x @ self.weights[f"{name}/kernel"]
        bias = f"{name}/bias"
        return x + self.weights[bias] if bias in self.weights else x


class FeedForwardTwin(Twin):
    """FeedForwardPolicy with one hidden layer."""

    def forward(self, batch: Tensors, dropout: float) -> torch.Tensor:
        """Logits [E]."""
        x = torch.cat([self.vectors[batch["node"]], self.vectors[batch["target"]]], dim=1)
        x = functional.dropout(torch.relu(self.dense("Dense_0", x)), dropout, training=dropout > 0)
        query = self.dense("Dense_1", x)
        return (self.vectors[batch["action"]] * query[batch["decision"]]).sum(dim=1)


class SimilarityTwin(Twin):
    """SimilarityPolicy with its default fields."""

    def forward(self, batch: Tensors, dropout: float) -> torch.Tensor:
        """Logits [E]."""
        decision, action = batch["decision"], batch["action"]
        heads = self.weights["heads"].T
        target = functional.normalize(self.vectors[batch["target"]], dim=1)
        here = functional.normalize(self.vectors[batch["node"]], dim=1)
        rows = functional.normalize(self.vectors[action], dim=1)
        wanted, left = target[decision], here[decision]
        ahead = (self.neighbourhood[action] * wanted[:, None]) @ heads
        similar = [
            (rows * wanted) @ heads,
            (rows * left) @ heads,
            ahead.flatten(1),
            ((here * target) @ heads)[decision],
        ]
        place = torch.cat(
            [
                functional.one_hot(batch["arrived_by"], AT_START + 1).float(),
                self.log_out_degree[batch["node"]][:, None],
                self.log_in_degree[batch["node"]][:, None],
                torch.log1p(batch["run"].clamp(max=100).float())[:, None],
            ],
            dim=1,
        )
        x = torch.cat(
            [
                4 * torch.cat(similar, dim=1),
                functional.one_hot(batch["kind"], NUM_EDGE_KINDS).float(),
                self.log_out_degree[action][:, None],
                self.log_in_degree[action][:, None],
                place[decision],
            ],
            dim=1,
        )
        x = functional.gelu(self.dense("link", x), approximate="tanh")
        x = torch.cat([x, self._over_siblings(x, batch)], dim=1)
        x = functional.dropout(x, dropout, training=dropout > 0)
        x = functional.gelu(self.dense("choice", x), approximate="tanh")
        return self.dense("logit", x)[:, 0]

    @staticmethod
    def _over_siblings(x: torch.Tensor, batch: Tensors) -> torch.Tensor:
        decision, count = batch["decision"], len(batch["node"])
        valid = batch["valid"][:, None]
        links = torch.zeros(count).index_add_(0, decision, batch["valid"].float())
        total = torch.zeros(count, x.shape[1]).index_add(0, decision, torch.where(valid, x, 0.0))
        index = decision[:, None].expand_as(x)
        highest = torch.full((count, x.shape[1]), -torch.inf).scatter_reduce(
            0, index, torch.where(valid, x, -torch.inf), "amax"
        )
        mean = total / links.clamp(min=1)[:, None]
        return torch.cat([mean, highest], dim=1)[decision]


TWINS = {"feed_forward": FeedForwardTwin, "similarity": SimilarityTwin}


def loss_of(logits: torch.Tensor, batch: Tensors) -> torch.Tensor:
    """Mean of -log p(link taken)."""
    decision, count = batch["decision"], len(batch["node"])
    logits = torch.where(batch["valid"], logits + batch["log_weight"], -1e30)
    highest = torch.full((count,), -torch.inf).scatter_reduce(0, decision, logits.detach(), "amax")
    shifted = logits - highest[decision]
    total = torch.zeros(count).index_add(0, decision, shifted.exp() * batch["valid"])
    return (total.log() - shifted[batch["taken"]]).mean()


def to_tensors(batch: NavigationBatch) -> Tensors:
    """All shards of a batch as one flat one; PyTorch indexes by int64."""
    decisions, actions = batch.inputs.decisions, batch.inputs.actions
    shards, count = decisions.node.shape
    offset = np.arange(shards)[:, None]

    def flat(values: Any, dtype: type = np.int64) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values, dtype).reshape(-1))

    return {
        "node": flat(decisions.node),
        "target": flat(decisions.target),
        "arrived_by": flat(decisions.arrived_by),
        "run": flat(decisions.run),
        "action": flat(actions.node),
        "kind": flat(actions.kind),
        "decision": flat(actions.decision + offset * count),
        "valid": flat(actions.valid, np.bool_),
        "taken": flat(batch.taken + offset * actions.node.shape[1]),
        "log_weight": flat(batch.log_weight, np.float32),
    }


class TorchTrainer:
    """Trains a twin; the counterpart of benchmarks.train_navigation.JaxTrainer."""

    def __init__(
        self,
        args: argparse.Namespace,
        params: dict[str, np.ndarray],
        table: dict[str, np.ndarray],
    ) -> None:
        torch.manual_seed(args.seed)
        torch.set_num_threads(args.threads)
        self.dropout = args.dropout
        model = TWINS[args.policy](params, table)
        matrices = [p for p in model.parameters() if p.dim() > 1]
        others = [p for p in model.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": matrices, "weight_decay": args.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=args.learning_rate,
            fused=True,
        )
        self.parameters = [*matrices, *others]
        self.model = torch.compile(model) if args.torch_compile else model
        self.version = f"torch {torch.__version__}"

    def probe(self, batch: NavigationBatch) -> float:
        """The loss without dropout."""
        with torch.no_grad():
            tensors = to_tensors(batch)
            return float(loss_of(self.model(tensors, 0.0), tensors))

    def step(self, batch: NavigationBatch) -> torch.Tensor:
        """One update; the loss before it."""
        tensors = to_tensors(batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss = loss_of(self.model(tensors, self.dropout), tensors)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        return loss.detach()

    def finish(self, losses: list[torch.Tensor]) -> float:
        """The mean of the losses."""
        return float(torch.stack(losses).mean())
