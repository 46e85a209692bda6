"""Properties of values read off their symbols: batches of one example, slices of data, elements of loops."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

from gpulint.analysis.domain.changing_numbers import is_changing
from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.host_arrays import is_column
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.symbolic import (
    COUNTER,
    ELEMENT_READ,
    HOST_READ,
    ROWS,
    Symbol,
    called_with,
    distance,
    flat,
    is_one_row,
    library_callee,
    symbol,
)
from gpulint.analysis.domain.traversal import iterated_sources, leaves
from gpulint.analysis.domain.values import containers
from gpulint.analysis.domain.values.base import Constant, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.places import Site

_OF_ITERATION = frozenset({"item", "index", "in_iteration"})
"""Heads of the symbols of loop elements and indices."""

_ADDS_AXIS = frozenset({"expand_dims", "atleast_2d"})
_MAKES = frozenset({"zeros", "ones", "full", "empty", "normal", "uniform", "standard_normal", "random", "randint"})
_GATHERS = frozenset({"array", "asarray", "stack"})
_SHAPES = _ADDS_AXIS | _GATHERS | {"reshape", "astype"}

_READS_IMAGES = frozenset({"cvtColor", "img_to_array", "imread", "join", "load_img", "preprocess_input", "resize"})
"""Functions that name an image's file, read it, or prepare what was read."""


def varies(value: Value) -> bool:
    """Whether a value depends on the present iteration of a loop."""
    if isinstance(value, Tensor):
        return value.from_data
    return type(value) is Unknown and not value.symbol.words.isdisjoint(_OF_ITERATION)


def is_small_part(value: Value) -> bool:
    """Whether a value is the next few rows of a collection: `x[i * 32 : (i + 1) * 32]`, or as many as a batch."""
    return type(value) is Unknown and _is_small_part(value.symbol)


def _is_small_part(name: Symbol) -> bool:
    head, *rest = name.parts
    if head == "slice" and len(rest) >= 3:
        first, second = symbol(rest[1]), symbol(rest[2])
        if first.words.isdisjoint(_OF_ITERATION):
            return False
        rows = _rows(first, second)
        return 1 < rows <= MAX_PART if rows is not None else any("batch" in words(word) for word in second.words)
    if head == "in_iteration":
        return _is_small_part(symbol(rest[1]))
    if head == "item":
        row = _element(symbol(rest[0]))
        return row is not None and _is_small_part(row)
    if head != "call":
        return False
    called, given = called_with(name)
    if called in ("array", "asarray", "expand_dims"):
        return bool(given) and isinstance(given[0], Symbol) and given[0].parts[0] != "list" and _is_small_part(given[0])
    return called == "astype" and isinstance(rest[0], Symbol) and _is_small_part(symbol(rest[0].parts[1]))


def _rows(first: Symbol, second: Symbol) -> int | None:
    """Maximum number of rows from the first index to the second: `min(i + 32, count)` is at most 32 above `i`."""
    if second.parts[0] == "call" and symbol(second.parts[1]).parts[-1] == "min":
        found = [rows for one in called_with(second)[1] if (rows := distance(first, symbol(one))) is not None]
        return min(found, default=None)
    return distance(first, second)


def _element(name: Symbol) -> Symbol | None:
    """Symbol of the elements of a list built by a comprehension, or of an array of such a list."""
    while name.parts[0] == "call" and called_with(name)[0] in ("array", "asarray") and called_with(name)[1]:
        name = symbol(called_with(name)[1][0])
    return symbol(name.parts[2]) if name.parts[0] == "list" and len(name.parts) == 3 else None


MAX_PART = 512
"""Maximum number of rows of a collection that count as few for one call."""


def is_next_batch(value: Value, loop: Loop) -> bool:
    """Whether a value is the next batch of a generator: of `next`, of a Keras loader, or of what a loop or its own name
    calls batches."""
    if type(value) is not Unknown:
        return False
    name = value.symbol
    while name.parts[0] in ("item", "in_iteration"):
        name = symbol(name.parts[1 if name.parts[0] == "item" else 2])
        if name.parts[0] == "next" or not name.words.isdisjoint(_FLOWS):
            return True
    return name in _batched(loop)


