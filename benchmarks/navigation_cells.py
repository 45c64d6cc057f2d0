"""The runs behind the tables of the navigation room: what each of them changes in the config.

Tables share runs: the plain setting on 5-step walks is a line of all three.
"""

from __future__ import annotations

from dataclasses import dataclass

Overrides = tuple[tuple[str, object], ...]

TASK_STEPS = {"5-step": (5, 5), "10-step": (10, 10), "20-step": (20, 20), "multistep": (1, 20)}
SENTENCE_STEPS = {"sentence-5": (5, 5), "sentence-10": (10, 10), "sentence-20": (20, 20)}
ALL_TASKS = (*TASK_STEPS, *SENTENCE_STEPS)

# Random features have no mean to subtract, and nothing lies ahead in them.
_RANDOM_FEATURES: Overrides = (
    ("features.sources", ("random",)),
    ("features.center", False),
    ("features.hops", 0),
)
# Reading texts is what costs: smaller batches, a third of the updates, and no evaluation in
# between, which reads them all.
_LEARNED: Overrides = (
    ("encoder.enabled", True),
    ("features.hops", 0),
    ("train.num_shards", 2),
    ("train.decisions_per_shard", 128),
    ("train.num_steps", 500),
    ("train.evaluate_every", 0),
)
_TRANSFORMER: Overrides = (("policy.name", "transformer"), ("features.hops", 0))
_RL: Overrides = (("train.algorithm", "reinforce"),)


@dataclass(frozen=True)
class Variant:
    """One way to train; with a task it makes a run."""

    name: str  # `method` in the rows, and the first part of the folder's name
    overrides: Overrides = ()
    sentence: bool = False  # for sentence search
    both_samplings: bool = False  # also evaluated on pairs drawn from their targets
    baselines: bool = False  # the baselines are evaluated on its features


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("rfbc", both_samplings=True, baselines=True),
        Variant("rfbc_reverse", (("walks.policy", "reverse"),), both_samplings=True),
        Variant(
            "rfbc_shortest_uniform",
            (("walks.policy", "shortest_uniform"),),
            both_samplings=True,
        ),
        Variant("rfbc_shortest_walk", (("walks.policy", "shortest_walk"),), both_samplings=True),
        Variant("rfbc_random_features", _RANDOM_FEATURES),
        Variant("rl", _RL),
        Variant("rl_random_features", (*_RL, *_RANDOM_FEATURES)),
        Variant("rfbc_transformer", _TRANSFORMER),
        Variant("rfbc_learned", _LEARNED),
        Variant("rfbc_transformer_learned", (*_TRANSFORMER, *_LEARNED)),
        Variant("rfbc_sentence", (("sentence.enabled", True),), sentence=True, baselines=True),
    )
}


@dataclass(frozen=True)
class Table:
    """What a table of the paper shows."""

    number: int
    title: str
    lines: tuple[tuple[str, tuple[str, ...]], ...]  # label, names of its variants
    tasks: tuple[str, ...]  # of the rows; also "-reverse" ones
    baselines: bool  # lines for the baselines below
    orderings: tuple[
        tuple[str, str], ...
    ]  # (line above, line below) that the paper leads to expect


TABLES = {
    table.number: table
    for table in (
        Table(
            1,
            "Where training walks come from",
            (
                ("Forward walks", ("rfbc",)),
                ("Reverse walks", ("rfbc_reverse",)),
                ("Shortest paths to distant nodes", ("rfbc_shortest_uniform",)),
                ("Shortest paths between ends of walks", ("rfbc_shortest_walk",)),
            ),
            (*TASK_STEPS, *(f"{task}-reverse" for task in TASK_STEPS)),
            False,
            (
                ("Forward walks", "Shortest paths to distant nodes"),
                ("Forward walks", "Shortest paths between ends of walks"),
            ),
        ),
        Table(
            2,
            "Cloning, reinforcement and baselines",
            (
                ("RFBC", ("rfbc", "rfbc_sentence")),
                ("RFBC, random features", ("rfbc_random_features",)),
                ("RL", ("rl",)),
                ("RL, random features", ("rl_random_features",)),
            ),
            ALL_TASKS,
            True,
            (
                ("RFBC", "RFBC, random features"),
                ("RFBC", "RL"),
                ("RL", "RL, random features"),
                ("RFBC", "Greedy"),
                ("RFBC", "Random DFS"),
                ("RFBC", "Greedy DFS"),
                ("Greedy", "Random"),
            ),
        ),
        Table(
            4,
            "Policies",
            (
                ("Feed-forward, fixed features", ("rfbc",)),
                ("Transformer, fixed features", ("rfbc_transformer",)),
                ("Feed-forward, learned features", ("rfbc_learned",)),
                ("Transformer, learned features", ("rfbc_transformer_learned",)),
            ),
            tuple(TASK_STEPS),
            False,
            (
                ("Transformer, fixed features", "Feed-forward, fixed features"),
                ("Transformer, learned features", "Feed-forward, learned features"),
                ("Feed-forward, learned features", "Feed-forward, fixed features"),
                ("Transformer, learned features", "Transformer, fixed features"),
            ),
        ),
    )
}


@dataclass(frozen=True)
class Run:
    """A variant trained for one task, or for all of them at once."""

    variant: Variant
    tasks: tuple[str, ...]
    steps: tuple[int, int]  # of the training walks

    @property
    def name(self) -> str:
        """Of its folder, without the seed."""
        return f"{self.variant.name}-{self.tasks[0] if len(self.tasks) == 1 else 'all'}"

    @property
    def overrides(self) -> Overrides:
        """Everything that it changes in the config, but for the seed."""
        samplings = ("forward", "reverse") if self.variant.both_samplings else ("forward",)
        return (
            ("name", self.variant.name),
            ("walks.steps", self.steps),
            # A transformer looks back as far as its training walks went: further is untrained.
            ("policy.transformer.context", self.steps[1]),
            *self.variant.overrides,
            ("evaluate.tasks", self.tasks),
            ("evaluate.sampling", samplings),
            ("evaluate.baselines", self.variant.baselines),
            ("evaluate.example_walks", 0),
        )


def runs_of(table: Table, *, shared: bool) -> list[Run]:
    """The runs of a table, in the order of its lines.

    Args:
      table: of TABLES.
      shared: train once, on walks of 1 to 20 steps, for all tasks; else once a task on its walks.
    """
    runs = []
    for _, names in table.lines:
        for name in names:
            variant = VARIANTS[name]
            steps = SENTENCE_STEPS if variant.sentence else TASK_STEPS
            wanted = tuple(task for task in steps if task in table.tasks)
            if shared:
                runs.append(Run(variant, wanted, (1, 20)))
            else:
                runs += [Run(variant, (task,), steps[task]) for task in wanted]
    return runs
