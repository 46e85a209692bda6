"""GPU212."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import Loop, Plan, Report, Rule, Severity, Site, Where, confidence, events, values
from gpulint.plugin.queries import callers
from gpulint.plugin.symbols import Literal, Path, Symbol, mentions, varies, words, words_of


class AccumulateApplies(Rule):
    """Gradient accumulation that does not accumulate

    ## What it does
    Finds loops over micro-steps that apply the gradients of each one; steps that take gradients every time but apply
    only those of every n-th one, without ever adding them up; variables for sums that are overwritten instead; sums
    (variables, lists, tensors) that are applied at every micro-step while they grow; and lists of gradients that are
    applied one by one.

    ## Why is this bad
    The effective batch is that of one micro-step: either the optimizer steps n times too often, or n - 1 of n batches
    are computed and discarded. A sum that is applied while it grows applies the first micro-steps again with each later
    one.

    ## Example
    ```python
    import tensorflow as tf

    weight = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD()
    ACCUMULATION_STEPS = 4


    @tf.function
    def train(dataset):
        for step, x in enumerate(dataset):
            with tf.GradientTape() as tape:
                loss = weight * tf.cast(x, tf.float32) / ACCUMULATION_STEPS
            gradient = tape.gradient(loss, weight)
            if (step + 1) % ACCUMULATION_STEPS == 0:
                optimizer.apply_gradients([(gradient, weight)])


    train(tf.data.Dataset.range(64))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    weight = tf.Variable(1.0)
    total = tf.Variable(0.0)
    optimizer = tf.keras.optimizers.SGD()
    ACCUMULATION_STEPS = 4


    @tf.function
    def train(dataset):
        for step, x in enumerate(dataset):
            with tf.GradientTape() as tape:
                loss = weight * tf.cast(x, tf.float32) / ACCUMULATION_STEPS
            total.assign_add(tape.gradient(loss, weight))
            if (step + 1) % ACCUMULATION_STEPS == 0:
                optimizer.apply_gradients([(total, weight)])
                total.assign(0.0)


    train(tf.data.Dataset.range(64))
    ```

    ## What is not reported
    Real accumulation (variables, lists, sums) that is applied after the loop, under a condition inside it, or reset
    after each update. Code on the other side of a setting does not count. Steps with a single micro-step, or where none
    is configured. Sums whose earlier part is scaled in each iteration (momentum, running means, traces), sums of the
    gradients of several losses, Keras's own `gradient_accumulation_steps`, and optimizers of the program's own that
    accumulate.

    ## At run time
    Optimizer iterations equal micro-steps.
    """

    code = "GPU212"
    name = "accumulate-applies"
    severity = Severity.ERROR
    any_of_names = frozenset({"GradientTape", ".minimize"})
    source_pattern = r"(?i)accum|micro|GradientTape|[\w)\]] ?% ?[\w(]"
    why = "every update uses one micro-batch, so the effective batch size does not grow"
    instead = (
        "sum the gradients and apply the sum every n-th step, or pass `gradient_accumulation_steps=n` to the optimizer "
        "(Keras 3)"
    )

    def __init__(self) -> None:
        self._divided: set[int] = set()
        self._suspects: dict[Site, Report] = {}
        self._accumulates: set[Site] = set()
        self._applied: list[events.GradientsApplied] = []
        self._updates: dict[int, list[events.StateUpdated]] = defaultdict(list)
        self._sums: dict[Site, list[tuple[Where, frozenset[values.Summand]]]] = defaultdict(list)
        self._repeated: dict[Site, Report] = {}

    def on_op_called(self, event: events.OpCalled, plan: Plan) -> None:
        if event.name == "operator./" and len(event.inputs) == 2 and _speaks_of_accumulation(event.inputs[1]):
            self._divided.add(event.result.serial)

    def on_state_updated(self, event: events.StateUpdated, plan: Plan) -> None:
        self._updates[id(event.target)].append(event)
        if event.is_move and event.gradient is not None and event.gradient.gradient is not None:
            self._note_sums(event, [event.gradient.gradient])

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> None:
        self._applied.append(event)
        self._note_sums(event, [tensor.gradient for tensor in event.gradients if tensor.gradient is not None])
        for tensor in event.gradients:
            gradient = tensor.gradient
            if gradient is None or gradient.accumulated:
                self._accumulates.add(event.site)
            elif not _accumulates_itself(event.optimizer) and (problem := self._problem(event.where, gradient)):
                self._suspects.setdefault(
                    event.site,
                    Report(
                        event.site,
                        problem,
                        confidence=confidence(event.where, gradient.where),
                        related=((gradient.site, "the gradients are taken here"),),
                    ),
                )

    def _note_sums(self, event: events.Event, found: list[values.Gradient]) -> None:
        """Record sums, and report one that grows with each iteration of a loop and is applied in each.

        A sum over an inner loop grows only if it is not restarted there (`if j == 0:`).
        """
        where = event.where
        of_inner_loop = any(len(one.where.context.loops) > len(where.context.loops) for one in found)
        for earlier, summands in self._sums[event.site]:
            loop = _later_iteration(earlier, where)
            growing = [one for one in found if summands < one.summands]
            if of_inner_loop and len(growing) < len(found):
                continue
            if loop is not None and growing and _is_always(where, loop):
                gradient = growing[0]
                report = Report(
                    event.site,
                    "the sum of gradients is applied at every micro-step while it grows",
                    why=_AGAIN,
                    instead=_APPLY_ONCE,
                    confidence=confidence(where, gradient.where),
                    related=(
                        (gradient.site, "the gradients are taken here"),
                        (loop.site, "the sum grows in this loop"),
                    ),
                )
                self._repeated.setdefault(event.site, report)
        self._sums[event.site] += [(where, gradient.summands) for gradient in found if gradient.summands]

    def on_end(self, plan: Plan) -> Iterator[Report]:
        yield from self._repeated.values()
        for site, report in self._suspects.items():
            if site not in self._accumulates:
                yield report
        for event in self._applied:
            for variable in event.accumulators:
                updates = self._updates[id(variable)]
                beside = [one for one in updates if not _are_settings_apart(one.where, event.where)]
                if not _is_of_one(event.where.path):
                    yield from _misused(event, beside, plan.is_complete, variable.is_handed_out)

    def _problem(self, applied: Where, gradient: values.Gradient) -> str:
        loops = applied.context.loops
        if _one_by_one(applied, gradient.where):
            return "the gradients of the micro-steps are applied one by one instead of being summed"
        if not loops or gradient.where.context.loops != loops:
            return ""
        if _is_of_one(applied.path):
            return ""
        new = applied.path - gradient.where.path
        is_set = bool(new) and all(map(_is_setting, new))
        if not is_set and applied.context.guards and applied.context.guards != gradient.where.context.guards:
            return "only the gradients of every n-th step are applied; the others are lost" if _every_nth(new) else ""
        over_micro_steps = loops[-1].iterable is not None and _speaks_of_accumulation(loops[-1].iterable)
        scaled_for = isinstance(gradient.loss, values.Tensor) and gradient.loss.serial in self._divided
        if over_micro_steps or scaled_for:
            return "gradients are applied on every micro-step instead of being summed"
        return ""


_AGAIN = "gradients of earlier micro-steps are applied again and again, so updates are too large"

_APPLY_ONCE = "apply the sum every n-th step, and reset it right after that"


def _is_setting(literal: Literal) -> bool:
    """Whether a condition tests a value that is the same in all iterations: an option, a parameter, an attribute."""
    condition = literal.condition
    return (
        condition.operator in ("truth", "==", ">", ">=", "in", "is")
        and isinstance(condition.subject, Symbol)
        and condition.subject.parts[0] in _SETTINGS
        and not varies(values.Unknown(condition.subject))
        and not mentions(frozenset({literal}), "%")
    )


_SETTINGS = frozenset({"attribute", "environment", "field", "parameter"})


def _are_settings_apart(first: Where, second: Where) -> bool:
    """Whether two places are on opposite sides of a setting."""
    return any(_is_setting(one) and one.negation in second.path for one in first.path)


def _is_of_one(path: Path) -> bool:
    """Whether a condition of the path says that nothing is accumulated, or only one micro-step."""
    return any(
        (literal.condition.operator, literal.condition.operand, literal.holds) in _ONE
        and any(words(name) & WORDS or "accum" in name.lower() for name in words_of(frozenset({literal})))
        for literal in path
    )


_ONE = frozenset(
    {("==", 1, True), ("==", None, True), ("is", None, True), (">", 1, False), (">=", 2, False), ("truth", None, False)}
)


def _accumulates_itself(optimizer: values.Object) -> bool:
    """Whether an optimizer may accumulate several steps: by Keras's argument, or by one of its own."""
    if isinstance(optimizer, values.Optimizer) and optimizer.may_accumulate:
        return True
    return any("accum" in name.lower() for name in optimizer.attributes)


