"""Arguments of a training step with an open batch dimension, so that one trace serves all batch sizes."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpulint.estimate.agent.pieces import Pieces

Shapes = Mapping[str, "tuple[int | None, ...]"]
"""Name of an argument, or of an element of a dataset by its position such as `0`, → the shape that the user gave."""


_COMPOSITES = ("RaggedTensorSpec", "SparseTensorSpec", "IndexedSlicesSpec")


class Unknown(Exception):
    """The batch size cannot be found. The message is what is left open."""


class Empty(Exception):
    """The data has no examples. The message says what lacks them."""


def batch_of(pieces: Pieces, arguments: Any, may_take: bool = True) -> int | None:
    """The leading dimension of the largest tensors among arguments. Takes one element of an iterator if its type
    leaves that open and if it may. 0 if it is 0 in all of them, None if nothing has such a dimension."""
    sizes: Counter[int] = Counter()
    is_empty = False
    for value in _leaves(arguments):
        if is_iterator(value):
            specs = [one for one in _leaves(value.element_spec) if hasattr(one, "shape")]
            leading = {one.shape[0] for one in specs if one.shape.rank}
            is_open = None in leading or not leading
            elements = _leaves(_first(pieces, value)) if is_open and may_take else iter(specs)
        else:
            elements = iter([value])
        for element in elements:
            shape = _shape(element)
            if shape and shape[0]:
                sizes[shape[0]] += max(1, _product(shape))
            is_empty = is_empty or shape[:1] == (0,)
    return sizes.most_common(1)[0][0] if sizes else 0 if is_empty else None


def parameters(python: Any, arguments: Sequence[Any]) -> list[str]:
    """Names of positional arguments: of the function's parameters, or their positions where it does not tell."""
    try:
        found = list(inspect.signature(python).parameters.values())
    except (TypeError, ValueError):
        found = []
    names = [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if names[:1] == ["self"] and len(names) > len(arguments):
        del names[0]
    return [*names[: len(arguments)], *(str(index) for index in range(len(names), len(arguments)))]


def tensors_in(value: Any, name: str = "") -> Iterator[str]:
    """Names of the tensors in an argument, or in an element of a dataset, in TensorFlow's order: the key or position of
    each in the innermost structure, else the argument's `name`."""
    if is_iterator(value):
        yield from tensors_in(value.element_spec, name)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from tensors_in(value[key], str(key))
    elif isinstance(value, (list, tuple)):
        keys = getattr(value, "_fields", None) or range(len(value))
        for key, one in zip(keys, value, strict=True):
            yield from tensors_in(one, str(key))
    elif type(value).__name__ in ("PerReplica", "PerReplicaSpec"):
        yield from tensors_in(next(_leaves(value), None), name)
    elif hasattr(value, "shape"):
        yield name


def opened(
    pieces: Pieces, arguments: Any, batch: int | None, given: Shapes, size: int | None = None, name: str = ""
) -> Any:
    """The arguments as types whose leading dimension, where it is the batch, is `size`, open by default. `name`: that
    of the only argument."""
    tf = pieces.tensorflow

    def spec(shape: Any, dtype: Any, name: str) -> Any:
        sizes = None if shape is None else list(shape)
        if sizes and (batch is None or sizes[0] in (batch, None)):
            sizes[0] = size
        if name in given and sizes is not None and len(given[name]) == len(sizes):
            sizes = [
                sizes[0],
                *(new if old is None else old for old, new in zip(sizes[1:], given[name][1:], strict=True)),
            ]
        return tf.TensorSpec(sizes, dtype)

    def change(value: Any, name: str) -> Any:
        if is_iterator(value):
            return _opened_iterator(value, lambda one, at: change(one, at))
        if isinstance(value, tf.TensorSpec):
            return spec(None if value.shape.rank is None else value.shape.as_list(), value.dtype, name)
        if isinstance(value, tf.Tensor) or type(value).__module__ == "numpy":
            shape = getattr(value, "shape", None)
            if shape is None:
                return value
            rank = getattr(shape, "rank", len(shape))
            return spec(None if rank is None else list(shape), getattr(value, "dtype", None), name)
        if type(value).__name__ in ("PerReplica", "PerReplicaSpec"):
            return _opened_replicas(pieces, value, lambda one: change(one, name))
        return value

    return _mapped(arguments, change, name)


def parts(pieces: Pieces, concrete: Any) -> set[str]:
    """Placeholders of the parts of ragged and sparse arguments, such as the values of all rows and where rows end.
    Their leading dimension is no batch, and differs from one step to the next."""
    nest = pieces.tensorflow.nest
    captured = {id(placeholder) for _, placeholder in concrete.graph.captures}
    names = [tensor.op.name for tensor in concrete.graph.inputs if id(tensor) not in captured]
    types = [one for one in nest.flatten(concrete.structured_input_signature) if hasattr(one, "value_type")]
    components = [nest.flatten(one, expand_composites=True) for one in types]
    if sum(map(len, components)) != len(names):
        return set()
    rest, found = iter(names), set()
    for one, component in zip(types, components, strict=True):
        own = [next(rest) for _ in component]
        if type(one).__name__ in _COMPOSITES:
            found |= set(own)
    return found


def is_iterator(value: Any) -> bool:
    """Whether a value is a dataset or iterates over one, distributed or not."""
    kinds = {base.__name__ for base in type(value).__mro__}
    return bool(kinds & {"OwnedIterator", "DistributedIterator", "DatasetV2", "DistributedDataset"})


def _mapped(value: Any, change: Any, name: str = "") -> Any:
    """A structure of lists, tuples and dicts with its leaves changed; `name` is the key or position of a leaf."""
    if isinstance(value, dict):
        return type(value)({key: _mapped(one, change, str(key)) for key, one in value.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(one, change, key) for key, one in zip(value._fields, value, strict=True)))
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(one, change, str(index)) for index, one in enumerate(value))
    return change(value, name)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one)
    elif type(value).__name__ in ("PerReplica", "PerReplicaSpec"):
        yield from _leaves(list(getattr(value, "values", None) or value._value_specs)[:1])
    else:
        yield value


def _shape(value: Any) -> tuple[int | None, ...]:
    shape = getattr(value, "shape", None)
    if shape is None or getattr(shape, "rank", 0) is None:
        return ()
    try:
        return tuple(shape)
    except TypeError:
        return ()


def _product(shape: tuple[int | None, ...]) -> int:
    result = 1
    for size in shape:
        result *= size or 1
    return result


def _first(pieces: Pieces, iterator: Any) -> Any:
    """An element of an iterator that the step would have read; no step runs, so it is not missed."""
    try:
        return next(iter(iterator))
    except (StopIteration, pieces.tensorflow.errors.OutOfRangeError):
        raise Empty("its dataset has no elements") from None


def _opened_iterator(iterator: Any, change: Any) -> Any:
    """The type of a dataset or iterator with elements whose batch is open; itself if it is open already."""
    element = _mapped(iterator.element_spec, change)
    if element == iterator.element_spec or type(iterator).__name__ == "DistributedDataset":
        return iterator
    old = iterator._type_spec
    if type(iterator).__name__ != "DistributedIterator":
        return type(old)(element)
    return type(old)(
        old._input_workers,
        element,
        old._strategy,
        old._options,
        cardinality=old._cardinality,
        enable_get_next_as_optional=old._enable_get_next_as_optional,
    )


def _opened_replicas(pieces: Pieces, value: Any, change: Any) -> Any:
    specs = getattr(value, "_value_specs", None) or list(value.values)
    return pieces.values.PerReplicaSpec(*(change(one) for one in specs))
