"""Command-line options of a program, as declared with `argparse`."""

from __future__ import annotations

from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import Arguments, Constant, LibraryName, Unknown, Value
from gpulint.analysis.engine.machine import Machine

_NUMBERS = {"builtins.int": "int", "builtins.float": "float"}


def add_option(machine: Machine, arguments: Arguments) -> None:
    """Record the type of an option that `parser.add_argument(…)` declares."""
    kind = arguments.keywords.get("type")
    given = [value.value for value in arguments.positional if isinstance(value, Constant)]
    flags = [flag for flag in given if isinstance(flag, str)]
    if not flags or len(flags) < len(arguments.positional):
        return
    name = arguments.keywords.get("dest")
    long = next((flag for flag in flags if flag.startswith("--")), flags[0])
    dest = name.value if isinstance(name, Constant) else long.lstrip("-").replace("-", "_")
    machine.library_state.options[dest] = _NUMBERS.get(kind.name) if isinstance(kind, LibraryName) else None


def number_type(machine: Machine, value: Value) -> str | None:
    """Type of an option in the result of `parse_args`: "int" or "float", or None for any other value."""
    if type(value) is not Unknown or value.symbol.parts[0] != "attribute":
        return None
    owner, name = value.symbol.parts[1], value.symbol.parts[2]
    is_parsed = isinstance(owner, Symbol) and not owner.words.isdisjoint(("parse_args", "parse_known_args"))
    return machine.library_state.options.get(name) if is_parsed else None
