"""Functions, classes and modules of the program."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.symbolic import symbol
from gpulint.analysis.domain.values.base import Arguments, Constant, LibraryName, Unknown, Value
from gpulint.places import Site
from gpulint.syntax import ir


class ModuleValue(Value):
    """A module of the project."""

    __slots__ = ("scope",)

    def __init__(self, scope: ModuleScope) -> None:
        self.scope = scope


class Namespace(Value):
    """The names of a module of the project as a dict: `globals()`, `vars(module)`."""

    __slots__ = ("scope", "symbol")

    def __init__(self, scope: ModuleScope) -> None:
        self.scope = scope
        self.symbol = symbol(("namespace", scope.path))


class Function(Value):
    """A function of the program with the scopes it closes over, innermost first."""

    __slots__ = ("closure", "defaults", "definition", "injected", "memoized", "module", "name", "opaque", "owner")

    def __init__(
        self,
        definition: ir.FunctionDef | ir.Lambda,
        module: ModuleScope,
        closure: tuple[dict[str, Value], ...],
        defaults: dict[str, Value],
        owner: UserClass | None = None,
    ) -> None:
        self.definition = definition
        self.module = module
        self.closure = closure
        self.defaults = defaults
        self.owner = owner
        self.opaque = False
        """Behind a decorator that gpulint does not know (it may trace)."""
        self.memoized = False
        """Behind `functools.cache` or its like: it runs once for the same arguments."""
        self.injected = False
        """Arguments that nobody writes are given by a library (gin, sacred)."""
        self.name = definition.name if isinstance(definition, ir.FunctionDef) else "<lambda>"

    def behind(self, opaque: bool = False, memoized: bool = False, injected: bool = False) -> Function:
        """It, behind one more decorator."""
        decorated = Function(self.definition, self.module, self.closure, self.defaults, self.owner)
        decorated.opaque, decorated.memoized = self.opaque or opaque, self.memoized or memoized
        decorated.injected = self.injected or injected
        return decorated


class Traced(Value):
    """A function wrapped in `tf.function`; `site` is where."""

    __slots__ = ("function", "has_signature", "jit", "site")

    def __init__(self, function: Value, site: Site, jit: Value, has_signature: bool = False) -> None:
        self.function = function
        self.site = site
        self.jit = jit
        self.has_signature = has_signature
        """It has an `input_signature`, so that it is traced once."""


class ContextManagerFunction(Value):
    """A generator function decorated with `contextlib.contextmanager`."""

    __slots__ = ("function",)

    def __init__(self, function: Value) -> None:
        self.function = function


class Partial(Value):
    """`functools.partial(function, …)`."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: Value, arguments: Arguments) -> None:
        self.function = function
        self.arguments = arguments


class Factory(Value):
    """What makes the default of a field for each instance: `dataclasses.field(default_factory=function)`."""

    __slots__ = ("function",)

    def __init__(self, function: Value) -> None:
        self.function = function


class Bound(Value):
    """A method of something: a `Function` of a user class, or the name of a library or builtin method."""

    __slots__ = ("method", "receiver")

    def __init__(self, receiver: Value, method: Value | str) -> None:
        self.receiver = receiver
        self.method = method


class UserClass(Value):
    """A class of the program. `bases` are values; `namespace` holds what its body bound."""

    __slots__ = ("_lineage", "bases", "definition", "module", "name", "namespace")

    def __init__(
        self,
        definition: ir.ClassDef,
        module: ModuleScope,
        bases: tuple[Value, ...],
        namespace: dict[str, Value],
    ) -> None:
        self.definition = definition
        self.module = module
        self.bases = bases
        self.namespace = namespace
        self.name = definition.name
        self._lineage: tuple[Value, ...] | None = None

    @property
    def lineage(self) -> tuple[Value, ...]:
        """It and its bases at any remove, each once, in the order in which Python asks them: a class before its bases,
        the bases from the left. They are followed through MAX_CLASS_DEPTH classes."""
        if self._lineage is None:
            seen: set[int] = set()
            done: list[Value] = []
            pending: list[tuple[Value, int, bool]] = [(self, 0, False)]
            while pending:
                one, depth, is_done = pending.pop()
                if is_done:
                    done.append(one)
                elif id(one) not in seen:
                    seen.add(id(one))
                    pending.append((one, depth, True))
                    if isinstance(one, UserClass) and depth < MAX_CLASS_DEPTH:
                        pending += [(base, depth + 1, False) for base in one.bases]
            self._lineage = tuple(reversed(done))
        return self._lineage

    def find(self, name: str) -> tuple[Value, UserClass] | None:
        """The attribute and the class that defines it."""
        return next(((one.namespace[name], one) for one in self.classes if name in one.namespace), None)

    def find_beyond(self, cls: UserClass, name: str) -> Value | None:
        """The attribute as `super()` in a method of `cls` finds it, on an instance of this class."""
        classes = self.classes
        after = classes[classes.index(cls) + 1 :] if cls in classes else cls.classes[1:]
        return next((one.namespace[name] for one in after if name in one.namespace), None)

    @property
    def classes(self) -> tuple[UserClass, ...]:
        """The classes of the program in its lineage."""
        return tuple(one for one in self.lineage if isinstance(one, UserClass))

    def libraries(self) -> list[str]:
        """Canonical names of the library classes that it inherits from, at any remove."""
        return [one.name for one in self.lineage if isinstance(one, LibraryName)]

    @property
    def is_private(self) -> bool:
        """Whether it inherits from a class of TensorFlow's private copy of Keras 2."""
        return any(one.is_private for one in self.lineage if isinstance(one, LibraryName))

    @property
    def is_open(self) -> bool:
        """Whether a base is unknown, so that attributes may come from there."""
        return not all(isinstance(one, (UserClass, LibraryName)) for one in self.lineage)


MAX_CLASS_DEPTH = 12
"""Longest chain of base classes that is followed."""


class Descriptor(Value):
    """A function in a class body behind `property`, `staticmethod` or `classmethod` (`kind`), and the setter of a
    property."""

    __slots__ = ("function", "kind", "setter")

    def __init__(self, kind: str, function: Value, setter: Value | None = None) -> None:
        self.kind = kind
        self.function = function
        self.setter = setter


class Super(Value):
    """`super()` in a method of `cls`, called on `receiver`."""

    __slots__ = ("cls", "receiver")

    def __init__(self, cls: UserClass, receiver: Value) -> None:
        self.cls = cls
        self.receiver = receiver


def function_of(value: Value) -> Function | None:
    """The function of the program that a method, a partial or a `tf.function` calls."""
    if isinstance(value, Bound):
        return function_of(value.method) if isinstance(value.method, Value) else None
    if isinstance(value, (Partial, Traced)):
        return function_of(value.function)
    return value if isinstance(value, Function) else None


def same(a: Any, b: Any) -> bool:
    """Whether two values are certainly the same one, or made alike of the same: a method that was looked up twice, a
    function that one place wrapped again."""
    if a is b:
        return True
    if isinstance(a, Value) or isinstance(b, Value):
        if type(a) is not type(b):
            return False
        if isinstance(a, Constant):
            return type(a.value) is type(b.value) and bool(a.value == b.value)
        if isinstance(a, Unknown):
            return bool(a.symbol == b.symbol)
        if isinstance(a, Bound):
            return a.receiver is b.receiver and same(a.method, b.method)
        if isinstance(a, Traced):
            return a.site == b.site and same(a.function, b.function) and same(a.jit, b.jit)
        return isinstance(a, LibraryName) and bool(a.name == b.name)
    return bool(a == b)
