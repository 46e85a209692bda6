"""Shapes of a graph's tensors for a batch size: TensorFlow's shape inference, and what it leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from gpulint.estimate.agent.inlining import CONDITIONS, LOOPS
from gpulint.estimate.agent.pieces import Pieces
from gpulint.estimate.graph import CHOICES, SMALL, Tensor

ITERATORS = frozenset(
    {
        "IteratorGetNext",
        "IteratorGetNextSync",
        "IteratorGetNextAsOptional",
        "OptionalGetValue",
        "MultiDeviceIteratorGetNextFromShard",
    }
)
"""Operations that say in `output_shapes` what a dataset's elements look like."""

LIST = "_gpulint_list"
"""Suffix of the names of placeholders of lists."""

_ELEMENT_SHAPES = {
    "EmptyTensorList": 0,
    "TensorListReserve": 0,
    "TensorListStack": 1,
    "TensorListPopBack": 1,
    "TensorListFromTensor": 1,
    "TensorListGetItem": 2,
}
"""Operations on lists → which input is the shape of an element."""

_GIVEN = frozenset({"Const", "Placeholder"})
"""Operations whose value is known, or is not."""

_MOST_SIZES = 16
"""Elements of a constant from which it is no shape."""

_SHAPES = "output_shapes"
_LENGTH = "num_elements"

Shape = tuple["int | None", ...] | None
"""A shape; None where the rank or a dimension is unknown."""


