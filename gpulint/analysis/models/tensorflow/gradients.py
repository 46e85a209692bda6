"""Gradients: what they are taken of, which ones a sum contains, and what `apply_gradients` receives."""

from __future__ import annotations

from gpulint.analysis.domain.path_conditions import EVERYWHERE, Path
from gpulint.analysis.domain.store import alternatives, join
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values.base import NONE, Union, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.objects import Tape, Variable
from gpulint.analysis.domain.values.tensors import NOTHING_SUMMED, Gradient, Summand, Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import host_sync
from gpulint.analysis.plan import events
from gpulint.places import Site
from gpulint.syntax import ir, walk

METHODS = frozenset({"gradient", "jacobian", "batch_jacobian"})
"""Methods of a tape that compute a gradient."""

MAX_SUMMANDS = 16
"""Maximum number of gradients that are tracked in one sum. Nothing is known of a larger sum."""

MAX_FACTORS = 4
"""Maximum number of factors that are tracked for one gradient in a sum."""

_SUMS = frozenset({"tensorflow.add", "tensorflow.add_n", "tensorflow.math.accumulate_n", "tensorflow.keras.ops.add"})
SCALES = {
    "tensorflow.divide": "operator./",
    "tensorflow.truediv": "operator./",
    "tensorflow.realdiv": "operator./",
    "tensorflow.math.divide_no_nan": "operator./",
    "tensorflow.keras.ops.divide": "operator./",
    "tensorflow.scalar_mul": "operator.*",
    "tensorflow.multiply": "operator.*",
    "tensorflow.keras.ops.multiply": "operator.*",
}
"""Ops equivalent to an operator on two values."""
_KEEPS = frozenset(
    {
        "tensorflow.cast",
        "tensorflow.identity",
        "tensorflow.convert_to_tensor",
        "tensorflow.debugging.check_numerics",
        "tensorflow.clip_by_value",
        "tensorflow.clip_by_norm",
        "tensorflow.keras.ops.cast",
        "tensorflow.keras.ops.clip",
    }
)
"""Ops whose result is a sum of gradients if their input is one."""


def take(machine: Machine, loss: Value, sources: Value | None, site: Site, tape: Tape | None = None) -> Value:
    """Result of `tape.gradient(loss, sources)`."""
    for one in leaves_on(EVERYWHERE, loss):
        if isinstance(one, Tensor) and not one.from_data:
            one.on_host = False  # a loss depends on variables, which are on the device
    gradient = Tensor(site)
    gradient.gradient = Gradient(site, machine.where(), loss, False, False, frozenset({Summand(gradient.serial)}))
    several = not isinstance(sources, (Variable, Tensor))
    result: Value = Items("list", None, gradient, ("gradients", site)) if several else gradient
    machine.emit(
        events.GradientTaken(
            site,
            machine.where(),
            loss,
            result,
            tape,
            machine.choose(machine.library_state.policy["global"]),
            _written(machine.frame.definition, site) if tape is not None and tape.is_persistent else (),
            any(
                isinstance(one, Tensor) and one.gradient is not None and one.gradient.site == site
                for one in leaves_on(EVERYWHERE, sources or NONE)
            ),
            sources,
        )
    )
    return result


def _written(function: ir.Node | None, site: Site) -> tuple[Site, ...]:
    """Calls in the same function that take a gradient of the same tape."""
    found = [
        (node.number, node.function.value)
        for node in walk.below(function)
        if isinstance(node, ir.Call) and isinstance(node.function, ir.Attribute) and node.function.name in METHODS
    ]
    own = next((tape for number, tape in found if number == site.node), None)
    return tuple(Site(site.path, number) for number, tape in found if own and walk.is_same_place(own, tape))


def by_op(name: str, inputs: tuple[Value, ...]) -> Gradient | None:
    """Gradient that an op of the library gives for these inputs."""
    if name in _SUMS:
        return _sum(inputs)
    if name in SCALES:
        return _scaled(inputs)
    present = _first(inputs)
    return present if present is None or name in _KEEPS else present._replace(summands=NOTHING_SUMMED)


def by_operator(name: str, operands: tuple[Value, ...]) -> Gradient | None:
    """Gradient that an operator gives."""
    if name in ("operator./", "operator.*"):
        return _scaled(operands)
    if name == "operator.+":
        return _sum(operands)
    present = _first(operands)
    is_sign = name == "operator.-" and len(operands) == 1
    return present if present is None or is_sign else present._replace(summands=NOTHING_SUMMED)


