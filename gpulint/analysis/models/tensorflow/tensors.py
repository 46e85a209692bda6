"""Tensors: their device, dtype, rows and reduction, and what operations make of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gpulint.analysis.domain.dataset_lengths import created_rows
from gpulint.analysis.domain.path_conditions import EVERYWHERE, compatible
from gpulint.analysis.domain.symbolic import ELEMENT_READ, ROWS, is_one_row, symbol
from gpulint.analysis.domain.symbolic_patterns import are_next, is_batch, is_single
from gpulint.analysis.domain.traversal import leaves, leaves_on, rebuilt, with_elements
from gpulint.analysis.domain.values.base import (
    NONE,
    Arguments,
    Constant,
    LibraryName,
    Union,
    Unknown,
    Value,
    known,
    symbol_of,
)
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import Layer, Loss, Variable
from gpulint.analysis.domain.values.tensors import Gradient, PerReplica, Reduced, Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import (
    decoded_images,
    device_runtime,
    gradients,
    host_memory,
    host_sync,
    loss_reduction,
    model_parts,
    stateful_ops,
)
from gpulint.analysis.plan import events
from gpulint.knowledge.facts import Fact, Kind
from gpulint.places import Site
from gpulint.syntax import ir

_CONSTANT_TYPES = {
    bool: "bool",
    int: "int32",
    float: "float32",
    complex: "complex128",
    str: "string",
    bytes: "string",
}

_KEEPS_BATCH = (
    "tensorflow.cast",
    "tensorflow.clip_by_value",
    "tensorflow.convert_to_tensor",
    "tensorflow.identity",
    "tensorflow.image.",
    "tensorflow.keras.applications.",
)
"""Prefixes of the names of ops that return as many examples as they take."""


_CASTS = frozenset({"tensorflow.cast", "tensorflow.keras.ops.cast"})
_TYPED = _CASTS | {
    f"tensorflow.{name}" for name in ("constant", "convert_to_tensor", "ones", "ones_like", "zeros", "zeros_like")
}
"""Ops whose second argument is the dtype."""
_PAIRS = frozenset({"tensorflow.clip_by_global_norm"})
_TAKES_REPLICAS = frozenset({"tensorflow.print", "tensorflow.identity"})
"""Ops that accept a per-replica value as it is. The others raise ValueError (TensorFlow 2.21)."""
_SHAPES = frozenset({"tensorflow.rank", "tensorflow.shape", "tensorflow.size"})
_ON_HOST = (
    "tensorflow.strings.",
    "tensorflow.io.",
    "tensorflow.lookup.",
    "tensorflow.summary.",
    "tensorflow.audio.",
    "tensorflow.data.",
    "tensorflow.train.",
)
"""Prefixes of ops whose results are in host memory."""


def read_at(machine: Machine, value: Value, how: str, site: Site) -> None:
    """Record that the program reads the content of a value on the host."""
    if isinstance(value, Union):
        path = machine.path
        for guard, option in value.alternatives:
            if compatible(path, guard):
                machine.path = path | guard
                read_at(machine, option, how, site)
        machine.path = path
    elif isinstance(value, PerReplica):
        machine.emit(events.ReplicaValueRead(site, machine.where(), value, how))
    elif isinstance(value, Tensor):
        if not host_memory.is_in_cpu_scope(value):
            host_sync.read_tensor(machine, value, how, site)
    elif isinstance(value, Variable):
        content = Tensor(value.site, dtype=value.dtype, on_host=host_memory.is_on_host(value), state=value)
        host_sync.read_tensor(machine, content, how, site)
    elif type(value) is Unknown and model_parts.is_weight(value.symbol):
        host_sync.read_tensor(machine, Tensor(site), how, site)


def read_all_at(machine: Machine, value: Value, how: str, site: Site) -> None:
    """Record that the program prints a value, or the tensors in a list or dict. What a `tf.function` returned and is
    printed is taken for a tensor: nobody prints None."""
    read_at(machine, as_number(value), how, site)
    for leaf in leaves_on(machine.path, value) if isinstance(value, (Items, Mapping)) else ():
        content = as_number(leaf)
        if isinstance(content, (Tensor, Variable)):
            read_at(machine, content, how, site)


def dtype_of(value: Value | None) -> str | None:
    """Dtype of a value, or None where it is unknown."""
    if isinstance(value, (Tensor, Variable)):
        return value.dtype
    if isinstance(value, Constant):
        return _CONSTANT_TYPES.get(type(value.value))
    if isinstance(value, Items) and value.items:
        first = next(leaves(value), None)
        return None if isinstance(first, Items) else dtype_of(first)
    return None


def named_dtype(value: Value | None) -> str | None:
    """Dtype that `tf.int32`, `np.float64` or `"float16"` names."""
    if isinstance(value, LibraryName):
        return value.name.rpartition(".")[2].rstrip("_")
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value
    return None


def flattened(values: Iterable[Value]) -> tuple[Value, ...]:
    """Values, with lists and tuples replaced by their elements."""
    flat: list[Value] = []
    for value in values:
        if isinstance(value, Items):
            flat += value.items if value.items is not None else [value.element] if value.element else []
        else:
            flat.append(value)
    return tuple(flat)


def derived(machine: Machine, site: Site, inputs: Iterable[Value], how: str = "op") -> Value:
    """Tensor computed from these inputs. It is per-replica if one of them is, and that input is then read (`how`)."""
    context = machine.context
    scope = context.device if context.replica is None else None
    symbolic = False
    for value in inputs:
        if isinstance(value, PerReplica):
            if how:
                read_at(machine, value, how, site)
            return PerReplica(site, value.strategy, Tensor(site))
        symbolic = symbolic or (isinstance(value, Tensor) and value.symbolic)
    device = scope.device if scope is not None and scope.device is not None and scope.device.index is not None else None
    return Tensor(site, device, scope=scope.site if scope else None, symbolic=symbolic)


def call_op(machine: Machine, name: str, fact: Fact, arguments: Arguments, site: Site) -> Value:
    """Result of calling a tensor op of the library."""
    device_runtime.may_initialise(machine, fact, site)
    inputs = flattened(machine.choose(value) for value in arguments.all())
    if any(isinstance(value, Variable) for value in inputs):
        stateful_ops.note_effect(machine, "variable", name, site)
    first = inputs[0] if inputs else None
    input_dtype = dtype_of(first) if isinstance(first, (Tensor, Variable)) or name in host_memory.CREATES else None
    given = arguments.get("dtype", 1 if name in _TYPED else None)
    dtype = named_dtype(given)
    if given is None and (name in host_memory.CREATES or name in loss_reduction.KEEPS_REDUCTION):
        dtype = dtype_of(first)
    if name in _SHAPES:
        dtype = named_dtype(arguments.get("out_type", 1))
    counts = host_memory.counts_shapes(name, inputs)
    if counts and name not in host_memory.COMPARES_NUMBERS:
        dtype = "int32"
    result = derived(machine, site, inputs, "" if name in _TAKES_REPLICAS else "op")
    if not isinstance(result, Tensor):
        return result
    gradient = gradients.by_op(name, inputs) or host_sync.gradient_in(machine, inputs)
    axis = arguments.of("axis", fact.params)
    if fact.kind is not Kind.REDUCTION or _is_over_batch(axis):
        reduced = loss_reduction.reduced_by_op(name, fact, inputs, site)
    else:
        reduced = None if "keepdims" in arguments.keywords else loss_reduction.for_each_image(axis, inputs, site)
    if reduced is not None and fact.kind is Kind.REDUCTION and loss_reduction.is_over_all(axis, first):
        reduced = reduced._replace(is_number=True)
    result = Tensor(
        site,
        result.device,
        dtype,
        reduced,
        gradient,
        result.scope,
        name in _SHAPES or _all_shapes(name, inputs),
        on_host=dtype == "string"
        or counts
        or name.startswith(_ON_HOST)
        or (machine.context.traced is None and host_memory.of_host_values(name, inputs)),
        symbolic=result.symbolic,
        scaled=any(isinstance(value, Tensor) and value.scaled for value in inputs),
        single=_has_one_row(name, fact, arguments),
        of_weights=loss_reduction.is_of_weights(inputs),
        state=gradients.state_by_op(name, inputs),
        masks=_masks(name, inputs),
        rows=_rows(name, fact, arguments),
    )
    result.decoded = decoded_images.decoded_in(machine.context, name, arguments.all())
    result.length = created_rows(name, arguments, fact.params)
    result.layer, result.squashed = _layer_behind(name, first)
    packed = machine.choose(arguments.get(fact.params[0] if fact.params else "", 0) or NONE)
    listed = packed if isinstance(packed, Items) else None
    machine.emit(events.OpCalled(site, machine.where(), name, inputs, result, input_dtype, listed))
    if name in _PAIRS and arguments.positional:
        return Items("tuple", (arguments.positional[0], Tensor(site)))
    return result


def _layer_behind(name: str, given: Value | None) -> tuple[Layer | None, bool]:
    """Layer whose output an op squashes, or passes on after it was squashed.

    A cast of logits to float32 comes in time: what is squashed afterwards is so in float32.
    """
    layer = given.layer if isinstance(given, Tensor) else None
    if not isinstance(given, Tensor) or layer is None:
        return None, False
    if name.startswith("tensorflow.") and name.rpartition(".")[2] in SQUASHES:
        return layer, True
    is_squashed = given.squashed or ObjectFact.SQUASHES in layer.facts
    return (layer, True) if name in loss_reduction.KEEPS_REDUCTION and is_squashed else (None, False)


SQUASHES = frozenset({"sigmoid", "softmax"})
"""Activations whose results float16 cannot hold where they are near 0 or 1."""


def _masks(name: str, inputs: tuple[Value, ...]) -> bool:
    """Whether the result of an op or operator is boolean, or consists of zeros and ones."""
    are = [isinstance(value, Tensor) and value.masks for value in inputs]
    if name == "operator.-":
        return len(are) == 2 and are[1] and known(inputs[0]) == 1
    if name in _KEEPS_TRUTHS:
        return are[:1] == [True]
    if gradients.SCALES.get(name, name) in _JOINS_TRUTHS:
        return bool(are) and all(are)
    return name.startswith("tensorflow.") and name.rpartition(".")[2] in _COMPARES


_COMPARES = frozenset(
    {"equal", "greater", "greater_equal", "is_finite", "is_inf", "is_nan", "isclose", "isfinite", "isinf", "isnan"}
    | {"less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "sequence_mask"}
)
"""Elementwise predicates."""

_KEEPS_TRUTHS = frozenset(
    {
        "tensorflow.cast",
        "tensorflow.expand_dims",
        "tensorflow.identity",
        "tensorflow.reshape",
        "tensorflow.squeeze",
        "tensorflow.stop_gradient",
        "tensorflow.keras.ops.cast",
        "tensorflow.keras.ops.expand_dims",
        "operator.~",
    }
)
_JOINS_TRUTHS = frozenset({"operator.*", "operator.&", "operator.|"})


def _rows(name: str, fact: Fact, arguments: Arguments) -> bool | None:
    """Whether the result of an op has several examples, None where that is unknown."""
    if name.startswith(_DRAWS):
        shape = arguments.of("shape", fact.params)
        sizes = shape.items if isinstance(shape, Items) else None
        return len(sizes) > 1 and known(sizes[0]) != 1 if sizes is not None else None
    if name in _FILLS:
        return False
    given = arguments.get(fact.params[0] if fact.params else "", 0)
    return is_batch(given) if given is not None and name.startswith((*host_memory.CREATES, *_KEEPS_BATCH)) else None


_DRAWS = ("tensorflow.random.", "tensorflow.keras.random.")
_FILLS = frozenset({"tensorflow.fill", "tensorflow.ones", "tensorflow.zeros"})


def _joined_rows(inputs: tuple[Value, ...]) -> bool | None:
    """Whether the result of an elementwise computation has several examples: true if one of the inputs has."""
    found = [is_batch(value) for value in inputs]
    return True if True in found else None if None in found or not found else False


def _has_one_row(name: str, fact: Fact, arguments: Arguments) -> bool:
    """Whether the result of an op is a batch of one example."""
    given = arguments.get(fact.params[0] if fact.params else "", 0)
    if name in _PACKS and isinstance(given, Items):
        parts, axis = given.items or (), known(arguments.of("axis", fact.params))
        return len(parts) == 1 and not isinstance(parts[0], Constant) and axis in (..., 0)
    if name == "tensorflow.reshape":
        shape = arguments.of("shape", fact.params)
        sizes = shape.items if isinstance(shape, Items) else None
        is_one = sizes is not None and len(sizes) > 1 and known(sizes[0]) == 1
        return is_one or decoded_images.becomes_one_row(given, sizes or ())
    if name == "tensorflow.expand_dims":
        return known(arguments.of("axis", fact.params)) == 0
    return name.startswith(_KEEPS_BATCH) and given is not None and is_single(given)


_PACKS = frozenset(
    {"tensorflow.constant", "tensorflow.convert_to_tensor", "tensorflow.ragged.constant", "tensorflow.stack"}
)
"""Ops that pack a list into one tensor with a new leading axis."""


def _is_over_batch(axis: Value | None) -> bool:
    """Whether a reduction with this `axis` includes the batch axis: all axes, or the first."""
    if isinstance(axis, Items) and axis.items is not None:
        return any(isinstance(item, Constant) and item.value == 0 for item in axis.items)
    return axis is None or (isinstance(axis, Constant) and (axis.value is None or axis.value == 0))


def _all_shapes(name: str, inputs: tuple[Value, ...]) -> bool:
    return (
        name in loss_reduction.KEEPS_REDUCTION and bool(inputs) and isinstance(inputs[0], Tensor) and inputs[0].shape_of
    )


def call_loss(machine: Machine, receiver: Loss, arguments: Arguments, site: Site) -> Value:
    """Result of `loss_object(y_true, y_pred)`. By default Keras 3 divides by the number of replicas itself."""
    result = derived(machine, site, arguments.all())
    if not isinstance(result, Tensor):
        return result
    how = {
        "": "default",
        "sum_over_batch_size": "scaled",
        "auto": "scaled",
        "sum": "sum",
        "mean": "mean",
        "none": "none",
    }.get(receiver.reduction or "")
    if receiver.reduction is None or (arguments.get("sample_weight", 2) is not None and how == "sum"):
        how = None
    reduced = Reduced(how, site, is_number=how != "none") if how else None
    return Tensor(site, result.device, None, reduced, scope=result.scope)


GIVEN = "given by a function"
"""Head of the symbol of an unknown result of a `tf.function`."""


def result_of_traced(value: Value, site: Site, passed: Iterable[Value] = ()) -> Value:
    """Result of a `tf.function` in eager code.

    An unknown result is a tensor, None, or a structure of those, unless it may be in host memory. Data that the
    function takes from an iterator is. Arguments (`passed`) that it returns unchanged in a tuple or a dict may be.
    """
    kept = {symbol_of(leaf) for one in passed for leaf in leaves_on(EVERYWHERE, one)}

    def change(one: Value) -> Value:
        return one if type(one) is Unknown and one.symbol in kept else _given(one, site)

    if isinstance(value, Union):
        return Union(tuple((guard, result_of_traced(option, site, passed)) for guard, option in value.alternatives))
    if not any(type(leaf) is Unknown for leaf in leaves_on(EVERYWHERE, value)):
        return value
    if isinstance(value, (Items, Mapping)):
        return rebuilt(value, change, partial(with_elements, name=(GIVEN, site, symbol_of(value))), (Items, Mapping))
    return _given(value, site)


def _given(value: Value, site: Site) -> Value:
    if type(value) is Unknown and _NEXT.isdisjoint(value.symbol.words):
        return Unknown((GIVEN, site, value.symbol))
    return value


_NEXT = frozenset({"get_next", "get_next_as_optional", "next"})
"""Words in the symbols of results of iterators."""


def as_number(value: Value) -> Value:
    """Tensor that a value used as a number is if a `tf.function` returned it. Other values are returned unchanged."""
    if type(value) is not Unknown:
        return value
    name = value.symbol
    while name.parts[0] == "item":
        name = symbol(name.parts[1])
    return Tensor(name.parts[1], compiled=True) if name.parts[0] == GIVEN else value


def beside_number(value: Value, other: Value) -> Value:
    """Operand of a comparison or computation. It is taken for a number (`as_number`) if the other operand is one."""
    is_number = isinstance(other, (Tensor, Variable)) or type(known(other)) in (int, float)
    return as_number(value) if is_number or host_sync.is_known_host(other) else value


def is_computed(left: Value, right: Value) -> bool:
    """Whether the result of an operator on two values is a tensor, or a number of a shape.

    The result of Python arithmetic with such a number and an unknown value is unknown.
    """
    sides = (left, right)
    return any(map(host_memory.is_tensor, sides)) or (
        any(isinstance(side, Tensor) for side in sides) and all(isinstance(side, (Constant, Tensor)) for side in sides)
    )


def loss_function(machine: Machine, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of `keras.losses.name(y_true, y_pred)`: one number per example."""
    given = arguments.all()
    result = derived(machine, site, given)
    if (
        isinstance(result, Tensor)
        and name not in _OF_WHOLE_BATCH
        and not loss_reduction.is_of_weights(flattened(given))
    ):
        result.reduced = Reduced("none", site)
    return result