class Inference:
    """Imports definitions of graphs, so that TensorFlow infers shapes for a batch size.

    What depends on the branches of conditions, on loops and on shapes that a function is given as values is left open
    by that; here it is worked out before.
    """

    def __init__(self, pieces: Pieces, library: Mapping[str, Any], elements: Callable[[Shape], Shape]) -> None:
        """`library` has functions by name; `elements` maps the shape of a dataset's element."""
        self._pieces, self._library, self._elements = pieces, library, elements

    def imported(self, definition: Any, lists: Mapping[str, Tensor] | None = None) -> Any:
        """A graph with inferred shapes. `lists` are placeholders of lists of tensors, with the type of an element."""
        pieces = self._pieces
        graph = pieces.ops.Graph()
        with graph.as_default():
            given = {}
            for name, element in (lists or {}).items():
                given[name] = tensor = pieces.tensorflow.raw_ops.Placeholder(
                    dtype=pieces.dtypes.variant, shape=(), name=f"{name}{LIST}"
                )
                shape, dtype = pieces.shapes.TensorShape(element.shape), pieces.dtypes.as_dtype(element.dtype)
                data = pieces.handles.create_handle_data(shape, dtype)
                data.shape_and_type[0].type.type_id = pieces.types_proto.TFT_ARRAY
                pieces.handles.set_handle_data(tensor, data)
            pieces.importer.import_graph_def(definition, name="", input_map=given)
        return graph

    def open(self, nodes: Sequence[Any]) -> None:
        """Sets the batch in what states the shapes of elements: iterators, and lists of tensors."""
        for node in nodes:
            node.attr.pop("_output_shapes", None)
            if node.op in ITERATORS:
                for shape in node.attr[_SHAPES].list.shape:
                    self._open_shape(shape)
            elif node.op in CONDITIONS:
                node.attr.pop(_SHAPES, None)  # `settle` sets the shapes of the branches
        constants = {node.name: node for node in nodes if node.op == "Const"}
        for node in nodes:
            position = _ELEMENT_SHAPES.get(node.op)
            if position is None or position >= len(node.input):
                continue
            constant = constants.get(node.input[position].partition(":")[0])
            if constant is not None:  # a shape that is a constant: its open dimension is the batch
                value = self._pieces.tensors.MakeNdarray(constant.attr["value"].tensor)
                if value.ndim == 1 and len(value) and value[0] == -1:
                    opened = self._elements((None, *value[1:].tolist()))
                    if opened is not None and opened[0] is not None:
                        value = value.copy()
                        value[0] = opened[0]
                        constant.attr["value"].tensor.CopyFrom(self._pieces.tensors.make_tensor_proto(value))

    def settle(self, definition: Any, lists: Mapping[str, Tensor] | None = None) -> None:
        """Gives the variables of loops the shapes with which they enter, conditions those that their branches agree on,
        and stacks of what a loop wrote its length: the trace left those open. `lists`: as of `imported`."""
        nodes = {node.name: node for node in definition.node if node.op in LOOPS or node.op in CONDITIONS}
        stacks = [node for node in definition.node if node.op == "TensorListStack" and node.attr[_LENGTH].i < 0]
        for _ in nodes:  # one may feed another
            graph = self.imported(definition, lists)
            has_changed = False
            for node in stacks:
                length = self._length(graph.get_operation_by_name(node.name).inputs[0])
                if length is not None and node.attr[_LENGTH].i < 0:
                    node.attr[_LENGTH].i = length
                    has_changed = True
            for name, node in nodes.items():
                operation = graph.get_operation_by_name(name)
                if all(tensor.shape.is_fully_defined() for tensor in operation.outputs):
                    continue
                if node.op in LOOPS:
                    found = [tensor.shape for tensor in operation.inputs]
                else:
                    found = self._agreed(node, [*operation.inputs][1:])
                shapes = node.attr[_SHAPES].list.shape
                if len(shapes) != len(found):
                    del shapes[:]
                    shapes.extend(tensor.shape.as_proto() for tensor in operation.outputs)
                for shape, inferred, tensor in zip(shapes, found, operation.outputs, strict=False):
                    if inferred.is_fully_defined() and not tensor.shape.is_fully_defined():
                        shape.CopyFrom(inferred.as_proto())
                        has_changed = True
            if not has_changed:
                return

    def has_open_loops(self, graph: Any) -> bool:
        """Whether the graph leaves open what a loop returns, though it tells what enters the loop."""
        return any(
            given.shape.is_fully_defined() and not tensor.shape.is_fully_defined()
            for one in graph.get_operations()
            if one.type in LOOPS
            for given, tensor in zip(one.inputs, one.outputs, strict=True)
        )

    def _length(self, tensor: Any) -> int | None:
        """Elements of a list that a loop filled (`TensorArray.write`): as many as were reserved; None if the loop may
        have done anything else to it."""
        loop = tensor.op
        function = self._library.get(loop.node_def.attr["body"].func.name) if loop.type in LOOPS else None
        if function is None:
            return None
        arguments = [one.name for one in function.signature.input_arg]
        nodes = {node.name: node for node in function.node_def}
        source = function.ret[function.signature.output_arg[tensor.value_index].name].partition(":")[0]
        while source in nodes and nodes[source].op in ("Identity", "TensorListSetItem"):
            source = nodes[source].input[0].partition(":")[0]
        if source != arguments[tensor.value_index] or loop.inputs[tensor.value_index].op.type != "TensorListReserve":
            return None
        value = self._pieces.tensors.try_evaluate_constant(loop.inputs[tensor.value_index].op.inputs[1])
        return None if value is None else int(value)

    def _agreed(self, node: Any, given: Sequence[Any]) -> list[Any]:
        """Shapes of a condition's outputs that both branches have, or one if the other's depends on values."""
        branches = []
        for role in ("then_branch", "else_branch"):
            function = self._library.get(node.attr[role].func.name)
            if function is None:
                return []
            body, tensors = self.body(function, given, node.op)
            graph = self.imported(body)
            branches.append([graph.get_tensor_by_name(name).shape for name in results(function, tensors)])
        unknown = self._pieces.shapes.TensorShape(None)
        found = []
        for shapes in zip(*branches, strict=True):
            known = [one for one in shapes if one.is_fully_defined()]
            found.append(known[0] if known and known[0] == known[-1] else unknown)
        return found

    def body(
        self, function: Any, given: Sequence[Any], kind: str = "", lists: Mapping[str, Tensor] | None = None
    ) -> tuple[Any, Mapping[str, str]]:
        """The body of a function, as a graph's definition, and the tensors that stand for those that the function's
        definition names. `given` are the inputs of the operation of type `kind` that calls it; `lists`: as of
        `imported`.

        Functions of datasets take elements, too, before what they capture: there only handles of variables are known,
        from the end on.
        """
        arguments = [one.name for one in function.signature.input_arg]
        given = list(given)[-len(arguments) :] if arguments else []
        is_exact = kind in LOOPS or kind in CHOICES
        with self._home.as_default():
            body, tensors = self._pieces.from_definition.function_def_to_graph_def(function)
        nodes = {node.name: node for node in body.node}
        for argument, tensor in zip(reversed(arguments), reversed(given), strict=False):
            node = nodes[argument]
            device = node.device
            if tensor.op.type == "VarHandleOp":
                node.CopyFrom(tensor.op.node_def)
            elif kind in CHOICES and (value := self._sizes(tensor)) is not None:
                node.CopyFrom(self._constant(argument, tensor, value))
            elif is_exact:
                node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
            node.name, node.device = argument, device
        if not is_exact:
            for argument in arguments:
                if nodes[argument].op == "Placeholder":
                    self._open_shape(nodes[argument].attr["shape"].shape)
        self.open(body.node)
        body.library.function.extend(self._library.values())
        self.settle(body, lists)
        return body, tensors

    @cached_property
    def _home(self) -> Any:
        """A graph with the functions, in which each finds those that it calls: Grappler's are known nowhere else."""
        definition = self._pieces.graph_proto.GraphDef()
        definition.library.function.extend(self._library.values())
        return self.imported(definition)

    def _sizes(self, tensor: Any) -> Any:
        """The value of a tensor of integers, such as a shape, if it is known; None otherwise."""
        if not tensor.dtype.is_integer or tensor.shape.rank is None or tensor.shape.rank > 1:
            return None
        if tensor.shape.rank and (tensor.shape[0] is None or tensor.shape[0] > _MOST_SIZES):
            return None
        return self._pieces.tensors.constant_value(tensor)

    def fold(
        self,
        definition: Any,
        graph: Any,
        listed: Mapping[str, Sequence[int]] | None = None,
        only_if_open: bool = True,
    ) -> bool:
        """Makes constants of the counts of loops that are known, and of shapes that are known, `only_if_open` where
        shape inference leaves others open. Returns whether there are any. `listed`: placeholders of lists of the same
        sizes, one for each iteration of a loop."""
        values: dict[str, Sequence[int] | int] = dict(self._counts(graph))
        if not (only_if_open and all(tensor.shape.is_fully_defined() for tensor in _device_tensors(graph))):
            shapes: dict[str, Sequence[int]] = {}
            for one in graph.get_operations():
                sizes = _SIZES.get(one.type)
                if sizes is not None:
                    shapes |= sizes(one, shapes, listed or {})
            values |= shapes
        made: dict[str, Any] = {}
        for node in definition.node:
            for index, name in enumerate(node.input):
                tensor = name if ":" in name else f"{name}:0"
                if not name.startswith("^") and tensor in values:
                    if tensor not in made:
                        known = graph.get_tensor_by_name(tensor)
                        made[tensor] = self._constant(f"{tensor.replace(':', '/')}_sizes", known, values[tensor])
                    node.input[index] = made[tensor].name
        definition.node.extend(made.values())
        return bool(made)

    def _counts(self, graph: Any) -> Iterator[tuple[str, int]]:
        """Integers that enter loops and follow from shapes, such as the number of time steps."""
        loops = (one for one in graph.get_operations() if one.type in LOOPS)
        for tensor in {id(one): one for loop in loops for one in loop.inputs}.values():
            if tensor.dtype.is_integer and tensor.shape.rank == 0 and tensor.op.type not in _GIVEN:
                value = self._pieces.tensors.try_evaluate_constant(tensor)
                if value is not None:
                    yield tensor.name, int(value)

    def _constant(self, name: str, tensor: Any, value: Any) -> Any:
        """A node with the value of a tensor."""
        node = self._pieces.node_proto.NodeDef(name=name, op="Const", device=tensor.device)
        node.attr["dtype"].type = tensor.dtype.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(self._pieces.tensors.make_tensor_proto(value, tensor.dtype))
        return node

    def _open_shape(self, shape: Any) -> None:
        """Sets the open leading dimension of a shape to the batch."""
        if not shape.unknown_rank:
            old = tuple(self._pieces.shapes.TensorShape(shape).as_list())
            shape.CopyFrom(self._pieces.shapes.TensorShape(self._elements(old)).as_proto())


