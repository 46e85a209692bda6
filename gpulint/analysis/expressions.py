"""What each kind of expression stands for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gpulint.analysis import (
    access,
    builtin,
    calls,
    events,
    gradients,
    host,
    mappings,
    members,
    moments,
    protocols,
    symbols,
    tensors,
)
from gpulint.analysis.contexts import Loop
from gpulint.analysis.control import NORMAL, Halts
from gpulint.analysis.nesting import as_now, gone_over
from gpulint.analysis.paths import Path
from gpulint.analysis.state import MISSING, alternatives, join
from gpulint.analysis.symbols import Symbol
from gpulint.analysis.truth import compare, negate, truth
from gpulint.analysis.values import (
    NONE,
    Arguments,
    Bound,
    Constant,
    Dataset,
    DeviceList,
    Function,
    Instance,
    Items,
    Join,
    ListedDevice,
    Mapping,
    PerReplica,
    Tensor,
    Text,
    Unknown,
    Value,
    Variable,
    named,
    symbol_of,
)
from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

MAX_UNROLL = 8
"""Longest sequence of known elements that a loop or comprehension goes through one by one."""

_ARITHMETIC: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}

_METHODS = {
    "+": "__add__",
    "-": "__sub__",
    "*": "__mul__",
    "/": "__truediv__",
    "//": "__floordiv__",
    "%": "__mod__",
    "@": "__matmul__",
    "**": "__pow__",
    "&": "__and__",
    "|": "__or__",
    "<<": "__lshift__",
    ">>": "__rshift__",
}
"""Methods with which a class of the program defines an operator."""

_ORDERS = frozenset({"<", "<=", ">", ">="})

MAX_FACTOR = 10**8
"""Largest factor with which constant folding multiplies."""


def name(interp: Interpreter, node: ir.Name) -> Value:
    return access.load(interp, node.id, node)


def constant(interp: Interpreter, node: ir.Constant) -> Value:
    return Constant(node.value, interp.site(node))


def fstring(interp: Interpreter, node: ir.FString) -> Value:
    parts: list[str | None] = []
    values: list[Value] = []
    for part in node.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        value = interp.choose(interp.evaluate(part))
        tensors.read(interp, value, "format", part)
        values.append(value)
        parts.append(builtin.written(value) if node.exact else None)
    return text(tuple(parts), values, node, interp)


def text(parts: tuple[str | None, ...], values: list[Value], node: ir.Node, interp: Interpreter) -> Value:
    """A string of these parts: a constant when all are known."""
    if None not in parts:
        return builtin.string(parts, interp.site(node), builtin.names_of(values))
    return Text(parts, ("text", parts, tuple(named for value in values for named in _symbols(value))))


def _symbols(value: Value) -> Iterator[Symbol]:
    """The symbol of a value; of one that conditions choose, those of what it can be and of the conditions."""
    if isinstance(value, Join):
        for guard, option in value.alternatives:
            yield symbol_of(option)
            yield from (one.condition.subject for one in guard if isinstance(one.condition.subject, Symbol))
    else:
        yield symbol_of(value)


def attribute(interp: Interpreter, node: ir.Attribute) -> Value:
    receiver = host.content(_filled_in(interp, node.value, interp.evaluate(node.value)))
    if type(receiver) is not Join:
        return access.attribute(interp, receiver, node.name, node)
    return interp.each(
        receiver,
        lambda option: access.attribute(interp, option, node.name, node),
        node,
    )


def subscript(interp: Interpreter, node: ir.Subscript) -> Value:
    container = host.content(interp.choose(interp.evaluate(node.value)))
    if isinstance(node.index, ir.Slice):
        bounds = tuple(
            interp.evaluate(bound) if bound is not None else NONE
            for bound in (node.index.lower, node.index.upper, node.index.step)
        )
        return interp.each(container, lambda option: access.sliced(interp, option, bounds, node), node)
    index = interp.evaluate(node.index)
    host.used(interp, index, interp.site(node))
    if type(container) is not Join and type(index) is not Join:
        return access.item(interp, container, index, node)
    return interp.each(
        container,
        lambda option: interp.each(index, lambda key: access.item(interp, option, key, node), node),
        node,
    )


def slice_(interp: Interpreter, node: ir.Slice) -> Value:
    bounds = [interp.evaluate(bound) if bound is not None else NONE for bound in (node.lower, node.upper, node.step)]
    return Unknown((symbols.ROWS, interp.site(node), *map(symbol_of, bounds)))


def arguments(interp: Interpreter, nodes: tuple[ir.Argument, ...]) -> Arguments:
    """Evaluate what a call passes."""
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    sites: dict[Any, Any] = {}
    handed_on: dict[str, Any] = {}
    is_open = False
    for node in nodes:
        value = interp.choose(interp.evaluate(node.value))
        if node.star == "*":
            several = [one for _, one in value.alternatives] if isinstance(value, Join) else [value]
            able = [one for one in several if not isinstance(one, Constant) or isinstance(one.value, str)]
            items = able[0].items if len(able) == 1 and isinstance(able[0], Items) else None
            if items is None:
                is_open = True
            else:
                positional += items
        elif node.star == "**":
            if isinstance(value, Mapping):
                keywords |= {str(key): entry for key, entry in value.entries.items()}
                handed_on |= {key: site for key, (one, site) in value.given.items() if keywords.get(key) is one}
                is_open = is_open or not value.state["complete"]
            else:
                is_open = True
        elif node.keyword is not None:
            keywords[node.keyword] = value
            sites[node.keyword] = interp.site(node.value)
        else:
            sites[len(positional)] = interp.site(node.value)
            positional.append(value)
    return Arguments(tuple(positional), keywords, is_open, sites, handed_on)


def _filled_in(interp: Interpreter, node: ir.Expr, value: Value) -> Value:
    """What is used of an object or a module that has None for it. In a function that nobody calls, somebody has filled
    it in before: used as None, it would raise."""
    if isinstance(value, Constant) and value.value is None:
        name = node.name if isinstance(node, ir.Attribute) else None
        if isinstance(node, ir.Name) and node.id not in interp.frame.locals:
            name = node.id
        if name is not None and not interp.frame.caller.known:
            return Unknown(("filled in", interp.frame.module.path, name))
    return value


def call(interp: Interpreter, node: ir.Call) -> Value:
    function = _filled_in(interp, node.function, interp.evaluate(node.function))
    passed = arguments(interp, node.arguments)
    site = interp.site(node)
    if type(function) is not Join:
        return interp.call(function, passed, site)
    return interp.each(
        calls.of_those_that_fit(function, passed),
        lambda option: interp.call(option, passed, site),
        node,
    )


def unary(interp: Interpreter, node: ir.Unary) -> Value:
    operand = interp.choose(interp.evaluate(node.operand))
    if node.operator == "not":
        tensors.read(interp, operand, "bool", node)
        return negate(operand, interp.path)
    if node.operator == "~":
        operand = host.content(operand)
    return interp.each(operand, lambda one: _signed(interp, one, node), node)


def _signed(interp: Interpreter, operand: Value, node: ir.Unary) -> Value:
    """`-operand`, `+operand` or `~operand` of a value that is no join."""
    if isinstance(operand, Constant):
        try:
            if node.operator == "-":
                return Constant(-operand.value, interp.site(node), operand.named)  # type: ignore[operator]
            if node.operator == "+":
                return operand
            return Constant(~operand.value, interp.site(node))  # type: ignore[operator]
        except TypeError:
            pass
    if isinstance(operand, (Tensor, Variable, PerReplica)):
        return tensors.operate(interp, f"operator.{node.operator}", (operand,), node)
    return Unknown(("unary", node.operator, symbol_of(operand)))


def binary(interp: Interpreter, node: ir.Binary) -> Value:
    left = interp.choose(interp.evaluate(node.left))
    right = interp.choose(interp.evaluate(node.right))
    if type(left) is not Join and type(right) is not Join:
        return operate(interp, left, node.operator, right, node)
    return interp.each(
        left,
        lambda a: interp.each(right, lambda b: operate(interp, a, node.operator, b, node), node),
        node,
    )


def operate(interp: Interpreter, left: Value, sign: str, right: Value, node: ir.Node) -> Value:
    """`left sign right` of two values that are no joins."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _fold(interp, left, sign, right, node)
    if sign in ("/", "//") and isinstance(left, Constant) and _is_replica_count(right):
        interp.emit(events.GlobalSizeUsed(interp.site(node), interp.where(), left))
    if isinstance(left, Instance) and left.cls is not None and (own := left.cls.find(_METHODS.get(sign, ""))):
        return interp.call(Bound(left, own[0]), Arguments((right,)), interp.site(node))
    if sign == "%" and isinstance(left, Constant) and isinstance(left.value, str):
        return builtin.format_percent(interp, left.value, right, node)
    left, right = tensors.beside_number(left, right), tensors.beside_number(right, left)
    if tensors.is_computed(left, right):
        return tensors.operate(interp, f"operator.{sign}", (left, right), node)
    if sign == "+":
        if isinstance(left, Items) and isinstance(right, Items):
            return builtin.concatenate(left, right)
        if isinstance(left, (Text, Constant)) and isinstance(right, (Text, Constant)):
            return _concatenate_text(interp, left, right, node)
        for known, other, first in ((left, right, True), (right, left, False)):
            if isinstance(known, Constant) and isinstance(known.value, str) and isinstance(other, Unknown):
                parts = (known.value, None) if first else (None, known.value)
                return Text(parts, ("text", parts, symbol_of(other)))
    if sign == "*" and isinstance(left, Items) and isinstance(right, Constant):
        return builtin.repeat(left, right.value)
    if isinstance(left, Dataset) and sign == "+":
        return left
    return Unknown(("binary", sign, symbol_of(left), symbol_of(right)))


