"""GPU701."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import (
    CLUSTER_WORDS,
    Literal,
    Plan,
    Report,
    Rule,
    Severity,
    confidence,
    events,
    has_cluster,
    is_run_by_program,
    words,
    words_of,
)


class TfConfigMissing(Rule):
    """Multi-worker strategy without a cluster

    ## What it does
    Finds a `MultiWorkerMirroredStrategy` in a program that has no cluster resolver and names `TF_CONFIG` nowhere.

    ## Why is this bad
    Without a cluster the strategy is one worker, silently: measured, `num_replicas_in_sync` is 1 and only the log
    says so (`benchmarks/experiments/multiworker.py`). Each machine then trains a model of its own.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver()
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    ```

    ## What is not reported
    Programs that give a resolver, make one anywhere (`TFConfigClusterResolver()` reads what the launcher has set), or
    set, read or only mention `TF_CONFIG` (in a comment, too: the launcher sets it), in any of their files, or in those
    of another program that makes the same strategy; strategies that are not used; factories that the program does not
    call; strategies made only where a count of workers is high enough: who starts them says where they are.

    ## At run time
    The replicas and the cluster specification.
    """

    code = "GPU701"
    name = "tf-config-missing"
    severity = Severity.WARNING
    about_cost = True
    speaks_of = CLUSTER_WORDS
    why = "the strategy is one worker, and each machine trains a model of its own"
    instead = "set TF_CONFIG before it is made, or give it a cluster resolver"

    def __init__(self) -> None:
        self._alone: list[events.StrategyBuilt] = []
        self._used: set[int] = set()

    def on_strategy_built(self, event: events.StrategyBuilt, plan: Plan) -> Iterator[Report]:
        if event.strategy.kind != "multi_worker":
            return
        if plan.mentions("TF_CONFIG") or any(plan.mentions(name) for name in _RESOLVERS):
            yield Report(event.site, "the variable is spoken of where it is made", is_answer=True)
        elif is_run_by_program(event.where) and not has_cluster(event, plan):
            if not any(_counts_workers(literal) for literal in event.where.path):
                self._alone.append(event)

    def on_strategy_used(self, event: events.StrategyUsed, plan: Plan) -> None:
        if event.how != "attribute":
            self._used.add(id(event.strategy))

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for event in self._alone:
            if id(event.strategy) in self._used:
                yield Report(
                    event.site, "a multi-worker strategy without a cluster", confidence=confidence(event.where)
                )


def _counts_workers(literal: Literal) -> bool:
    """Whether a condition is about how many workers there are."""
    return literal.condition.operator in (">", ">=") and any(
        words(name) & _WORKERS for name in words_of(frozenset({literal}))
    )


_WORKERS = frozenset({"workers", "nodes", "hosts"})

_RESOLVERS = (
    "GCEClusterResolver",
    "KubernetesClusterResolver",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "UnionResolver",
)
"""Resolvers for several workers: a program that speaks of one finds out where they are. A TPU's is none."""