_OF_WHOLE_BATCH = frozenset({"tensorflow.keras.losses.dice", "tensorflow.keras.losses.tversky"})
"""Functions that return one number for the whole batch (run on Keras 3.15)."""


def apply_operator(machine: Machine, name: str, operands: tuple[Value, ...], node: ir.Node) -> Value:
    """Result of an operator with a tensor among its operands."""
    site = machine.site(node)
    result = derived(machine, site, operands, "arithmetic")
    if not isinstance(result, Tensor):
        return result
    dtype = next(
        (found for value in operands if isinstance(value, (Tensor, Variable)) and (found := value.dtype)),
        None,
    )
    counts = host_memory.counts_shapes(name, operands)
    result = Tensor(
        site,
        result.device,
        "int32" if counts else dtype,
        loss_reduction.reduced_by_operator(name, operands, site),
        gradients.by_operator(name, operands),
        result.scope,
        all(isinstance(value, Constant) or (isinstance(value, Tensor) and value.shape_of) for value in operands),
        symbolic=result.symbolic,
        scaled=any(isinstance(value, Tensor) and value.scaled for value in operands),
        single=any(isinstance(value, Tensor) and value.single for value in operands),
        on_host=counts
        or (
            dtype == "int32"
            and all(host_memory.is_on_host(value) for value in operands if isinstance(value, (Tensor, Variable)))
        ),
        of_weights=loss_reduction.is_of_weights(operands),
        state=gradients.state_by_op(name, operands),
        static=not any(host_memory.is_tensor(value) for value in operands),
        masks=_masks(name, operands),
        rows=_joined_rows(operands),
    )
    result.decoded = decoded_images.decoded_in(machine.context, name, operands)
    if not result.static:
        machine.emit(events.OpCalled(site, machine.where(), name, operands, result, dtype))
    return result


