"""GPU702."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, unsafe
from gpulint.plugin.fixes import statements
from gpulint.plugin.queries import cluster_set_later, has_cluster, way, way_to_start
from gpulint.plugin.words import CLUSTER_WORDS


class LateMultiworker(Rule):
    """Multi-worker strategy created too late

    ## What it does
    Finds a `MultiWorkerMirroredStrategy` that is created after the runtime was initialised. It is a warning in a
    program whose code names no cluster: it raises once a launcher sets `TF_CONFIG`.

    ## Why is this bad
    It raises RuntimeError "Collective ops must be configured at program startup". A tensor, a dataset, a built model,
    an optimizer and listing logical devices initialise the runtime; seeds, policies and listing physical devices do not
    (run on 2.21, `benchmarks/experiments/multiworker.py`). Without a cluster it does not raise.

    ## Example
    ```python
    import json
    import os

    import tensorflow as tf

    cluster = {"worker": ["a:1234", "b:1234"]}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})
    scale = tf.constant(0.5)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    ```

    ## Use instead
    ```python
    import json
    import os

    import tensorflow as tf

    cluster = {"worker": ["a:1234", "b:1234"]}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    scale = tf.constant(0.5)
    ```

    ## What is not reported
    Programs that set `TF_CONFIG` only later (GPU701); strategies created first, or after another multi-worker one (does
    not raise, run on 2.21); functions called at an unknown point.

    ## Fix
    Unsafe: moves the statement, and those that it depends on, before the one that initialises the runtime.

    ## At run time
    The error message.
    """

    code = "GPU702"
    name = "late-multiworker"
    severity = Severity.ERROR
    any_of_names = CLUSTER_WORDS
    why = "with multiple workers, TensorFlow raises RuntimeError: collective ops must be configured at program start"
    instead = "create the strategy right after the imports, before any tensor, dataset, model or optimizer"

    def __init__(self) -> None:
        self._made: set[Site] = set()
        self._late: list[tuple[events.StrategyBuilt, Site]] = []

    def on_strategy_built(self, event: events.StrategyBuilt, plan: Plan) -> None:
        if event.strategy.kind != "multi_worker":
            return
        self._made.add(event.site)
        if event.state == "yes" and event.since is not None and event.since not in self._made:
            self._late.append((event, event.since))

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for event, since in self._late:
            if cluster_set_later(event, plan) is not None:
                continue  # the strategy has one worker (GPU701)
            yield Report(
                event.site,
                "the multi-worker strategy is created after TensorFlow's runtime has been initialised",
                confidence=confidence(event.where),
                severity=None if has_cluster(event, plan) else Severity.WARNING,
                related=((since, "this call runs first and initialises the runtime"),),
                fix=unsafe(
                    "Move this call up: the strategy is then created first",
                    statements.moved_up,
                    way(event),
                    way_to_start(plan, since),
                ),
            )
