"""GPU410."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, possible, values
from gpulint.plugin.queries import has_other_backend, known, leaves, symbol_of
from gpulint.plugin.symbols import SMALL_IMAGE, HostArray, Symbol, host_array, images_in

LARGE = 2**30
"""Size in bytes from which an array counts as large."""


class ArrayInFit(Rule):
    """Large array given to `fit`

    ## What it does
    Finds `fit` with a NumPy array of 1 GiB or more. Finds also, as notes, arrays whose size is not in the program, if
    they hold the images of a folder, or a file of arrays (NumPy, pickle, HDF5, MATLAB) for a convolutional model.

    ## Why is this bad
    Keras makes one tensor of the whole array, on GPU:0: the array is in the GPU's memory for as long as `fit` runs,
    beside the model, and twice in that of the host (`benchmarks/experiments/array_in_fit.py`). If it does not fit,
    training ends with "failed to allocate" or "Dst tensor is not initialized".

    ## Example
    ```python
    import numpy as np
    import tensorflow as tf


    def train(read, labels):
        images = np.zeros((20_000, 224, 224, 3), dtype="float32")
        for number in range(len(images)):
            images[number] = read(number)
        model = tf.keras.applications.ResNet50(classes=10, weights=None)
        model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
        model.fit(images, labels, epochs=10)
    ```

    ## Use instead
    ```python
    import tensorflow as tf


    def read(path, label):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, (224, 224)), label


    def train(paths, labels):
        model = tf.keras.applications.ResNet50(classes=10, weights=None)
        model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
        examples = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(10_000)
        model.fit(examples.map(read, num_parallel_calls=tf.data.AUTOTUNE).batch(32), epochs=10)
    ```
    Arrays that the program needs in memory stay there in `tf.data.Dataset.from_tensor_slices((x, y))` within
    `with tf.device("CPU:0"):`.

    ## What is not reported
    Smaller arrays, and images of up to 64 x 64 pixels; rows up to a constant number (`x[:500]`; one of
    file names does not bound the bytes); datasets, generators and `PyDataset`s; Keras on other backends.

    ## At run time
    The memory of GPU:0, and an array given to `fit` among its holders.
    """

    code = "GPU410"
    name = "array-in-fit"
    severity = Severity.WARNING
    is_performance = True
    once_a_row = True
    any_of_names = frozenset({".fit("})
    all_of_name_sets = (
        frozenset({"File", "array", "asarray", "concatenate", "empty", "float32", "full", "load", "load_data"})
        | frozenset({"loadmat", "loads", "normal"})
        | frozenset({"ones", "rand", "randn", "random", "stack", "uniform", "vstack", "zeros"}),
    )
    why = "Keras copies the whole array to GPU:0, where it takes up memory while `fit` runs, or does not fit at all"
    instead = "read batches with `tf.data`, or create a dataset of the array within `with tf.device('CPU:0'):`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        fits = self.all(events.ModelFitted)
        if not fits or has_other_backend(plan):
            return
        made = {id(event.result): event for event in self.all(events.OpCalled)}
        given: dict[Symbol, list[tuple[events.ModelFitted, HostArray]]] = {}
        for fitted in fits:
            for data in (one for value in possible(fitted.data, fitted.where) for one in _arrays(value)):
                if (array := _array(data, made)) is not None:
                    given.setdefault(symbol_of(data), []).append((fitted, array))
        for (first, array), *later in given.values():
            if (text := self._text(array)) is None:
                continue
            again = dict.fromkeys(fitted.site for fitted, _ in later if fitted.site != first.site)
            yield Report(
                first.site,
                text,
                confidence=confidence(first.where),
                severity=Severity.INFO if array.size is None else None,
                related=tuple((site, "the same array is given to `fit` here") for site in again),
            )

    def _text(self, array: HostArray) -> str | None:
        """Problem of an array, None if it is small or may well be."""
        if array.size is not None:
            return f"`fit` copies an array of {array.size / 1e9:.1f} GB to the GPU" if array.size >= LARGE else None
        if array.holds == "images":
            return "`fit` copies all images to the GPU, as one array"
        if array.holds != "file":
            return None
        built = self.all(events.LayerBuilt, events.ModelBuilt)
        if not any(map(_convolves, built)):
            return None
        if any(map(_is_for_small_images, self.all(events.LayerBuilt, events.ModelBuilt, events.LibraryCalled))):
            return None
        return "`fit` copies all of a file to the GPU, as one array"


def _convolves(event: events.LayerBuilt | events.ModelBuilt) -> bool:
    """Whether a layer or model is for images or volumes."""
    if isinstance(event, events.LayerBuilt):
        return event.layer.library.rpartition(".")[2].startswith(("Conv2D", "Conv3D", "ConvLSTM2D"))
    return event.model.library.startswith("tensorflow.keras.applications.")


def _is_for_small_images(event: events.LayerBuilt | events.ModelBuilt | events.LibraryCalled) -> bool:
    """Whether a layer, an `Input` or a network states a shape that has up to 64 x 64 pixels."""
    given = None
    if isinstance(event, events.LayerBuilt):
        given = event.arguments.get("input_shape") or event.arguments.get("shape")
    elif isinstance(event, events.ModelBuilt):
        given = event.arguments.get("input_shape") if event.arguments is not None else None
    elif isinstance(event, events.LibraryCalled) and event.name == "tensorflow.keras.Input":
        given = event.arguments.get("shape", 0)
    sizes = [known(one) for one in (given.items or ())[:2]] if isinstance(given, values.Items) else []
    numbers = [size for size in sizes if type(size) is int]
    return len(numbers) == 2 and math.prod(numbers) <= SMALL_IMAGE


def _arrays(data: values.Value) -> Iterator[values.Value]:
    """Values that may be arrays in the first argument of `fit`: itself, or the elements of a list or dict."""
    if not isinstance(data, values.Items) or data.kind in ("list", "tuple"):
        yield from leaves(data)


def _array(value: values.Value, made: dict[int, events.OpCalled]) -> HostArray | None:
    """The array that a value is; also a dataset of Keras that `tf.image.resize` scales as a whole."""
    if not isinstance(value, values.Tensor):
        return host_array(symbol_of(value))
    while (event := made.get(id(value))) is not None and event.inputs:
        if event.name == "tensorflow.image.resize":
            return images_in(_resized(event))
        value = event.inputs[0]
    return None


def _resized(event: events.OpCalled) -> Symbol:
    """Symbol of what a call returns that scales images."""
    size = Symbol(("tuple", tuple(map(symbol_of, event.inputs[1:3]))))
    return Symbol(("call", ("external", event.name), (symbol_of(event.inputs[0]), size)))