def compared(site: Site, left: Value, right: Value) -> Tensor:
    """Result of comparing a tensor with a value.

    It is in host memory if both operands are, or if none is certainly a tensor (a number of a shape is not).
    """
    sides = [side for side in (left, right) if not isinstance(side, Constant)]
    known = [side for side in sides if isinstance(side, (Tensor, Variable))]
    return Tensor(
        site,
        shape_of=bool(known) and all(isinstance(side, Tensor) and side.shape_of for side in known),
        on_host=any(
            host_memory.is_on_host(side) if isinstance(side, Variable) else host_memory.is_in_cpu_scope(side)
            for side in known
        )
        or not any(host_memory.is_tensor(side) for side in sides)
        or host_memory.counts_shapes("tensorflow.equal", (left, right))
        or (len(known) == len(sides) and all(_is_shape(side) or host_memory.is_on_host(side) for side in known)),
        state=gradients.state_of(known[0]) if len(known) == len(sides) == 1 else None,
        masks=True,
    )


def _is_shape(value: Value) -> bool:
    return isinstance(value, Tensor) and value.shape_of


def as_data(value: Value) -> Value:
    """Element that a generator of the program yields to a loop. Its tensors are batches, as those of a dataset are."""

    def change(one: Value) -> Value:
        if isinstance(one, Tensor) and not one.from_data and one.gradient is None:
            return Tensor(one.site, one.device, one.dtype, one.reduced, scope=one.scope, from_data=True)
        return one

    return rebuilt(value, change, lambda items, parts: Items(items.kind, parts, None, items.symbol))


