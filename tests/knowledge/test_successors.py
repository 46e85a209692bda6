"""Replacements that GPU901 suggests for removed names."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.knowledge import removed
from gpulint.knowledge.successors import SUCCESSORS, successor
from tests.checking import findings_in


def removed_words() -> set[str]:
    words = {part for name in removed.names() for part in name.split(".")}
    words |= {method for gone in removed.methods().values() for method in gone}
    words |= {method for gone in removed.UNLISTED.values() for method in gone}
    words |= {argument for function in removed.functions() for argument in removed.parameters_since(function)}
    return words | set(removed.telling_words()) | FORMS


FORMS = {"name by position"}
"""Ways to pass an argument that Keras 3 refuses."""


@pytest.mark.parametrize("name", SUCCESSORS)
def test_each_successor_is_of_a_removed_name(name: str) -> None:
    assert name.rpartition(".")[2] in removed_words()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tensorflow.keras.Model.fit_generator", "use `fit`, which takes generators"),
        ("tensorflow.keras.Model.fit(workers)", SUCCESSORS["workers"]),
        ("tensorflow.keras.optimizers.Adam.weights", "use `optimizer.variables`"),
        ("tensorflow.keras.mixed_precision.experimental", "use `tf.keras.mixed_precision`"),
        ("tensorflow.keras.layers.experimental", None),
        ("tensorflow.keras.Sequential.weights", None),
    ],
)
def test_the_successor_of_a_name(name: str, text: str | None) -> None:
    assert successor(name) == text


@pytest.mark.parametrize(
    ("use", "text"),
    [
        ("model.fit(data, workers=4)", SUCCESSORS["workers"]),
        ("model.predict_generator(data)", "use `predict`, which takes generators"),
        (
            "tf.keras.layers.experimental.preprocessing.Rescaling(1.0)",
            "use its members by their new names, such as `tf.keras.layers.EinsumDense`",
        ),
    ],
)
def test_the_help_names_the_successor(use: str, text: str, tmp_path: Path) -> None:
    program = (
        "import tensorflow as tf\n\n"
        "data = tf.data.Dataset.range(8).batch(2)\n"
        "model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])\n"
        f"{use}\n"
    )
    assert [one.instead for one in findings_in(program, tmp_path) if one.code == "GPU901"] == [text]


@pytest.mark.tensorflow
def test_what_the_wheels_do_not_show_was_removed() -> None:
    import keras
    import tensorflow as tf

    layer = keras.layers.Dense(2)
    keras.Sequential([keras.Input((4,)), layer])
    objects = {
        "tensorflow.keras.KerasTensor": layer.output,
        "tensorflow.keras.Optimizer": keras.optimizers.Adam(),
        "tensorflow.keras.Variable": layer.kernel,
    }
    for library, gone in removed.UNLISTED.items():
        assert [name for name in gone if hasattr(objects[library], name)] == []
    assert [name for name in removed.methods()["tensorflow.keras.Layer"] if hasattr(layer, name)] == []
    with pytest.raises(ValueError, match="KerasTensor cannot be used"):
        tf.nn.relu(layer.output)
    assert (layer.output + 1.0).shape == layer.output.shape


@pytest.mark.tensorflow
def test_the_successors_exist() -> None:
    import keras
    import tensorflow as tf

    optimizer = keras.optimizers.Adam()
    assert optimizer.variables
    assert callable(keras.optimizers.LossScaleOptimizer(optimizer).scale_loss)
    assert tf.data.Dataset.range(2).element_spec.dtype == tf.int64
    assert callable(keras.layers.LSTM(1).reset_state)
    layer = keras.layers.Dense(2)
    keras.Sequential([keras.Input(batch_shape=(1, 4)), layer])
    assert (tuple(layer.input.shape), tuple(layer.output.shape)) == ((1, 4), (1, 2))
    assert "CPU" in layer.kernel.value.device
    assert layer.kernel.numpy().shape == layer.kernel.shape

    class Batches(keras.utils.PyDataset):
        pass

    assert Batches(workers=2, use_multiprocessing=True, max_queue_size=3).workers == 2