def _shapes_of(one: Any, values: Mapping[str, Sequence[int]], listed: object) -> dict[str, Sequence[int]]:
    return {
        tensor.name: given.shape.as_list()
        for given, tensor in zip(one.inputs, one.outputs, strict=True)
        if given.shape.is_fully_defined()
    }


def _permuted(one: Any, values: Mapping[str, Sequence[int]], listed: object) -> dict[str, Sequence[int]]:
    source, target = (one.get_attr(name).decode() for name in ("src_format", "dst_format"))
    sizes = dict(zip(source, values.get(one.inputs[0].name, ()), strict=False))
    return {one.outputs[0].name: [sizes[axis] for axis in target]} if sizes.keys() == set(target) else {}


def _taken(one: Any, values: object, listed: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    sizes = listed.get(one.inputs[0].op.name.removesuffix(LIST))
    return {one.outputs[1].name: sizes} if sizes is not None else {}


def _summed(one: Any, values: Mapping[str, Sequence[int]], listed: object) -> dict[str, Sequence[int]]:
    """The dimensions over which the gradients of two operands are summed: those in which only the other one is larger
    than 1."""
    if not all(given.name in values for given in one.inputs):
        return {}
    shapes = [list(values[given.name]) for given in one.inputs]
    rank = max(map(len, shapes))
    first, second = ([1] * (rank - len(shape)) + shape for shape in shapes)
    return {
        tensor.name: [axis for axis in range(rank) if own[axis] == 1 != other[axis]]
        for tensor, own, other in zip(one.outputs, (first, second), (second, first), strict=True)
    }


_SIZES: dict[
    str, Callable[[Any, Mapping[str, Sequence[int]], Mapping[str, Sequence[int]]], dict[str, Sequence[int]]]
] = {
    "BroadcastGradientArgs": _summed,
    "DataFormatVecPermute": _permuted,
    "Shape": _shapes_of,
    "ShapeN": _shapes_of,
    "TensorListPopBack": _taken,
}
"""Operation whose outputs are sizes → those that are known by tensor, from others that are, and those in lists."""


def results(function: Any, tensors: Mapping[str, str]) -> list[str]:
    """The tensors, as `NODE:OUTPUT`, that a function's body returns."""
    returned = [tensors.get(function.ret[one.name], function.ret[one.name]) for one in function.signature.output_arg]
    return [one if ":" in one else f"{one}:0" for one in returned]


def _device_tensors(graph: Any) -> Iterator[Any]:
    """Tensors of a graph that are not lists of sizes."""
    for one in graph.get_operations():
        if one.type not in SMALL:
            yield from one.outputs