def _is_replica_count(value: Value) -> bool:
    return isinstance(value, Unknown) and value.symbol.parts[0] == "replicas"


def _fold(interp: Interpreter, left: Constant, sign: str, right: Constant, node: ir.Node) -> Value:
    a: Any = left.value
    b: Any = right.value
    if isinstance(a, str) and sign == "%":
        return builtin.format_percent(interp, a, right, node)
    sizes = any(isinstance(v, (str, bytes)) and len(v) > builtin.MAX_STRING for v in (a, b))
    heavy = sign in ("**", "<<", "*") and any(isinstance(v, int) and abs(v) > MAX_FACTOR for v in (a, b))
    if sign in ("**", "<<") and isinstance(b, int) and abs(b) > 64:
        heavy = True
    if not sizes and not heavy and sign in _ARITHMETIC:
        try:
            if not (sign == "*" and isinstance(a, (str, bytes))):
                return Constant(_ARITHMETIC[sign](a, b), interp.site(node), (*left.named, *right.named)[:8])
        except (TypeError, ValueError, ArithmeticError):
            pass
    return Unknown(("binary", sign, symbol_of(left), symbol_of(right)))


def _concatenate_text(interp: Interpreter, left: Value, right: Value, node: ir.Node) -> Value:
    parts: list[str | None] = []
    for side in (left, right):
        if isinstance(side, Text):
            parts += side.parts
        elif isinstance(side, Constant) and isinstance(side.value, str):
            parts.append(side.value)
        else:
            parts.append(None)
    return Text(tuple(parts), ("text", tuple(parts), symbol_of(left), symbol_of(right)))


