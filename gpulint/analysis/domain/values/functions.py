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
    """Names of a project module as a dict: `globals()`, `vars(module)`."""

    __slots__ = ("scope", "symbol")

    def __init__(self, scope: ModuleScope) -> None:
        self.scope = scope
        self.symbol = symbol(("namespace", scope.path))


class Function(Value):
    """A function of the program with the scopes that it closes over, innermost first."""

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
        """Has an unknown decorator, which may trace it."""
        self.memoized = False
        """Has `functools.cache` or a similar decorator: it runs once for the same arguments."""
        self.injected = False
        """A library (gin, sacred) supplies arguments that no caller writes."""
        self.name = definition.name if isinstance(definition, ir.FunctionDef) else "<lambda>"

    @property
    def definition_site(self) -> Site:
        """Place of its definition."""
        return Site(self.module.path, self.definition.number)

    def behind(self, opaque: bool = False, memoized: bool = False, injected: bool = False) -> Function:
        """The function with one more decorator."""
        decorated = Function(self.definition, self.module, self.closure, self.defaults, self.owner)
        decorated.opaque, decorated.memoized = self.opaque or opaque, self.memoized or memoized
        decorated.injected = self.injected or injected
        return decorated


class Traced(Value):
    """A function wrapped in `tf.function` at `site`."""

    __slots__ = ("function", "has_signature", "jit", "site")

    def __init__(self, function: Value, site: Site, jit: Value, has_signature: bool = False) -> None:
        self.function = function
        self.site = site
        self.jit = jit
        self.has_signature = has_signature
        """Has an `input_signature`, so that it is traced once."""


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
    """Default factory of a field, called for each instance: `dataclasses.field(default_factory=function)`."""

    __slots__ = ("function",)

    def __init__(self, function: Value) -> None:
        self.function = function


class Bound(Value):
    """A bound method: a `Function` of a user class, or the name of a library or built-in method."""

    __slots__ = ("method", "receiver")

    def __init__(self, receiver: Value, method: Value | str) -> None:
        self.receiver = receiver
        self.method = method


class UserClass(Value):
    """A class of the program. `bases` are values; `namespace` holds the names that its body binds."""

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
        """The class and its direct and indirect bases, each once, in method resolution order: a class before its bases,
        bases from left to right. Chains are followed through at most `MAX_CLASS_DEPTH` classes."""
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
        """An attribute and the class that defines it."""
        return next(((one.namespace[name], one) for one in self.classes if name in one.namespace), None)

    def find_beyond(self, cls: UserClass, name: str) -> Value | None:
        """Attribute that `super()` in a method of `cls` finds on an instance of this class."""
        classes = self.classes
        after = classes[classes.index(cls) + 1 :] if cls in classes else cls.classes[1:]
        return next((one.namespace[name] for one in after if name in one.namespace), None)

    @property
    def classes(self) -> tuple[UserClass, ...]:
        """Classes of the program in the lineage."""
        return tuple(one for one in self.lineage if isinstance(one, UserClass))

    def libraries(self) -> list[str]:
        """Canonical names of the library classes from which it inherits, directly or indirectly."""
        return [one.name for one in self.lineage if isinstance(one, LibraryName)]

    @property
    def is_private(self) -> bool:
        """Whether it inherits from a class of TensorFlow's private copy of Keras 2."""
        return any(one.is_private for one in self.lineage if isinstance(one, LibraryName))

    @property
    def is_open(self) -> bool:
        """Whether a base is unknown and may supply attributes."""
        return not all(isinstance(one, (UserClass, LibraryName)) for one in self.lineage)


MAX_CLASS_DEPTH = 12
"""Maximum length of a chain of base classes."""


class Descriptor(Value):
    """A function in a class body under `property`, `staticmethod` or `classmethod` (`kind`), with the setter of a
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
    """Function of the program that a method, a partial or a `tf.function` calls."""
    if isinstance(value, Bound):
        return function_of(value.method) if isinstance(value.method, Value) else None
    if isinstance(value, (Partial, Traced)):
        return function_of(value.function)
    return value if isinstance(value, Function) else None


def same(a: Any, b: Any) -> bool:
    """Whether two values certainly are the same, or equivalent: a method looked up twice, a function wrapped again at
    the same site."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return not isinstance(a, Value) and not isinstance(b, Value) and bool(a == b)
    if kind is Unknown:
        return bool(a.symbol == b.symbol)
    if kind is Constant:
        return type(a.value) is type(b.value) and bool(a.value == b.value)
    if kind is Bound:
        return a.receiver is b.receiver and same(a.method, b.method)
    if kind is Traced:
        return a.site == b.site and same(a.function, b.function) and same(a.jit, b.jit)
    if kind is LibraryName:
        return bool(a.name == b.name)
    if kind is ModuleValue:
        return a.scope is b.scope
    return not isinstance(a, Value) and bool(a == b)
