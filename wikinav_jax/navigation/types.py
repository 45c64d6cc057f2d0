"""What a navigator sees and what its sampler hands to the training step.

Axes, here and in the rest of the room:
  S  sampler shards of a batch       B  decisions (a walker at a node, about to choose a link)
  E  actions of all decisions, flat  N  nodes of the graph            d  width of phi
  H  hops of the neighbourhood features           W  walks                        L  their places
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import jax
from flax import struct

from wikinav_jax.graph.linked_text import EdgeKind

# NumPy arrays in the sampler and on their way to the devices, JAX arrays on them.
Array = Any
# What a walker remembers for its scorer: a pytree whose leaves [K, …] have a row for each walker.
Memory = Any

NUM_EDGE_KINDS = len(EdgeKind)
AT_START = NUM_EDGE_KINDS  # `arrived_by` of a walker that has not moved yet
NO_NODE = -1  # `previous` of a walker that has not moved yet


class Decisions(struct.PyTreeNode):
    """Walkers, each about to choose one of its node's links."""

    node: Array  # int32 [B], where the walker stands
    target: Array  # int32 [B]
    previous: Array  # int32 [B], the node before; NO_NODE at the start
    arrived_by: Array  # uint8 [B], EdgeKind of the last move; AT_START at the start
    run: Array  # int32 [B], moves by next/previous links in a row up to here
    step: Array  # int32 [B], moves made so far
    # float [B, d], what tells the target (features of a sentence) instead of phi(target); or None
    goal: Array = None


class Actions(struct.PyTreeNode):
    """The links of all decisions, one after the other; a decision's actions are neighbours.

    Every link of a node is an action of its own, so two links to the same node are two actions.
    """

    node: Array  # int32 [E], where the link leads
    kind: Array  # uint8 [E], EdgeKind
    decision: Array  # int32 [E], index into the decisions, ascending
    rank: Array  # int32 [E], place among the links of its node
    visits: Array  # int32 [E], how often the walk has stood at `node`, its start included
    valid: Array  # bool [E], False for the padding at the end
    # float [E, d], a_i of links that are known by their words; None: phi of where they lead
    vector: Array = None


class Trails(struct.PyTreeNode):
    """The walks that decisions belong to; decision b stands at nodes[of_decision[b], step[b]]."""

    nodes: Array  # int32 [W, L], places from the start on; NO_NODE after the last decision's
    of_decision: Array  # int32 [B], the row of its walk


class PolicyInput(struct.PyTreeNode):
    """Everything that a policy may look at, besides the features of the nodes."""

    decisions: Decisions
    actions: Actions
    trails: Trails | None = None  # for policies that read the whole walk


class LinkVectors(struct.PyTreeNode):
    """What is known of every link of one graph by its words, on the device."""

    first: Array  # int32 [N], slot of a node's first link
    vectors: Array  # float [links, d]


class NodeFeatures(struct.PyTreeNode):
    """What is known of every node of one graph, on the device."""

    vectors: Array  # float [N, d], phi
    log_out_degree: Array  # float32 [N], log(1 + links that leave)
    log_in_degree: Array  # float32 [N], log(1 + links that arrive)
    # float [N, H, d], for h = 1..H the mean of phi over where h random links lead, scaled to
    # length 1 (zero where every such walk ends before); None without.
    neighbourhood: Array = None
    # float [N, J, d], for j = 1..J the same from where j random in-links come; None without.
    inward: Array = None
    links: LinkVectors | None = None  # where phi is learned


class NavigationBatch(struct.PyTreeNode):
    """Decisions of random walks, and the link that each walk took; leaves [S, …] in training."""

    inputs: PolicyInput
    taken: Array  # int32 [B], index into the flat actions
    # float32 [E], added to the logits in the loss only: log of how many links an action stands for
    # where a hub's links were sampled to fit the capacity, else 0.
    log_weight: Array


class Scorer(Protocol):
    """A policy as evaluation sees it: hashable (it is a static argument of jit) and pure."""

    def __call__(self, params: Any, features: NodeFeatures, inputs: PolicyInput) -> jax.Array:
        """Logits float32 [E]; those of invalid actions are ignored."""
        ...

    def __hash__(self) -> int: ...


@runtime_checkable
class RememberingScorer(Protocol):
    """A scorer that keeps something of every walker's steps, instead of reading its trail again."""

    def init_memory(self, num_walkers: int) -> Memory:
        """The memory of walkers that have not moved yet."""
        ...

    def step(
        self, params: Any, features: NodeFeatures, inputs: PolicyInput, memory: Memory
    ) -> tuple[jax.Array, Memory]:
        """Logits float32 [E], and the memory with this step in it.

        Nothing is cleared when a walker sets out: what was kept before step 0 must not matter. A
        walker that waits passes the same step again, which must change nothing.
        """
        ...
