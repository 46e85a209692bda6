"""GPU603."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, possible, values
from gpulint.plugin.queries import has_other_backend


class CudnnDisabled(Rule):
    """Recurrent layer without the cuDNN kernel

    ## What it does
    Finds arguments of `LSTM` and `GRU` that switch Keras from the cuDNN kernel to a loop of single operations.

    ## Why is this bad
    The kernel runs all steps of a sequence in one launch. Without it each step is several launches. Keras 3 uses it for
    `activation="tanh"`, `recurrent_activation="sigmoid"`, `recurrent_dropout=0`, `unroll=False`, `use_bias=True` and,
    for a GRU, `reset_after=True`, as Keras itself reports in `benchmarks/experiments/recurrent_kernels.py`. Keras 3.3
    (TensorFlow 2.16) does not use it with `dropout` either.

    ## Example
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.LSTM(64, recurrent_dropout=0.2), tf.keras.layers.Dense(1)])
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.LSTM(64, dropout=0.2), tf.keras.layers.Dense(1)])
    ```

    ## What is not reported
    Defaults that are written out, unknown arguments, `use_cudnn=False`, layers on a CPU device, cells (`LSTMCell`),
    which never use the kernel, and `dropout`, which keeps it.

    ## At run time
    The names of the kernels.
    """

    code = "GPU603"
    name = "cudnn-disabled"
    severity = Severity.INFO
    is_performance = True
    any_of_names = frozenset({"LSTM", "GRU"})
    why = "every time step launches several kernels, instead of one for the whole sequence"
    instead = "use the defaults"

    def on_layer_built(self, event: events.LayerBuilt, plan: Plan) -> Iterator[Report]:
        kind = LAYERS.get(event.layer.library)
        device = event.where.context.device
        on_cpu = device is not None and device.device is not None and not device.device.is_gpu
        if kind is None or on_cpu or event.layer.cls is not None or has_other_backend(plan):
            return
        given = event.arguments
        if any(isinstance(one, values.Constant) and one.value is False for one in _all(given, "use_cudnn", event)):
            return
        for name, position in POSITIONS.items():
            options = _all(given, name, event, position)
            losing = [value for value in options if _loses(kind, name, value)]
            if losing and len(losing) == len(options):
                origin = losing[0].origin if isinstance(losing[0], values.Constant) else None
                is_elsewhere = origin is not None and name in given.keywords and name not in given.sites
                yield Report(
                    event.site,
                    f"`{name}={_shown(losing[0])}` prevents the layer from using the cuDNN kernel",
                    instead=KEEP[name],
                    confidence=confidence(event.where),
                    related=((origin, "the value is set here"),) if origin is not None and is_elsewhere else (),
                )
                return


LAYERS = {"tensorflow.keras.layers.LSTM": "LSTM", "tensorflow.keras.layers.GRU": "GRU"}

KEEP = {
    "activation": 'use `activation="tanh"`, the default',
    "recurrent_activation": 'use `recurrent_activation="sigmoid"`, the default',
    "use_bias": "use `use_bias=True`, the default",
    "recurrent_dropout": "use `dropout` instead, which still uses cuDNN in current Keras (it regularises differently)",
    "unroll": "use `unroll=False`, the default",
    "reset_after": "use `reset_after=True`, the default",
}
"""Argument → what keeps the kernel."""

POSITIONS = {
    "activation": 1,
    "recurrent_activation": 2,
    "use_bias": 3,
    "recurrent_dropout": None,
    "unroll": None,
    "reset_after": None,
}
"""Arguments that the kernel depends on → their positions, None for keyword-only ones."""

_KEEPING = {
    "activation": frozenset({"tanh"}),
    "recurrent_activation": frozenset({"sigmoid"}),
}


def _all(
    given: values.Arguments, name: str, event: events.LayerBuilt, position: int | None = None
) -> list[values.Value]:
    return possible(given.get(name, position), event.where)


def _loses(kind: str, name: str, value: values.Value) -> bool:
    """Whether an argument certainly disables the kernel."""
    if name in _KEEPING:
        if isinstance(value, values.LibraryName):
            module, _, function = value.name.rpartition(".")
            return module.startswith("tensorflow") and function not in _KEEPING[name]
        return isinstance(value, values.Constant) and value.value not in _KEEPING[name]
    if not isinstance(value, values.Constant):
        return False
    if name == "recurrent_dropout":
        return isinstance(value.value, (int, float)) and value.value > 0
    if name == "unroll":
        return value.value is True
    return value.value is False and (name == "use_bias" or kind == "GRU")


def _shown(value: values.Value) -> str:
    return repr(value.value) if isinstance(value, values.Constant) else getattr(value, "name", "…")