def boolean(interp: Interpreter, node: ir.Boolean) -> Value:
    """`and` / `or`: the right side is evaluated only on paths where the left one lets it."""
    left = interp.choose(interp.evaluate(node.left))
    tensors.read(interp, left, "bool", node.left)
    wanted = node.operator == "and"
    ways = truth(left, interp.path)
    results: list[tuple[Path, Value]] = []
    decided: list[tuple[Path, Value]] = []
    onward: list[Path] = []
    for guard, holds in ways:
        if holds == wanted:
            onward.append(guard)
        else:
            chosen = next(
                (value for own, value in alternatives(left, interp.path) if own <= guard),
                Constant(not wanted),
            )
            decided.append((guard, chosen if isinstance(chosen, Constant) or not wanted else Constant(False)))
    if not onward:
        return left

    def arm(guard: Path) -> Callable[[], int]:
        def run() -> int:
            results.append((guard, interp.choose(interp.evaluate(node.right))))
            return NORMAL

        return run

    flags = interp.context.flags
    if not decided and moments.is_option(interp, node):
        interp.context = interp.context._replace(flags=(*flags, interp.site(node)))
    interp.fork([*((guard, arm(guard)) for guard in onward), *((guard, _nothing) for guard, _ in decided)])
    interp.context = interp.context._replace(flags=flags)
    symbol = ("boolean", node.operator, symbol_of(left), tuple(symbol_of(v) for _, v in results))
    value = join([*decided, *results], symbol)
    if value is MISSING:
        raise Halts
    return value  # type: ignore[no-any-return]


