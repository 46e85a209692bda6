"""Shapes that TensorFlow's own inference leaves open, in graphs that it optimized for a GPU."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gpulint.estimate.graph import SMALL, Function, Operation, StepGraph, Tensor
from gpulint.estimate.memory.liveness import play

pytestmark = pytest.mark.tensorflow


def step_of(
    model: Any, optimizer: Any, *arguments: tuple[tuple[int | None, ...], str], batch: int, is_open: bool = False
) -> StepGraph:
    """The training step of a model, traced with the batch left open and read for a batch size. `is_open`: as of
    `Reader`."""
    import keras
    import tensorflow as tf

    from gpulint.estimate.agent.graphs import Captured, Reader
    from gpulint.estimate.agent.pieces import Pieces
    from gpulint.estimate.agent.places import Sources
    from gpulint.estimate.agent.variables import Inventory
    from gpulint.probe.agent.places import Places

    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    concrete = step.get_concrete_function(*(tf.TensorSpec(*one) for one in arguments))
    known = Inventory().known
    captured = [(inner.op.name, known[id(outer)].variable) for outer, inner in concrete.graph.captures]
    variables = [Captured(name, one.dtype.base_dtype, one.shape) for name, one in captured]
    reader = Reader(
        Pieces(), concrete, variables, lambda device: "", Sources(concrete.graph, Places(), {}), is_open=is_open
    )
    inputs = concrete.graph.inputs[: len(arguments)]
    shapes = {one.op.name: (batch, *one.shape.as_list()[1:]) for one in inputs}
    read = reader.read(shapes, lambda shape: (batch, *shape[1:]) if shape and shape[0] is None else shape)
    assert read.is_optimized
    return StepGraph("step", "", 0, read.body, read.functions)


def unknown(function: Function) -> list[Operation]:
    return [
        one
        for one in function.operations
        if one.is_on_gpu and one.type not in SMALL and any(tensor.bytes is None for tensor in one.outputs)
    ]


def test_sizes_that_are_computed_for_another_layout_are_known() -> None:
    import keras
    from keras import layers

    inputs = keras.Input((8, 8, 3))
    x = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(inputs))
    x = layers.add([layers.UpSampling2D()(x), layers.Conv2D(8, 1)(layers.UpSampling2D()(x))])
    model = keras.Model(inputs, layers.Conv2D(3, 3, padding="same")(x))
    images, labels = ((None, 8, 8, 3), "float32"), ((None, 16, 16), "int32")
    step = step_of(model, keras.optimizers.SGD(), images, labels, batch=4)
    assert unknown(step.body) == []
    gradients = {one.outputs[0].shape for one in step.body.operations if one.type == "Conv2DBackpropInput"}
    assert gradients == {(4, 8, 16, 16)}


def causal(is_open: bool = False) -> StepGraph:
    """The step of two layers of causal attention, for 4 examples of 16 positions and 2 heads."""
    import keras
    from keras import layers

    x = inputs = keras.Input((16, 8))
    for _ in range(2):
        x = layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)
    model = keras.Model(inputs, layers.Dense(3)(x))
    given = ((None, 16, 8), "float32"), ((None, 16), "int32")
    return step_of(model, keras.optimizers.SGD(), *given, batch=4, is_open=is_open)


@pytest.mark.parametrize("is_open", [False, True])
def test_the_mask_of_causal_attention_is_a_constant_where_the_program_knows_its_batch(is_open: bool) -> None:
    step = causal(is_open)
    mask = Tensor("bool", (4, 2, 16, 16))
    made = [one.type for one in step.body.operations if one.outputs and one.outputs[0] == mask]
    assert made.count("Const") == (0 if is_open else 1)  # both layers read the same one
    assert made.count("LogicalAnd") == (2 if is_open else 0)
    assert not step.has_unknown


def test_constants_that_the_optimizer_need_not_compute_are_those_that_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpulint.estimate.agent import folding, graphs

    def kinds() -> Counter[tuple[str, Tensor]]:
        operations = causal().body.operations
        return Counter((one.type, one.outputs[0]) for one in operations if one.outputs and one.is_on_gpu)

    def noted(*arguments: Any) -> frozenset[str]:
        found = folding.set_aside(*arguments)
        names.update(found)
        return found

    names: set[str] = set()
    computed = kinds()
    monkeypatch.setattr(folding, "_LARGE", 1024)
    monkeypatch.setattr(graphs, "set_aside", noted)
    assert kinds() == computed
    assert [name.rpartition("/")[2] for name in names] == ["LogicalAnd", "LogicalAnd"]


def test_of_a_condition_the_branch_counts_whose_sizes_do_not_depend_on_values() -> None:
    import keras
    from keras import layers

    inputs = keras.Input((10,), dtype="int32")
    x = layers.GlobalAveragePooling1D()(layers.Embedding(50, 16)(inputs))
    model = keras.Model(inputs, layers.Dense(10)(x))
    step = step_of(model, keras.optimizers.RMSprop(), ((None, 10), "int32"), ((None,), "int32"), batch=4)
    (condition,) = (one for one in step.body.operations if one.type in ("If", "StatelessIf"))
    assert condition.outputs[0].shape == (40, 16)  # a row for each of 4 × 10 words, not for each example
    assert any(unknown(one) for one in step.functions.values())
    assert not step.has_unknown
    assert not play(step).unknown


def test_a_condition_in_a_loop_calls_functions_that_the_optimizer_specialized() -> None:
    import keras
    import tensorflow as tf

    class Repeated(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.kernel = self.add_weight(shape=(8, 8))
            super().build(shape)

        def call(self, x: Any) -> Any:
            def iteration(count: Any, value: Any) -> tuple[Any, Any]:
                return count + 1, tf.cond(
                    tf.reduce_mean(value) > 0,
                    lambda: tf.tanh(value @ self.kernel),
                    lambda: tf.nn.relu(value @ self.kernel),
                )

            return tf.while_loop(lambda count, value: count < 6, iteration, (0, x))[1]

    model = keras.Sequential([keras.Input((8,)), Repeated(), keras.layers.Dense(2)])
    step = step_of(model, keras.optimizers.SGD(), ((None, 8), "float32"), ((None,), "int32"), batch=4)
    assert not step.has_unknown
    assert any(one.calls for function in step.functions.values() for one in function.operations)
    assert not play(step).unknown


def test_a_stack_of_what_a_loop_wrote_is_as_long_as_what_was_reserved() -> None:
    import keras
    import tensorflow as tf

    class Recurrent(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.cell = keras.layers.SimpleRNNCell(4)
            self.cell.build((None, 8))
            super().build(shape)

        @tf.function
        def call(self, x: Any) -> Any:
            count, state = tf.shape(x)[1], tf.zeros((tf.shape(x)[0], 4))
            written = tf.TensorArray(tf.float32, size=count)
            for step in tf.range(count):
                state, _ = self.cell(x[:, step], [state])
                state = tf.ensure_shape(state, (None, 4))
                written = written.write(step, state)
            return tf.transpose(written.stack(), (1, 0, 2))

        def compute_output_shape(self, shape: Any) -> Any:
            return (*shape[:-1], 4)

    model = keras.Sequential([keras.Input((6, 8)), Recurrent(), keras.layers.Dense(2)])
    step = step_of(model, keras.optimizers.SGD(), ((None, 6, 8), "float32"), ((None, 6), "int32"), batch=3)
    (stack,) = (one for one in step.body.operations if one.type == "TensorListStack")
    assert stack.outputs[0].shape == (6, 3, 4)
    assert not step.has_unknown
    assert not play(step).unknown


def test_grappler_optimizes_for_its_type_of_device_as_for_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    import keras
    from keras import layers

    from gpulint.estimate.agent import graphs

    optimized = graphs.Reader._optimized
    found: list[dict[str, Any]] = []

    def twice(reader: graphs.Reader, definition: Any) -> Any:
        for kind in ("GPU", graphs._GRAPPLER):
            monkeypatch.setattr(graphs, "_GRAPPLER", kind)
            graph = optimized(reader, definition)
            found.append({node.name: node for node in graph.node})
        return graph

    monkeypatch.setattr(graphs.Reader, "_optimized", twice)
    model = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(8, 3), layers.BatchNormalization(), layers.ReLU()])
    model.add(layers.Flatten())
    model.add(layers.Dense(2, activation="relu"))
    step_of(model, keras.optimizers.SGD(), ((None, 8, 8, 3), "float32"), ((None,), "int32"), batch=4)
    assert any("LayoutOptimizer" in name for name in found[0])
    assert {node.device.rpartition(":")[0].rpartition(":")[2] for node in found[1].values()} <= {"GPU", "CPU"}
    assert found[0] == found[1]


def test_what_a_loop_returns_is_known_if_only_the_optimizer_knows_what_enters_it() -> None:
    import keras
    import tensorflow as tf
    from keras import layers

    class Aligned(layers.Layer):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            batch = tf.shape(x)[0]
            lengths = tf.fill([batch], 3), tf.fill([batch], 10)
            labels, logits = tf.fill([batch, 3], 1), tf.transpose(x, [1, 0, 2])
            return tf.nn.ctc_loss(labels, logits, *lengths, blank_index=0)[:, None]

    model = keras.Sequential([keras.Input((10, 8)), layers.Dense(6), Aligned(), layers.Dense(2)])
    step = step_of(model, keras.optimizers.SGD(), ((None, 10, 8), "float32"), ((None,), "int32"), batch=4)
    loops = [one for one in step.body.operations if one.type == "While"]
    assert loops and unknown(step.body) == []
