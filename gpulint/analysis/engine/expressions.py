"""Evaluation of each kind of expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from gpulint.analysis.domain import symbolic
from gpulint.analysis.domain.completion import NORMAL, PathEnds
from gpulint.analysis.domain.context import Flag, Loop
from gpulint.analysis.domain.host_arrays import MASK
from gpulint.analysis.domain.lengths import most_items
from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.random_draws import are_drawn_indices
from gpulint.analysis.domain.store import MISSING, alternatives, join
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.traversal import dataset_iterables, iterated_datasets, snapshot
from gpulint.analysis.domain.truth import compare, negate, truth
from gpulint.analysis.domain.values.base import (
    NONE,
    Arguments,
    Constant,
    PartialString,
    Union,
    Unknown,
    Value,
    known,
    symbol_of,
)
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Function
from gpulint.analysis.engine import (
    argument_binding,
    assignment,
    attribute_lookup,
    dicts,
    name_lookup,
    operators,
    overwriting,
    sequences,
    special_methods,
    strings,
    subscripts,
    transient_tests,
)
from gpulint.analysis.engine.budget import LITERALS_PER_STEP
from gpulint.analysis.engine.iteration import elements, iterate
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site
from gpulint.syntax import ir


def eval_name(machine: Machine, node: ir.Name) -> Value:
    return name_lookup.load(machine, node.id, node)


def eval_constant(machine: Machine, node: ir.Constant) -> Value:
    return Constant(node.value, machine.site(node))


def eval_fstring(machine: Machine, node: ir.FString) -> Value:
    parts: list[str | None] = []
    values: list[Value] = []
    for part in node.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        value = machine.choose(machine.evaluate(part))
        machine.library.value_read(value, "format", part)
        values.append(value)
        parts.append(strings.written(value) if node.exact else None)
    return string_of(tuple(parts), values, node, machine)


def string_of(parts: tuple[str | None, ...], values: list[Value], node: ir.Node, machine: Machine) -> Value:
    """A string composed of parts; a constant if all parts are known."""
    if None not in parts:
        return strings.string(parts, machine.site(node), strings.names_of(values))
    return PartialString(parts, ("text", parts, tuple(named for value in values for named in _symbols(value))))


def _symbols(value: Value) -> Iterator[Symbol]:
    """Symbol of a value. For a `Union`, the symbols of its alternatives and of the conditions that select them."""
    if isinstance(value, Union):
        for guard, option in value.alternatives:
            yield symbol_of(option)
            yield from (one.condition.subject for one in guard if isinstance(one.condition.subject, Symbol))
    else:
        yield symbol_of(value)


def eval_attribute(machine: Machine, node: ir.Attribute) -> Value:
    receiver = machine.library.as_array(_filled_in(machine, node.value, machine.evaluate(node.value)))
    if type(receiver) is not Union:
        return attribute_lookup.attribute(machine, receiver, node.name, node)
    return machine.each(
        receiver,
        lambda option: attribute_lookup.attribute(machine, option, node.name, node),
        node,
    )


def eval_subscript(machine: Machine, node: ir.Subscript) -> Value:
    container = machine.library.as_array(machine.choose(machine.evaluate(node.value)))
    if isinstance(node.index, ir.Slice):
        bounds = tuple(
            machine.evaluate(bound) if bound is not None else NONE
            for bound in (node.index.lower, node.index.upper, node.index.step)
        )
        return machine.each(container, lambda option: subscripts.sliced(machine, option, bounds, node), node)
    index = machine.evaluate(node.index)
    machine.library.value_used(index, machine.site(node))
    if type(container) is not Union:
        if type(index) is not Union:
            return subscripts.item(machine, container, index, node)
        if (rows := subscripts.masked(machine, container, index, node)) is not None:
            return rows
    return machine.each(
        container,
        lambda option: machine.each(index, lambda key: subscripts.item(machine, option, key, node), node),
        node,
    )


def eval_slice(machine: Machine, node: ir.Slice) -> Value:
    bounds = [machine.evaluate(bound) if bound is not None else NONE for bound in (node.lower, node.upper, node.step)]
    return Unknown((symbolic.ROWS, machine.site(node), *map(symbol_of, bounds)))


def arguments(machine: Machine, nodes: tuple[ir.Argument, ...]) -> Arguments:
    """Evaluate the arguments of a call."""
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    sites: dict[Any, Any] = {}
    handed_on: dict[str, Any] = {}
    is_open = False
    spread: Value | None = None
    mapped: Value | None = None
    for node in nodes:
        value = machine.choose(machine.evaluate(node.value))
        if node.star == "*":
            several = [one for _, one in value.alternatives] if isinstance(value, Union) else [value]
            able = [one for one in several if not isinstance(one, Constant) or isinstance(one.value, str)]
            items = able[0].items if len(able) == 1 and isinstance(able[0], Items) else None
            if items is None or len(positional) + len(items) > sequences.MAX_ITEMS:
                rows = [one for one in able if type(one) is Unknown or (isinstance(one, Items) and one.items != ())]
                is_open, spread = True, rows[0] if len(rows) == len(nodes) == 1 else None
            else:
                positional += items
        elif node.star == "**":
            if isinstance(value, Mapping):
                machine.spend_on(value)
                keywords |= {str(key): entry for key, entry in value.entries.items()}
                handed_on |= {key: site for key, (one, site) in value.given.items() if keywords.get(key) is one}
                is_open = is_open or not value.is_complete
            else:
                is_open = True
            mapped = value if is_open else mapped
        elif node.keyword is not None:
            keywords[node.keyword] = value
            sites[node.keyword] = machine.site(node.value)
        else:
            sites[len(positional)] = machine.site(node.value)
            positional.append(value)
    return Arguments(tuple(positional), keywords, is_open, sites, handed_on, spread, mapped)


def _filled_in(machine: Machine, node: ir.Expr, value: Value) -> Value:
    """Value that is called or whose attribute is read, where it is None so far.

    In a function that the program itself never calls, a None in an object or a module has been initialised before: used
    as None, it would raise an exception.
    """
    if isinstance(value, Constant) and value.value is None:
        name = node.name if isinstance(node, ir.Attribute) else None
        if isinstance(node, ir.Name) and node.id not in machine.frame.locals:
            name = node.id
        if name is not None and not machine.frame.caller.known:
            return Unknown(("filled in", machine.frame.module.path, name))
    return value


def eval_call(machine: Machine, node: ir.Call) -> Value:
    function = _filled_in(machine, node.function, machine.evaluate(node.function))
    passed = arguments(machine, node.arguments)
    site = machine.site(node)
    if type(function) is not Union:
        return machine.call(function, passed, site)
    return machine.each(
        argument_binding.of_those_that_fit(function, passed),
        lambda option: machine.call(option, passed, site),
        node,
    )


def eval_unary(machine: Machine, node: ir.Unary) -> Value:
    operand = machine.choose(machine.evaluate(node.operand))
    if node.operator == "not":
        machine.library.value_read(operand, "bool", node)
        return negate(operand, machine.path)
    if node.operator == "~":
        operand = machine.library.as_array(operand)
        if type(operand) is Union and all(isinstance(known(option), bool) for _, option in operand.alternatives):
            return Unknown((MASK, machine.site(node)))  # only a comparison of arrays has a use for it
    return machine.each(operand, lambda one: operators.operate_unary(machine, one, node), node)


def eval_binary(machine: Machine, node: ir.Binary) -> Value:
    left = machine.choose(machine.evaluate(node.left))
    right = machine.choose(machine.evaluate(node.right))
    if type(left) is not Union and type(right) is not Union:
        return operators.operate_binary(machine, left, node.operator, right, node)
    return machine.each(
        left,
        lambda a: machine.each(right, lambda b: operators.operate_binary(machine, a, node.operator, b, node), node),
        node,
    )


def eval_boolean(machine: Machine, node: ir.Boolean) -> Value:
    """Value of `and` or `or`: the right side is evaluated only on paths where the left side does not decide."""
    left = machine.choose(machine.evaluate(node.left))
    machine.library.value_read(left, "bool", node.left)
    ways = truth(left, machine.path)
    flags = machine.context.flags

    def right() -> Value:
        return machine.choose(machine.evaluate(node.right))

    is_evaluated = all(holds == (node.operator == "and") for _, holds in ways)
    if is_evaluated and transient_tests.is_option(machine, node):
        flag = Flag(machine.site(node), transient_tests.is_setting(node.left))
        machine.context = machine.context._replace(flags=(*flags, flag))
    value = _short_circuit(machine, left, ways, node.operator, right)
    machine.context = machine.context._replace(flags=flags)
    return value


def _short_circuit(
    machine: Machine, left: Value, ways: Sequence[tuple[Path, bool | None]], sign: str, right: Callable[[], Value]
) -> Value:
    """Value of `left and right` or `left or right`, given the `truth` of `left`. Raises `PathEnds` if no path
    continues."""
    wanted = sign == "and"
    results: list[tuple[Path, Value]] = []
    decided: list[tuple[Path, Value]] = []
    onward: list[Path] = []
    for guard, holds in ways:
        if holds == wanted:
            onward.append(guard)
        else:
            chosen = next(
                (value for own, value in alternatives(left, machine.path) if own <= guard),
                Constant(not wanted),
            )
            decided.append((guard, chosen if isinstance(chosen, Constant) or not wanted else Constant(False)))
    if not onward:
        return left

    def arm(guard: Path) -> Callable[[], int]:
        def run() -> int:
            results.append((guard, right()))
            return NORMAL

        return run

    machine.fork([*((guard, arm(guard)) for guard in onward), *((guard, _nothing) for guard, _ in decided)])
    symbol = ("boolean", sign, symbol_of(left), tuple(symbol_of(v) for _, v in results))
    value = join([*decided, *results], symbol)
    if value is MISSING:
        raise PathEnds
    return value  # type: ignore[no-any-return]


def _nothing() -> int:
    """The arm on which the right side of `and` or `or` is not evaluated."""
    return NORMAL


def eval_comparison(machine: Machine, node: ir.Compare) -> Value:
    """Value of `a < b`, or of `a < b < c`, which is `a < b and b < c` with `b` evaluated once."""
    return _compared(machine, machine.choose(machine.evaluate(node.left)), node.left, node.rest, node)


def _compared(
    machine: Machine, left: Value, left_node: ir.Expr, rest: Sequence[tuple[str, ir.Expr]], node: ir.Compare
) -> Value:
    """Value of a comparison of `left` with the operands after it. Comparing a tensor with None by `is` neither reads it
    nor creates a tensor (run on 2.21)."""
    (sign, right_node), *more = rest
    right = machine.choose(machine.evaluate(right_node))
    of_values = sign not in ("is", "is not", "in", "not in")
    if of_values:
        machine.library.value_read(left, "compare", left_node)

    def compared(a: Value, b: Value) -> Value:
        if sign not in ("is", "is not"):
            machine.spend_on(a)
            machine.spend_on(b)
        array = machine.library.compare(a, sign, b, node) if of_values else None
        return array if array is not None else compare(a, sign, b)

    if type(left) is not Union and type(right) is not Union:
        value = compared(left, right)
    else:
        value = machine.each(left, lambda a: machine.each(right, lambda b: compared(a, b), node), node)
    if not more:
        return value
    value = machine.choose(value)
    machine.library.value_read(value, "bool", node)
    ways = truth(value, machine.path)
    return _short_circuit(machine, value, ways, "and", lambda: _compared(machine, right, right_node, more, node))


def eval_conditional(machine: Machine, node: ir.Conditional) -> Value:
    test = machine.evaluate(node.test)
    machine.library.value_read(machine.choose(test), "bool", node.test)

    def value(branch: ir.Expr) -> Value:
        return machine.choose(machine.evaluate(branch))

    ways = zip(machine.split(test), (node.body, node.orelse), strict=True)
    arms = [(guard, partial(value, branch)) for guard, branch in ways if guard is not None]
    return machine.either(arms, ("conditional", machine.site(node)))


def eval_sequence(machine: Machine, node: ir.Sequence_) -> Value:
    items: list[Value] = []
    complete = True
    for element in node.elements:
        if isinstance(element, ir.Starred):
            value = machine.choose(machine.evaluate(element.value))
            known, part = elements(machine, value, machine.site(element))
            if known is not None and len(items) + len(known) <= sequences.MAX_ITEMS:
                items += known
            else:
                complete = False
                items += [part] if part is not None else known[:1] if known else []
        else:
            items.append(_part(machine, element))
    symbol = (
        (node.kind, tuple(symbol_of(item) for item in items))
        if complete and len(items) < 9
        else (
            node.kind,
            machine.site(node),
        )
    )
    machine.spend(len(items) // LITERALS_PER_STEP)
    known = tuple(items) if complete else None
    made = Items(node.kind, known, items[0] if items and not complete else None, symbol)
    made.around = machine.context.loops
    return made


def eval_mapping(machine: Machine, node: ir.Mapping_) -> Value:
    entries: dict[object, Value] = {}
    complete = True
    for key_node, value_node in node.items:
        value = _part(machine, value_node)
        if key_node is None:
            if isinstance(value, Mapping):
                machine.spend_on(value)
                entries |= value.entries
                complete = complete and value.is_complete
            else:
                overwriting.overwrite_any(machine, entries, machine.site(value_node))
                complete = False
            continue
        key = _part(machine, key_node)
        machine.library.value_used(key, machine.site(key_node))
        if isinstance(key, Constant):
            entries[key.value] = value.renamed(key.value) if isinstance(key.value, str) else value
        else:
            complete = False
    machine.spend(len(entries) // LITERALS_PER_STEP)
    made = Mapping(entries, complete, ("dict", machine.site(node)))
    made.around = machine.context.loops
    return made


def _part(machine: Machine, node: ir.Expr) -> Value:
    """Value of an element of a list, tuple, set or dict. Literals take no steps: a table may have more of them than the
    program has steps."""
    if type(node) is ir.Constant:
        return eval_constant(machine, node)
    return machine.choose(machine.evaluate(node))


def eval_starred(machine: Machine, node: ir.Starred) -> Value:
    return machine.evaluate(node.value)


def eval_comprehension(machine: Machine, node: ir.Comprehension) -> Value:
    """Run the clauses as loops. Outer variables with the names that the comprehension binds are restored afterwards."""
    collected: list[Value] = []
    keys: list[Value] = []
    names = {bound for clause in node.clauses for bound in name_lookup.bound_names(clause.target)}
    saved = {bound: machine.frame.locals.get(bound, MISSING) for bound in names}
    data: list[Value] = []
    sources: list[Value] = []
    exact = _clauses(machine, node, 0, collected, keys, data, sources)
    for bound, value in saved.items():
        if value is not MISSING:
            machine.state.write(machine.frame.locals, bound, value)
    chosen = [value for value in sources[:1] if are_drawn_indices(symbol_of(value))]
    symbol = (node.kind, machine.site(node), *(symbol_of(value) for value in (*collected[:1], *chosen)))
    if node.kind == "dict":
        known = {key.value: value for key, value in zip(keys, collected, strict=True) if isinstance(key, Constant)}
        if exact and (known or not keys):
            return Mapping(known, len(known) == len(keys), symbol)
        unknown = not known and not any(isinstance(value, Constant) for value in collected)
        return Mapping({dicts.key_of(keys[0]): collected[0]} if unknown and keys else {}, False, symbol)
    if exact:
        is_one = node.kind == "list" and len(collected) == 1  # the same as if it was written out
        return Items(node.kind, tuple(collected), None, ("list", (symbol[2],)) if is_one else symbol)
    one = sequences.one_of(collected, None)
    if one is not None and len(node.clauses) == 1 and not node.clauses[0].conditions:
        if (copy := machine.library.comprehended(one)) is not None:
            return copy
    made = Items(node.kind, None, one, symbol, tuple(data) if len(node.clauses) == 1 else ())
    made.most = most_items(sources[0]) if len(node.clauses) == 1 else None
    if node.kind != "generator":
        made.around = machine.context.loops
    return made


def _clauses(
    machine: Machine,
    node: ir.Comprehension,
    depth: int,
    collected: list[Value],
    keys: list[Value],
    data: list[Value],
    sources: list[Value],
) -> bool:
    """Run clause `depth` and those inside it.

    Returns whether `collected` has exactly the elements, and `keys` the keys of a dict. `sources` collects the
    iterables, and `data` those that iterate over a dataset.
    """
    if depth == len(node.clauses):
        if node.key is not None:
            keys.append(machine.choose(machine.evaluate(node.key)))
            machine.library.value_used(keys[-1], machine.site(node.key))
        collected.append(machine.choose(machine.evaluate(node.element)))
        machine.library.collected(collected[-1], machine.site(node))
        return True
    clause = node.clauses[depth]
    iterable = machine.choose(machine.evaluate(clause.iterable))
    iterable = special_methods.iter_of(machine, iterable, machine.site(clause.iterable))
    each, exact = iterate(machine, iterable, clause)
    data += dataset_iterables([iterable])
    sources.append(iterable)
    before = machine.context
    loop = Loop(
        machine.site(clause),
        snapshot(iterable),
        exact,
        {},
        tuple(name_lookup.bound_names(clause.target)),
        machine.path,
        entry=machine.budget.taken,
        flags=len(before.flags),
        handlers=len(before.handlers),
        is_traced=before.traced is not None,
    )
    machine.context = before._replace(loops=(*before.loops, loop))
    for element in each:
        element = special_methods.next_of(machine, iterable, machine.site(clause.iterable), element)
        assignment.assign(machine, clause.target, element)
        path = machine.path
        possible = True
        for condition in clause.conditions:
            yes, no = machine.split(machine.evaluate(condition))
            exact = exact and (no is None or yes is None)
            if yes is None:
                possible = False
                break
            machine.path |= yes
        if possible:
            exact = _clauses(machine, node, depth + 1, collected, keys, data, sources) and exact
        machine.path = path
    machine.context = before
    return exact


def eval_walrus(machine: Machine, node: ir.Walrus) -> Value:
    value = machine.evaluate(node.value)
    assignment.assign(machine, node.target, value)
    return value


def eval_await(machine: Machine, node: ir.Await) -> Value:
    return machine.evaluate(node.value)


def eval_yield(machine: Machine, node: ir.Yield) -> Value:
    value = machine.evaluate(node.value) if node.value is not None else NONE
    site = machine.site(node)
    frame = machine.frame
    around = machine.context.loops[frame.caller.loops :]
    frame.yield_sources = tuple(
        dict.fromkeys((*frame.yield_sources, *iterated_datasets(loop.iterable for loop in around)))
    )
    parts, exact = _delegated(machine, machine.choose(value), site) if node.delegates else ((value,), True)
    for part in parts:
        frame.yielded.append((machine.path - frame.path, part))
        machine.library.yielded(part, site, exact)
        if frame.on_yield is not None:
            frame.on_yield(part)
    return Unknown(("sent", site))


def _delegated(machine: Machine, value: Value, site: Site) -> tuple[tuple[Value, ...], bool]:
    """Values that `yield from value` yields, and whether these are exactly all of them."""
    items, element = elements(machine, special_methods.iter_of(machine, value, site), site)
    if items is not None:
        return items, True
    return (element or Unknown(("item", symbol_of(value), site)),), False


def eval_lambda(machine: Machine, node: ir.Lambda) -> Value:
    return Function(
        node,
        machine.frame.module,
        name_lookup.enclosing(machine),
        name_lookup.defaults(machine, node.parameters),
    )


EVALUATE: dict[type, Callable[[Any, Any], Value]] = {
    ir.Name: eval_name,
    ir.Constant: eval_constant,
    ir.FString: eval_fstring,
    ir.Attribute: eval_attribute,
    ir.Subscript: eval_subscript,
    ir.Slice: eval_slice,
    ir.Call: eval_call,
    ir.Unary: eval_unary,
    ir.Binary: eval_binary,
    ir.Boolean: eval_boolean,
    ir.Compare: eval_comparison,
    ir.Conditional: eval_conditional,
    ir.Sequence_: eval_sequence,
    ir.Mapping_: eval_mapping,
    ir.Starred: eval_starred,
    ir.Comprehension: eval_comprehension,
    ir.Walrus: eval_walrus,
    ir.Await: eval_await,
    ir.Yield: eval_yield,
    ir.Lambda: eval_lambda,
}