def element_of(machine: Machine, dataset: Dataset, node: ir.Node) -> Value:
    """Element that iterating over a dataset gives."""
    site = machine.site(node)
    if dataset.distributed is not None and dataset.distributed.is_multi_replica:
        return PerReplica(site, dataset.distributed, Tensor(site), from_data=True)
    return dataset.element if dataset.element is not None else Tensor(site, from_data=True)


def item(machine: Machine, tensor: Tensor, key: Value, node: ir.Node) -> Tensor:
    """Result of `tensor[key]`."""
    picked = _piece(tensor, machine.site(node), tensor.gradient, _adds_axis(key), _are_next_rows(key) or None)
    picked.decoded = tensor.decoded if picked.single else None
    picked.on_host = tensor.on_host and tensor.dtype == "int32"
    if tensor.reduced is not None and tensor.reduced.how in ("none", "image") and type(known(key)) is int:
        picked.reduced = tensor.reduced._replace(is_number=True)
    return picked


def _piece(
    tensor: Tensor, site: Site, gradient: Gradient | None = None, single: bool = False, rows: bool | None = None
) -> Tensor:
    """A part of a tensor, on the same device and of the same origin."""
    return Tensor(
        site,
        tensor.device,
        tensor.dtype,
        gradient=gradient,
        shape_of=tensor.shape_of,
        static=tensor.static,
        from_data=tensor.from_data,
        on_host=tensor.on_host,
        single=single,
        rows=rows,
    )


