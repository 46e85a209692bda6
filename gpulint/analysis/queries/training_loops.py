"""Which loops of a program are step loops: those that train, one step a round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from gpulint.analysis.domain.context import Loop, Where
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.path_conditions import Literal, Path, compatible, is_complete, mentions, words_of
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.symbolic_patterns import count_of
from gpulint.analysis.domain.traversal import counted_in, gone_over, leaves
from gpulint.analysis.domain.values.base import Unknown, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.plan.events import (
    Event,
    GradientsApplied,
    LoopEntered,
    ModelCalled,
    ModelFitted,
    StateUpdated,
    TensorRead,
    UnknownFitted,
)
from gpulint.analysis.plan.plan import Plan
from gpulint.places import Site

_EPOCHS = frozenset({"epoch", "epochs", "ep"})
_PASSES = _EPOCHS | {"episode", "episodes"}
"""Words in the name of a loop's variable that say a round is a pass over the data, or a game."""


def is_update(event: Event) -> bool:
    """Whether an event changes the weights of a model from Python's side: one training step."""
    return (
        isinstance(event, GradientsApplied)
        or (isinstance(event, ModelCalled) and event.how == "train_on_batch")
        or (isinstance(event, StateUpdated) and event.is_move)
    )


def training_loops(plan: Plan) -> frozenset[Site]:
    """The loops inside which a training step is taken, at any depth."""
    return frozenset(
        loop.site for event in plan.events if is_update(event) for loop in event.where.context.loops
    ) | _batch_methods(plan)


def step_loops(plan: Plan) -> frozenset[Site]:
    """The loops that take one training step a round: the innermost ones around a step, of all and of those that go
    over a dataset. A loop over epochs is none, though its body may be one step, and a loop that takes one of the steps
    of a loop inside it, to begin with, is none."""
    found = set(_batch_methods(plan))
    taken: dict[Site, set[Site]] = defaultdict(set)
    inside: dict[Site, set[Site]] = defaultdict(set)
    chunked: set[Site] = set()
    for event in plan.events:
        if is_update(event):
            loops = event.where.context.loops
            inner = next(
                (loop for loop in reversed(loops) if not loop.unrolled and not _goes_over_gradients(loop)), None
            )
            if inner is not None and (not is_over_epochs(inner) or _is_drawn(event)):
                taken[inner.site].add(event.site)
                for loop in loops[: loops.index(inner)]:
                    inside[loop.site].add(event.site)
            found.update([loop.site for loop in loops if goes_over_data(loop.iterable)][-1:])
            if any(_is_of_steps(loop) for loop in loops):
                chunked.update(loop.site for loop in loops if not loop.is_traced)
    found.update(loop for loop, sites in taken.items() if not sites <= inside[loop])
    return frozenset(found - chunked - fitting_loops(plan))


def _is_drawn(event: Event) -> bool:
    """Whether a step gets what is drawn at random: a round that is called an epoch is no pass over the data then."""
    return isinstance(event, ModelCalled) and any(
        word.startswith("numpy.random.") for value in event.arguments.all() for word in symbol_of(value).words
    )


def fitting_loops(plan: Plan) -> frozenset[Site]:
    """The loops that call `fit` in every round: beside that a step of its own, or a look at a value, is nothing."""
    return frozenset(
        loop.site
        for event in plan.events
        if isinstance(event, ModelFitted) and not event.where.context.guards
        for loop in event.where.context.loops
    )


def _goes_over_gradients(loop: Loop) -> bool:
    """Whether a loop goes over the gradients of one step, and what they are of."""
    return any(
        isinstance(leaf, Tensor) and leaf.gradient is not None
        for one in counted_in(loop.iterable)
        if isinstance(one, Items)
        for leaf in leaves(one)
    )


def _is_of_steps(loop: Loop) -> bool:
    """Whether a loop inside a `tf.function` takes many steps, so that a call of it is no single one."""
    several = isinstance(loop.iterable, (Tensor, Dataset)) or (
        isinstance(loop.iterable, Items) and loop.iterable.kind == "range"
    )
    return loop.is_traced and several and not loop.unrolled


def _batch_methods(plan: Plan) -> frozenset[Site]:
    """Methods that Keras calls for every batch."""
    return frozenset(
        event.loop.site for event in plan.events if isinstance(event, LoopEntered) and event.loop.is_batches
    )


def is_over_epochs(loop: Loop) -> bool:
    """Whether a loop says that its rounds are passes over the data. Thousands of epochs are steps over all of it."""
    said = frozenset().union(*(words(name) & _PASSES for name in loop.names))
    return bool(said) and not (said <= _EPOCHS and any(_has_many(one) for one in counted_in(loop.iterable)))


