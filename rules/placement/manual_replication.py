"""GPU106."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import (
    DEVICE_NAMES,
    DEVICE_WORDS,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    Where,
    callers,
    confidence,
    events,
    values,
)


class ManualReplication(Rule):
    """Model replicated by hand

    ## What it does
    Finds a loop over GPUs that builds the model once for each device, in a program that trains. Off by default: it
    is advice.

    ## Why is this bad
    Gradients have to be exchanged and averaged by hand, one device after the other; a strategy does it with
    synchronised gradients and collectives.

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
    Towers of TF1 graph mode, inference spread over devices, loops that configure devices.

    ## At run time
    Operations spread over devices, gradients not reduced.
    """

    code = "GPU106"
    name = "manual-replication"
    severity = Severity.INFO
    why = "gradients are exchanged by hand, one device after the other"
    instead = "let `tf.distribute.MirroredStrategy` replicate the model"
    speaks_of = DEVICE_WORDS
    itself = DEVICE_NAMES
    on_by_default = False

    def __init__(self) -> None:
        self._built: list[events.ModelBuilt] = []
        self._trains = False

    def on_model_built(self, event: events.ModelBuilt, plan: Plan) -> Iterator[Report]:
        context = event.where.context
        scope = context.device
        over_devices = bool(context.loops) and _goes_over_devices(context.loops[-1].iterable)
        if over_devices and scope is not None and scope.chosen and scope.device is not None and scope.device.is_gpu:
            self._built.append(event)
        return iter(())

    def on_model_compiled(self, event: events.ModelCompiled, plan: Plan) -> Iterator[Report]:
        self._trains = True
        return iter(())

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> Iterator[Report]:
        self._trains = True
        return iter(())

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        self._trains = True
        return iter(())

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for event in self._built if self._trains else ():
            scope = event.where.context.device
            assert scope is not None, "as above"
            yield Report(
                _in_loop(event.where, event.site, scope.site),
                "a model for each GPU, built by hand",
                confidence=confidence(event.where),
                related=((scope.site, "the device changes with the loop"),),
            )


def _goes_over_devices(iterable: values.Value | None) -> bool:
    """Whether a loop goes over devices or their numbers."""
    if isinstance(iterable, values.Items):
        return iterable.kind == "range" or "devices" in iterable.symbol.words
    return isinstance(iterable, values.DeviceList)


def _in_loop(where: Where, site: Site, scope: Site) -> Site:
    """The construction, or the call of a builder, in the file and function of the device scope."""
    place = site
    for caller in callers(where.caller):
        if caller.site is None or (place.path == scope.path and place.node > scope.node):
            break
        place = caller.site
    return place
