"""GPU701."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import CLUSTER_WORDS, Plan, Report, Rule, Severity, confidence, events, is_run_by_program, known


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
    Programs that give a resolver, or set, read or only mention `TF_CONFIG` (in a comment, too: the launcher sets
    it), in any of their files; factories that the program does not call.

    ## At run time
    The replicas and the cluster specification.
    """

    code = "GPU701"
    name = "tf-config-missing"
    severity = Severity.WARNING
    in_tests = False
    speaks_of = CLUSTER_WORDS
    why = "the strategy is one worker, and each machine trains a model of its own"
    instead = "set TF_CONFIG before it is made, or give it a cluster resolver"

    def on_strategy_built(self, event: events.StrategyBuilt, plan: Plan) -> Iterator[Report]:
        if event.strategy.kind != "multi_worker" or not is_run_by_program(event.where) or plan.mentions("TF_CONFIG"):
            return
        given = event.arguments.get("cluster_resolver", 0)
        if event.arguments.open or (given is not None and known(given) is not None):
            return
        yield Report(event.site, "a multi-worker strategy without a cluster", confidence=confidence(event.where))
