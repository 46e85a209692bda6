"""From a traced function to the graph that TensorFlow would run, with static shapes, as a `StepGraph`.

The batch size is set in the graph and not by tracing again: the shapes of arguments and of what iterators return are
replaced, Grappler optimizes the graph for GPUs as the runtime would, and TensorFlow's shape inference does the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpulint.estimate.agent.compiled import COMPILED, is_compiled
from gpulint.estimate.agent.folding import put_back, set_aside
from gpulint.estimate.agent.inference import ITERATORS, LIST, Inference, Shape, results
from gpulint.estimate.agent.inlining import LOOPS, Inlined
from gpulint.estimate.agent.names import GRADIENT
from gpulint.estimate.agent.pieces import Pieces
from gpulint.estimate.agent.places import Sources
from gpulint.estimate.graph import Attribute, Edge, Function, Operation, Tensor
from gpulint.estimate.memory.kernels import ADDS_TO_LIST
from gpulint.estimate.sharing import constant
from gpulint.probe.agent.simulation.kernels import Kernels

HEAD = "/job:localhost/replica:0/task:0/device:"

_GRAPPLER = "GPUJIT"
"""Type of a GPU's name for Grappler, which takes each name with GPU in it for a GPU. It looks for a kernel of each node
that it moves, and this build has none: the error lists all kernels there are, which takes longer than the rest of
Grappler, but not for a type with JIT in it (`FindKernelDef`)."""

MOST_VALUES = 16
"""Most integers of a constant whose value is kept: more than a tensor has dimensions."""

_LOWERED = "_lower_using_switch_merge"
_COLOCATED = "_class"


@dataclass(frozen=True)
class Captured:
    """A variable that enters a function: the placeholder of its handle, and what it is."""

    placeholder: str
    dtype: Any
    shape: Any


@dataclass(frozen=True)
class Read:
    """A function, as read from TensorFlow."""

    body: Function
    functions: dict[str, Function]
    names: dict[str, int]
    """Name of a placeholder → its operation in `body`."""
    is_optimized: bool
    is_compiled: bool
    is_in_loop: bool
    """Whether it is one iteration of a loop in the function."""


class Reader:
    """Reads a concrete function's graph for several batch sizes."""

    def __init__(
        self,
        pieces: Pieces,
        concrete: Any,
        variables: Sequence[Captured],
        device_of: Callable[[str], str],
        sources: Sources,
        gpus: int = 1,
        is_open: bool = False,
    ) -> None:
        """`device_of` gives the short name, as `GPU:0`, that the program has for a device of a node, "" for none.
        `is_open`: whether the program itself leaves the batch open, so that Grappler does not know it either."""
        self._pieces = pieces
        self._graph = concrete.graph
        self._sources = sources
        self._gpus = gpus
        self._device_of = device_of
        self._kernels = Kernels()
        self._definition = definition = concrete.graph.as_graph_def()
        self.is_compiled = is_compiled(definition)
        for nodes in _bodies(definition):
            for node in nodes:
                device = device_of(node.device)
                node.device = f"{HEAD}{device}" if device else ""
                node.attr.pop(COMPILED, None)
                node.attr.pop(_LOWERED, None)
                node.attr.pop(_COLOCATED, None)
        for function in definition.library.function:
            function.attr.pop(COMPILED, None)
            for argument in function.arg_attr.values():
                argument.attr.pop(_COLOCATED, None)
        self._inlined = Inlined(pieces, definition)
        self._results = [self._inlined.result(one.name) for one in concrete.graph.outputs]
        self._must_run = [self._inlined.control(one.name) for one in concrete.graph.control_outputs]
        self._handles = {one.placeholder for one in variables}
        self._aside: frozenset[str] | None = None
        """Operations that Grappler need not compute, None before the first batch."""
        self._bypass_loops()
        self._make_variables(variables)
        self._optimized_open = self._optimized(self._definition) if is_open or self.is_compiled else None

    @property
    def has_open_elements(self) -> bool:
        """Whether the trace left the batch of an iterator open."""
        return any(
            not shape.unknown_rank and shape.dim and shape.dim[0].size < 0
            for node in self._definition.node
            if node.op in ITERATORS
            for shape in node.attr["output_shapes"].list.shape
        )

    def _bypass_loops(self) -> None:
        """Handles that a loop passes on are taken from where they enter it."""
        resource = self._pieces.dtypes.resource.as_datatype_enum
        passed = {}
        for node in self._definition.node:
            if node.op in LOOPS:
                for index, kind in enumerate(node.attr["T"].list.type):
                    if kind == resource:
                        passed[f"{node.name}:{index}" if index else node.name] = node.input[index]
        for node in self._definition.node:
            for index, name in enumerate(node.input):
                while name in passed:
                    name = passed[name]
                node.input[index] = name

    def _make_variables(self, variables: Sequence[Captured]) -> None:
        """Replaces the placeholders of variables by their handles, from which shapes are inferred."""
        nodes = {node.name: node for node in self._definition.node}
        known = {one.placeholder: one for one in variables}
        for variable in variables:
            node = nodes[variable.placeholder]
            device = node.device
            node.Clear()
            node.name, node.op, node.device = variable.placeholder, "VarHandleOp", device
            node.attr["dtype"].type = variable.dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
            node.attr["shared_name"].s = variable.placeholder.encode()
        for node in self._definition.node:  # shape inference stops there
            shaped = known.get(node.input[0]) if node.op == "VariableShape" and node.input else None
            if shaped is not None and shaped.shape.is_fully_defined():
                value = self._pieces.tensors.make_tensor_proto(
                    shaped.shape.as_list(), self._pieces.dtypes.as_dtype(node.attr["out_type"].type or 3)
                )
                name, device = node.name, node.device
                node.Clear()
                node.name, node.op, node.device = name, "Const", device
                node.attr["dtype"].type = value.dtype
                node.attr["value"].tensor.CopyFrom(value)

    def read(self, shapes: Mapping[str, Shape], elements: Callable[[Shape], Shape]) -> Read:
        """The function with these shapes of placeholders; `elements` maps the shape of a dataset's element."""
        pieces = self._pieces
        definition = pieces.graph_proto.GraphDef()
        definition.CopyFrom(self._optimized_open or self._definition)
        for node in definition.node:
            if node.name in shapes:
                node.attr["shape"].shape.CopyFrom(pieces.shapes.TensorShape(shapes[node.name]).as_proto())
                node.attr.pop("_user_specified_name", None)
        inference = Inference(pieces, {one.signature.name: one for one in definition.library.function}, elements)
        for nodes in _bodies(definition):
            inference.open(nodes)
        inference.settle(definition)
        optimized = self._optimized_open
        if optimized is None:
            # A program that knows its batch traces shapes as constants.
            graph = inference.imported(definition)
            inference.fold(definition, graph, only_if_open=False)
            self._aside = set_aside(definition, graph, self._aside)
            optimized = self._optimized(definition)
            definition = optimized or definition
            put_back(definition)
        library = {one.signature.name: one for one in definition.library.function}
        self._inference = inference = Inference(pieces, library, elements)
        graph = inference.imported(definition)
        if inference.has_open_loops(graph):  # what enters them was open before the graph was optimized
            inference.settle(definition)
            graph = inference.imported(definition)
        if inference.fold(definition, graph):
            graph = inference.imported(definition)
        functions: dict[str, Function] = {}
        body, names = self._function("step", graph, graph.get_operations(), library, functions, "")
        results = [edge for one in self._results if (edge := _edge(names, graph, one)) is not None]
        must = tuple(names[one] for one in self._must_run if one in names)
        parameters = tuple(names[one.op.name] for one in self._graph.inputs if one.op.name in names)
        body = Function("step", body.operations, parameters, tuple(results), must, self.is_compiled)
        return Read(body, functions, names, optimized is not None, self.is_compiled, self._inlined.is_in_loop)

    def _element(self, tensor: Any, functions: Mapping[str, Function]) -> Tensor | None:
        """The type of the tensors in a list that a loop has added to; None for other tensors."""
        source = tensor.op
        if source.type == "TensorListFromTensor" and source.inputs[0].shape.rank:
            return _tensor_of(source.inputs[0].dtype, source.inputs[0].shape[1:])
        added = self._added(tensor, functions)
        if added is None:
            return None
        body, one = added
        edge = one.inputs[-1]
        element = body.operations[edge.operation].outputs[edge.output]
        return element if element.bytes is not None else None

    def _sizes(self, tensor: Any, functions: Mapping[str, Function]) -> Sequence[int] | None:
        """The sizes that a loop adds to a list in each iteration, if they are the same; None for other tensors."""
        added = self._added(tensor, functions)
        if added is None:
            return None
        body, one = added
        source = body.operations[one.inputs[-1].operation]
        if source.outputs[0].shape is None or len(source.outputs[0].shape) != 1:
            return None
        if source.type == "Shape":
            given = source.inputs[0]
            shape = body.operations[given.operation].outputs[given.output].shape or (None,)
            return None if None in shape else [size or 0 for size in shape]
        return constant(body, one, len(one.inputs) - 1)

    def _added(self, tensor: Any, functions: Mapping[str, Function]) -> tuple[Function, Operation] | None:
        """The operation that adds to the list which a loop returns, and the loop's body; None for other tensors."""
        loop = tensor.op
        if tensor.dtype != self._pieces.dtypes.variant or loop.type not in LOOPS:
            return None
        body = functions.get(loop.node_def.attr["body"].func.name)
        if body is None or tensor.value_index >= len(body.results):
            return None
        one = body.operations[body.results[tensor.value_index].operation]
        while one.type not in ADDS_TO_LIST:
            if one.type != "Identity" or not one.inputs:
                return None
            one = body.operations[one.inputs[0].operation]
        return body, one

    def _optimized(self, definition: Any) -> Any:
        """The graph after Grappler, None if that failed: then it is read as it was traced."""
        pieces = self._pieces
        meta = pieces.meta_proto.MetaGraphDef()
        meta.graph_def.CopyFrom(definition)
        for node in meta.graph_def.node:
            if not node.device:
                node.device = f"{HEAD}GPU:0"
        _rename_devices(meta.graph_def, "GPU", _GRAPPLER)
        signature = meta.signature_def["step"]
        for index, tensor in enumerate(self._graph.inputs):
            if tensor.op.name not in self._handles:
                _describe(signature.inputs[str(index)], tensor)
        for index, name in enumerate(self._results):
            signature.outputs[str(index)].name = name
            signature.outputs[str(index)].dtype = self._graph.outputs[index].dtype.as_datatype_enum
        meta.collection_def["train_op"].node_list.value.extend([*self._results, *self._must_run])
        config = pieces.config_proto.ConfigProto()
        config.graph_options.rewrite_options.min_graph_nodes = -1
        try:
            devices = pieces.cluster.Cluster(devices=_devices(pieces, self._gpus))
            with _quiet():
                optimized = pieces.optimizer.OptimizeGraph(config, meta, verbose=False, cluster=devices)
        except (pieces.errors.OpError, ValueError, RuntimeError):
            return None
        _rename_devices(optimized, _GRAPPLER, "GPU")
        return optimized

    def _function(
        self,
        name: str,
        graph: Any,
        made: Sequence[Any],
        library: Mapping[str, Any],
        functions: dict[str, Function],
        prefix: str,
    ) -> tuple[Function, dict[str, int]]:
        """A graph's operations, and those of the functions that they call."""
        names = {one.name: index for index, one in enumerate(made)}
        found = []
        for one in made:
            definition = one.node_def
            calls = {
                key: value.func.name for key, value in definition.attr.items() if value.WhichOneof("value") == "func"
            }
            lists = {
                f"{key}{index}": function.name
                for key, value in definition.attr.items()
                if value.WhichOneof("value") == "list"
                for index, function in enumerate(value.list.func)
            }
            calls |= lists
            for called in calls.values():
                if called in library and called not in functions:
                    functions[called] = Function(called, ())  # recursion ends here
                    functions[called] = self._called(called, one, library, functions, f"{prefix}{one.name}/")
            place = self._sources.of(f"{prefix}{one.name}")
            device = self._device_of(definition.device)
            kernel = self._kernel(one)
            is_argument = one.type in ("Placeholder", "VarHandleOp")
            if kernel is _NO_KERNEL and not is_argument and not (device and self._follows(one)):
                device = "CPU:0"
            found.append(
                Operation(
                    name=one.name,
                    type="_Arg" if is_argument else one.type,
                    inputs=tuple(Edge(names[tensor.op.name], tensor.value_index) for tensor in one.inputs),
                    controls=tuple(names[other.name] for other in one.control_inputs),
                    outputs=self._outputs(one, functions),
                    attributes=_attributes(self._pieces, definition),
                    filename=place.filename,
                    row=place.row,
                    cell=place.cell,
                    layer=place.layer,
                    device=device,
                    calls={role: called for role, called in calls.items() if called in library},
                    host_outputs=() if kernel is _NO_KERNEL or kernel is None else _on_host(one, kernel.host),
                    is_gradient=GRADIENT.search(one.name) is not None,
                )
            )
        return Function(name, tuple(found)), names

    def _outputs(self, operation: Any, functions: Mapping[str, Function]) -> tuple[Tensor, ...]:
        """Types of outputs; of a loop, without the shapes that an iteration changes."""
        found = tuple(_tensor(tensor) for tensor in operation.outputs)
        if operation.type not in LOOPS:
            return found
        body = functions.get(operation.node_def.attr["body"].func.name)
        if body is None or len(body.results) != len(found):
            return found
        results = [body.operations[edge.operation].outputs[edge.output] for edge in body.results]
        return tuple(_common(*pair) for pair in zip(found, results, strict=True))

    def _called(
        self, name: str, caller: Any, library: Mapping[str, Any], functions: dict[str, Function], prefix: str
    ) -> Function:
        inference, definition = self._inference, library[name]
        arguments = [one.name for one in definition.signature.input_arg]
        given = list(caller.inputs)
        lists = {
            argument: element
            for argument, tensor in zip(reversed(arguments), reversed(given), strict=False)
            if (element := self._element(tensor, functions)) is not None
        }
        listed = {
            argument: sizes
            for argument, tensor in zip(reversed(arguments), reversed(given), strict=False)
            if (sizes := self._sizes(tensor, functions)) is not None
        }
        try:
            body, tensors = inference.body(definition, given, caller.type, lists)
            graph = inference.imported(body, lists)
            if inference.fold(body, graph, listed):
                graph = inference.imported(body, lists)
        except ValueError:  # the shape of a loop variable changes
            body, tensors = inference.body(definition, given, caller.type)
            for node in body.node:
                if node.op == "Placeholder":
                    node.attr["shape"].shape.CopyFrom(self._pieces.shapes.TensorShape(None).as_proto())
            graph = inference.imported(body)
        inner, names = self._function(name, graph, graph.get_operations(), library, functions, prefix)
        returned = results(definition, tensors)
        edges = tuple(edge for one in returned if (edge := _edge(names, graph, one)))
        parameters = tuple(names.get(f"{one}{LIST}", names[one]) for one in arguments)
        must = tuple(names[node] for node in definition.control_ret.values() if node in names)
        return Function(name, inner.operations, parameters, edges, must)

    def _follows(self, operation: Any) -> bool:
        """Whether an operation runs on the device of a resource."""
        return any(tensor.dtype == self._pieces.dtypes.resource for tensor in operation.inputs)

    def _kernel(self, operation: Any) -> Any:
        """The GPU kernel for the operation's types; None for one that is unknown, _NO_KERNEL if there is none."""
        kind = operation.type
        if self._kernels.of(kind) is None:
            return None
        types = tuple(
            (name, _types_in(self._pieces, operation.node_def, name)) for name in self._kernels.attributes(kind)
        )
        return self._kernels.find(kind, types) or _NO_KERNEL