def _nothing() -> int:
    """The way on which the right side of `and` or `or` is left out."""
    return NORMAL


def comparison(interp: Interpreter, node: ir.Compare) -> Value:
    """`a < b`. To compare a tensor with None reads nothing and makes no tensor (run on 2.21)."""
    left = interp.choose(interp.evaluate(node.left))
    if len(node.rest) == 1:
        sign, right_node = node.rest[0]
        right = interp.choose(interp.evaluate(right_node))
        of_values = sign not in ("is", "is not", "in", "not in")
        if of_values:
            tensors.read(interp, left, "compare", node.left)

        def compared(a: Value, b: Value) -> Value:
            if sign in _ORDERS:
                a, b = tensors.beside_number(a, b), tensors.beside_number(b, a)
            with_none = any(isinstance(side, Constant) and side.value is None for side in (a, b))
            if of_values and not with_none and any(isinstance(side, (Tensor, PerReplica, Variable)) for side in (a, b)):
                return tensors.compared(interp.site(node), a, b)
            return compare(a, sign, b)

        if type(left) is not Join and type(right) is not Join:
            return compared(left, right)
        return interp.each(left, lambda a: interp.each(right, lambda b: compared(a, b), node), node)
    for _, right_node in node.rest:
        interp.evaluate(right_node)
    return Unknown(("compare", interp.site(node)))


def conditional(interp: Interpreter, node: ir.Conditional) -> Value:
    test = interp.evaluate(node.test)
    tensors.read(interp, interp.choose(test), "bool", node.test)

    def value(branch: ir.Expr) -> Value:
        return interp.choose(interp.evaluate(branch))

    ways = zip(interp.split(test), (node.body, node.orelse), strict=True)
    arms = [(guard, partial(value, branch)) for guard, branch in ways if guard is not None]
    return interp.either(arms, ("conditional", interp.site(node)))


def sequence(interp: Interpreter, node: ir.Sequence_) -> Value:
    items: list[Value] = []
    complete = True
    for element in node.elements:
        if isinstance(element, ir.Starred):
            value = interp.choose(interp.evaluate(element.value))
            known, part = builtin.elements(interp, value, interp.site(element))
            complete = complete and known is not None
            items += known if known is not None else [part] if part is not None else []
        else:
            items.append(interp.choose(interp.evaluate(element)))
    symbol = (
        (node.kind, tuple(symbol_of(item) for item in items))
        if complete and len(items) < 9
        else (
            node.kind,
            interp.site(node),
        )
    )
    known = tuple(items) if complete else None
    made = Items(node.kind, known, items[0] if items and not complete else None, symbol)
    made.around = interp.context.loops
    return made


def mapping(interp: Interpreter, node: ir.Mapping_) -> Value:
    entries: dict[object, Value] = {}
    complete = True
    for key_node, value_node in node.items:
        value = interp.choose(interp.evaluate(value_node))
        if key_node is None:
            if isinstance(value, Mapping):
                entries |= value.entries
                complete = complete and value.state["complete"]
            else:
                complete = False
            continue
        key = interp.choose(interp.evaluate(key_node))
        if isinstance(key, Constant):
            entries[key.value] = named(value, key.value) if isinstance(key.value, str) else value
        else:
            complete = False
    made = Mapping(entries, complete, ("dict", interp.site(node)))
    made.around = interp.context.loops
    return made


