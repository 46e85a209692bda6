"""GPU219."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, possible, values
from gpulint.plugin.facts import parse_device
from gpulint.plugin.queries import is_test
from gpulint.plugin.words import STRATEGY_WORDS


class MixedDevices(Rule):
    """CPU and GPU as replicas of one strategy

    ## What it does
    Finds a strategy whose list of devices names a CPU beside a GPU.

    ## Why is this bad
    Each device is a replica, and each replica gets an equal part of the batch. In every step the GPUs wait for the CPU,
    which takes many times as long for its part.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/gpu:0"])
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    ```

    ## What is not reported
    Strategies on CPUs only, as for a trial without GPUs; devices that the program computes; test files.

    ## At run time
    The GPUs idle for most of each step.
    """

    code = "GPU219"
    name = "mixed-devices"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = STRATEGY_WORDS
    why = "the batch is divided equally, so in every step the GPUs wait for the CPU"
    instead = "name GPUs only, or leave `devices` out: the strategy then uses every visible GPU"

    def on_strategy_built(self, event: events.StrategyBuilt, plan: Plan) -> Iterator[Report]:
        if is_test(event.site.path):
            return
        for option in possible(event.strategy.devices, event.where):
            items = option.items if isinstance(option, values.Items) else None
            texts = [item.value if isinstance(item, values.Constant) else None for item in items or ()]
            devices = [parse_device(text) for text in texts if isinstance(text, str)]
            is_known = len(devices) == len(texts) and None not in devices
            if is_known and any(one and one.is_cpu for one in devices) and any(one and one.is_gpu for one in devices):
                yield Report(
                    event.site,
                    "the strategy has a CPU replica beside a GPU replica",
                    confidence=confidence(event.where),
                )
                return
