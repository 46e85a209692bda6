"""How many elements a value has at most."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from gpulint.analysis.domain.host_arrays import written_rows
from gpulint.analysis.domain.symbolic import Symbol, called_with, library_callee, symbol
from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.domain.values.containers import Items


def most_items(value: Value) -> int | None:
    """Maximum number of elements of a list, tuple and so on; None if it is unknown."""
    if not isinstance(value, Items):
        return None
    return value.most if value.items is None else len(value.items)


def slice_length(lower: Any, upper: Any, step: Any) -> int | None:
    """Maximum length of a slice with these bounds; None if it depends on the length of what is sliced. A bound is None
    where it is omitted, and `...` where it is unknown."""
    if any(one is not None and type(one) is not int for one in (lower, upper, step)) or (step or 1) < 1:
        return None
    first: int = lower or 0
    if (first < 0) != (upper is None or upper < 0):
        return None
    length: int = (upper or 0) - first
    return max(-(-length // (step or 1)), 0)


def _constant(name: Any) -> Any:
    """Value of a constant that a symbol stands for; `...` if it is none."""
    parts = symbol(name).parts
    return parts[2] if parts[0] == "constant" else ...


@lru_cache(maxsize=8192)
def count_of(name: Symbol) -> int | None:
    """Maximum number of elements of a slice with constant bounds, of `np.arange` and `np.linspace` with constant
    arguments, of an array whose rows are written out, of a sample of constant size, of the folds of a validation, and
    of sums of those; None for anything else, also for an array that is made of a shape: it stands for real data."""
    if name.parts[0] == "slice" and len(name.parts) == 5:
        return slice_length(*(_constant(one) for one in name.parts[2:]))
    if name.parts[:2] == ("binary", "+"):
        counts = [count_of(symbol(one)) for one in name.parts[2:]]
        return sum(one for one in counts if one is not None) if None not in counts else None
    if name.parts[0] != "call":
        return None
    if (folds := _folds(name)) is not None:
        return folds
    callee = library_callee(name)
    if (written := written_rows(name)) is not None:
        return written
    if callee != "numpy.arange" and callee not in _NUMBERS:
        return None
    given = [symbol(part).parts for part in called_with(name)[1]]
    if callee in _NUMBERS:
        size = given[_NUMBERS[callee]] if len(given) > _NUMBERS[callee] else ()
        return int(size[2]) if size[:2] == ("constant", "int") else None
    if not 0 < len(given) < 4 or any(parts[:2] != ("constant", "int") for parts in given):
        return None
    bounds = [parts[2] for parts in given]
    return len(range(*bounds)) if all(bounds[2:]) else None


_NUMBERS = {
    **{"numpy.geomspace": 2, "numpy.linspace": 2, "numpy.logspace": 2},
    **{"numpy.random.choice": 1, "numpy.random.randint": 2, "random.sample": 1},
}
"""Functions that space or draw elements → index of the argument that is their number."""


def _folds(name: Symbol) -> int | None:
    """Number of folds of `KFold(5).split(x)`: 5, the default, where it is not in the program."""
    function = symbol(name.parts[1])
    if function.parts[0] != "attribute" or function.parts[-1] != "split":
        return None
    splitter = symbol(function.parts[1])
    if splitter.parts[0] != "call" or not _FOLDS.fullmatch(library_callee(splitter)):
        return None
    given = [symbol(one).parts for one in called_with(splitter)[1]]
    numbers = [parts[2] for parts in given if parts[:2] == ("constant", "int")]
    if given and len(numbers) == 1 and given[0][:2] != ("constant", "int"):
        return 5  # an unknown number of folds, and a seed
    return int(min(numbers, default=5))


_FOLDS = re.compile(r"(?:\w+\.)+(?!Repeated)\w*KFold|sklearn\.model_selection\.TimeSeriesSplit")
"""Classes that split data into folds: of scikit-learn, and others that are named like them. Their first argument is the
number of folds; of others, such as a seed, the smaller number counts."""
