"""GPU104."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, together, unsafe
from gpulint.plugin.fixes import statements
from gpulint.plugin.queries import chain
from gpulint.plugin.symbols import mentions
from gpulint.plugin.words import STRATEGY_WORDS


class DeviceInScope(Rule):
    """GPU pinned under a strategy

    ## What it does
    Finds `tf.device` with a GPU inside `strategy.scope()` or in a replica function of a multi-replica strategy.

    ## Why is this bad
    The strategy places operations and variables under it. In a replica function the pin sends the operations of every
    replica to that one GPU. Variables created in the scope are mirrored regardless, so there the pin has no effect
    (measured on TensorFlow 2.21).

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        with tf.device("/gpu:0"):
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    ```

    ## What is not reported
    CPU devices (embeddings, tables, input), device scopes outside the strategy, `OneDeviceStrategy`, work on one GPU
    every n-th step, outside the replica function.

    ## Fix
    Unsafe: removes the `with tf.device`. Each replica then computes on its own GPU.

    ## At run time
    Operations of every replica on one GPU.
    """

    code = "GPU104"
    name = "device-in-scope"
    severity = Severity.WARNING
    why = "the operations of all replicas run on this one GPU, and the others sit idle"
    instead = "remove `tf.device`: the strategy places the operations of each replica on its own GPU"
    any_of_names = STRATEGY_WORDS

    def on_device_entered(self, event: events.DeviceEntered, plan: Plan) -> Iterator[Report]:
        strategy, device = event.where.context.strategy, event.scope.device
        if strategy is None or not strategy.is_multi_replica or device is None or not device.is_gpu:
            return
        if event.where.context.replica is None and mentions(event.where.path, "%"):
            return  # in every n-th step, outside the replica, a result is shown
        if together(event.where, strategy.where):
            yield Report(
                event.site,
                f"operations are pinned to `{device}` under a strategy",
                confidence=confidence(event.where, strategy.where),
                related=((strategy.site, "the strategy is created here"), *chain(event.where)),
                fix=unsafe(
                    "Remove `tf.device`: the strategy chooses the devices",
                    statements.without_manager,
                    event.site,
                ),
            )