def _one_by_one(applied: Where, taken: Where) -> bool:
    """Whether each n-th micro-step iterates over a list of the earlier ones' gradients and applies each separately."""
    *around, over = applied.context.loops or (None,)
    steps = taken.context.loops
    if over is None or not around or [_run(loop) for loop in around] != [_run(loop) for loop in steps]:
        return False
    kept = over.iterable
    if not isinstance(kept, values.Items) or kept.kind != "list" or kept.around is None:
        return False
    rows = _rows(kept)
    is_older = all((_run(loop), loop.iteration) != (_run(around[-1]), around[-1].iteration) for loop in kept.around)
    return is_older and bool(rows) and all(map(_has_gradients, rows)) and _every_nth(applied.path - taken.path)


def _run(loop: Loop) -> tuple[Site, int]:
    return loop.site, loop.entry


def _rows(kept: values.Items) -> tuple[values.Value | None, ...]:
    return kept.items if kept.items is not None else (kept.element,)


def _has_gradients(row: values.Value | None) -> bool:
    """Whether a value is a list of gradients from a tape."""
    if not isinstance(row, values.Items) or row.kind != "list":
        return False
    return any(isinstance(one, values.Tensor) and one.gradient is not None for one in _rows(row))


def _misused(
    applied: events.GradientsApplied, updates: list[events.StateUpdated], is_complete: bool, is_handed_out: bool
) -> Iterator[Report]:
    """Reports for a variable that is applied as a gradient.

    `is_complete` says that the program updates it nowhere else, `is_handed_out` that code it was passed to may update
    it.
    """
    added = [one for one in updates if one.is_move]
    replaced = [one for one in updates if one.gradient is not None and not one.is_move]
    emptied = [one for one in updates if one.gradient is None]
    if replaced and not added and _every_nth(applied.where.path - replaced[0].where.path):
        yield Report(
            replaced[0].site,
            "each micro-step overwrites the gradients of the one before: nothing sums them",
            confidence=confidence(applied.where, replaced[0].where),
            related=((applied.site, "the gradients are applied here"),),
        )
    elif not is_complete:
        return
    elif added and emptied and _are_rarer(emptied, applied.where):
        yield Report(
            applied.site,
            "the sum of gradients is applied at every micro-step, and reset only occasionally",
            why=_AGAIN,
            instead=_APPLY_ONCE,
            confidence=confidence(applied.where, emptied[0].where),
            related=((added[0].site, "the gradients are summed here"), (emptied[0].site, "the sum is reset here")),
        )
    elif added and emptied and (loop := _growing_in(applied.where, added, emptied)) is not None:
        yield Report(
            applied.site,
            "the sum of gradients is applied at every micro-step, and reset only after the loop",
            why=_AGAIN,
            instead=_APPLY_ONCE,
            confidence=confidence(applied.where, emptied[0].where),
            related=(
                (loop.site, "the sum grows in this loop"),
                (added[0].site, "the gradients are summed here"),
                (emptied[0].site, "the sum is reset here"),
            ),
        )
    elif added and not emptied and not replaced and not is_handed_out:
        if (loop := _growing_in(applied.where, added, [])) is not None:
            yield Report(
                applied.site,
                "the sum of gradients is applied at every micro-step, and never reset",
                why=_AGAIN,
                instead=_APPLY_ONCE,
                confidence=confidence(applied.where, added[0].where),
                related=((loop.site, "the sum grows in this loop"), (added[0].site, "the gradients are summed here")),
            )


