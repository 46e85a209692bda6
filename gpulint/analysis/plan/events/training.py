"""What the host does in loops, apart from models: reads, values kept, calls of libraries."""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import Arguments
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.objects import Model
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.plan.events.base import Event
from gpulint.places import Site


@dataclass(eq=False, repr=False)
class TensorRead(Event):
    """Eager code in a loop reads the content of a tensor, so that the host waits for it.

    `how` is "float", "int", "bool", "numpy" (the method), "array" (a NumPy function), "math" (a function of `math`),
    "min", "max", "sorted" (Python's functions), "print", "format" or "weights" (all weights of a model or layer). Under
    an unknown decorator, only those kinds are reported that raise an exception in traced code."""

    tensor: Tensor
    how: str


@dataclass(eq=False, repr=False)
class HostValueUsed(Event):
    """A value that the host read from tensors (at `reads`) is used by the host for more than logging: by a call of a
    function or method named `by`, or as the index `index` (`by` is "")."""

    reads: tuple[Site, ...]
    by: str
    index: Symbol | None = None


@dataclass(eq=False, repr=False)
class TensorKept(Event):
    """In a loop, a tensor is added to a container that was created outside all loops."""

    container: Items | Mapping
    tensor: Tensor


@dataclass(eq=False, repr=False)
class ContainerCleared(Event):
    """A list loses elements, or a variable, attribute or key that held a list or dict is overwritten."""

    container: Items | Mapping


@dataclass(eq=False, repr=False)
class ModelKept(Event):
    """In a loop, a model is added to a container."""

    model: Model


@dataclass(eq=False, repr=False)
class LibraryCalled(Event):
    """A library function that configures, saves or watches something (`knowledge.WATCHED`) is called. `name` is its
    canonical name.

    A method of a tracked library object (`knowledge.OBJECTS`) has the name `class.method` and the object as `receiver`.
    `is_private`: it belongs to TensorFlow's private copy of Keras 2.
    """

    name: str
    arguments: Arguments
    receiver: Object | None = None
    is_private: bool = False


@dataclass(eq=False, repr=False)
class HostRandomDrawn(Event):
    """A traced function draws a random number with Python's or NumPy's generator `name`: once, when it is traced."""

    name: str


@dataclass(eq=False, repr=False)
class PersonAwaited(Event):
    """In a loop, the program waits for a person: it shows a window until that is closed, or reads a line or a key."""


@dataclass(eq=False, repr=False)
class RemovedNameUsed(Event):
    """A public name is used that was removed in TensorFlow `since`. `replacement` is its present name.

    `of_object`: it is a method of an object of a library class. `of_library`: that class is the library's own, not one
    that the program derives from it.
    """

    name: str
    since: str
    replacement: str | None
    of_object: bool = False
    of_library: bool = False


@dataclass(eq=False, repr=False)
class ImportFailed(Event):
    """An import statement asks for a `name` that the project's `module` does not have. `file` is the path of the
    module."""

    module: str
    name: str
    file: str
