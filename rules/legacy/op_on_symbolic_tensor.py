"""GPU905."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, values
from gpulint.plugin.queries import callers, is_version_checked


class OpOnSymbolicTensor(Rule):
    """TensorFlow op on a symbolic Keras tensor

    ## What it does
    Finds TensorFlow functions (`tf.concat`, `tf.shape`) that are called on `keras.Input`, or on what layers
    return for it, while a functional model is built.

    ## Why is this bad
    Keras 3 raises ValueError "A KerasTensor cannot be used as input to a TensorFlow function": the model cannot be
    built (TensorFlow 2.21 with Keras 3.15). Keras 2, up to TensorFlow 2.15, made a layer of each such call.

    ## Example
    ```python
    import tensorflow as tf

    inputs = tf.keras.Input((64, 64, 3))
    features = tf.keras.layers.Conv2D(8, 3)(inputs)
    outputs = tf.reduce_mean(features, axis=[1, 2])
    model = tf.keras.Model(inputs, outputs)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    inputs = tf.keras.Input((64, 64, 3))
    features = tf.keras.layers.Conv2D(8, 3)(inputs)
    outputs = tf.keras.ops.mean(features, axis=[1, 2])
    model = tf.keras.Model(inputs, outputs)
    ```
    Functions that `keras.ops` does not have go into a `Lambda` layer, or into the `call` of a layer.

    ## What is not reported
    Operators (`a + b`, `a[:, 0]`), which Keras 3 supports; ops in `call`, a `Lambda` layer or an activation, which
    get tensors of TensorFlow; tensors of unknown origin; programs on Keras 2; calls behind a version check or in a
    `try` whose handler goes on. The ops of a file are one finding. As this depends on the release, the rule is on by
    default only for files whose TensorFlow release is known.

    ## At run time
    ValueError.
    """

    code = "GPU905"
    name = "op-on-symbolic-tensor"
    severity = Severity.ERROR
    asks_release = True
    once_a_file = True
    context_insensitive = True
    raises = True
    any_of_names = frozenset({"Input"})
    why = "Keras 3 raises ValueError: the model cannot be built"
    instead = "use the function of `keras.ops`, or call it in a `Lambda` layer"

    def on_op_called(self, event: events.OpCalled, plan: Plan) -> Iterator[Report]:
        if (
            event.name.startswith("tensorflow.")
            and not event.name.startswith("tensorflow.keras.")
            and any(isinstance(one, values.Tensor) and one.symbolic for one in event.inputs)
            and plan.runs_keras_3
            and not plan.mentions("tensorflow.python.keras")
            and not any(caller.function == "call" for caller in callers(event.where.caller))
            and not is_version_checked(event.where)
        ):
            yield Report(
                event.site,
                "a TensorFlow op is called on a symbolic Keras tensor",
                confidence=confidence(event.where),
            )
