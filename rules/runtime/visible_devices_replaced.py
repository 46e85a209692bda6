"""GPU309."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, values
from gpulint.plugin.words import CONFIG_WORDS


class VisibleDevicesReplaced(Rule):
    """Visible devices set in a loop

    ## What it does
    Finds `tf.config.set_visible_devices(gpu, "GPU")` for one GPU in every iteration of a loop over all of them.

    ## Why is this bad
    Each call replaces the devices that the one before made visible, so that TensorFlow sees the last GPU only.

    ## Example
    ```python
    import tensorflow as tf

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.set_visible_devices(gpu, "GPU")
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    tf.config.set_visible_devices(tf.config.list_physical_devices("GPU"), "GPU")
    ```

    ## What is not reported
    Calls under a condition, such as a test of the GPU's name; loops that end after the call; lists of GPUs.

    ## At run time
    The number of visible GPUs.
    """

    code = "GPU309"
    name = "visible-devices-replaced"
    severity = Severity.ERROR
    in_graph_mode = True
    any_of_names = CONFIG_WORDS
    why = "each call replaces the one before: only the last GPU is visible"
    instead = "remove the call, since all GPUs are visible by default, or pass a list of the GPUs that you want"

    def on_runtime_configured(self, event: events.RuntimeConfigured, plan: Plan) -> Iterator[Report]:
        context = event.where.context
        loop = context.loops[-1] if context.loops else None
        if event.what != "visible_devices" or loop is None or loop.iteration == 0 or context.guards or context.flags:
            return
        device = event.device
        is_each = isinstance(device, values.ListedDevice) and device.index is None and device.list.part is None
        if is_each and event.where.path <= loop.start | event.where.assumed:
            yield Report(
                event.site,
                "the visible GPU is set in every iteration of a loop",
                confidence=confidence(event.where),
                related=((loop.site, "in this loop over the GPUs"),),
            )
