"""Outputs that are an input's buffer: what is said of a traced operation is what TensorFlow does with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpulint.estimate.sharing import shared_input
from tests.estimate.made import Graph
from tests.estimate.traced import traced

SHARED: dict[str, Callable[[Any, Any], Any]] = {
    "a transpose of a dimension of size 1": lambda tf, x: tf.transpose(x, (0, 2, 1, 3)),
    "a sum over nothing": lambda tf, x: tf.raw_ops.Sum(input=x, axis=tf.constant([], tf.int32)),
    "a maximum over a dimension of size 1": lambda tf, x: tf.reduce_max(x, 2),
    "one row": lambda tf, x: x[1],
    "the first rows": lambda tf, x: x[:2],
    "rows in the middle": lambda tf, x: tf.slice(x, (1, 0, 0, 0), (2, -1, -1, -1)),
    "a new dimension": lambda tf, x: x[..., None],
    "a part": lambda tf, x: tf.split(x, 2)[1],
    "parts of different sizes": lambda tf, x: tf.split(x, [1, 3])[1],
    "rows one by one": lambda tf, x: tf.unstack(x)[1],
    "a stack of one": lambda tf, x: tf.stack([x]),
    "no padding": lambda tf, x: tf.pad(x, ((0, 0),) * 4),
    "no repetition": lambda tf, x: tf.tile(x, (1, 1, 1, 1)),
    "a broadcast to the same shape": lambda tf, x: tf.broadcast_to(x, x.shape),
}

COPIED: dict[str, Callable[[Any, Any], Any]] = {
    "a transpose": lambda tf, x: tf.transpose(x, (0, 3, 2, 1)),
    "a sum": lambda tf, x: tf.reduce_sum(x, 1),
    "every other row": lambda tf, x: x[::2],
    "rows from the last": lambda tf, x: x[::-1],
    "a column": lambda tf, x: x[:, 0],
    "a row that is not aligned": lambda tf, x: x[:, :3, 0, 0][1],
    "a part of the columns": lambda tf, x: tf.split(x, 2, axis=1)[1],
    "columns one by one": lambda tf, x: tf.unstack(x, axis=1)[1],
    "a repetition": lambda tf, x: tf.tile(x, (2, 1, 1, 1)),
    "padding": lambda tf, x: tf.pad(x, ((1, 0),) * 4),
}


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", [*SHARED, *COPIED])
def test_a_buffer_is_shared_where_tensorflow_shares_it(name: str) -> None:
    import tensorflow as tf

    compute = {**SHARED, **COPIED}[name]
    given = tf.random.normal((4, 16, 1, 16))
    begin, result = _address(given), _address(compute(tf, given))
    assert (begin <= result < begin + given.numpy().nbytes) == (name in SHARED)
    body = traced(tf.function(lambda x: compute(tf, x)).get_concrete_function(given)).body
    edge, shares = body.results[0], True
    while shares and edge.operation not in body.parameters:
        operation = body.operations[edge.operation]
        position = shared_input(body, operation, edge.output)
        shares = position is not None
        edge = operation.inputs[position or 0]
    assert shares == (name in SHARED)


def _address(tensor: Any) -> int:
    return int(tensor._numpy().__array_interface__["data"][0])


def test_sizes_that_are_unknown_are_not_compared() -> None:
    from gpulint.estimate.graph import Tensor

    graph = Graph()
    given = graph.add("RandomUniform", outputs=(Tensor("float32", (None, 64)),))
    graph.add("Sum", given, outputs=(Tensor("float32", (None, 64)),))
    body = graph.step().body
    assert shared_input(body, body.operations[1], 0) is None