def starred(interp: Interpreter, node: ir.Starred) -> Value:
    return interp.evaluate(node.value)


def comprehension(interp: Interpreter, node: ir.Comprehension) -> Value:
    """Runs its clauses as loops; a name that it binds is put back afterwards."""
    collected: list[Value] = []
    keys: list[Value] = []
    names = {bound for clause in node.clauses for bound in access.bound_names(clause.target)}
    saved = {bound: interp.frame.locals.get(bound, MISSING) for bound in names}
    data: list[Value] = []
    exact = _clauses(interp, node, 0, collected, keys, data)
    for bound, value in saved.items():
        if value is not MISSING:
            interp.state.write(interp.frame.locals, bound, value)
    symbol = (node.kind, interp.site(node), *(symbol_of(value) for value in collected[:1]))
    if node.kind == "dict":
        known = {key.value: value for key, value in zip(keys, collected, strict=True) if isinstance(key, Constant)}
        if exact and (known or not keys):
            return Mapping(known, len(known) == len(keys), symbol)
        unknown = not known and not any(isinstance(value, Constant) for value in collected)
        return Mapping({mappings.key_of(keys[0]): collected[0]} if unknown and keys else {}, False, symbol)
    if exact:
        return Items(node.kind, tuple(collected), None, symbol)
    one = collected[0] if collected else None
    if (
        isinstance(one, ListedDevice)
        and one.index is None
        and len(node.clauses) == 1
        and not node.clauses[0].conditions
    ):
        return one.list  # the devices, or the names of logical ones, in their order
    made = Items(node.kind, None, one, symbol, tuple(data) if len(node.clauses) == 1 else ())
    if made.over and node.kind != "generator":
        made.around = interp.context.loops
    return made


def _clauses(
    interp: Interpreter,
    node: ir.Comprehension,
    depth: int,
    collected: list[Value],
    keys: list[Value],
    data: list[Value],
) -> bool:
    """Go through clause `depth` and those inside; whether `collected` holds exactly the elements, and `keys` those of a
    dict. `data` is what they go over that goes over a dataset."""
    if depth == len(node.clauses):
        if node.key is not None:
            keys.append(interp.choose(interp.evaluate(node.key)))
        collected.append(interp.choose(interp.evaluate(node.element)))
        builtin.models_kept(interp, collected[-1], interp.site(node))
        return True
    clause = node.clauses[depth]
    iterable = interp.choose(interp.evaluate(clause.iterable))
    iterable = protocols.iterated(interp, iterable, interp.site(clause.iterable))
    elements, exact = iterate(interp, iterable, clause)
    data += builtin.data_in([iterable])
    before = interp.context
    loop = Loop(
        interp.site(clause),
        as_now(iterable),
        exact,
        tuple(access.bound_names(clause.target)),
        interp.path,
        entry=interp.steps,
        flags=len(before.flags),
        handlers=len(before.handlers),
        is_traced=before.traced is not None,
    )
    interp.context = before._replace(loops=(*before.loops, loop))
    for element in elements:
        element = protocols.following(interp, iterable, interp.site(clause.iterable), element)
        access.assign(interp, clause.target, element)
        path = interp.path
        possible = True
        for condition in clause.conditions:
            yes, no = interp.split(interp.evaluate(condition))
            exact = exact and (no is None or yes is None)
            if yes is None:
                possible = False
                break
            interp.path |= yes
        if possible:
            exact = _clauses(interp, node, depth + 1, collected, keys, data) and exact
        interp.path = path
    interp.context = before
    return exact