def _has_many(iterable: Value) -> bool:
    """Whether something is a `range` of thousands."""
    if not isinstance(iterable, Items) or iterable.symbol.parts[0] != "range":
        return False
    bounds = [one.parts[2] for one in iterable.symbol.parts[1] if one.parts[:2] == ("constant", "int")]
    is_known = 0 < len(bounds) == len(iterable.symbol.parts[1]) and 0 not in bounds[2:]
    return is_known and bool(range(*bounds)[MANY - 1 :])


MANY = 1000
"""Rounds that are too many for passes over batches of data."""


def goes_over_data(iterable: Value | None) -> bool:
    """Whether a loop over this value goes over a dataset, directly or through `enumerate`, `zip` …"""
    return any(isinstance(one, Dataset) for one in gone_over(iterable))


def is_endless(iterable: Value) -> bool:
    """Whether a loop over this value never ends by itself: it goes over a generator of the program without an end, or
    one of Python's."""
    return all(
        one.is_endless if isinstance(one, Items) else type(one) is Unknown and one.symbol.parts[:2] in _WITHOUT_END
        for one in counted_in(iterable)
    )


_WITHOUT_END = tuple(("call", ("external", f"itertools.{name}")) for name in ("count", "cycle"))
"""Beginnings of the symbols of what goes on for ever."""


FEW = 10
"""Rounds in all that are too few for what each of them costs to matter."""


def rounds(loop: Loop) -> int | None:
    """How many rounds a loop has, at most; None where that is not known."""
    return min((count for one in counted_in(loop.iterable) if (count := _length(one)) is not None), default=None)


def _length(iterable: Value) -> int | None:
    if isinstance(iterable, Items):
        if iterable.items is None:
            return None
        of_one_batch = bool(iterable.items) and all(isinstance(item, Tensor) for item in iterable.items)
        return None if of_one_batch else len(iterable.items)
    if type(iterable) is Unknown:
        return count_of(iterable.symbol)
    if not isinstance(iterable, Dataset):
        return None
    length: int | None = None
    for step in iterable.steps:
        size = known(step.arguments.get({"take": "count", "batch": "batch_size"}.get(step.name, ""), 0))
        if step.name == "take" and isinstance(size, int) and size >= 0:
            length = size if length is None else min(length, size)
        elif step.name == "batch" and length is not None and isinstance(size, int) and size > 0:
            length = -(-length // size)
        elif step.name in ("repeat", "unbatch", "flat_map", "interleave", "concatenate"):
            length = None
    return length


def are_few(loops: Iterable[Loop], limit: int = FEW) -> bool:
    """Whether loops inside each other have but a few rounds in all."""
    total = 1
    for loop in loops:
        count = rounds(loop)
        if count is None:
            return False
        total *= max(count, 1)
    return total <= limit


def in_every_turn(event: Event, loop: Loop, others: Iterable[Event]) -> bool:
    """Whether what happens at a place happens in each round of a loop that was gone through, not only in the first or
    the last; or in each but the first, if the same happens then at another place."""
    arrivals = _arrivals_by_all_ways(event, loop, others)
    return loop.turns < 2 or (
        len({around.turn for _, around in arrivals}) > 1
        and any(around.turn > 0 for _, around in _arrivals(event, loop, others))
        and any(
            turn == around.turn and compatible(where.path, end)
            for where, around in arrivals
            for turn, end in loop.goes_on
        )
    )


def is_sought(event: Event, loop: Loop, others: Iterable[Event]) -> bool:
    """Whether a loop looks for one element, for which alone a place is reached: something of each round has to equal
    something else."""
    equal: dict[int, set[Literal]] = defaultdict(set)
    for where, around in _arrivals(event, loop, others):
        equal[around.turn] |= {one for one in where.path - around.start if _is_equality(one)}
    common = set.intersection(*equal.values())
    return len(equal) > 1 and all(own - common for own in equal.values())


def _is_equality(literal: Literal) -> bool:
    """Whether a condition says that something equals something else, in one way or another."""
    condition = literal.condition
    if not literal.holds or "%" in words_of(frozenset({literal})):
        return False
    if isinstance(condition.operand, frozenset):
        return all(any(map(_is_equality, way)) for way in condition.operand)
    return condition.operator == "=="


def updates(plan: Plan) -> list[Event]:
    """The training steps of a program."""
    return [event for event in plan.events if is_update(event)]


def every_step(event: Event, loops: frozenset[Site], steps: Iterable[Event], others: Iterable[Event]) -> Loop | None:
    """The innermost of these loops around a place, if the place is reached in every training step and there are
    many: in every round, or under no other condition than the step itself (a batch that is skipped). `others` are the
    events of the same kind."""
    loop = loop_around(event.where, loops)
    if loop is None or are_few(event.where.context.loops):
        return None
    often = is_unguarded(event, loop, others) or all(
        _is_guarded_as(one, around, steps) for one, around in _arrivals(event, loop, others)
    )
    return loop if often else None


def with_step(event: Event, loops: frozenset[Site], steps: Iterable[Event]) -> Loop | None:
    """The innermost of these loops around a place, if the place is reached whenever training steps of the loop are
    made, however seldom that is (every fourth move of a game), and there are many."""
    loop = loop_around(event.where, loops)
    if loop is None or are_few(event.where.context.loops):
        return None
    made = [one for one in steps if any(around.site == loop.site for around in one.where.context.loops)]
    return loop if made and all(is_reached_with(event.where, loop, (one,)) for one in made) else None


def loop_around(where: Where, loops: Collection[Site]) -> Loop | None:
    """The innermost of these loops around a place."""
    return next((loop for loop in reversed(where.context.loops) if loop.site in loops), None)


def is_reached_with(where: Where, loop: Loop, steps: Iterable[Event]) -> bool:
    """Whether a place is reached under no other condition than one of some training steps."""
    deciding, flags = _deciding(where, loop), set(where.context.flags[loop.flags :])
    return any(
        deciding <= event.where.path - around.start and flags.issubset(event.where.context.flags)
        for event in steps
        for around in event.where.context.loops
        if around.site == loop.site
    )


def _arrivals(event: Event, loop: Loop, others: Iterable[Event]) -> list[tuple[Where, Loop]]:
    """The moments at which an event and others of its kind are at one place in one loop."""
    return [
        (other.where, around)
        for other in (event, *others)
        if other.site == event.site
        for around in other.where.context.loops
        if around.site == loop.site
    ]


def _arrivals_by_all_ways(event: Event, loop: Loop, others: Iterable[Event]) -> list[tuple[Where, Loop]]:
    """Those moments, and for the read of a tensor those too at which the same is read at another place, or another
    tensor at a place that is reached only where this one is not: the host waits there as well. Not where it waits on
    every way without this place."""
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
            around.turn == there.turn and compatible(where.path, one.path)
            for where, around in own
            for one, there in arrivals
        ):
            elsewhere += arrivals
    return own if _is_on_every_way(elsewhere) else own + elsewhere