def state_by_op(name: str, inputs: tuple[Value, ...]) -> Variable | None:
    """Variable whose content an op or operator returns, scaled, clipped or unchanged, or as a quotient or remainder."""
    if name in _KEEPS or name in SCALES or name in _DIVIDES:
        return next(filter(None, map(state_of, inputs)), None)
    return None


_DIVIDES = frozenset({*SCALES.values(), "operator.%", "operator.//"})


def state_of(value: Value) -> Variable | None:
    """Variable that a value is, or whose content it is."""
    return value if isinstance(value, Variable) else value.state if isinstance(value, Tensor) else None


def _first(values: tuple[Value, ...]) -> Gradient | None:
    options = (one for value in values for _, one in alternatives(value, EVERYWHERE))
    return next((one.gradient for one in options if isinstance(one, Tensor) and one.gradient), None)


def _sum(values: tuple[Value, ...]) -> Gradient | None:
    """Gradient of a sum in which some values are gradients."""
    found = [value.gradient for value in values if isinstance(value, Tensor) and value.gradient]
    if not found:
        return None
    summands = frozenset[Summand]().union(*(one.summands for one in found))
    if len(summands) > MAX_SUMMANDS:
        summands = NOTHING_SUMMED
    return found[0]._replace(accumulated=True, summands=summands)


def _scaled(values: tuple[Value, ...]) -> Gradient | None:
    """Gradient that a product or quotient is if one of its values is one. A product of two gradients is no longer a
    sum."""
    present = _first(values)
    if present is None:
        return None
    factors = tuple(_factor(value) for value in values if not (isinstance(value, Tensor) and value.gradient))
    summands = frozenset(
        one._replace(factors=one.factors + factors) for one in present.summands if len(factors) == len(values) - 1
    )
    if any(len(one.factors) > MAX_FACTORS for one in summands):
        summands = NOTHING_SUMMED
    return present._replace(scaled=True, summands=summands)


def _factor(value: Value) -> Symbol:
    """Symbol of a factor. A tensor is a different number each time it is computed, so it has a symbol of its own."""
    return symbol(("value", value.serial)) if isinstance(value, Tensor) else symbol_of(value)


def within(value: Value | None) -> tuple[Tensor, ...]:
    """Gradient tensors in a `grads_and_vars` argument."""
    return tuple(one for one in leaves_on(EVERYWHERE, value) if isinstance(one, Tensor) and one.gradient is not None)


def gradients_given(machine: Machine, value: Value | None) -> tuple[Tensor, ...]:
    """Gradient tensors passed to `apply_gradients`, including those that the host computed from gradients it read."""
    found = within(value)
    if not found and (gradient := host_sync.gradient_in(machine, leaves_on(machine.path, value or NONE))) is not None:
        found = (Tensor(gradient.site, gradient=gradient),)
    return found


def element(lists: Union) -> Value | None:
    """Element of one of several lists of gradients, of zeros they are added to, or of tuples with gradients."""
    firsts: list[tuple[Path, Value]] = []
    for path, option in lists.alternatives:
        first = option.element or (option.items[0] if option.items else None) if isinstance(option, Items) else None
        if first is None:
            return None
        firsts.append((path, first))
    return _either(firsts, lists.serial) if any(within(first) for _, first in firsts) else None


def _either(options: list[tuple[Path, Value]], serial: int) -> Value:
    """Union of several values, each on its path. For tuples, a tuple of such unions."""
    rows = [(path, value.items) for path, value in options if isinstance(value, Items) and value.items is not None]
    if len(rows) == len(options) and len({len(row) for _, row in rows}) == 1:
        width = len(rows[0][1])
        columns = (_either([(path, row[place]) for path, row in rows], serial) for place in range(width))
        return Items("tuple", tuple(columns))
    joined = join(options, ("elements", serial))
    return joined if isinstance(joined, Value) else Unknown(("elements", serial))


def accumulators_in(value: Value | None) -> tuple[Variable, ...]:
    """Variables that accumulate gradients in a `grads_and_vars` argument."""
    if not isinstance(value, Items):
        return ()
    parts = value.items if value.items is not None else (value.element,)
    pairs = [part.items for part in parts if isinstance(part, Items) and part.items is not None]
    firsts = [pair[0] for pair in pairs if len(pair) == 2]
    return tuple(state for first in firsts if (state := state_of(first)) is not None)
