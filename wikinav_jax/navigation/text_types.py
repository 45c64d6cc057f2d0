"""What a navigator that reads text by itself gets in a batch.

Axes: U blocks read by a shard, L tokens of a block; B decisions and E flat actions as in types.py.
"""

from __future__ import annotations

from flax import struct

from wikinav_jax.navigation.types import Array, NavigationBatch


class BlockTokens(struct.PyTreeNode):
    """Token ids of some blocks."""

    ids: Array  # int32 [U, L]
    mask: Array  # bool [U, L]


class TextBatch(struct.PyTreeNode):
    """A NavigationBatch whose nodes are rows of `blocks` wherever they must be read.

    Read are where the decisions stand, their targets, and the places of trails; where actions lead
    keeps its number, for nobody reads it: an action is its words.
    """

    navigation: NavigationBatch
    blocks: BlockTokens
    # int32 [E, 2], first token and the one after the last of every action's words, in the block
    # where its decision stands; 0, 0 without words (next, previous, or words cut off)
    span: Array