def _is_guarded_as(where: Where, loop: Loop, steps: Iterable[Event]) -> bool:
    return not _is_seldom(where, loop) and is_reached_with(where, loop, steps)


def is_unguarded(event: Event, loop: Loop, others: Iterable[Event]) -> bool:
    """Whether nothing inside a loop decides that a place is reached, but that no exception came before: in each round
    that was gone through, by one way or by the ways of several events of the same kind."""
    if len(event.where.context.flags) > loop.flags or any(map(_is_for_the_first, _deciding(event.where, loop))):
        return False
    return _is_on_every_way(_arrivals_by_all_ways(event, loop, others))


def _is_on_every_way(arrivals: Iterable[tuple[Where, Loop]]) -> bool:
    """Whether one of several moments comes in each round of a loop that one of them comes in, or in most rounds."""
    ways: dict[int, set[Path]] = defaultdict(set)
    assured: set[Literal] = set()
    alike = {
        (around.entry, around.turn, where.path, where.assured, where.context.loops[-1].site): (where, around)
        for where, around in arrivals
        if len(where.context.flags) <= around.flags
    }
    for where, around in alike.values():
        ways[around.turn].add(frozenset(one for one in _deciding(where, around) if not _leaves_out_few(one)))
        assured.update(one for one in where.assured if one.holds and one.condition.operator == "any")
    return bool(ways) and all(is_complete(of_turn, frozenset(assured)) for of_turn in ways.values())


def _leaves_out_few(literal: Literal) -> bool:
    """Whether a condition says that a remainder is not a certain one: it holds in all but every n-th round."""
    operator, subject, operand = literal.condition
    if not isinstance(subject, Symbol) or subject.parts[:2] != ("binary", "%"):
        return False
    is_other = literal.holds if operator == "truth" else operator == "==" and not literal.holds and type(operand) is int
    kind, *_, number = symbol(subject.parts[3]).parts
    return is_other and kind == "constant" and type(number) is int and number >= MOST


