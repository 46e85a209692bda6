"""Strings: formatting, concatenation and methods."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpulint.analysis.domain.values.base import Arguments, Constant, PartialString, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.engine.budget import ELEMENTS_PER_STEP
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site
from gpulint.syntax import ir

MAX_STRING = 10_000
"""Maximum length of a string that is kept."""

MAX_BITS = 16_000
"""Size of the largest integer that constant folding computes with, more than any that Python converts to text."""

MAX_DIGITS = 9
"""Maximum number of digits of an argument's index in a template."""

_FIELD = re.compile(r"\{([^{}:!]*)((?:[:!][^{}]*)?)\}")

_PERCENT = re.compile(r"%%|%(?:\((\w+)\))?([-+ #0]*(?:[1-9]\d*)?(?:\.\d+)?[a-zA-Z])")

_WIDE = re.compile(r"\d{4}")
"""Matches a format field too wide to be written out."""


def is_small(value: object) -> bool:
    """Whether constant folding computes with a value. A literal can be as long as its file; with such, some operations
    take quadratic time, and each keeps a copy."""
    if isinstance(value, (str, bytes)):
        return len(value) <= MAX_STRING
    return not isinstance(value, int) or value.bit_length() <= MAX_BITS


def formatted(template: str, arguments: Arguments, site: Site) -> Value:
    parts: list[str | None] = []
    position, last, length = 0, 0, 0
    for match in _FIELD.finditer(template):
        parts.append(template[last : match.start()])
        last = match.end()
        field = match[1]
        is_index = field.isdecimal() and len(field) <= MAX_DIGITS
        index = int(field) if is_index else position if field == "" else None
        position += field == ""
        value = arguments.get(field, index)
        parts.append(_spelled(value, f"{{0{match[2]}}}", str.format) if length <= MAX_STRING else None)
        length += len(parts[-1] or "")
    parts.append(template[last:])
    return _joined(parts, site, arguments.all(), tuple(symbol_of(value) for value in arguments.all()))


def written(value: Value | None) -> str | None:
    """`str(value)` if it is known, else None."""
    if not isinstance(value, Constant):
        return None
    try:
        return str(value.value)
    except ValueError:  # an integer with more digits than Python converts
        return None


def _spelled(value: Value | None, field: str, spell: Callable[[str, object], str]) -> str | None:
    """A value formatted by a field of a template, or None if it is unknown."""
    if not isinstance(value, Constant) or _WIDE.search(field):
        return None
    try:
        return spell(field, value.value)
    except (TypeError, ValueError, OverflowError):
        return None


def format_percent(machine: Machine, template: str, value: Value, node: ir.Node) -> Value:
    """Value of `template % value`."""
    if len(template) > MAX_STRING:
        return Unknown(("binary", "%", symbol_of(value)))
    machine.spend(len(template) // ELEMENTS_PER_STEP)
    values = list(value.items) if isinstance(value, Items) and value.items is not None else [value]
    is_list = isinstance(value, Items) and value.kind != "tuple"
    left = iter(values)
    parts: list[str | None] = []
    last = length = 0
    for match in _PERCENT.finditer(template):
        parts.append(template[last : match.start()])
        last = match.end()
        if match[0] == "%%":
            parts.append("%")
            continue
        key, field = match.groups()
        given = next(left, None) if key is None else value.entries.get(key) if isinstance(value, Mapping) else None
        if isinstance(given, Value):
            machine.library.value_read(given, "format", node)
        parts.append(None if is_list or length > MAX_STRING else _spelled(given, f"%{field}", str.__mod__))
        length += len(parts[-1] or "")
    parts.append(template[last:])
    return _joined(parts, machine.site(node), values, symbol_of(value))


def names_of(values: Iterable[Value]) -> tuple[str, ...]:
    """Variables that the parts of a string passed through."""
    return tuple(name for value in values if isinstance(value, Constant) for name in value.named)[:8]


def string(parts: Iterable[str | None], site: Site, named: tuple[str, ...] = ()) -> Value:
    """The string composed of these parts, unless it is too long."""
    pieces = [part for part in parts if part]
    if sum(map(len, pieces)) > MAX_STRING:
        return Unknown(("string", site))
    return Constant("".join(pieces), site, named)


def _joined(parts: Sequence[str | None], site: Site, values: Iterable[Value], symbol: Any) -> Value:
    if None not in parts:
        return string(parts, site, names_of(values))
    return PartialString(tuple(parts), ("text", tuple(parts), symbol))


def of_string(machine: Machine, receiver: Constant, name: str, arguments: Arguments, site: Site) -> Value:
    text: Any = receiver.value
    given = [value.value for value in arguments.positional if isinstance(value, Constant)]
    if len(given) == len(arguments.positional) and not arguments.keywords and not arguments.open:
        if name in (
            "lower",
            "upper",
            "strip",
            "lstrip",
            "rstrip",
            "replace",
            "startswith",
            "endswith",
            "split",
            "title",
        ):
            if sum(len(one) for one in (text, *given) if isinstance(one, str)) > MAX_STRING:
                return Unknown(("string", site))
            texts = [one for one in given if isinstance(one, str)]
            if name == "replace" and len(texts) > 1 and text.count(texts[0]) * len(texts[1]) > MAX_STRING:
                return Unknown(("string", site))
            if name == "split":
                machine.spend(len(text) // ELEMENTS_PER_STEP)
            try:
                result = getattr(text, name)(*given)
            except (TypeError, ValueError, OverflowError):
                return Unknown(("string", site))
            if isinstance(result, list):
                return Items("list", tuple(Constant(part) for part in result))
            return (
                string([result], site, receiver.named)
                if isinstance(result, str)
                else Constant(result, site, receiver.named)
            )
    if name == "join" and arguments.positional:
        joined = arguments.positional[0]
        machine.spend_on(joined)
        pieces = [written(item) for item in joined.items or ()] if isinstance(joined, Items) else [None]
        if None not in pieces and isinstance(joined, Items) and joined.items is not None:
            if len(text) * len(pieces) + sum(len(piece or "") for piece in pieces) > MAX_STRING:
                return Unknown(("string", site))
            whole = text.join(piece or "" for piece in pieces)
            return string([whole], site, names_of((receiver, *joined.items)))
    return Unknown(("call", ("attribute", symbol_of(receiver), name), tuple(symbol_of(v) for v in arguments.all())))
