"""What libraries do with values, as the engine asks for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.values.base import Arguments, LibraryName, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Traced, UserClass
from gpulint.analysis.domain.values.managers import Manager
from gpulint.places import Site
from gpulint.syntax import ir


class LibrarySemantics(ABC):
    """What names, objects and operators of libraries do.

    The first group of methods gives values, or None where the libraries have nothing to say of such a value; the second
    only observes what the program does.
    """

    words: frozenset[str]
    """Words in the names of what libraries do that is worth following."""

    # ------------------------------------------------------------------------- values

    @abstractmethod
    def name(self, dotted: str, package: str = "") -> LibraryName:
        """A name of a library by its canonical dotted name; `package` is the one that the program has it from, by
        default the outermost of `dotted`."""

    @abstractmethod
    def call_name(self, function: LibraryName, arguments: Arguments, site: Site) -> Value:
        """Result of calling a library's function or class."""

    @abstractmethod
    def call_method(self, receiver: Value, name: str, arguments: Arguments, site: Site) -> Value:
        """Result of `receiver.name(…)`, where no class of the program defines the method."""

    @abstractmethod
    def call_value(self, function: Value, arguments: Arguments, site: Site) -> Value:
        """Result of calling an object, or a value of which nothing is known."""

    @abstractmethod
    def call_traced(self, function: Traced, arguments: Arguments, site: Site, receiver: Value | None = None) -> Value:
        """Result of calling a function that a library compiles."""

    @abstractmethod
    def instantiate(self, cls: UserClass, arguments: Arguments, site: Site) -> Value:
        """Instance of a class of the program, which may derive from one of a library."""

    @abstractmethod
    def instance_of(self, cls: LibraryName, site: Site) -> Value | None:
        """What stands for an instance of a library's class that was created elsewhere."""

    @abstractmethod
    def is_instance(self, value: Object, kind: Value) -> bool | None:
        """Whether a library's object is of a class; None where that is not known."""

    @abstractmethod
    def get_attribute(self, receiver: Value, name: str, node: ir.Node) -> Value | None:
        """`receiver.name` of a value that is neither Python's own nor an object."""

    @abstractmethod
    def get_object_attribute(self, receiver: Object, name: str, node: ir.Node) -> Value:
        """`receiver.name` of an object, where neither it nor a class of the program has the attribute."""

    @abstractmethod
    def get_item(self, container: Value, key: Value, node: ir.Node) -> Value | None:
        """`container[key]`."""

    @abstractmethod
    def get_slice(self, container: Value, bounds: tuple[Value, ...], node: ir.Node) -> Value | None:
        """`container[lower:upper:step]`."""

    @abstractmethod
    def set_item(self, container: Value, key: Value, value: Value, site: Site) -> Value | None:
        """What a container is after `container[key] = value`; None where it is what it was."""

    @abstractmethod
    def unpack(self, value: Value, index: int, site: Site) -> Value | None:
        """Part of a value that goes to a target of an assignment to several."""

    @abstractmethod
    def iterate(self, iterable: Value, node: ir.Node) -> Value | None:
        """What stands for the elements of a loop over a value."""

    @abstractmethod
    def element_of(self, value: Value, site: Site) -> Value | None:
        """What stands for the elements of a value that a builtin iterates over."""

    @abstractmethod
    def generated(self, element: Value) -> Value:
        """What a loop gets of an element that a generator of the program yields."""

    @abstractmethod
    def in_turn(self, element: Value, turn: int) -> Value:
        """What stands for an element of a loop in one of its iterations."""

    @abstractmethod
    def comprehended(self, element: Value) -> Value | None:
        """A list of all that an element stands for."""

    @abstractmethod
    def operate(self, sign: str, operands: tuple[Value, ...], node: ir.Node) -> Value | None:
        """Result of an operator with one or two operands."""

    @abstractmethod
    def update_in_place(self, target: Value, sign: str, value: Value, node: ir.Node) -> bool:
        """Whether `target += value` and its like change the target itself."""

    @abstractmethod
    def compare(self, left: Value, sign: str, right: Value, node: ir.Node) -> Value | None:
        """Result of a comparison by value."""

    @abstractmethod
    def as_array(self, value: Value) -> Value:
        """A value of which the program asks what only an array has: a comparison of arrays is no bool."""

    @abstractmethod
    def convert(self, kind: str, value: Value, site: Site) -> Value | None:
        """Result of `int(value)` and `float(value)`."""

    @abstractmethod
    def total(self, first: Value, values: tuple[Value, ...], site: Site) -> Value | None:
        """Result of `sum()` over several values; `first` stands for all of them."""

    @abstractmethod
    def decorate(self, decorator: Value, defined: Value, node: ir.Expr) -> Value:
        """What a decorator makes of a function or a class."""

    @abstractmethod
    def has_name(self, dotted: str, package: str) -> bool:
        """Whether the targeted releases still have a dotted name."""

    @abstractmethod
    def any_member(self, module: LibraryName) -> LibraryName | None:
        """What stands for whichever member of a module the program picks at run time."""

    @abstractmethod
    def from_star(self, modules: Sequence[str], name: str) -> Value | None:
        """What a name is that star imports of these modules may have bound."""

    @abstractmethod
    def enter(self, manager: Manager, site: Site) -> Value:
        """Make what a manager does part of the present context; what `as` binds."""

    @abstractmethod
    def enter_unknown(self, manager: Value, site: Site) -> Value:
        """The same of a value that is no known manager."""

    @abstractmethod
    def leave(self, manager: Manager) -> None:
        """Leave a manager that was entered by hand."""

    @abstractmethod
    def has_no_effect_on(self, body: Sequence[ir.Statement], manager: Value, site: Site) -> bool:
        """Whether entering a manager changes nothing for a body."""

    @abstractmethod
    def is_first(self, manager: Value) -> bool:
        """Whether a manager is the one to follow first of several that the program may enter."""

    @abstractmethod
    def is_tracked(self, value: Value) -> bool:
        """Whether a function that is given such a value may do something of note with it."""

    @abstractmethod
    def is_same_for_all(self, value: Value) -> bool:
        """Whether a list that gets such a value at one place gets one at each."""

    # ----------------------------------------------------------------------- observers

    @abstractmethod
    def name_used(self, dotted: str, package: str, site: Site) -> None:
        """A dotted name of a library is read."""

    @abstractmethod
    def imported(self, dotted: str, site: Site) -> None:
        """A module of a library, or a name of one, is imported."""

    @abstractmethod
    def function_called(self, name: str, owner: str, arguments: Arguments, site: Site) -> None:
        """A function of the program is called; `owner` is the name of its class."""

    @abstractmethod
    def method_called(self, receiver: Value, method: Value, arguments: Arguments, site: Site) -> None:
        """A method of the program's own class is called."""

    @abstractmethod
    def bound(self, value: Value) -> None:
        """A value becomes a parameter of a function of the program."""

    @abstractmethod
    def value_read(self, value: Value, how: str, place: ir.Node | Site) -> None:
        """The program looks at the content of a value."""

    @abstractmethod
    def value_used(self, value: Value, site: Site) -> None:
        """A value decides what the program does next, as an index does."""

    @abstractmethod
    def loop_decided(self, guard: Path, site: Site) -> None:
        """Conditions decide whether a loop goes on."""

    @abstractmethod
    def iterated(self, iterable: Value, how: str, site: Site, loop: Site | None) -> None:
        """A value is iterated over, by a loop or by `next()`."""

    @abstractmethod
    def yielded(self, value: Value, site: Site) -> None:
        """A generator yields a value."""

    @abstractmethod
    def returned(self, value: Value, site: Site) -> None:
        """A function returns a value."""

    @abstractmethod
    def escaped(self, value: Value, how: str, site: Site) -> None:
        """A value goes where it is not followed."""

    @abstractmethod
    def attribute_set(self, receiver: Object, name: str, value: Value, site: Site) -> None:
        """An attribute of an object is set."""

    @abstractmethod
    def container_grown(self, container: Items | Mapping, value: Value, site: Site) -> None:
        """A value is put into a container."""

    @abstractmethod
    def container_cleared(self, container: Items | Mapping, site: Site) -> None:
        """A container loses its elements, or is replaced."""

    @abstractmethod
    def collected(self, value: Value, site: Site) -> None:
        """A value becomes an element of what a comprehension makes."""

    @abstractmethod
    def dropped(self, value: Value, site: Site) -> None:
        """Nobody uses the result of a call."""

    @abstractmethod
    def main_program_reached(self) -> None:
        """The program comes to `if __name__ == "__main__":`."""