MOST = 3
"""Rounds of which one is left out, so that what happens in the others happens in most rounds."""


def _is_for_the_first(literal: Literal) -> bool:
    """Whether a condition holds where a dict of the program does not have something yet."""
    kept = literal.condition.operand
    return (
        literal.condition.operator == "in"
        and not literal.holds
        and isinstance(kept, Symbol)
        and kept.parts[0] == "dict"
    )


def _deciding(where: Where, loop: Loop) -> Path:
    """The conditions inside a loop that decide whether a place is reached in a round: not those about the elements of
    loops further in, which all have their turn."""
    loops = where.context.loops
    inner = next((loops[index + 1 :] for index, one in enumerate(loops) if one.site == loop.site), ())
    collections = {symbol_of(one.iterable) for one in inner if one.iterable is not None}
    return frozenset(
        literal
        for literal in where.path - loop.start - where.assured
        if literal.condition.operator != "completes"
        and not _is_about_worker(literal)
        and not _is_element(literal.condition.subject, collections)
    )


def _is_element(name: object, collections: set[Symbol]) -> bool:
    """Whether a value is an element of one of these collections, or a part of an element."""
    while isinstance(name, Symbol):
        head, *rest = name.parts
        if head == "item" and rest and rest[0] in collections:
            return True
        name = rest[-1] if head == "turn" else rest[0] if rest else None
    return False


def _is_about_worker(literal: Literal) -> bool:
    """Whether a condition is about which worker this is: it is the same in every round."""
    return any(words(name) & _RANKS for name in words_of(frozenset({literal}))) and not mentions(
        frozenset({literal}), "%"
    )


_RANKS = frozenset({"rank", "chief", "leader", "is_master", "is_main"})


def is_rare(where: Where, loop: Loop) -> bool:
    """Whether a condition inside the loop lets only some rounds through (every n-th, or one), or only some releases."""
    return len(where.context.flags) > loop.flags or _is_seldom(where, loop)


def _is_seldom(where: Where, loop: Loop) -> bool:
    inside = where.path - loop.start - where.assured
    return (
        mentions(inside, "%")
        or mentions(where.path, "tensorflow.__version__")
        or any(
            one.condition.operator == "==" and one.holds and not _is_settled(one.condition.subject) for one in inside
        )
    )


def _is_settled(name: object) -> bool:
    """Whether a value is the same in all rounds of a loop: a parameter, a field that was given, an option, a setting of
    an object, a name that nothing binds."""
    if not isinstance(name, Symbol):
        return False
    head, *rest = name.parts
    if head in ("field", "name", "parameter"):
        return True
    if head in ("module", "rest", "text"):
        within = [part for one in rest for part in (one if isinstance(one, tuple) else (one,))]
        return all(_is_settled(part) for part in within if isinstance(part, Symbol))
    if head == "attribute" and isinstance(rest[0], Symbol) and rest[0].parts[0] == "object":
        return True
    while name.parts[0] in ("attribute", "item") and not isinstance(name.parts[-1], Site):
        name = symbol(name.parts[1])
    return (name.parts[0] == "call" and not _LOADS.isdisjoint(name.words)) or name.parts == ("external", "sys.argv")


_LOADS = frozenset(
    {"parse_args", "json.load", "toml.load", "tomli.load", "tomllib.load", "yaml.load", "yaml.safe_load"}
)
"""What reads the settings of a program."""


def has_compiled_way(where: Where, plan: Plan) -> bool:
    """Whether the program trains the same compiled on a path that excludes this one, and not in the same loop on this
    one: it is a mode for debugging. With other optimizers, and not by `fit`, it trains something else."""
    here = {loop.site for loop in where.context.loops}
    optimizers = {
        event.optimizer.site
        for event in plan.events
        if isinstance(event, GradientsApplied)
        and here.intersection(loop.site for loop in event.where.context.loops)
        and compatible(event.where.path, where.path)
    }
    compiled = [
        event.where
        for event in plan.events
        if isinstance(event, (ModelFitted, UnknownFitted))
        or (
            is_update(event)
            and event.where.context.traced is not None
            and not (isinstance(event, GradientsApplied) and optimizers and event.optimizer.site not in optimizers)
        )
    ]
    return any(not compatible(one.path, where.path) for one in compiled) and not any(
        compatible(one.path, where.path) and here.intersection(loop.site for loop in one.context.loops)
        for one in compiled
    )