def is_of_batch(value: Value, loop: Loop) -> bool:
    """Whether a value is, or is computed from, a batch that a loop iterates over."""
    if type(value) is not Unknown:
        return False
    return _is_element_of(value.symbol, _batched(loop)) or value.symbol in _yielded(loop)


def _batched(loop: Loop) -> frozenset[Symbol]:
    """Collections that a loop iterates over, if their elements are batches by the name of the loop variable or of a
    loader."""
    sources = [symbol_of(one) for one in iterated_sources(loop.iterable) if isinstance(one, Value)]
    if any(words(one) & _BATCHES for one in loop.names):
        return frozenset(sources)
    return frozenset(one for one in sources if words(_name_of(one)) & _LOADERS)


def _yielded(loop: Loop) -> frozenset[Symbol]:
    """Elements that a generator of the program yields to a loop whose variable is called a batch."""
    if not any(words(one) & _BATCHES for one in loop.names):
        return frozenset()
    elements = (one.element for one in iterated_sources(loop.iterable) if isinstance(one, containers.Items))
    return frozenset(symbol_of(leaf) for element in elements if element is not None for leaf in leaves(element))


def _name_of(name: Symbol) -> str:
    """Identifier of what a symbol stands for: a parameter, an attribute, the class or function that was called."""
    last = (symbol(name.parts[1]) if name.parts[0] == "call" else name).parts[-1]
    return last.rpartition(".")[2] if isinstance(last, str) else ""


def _is_element_of(name: Symbol, sources: frozenset[Symbol]) -> bool:
    """Whether a symbol contains an element of one of these collections. Parts that are shared are visited once."""
    seen: set[int] = set()
    pending: list[Any] = [name]
    while pending:
        part = pending.pop()
        if type(part) is tuple:
            pending += part
        elif isinstance(part, Symbol) and id(part) not in seen and not part.words.isdisjoint(_OF_ITERATION):
            if part.parts[0] == "item" and part.parts[1] in sources:
                return True
            seen.add(id(part))
            pending += part.parts[1:]
    return False


_FLOWS = frozenset({"flow", "flow_from_dataframe", "flow_from_directory"})
"""Methods of `ImageDataGenerator` that create batches."""

_BATCHES = frozenset({"batch", "batches"})

_LOADERS = frozenset({"dataloader", "generator", "loader"})
"""Words in the names of what yields batches."""


def is_given(value: Value, loop: Loop) -> bool:
    """Whether a value is one example of a collection that a loop iterates over, possibly reshaped, or of the files that
    it names."""
    if isinstance(value, Tensor):
        return loop.site in (value.decoded or ())
    return type(value) is Unknown and "used" not in value.symbol.words and _is_given(value.symbol)


@lru_cache(maxsize=8192)
def _is_given(name: Symbol) -> bool:
    head = name.parts[0]
    if head == "item" and isinstance(name.parts[-1], Site):
        return symbol(name.parts[1]).parts[0] != "range" or "len" in name.words
    if head == "call" and called_with(name)[0] not in _SHAPES | _READS_IMAGES:
        return False
    return any(isinstance(part, Symbol) and _is_given(part) for part in flat(name.parts))


def is_iterated(name: Symbol) -> bool:
    """Whether a symbol is an element of what a loop iterates over, or a part of one, as in a loop over `zip`."""
    while name.parts[0] in ("item", "in_iteration"):
        if name.parts[0] == "item" and isinstance(name.parts[-1], Site):
            return True
        name = symbol(name.parts[1 if name.parts[0] == "item" else 2])
    return False


def is_at_index(name: Symbol) -> bool:
    """Whether a symbol is an element of a collection at an index that a loop counts, as in a loop over `enumerate` of
    another collection, or over a `range`."""
    index = name.parts[2] if name.parts[0] == "item" else None
    while isinstance(index, Symbol) and index.parts[0] == "in_iteration":
        index = index.parts[2]
    return isinstance(index, Symbol) and (index.parts[0] == "index" or is_iterated(index))


def is_single(value: Value) -> bool:
    """Whether a value is a batch of one example."""
    if isinstance(value, Tensor):
        return value.single
    return type(value) in (Unknown, containers.Mapping) and _is_single(symbol_of(value))


