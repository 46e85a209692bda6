"""GPU306."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events
from gpulint.plugin.words import CONFIG_WORDS


class GrowthWithLimit(Rule):
    """Memory growth and a memory limit on one GPU

    ## What it does
    Finds memory growth and a logical-device configuration for the same GPU.

    ## Why is this bad
    They exclude each other. Growth after the limit raises ValueError. A limit after growth silently drops the growth
    (TensorFlow 2.16 and 2.21), and is reported as a warning.

    ## Example
    ```python
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])
        tf.config.experimental.set_memory_growth(gpu, True)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])
    ```

    ## What is not reported
    The two on different GPUs, growth that is switched off, one of them in a function that the program does not call and
    the other behind `if __name__ == "__main__":`.

    ## At run time
    The error message, or growth that was requested and is not in effect.
    """

    code = "GPU306"
    name = "growth-with-limit"
    severity = Severity.ERROR
    in_graph_mode = True
    why = "the two settings exclude each other"
    instead = "remove one of the two: a limit reserves a fixed amount of memory, growth allocates memory on demand"
    any_of_names = CONFIG_WORDS

    def on_runtime_configured(self, event: events.RuntimeConfigured, plan: Plan) -> Iterator[Report]:
        if event.against is not None and event.against != event.site:
            raises = event.what == "memory_growth"
            yield Report(
                event.site,
                "memory growth and a memory limit are both set for the same GPU",
                why="TensorFlow raises ValueError" if raises else "TensorFlow silently ignores memory growth",
                confidence=confidence(event.where),
                severity=None if raises else Severity.WARNING,
                related=((event.against, "the limit is set here" if raises else "memory growth is set here"),),
            )
