"""The graph of a step as a value: sizes of tensors, and the way to JSON and back."""

from __future__ import annotations

import json

import pytest

from gpulint.estimate.graph import Argument, Edge, Function, Operation, StepGraph, Tensor, Variable


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (Tensor("float32", (8, 4)), 128),
        (Tensor("float16", (8, 4)), 64),
        (Tensor("int64", ()), 8),
        (Tensor("bool", (3,)), 3),
        (Tensor("float32", (None, 4)), None),
        (Tensor("float32", (None, 0)), 0),
        (Tensor("float32", None), None),
        (Tensor("resource", ()), 0),
        (Tensor("string", (None,)), 0),
    ],
)
def test_bytes_of_a_tensor(tensor: Tensor, expected: int | None) -> None:
    assert tensor.bytes == expected


def graph() -> StepGraph:
    """A step in which no field has its default value."""
    arm = Function("arm", (Operation("x", "_Arg", outputs=(Tensor("float32", (2,)),)),), (0,), (Edge(0, 0),))
    body = Function(
        "body",
        (
            Operation("x", "_Arg", outputs=(Tensor("float32", (None, 3)),)),
            Operation("w", "_Arg", outputs=(Tensor("resource", ()),)),
            Operation(
                name="conv",
                type="Conv2D",
                inputs=(Edge(0, 0), Edge(1, 0)),
                controls=(0,),
                outputs=(Tensor("float32", (4, None)), Tensor("float32", None)),
                attributes={"strides": (1, 2, 2, 1), "padding": "SAME", "use_cudnn": True, "alpha": 0.5, "N": 3},
                filename="train.py",
                row=7,
                layer="net/conv",
                device="GPU:1",
                calls={"then_branch": "arm"},
                host_outputs=(1,),
                is_gradient=True,
            ),
        ),
        parameters=(0, 1),
        results=(Edge(2, 0),),
        must_run=(2,),
        is_compiled=True,
    )
    return StepGraph(
        name="step",
        filename="train.py",
        row=3,
        body=body,
        functions={"arm": arm},
        variables=(Variable("w", Tensor("float32", (3,)), "weights", True, 1, "train.py", 2, "net/conv", "GPU:1", 2),),
        arguments=(Argument("x", Tensor("float32", (None, 3)), 0),),
        batch=4,
        replicas=2,
        is_in_loop=True,
        is_compiled=True,
        is_optimized=True,
        precision="mixed_float16",
        unknown=("x[0]",),
    )


def test_a_graph_survives_json() -> None:
    assert StepGraph.loads(graph().dumps()) == graph()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', json.dumps({"version": 99})])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        StepGraph.loads(text)


def test_an_operation_runs_on_the_gpu_unless_placed_on_the_cpu() -> None:
    assert Operation("a", "Add").is_on_gpu
    assert Operation("a", "Add", device="GPU:1").is_on_gpu
    assert not Operation("a", "Add", device="CPU:0").is_on_gpu
