"""What debates are made of.

Axes: N entities, E edges, Q queries, B debates (queries x rollouts), A = 2 x rounds arguments
(pro, con, pro, con, …), T steps of an argument.
"""

from __future__ import annotations

from typing import Any

from flax import struct

Array = Any  # np.ndarray on the host, jax.Array on the devices
Params = Any

PRO, CON = 0, 1
AGENTS = ("pro", "con")


class DebateGraph(struct.PyTreeNode):
    """The edges in both directions, as a CSR by the entity they leave."""

    indptr: Array  # int32 [N + 1]
    relation: Array  # int32 [E], below 2R
    entity: Array  # int32 [E], where the edge leads
    neighbour: Array  # int32 [E], the same of each entity in ascending order
    num_relations: int = struct.field(pytree_node=False)  # R, without inverses
    max_degree: int = struct.field(pytree_node=False)  # edges of the greatest hub

    @property
    def stay(self) -> int:
        """The relation of staying where one is."""
        return 2 * self.num_relations

    @property
    def start(self) -> int:
        """What stands for the relation before an argument's first step."""
        return 2 * self.num_relations + 1

    @property
    def num_tokens(self) -> int:
        """2R + 2: rows of a relation table, with STAY and START."""
        return 2 * self.num_relations + 2


class Queries(struct.PyTreeNode):
    """Claims (subject, relation, object)."""

    subject: Array  # int32 [Q]
    relation: Array  # int32 [Q], below R; a walker may be asked backwards, p + R
    object: Array  # int32 [Q]


class LabelledQueries(struct.PyTreeNode):
    """A batch to learn from."""

    queries: Queries
    label: Array  # float32 [Q], 1 true, 0 false
    weight: Array  # float32 [Q], 0 where the entry stands for nothing


class Arguments(struct.PyTreeNode):
    """Paths from the subject, one an argument."""

    relation: Array  # int32 [B, A, T], below 2R + 1
    entity: Array  # int32 [B, A, T], where each step led


class Choices(struct.PyTreeNode):
    """How probable the agents' steps were."""

    log_prob: Array  # float32 [B, A, T]
    entropy: Array  # float32 [B, A, T], nats, over the actions at hand


def ask(module: Any, params: Params, *arguments: Any, method: str, **keywords: Any) -> Any:
    """A method of a Linen module under `params`."""
    return module.apply({"params": params}, *arguments, method=method, **keywords)