def is_read_element(value: Value) -> bool:
    """Whether a value is an element of a dataset, read into NumPy."""
    return type(value) is Unknown and value.symbol.parts[0] == ELEMENT_READ


ONE_EXAMPLE = "one example"
"""Part of the symbol of predictions for a batch of one example."""


@lru_cache(maxsize=8192)
def _is_single(name: Symbol) -> bool:
    head, *rest = name.parts
    if head == "item":
        if is_at_index(name) and is_column(symbol(rest[0])):  # Keras adds an axis to a row of one number
            return True
        return _adds_axis(rest[1]) or (_is_constant(rest[1]) and _encodes_one_text(symbol(rest[0])))
    if head == "used":
        return ONE_EXAMPLE in rest
    if head == "dict":
        return isinstance(rest[0], Symbol) and _encodes_one_text(rest[0])
    if head == "slice" and len(rest) >= 3:
        return is_one_row(*map(symbol, rest[1:4]))
    if head == "binary":
        return any(isinstance(part, Symbol) and _is_single(part) for part in rest[1:])
    if head != "call":
        return False
    if _encodes_one_text(name):
        return True
    called, given = called_with(name)
    if called in _ADDS_AXIS:
        return all(axis in (_ZERO, ()) or not _is_constant(axis) for axis in given[1:2])
    first = given[0] if given else None
    if called in _GATHERS | _OF_TEXTS and isinstance(first, Symbol) and first.parts[0] == "list":
        return len(first.parts) == 2 and isinstance(first.parts[1], tuple) and len(first.parts[1]) == 1
    if called == "reshape":
        return _is_of_picture(name, given) or any(
            _starts_with_one(part) for part in (*given[:1], *(one for one in given[1:2] if one != _ONE))
        )
    if called in _MAKES:
        return any(_starts_with_one(part) and part != _ONE for part in given)
    if called in ("rand", "randn"):
        return len(given) > 1 and given[0] == _ONE
    if called in ("astype", "copy") and isinstance(rest[0], (Symbol, tuple)):
        owner = symbol(rest[0]).parts[1]
        return isinstance(owner, Symbol) and _is_single(owner)
    return called in _KEEPS_ROWS and isinstance(first, Symbol) and _is_single(first)


def _is_of_picture(name: Symbol, given: tuple[Any, ...]) -> bool:
    """Whether `x.reshape(-1, 48, 48, 1)` or `np.reshape(x, …)` has the size of one picture that OpenCV scaled."""
    function = symbol(name.parts[1])
    inputs = (function.parts[1], *given) if function.parts[0] == "attribute" else given
    if not inputs:
        return False
    one, *shape = map(symbol, inputs)
    sizes = _numbers_in(shape[0].parts[1] if shape and shape[0].parts[0] in ("tuple", "list") else tuple(shape))
    if len(sizes) != 4 or sizes[0] != -1 or sizes[3] not in (1, 3):
        return False
    while one.parts[0] in ("binary", "call"):
        if one.parts[0] == "binary":
            one = symbol(one.parts[2])
            continue
        called, inputs = called_with(one)
        if library_callee(one) == "cv2.resize":
            scaled = symbol(inputs[1]).parts if len(inputs) > 1 else ()
            pixels = _numbers_in(scaled[1]) if scaled[:1] == ("tuple",) else ()
            return len(pixels) == 2 and pixels[0] * pixels[1] == sizes[1] * sizes[2]
        if called not in _KEEPS_ROWS or not inputs:
            break
        one = symbol(inputs[0])
    return False


def _numbers_in(parts: Any) -> tuple[int, ...]:
    """The integers that symbols are, () if one is something else."""
    found = [one.parts for one in parts if isinstance(one, Symbol)] if isinstance(parts, tuple) else []
    numbers = tuple(one[2] for one in found if one[:2] == ("constant", "int"))
    return numbers if isinstance(parts, tuple) and len(numbers) == len(parts) else ()


_OF_TEXTS = frozenset({"pad_sequences", "texts_to_matrix", "texts_to_sequences"})
"""Functions with a row in their result for each text or sequence in a list."""


