"""GPU102."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, values
from gpulint.plugin.facts import DeviceName
from gpulint.plugin.words import DEVICE_WORDS


class CrossDeviceOp(Rule):
    """Operation on tensors of several GPUs

    ## What it does
    Finds operations and operators outside all device scopes whose inputs were created on different GPUs in explicit
    device scopes. Lists filled in a loop over towers count as inputs, too.

    ## Why is this bad
    Every input on another GPU is copied first, in each step, and both GPUs wait.

    ## Example
    ```python
    import tensorflow as tf

    with tf.device("/gpu:0"):
        a = tf.random.normal((1024, 1024))
    with tf.device("/gpu:1"):
        b = tf.random.normal((1024, 1024))
    c = a + b
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    a = tf.random.normal((1024, 1024))
    b = tf.random.normal((1024, 1024))
    c = a + b
    ```

    ## What is not reported
    Inputs on one device, or on devices whose number the program does not determine; reductions placed on purpose (`with
    tf.device("/cpu:0"): tf.add_n(…)`); values that a strategy manages; values moved with `tf.identity` under a device.

    ## At run time
    Copies between the devices on that line.
    """

    code = "GPU102"
    name = "cross-device-op"
    severity = Severity.WARNING
    why = "every step copies a tensor from one GPU to the other, and waits for the copy"
    instead = "compute both inputs on one GPU; if the split is deliberate, make them smaller before they cross"
    any_of_names = DEVICE_WORDS

    def on_op_called(self, event: events.OpCalled, plan: Plan) -> Iterator[Report]:
        context = event.where.context
        if context.device is not None or context.strategy is not None:
            return
        homes: dict[str, values.Tensor | values.Variable] = {}
        for value in event.inputs:
            device = _home(value)
            if not isinstance(value, (values.Tensor, values.Variable)):
                continue
            if device is not None and device.is_gpu and device.index is not None:
                homes.setdefault(str(device), value)
        if len(homes) > 1:
            scopes = tuple(scope for value in event.inputs if (scope := _scope(value)) is not None)
            places = " and ".join(f"`{name}`" for name in sorted(homes))
            yield Report(
                event.site,
                f"this operation's inputs are on different GPUs: {places}",
                confidence=confidence(event.where),
                related=tuple(
                    (_scope(value) or value.site, f"an input is computed on `{name}`")
                    for name, value in sorted(homes.items())
                ),
                supersedes=scopes,
            )


def _home(value: values.Value) -> DeviceName | None:
    """Device of the explicit scope that a value was created in."""
    if isinstance(value, values.Tensor):
        return value.device
    if isinstance(value, values.Variable) and value.where.context.strategy is None:
        scope = value.where.context.device
        return scope.device if scope is not None else None
    return None


def _scope(value: values.Value) -> Site | None:
    if isinstance(value, values.Tensor):
        return value.scope
    if isinstance(value, values.Variable) and value.where.context.device is not None:
        return value.where.context.device.site
    return None
