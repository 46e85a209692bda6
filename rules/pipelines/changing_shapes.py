"""GPU408."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, possible, values
from gpulint.plugin.queries import datasets_in, known, leaves
from gpulint.plugin.symbols import compatible


class ChangingShapes(Rule):
    """Batches of changing length for a model that XLA compiles

    ## What it does
    Finds `fit` of a model that Keras 3 compiles with XLA, as it does by default on a GPU, with batches that are padded
    to their own longest element.

    ## Why is this bad
    XLA compiles for exact shapes: each new length compiles the whole step again. A model of four small layers took 4.6
    to 6.4 s for every new length and 4 ms for a known one (`benchmarks/experiments/changing_shapes.py`).

    ## Example
    ```python
    import tensorflow as tf


    def train(sentences, labels):
        data = tf.data.Dataset.from_tensor_slices((sentences, labels))
        data = data.map(lambda text, label: (tf.strings.unicode_decode(text, "UTF-8"), label))
        data = data.padded_batch(32, padded_shapes=([None], []))
        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Embedding(50_000, 64), layers.GlobalAveragePooling1D(), layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(data, epochs=10)
    ```

    ## Use instead
    ```python
    import tensorflow as tf


    def train(sentences, labels):
        data = tf.data.Dataset.from_tensor_slices((sentences, labels))
        data = data.map(lambda text, label: (tf.strings.unicode_decode(text, "UTF-8")[:512], label))
        data = data.padded_batch(32, padded_shapes=([512], []), drop_remainder=True)
        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Embedding(50_000, 64), layers.GlobalAveragePooling1D(), layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(data, epochs=10)
    ```

    ## What is not reported
    `compile(jit_compile=False)` and `run_eagerly=True`; models that Keras does not compile with XLA (with an LSTM or
    GRU, text or random image layers, or under a strategy); batches padded to fixed lengths or to bucket boundaries;
    images that a map scales, padded without stating shapes; a later map that pads or reshapes; Keras 2.

    ## At run time
    Steps that take seconds.
    """

    code = "GPU408"
    name = "changing-shapes"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset({"padded_batch", "bucket_by_sequence_length", "ragged_batch", "dense_to_ragged_batch"})
    all_of_name_sets = (frozenset({".fit("}),)
    why = "XLA compiles the step again for every new length, and the GPU sits idle for seconds"
    instead = "pad to one length or to a few bucket boundaries, or compile with `jit_compile=False`"
    cost = "up to 6 s per new length"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        fits = self.all(events.ModelFitted)
        if not fits or not plan.runs_keras_3 or any(map(_prevents_jit, self.all(events.LayerBuilt))):
            return
        fixed = {
            event.where.context.mapped for event in self.all(events.OpCalled) if event.name.startswith(_GIVES_SHAPE)
        }
        scaled = {event.where.context.mapped for event in self.all(events.OpCalled) if event.name in _GIVES_SIZE}
        for fitted in fits:
            strategy = fitted.model.where.context.strategy or fitted.where.context.strategy
            compiled = [
                one
                for one in self.all(events.ModelCompiled)
                if one.model is fitted.model and compatible(one.where.path, fitted.where.path)
            ]
            if strategy is not None or not compiled or not all(map(_is_jitted, compiled)):
                continue
            for data in possible(fitted.data, fitted.where):
                for one in datasets_in(data) if isinstance(data, values.Dataset) else ():
                    step = _ragged(one)
                    if step is None:
                        continue
                    place = one.steps.index(step)
                    is_sized = step.arguments.get("padded_shapes", 1) is None and step.name == "padded_batch"
                    if not any(each.site in fixed for each in one.steps[place + 1 :]) and not (
                        is_sized and any(each.site in scaled for each in one.steps[:place])
                    ):
                        yield Report(
                            step.site,
                            "the batches change in length, and XLA compiles the model",
                            confidence=confidence(fitted.where),
                            happens_at=fitted.site,
                            related=(
                                (compiled[0].site, "Keras compiles the model with XLA on a GPU, by default"),
                                (fitted.site, "training reads the pipeline here"),
                            ),
                        )


def _is_jitted(event: events.ModelCompiled) -> bool:
    """Whether Keras compiles a model with XLA if there is a GPU."""
    jit, eagerly = event.arguments.get("jit_compile"), event.arguments.get("run_eagerly", 5)
    return (
        not event.arguments.open
        and (jit is None or known(jit) in (True, "auto"))
        and (eagerly is None or known(eagerly) in (False, None))
    )


def _prevents_jit(event: events.LayerBuilt) -> bool:
    return event.layer.library.rpartition(".")[2] in _WITHOUT_JIT


_WITHOUT_JIT = frozenset(
    {"Bidirectional", "GRU", "Hashing", "HashedCrossing", "IntegerLookup", "LSTM", "RNN", "StringLookup"}
    | {"RandomCrop", "RandomPerspective", "RandomRotation", "RandomShear", "RandomTranslation", "RandomZoom"}
    | {"TextVectorization"}
)
"""Layers with `supports_jit = False` on a GPU (Keras 3.15). A model with one of them is not compiled with XLA."""

_GIVES_SIZE = frozenset(
    f"tensorflow.image.{name}" for name in ("random_crop", "resize", "resize_with_crop_or_pad", "resize_with_pad")
)
"""Ops whose results all have the same height and width."""

_GIVES_SHAPE = ("tensorflow.ensure_shape", "tensorflow.image.", "tensorflow.pad", "tensorflow.reshape")


def _ragged(dataset: values.Dataset) -> values.Step | None:
    """Transformation that pads each batch to the length of its own longest element."""
    for step in dataset.steps:
        if step.name == "padded_batch" and _is_open(step, dataset):
            return step
        if step.name == "ragged_batch":
            return step
        bounded = step.arguments.get("pad_to_bucket_boundary")
        if step.name == "bucket_by_sequence_length" and (bounded is None or known(bounded) is False):
            return step
    return None


def _is_open(step: values.Step, dataset: values.Dataset) -> bool:
    """Whether the lengths of padded elements are not fixed: one of them is None, or elements have any length."""
    shapes = step.arguments.get("padded_shapes", 1)
    if step.arguments.open:
        return False
    if shapes is None:
        prepares = any(one.name in ("map", "flat_map", "interleave") for one in dataset.steps)
        return prepares or dataset.source.endswith(".from_generator")
    sizes = list(leaves(shapes))
    return any(known(one) in (None, -1) and isinstance(one, values.Constant) for one in sizes)
