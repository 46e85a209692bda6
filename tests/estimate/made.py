"""Steps built operation by operation."""

from __future__ import annotations

from collections.abc import Mapping

from gpulint.estimate.graph import Argument, Attribute, Edge, Function, Group, Operation, StepGraph, Tensor, Variable

UNIT = Tensor("float32", (256,))
"""A tensor of 1 KiB."""


class Graph:
    """Builds a step operation by operation; all tensors are of 1 KiB unless given."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.variables: list[Variable] = []
        self.arguments: list[Argument] = []
        self.parameters: list[int] = []
        self.functions: dict[str, Function] = {}

    def add(
        self,
        kind: str,
        *inputs: int | Edge,
        outputs: tuple[Tensor, ...] = (UNIT,),
        after: tuple[int, ...] = (),
        device: str = "",
        calls: Mapping[str, str] | None = None,
        host: tuple[int, ...] = (),
        attributes: Mapping[str, Attribute] | None = None,
        layer: str = "",
        row: int = 0,
        is_gradient: bool = False,
    ) -> int:
        edges = tuple(one if isinstance(one, Edge) else Edge(one, 0) for one in inputs)
        name = f"{kind}_{len(self.operations)}"
        self.operations.append(
            Operation(
                name=name,
                type=kind,
                inputs=edges,
                controls=after,
                outputs=outputs,
                attributes=attributes or {},
                row=row,
                layer=layer,
                device=device,
                calls=calls or {},
                host_outputs=host,
                is_gradient=is_gradient,
            )
        )
        return len(self.operations) - 1

    def enter(self, *tensors: Tensor) -> None:
        """Parameters of a function that is called."""
        for tensor in tensors:
            self.parameters.append(self.add("_Arg", outputs=(tensor,)))

    def variable(self, tensor: Tensor = UNIT, device: str = "", group: Group = "weights") -> int:
        index = self.add("_Arg", outputs=(Tensor("resource", ()),))
        self.parameters.append(index)
        self.variables.append(
            Variable(f"v{index}", tensor, group, group == "weights", len(self.parameters) - 1, device=device)
        )
        return index

    def argument(self, tensor: Tensor = UNIT) -> int:
        index = self.add("_Arg", outputs=(tensor,))
        self.parameters.append(index)
        self.arguments.append(Argument(f"x{index}", tensor, len(self.parameters) - 1))
        return index

    def wasteful(self) -> None:
        """Adds operations of which one gets the piece of another that was a third larger."""
        sizes = (1 << 20, 3 << 18, 1 << 19)
        large, fitting, beside = (Tensor("float32", (size,)) for size in sizes)
        kept = self.add("Tile", self.add("Sum", self.add("RandomUniform", outputs=(large,))), outputs=(fitting,))
        self.add("Gather", kept, self.add("RandomUniform", after=(kept,), outputs=(beside,)))

    def step(self, *results: int, batch: int | None = 1) -> StepGraph:
        body = Function("step", tuple(self.operations), tuple(self.parameters), tuple(Edge(one, 0) for one in results))
        return StepGraph("step", "", 0, body, self.functions, tuple(self.variables), tuple(self.arguments), batch=batch)


def filling_a_list() -> StepGraph:
    """A loop that adds to a list what each of 10 iterations computes, and its own argument."""
    condition, body, graph = Graph(), Graph(), Graph()
    condition.enter(Tensor("int32", ()), Tensor("variant", ()), UNIT)
    limit = condition.add("Const", outputs=(Tensor("int32", ()),), attributes={"value": 10})
    less = condition.add("Less", condition.parameters[0], limit, outputs=(Tensor("bool", ()),))
    body.enter(Tensor("int32", ()), Tensor("variant", ()), UNIT)
    one = body.add("Const", outputs=(Tensor("int32", ()),), attributes={"value": 1})
    counted = body.add("AddV2", body.parameters[0], one, outputs=(Tensor("int32", ()),))
    computed = body.add("Transpose", body.parameters[2])
    listed = body.add("TensorListPushBack", body.parameters[1], computed, outputs=(Tensor("variant", ()),))
    kept = body.add("TensorListPushBack", listed, body.parameters[2], outputs=(Tensor("variant", ()),))
    graph.functions = {
        "cond": condition.step(less).body,
        "body": body.step(counted, kept, body.parameters[2]).body,
    }
    first = graph.add("Const", outputs=(Tensor("int32", ()),), attributes={"value": 0})
    empty = graph.add("EmptyTensorList", outputs=(Tensor("variant", ()),))
    value = graph.add("RandomUniform")
    outputs = (Tensor("int32", ()), Tensor("variant", ()), UNIT)
    loop = graph.add("While", first, empty, value, outputs=outputs, calls={"cond": "cond", "body": "body"})
    last = graph.add("Transpose", Edge(loop, 1))
    return graph.step(last)