def _adds_axis(key: Value) -> bool:
    """Whether an index selects one row and keeps an axis for it: `x[None]`, `x[np.newaxis, …]`, `x[:1, :]`."""
    first = key.items[0] if isinstance(key, Items) and key.items else key
    if type(first) is Unknown and first.symbol.parts[0] == ROWS:
        return is_one_row(*first.symbol.parts[2:])
    if isinstance(first, LibraryName):
        return first.name.endswith(".newaxis")
    return isinstance(first, Constant) and first.value is None


def _are_next_rows(key: Value) -> bool:
    """Whether an index selects several rows by the present iteration of a loop: `x[i : i + 32, :]`."""
    first = key.items[0] if isinstance(key, Items) and key.items else key
    return type(first) is Unknown and first.symbol.parts[0] == ROWS and are_next(*first.symbol.parts[2:])


def part(machine: Machine, tensor: Tensor, bounds: tuple[Value, ...], node: ir.Node) -> Tensor:
    """Result of `tensor[lower:upper:step]`."""
    names = [symbol_of(bound) for bound in bounds]
    return _piece(tensor, machine.site(node), single=is_one_row(*names), rows=are_next(*names) or None)


def unpacked(tensor: Tensor, site: Site) -> Tensor:
    """One part of a tensor that is assigned to several targets."""
    return _piece(tensor, site, tensor.gradient)


def row(machine: Machine, tensor: Tensor, node: ir.Node) -> Tensor:
    """Element of a loop over a tensor."""
    return _piece(tensor, machine.site(node))


def tensor_method(machine: Machine, receiver: Tensor | PerReplica, name: str, site: Site) -> Value:
    """Result of `tensor.method(…)`."""
    if isinstance(receiver, PerReplica):
        if name in ("numpy", "item", "tolist"):
            read_at(machine, receiver, "numpy", site)
        return Unknown(("call", ("attribute", symbol_of(receiver), name)))
    if name in ("numpy", "item", "tolist"):
        read_at(machine, receiver, "numpy", site)
        return host_sync.host_value(site, "numpy") if not receiver.from_data else Unknown((ELEMENT_READ, site))
    return Unknown(("call", ("attribute", symbol_of(receiver), name)))