def _encodes_one_text(name: Symbol) -> bool:
    """Whether a symbol is what a tokenizer of `transformers` makes of one text."""
    if name.parts[0] != "call":
        return False
    tokenizer = symbol(name.parts[1])
    if tokenizer.parts[0] == "attribute" and tokenizer.parts[-1] in ("encode", "encode_plus"):
        tokenizer = symbol(tokenizer.parts[1])
    if tokenizer.parts[0] != "call" or not _PRETRAINED.fullmatch(library_callee(tokenizer)):
        return False
    given = called_with(name)[1]
    first = symbol(given[0]) if given else None
    if first is not None and first.parts[0] == "list" and isinstance(first.parts[1], tuple):
        return len(first.parts) == 2 and len(first.parts[1]) == 1
    return first is not None and _is_text(first)


_PRETRAINED = re.compile(r"transformers\..*\.from_pretrained")

_PREPARES = re.compile(r"transformers\.\w*(?:FeatureExtractor|Processor|Tokenizer|TokenizerFast)\.from_pretrained")


def is_prepared(value: Value) -> bool:
    """Whether a value is what a tokenizer or processor of `transformers` prepared for TensorFlow, or part of it."""
    name = symbol_of(value)
    while name.parts[0] in ("attribute", "dict", "item") and isinstance(name.parts[1], Symbol):
        name = name.parts[1]
    if name.parts[0] != "call" or symbol(("constant", "str", "tf")) not in called_with(name)[1]:
        return False
    made = symbol(name.parts[1])
    made = symbol(made.parts[1]) if made.parts[0] == "attribute" else made
    return made.parts[0] == "call" and _PREPARES.fullmatch(library_callee(made)) is not None


def _elements_of(name: Symbol) -> Symbol:
    """Column of a table of which `tolist()` or `values` returns the elements; any other symbol as it is."""
    while name.parts[0] in ("attribute", "call"):
        read = name if name.parts[0] == "attribute" else symbol(name.parts[1])
        if read.parts[0] != "attribute" or read.parts[-1] not in ("to_list", "tolist", "values"):
            break
        name = symbol(read.parts[1])
    return name


_GIVE_LINES = frozenset({"open", "readlines", "split", "splitlines"})
"""Functions and methods whose elements are strings."""


def _is_text(name: Symbol) -> bool:
    """Whether a symbol is a string, as far as that is known: a line of a file, the result of a method of strings, or an
    element of what is called texts."""
    while name.parts[0] == "in_iteration":
        name = symbol(name.parts[2])
    if name.parts[0] == "constant":
        return bool(name.parts[1] == "str")
    if name.parts[0] == "call":
        function = symbol(name.parts[1])
        return function.parts[0] == "attribute" and function.parts[-1] in _OF_STRINGS
    if name.parts[0] != "item" or not isinstance(name.parts[-1], Site):
        return False
    source = _elements_of(symbol(name.parts[1]))
    if source.parts[0] == "item" and symbol(source.parts[2]).parts[:2] == ("constant", "str"):
        called = symbol(source.parts[2]).parts[2]
    else:
        called = _name_of(source)
    own = words(called)
    return called in _GIVE_LINES or bool(own & _TEXTS and not own & (_BATCHES | {"chunks", "chunk"}))


_OF_STRINGS = frozenset({"format", "join", "lower", "lstrip", "replace", "rstrip", "strip", "upper"})

_TEXTS = frozenset(
    {"comments", "docs", "documents", "lines", "prompts", "queries", "questions", "reviews", "sentences", "text"}
    | {"texts", "titles", "tweets"}
)
"""Words in the names of collections of texts."""

_KEEPS_ROWS = frozenset({"asarray", "array", "float32", "pad_sequences", "preprocess_input"})
"""Functions whose result has as many rows as their first argument."""


def _is_constant(name: Any) -> bool:
    return isinstance(name, Symbol) and name.parts[0] in ("constant", "unary")


def are_next(lower: Symbol, upper: Symbol, step: Symbol) -> bool:
    """Whether a slice with these bounds has several rows and moves with the iterations of a loop."""
    return not (lower.words | upper.words).isdisjoint(_OF_ITERATION_OR_COUNTER) and not is_one_row(lower, upper, step)


_OF_ITERATION_OR_COUNTER = _OF_ITERATION | {COUNTER}


def is_array(value: Value) -> bool:
    """Whether a value is an array with several elements created by NumPy: `np.array(states)`,
    `np.random.normal(size=(64, 8))`."""
    return type(value) is Unknown and _is_array(value.symbol)