_NO_KERNEL = object()


@contextmanager
def _quiet() -> Iterator[None]:
    """Grappler logs, for each operation, that this build of TensorFlow has no kernels for GPUs."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def _bodies(definition: Any) -> list[Any]:
    return [definition.node, *(function.node_def for function in definition.library.function)]


def _rename_devices(definition: Any, old: str, new: str) -> None:
    """Changes the type in the names of devices of one type."""
    before = f"{HEAD}{old}:"
    for nodes in _bodies(definition):
        for node in nodes:
            if node.device.startswith(before):
                node.device = f"{HEAD}{new}:{node.device.removeprefix(before)}"


def _describe(entry: Any, tensor: Any) -> None:
    entry.name, entry.dtype = tensor.name, tensor.dtype.as_datatype_enum


def _devices(pieces: Pieces, gpus: int) -> list[Any]:
    """A host and GPUs of a recent architecture: Grappler chooses layouts and fused operations by that."""
    host = pieces.device_proto.NamedDevice(name=f"{HEAD}CPU:0")
    host.properties.type = "CPU"
    found = [host]
    for index in range(gpus):
        device = pieces.device_proto.NamedDevice(name=f"{HEAD}{_GRAPPLER}:{index}")
        device.properties.type = "GPU"
        device.properties.environment["architecture"] = "9.0"
        device.properties.environment["cuda"] = "12050"
        device.properties.environment["cudnn"] = "90300"
        found.append(device)
    return found


def _edge(names: Mapping[str, int], graph: Any, tensor: str) -> Edge | None:
    """The output that a tensor `NODE:OUTPUT` is; None if Grappler dropped the operation."""
    name, _, output = tensor.partition(":")
    index = names.get(name)
    if index is None or int(output) >= len(graph.get_operation_by_name(name).outputs):
        return None
    return Edge(index, int(output))


def _tensor(tensor: Any) -> Tensor:
    return _tensor_of(tensor.dtype, tensor.shape)


def _tensor_of(dtype: Any, shape: Any) -> Tensor:
    return Tensor(dtype.base_dtype.name, None if shape.rank is None else tuple(shape.as_list()))


def _common(first: Tensor, second: Tensor) -> Tensor:
    """The most specific type that covers two types."""
    if first.shape is None or second.shape is None or len(first.shape) != len(second.shape):
        return Tensor(first.dtype, None)
    return Tensor(first.dtype, tuple(a if a == b else None for a, b in zip(first.shape, second.shape, strict=True)))


def _types_in(pieces: Pieces, definition: Any, name: str) -> tuple[str, ...]:
    value = definition.attr.get(name)
    if value is None:
        return ()
    numbers = value.list.type if value.WhichOneof("value") == "list" else [value.type]
    return tuple(pieces.dtypes.as_dtype(number).base_dtype.name for number in numbers if number)


def _on_host(operation: Any, host: frozenset[str]) -> tuple[int, ...]:
    """Indices of the outputs that a kernel leaves in host memory."""
    found: list[int] = []
    index = 0
    definition = operation.op_def
    for argument in definition.output_arg:
        node = operation.node_def
        if argument.number_attr:
            count = node.attr[argument.number_attr].i
        elif argument.type_list_attr:
            count = len(node.attr[argument.type_list_attr].list.type)
        else:
            count = 1
        if argument.name in host:
            found += range(index, index + count)
        index += count
    return tuple(found)


def _attributes(pieces: Pieces, definition: Any) -> dict[str, Attribute]:
    """Attributes of simple type, and the value of a constant of a few integers: loops count with them, and kernels take
    dimensions from them. Functions and what starts with an underscore are left out."""
    found: dict[str, Attribute] = {}
    for key, value in definition.attr.items():
        if key.startswith("_"):
            continue
        kind = value.WhichOneof("value")
        if kind == "b":
            found[key] = value.b
        elif kind == "i":
            found[key] = value.i
        elif kind == "f":
            found[key] = value.f
        elif kind == "s":
            found[key] = value.s.decode("utf-8", "replace")
        elif kind == "tensor":
            size = pieces.shapes.TensorShape(value.tensor.tensor_shape).num_elements()
            if size > MOST_VALUES:
                continue
            constant = pieces.tensors.MakeNdarray(value.tensor)
            if constant.dtype.kind in "iu":
                found[key] = int(constant) if constant.shape == () else tuple(constant.ravel().tolist())
        elif kind == "type":
            found[key] = pieces.dtypes.as_dtype(value.type).name
        elif kind == "list":
            if value.list.i:
                found[key] = tuple(value.list.i)
            elif value.list.f:
                found[key] = tuple(value.list.f)
            elif value.list.s:
                found[key] = tuple(one.decode("utf-8", "replace") for one in value.list.s)
            elif value.list.b:
                found[key] = tuple(value.list.b)
            elif value.list.type:
                found[key] = tuple(pieces.dtypes.as_dtype(one).name for one in value.list.type)
    return found
