"""Arrays in host memory, read off their symbols: their size, and whether they hold images or a file."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from gpulint.analysis.domain.symbolic import ROWS, Symbol, symbol
from gpulint.knowledge.watched import IMAGE_READERS

MASK = "mask"
"""First part of the symbol of a comparison of arrays that chooses rows."""

SMALL_IMAGE = 64 * 64
"""Number of pixels up to which an image is small."""


class HostArray(NamedTuple):
    """An array in host memory.

    `size` is in bytes, None if it is unknown; fractional numbers count as float32, as which Keras passes them on.
    `holds`: "numbers", "images" (read one by one) or "file" (an array that a file contains).
    """

    size: int | None
    holds: str


@lru_cache(maxsize=8192)
def host_array(name: Symbol) -> HostArray | None:
    """The array that a symbol names, also behind arithmetic, casts, splits and shuffles. None if it is no array, one
    row or a few rows of one, or an array of small images."""
    head = _head(name)
    if len(name.parts) < _PARTS.get(head, 0):
        return None
    if head == "binary":
        return host_array(symbol(name.parts[2])) or host_array(symbol(name.parts[3]))
    if head == "updated":
        return host_array(symbol(name.parts[1]))
    if head == "slice":
        return _of_rows(name)
    if head == "item":
        return _of_item(symbol(name.parts[1]), name.parts[2])
    if head == "dict":
        copied = symbol(name.parts[1])
        return host_array(copied) if _source(copied) in _FILES else None
    return _of_call(name) if head == "call" else None


_PARTS = {"binary": 4, "updated": 2, "slice": 4, "item": 3, "call": 3, "dict": 2}
"""Number of parts of the symbols that are looked into, by their heads."""


def rows_of(name: Symbol) -> Symbol | None:
    """Number of rows of an array that is created with a shape, as `np.zeros((n, 4))`; None for any other value."""
    called, given = _called(name)
    if not given or called not in {f"numpy.{one}" for one in _FILLED}:
        return None
    sizes = _elements(symbol(given[0]))
    return symbol(sizes[0] if sizes else given[0])


@lru_cache(maxsize=8192)
def is_column(name: Symbol) -> bool:
    """Whether an array has one number in each row: it is reshaped or created so, or computed from such columns."""
    if _head(name) == "binary" and len(name.parts) == _PARTS["binary"]:
        return any(is_column(symbol(side)) for side in name.parts[2:])
    called, given = _called(name)
    own = called.rpartition(".")[2]
    if own in ("reshape", *_FILLED):
        shape = given[1:] if called == "numpy.reshape" else given
        sizes = (_elements(symbol(shape[0])) if shape else None) or (shape if own == "reshape" else ())
        return len(sizes) == 2 and symbol(sizes[1]).parts == ("constant", "int", 1)
    if called in ("numpy.concatenate", "numpy.vstack"):
        axis = symbol(given[1]).parts if given[1:] else ("constant", "int", 0)
        parts = (_elements(symbol(given[0])) if given else None) or ()
        return axis == ("constant", "int", 0) and any(is_column(symbol(one)) for one in parts)
    if called == ".astype":
        return is_column(symbol(symbol(name.parts[1]).parts[1]))
    return False


def written_rows(name: Symbol) -> int | None:
    """Number of rows of an array that is created from a list that is spelled out; None for any other value."""
    called, given = _called(name)
    rows = _elements(symbol(given[0])) if given and called in ("numpy.array", "numpy.asarray") else None
    return len(rows) if rows else None


def images_in(name: Symbol) -> HostArray | None:
    """The image that a symbol names, in float32; None if it is small, or none that is read from a file or taken from a
    dataset of Keras."""
    pixels: list[int] = []
    is_image, count, channels = False, None, 3
    for called, given in _calls(name):
        if called.startswith(IMAGE_READERS):
            is_image = True
        if called in _DATASETS:
            is_image = True
            count, channels = _DATASETS[called]
        if called.rpartition(".")[2] in _RESIZES:
            pixels += filter(None, map(_area, given))
    if not is_image or (pixels and min(pixels) <= SMALL_IMAGE) or (count and not pixels):
        return None
    return HostArray(count * min(pixels) * channels * 4 if count else None, "images")


def is_training_data(name: Symbol) -> bool:
    """Whether a symbol is an array of many examples: of a file, of images, of 1 MiB or more, or of a dataset of
    Keras."""
    array = host_array(name)
    return array.size is None or array.size >= MANY if array is not None else _is_of_keras(name)


def _is_of_keras(name: Symbol) -> bool:
    """Whether a symbol is an array of a dataset of Keras, also behind arithmetic and casts."""
    while len(name.parts) >= _PARTS.get(_head(name), sys.maxsize):
        head, part = _head(name), name.parts[1]
        if head == "binary":
            part = name.parts[2]
        elif head == "call":
            called, given = _called(name)
            if called.startswith("tensorflow.keras.datasets."):
                return called.endswith(".load_data")
            if called.rpartition(".")[2] not in _KEEPING or not (given or called.startswith(".")):
                return False
            part = symbol(part).parts[1] if called.startswith(".") else given[0]
        elif head != "item":
            return False
        name = symbol(part)
    return False


MANY = 2**20
"""Size in bytes from which an array counts as that of many examples."""


_DATASETS = {
    "tensorflow.keras.datasets.cifar10.load_data": (50_000, 3),
    "tensorflow.keras.datasets.cifar100.load_data": (50_000, 3),
    "tensorflow.keras.datasets.fashion_mnist.load_data": (60_000, 1),
    "tensorflow.keras.datasets.mnist.load_data": (60_000, 1),
}
"""Keras datasets of small images → number of images for training, and of their channels."""

_RESIZES = frozenset({"load_img", "resize", "smart_resize", "thumbnail"})
"""Functions and methods one of whose arguments is the size of the image that they return."""

_FILLED = frozenset({"empty", "full", "ndarray", "ones", "zeros"})
_DRAWN = frozenset({"normal", "rand", "randint", "randn", "random", "random_sample", "standard_normal", "uniform"})

_KEEPING = frozenset(
    {
        *("array", "asarray", "ascontiguousarray", "astype", "clip", "concatenate", "copy", "expand_dims", "flip"),
        *("float16", "float32", "hstack", "moveaxis", "nan_to_num", "normalize", "preprocess_input", "reshape"),
        *("pad", "repeat", "squeeze", "stack", "swapaxes", "tile", "transpose", "uint8", "vstack"),
    }
)
"""Functions of NumPy, and methods of arrays, that return all numbers of their argument, possibly several times."""

_HOLD_SEVERAL = frozenset({"joblib.load", "pickle.load", "pickle.loads"})
"""Functions that return any object from a file: an array, or a tuple, list or dict of arrays."""

_FILES = _HOLD_SEVERAL | {"h5py.File", "numpy.load", "scipy.io.loadmat"}
"""Functions that return an array from a file, or the arrays in it by their names."""

_OF_KERAS = frozenset({"normalize", "preprocess_input"})
"""Functions of Keras among them."""

_PERMUTING = frozenset({"argsort", "permutation", "sample", "shuffle", "split"})
"""Words in the index that takes many rows of an array."""


def _of_rows(name: Symbol) -> HostArray | None:
    """Rows of an array from one bound to another. With constant bounds they may be a few."""
    array, stop = host_array(symbol(name.parts[1])), symbol(name.parts[3])
    is_sample = (
        stop.parts[:1] == ("constant",) and len(stop.parts) == 3 and type(stop.parts[2]) is int and stop.parts[2] >= 0
    )
    return array._replace(size=None) if array is not None and not is_sample else None


def _of_item(container: Symbol, index: Any) -> HostArray | None:
    """An array that a function returned beside others, that a file holds beside others, or rows of an array."""
    called, given = _called(container)
    if type(index) is int and called == "sklearn.model_selection.train_test_split":
        part = _of_rows_or_list(symbol(given[index // 2])) if index // 2 < len(given) else None
        return part._replace(size=int(part.size * _KEPT)) if part is not None and part.size is not None else part
    if type(index) is int and called == "sklearn.utils.shuffle":
        return _of_rows_or_list(symbol(given[index])) if index < len(given) else None
    if container.parts == ("external", "numpy.r_"):
        return _joined(_elements(symbol(index)) or ())
    array = host_array(container)
    holds_several = _source(container) in _HOLD_SEVERAL
    if type(index) is int:
        return array if holds_several else None
    if isinstance(index, Symbol):
        if _keeps_rows(index):
            return array
        if _head(index) == "constant":
            is_named = index.parts[1:2] == ("str",) or holds_several
            return array if array is not None and array.holds == "file" and is_named else None
        if chooses_rows(index):
            return array._replace(size=None) if array is not None else None
        return array if not _PERMUTING.isdisjoint(word.rpartition(".")[2] for word in index.words) else None
    return None


def _source(name: Symbol) -> str:
    """Function that returned what a file holds, of which a symbol is all or an item; "" for anything else."""
    while _head(name) in ("dict", "item") and len(name.parts) > 1:
        name = symbol(name.parts[1])
    return _called(name)[0]


def _keeps_rows(index: Symbol) -> bool:
    """Whether an index takes all rows: `[()]`, `[...]`, `[:, :, None]`, `[..., np.newaxis]`."""
    parts = _elements(index)
    first = index if parts is None else symbol(parts[0]) if parts else None
    if first is None or first.parts[:2] == ("constant", "ellipsis"):
        return not any(symbol(one).parts[:2] == ("constant", "int") for one in parts or ())
    return parts is not None and _is_full(first) and all(map(_takes_all, map(symbol, parts)))


def _is_full(name: Symbol) -> bool:
    return _head(name) == ROWS and all(symbol(one).parts[:2] == ("constant", "NoneType") for one in name.parts[2:])


def _takes_all(name: Symbol) -> bool:
    """Whether one of several indices is a full slice, an ellipsis or a new axis."""
    return _is_full(name) or name.parts[:2] in _OF_ALL


_OF_ALL = (("constant", "NoneType"), ("constant", "ellipsis"), ("external", "numpy.newaxis"))


@lru_cache(maxsize=8192)
def chooses_rows(index: Symbol) -> bool:
    """Whether an index is a mask, or the numbers of the rows that one chooses: neither one row nor a known number."""
    head = _head(index)
    if head == "unary":
        return index.parts[1] == "~" and chooses_rows(symbol(index.parts[2]))
    if head == "binary":
        return index.parts[1] in ("&", "|", "^") and any(chooses_rows(symbol(side)) for side in index.parts[2:])
    called, _ = _called(index)
    if head == "item":  # of the tuple that `numpy.where` returns
        found, _ = _called(symbol(index.parts[1]))
        return found in ("numpy.where", "numpy.nonzero") and symbol(index.parts[2]).parts[:2] == ("constant", "int")
    if called.startswith(".") and called[1:] in ("astype", "nonzero", "to_numpy"):
        return chooses_rows(symbol(symbol(index.parts[1]).parts[1]))
    return head == MASK or called in _MASKS or called == ".isin"


_MASKS = frozenset(
    f"numpy.{one}"
    for one in (
        *("argwhere", "flatnonzero", "in1d", "invert", "isfinite", "isin", "isnan"),
        *("logical_and", "logical_not", "logical_or", "logical_xor", "nonzero", "setdiff1d", "where"),
    )
)
"""Functions of NumPy that return masks, or the numbers of the rows for which a condition holds."""


_KEPT = 0.5
"""Share of an array that a split leaves at least, in practice."""


def _of_call(name: Symbol) -> HostArray | None:
    called, given = _called(name)
    own = called.rpartition(".")[2]
    if own == "reshape" and _is_small(given if called.startswith(".") else given[1:]):
        return None
    if called.startswith("."):
        array = host_array(symbol(symbol(name.parts[1]).parts[1]))
        if own in ("get", "item"):
            return array if array is not None and array.holds == "file" else None
        return array if own in _KEEPING else None
    if called in _FILES:
        return HostArray(None, "file")
    if called in {f"numpy.{one}" for one in _FILLED} or called in {f"numpy.random.{one}" for one in _DRAWN}:
        return _of_shape(given, own)
    if called == "numpy.delete" and len(given) > 1:
        array = host_array(symbol(given[0]))
        is_known = symbol(given[1]).parts[:1] == ("constant",) or _elements(symbol(given[1])) is not None
        return array if array is None or is_known else array._replace(size=None)
    if called in ("numpy.take", "numpy.compress") and len(given) > 1:
        array, index = given[:2] if own == "take" else given[1::-1]
        return _of_item(symbol(array), symbol(index))
    if (called.startswith("numpy.") or own in _OF_KERAS) and own in _KEEPING and given:
        first = symbol(given[0])
        if (parts := _elements(first)) is not None:
            return _joined(parts)
        return _of_rows_or_list(first)
    return None


def _of_rows_or_list(name: Symbol) -> HostArray | None:
    """The array that a symbol names, or that a list of images becomes."""
    if _head(name) == "list":
        return next(filter(None, (images_in(one) for one in name.parts[1:] if isinstance(one, Symbol))), None)
    return host_array(name)


def _joined(parts: tuple[Any, ...]) -> HostArray | None:
    """Array of several arrays that are spelled out: `np.concatenate((x, more))`, `np.r_[x, more]`."""
    arrays = [array for one in parts if (array := host_array(symbol(one))) is not None]
    sizes = [array.size for array in arrays if array.size is not None]
    if len(sizes) < len(arrays):
        return next(array for array in arrays if array.size is None)
    return HostArray(sum(sizes), "numbers") if sizes else None


def _is_small(shape: tuple[Any, ...]) -> bool:
    """Whether the arguments of `reshape` say that each row is a small image."""
    sizes = (_elements(symbol(shape[0])) if len(shape) == 1 else None) or shape
    known = [one.parts[2] for one in map(symbol, sizes[1:]) if one.parts[:2] == ("constant", "int")]
    return len(known) == len(sizes) - 1 >= 2 and 0 < math.prod(known[:2]) <= SMALL_IMAGE


def _of_shape(given: tuple[Any, ...], own: str) -> HostArray | None:
    """Array of a shape that the arguments of a function have: a tuple, or one number each for `rand` and `randn`."""
    shapes = [found for one in given if (found := _elements(symbol(one))) is not None]
    sizes = shapes[0] if shapes else given if own in ("rand", "randn") else ()
    known = [one.parts[2] for one in map(symbol, sizes) if one.parts[:2] == ("constant", "int")]
    width = 1 if any("uint8" in symbol(one).words or "numpy.uint8" in symbol(one).words for one in given) else 4
    if sizes and len(known) == len(sizes):
        return HostArray(math.prod(known) * width, "numbers")
    if len(sizes) == 4 and len(known) == 3 and width == 4 and known[0] * known[1] > SMALL_IMAGE and known[2] <= 4:
        return HostArray(None, "images")
    return None


def _head(name: Symbol) -> Any:
    return name.parts[0] if name.parts else ""


def _called(name: Symbol) -> tuple[str, tuple[Any, ...]]:
    """Callee and arguments of the call that a symbol names. The callee is the name of a library function, ".name" for
    a method, or "" for anything else."""
    if _head(name) != "call" or len(name.parts) < _PARTS["call"] or not isinstance(name.parts[2], tuple):
        return "", ()
    function = symbol(name.parts[1])
    if _head(function) == "attribute" and len(function.parts) == 3:
        return f".{function.parts[2]}", name.parts[2]
    return (str(function.parts[1]) if _head(function) == "external" else ""), name.parts[2]


def _calls(name: Symbol) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Each call in a symbol, as `_called` returns it."""
    seen: set[Symbol] = set()
    left = [name]
    while left:
        one = left.pop()
        if one in seen or len(seen) > MAX_PARTS:
            continue
        seen.add(one)
        called, given = _called(one)
        if called:
            yield called, given
        left += _symbols(one.parts)


MAX_PARTS = 500
"""Maximum number of symbols that are looked at in one."""


def _symbols(parts: tuple[Any, ...]) -> Iterator[Symbol]:
    for part in parts:
        if isinstance(part, Symbol):
            yield part
        elif isinstance(part, tuple) and not hasattr(part, "_fields"):
            if part and isinstance(part[0], str):
                yield Symbol(part)
            else:
                yield from _symbols(part)


def _area(given: Any) -> int | None:
    """Number of pixels of a size that is a tuple or list of numbers."""
    sizes = _elements(symbol(given)) or ()
    numbers = [one.parts[2] for one in map(symbol, sizes) if one.parts[:2] == ("constant", "int")]
    return math.prod(numbers[:2]) if len(numbers) == len(sizes) >= 2 else None


def _elements(name: Symbol) -> tuple[Any, ...] | None:
    """Elements of a tuple or list that is spelled out, None if the symbol names none."""
    if _head(name) not in ("list", "tuple") or len(name.parts) != 2 or type(name.parts[1]) is not tuple:
        return None
    return name.parts[1]
