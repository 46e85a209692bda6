"""Which steps XLA compiles."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow


def compiled(step: Any, *shapes: tuple[int, ...]) -> bool:
    import tensorflow as tf

    from gpulint.estimate.agent.compiled import is_compiled

    traced = tf.function(step).get_concrete_function(*(tf.TensorSpec(shape) for shape in shapes))
    return is_compiled(traced.graph.as_graph_def())


def test_a_step_whose_gradients_xla_computes_is_compiled() -> None:
    import tensorflow as tf

    weight = tf.Variable(tf.zeros((8, 4)))

    @tf.function(jit_compile=True)
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.relu(x @ weight) ** 2)
        return tape.gradient(loss, weight)

    assert compiled(lambda x: weight.assign_sub(gradient(x)), (2, 8))
    assert not compiled(lambda x: weight.assign_sub(gradient.python_function(x)), (2, 8))


def test_single_operations_that_keras_has_compiled_are_no_compiled_step() -> None:
    import keras
    import tensorflow as tf
    from keras import layers

    grouped = layers.Conv2D(8, 3, groups=4, padding="same")
    model = keras.Sequential([keras.Input((8, 8, 8)), layers.Conv2D(8, 1), grouped, layers.Conv2D(8, 1)])

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x) ** 2)
        return tape.gradient(loss, model.trainable_variables)

    assert not compiled(step, (2, 8, 8, 8))
    assert not compiled(grouped, (2, 8, 8, 8))
