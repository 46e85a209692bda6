"""GPU701."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import JustifyingComment, Plan, Report, Rule, Severity, confidence, events
from gpulint.plugin.queries import cluster_set_later, has_cluster, is_run_by_program
from gpulint.plugin.symbols import Literal, words, words_of
from gpulint.plugin.words import CLUSTER_WORDS


class TfConfigMissing(Rule):
    """Multi-worker strategy without a cluster

    ## What it does
    Finds a `MultiWorkerMirroredStrategy` in a program that has no cluster resolver and whose code names `TF_CONFIG`
    nowhere, or sets it only after it has created the strategy.

    ## Why is this bad
    Without a cluster the strategy has one worker, silently: measured, `num_replicas_in_sync` is 1 and only the log says
    so (`benchmarks/experiments/multiworker.py`). Each machine then trains a model of its own.

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
    Programs that pass a resolver, create one anywhere (`TFConfigClusterResolver()` reads what the launcher has set), or
    set or read `TF_CONFIG` in any of their files or in those of another program that creates the same strategy; a
    strategy beside which a comment says that `TF_CONFIG` is set elsewhere (listed as suppressed); strategies that are
    not used; factories that the program does not call; strategies created only if the number of workers is large
    enough: whoever starts these workers configures the cluster.

    It is a note, because a launcher may set `TF_CONFIG` from outside, and a warning if the program sets the variable
    too late and reads it nowhere.

    ## At run time
    The replicas and the cluster specification.
    """

    code = "GPU701"
    name = "tf-config-missing"
    severity = Severity.INFO
    is_performance = True
    any_of_names = CLUSTER_WORDS
    why = "if your launcher does not set `TF_CONFIG` either, each machine is a single worker that trains its own model"
    instead = "set `TF_CONFIG` before the strategy is created, or pass `cluster_resolver=…` to the strategy"

    def on_strategy_built(self, event: events.StrategyBuilt, plan: Plan) -> Iterator[Report]:
        if event.strategy.kind == "multi_worker" and _names_cluster(plan) and cluster_set_later(event, plan) is None:
            yield Report(event.site, "the program mentions TF_CONFIG", retracts=True)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        used = {id(event.strategy) for event in self.all(events.StrategyUsed) if event.how != "attribute"}
        for event in self.all(events.StrategyBuilt):
            if id(event.strategy) not in used or not _is_alone(event, plan):
                continue
            later = cluster_set_later(event, plan)
            if later is not None:
                yield Report(
                    event.site,
                    "`TF_CONFIG` is set after the multi-worker strategy has been created",
                    why=_TOO_LATE,
                    instead="set `TF_CONFIG` before the strategy is created",
                    severity=Severity.WARNING,
                    confidence=confidence(event.where, later.where),
                    related=((later.site, "`TF_CONFIG` is set here"),),
                )
            elif not _names_cluster(plan):
                yield Report(
                    event.site,
                    "the program configures no cluster for its multi-worker strategy",
                    confidence=confidence(event.where),
                    unless=JustifyingComment.of_variable(event.site, "TF_CONFIG"),
                )


_TOO_LATE = (
    "the strategy reads the variable when it is created: without it, each machine is a single worker that trains its "
    "own model"
)


def _names_cluster(plan: Plan) -> bool:
    return plan.mentions("TF_CONFIG") or any(plan.mentions(name) for name in _RESOLVERS)


def _is_alone(event: events.StrategyBuilt, plan: Plan) -> bool:
    """Whether the program creates a multi-worker strategy without a cluster, whatever the number of workers."""
    return (
        event.strategy.kind == "multi_worker"
        and is_run_by_program(event.where)
        and not has_cluster(event, plan)
        and not any(_counts_workers(literal) for literal in event.where.path)
    )


def _counts_workers(literal: Literal) -> bool:
    """Whether a condition is about the number of workers."""
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
"""Resolvers for several workers (a TPU's is not). A program with one of these names determines the cluster itself."""
