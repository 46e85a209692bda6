"""Bytes of an example whose shape the program writes out: arrays of NumPy, datasets of Keras, folders of images."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import Arguments, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset

_WIDTHS = {
    **dict.fromkeys(("bool", "bool_", "int8", "uint8"), 1),
    **dict.fromkeys(("float16", "int16", "uint16"), 2),
    **dict.fromkeys(("float32", "int32", "uint32"), 4),
    **dict.fromkeys(("float64", "int64", "uint64"), 8),
}

_FILLED = frozenset({"empty", "full", "ones", "zeros"})
_DRAWN = frozenset({"normal", "rand", "randint", "randn", "random", "random_sample", "standard_normal", "uniform"})

_OF_KERAS = {
    "cifar10": 32 * 32 * 3,
    "cifar100": 32 * 32 * 3,
    "fashion_mnist": 28 * 28,
    "mnist": 28 * 28,
}
"""Datasets of Keras → bytes of an image; a label has one."""

_CHANNELS = {"grayscale": 1, "rgb": 3, "rgba": 4}

_KEEPING = frozenset({"cache", "prefetch", "repeat", "shard", "shuffle", "skip", "take", "with_options"})
"""Methods of a dataset that change no element."""


def element_bytes(dataset: Dataset) -> int | None:
    """Bytes of an element before it is batched; None if they are unknown. Labels of folders of images are left out."""
    changing = [step.name for step in dataset.steps if step.name not in _KEEPING]
    own = dataset.source.rpartition(".")[2]
    if own == "image_dataset_from_directory" and not changing:  # its elements are batches
        return _image(dataset.arguments)
    if own != "from_tensor_slices" or changing not in ([], ["batch"]) or len(dataset.arguments.positional) != 1:
        return None
    return _rows(dataset.arguments.positional)


def example_bytes(arguments: Arguments) -> int | None:
    """Bytes of an example of the arrays that `fit` is given, in which Keras turns real numbers into float32; None if
    they are unknown."""
    given = [one for one in (arguments.get("x", 0), arguments.get("y", 1)) if one is not None]
    return _rows(given, most=4) if given and not arguments.open else None


def _image(arguments: Arguments) -> int | None:
    size, mode = arguments.get("image_size"), arguments.get("color_mode")
    channels = _CHANNELS.get(str(known(mode)) if mode is not None else "rgb")
    sides = [known(one) for one in size.items or ()] if isinstance(size, Items) else [256, 256] if size is None else []
    if channels is None or len(sides) != 2 or arguments.open:
        return None
    height, width = sides
    return height * width * channels * 4 if isinstance(height, int) and isinstance(width, int) else None


def _rows(values: Iterable[Value], most: int = 8, depth: int = 2) -> int | None:
    """Bytes of one row of each array, also of those in `depth` levels of tuples and dicts. `most`: maximum number of
    bytes of a real number."""
    total = 0
    for one in values:
        inner: Iterable[Value] | None = None
        if isinstance(one, Items):
            inner = one.items
        elif isinstance(one, Mapping) and one.is_complete:
            inner = one.entries.values()
        if inner is not None and not depth:
            return None
        found = _row(symbol_of(one), most) if inner is None else _rows(inner, most, depth - 1)
        if found is None:
            return None
        total += found
    return total


def _row(name: Symbol, most: int) -> int | None:
    array = _array(name)
    if array is None:
        return None
    elements, dtype = array
    return elements * min(_WIDTHS[dtype], most if dtype.startswith("float") else 8)


def _array(name: Symbol) -> tuple[int, str] | None:
    """Number of elements in a row of an array, and their dtype."""
    parts = name.parts
    if parts[:1] == ("binary",) and len(parts) == 4:
        return _computed(symbol(parts[1]) if isinstance(parts[1], Symbol) else parts[1], symbol(parts[2]), parts[3])
    if parts[:1] == ("item",):
        return _loaded(name)
    if parts[:1] != ("call",) or len(parts) != 3 or not isinstance(parts[2], tuple):
        return None
    function, given = symbol(parts[1]), [symbol(one) for one in parts[2]]
    if function.parts[:1] == ("attribute",) and function.parts[2:] == ("astype",) and given:
        array, dtype = _array(symbol(function.parts[1])), _dtype(given[:1])
        return (array[0], dtype) if array is not None and dtype else None
    called = str(function.parts[1]) if function.parts[:1] == ("external",) else ""
    return _created_array(called, given) if called.startswith("numpy.") else None


def _computed(operator: object, left: Symbol, right: object) -> tuple[int, str] | None:
    """Number of elements in a row of an array that is computed with a constant, and their dtype. Quotients of integers
    are float64."""
    array = _array(left)
    if array is None or symbol(right).parts[:1] != ("constant",):
        return None
    elements, dtype = array
    is_real = dtype.startswith("float") or (operator != "/" and symbol(right).parts[1:2] != ("float",))
    return elements, dtype if is_real else "float64"


def _loaded(name: Symbol) -> tuple[int, str] | None:
    """Images or labels of a dataset of Keras: `(x, y), _ = load_data()`."""
    outer = symbol(name.parts[1])
    if outer.parts[:1] != ("item",) or name.parts[2] not in (0, 1):
        return None
    call = symbol(outer.parts[1])
    function = symbol(call.parts[1]).parts[1:2] if call.parts[:1] == ("call",) else ()
    words = str(function[0]).split(".") if function else []
    if words[-1:] != ["load_data"] or words[:2] != ["tensorflow", "keras"] or words[-2] not in _OF_KERAS:
        return None
    return (_OF_KERAS[words[-2]] if name.parts[2] == 0 else 1), "uint8"


def _created_array(called: str, given: Sequence[Symbol]) -> tuple[int, str] | None:
    """An array that NumPy fills or draws, with a shape of constants. Its first dimension counts the rows."""
    own = called.rpartition(".")[2]
    is_drawn = called == f"numpy.random.{own}" and own in _DRAWN
    if not is_drawn and not (called == f"numpy.{own}" and own in _FILLED):
        return None
    tuples = [one.parts[1] for one in given if one.parts[:1] == ("tuple",)]
    sizes = given if own in ("rand", "randn") else tuples[0] if len(tuples) == 1 else ()
    shape = [symbol(one).parts for one in sizes]
    if not shape or any(one[:2] != ("constant", "int") for one in shape[1:]):
        return None
    dtype = _dtype(given) or ("int64" if own == "randint" else "float64")
    return math.prod(one[2] for one in shape[1:]), dtype


def _dtype(given: Sequence[Symbol]) -> str:
    """The dtype among the arguments of a function, "" if there is none."""
    named = (str(one.parts[-1]).rpartition(".")[2] for one in given if one.parts[:1] in (("constant",), ("external",)))
    return next((one for one in named if one in _WIDTHS), "")
