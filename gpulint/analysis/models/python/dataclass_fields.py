"""Attributes set by generated constructors: `dataclasses`, `NamedTuple`, attrs, pydantic and namespaces."""

from __future__ import annotations

from collections.abc import Callable

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, Unknown, Value
from gpulint.analysis.domain.values.containers import Mapping
from gpulint.analysis.domain.values.functions import Factory, UserClass
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site
from gpulint.syntax import ir


def field(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `dataclasses.field(…)` and similar functions: the default, or a factory called once per instance."""
    factory = arguments.get("default_factory") or arguments.get("factory")
    if factory is not None:
        return Factory(machine.choose(factory))
    return arguments.get("default", 0) or Unknown(("field", site))


def factory(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `attr.Factory(…)`."""
    return Factory(machine.choose(arguments.get("factory", 0) or NONE))


def namespace(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `types.SimpleNamespace(…)` and similar classes: an object with these attributes."""
    made = Instance(site, machine.where())
    given = machine.choose(arguments.positional[0]) if arguments.positional else None
    for name, value in {**(given.entries if isinstance(given, Mapping) else {}), **arguments.keywords}.items():
        machine.state.write(made.attributes, str(name), value)
    return made


def is_settings(called: Symbol, arguments: Arguments) -> bool:
    """Whether a call of what `collections.namedtuple` returned names all its values, some of them constants, as that of
    a program's settings does."""
    is_tuple = called.parts[0] == "call" and symbol(called.parts[1]).parts == ("external", "collections.namedtuple")
    given = arguments.keywords.values()
    return is_tuple and not arguments.positional and any(isinstance(one, Constant) for one in given)


def with_fields(*names: str) -> Callable[[Machine, Arguments, Site], Value]:
    """Constructor of a library's class whose arguments become attributes of these names."""

    def construct(machine: Machine, arguments: Arguments, site: Site) -> Value:
        made = Instance(site, machine.where())
        for position, name in enumerate(names):
            if (value := arguments.get(name, position)) is not None:
                machine.state.write(made.attributes, name, value)
        return made

    return construct


def fill(machine: Machine, cls: UserClass, made: Object, arguments: Arguments, site: Site) -> None:
    """Run the generated constructor: assign the fields in the order of their annotations, those of bases first.

    If a base is unknown, such as a `namedtuple(…)`, keyword arguments are taken for fields.
    """
    for position, (name, (annotation, module)) in enumerate(_fields(cls).items()):
        value = arguments.get(name, position)
        if value is None and arguments.open:
            value = machine.annotated(annotation, module, site)
        elif value is None:
            found = cls.find(name)
            value = found[0] if found is not None else None
            if isinstance(value, Factory):
                value = machine.call(value.function, Arguments(), site)
        if not isinstance(value, Value):
            value = Unknown(("field", made.symbol, name))
        machine.state.write(made.attributes, name, value)
    if cls.is_open:
        for name, value in arguments.keywords.items():
            machine.state.write(made.attributes, name, value)
    if (after := cls.find("__post_init__")) is not None:
        machine.call_method(made, after[0], Arguments((), {}, arguments.open), site)


def _fields(cls: UserClass) -> dict[str, tuple[ir.Expr | None, ModuleScope]]:
    """Fields of a class and its bases, class attributes with an annotation or a factory: the annotation and the module
    that it is in, by name."""
    fields: dict[str, tuple[ir.Expr | None, ModuleScope]] = {}
    for one in reversed(cls.classes):
        for statement in one.definition.body:
            if isinstance(statement, ir.Assign) and isinstance(target := statement.targets[0], ir.Name):
                if statement.annotation is not None or isinstance(one.namespace.get(target.id), Factory):
                    fields[target.id] = statement.annotation, one.module
    return fields
