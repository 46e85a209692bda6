"""GPU106."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import Caller, Loop, Plan, Report, Rule, Severity, Site, Where, confidence, events, values
from gpulint.plugin.facts import parse_device
from gpulint.plugin.queries import callers, iterated_sources, leaves, symbol_of
from gpulint.plugin.symbols import Symbol
from gpulint.plugin.words import DEVICE_NAMES, DEVICE_WORDS


class ManualReplication(Rule):
    """Model replicated by hand

    ## What it does
    Finds a loop over GPUs that builds the model once for each device, directly or in a function that it calls, in a
    program that trains. Off by default: it is advice.

    ## Why is this bad
    Gradients have to be exchanged and averaged by hand, one device after the other. A strategy does this with
    collectives.

    ## Example
    ```python
    import tensorflow as tf

    optimizer = tf.keras.optimizers.SGD()
    models = []
    for i in range(len(tf.config.list_physical_devices("GPU"))):
        with tf.device(f"/gpu:{i}"):
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile(optimizer="sgd", loss="mse")
            model.fit(tf.zeros((8, 1)), tf.zeros((8, 1)))
            models.append(model)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.zeros((8, 1)), tf.zeros((8, 1)))
    ```

    ## What is not reported
    Towers of TF1 graph mode, inference spread over devices, loops that configure devices, loops whose models all go
    to the same device.

    ## At run time
    Operations spread over devices, gradients that are not reduced.
    """

    code = "GPU106"
    name = "manual-replication"
    severity = Severity.INFO
    why = "gradients are exchanged by hand, one device at a time"
    instead = "let `tf.distribute.MirroredStrategy` replicate the model"
    any_of_names = DEVICE_WORDS
    source_pattern = DEVICE_NAMES
    on_by_default = False

    def on_end(self, plan: Plan) -> Iterator[Report]:
        if not any(self.all(events.ModelCompiled, events.ModelFitted, events.GradientsApplied)):
            return
        devices = self._devices()
        for event in self.all(events.ModelBuilt):
            scope = event.where.context.device
            if scope is None or scope.device is None or not scope.device.is_gpu:
                continue
            loop = _loop_over_devices(event, scope.site, devices)
            if loop is not None:
                yield Report(
                    loop.site,
                    "one model per GPU is created by hand",
                    confidence=confidence(event.where),
                    related=(
                        (scope.site, "the loop iterates over the devices"),
                        (_in_loop(event.where, event.site, scope.site), "the model is created here"),
                    ),
                )

    def _devices(self) -> _Devices:
        entered: _Devices = defaultdict(set)
        for event in self.all(events.DeviceEntered):
            for loop in event.where.context.loops:
                devices = entered[loop.site, event.site, event.where.caller]
                devices.add(symbol_of(event.argument))
                if _is_of_round(event.argument, loop):
                    devices.add(None)
        return entered


_Devices = dict[tuple[Site, Site, Caller], set["Symbol | None"]]
"""Loop, scope and caller → devices for which the scope is entered. None among them if the loop chooses the device."""


def _loop_over_devices(event: events.ModelBuilt, scope: Site, devices: _Devices) -> Loop | None:
    """Innermost loop over devices whose iterations enter the scope of a model for different devices."""
    ways = [*callers(event.where.caller)]
    for loop in reversed(event.where.context.loops):
        several = any(len(devices.get((loop.site, scope, way), ())) > 1 for way in ways)
        if several and _goes_over_devices(loop.iterable):
            return loop
    return None


def _is_of_round(device: values.Value, loop: Loop) -> bool:
    """Whether a device is, or is named after, the element of the present iteration."""
    if isinstance(device, values.Constant):
        return not set(device.named).isdisjoint(loop.names)
    return isinstance(device, values.ListedDevice) and device.index is None


def _goes_over_devices(iterable: values.Value | None) -> bool:
    """Whether a loop iterates over devices or their numbers, alone or zipped with something else."""
    return any(map(_lists_devices, iterated_sources(iterable)))


def _lists_devices(iterable: values.Value | None) -> bool:
    if isinstance(iterable, values.Items):
        named = iterable.kind == "range" or "devices" in iterable.symbol.words
        return named or any(map(_is_device, leaves(iterable)))
    return isinstance(iterable, values.DeviceList)


def _is_device(value: values.Value) -> bool:
    text = value.value if isinstance(value, values.Constant) else None
    device = parse_device(text) if isinstance(text, str) else None
    return device is not None and device.is_gpu


def _in_loop(where: Where, site: Site, scope: Site) -> Site:
    """Construction of the model, or call of a builder, in the file and function of the device scope."""
    place = site
    for caller in callers(where.caller):
        if caller.site is None or (place.path == scope.path and place.node > scope.node):
            break
        place = caller.site
    return place
