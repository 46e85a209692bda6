"""Training loops of a program, in particular step loops: those with one training step per iteration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from gpulint.analysis.domain.changing_numbers import is_changing
from gpulint.analysis.domain.context import Loop, Where, callers
from gpulint.analysis.domain.dataset_lengths import most_elements
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.lengths import count_of, most_items
from gpulint.analysis.domain.path_conditions import Literal, Path, compatible, is_complete, mentions, words_of
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.traversal import iterated_sources, leaves, length_sources
from gpulint.analysis.domain.values.base import Union, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.objects import Metric
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.plan.events import (
    Event,
    GradientsApplied,
    GradientTaken,
    LoopEntered,
    ModelCalled,
    ModelFitted,
    StateUpdated,
    TensorRead,
    TracedCalled,
    WeightAssigned,
    WeightsUsed,
)
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.queries.breaks import iterations_to_break
from gpulint.analysis.queries.epochs import goes_over_data, goes_over_gradients, is_called_epoch, passes
from gpulint.places import Site


def is_update(event: Event) -> bool:
    """Whether an event is one training step: Python code changes the weights of a model."""
    return (
        isinstance(event, GradientsApplied)
        or (isinstance(event, ModelCalled) and event.how == "train_on_batch")
        or (isinstance(event, StateUpdated) and event.is_move)
    )


def updates(plan: Plan) -> list[Event]:
    """Training steps of a program: among them gradients with respect to weights for which no optimizer is known, if the
    same loop assigns weights."""
    found = [event for event in plan.events if is_update(event)]
    taken = [event for event in plan.events if isinstance(event, GradientTaken) and _is_of_weights(event)]
    if not taken:
        return found
    applied = {one.gradient.site for event in found for one in _gradients_of(event) if one.gradient is not None}
    assigning = {
        loop.site
        for event in plan.events
        if isinstance(event, WeightAssigned) or (isinstance(event, WeightsUsed) and event.how == "set_weights")
        for loop in event.where.context.loops
    }
    return found + [
        event
        for event in taken
        if event.site not in applied and not assigning.isdisjoint(loop.site for loop in event.where.context.loops)
    ]


def _gradients_of(event: Event) -> tuple[Tensor, ...]:
    if isinstance(event, GradientsApplied):
        return event.gradients
    return (event.gradient,) if isinstance(event, StateUpdated) and event.gradient is not None else ()


def _is_of_weights(event: GradientTaken) -> bool:
    """Whether a tape takes a gradient with respect to the variables of a model."""
    sources = leaves(event.by) if event.tape is not None and event.by is not None else ()
    return any(not _WEIGHTS.isdisjoint(symbol_of(one).words) for one in sources)


_WEIGHTS = frozenset({"trainable_variables", "trainable_weights"})


def training_loops(plan: Plan) -> frozenset[Site]:
    """Loops that contain a training step, at any depth."""
    return frozenset(loop.site for event in updates(plan) for loop in event.where.context.loops) | _batch_methods(plan)


def step_loops(plan: Plan) -> frozenset[Site]:
    """Loops with one training step per iteration.

    These are the innermost loops around a step, among all loops and among those that iterate over a dataset. A loop
    over epochs that are passes over the data is not one. Neither is a loop that first takes one of the steps of a loop
    inside it.
    """
    long = passes(plan.events)
    found = set(_batch_methods(plan))
    taken: dict[Site, set[Site]] = defaultdict(set)
    inside: dict[Site, set[Site]] = defaultdict(set)
    chunked: set[Site] = set()
    for event in updates(plan):
        loops = event.where.context.loops
        inner = next((loop for loop in reversed(loops) if not _is_of_few(loop) and not goes_over_gradients(loop)), None)
        if inner is not None and (inner.site not in long or _is_drawn(event)):
            taken[inner.site].add(event.site)
            for loop in loops[: loops.index(inner)]:
                inside[loop.site].add(event.site)
        found.update([loop.site for loop in loops if goes_over_data(loop.iterable)][-1:])
        if any(_is_of_steps(loop) for loop in loops):
            chunked.update(loop.site for loop in loops if not loop.is_traced)
    found.update(loop for loop, sites in taken.items() if not sites <= inside[loop])
    return frozenset(found - chunked - fitting_loops(plan))


def evaluation_loops(plan: Plan) -> frozenset[Site]:
    """Eager loops that do not train, and in each iteration of which the GPU has work: a model or a `tf.function` is
    called, or a metric is updated. Not loops in which a loader of Keras prepares a batch for `fit`."""
    fits = {event.site for event in plan.events if isinstance(event, ModelFitted)}
    found = set[Site]()
    for event in plan.events:
        if (
            isinstance(event, TracedCalled)
            or (isinstance(event, ModelCalled) and event.how == "call")
            or (isinstance(event, StateUpdated) and isinstance(event.target, Metric))
        ):
            loops = event.where.context.loops
            inner = next((loop for loop in reversed(loops) if not loop.unrolled and not loop.is_traced), None)
            if inner is not None and not is_called_epoch(inner) and not _is_of_loader(event, fits):
                found.add(inner.site)
    return frozenset(found - training_loops(plan) - fitting_loops(plan)) if found else frozenset()


def _is_of_loader(event: Event, fits: Collection[Site]) -> bool:
    """Whether an event happens in the `__getitem__` of a loader, which one of these calls of `fit` runs."""
    return any(caller.function == "__getitem__" and caller.site in fits for caller in callers(event.where.caller))


def _is_drawn(event: Event) -> bool:
    """Whether a step gets data drawn at random, so that an iteration called an epoch is not a pass over the data."""
    return isinstance(event, ModelCalled) and any(
        word.startswith("numpy.random.") for value in event.arguments.all() for word in symbol_of(value).words
    )


def fitting_loops(plan: Plan) -> frozenset[Site]:
    """Loops that call `fit` in every iteration, next to which the cost of another training step or of reading a value
    is negligible."""
    return frozenset(
        loop.site
        for event in plan.events
        if isinstance(event, ModelFitted) and not event.where.context.guards
        for loop in event.where.context.loops
    )


def is_beside_fit(event: Event, loop: Loop, fits: Iterable[ModelFitted]) -> bool:
    """Whether an iteration of a loop in which an event happens always calls `fit`, too."""
    return any(
        is_reached_with(one.where, around, (event,))
        for one in fits
        for around in one.where.context.loops
        if around.site == loop.site
    )


def _is_of_steps(loop: Loop) -> bool:
    """Whether a loop inside a `tf.function` takes many steps, so that one call of the function is not a single step."""
    several = (
        loop.iterable is None
        or isinstance(loop.iterable, (Tensor, Dataset))
        or (isinstance(loop.iterable, Items) and loop.iterable.kind == "range")
    )
    return loop.is_traced and several and not _is_of_few(loop)


def _is_of_few(loop: Loop) -> bool:
    """Whether a loop is one over a few known elements, in one of the branches that decide what it iterates over: `k` of
    `range(k)` may be read from a file in the other."""
    if loop.unrolled or not isinstance(loop.iterable, Union):
        return loop.unrolled
    counts = (most_items(one) for _, one in loop.iterable.alternatives)
    return any(count is not None and count <= FEW for count in counts)


def _batch_methods(plan: Plan) -> frozenset[Site]:
    """Methods that Keras calls for every batch."""
    return frozenset(
        event.loop.site for event in plan.events if isinstance(event, LoopEntered) and event.loop.is_batches
    )


def is_endless(iterable: Value) -> bool:
    """Whether a loop over this value never ends by itself: it iterates over an endless generator of the program or of
    `itertools`."""
    return all(
        one.is_endless if isinstance(one, Items) else type(one) is Unknown and one.symbol.parts[:2] in _WITHOUT_END
        for one in length_sources(iterable)
    )


_WITHOUT_END = tuple(("call", ("external", f"itertools.{name}")) for name in ("count", "cycle"))
"""First parts of the symbols of endless iterators."""


FEW = 10
"""Total number of iterations up to which the cost per iteration does not matter."""


def iteration_count(loop: Loop) -> int | None:
    """Maximum number of iterations of a loop; None if it is unknown."""
    counts = [_length(one) for one in length_sources(loop.iterable)]
    return min((count for count in (*counts, iterations_to_break(loop)) if count is not None), default=None)


def _length(iterable: Value) -> int | None:
    if isinstance(iterable, Items):
        if iterable.items is None:
            return iterable.most
        of_one_batch = bool(iterable.items) and all(isinstance(item, Tensor) for item in iterable.items)
        return None if of_one_batch else len(iterable.items)
    if type(iterable) is Unknown:
        return count_of(iterable.symbol)
    return most_elements(iterable) if isinstance(iterable, Dataset) else None


def are_few(loops: Iterable[Loop], limit: int = FEW) -> bool:
    """Whether nested loops have at most `limit` iterations in total."""
    total = 1
    for loop in loops:
        count = iteration_count(loop)
        if count is None:
            return False
        total *= max(count, 1)
    return total <= limit


def in_every_iteration(event: Event, loop: Loop, others: Iterable[Event]) -> bool:
    """Whether an event happens in each analysed iteration of a loop, rather than only in the first or the last. It may
    be missing from the first: an agent begins to learn once it has played enough."""
    return loop.iterations < 2 or (
        any(around.iteration > 0 for _, around in _arrivals(event, loop, others))
        and any(
            0 < iteration == around.iteration and compatible(where.path, end)
            for where, around in _all_arrivals(event, loop, others)
            for iteration, end in loop.continuations
        )
    )


def is_sought(event: Event, loop: Loop, others: Iterable[Event]) -> bool:
    """Whether a loop searches for one element, for which alone a site is reached: in each iteration something must
    equal something else."""
    equal: dict[int, set[Literal]] = defaultdict(set)
    for where, around in _arrivals(event, loop, others):
        equal[around.iteration] |= {one for one in where.path - around.start if _is_equality(one)}
    common = set.intersection(*equal.values())
    return len(equal) > 1 and all(own - common for own in equal.values())


def _is_equality(literal: Literal) -> bool:
    """Whether a literal states that two things are equal, in one way or another."""
    condition = literal.condition
    if not literal.holds or "%" in words_of(frozenset({literal})):
        return False
    if isinstance(condition.operand, frozenset):
        return all(any(map(_is_equality, way)) for way in condition.operand)
    return condition.operator == "=="


def every_step(event: Event, loops: frozenset[Site], steps: Iterable[Event], others: Iterable[Event]) -> Loop | None:
    """The innermost of these loops around an event that is reached in every one of many training steps; None if there
    is no such loop.

    The event must happen in every iteration, or under no condition other than that of the step itself (a batch that is
    skipped). `others` are the events of the same kind.
    """
    loop = loop_around(event.where, loops)
    if loop is None or are_few(event.where.context.loops):
        return None
    often = is_unguarded(event, loop, others) or all(
        _is_guarded_as(one, around, steps) for one, around in _arrivals(event, loop, others)
    )
    return loop if often else None


def with_step(event: Event, loops: frozenset[Site], steps: Iterable[Event]) -> Loop | None:
    """The innermost of these loops around an event that is reached whenever the loop takes training steps, however
    seldom (on every fourth move of a game), and there are many iterations. None if there is no such loop."""
    loop = loop_around(event.where, loops)
    if loop is None or are_few(event.where.context.loops):
        return None
    taken = [(one, around) for one in steps for around in one.where.context.loops if around.site == loop.site]
    made = [one for one, around in taken if around.iteration == loop.iteration] or [one for one, _ in taken]
    alike: defaultdict[tuple[Site | None, ...], list[Event]] = defaultdict(list)
    for one in made:  # a step with one of several optimizers causes an event for each
        alike[(one.site, *(caller.site for caller in callers(one.where.caller)))].append(one)
    return loop if made and all(is_reached_with(event.where, loop, ones) for ones in alike.values()) else None


def loop_around(where: Where, loops: Collection[Site]) -> Loop | None:
    """The innermost of these loops around a moment."""
    return next((loop for loop in reversed(where.context.loops) if loop.site in loops), None)


def is_reached_with(where: Where, loop: Loop, steps: Iterable[Event]) -> bool:
    """Whether a moment is reached under no conditions other than those of a training step."""
    deciding, flags = _deciding(where, loop), set(where.context.flags[loop.flags :])
    return any(
        deciding <= event.where.path - around.start and flags.issubset(event.where.context.flags)
        for event in steps
        for around in event.where.context.loops
        if around.site == loop.site
    )


def _arrivals(event: Event, loop: Loop, others: Iterable[Event]) -> list[tuple[Where, Loop]]:
    """Moments at which an event, or another of its kind at the same site, happens in a loop, each with that execution
    of the loop."""
    return [
        (other.where, around)
        for other in (event, *others)
        if other.site == event.site
        for around in other.where.context.loops
        if around.site == loop.site
    ]


def _all_arrivals(event: Event, loop: Loop, others: Iterable[Event]) -> list[tuple[Where, Loop]]:
    """The arrivals of an event, extended for reads of tensors, where the host waits at other sites as well.

    Added are reads of the same tensor at another site, and reads of other tensors at sites that are reached only where
    this one is not. They are left out if they alone make the host wait on every path.
    """
    own = _arrivals(event, loop, others)
    if not isinstance(event, TensorRead):
        return own
    places: dict[Site, list[TensorRead]] = defaultdict(list)
    for one in others:
        if isinstance(one, TensorRead) and one.site != event.site:
            places[one.site].append(one)
    elsewhere: list[tuple[Where, Loop]] = []
    for alike in places.values():
        arrivals = _arrivals(alike[0], loop, alike)
        if any(one.tensor.site == event.tensor.site for one in alike) or not any(
            around.iteration == there.iteration and compatible(where.path, one.path)
            for where, around in own
            for one, there in arrivals
        ):
            elsewhere += arrivals
    return own if _is_on_every_path(elsewhere) else own + elsewhere


def _is_guarded_as(where: Where, loop: Loop, steps: Iterable[Event]) -> bool:
    return not _is_seldom(where, loop) and is_reached_with(where, loop, steps)


def is_unguarded(event: Event, loop: Loop, others: Iterable[Event]) -> bool:
    """Whether no condition inside a loop decides whether an event is reached, except that no exception was raised
    before it. It must happen in each analysed iteration, on one path or on the paths of several events of the same
    kind."""
    if len(event.where.context.flags) > loop.flags or any(map(_is_for_the_first, _deciding(event.where, loop))):
        return False
    return _is_on_every_path(_all_arrivals(event, loop, others))


def _is_on_every_path(arrivals: Iterable[tuple[Where, Loop]]) -> bool:
    """Whether one of several moments is reached in each iteration of a loop in which any of them is, or in most
    iterations."""
    ways: dict[int, set[Path]] = defaultdict(set)
    assured: set[Literal] = set()
    alike = {
        (around.entry, around.iteration, where.path, where.assumed, where.context.loops[-1].site): (where, around)
        for where, around in arrivals
        if len(where.context.flags) <= around.flags
    }
    for where, around in alike.values():
        ways[around.iteration].add(frozenset(one for one in _deciding(where, around) if not _leaves_out_few(one)))
        assured.update(one for one in where.assumed if one.holds and one.condition.operator == "any")
    return bool(ways) and all(is_complete(of_turn, frozenset(assured)) for of_turn in ways.values())


def _leaves_out_few(literal: Literal) -> bool:
    """Whether a literal states that a remainder has not a certain value, so that it holds in all iterations but every
    n-th."""
    operator, subject, operand = literal.condition
    if not isinstance(subject, Symbol) or subject.parts[:2] != ("binary", "%"):
        return False
    is_other = literal.holds if operator == "truth" else operator == "==" and not literal.holds and type(operand) is int
    kind, *_, number = symbol(subject.parts[3]).parts
    return is_other and kind == "constant" and type(number) is int and number >= MOST


MOST = 3
"""Minimum n for which "all iterations but every n-th" counts as most iterations."""


def is_every_nth(where: Where, loop: Loop) -> bool:
    """Whether a condition on a remainder leaves out most iterations of a loop: `step % 100 == 0`."""
    return any(
        not isinstance(one.condition.operand, frozenset)
        and mentions(frozenset({one}), "%")
        and not _leaves_out_few(one)
        for one in where.path - loop.start
    )


def _is_for_the_first(literal: Literal) -> bool:
    """Whether a literal states that a dict of the program lacks a key."""
    kept = literal.condition.operand
    return (
        literal.condition.operator == "in"
        and not literal.holds
        and isinstance(kept, Symbol)
        and kept.parts[0] == "dict"
    )


def _deciding(where: Where, loop: Loop) -> Path:
    """Conditions inside a loop that decide whether a moment is reached in an iteration. Excludes conditions on the
    elements of inner loops, or on what other collections have at these indices, since each element gets its own
    iteration there."""
    loops = where.context.loops
    inner = next((loops[index + 1 :] for index, one in enumerate(loops) if one.site == loop.site), ())
    collections = {symbol_of(source) for one in inner for source in iterated_sources(one.iterable)}
    return frozenset(one for one in where.path - loop.start - where.assumed if _decides(one, collections))


def _decides(literal: Literal, collections: set[Symbol]) -> bool:
    """Whether a condition decides that a moment is reached: any part of it does."""
    parts = [literal]
    seen = {literal}
    while parts:
        one = parts.pop()
        ways = one.condition.operand
        if not isinstance(ways, frozenset):
            if _decides_alone(one, collections):
                return True
            continue
        within = [part for way in ways for part in way if part.condition.operator != "handler"]
        if not within:
            return True
        parts += [part for part in within if part not in seen]
        seen.update(within)
    return False


def _decides_alone(literal: Literal, collections: set[Symbol]) -> bool:
    condition = literal.condition
    return (
        condition.operator != "completes"
        and not _is_about_worker(literal)
        and not _is_against_debugging(literal)
        and not _is_for_training(literal)
        and not _is_of_setup(literal)
        and not _is_element(condition.subject, collections)
        and (_is_equality(literal) or not _is_at_element(condition.subject, collections))
    )


def _is_against_debugging(literal: Literal) -> bool:
    """Whether a literal states that the program is not being debugged."""
    is_off = literal.condition.operator == "truth" and not literal.holds
    return is_off and any("debug" in words(name) for name in words_of(frozenset({literal})))


def _is_for_training(literal: Literal) -> bool:
    """Whether a literal states that the program trains, as `if training:` does in a function that also evaluates."""
    is_on = literal.condition.operator == "truth" and literal.holds
    return is_on and any("training" in words(name) for name in words_of(frozenset({literal})))


def _is_of_setup(literal: Literal) -> bool:
    """Whether a literal states that a setting, or its length, is greater than a number, as in `weight > 0` and
    `len(layers) > 1`: it decides what a step consists of, in all iterations alike. Not a setting about reporting, nor a
    flag, nor the choice of a mode. A setting that is compared with itself decides nothing."""
    operator, subject, operand = literal.condition
    if operator == "==" and subject == operand:
        return True
    if operator not in (">", ">=") or not isinstance(subject, Symbol):
        return False
    counted = symbol(subject.parts[1]) if subject.parts[0] == "len" else subject
    is_parameter = counted is subject and subject.parts[0] == "parameter"  # of Keras, the index of a batch
    return (
        not is_parameter
        and _is_settled(counted)
        and all(words(name).isdisjoint(_REPORTING) for name in words_of(frozenset({literal})))
    )


_REPORTING = frozenset(
    {
        *("callback", "callbacks", "debug", "display", "every", "freq", "frequency", "interval", "level", "log"),
        *("logger", "logging", "logs", "monitor", "patience", "plot", "print", "profile", "rank", "report", "save"),
        *("show", "summary", "test", "verbose", "verbosity", "writer"),
    }
)
"""Words in the names of settings that decide what a program shows, and how often."""


def _is_element(name: object, collections: set[Symbol]) -> bool:
    """Whether a symbol is an element of one of these collections, or a part of an element."""
    while isinstance(name, Symbol):
        head, *rest = name.parts
        if head == "item" and rest and rest[0] in collections:
            return True
        name = rest[-1] if head == "in_iteration" else rest[0] if rest else None
    return False


def _is_at_element(name: object, collections: set[Symbol]) -> bool:
    """Whether a symbol is what another collection has at an element of one of these, as `done[i]` of a loop over
    `range(n)`."""
    return isinstance(name, Symbol) and name.parts[0] == "item" and _is_element(name.parts[2], collections)


def _is_about_worker(literal: Literal) -> bool:
    """Whether a literal tests which worker this is: it is constant over all iterations."""
    return any(words(name) & _RANKS for name in words_of(frozenset({literal}))) and not mentions(
        frozenset({literal}), "%"
    )


_RANKS = frozenset({"rank", "chief", "leader", "is_master", "is_main"})


def is_rare(where: Where, loop: Loop) -> bool:
    """Whether a condition inside the loop admits only some iterations (every n-th, or a single one), or only some
    releases of TensorFlow. A setting that the program has switched on admits all."""
    return not all(flag.is_setting for flag in where.context.flags[loop.flags :]) or _is_seldom(where, loop)


def _is_seldom(where: Where, loop: Loop) -> bool:
    inside = where.path - loop.start - where.assumed
    return (
        mentions(inside, "%")
        or mentions(where.path, "tensorflow.__version__")
        or any(_is_for_few(one, loop, {}) for one in inside)
    )


def _is_for_few(literal: Literal, loop: Loop, known: dict[Literal, bool]) -> bool:
    """Whether a literal states that something which changes has a certain value, one of a few that are spelled out or
    set, or a whole one: `step in (1, 10, 100)`, `step in shown`, `np.log10(step).is_integer()`. It may also hold in the
    last iteration: `count == every or done`. `known`: the answers so far, as conditions join the same ones."""
    operator, subject, operand = literal.condition
    if isinstance(operand, frozenset) and literal.holds:
        if literal not in known:
            ways = [way for way in operand if not any(_is_of_last(one, loop) for one in way)]
            known[literal] = bool(ways) and all(any(_is_for_few(one, loop, known) for one in way) for way in ways)
        return known[literal]
    if not literal.holds or _is_settled(subject):
        return False
    if operator == "truth":
        return "is_integer" in words_of(frozenset({literal}))
    is_spelled_out = isinstance(operand, Symbol) and operand.parts[0] in ("list", "set", "tuple")
    is_one_of = operator == "in" and (is_spelled_out or (is_changing(subject) and _is_settled(operand)))
    return operator == "==" or is_one_of


def _is_of_last(literal: Literal, loop: Loop) -> bool:
    """Whether a literal holds in the last iteration of a loop only."""
    return bool(loop.continuations) and all(literal.negation in end for _, end in loop.continuations)


def _is_settled(name: object) -> bool:
    """Whether a value is constant over the iterations of a loop: a parameter, an initialised field, a command-line
    option, a setting of an object or a library, a name without an assignment."""
    if not isinstance(name, Symbol):
        return False
    head, *rest = name.parts
    if head in ("external", "field", "name", "parameter"):
        return True
    if head in ("module", "rest", "text"):
        within = [part for one in rest for part in (one if isinstance(one, tuple) else (one,))]
        return all(_is_settled(part) for part in within if isinstance(part, Symbol))
    owner = name
    while owner.parts[0] == "attribute" and isinstance(owner.parts[1], Symbol):
        owner = owner.parts[1]
    if owner.parts[0] == "object" and owner is not name:
        return True
    while name.parts[0] in ("attribute", "item") and not isinstance(name.parts[-1], Site):
        name = symbol(name.parts[1])
    return (name.parts[0] == "call" and not _LOADS.isdisjoint(name.words)) or name.parts == ("external", "sys.argv")


_LOADS = frozenset(
    {
        *("json.load", "parse_args", "parse_known_args", "toml.load", "tomli.load", "tomllib.load", "yaml.load"),
        "yaml.safe_load",
    }
)
"""Functions that read the settings of a program."""
