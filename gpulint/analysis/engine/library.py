"""Interface of the engine to the semantics of libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.values.base import Arguments, LibraryName, Unknown, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Function, Traced, UserClass
from gpulint.analysis.domain.values.managers import Manager
from gpulint.places import Site
from gpulint.syntax import ir


class LibrarySemantics(ABC):
    """Effects and results of names, objects and operators of libraries.

    Methods in the first group return values, or None if no library determines the value. Methods in the second group
    only observe what the program does.
    """

    words: frozenset[str]
    """Words in the names of library functions that are worth following."""

    # ------------------------------------------------------------------------- values

    @abstractmethod
    def name(self, dotted: str, package: str = "") -> LibraryName:
        """The library name for a canonical dotted name. `package` is the package that the program imported it from, by
        default the outermost of `dotted`."""

    @abstractmethod
    def call_name(self, function: LibraryName, arguments: Arguments, site: Site) -> Value:
        """Result of calling a library's function or class."""

    @abstractmethod
    def call_method(self, receiver: Value, name: str, arguments: Arguments, site: Site) -> Value:
        """Result of `receiver.name(…)`, if no class of the program defines the method."""

    @abstractmethod
    def call_value(self, function: Value, arguments: Arguments, site: Site) -> Value:
        """Result of calling an object or an unknown value."""

    @abstractmethod
    def call_traced(self, function: Traced, arguments: Arguments, site: Site, receiver: Value | None = None) -> Value:
        """Result of calling a function that a library compiles."""

    @abstractmethod
    def instantiate(self, cls: UserClass, arguments: Arguments, site: Site) -> Value:
        """Instance of a class of the program, which may derive from a library class."""

    @abstractmethod
    def instance_of(self, cls: LibraryName, site: Site) -> Value | None:
        """Value that represents an instance of a library class that was created elsewhere."""

    @abstractmethod
    def annotated(self, unknown: Unknown, cls: LibraryName) -> None:
        """A parameter of unknown value is annotated with a library class."""

    @abstractmethod
    def is_instance(self, value: Object, kind: Value) -> bool | None:
        """Whether a library object is an instance of a class; None if it is unknown."""

    @abstractmethod
    def get_attribute(self, receiver: Value, name: str, node: ir.Node) -> Value | None:
        """Value of `receiver.name`, where the receiver is neither a built-in value nor an object."""

    @abstractmethod
    def get_object_attribute(self, receiver: Object, name: str, node: ir.Node) -> Value:
        """Value of `receiver.name` for an object, if neither it nor a class of the program has the attribute."""

    @abstractmethod
    def class_of(self, receiver: Object) -> Value | None:
        """Class of an object of a library, with which a program may create another one."""

    @abstractmethod
    def get_unset_attribute(self, receiver: Object, name: str) -> Value | None:
        """Value of an attribute of an object that is None until a library calls a method that assigns it."""

    @abstractmethod
    def get_item(self, container: Value, key: Value, node: ir.Node) -> Value | None:
        """Value of `container[key]`."""

    @abstractmethod
    def get_slice(self, container: Value, bounds: tuple[Value, ...], node: ir.Node) -> Value | None:
        """Value of `container[lower:upper:step]`."""

    @abstractmethod
    def set_item(self, container: Value, key: Value, value: Value, site: Site) -> Value | None:
        """The container after `container[key] = value`; None if it is unchanged."""

    @abstractmethod
    def unpack(self, value: Value, index: int, site: Site) -> Value | None:
        """Element of a value that is assigned to one of several targets."""

    @abstractmethod
    def iterate(self, iterable: Value, node: ir.Node) -> Value | None:
        """Value that represents the elements of a loop over a value."""

    @abstractmethod
    def element_of(self, value: Value, site: Site) -> Value | None:
        """Value that represents the elements of a value that a built-in function iterates over."""

    @abstractmethod
    def generated(self, element: Value) -> Value:
        """Loop element for an element that a generator of the program yields."""

    @abstractmethod
    def in_iteration(self, element: Value, iteration: int) -> Value:
        """Value that represents an element of a loop in one of its iterations."""

    @abstractmethod
    def comprehended(self, element: Value) -> Value | None:
        """A list of all values that an element represents."""

    @abstractmethod
    def operate(self, sign: str, operands: tuple[Value, ...], node: ir.Node) -> Value | None:
        """Result of an operator with one or two operands."""

    @abstractmethod
    def update_in_place(self, target: Value, sign: str, value: Value, node: ir.Node) -> bool:
        """Whether an augmented assignment such as `target += value` changes the target in place."""

    @abstractmethod
    def compare(self, left: Value, sign: str, right: Value, node: ir.Node) -> Value | None:
        """Result of a comparison by value."""

    @abstractmethod
    def as_array(self, value: Value) -> Value:
        """A value as an array, if the program uses it as only an array can be used: a comparison of arrays is no
        bool."""

    @abstractmethod
    def convert(self, kind: str, value: Value, site: Site) -> Value | None:
        """Result of `int(value)` or `float(value)`."""

    @abstractmethod
    def total(self, first: Value, values: tuple[Value, ...], site: Site) -> Value | None:
        """Result of `sum()` over several values, which `first` represents."""

    @abstractmethod
    def ordered(self, name: str, values: tuple[Value, ...], site: Site) -> Value | None:
        """One of several values, which `min`, `max` or `sorted` compares."""

    @abstractmethod
    def decorate(self, decorator: Value, defined: Value, node: ir.Expr) -> Value:
        """Result of applying a decorator to a function or a class."""

    @abstractmethod
    def has_name(self, dotted: str, package: str) -> bool:
        """Whether the targeted releases still have a dotted name."""

    @abstractmethod
    def any_member(self, module: LibraryName) -> LibraryName | None:
        """Value that represents the member of a module that the program selects at run time."""

    @abstractmethod
    def from_star(self, modules: Sequence[str], name: str) -> Value | None:
        """Value of a name that star imports of these modules may have bound."""

    @abstractmethod
    def enter(self, manager: Manager, site: Site) -> Value:
        """Apply a manager's effect to the present context. Returns the value that `as` binds."""

    @abstractmethod
    def enter_unknown(self, manager: Value, site: Site) -> Value:
        """Enter a value that is not a known manager. Returns the value that `as` binds."""

    @abstractmethod
    def leave(self, manager: Manager) -> None:
        """Leave a manager that was entered by hand."""

    @abstractmethod
    def has_no_effect_on(self, body: Sequence[ir.Statement], manager: Value, site: Site) -> bool:
        """Whether entering a manager changes nothing for a body."""

    @abstractmethod
    def is_first(self, manager: Value) -> bool:
        """Whether to follow this manager first, if the program may enter one of several."""

    @abstractmethod
    def is_tracked(self, value: Value) -> bool:
        """Whether a function may do something of interest with an argument of this kind."""

    @abstractmethod
    def is_same_for_all(self, value: Value) -> bool:
        """Whether a list that gets such a value at one index gets one at each index."""

    # ----------------------------------------------------------------------- observers

    @abstractmethod
    def name_used(self, dotted: str, package: str, site: Site) -> None:
        """A dotted name of a library is read."""

    @abstractmethod
    def imported(self, dotted: str, site: Site) -> None:
        """A library module, or a name in one, is imported."""

    @abstractmethod
    def function_called(self, function: Function, arguments: Arguments, result: Value, site: Site) -> None:
        """A function or method of the program has returned. `arguments` are those without its receiver."""

    @abstractmethod
    def method_called(self, receiver: Value, method: Value, arguments: Arguments, site: Site) -> None:
        """A method of the program's own class is called."""

    @abstractmethod
    def bound(self, value: Value) -> None:
        """A value is bound to a parameter of a function of the program."""

    @abstractmethod
    def value_read(self, value: Value, how: str, place: ir.Node | Site) -> None:
        """The program reads the content of a value."""

    @abstractmethod
    def value_used(self, value: Value, site: Site) -> None:
        """A value affects what the program does next, as an index does."""

    @abstractmethod
    def loop_decided(self, guard: Path, site: Site) -> None:
        """Conditions decide whether a loop continues."""

    @abstractmethod
    def iterated(self, iterable: Value, how: str, site: Site, loop: Site | None) -> None:
        """A value is iterated over, by a loop or by `next()`."""

    @abstractmethod
    def yielded(self, value: Value, site: Site, exact: bool) -> None:
        """A generator yields a value. `exact`: one element, rather than a representative of those of `yield from`."""

    @abstractmethod
    def returned(self, value: Value, site: Site) -> None:
        """A function returns a value."""

    @abstractmethod
    def escaped(self, value: Value, how: str, site: Site) -> None:
        """A value escapes to where it is not followed."""

    @abstractmethod
    def attribute_set(self, receiver: Object, name: str, value: Value, site: Site) -> None:
        """An attribute of an object is set."""

    @abstractmethod
    def container_grown(self, container: Items | Mapping, value: Value, site: Site) -> None:
        """A value is added to a container."""

    @abstractmethod
    def container_cleared(self, container: Items | Mapping, site: Site) -> None:
        """A container loses its elements, or is replaced."""

    @abstractmethod
    def collected(self, value: Value, site: Site) -> None:
        """A value becomes an element of a comprehension."""

    @abstractmethod
    def dropped(self, value: Value, call: ir.Call) -> None:
        """The result of a call is not used."""

    @abstractmethod
    def main_program_reached(self) -> None:
        """The program reaches `if __name__ == "__main__":`."""