def iterate(interp: Interpreter, iterable: Value, node: ir.Node) -> tuple[list[Value], bool]:
    """What a loop over a value goes through: (elements, whether these are exactly all of them)."""
    if isinstance(iterable, Join):
        if (gradient := gradients.element(iterable)) is not None:
            return [gradient], False
        datasets = [option for _, option in iterable.alternatives if isinstance(option, Dataset)]
        alike = {id(one.distributed) for one in datasets}
        if len(datasets) < len(iterable.alternatives) or len(alike) > 1:
            return [_any_of(interp, iterable, node)], False
        iterable = datasets[0]
    if isinstance(iterable, Items):
        if iterable.items is not None and len(iterable.items) <= MAX_UNROLL:
            return list(iterable.items), True
        element = iterable.element or (iterable.items[0] if iterable.items else None)
        if isinstance(element, Constant) or (iterable.items and not _are_alike(iterable.items)):
            element = None
        if iterable.kind == "generator" and element is not None:
            element = tensors.as_data(element)
        return [element or Unknown(("item", symbol_of(iterable), interp.site(node)))], False
    if isinstance(iterable, DeviceList):
        return [ListedDevice(iterable, None)], False
    if isinstance(iterable, Dataset):
        return [tensors.element_of(interp, iterable, node)], False
    if isinstance(iterable, PerReplica):
        return [iterable], False
    if isinstance(iterable, Mapping) and iterable.state["complete"] and len(iterable.entries) <= MAX_UNROLL:
        return [Constant(key) for key in iterable.entries], True
    if isinstance(iterable, Tensor):
        row = Tensor(
            interp.site(node),
            iterable.device,
            iterable.dtype,
            shape_of=iterable.shape_of,
            static=iterable.static,
            from_data=iterable.from_data,
            on_host=iterable.on_host,
        )
        return [row], False
    return [Unknown(("item", symbol_of(iterable), interp.site(node)))], False


def _are_alike(elements: Sequence[Value]) -> bool:
    """Whether the first of several elements can stand for all of them."""
    first = elements[0]
    return not isinstance(first, Constant) and all(type(one) is type(first) for one in elements)


def _any_of(interp: Interpreter, iterable: Join, node: ir.Node) -> Value:
    """What stands for the elements of whichever of several values a loop goes over: none of an empty one."""
    unknown = Unknown(("item", symbol_of(iterable), interp.site(node)))
    ways: list[tuple[Path, Value]] = []
    for guard, option in iterable.alternatives:
        elements, _ = iterate(interp, option, node)
        if elements:
            ways.append((guard, elements[0] if len(elements) == 1 or _are_alike(elements) else unknown))
    value = join(ways, unknown.symbol)
    return value if isinstance(value, Value) else unknown


def walrus(interp: Interpreter, node: ir.Walrus) -> Value:
    value = interp.evaluate(node.value)
    access.assign(interp, node.target, value)
    return value


def await_(interp: Interpreter, node: ir.Await) -> Value:
    return interp.evaluate(node.value)


def yield_(interp: Interpreter, node: ir.Yield) -> Value:
    value = interp.evaluate(node.value) if node.value is not None else NONE
    frame = interp.frame
    frame.yielded.append((interp.path - frame.path, value))
    around = [one for loop in interp.context.loops[frame.caller.loops :] for one in gone_over(loop.iterable)]
    frame.goes_over = tuple(dict.fromkeys((*frame.goes_over, *(one for one in around if isinstance(one, Dataset)))))
    if interp.generator is not None:
        interp.generator.gives(interp)
    members.escaped(interp, value, "returned", interp.site(node))
    if frame.on_yield is not None:
        frame.on_yield(value)
    return Unknown(("sent", interp.site(node)))


def lambda_(interp: Interpreter, node: ir.Lambda) -> Value:
    return Function(
        node,
        interp.frame.module,
        access.enclosing(interp),
        access.defaults(interp, node.parameters),
    )


EVALUATE: dict[type, Callable[[Any, Any], Value]] = {
    ir.Name: name,
    ir.Constant: constant,
    ir.FString: fstring,
    ir.Attribute: attribute,
    ir.Subscript: subscript,
    ir.Slice: slice_,
    ir.Call: call,
    ir.Unary: unary,
    ir.Binary: binary,
    ir.Boolean: boolean,
    ir.Compare: comparison,
    ir.Conditional: conditional,
    ir.Sequence_: sequence,
    ir.Mapping_: mapping,
    ir.Starred: starred,
    ir.Comprehension: comprehension,
    ir.Walrus: walrus,
    ir.Await: await_,
    ir.Yield: yield_,
    ir.Lambda: lambda_,
}
