"""Library functions that call their arguments: `tf.cond`, `tf.while_loop`, `tf.map_fn`, `tf.nest.map_structure`.

In a `tf.function` each function is traced. Eagerly, `tf.cond` and `tf.case` read their conditions, as `if` does
(`tensorflow/python/ops/cond.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.path_conditions import Condition, Path, literal_of
from gpulint.analysis.domain.symbolic import symbol
from gpulint.analysis.domain.traversal import rebuilt, with_elements
from gpulint.analysis.domain.values.base import NONE, Arguments, Unknown, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import escape, tensors
from gpulint.analysis.plan.events import LoopEntered
from gpulint.places import Site


def cond(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `tf.cond(pred, true_fn, false_fn)`."""
    test = arguments.get("pred", 0) or Unknown(("condition", site))
    tensors.read_at(machine, machine.choose(test), "bool", site)
    functions = (arguments.get("true_fn", 1), arguments.get("false_fn", 2))
    arms = [(path, way) for path, way in zip(machine.split(test), functions, strict=True) if path is not None]
    return _one_of(machine, arms, site)


def case(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `tf.case([(pred, fn), …], default)`."""
    pairs = machine.choose(arguments.get("pred_fn_pairs", 0) or NONE)
    rows = [machine.choose(pair) for pair in _items(pairs)]
    functions: list[Value | None] = []
    for row in rows:
        parts: list[Value | None] = [*_items(row), None, None]
        test, function = parts[:2]
        if test is not None:
            tensors.read_at(machine, machine.choose(test), "bool", site)
        functions.append(function)
    return _any_of(machine, [*functions, arguments.get("default", 1)], site)


def switch_case(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `tf.switch_case(branch_index, branch_fns, default)`."""
    functions = _items(machine.choose(arguments.get("branch_fns", 1) or NONE))
    return _any_of(machine, [*functions, arguments.get("default", 2)], site)


def while_loop(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `tf.while_loop(cond, body, loop_vars)`, of which one iteration is run."""
    variables = machine.choose(arguments.get("loop_vars", 2) or NONE)
    held = _items(variables)
    given = Arguments(tuple(held), {}) if held else Arguments((), {}, True)
    call_traced_arm(machine, arguments.get("cond", 0), given, site)
    return _repeated(machine, arguments.get("body", 1), given, None, site) or variables


def map_fn(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `tf.map_fn(fn, elems)`: that for one element stands for all."""
    elements = arguments.get("elems", 1) or Unknown(("elements", site))
    given = Arguments((elements,), {})
    return _repeated(machine, arguments.get("fn", 0), given, elements, site) or Unknown(("mapped", site))


def vectorized_map(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `tf.vectorized_map(fn, elems)`, whose function is traced once, for all elements together."""
    elements = arguments.get("elems", 1) or Unknown(("elements", site))
    given = Arguments((elements,), {})
    return call_traced_arm(machine, arguments.get("fn", 0), given, site) or Unknown(("mapped", site))


def fold(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `tf.scan(fn, elems, initializer)`, `tf.foldl` or `tf.foldr`, of which one iteration is run."""
    elements = arguments.get("elems", 1) or Unknown(("elements", site))
    given = Arguments((arguments.get("initializer", 2) or elements, elements), {})
    return _repeated(machine, arguments.get("fn", 0), given, elements, site) or Unknown(("folded", site))


def map_structure(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `tf.nest.map_structure(func, structure, …)`: that for one leaf stands for all of its type."""
    function = arguments.get("func", 0)
    structures = arguments.positional[1:]
    if not structures:
        return Unknown(("mapped", site))

    given: dict[type[Value], Value] = {}

    def changed(leaf: Value) -> Value:
        if type(leaf) not in given:
            others = tuple(Unknown(("leaf", site, number)) for number in range(len(structures) - 1))
            result = call_traced_arm(machine, function, Arguments((leaf, *others), {}), site)
            given[type(leaf)] = result or Unknown(("mapped", site))
        return given[type(leaf)]

    return rebuilt(
        machine.choose(structures[0]), changed, partial(with_elements, name=("mapped", site)), (Items, Mapping)
    )


HANDLERS: dict[str, Callable[[Machine, Arguments, Site], Value]] = {
    **dict.fromkeys(("tensorflow.cond", "tensorflow.compat.v1.cond", "tensorflow.keras.ops.cond"), cond),
    **dict.fromkeys(("tensorflow.case", "tensorflow.compat.v1.case"), case),
    **dict.fromkeys(("tensorflow.switch_case", "tensorflow.compat.v1.switch_case"), switch_case),
    **dict.fromkeys(
        ("tensorflow.while_loop", "tensorflow.compat.v1.while_loop", "tensorflow.keras.ops.while_loop"), while_loop
    ),
    **dict.fromkeys(("tensorflow.map_fn", "tensorflow.compat.v1.map_fn"), map_fn),
    "tensorflow.vectorized_map": vectorized_map,
    **dict.fromkeys(("tensorflow.scan", "tensorflow.foldl", "tensorflow.foldr"), fold),
    **dict.fromkeys(("tensorflow.nest.map_structure", "tree.map_structure"), map_structure),
}
"""Name → handler of a function that calls its arguments."""


def _items(value: Value) -> Sequence[Value]:
    return value.items or () if isinstance(value, Items) else ()


def _any_of(machine: Machine, functions: Sequence[Value | None], site: Site) -> Value:
    """Result of calling any one of several functions."""
    known = [function for function in functions if function is not None]
    asked = [literal_of(Condition("truth", symbol(("branch", site, number))), True) for number in range(len(known) - 1)]
    arms: list[tuple[Path, Value | None]] = [
        (frozenset({*(one.negation for one in asked[:number]), *asked[number : number + 1]}), function)
        for number, function in enumerate(known)
    ]
    return _one_of(machine, arms, site)


def _one_of(machine: Machine, arms: Sequence[tuple[Path, Value | None]], site: Site) -> Value:
    nothing = Arguments((), {})
    calls: list[tuple[Path, Callable[[], Value]]] = [
        (path, partial(machine.call, function, nothing, site)) for path, function in arms if function is not None
    ]
    return machine.either(calls, ("branch", site)) if calls else Unknown(("branch", site))


def _repeated(
    machine: Machine, function: Value | None, given: Arguments, iterable: Value | None, site: Site
) -> Value | None:
    """Result of a function that is called in a loop: of TensorFlow in a `tf.function`, else of Python."""
    context = machine.context
    loop = Loop(
        site,
        iterable,
        False,
        {},
        start=machine.path,
        entry=machine.budget.taken,
        flags=len(context.flags),
        handlers=len(context.handlers),
        is_traced=context.traced is not None,
        before=machine.path,
    )
    with machine.within(context._replace(loops=(*context.loops, loop), guards=())):
        machine.emit(LoopEntered(site, machine.where(), loop))
        return call_traced_arm(machine, function, given, site)


def call_traced_arm(machine: Machine, function: Value | None, given: Arguments, site: Site) -> Value | None:
    """Result of calling a function that may be traced, None where nothing is known of the result."""
    for value in given.all():
        escape.escape(machine, value, "passed", site)
    if function is None:
        return None
    try:
        return machine.call(function, given, site)
    except PathEnds:
        return None