def _are_rarer(emptied: list[events.StateUpdated], applied: Where) -> bool:
    """Whether a sum is emptied less often than it is applied, in this iteration of a loop and so in others."""
    beside = [one for one in emptied if _is_reached_with(one.where, applied)]
    return {one.site for one in beside} == {one.site for one in emptied} and all(
        _is_rarer(one.where, applied) for one in beside
    )


def _growing_in(applied: Where, added: list[events.StateUpdated], emptied: list[events.StateUpdated]) -> Loop | None:
    """Loop in whose iterations a sum grows and is applied but is not emptied."""
    for loop in applied.context.loops:
        if any(_is_iteration_of(one.where, loop) for one in emptied):
            continue
        grown = [one.where for one in added if one.gradient is not None and _is_iteration_of(one.where, loop)]
        if any(_is_as_often(applied, where) for where in grown):
            return loop
    return None


def _is_as_often(where: Where, other: Where) -> bool:
    """Whether a place is under no condition that another place is not under as well, apart from settings."""
    own = where.path - other.path
    return len(where.context.flags) <= len(other.context.flags) and all(
        literal.condition.operator in _OF_TRIES or _is_setting(literal) for literal in own
    )


def _is_iteration_of(where: Where, loop: Loop) -> bool:
    """Whether a place is reached in a loop, regardless of when that was entered."""
    return any(one.site == loop.site for one in where.context.loops)