def is_batch(value: Value) -> bool | None:
    """Whether a value holds several examples, as a tensor or NumPy array: sampled rows, or the next rows of a
    collection (`x[i : i + 32]`). False for numbers and for containers of numbers; None if unknown."""
    if isinstance(value, Tensor):
        return value.rows
    if isinstance(value, Constant):
        return False
    if isinstance(value, containers.Items) and value.items is not None:
        found = {None if isinstance(one, containers.Items) else is_batch(one) for one in leaves(value)}
        return False if found == {False} else None
    if type(value) is not Unknown:
        return None
    return True if _is_array(value.symbol) else False if is_changing(value.symbol) else None


@lru_cache(maxsize=8192)
def _is_array(name: Symbol) -> bool:
    head, *rest = name.parts
    if head == "slice" and len(rest) >= 3:
        return are_next(*map(symbol, rest[1:4])) and _is_of_arrays(symbol(rest[0]))
    if head == "item":
        key = symbol(rest[1])
        drawn = library_callee(key) if key.parts[0] == "call" else ""
        return drawn in _DRAWN_ROWS and len(called_with(key)[1]) > 1 and _is_of_arrays(symbol(rest[0]))
    if head == "binary":
        return any(isinstance(part, Symbol) and _is_array(part) for part in rest[1:])
    if head != "call":
        return False
    made, (called, given) = library_callee(name), called_with(name)
    if called in _KEEPS_ARRAY and not made:
        owner = symbol(rest[0]).parts
        return owner[0] == "attribute" and _is_array(symbol(owner[1]))
    if made in ("numpy.random.rand", "numpy.random.randn"):
        return bool(given)
    is_drawn = made in ("numpy.random.normal", "numpy.random.random", "numpy.random.uniform")
    return (is_drawn or made in _ARRAYS) and not all(map(_is_constant, given))


def _is_of_arrays(name: Symbol) -> bool:
    """Whether a value is an array created by NumPy, or one of the arrays of a Keras data set."""
    while name.parts[0] in ("item", "binary"):
        name = symbol(name.parts[1 if name.parts[0] == "item" else 2])
    made = library_callee(name) if name.parts[0] == "call" else ""
    is_data = made.startswith("tensorflow.keras.datasets.") and made.endswith(".load_data")
    return _is_array(name) or is_data or made in _ARRAY_FILES


_ARRAY_FILES = frozenset({"numpy.fromfile", "numpy.genfromtxt", "numpy.load", "numpy.loadtxt"})
"""NumPy functions that read an array from a file."""

_KEEPS_ARRAY = frozenset({"astype", "copy"})
"""Array methods that return an array of the same shape."""

_DRAWN_ROWS = frozenset({"numpy.random.choice", "numpy.random.randint"})
"""NumPy functions that draw several indices, if they are told how many."""

_ARRAYS = frozenset(
    f"numpy.{name}" for name in ("array", "asarray", "concatenate", "hstack", "ones", "stack", "vstack", "zeros")
)
"""NumPy functions whose result counts as an array unless all arguments are constants."""


def _adds_axis(key: Any) -> bool:
    if isinstance(key, Symbol) and key.parts[0] in ("tuple", "list") and isinstance(key.parts[1], tuple):
        first = key.parts[1][0] if key.parts[1] else None
        if isinstance(first, Symbol) and first.parts[0] == ROWS:
            return is_one_row(*first.parts[2:])
        is_one = key.parts[0] == "list" and len(key.parts[1]) == 1 and not _is_constant(first)  # x[[i]]
        return is_one or _adds_axis(first)
    if isinstance(key, Symbol) and key.parts[0] == "external":
        return str(key.parts[1]).endswith(".newaxis")
    return bool(key == _NONE)


def _starts_with_one(shape: Any) -> bool:
    if isinstance(shape, Symbol) and shape.parts[0] in ("tuple", "list") and isinstance(shape.parts[1], tuple):
        return bool(shape.parts[1]) and shape.parts[1][0] == _ONE
    if isinstance(shape, Symbol) and shape.parts[:2] == ("binary", "+"):
        return _starts_with_one(shape.parts[2])
    return bool(shape == _ONE)


