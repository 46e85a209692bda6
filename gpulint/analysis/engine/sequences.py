"""Lists, tuples and sets: adding and removing elements, and other methods."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpulint.analysis.domain.context import Loop, callers
from gpulint.analysis.domain.lengths import most_items
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.engine.iteration import elements
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site

MAX_ITEMS = 256
"""Maximum length of a sequence whose elements are kept individually."""

EMPTYING = frozenset({"clear", "pop", "popleft"})
"""Methods that take elements out of a sequence."""


def clear(machine: Machine, receiver: Items, site: Site) -> None:
    """Record that a list loses its elements, or some of them."""
    machine.library.container_cleared(receiver, site)
    machine.state.write(receiver.state, "items", None if receiver.items else receiver.items)
    machine.state.write(receiver.state, "element", None)


def extend(machine: Machine, receiver: Items, value: Value, site: Site) -> None:
    """Add the elements of a value to a list."""
    machine.library.container_grown(receiver, value, site)
    items, element = elements(machine, value, site)
    present = receiver.items
    fits = items is not None and present is not None and len(present) + len(items) <= MAX_ITEMS
    if fits and not _comes_again(machine, receiver):
        machine.state.write(receiver.state, "items", (*(present or ()), *(items or ())))
        return
    _blur(machine, receiver, one_of(items, element))


def _comes_again(machine: Machine, receiver: Items) -> bool:
    """Whether the present statement is in a loop that is not unrolled, and the list was created outside it."""
    return any(not loop.unrolled for loop in loops_since(receiver.around or (), machine.context.loops))


def rebound(machine: Machine, value: Value, site: Site) -> None:
    """Treat `itself + more`, assigned to a list, as if `more` were appended."""
    for _, option in alternatives(value, machine.path):
        if isinstance(option, Items) and option.joined is not None:
            before, more = option.joined
            option.around = before.around
            machine.library.container_grown(option, more, site)
            if _comes_again(machine, option):
                _blur(machine, option, one_of(more.items, more.element))


def one_of(items: Sequence[Value] | None, element: Value | None) -> Value | None:
    """Value that represents each of several elements: the first, unless they are different constants."""
    if element is not None or not items:
        return element
    constants = [item.value for item in items if isinstance(item, Constant)]
    return None if any(value != constants[0] for value in constants) else items[0]


def append(machine: Machine, receiver: Items, value: Value, site: Site) -> None:
    machine.library.container_grown(receiver, value, site)
    present = receiver.items
    if present is not None and len(present) < MAX_ITEMS and not _comes_again(machine, receiver):
        machine.state.write(receiver.state, "items", (*present, value))
    else:
        grown = _grown(machine, receiver, site)
        _blur(machine, receiver, value)
        machine.state.write(receiver.state, "grown", grown)


def _grown(machine: Machine, receiver: Items, site: Site) -> frozenset[tuple[object, int]] | None:
    """What adds elements to a list, with their maximum numbers, where one element is appended in each iteration of the
    present loops; None if it is unknown how many there are."""
    before = most_items(receiver)
    loops = loops_since(receiver.around or (), machine.context.loops)
    counts = [most_items(loop.iterable) for loop in loops if loop.iterable is not None]
    if before is None or not loops or len(counts) < len(loops) or receiver.around is None:
        return None
    known = receiver.grown if receiver.items is None else None
    chain = tuple(caller.site for caller in callers(machine.where().caller))
    appended = (site, loops[0].entry, chain), math.prod(one for one in counts if one is not None)
    return (known or frozenset({((), before)})) | {appended} if None not in counts else None


def loops_since(before: tuple[Loop, ...], present: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """Loops that were entered, or reached another iteration, since the loops `before`."""
    same = 0
    for one, other in zip(before, present, strict=False):
        if (one.entry, one.iteration) != (other.entry, other.iteration):
            break
        same += 1
    return present[same:]


def _blur(machine: Machine, receiver: Items, value: Value | None) -> None:
    """Reduce a list to an unknown number of elements, each like `value` if they are of one kind."""
    before = receiver.element if receiver.items is None else (receiver.items[0] if receiver.items else value)
    alike = before is not None and value is not None and type(before) is type(value)
    if alike and isinstance(before, Constant) and isinstance(value, Constant):
        alike = before.value == value.value
    empty = receiver.items == () or (receiver.items is None and before is None)
    machine.state.write(receiver.state, "items", None)
    machine.state.write(receiver.state, "element", value if alike or empty else None)
    machine.state.write(receiver.state, "grown", None)


def replace_one(machine: Machine, receiver: Items, value: Value) -> None:
    """Set an element of a list whose index is unknown. What `[0] * n` contains is only there to be replaced."""
    present = receiver.items if receiver.items is not None else (receiver.element,)
    is_blank = all(one is None or (isinstance(one, Constant) and not one.value) for one in present)
    is_alike = all(type(one) is type(value) for one in present) and not isinstance(value, Constant)
    fits = machine.library.is_same_for_all(value) or (machine.library.is_tracked(value) and is_blank) or is_alike
    machine.state.write(receiver.state, "items", None)
    machine.state.write(receiver.state, "element", value if fits else None)


def sequence_method(machine: Machine, receiver: Items, name: str, arguments: Arguments, site: Site) -> Value:
    value = arguments.get("", 0)
    if name in ("append", "add", "appendleft") and value is not None:
        append(machine, receiver, machine.choose(value), site)
        return NONE
    if name == "insert" and len(arguments.positional) == 2:
        append(machine, receiver, machine.choose(arguments.positional[1]), site)
        if receiver.items is not None:
            *others, last = receiver.items
            place = value.value if isinstance(value, Constant) else None
            if isinstance(place, int):
                others.insert(place, last)
                machine.state.write(receiver.state, "items", tuple(others))
            else:
                _blur(machine, receiver, one_of(receiver.items, None))
        return NONE
    if name in ("extend", "update") and value is not None:
        extend(machine, receiver, machine.choose(value), site)
        return NONE
    if name == "clear":
        clear(machine, receiver, site)
        machine.state.write(receiver.state, "items", ())
        return NONE
    if name in EMPTYING:
        machine.library.container_cleared(receiver, site)
        items = receiver.items
        popped = items[-1] if items else receiver.element
        if items:
            machine.state.write(receiver.state, "items", items[:-1])
        return popped or Unknown(("pop", site))
    if name == "copy":
        return Items(receiver.kind, receiver.items, receiver.element, receiver.symbol)
    if name == "reverse" and receiver.items is not None:
        machine.state.write(receiver.state, "items", receiver.items[::-1])
        return NONE
    if name in ("sort", "reverse", "remove", "discard"):
        if receiver.items is not None:
            _blur(machine, receiver, one_of(receiver.items, None))
        return NONE
    return Unknown(("call", ("attribute", symbol_of(receiver), name), tuple(symbol_of(v) for v in arguments.all())))


def concatenate(left: Items, right: Items) -> Items:
    """Value of `left + right` for two sequences."""
    name = ("+", symbol_of(left), symbol_of(right))
    if left.items is not None and right.items is not None and len(left.items) + len(right.items) <= MAX_ITEMS:
        made = Items(left.kind, left.items + right.items, None, name)
    else:
        made = Items(left.kind, None, left.element or (left.items[0] if left.items else None), name)
    lengths = [most_items(one) for one in (left, right)]
    made.most = sum(one for one in lengths if one is not None) if None not in lengths else None
    made.joined = left, right
    return made


def repeat(left: Items, count: object) -> Items:
    """Value of `left * count` for a sequence."""
    if left.items is not None and isinstance(count, int) and 0 <= len(left.items) * count <= MAX_ITEMS:
        return Items(left.kind, left.items * count, None, ("*", symbol_of(left), count))
    return Items(left.kind, None, left.items[0] if left.items else left.element, ("*", symbol_of(left)))