def _later_iteration(earlier: Where, later: Where) -> Loop | None:
    """Loop in which one moment is in a later iteration than another."""
    for one, other in zip(earlier.context.loops, later.context.loops, strict=False):
        if one.site != other.site or one.entry != other.entry:
            return None
        if one.iteration != other.iteration:
            return other if one.iteration < other.iteration else None
    return None


def _is_always(where: Where, loop: Loop) -> bool:
    """Whether nothing inside a loop but exceptions decides whether a place is reached."""
    inside = where.path - loop.start
    return len(where.context.flags) <= loop.flags and all(one.condition.operator in _OF_TRIES for one in inside)


def _is_rarer(where: Where, other: Where) -> bool:
    """Whether a place is under a condition that another place is not under."""
    own = {literal for literal in where.path - other.path if literal.condition.operator not in _OF_TRIES}
    return bool(own) and not other.path - where.path


def _is_reached_with(where: Where, other: Where) -> bool:
    """Whether a place is reached along with another one: in the same function, in one call that leads to both without a
    loop around the other, or in the same iteration."""
    ways = {id(one) for one in callers(other.caller) if one.loops >= len(other.context.loops)}
    is_same_call = any(id(one) in ways and one.site is not None for one in callers(where.caller))
    return is_same_call or where.caller.definition == other.caller.definition or _is_in_iteration(where, other)


def _is_in_iteration(where: Where, other: Where) -> bool:
    """Whether a place is reached in the same execution of the loops that another one is reached in."""
    loops, others = ([(loop.site, loop.entry) for loop in one.context.loops] for one in (where, other))
    return bool(others) and loops[: len(others)] == others


_OF_TRIES = frozenset({"completes", "handler"})


def _every_nth(path: Path) -> bool:
    """Whether a condition of the path holds in every n-th step (`x % n == constant`)."""
    return any(
        literal.holds and literal.condition.operator in ("==", "truth") and mentions(frozenset({literal}), "%")
        for literal in path
    )


def _speaks_of_accumulation(value: values.Value) -> bool:
    """Whether a size or a range is named after accumulation."""
    names = value.named if isinstance(value, values.Constant) else values.symbol_of(value).words
    return any(words(name) & WORDS or "accum" in name.lower() for name in names)


WORDS = frozenset({"accumulation", "accumulate", "accum", "micro", "microsteps", "microbatches"})