_NONE = symbol(("constant", "NoneType", None))
_ZERO = symbol(("constant", "int", 0))
_ONE = symbol(("constant", "int", 1))


def is_observed(value: Value) -> bool:
    """Whether a value is the result of an environment's `step`, or computed from it: what an agent observes."""
    return type(value) is Unknown and _is_observed(value.symbol)


@lru_cache(maxsize=8192)
def _is_observed(name: Any) -> bool:
    if isinstance(name, Symbol):
        if "step" not in name.words:
            return False
        head, *rest = name.parts
        if head == "call" and rest:
            called = symbol(rest[0]).parts
            if called[0] == "attribute" and called[-1] == "step":
                return True
        return _is_observed(name.parts)
    return isinstance(name, tuple) and any(map(_is_observed, name))


def round_trip(value: Value, indices: Collection[Symbol] = ()) -> Iterator[Site]:
    """Sites of the tensor reads from which NumPy alone computed a value. None for one of these indices of the host,
    such as the id of a decoded word, also in lists: `[[word]]`."""
    if type(value) is Unknown and not (indices and _innermost(value.symbol) in indices):
        yield from _numpy_of(value.symbol)


def numpy_functions(value: Value) -> frozenset[str] | None:
    """Functions of NumPy that computed a value from tensors: `argmax`, `linalg.norm`. None if anything else computed
    it, too, such as operators."""
    return _numpy_functions(value.symbol) if type(value) is Unknown else None


@lru_cache(maxsize=8192)
def _numpy_functions(name: Symbol) -> frozenset[str] | None:
    head, *rest = name.parts
    if head == HOST_READ:
        return frozenset()
    if head in ("item", "slice", "in_iteration"):
        inner = rest[1] if head == "in_iteration" else rest[0]
        return _numpy_functions(inner) if isinstance(inner, Symbol) else None
    if head in ("list", "tuple") and isinstance(rest[0], tuple):
        found, given = frozenset[str](), rest[0]
    elif head == "call" and library_callee(name).startswith("numpy."):
        found, given = frozenset({library_callee(name).removeprefix("numpy.")}), called_with(name)[1]
    else:
        return None
    of_parts = [_numpy_functions(part) for part in given if isinstance(part, Symbol) and HOST_READ in part.words]
    return None if None in of_parts else found.union(*(one for one in of_parts if one is not None))


def _innermost(name: Symbol) -> Symbol:
    """Symbol of the one element, possibly repeated, of lists and arrays in each other."""
    while True:
        if name.parts[:2] == ("binary", "*"):
            lists = [one for one in name.parts[2:] if isinstance(one, Symbol) and one.parts[0] in ("list", "tuple")]
            if len(lists) != 1:
                return name
            name = lists[0]
        if name.parts[0] in ("list", "tuple") and isinstance(name.parts[1], tuple):
            parts = name.parts[1]
        elif name.parts[0] == "call" and library_callee(name) in _WRAPS:
            parts = called_with(name)[1][:1]
        else:
            return name
        if len(parts) != 1 or not isinstance(parts[0], Symbol):
            return name
        name = parts[0]


_WRAPS = frozenset({"numpy.array", "numpy.asarray", "numpy.expand_dims"})


@lru_cache(maxsize=8192)
def _numpy_of(name: Any) -> tuple[Site, ...]:
    if not isinstance(name, Symbol) or HOST_READ not in name.words:
        return ()
    head, *rest = name.parts
    if head == HOST_READ:
        return (rest[0],) if rest[1] == "numpy" else ()
    parts: tuple[Any, ...] = ()
    if head in ("item", "slice", "attribute"):
        parts = (rest[0],)
    elif head in ("list", "tuple"):
        parts = rest[0] if isinstance(rest[0], tuple) else ()
    elif head in ("binary", "unary"):
        parts = tuple(rest[1:])
    elif head == "updated":
        parts = tuple(rest)
    elif head == "call":
        called = symbol(rest[0]).parts
        if library_callee(name).startswith("numpy.") and not library_callee(name).startswith("numpy.random."):
            parts = called_with(name)[1]
        elif called[0] == "attribute":
            parts = (called[1],)
    return tuple(dict.fromkeys(site for part in parts for site in _numpy_of(part)))
