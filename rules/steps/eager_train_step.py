"""GPU508."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpulint.plugin import Loop, Plan, Report, Rule, Severity, Site, Where, confidence, events, possible, unsafe, values
from gpulint.plugin.fixes import loops
from gpulint.plugin.queries import (
    are_few,
    callers,
    chain,
    fitting_loops,
    has_compiled_way,
    in_every_iteration,
    is_rare,
    leaves,
    loop_around,
    step_loops,
    symbol_of,
    updates,
)
from gpulint.plugin.symbols import Symbol, compatible


class EagerTrainStep(Rule):
    """Training step that is not compiled

    ## What it does
    Finds a step with `tf.GradientTape`, or `optimizer.minimize` of a function, that a Python loop or a minimizer of
    SciPy or TensorFlow Probability (L-BFGS) runs and that no `tf.function` compiles, also one that assigns the
    weights itself or of which only the update is compiled, and `apply_gradients` outside the `tf.function` that
    takes the gradients: one finding for each training loop. Also weights that Python assigns after each compiled
    step (a moving average, a target network).

    ## Why is this bad
    Each operation of the step is dispatched from Python, and a GPU finishes small ones faster than Python can dispatch
    them. Measured: 37 times the time for a small dense network, 5.5 times for a small convolutional one, 34 times for a
    GRU (`benchmarks/experiments/eager_train_step.py`). Tracing pays off after 10 to 20 steps. With Adam, most of that
    time is the update: a step that is compiled up to `apply_gradients` takes 29 times as long as one that is compiled
    to the end. A moving average of the weights that Python updates after each compiled step takes 5 to 6 times the step
    (`benchmarks/experiments/eager_average.py`).

    ## Example
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()


    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


    for x in tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64):
        train_step(x)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()


    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


    for x in tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64):
        train_step(x)
    ```

    ## What is not reported
    Steps that are decorated or wrapped anywhere, also by the caller; `train_step` overrides of a model that is fitted;
    functions behind a decorator unknown to gpulint, unless they read tensors as only eager code can (`.numpy()`,
    `float`); steps outside loops, in a loop of at most ten iterations, or in one that calls `fit` in every iteration;
    an update in every n-th step only, of gradients that a compiled function has accumulated;
    an eager mode next to a compiled one (for one device next to replicas, only a mode for debugging); replica functions
    (GPU207); functions that a compiled one passes on.

    ## Fix
    Unsafe, if the step with its update is a function of its own and nothing in it needs the values of tensors:
    decorates it with `@tf.function`. Its Python code then runs when it is traced, not in every step.

    ## At run time
    The log of eager operations.
    """

    code = "GPU508"
    name = "eager-train-step"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset({"GradientTape", ".minimize"})
    yields_to = ("GPU502",)
    why = "Python dispatches the operations of the step one by one, and the GPU sits idle between them"
    instead = "move the whole step, from the forward pass to the update, into a function decorated with `@tf.function`"
    cost = "5 to 37× slower for small models"

    def __init__(self) -> None:
        self._steps: list[tuple[events.Event, tuple[values.Tensor, ...]]] = []
        self._decorated: list[tuple[events.Event, tuple[values.Tensor, ...]]] = []
        """Steps behind an unknown decorator."""
        self._eager: set[Site] = set()
        """Functions behind such a decorator that read tensors, which traced code cannot."""
        self._traced: set[Site] = set()
        self._wrapped: set[Site] = set()
        self._gradients: dict[Site, list[events.GradientTaken]] = defaultdict(list)
        self._forward: set[int] = set()
        """Calls of functions, by id, in which a model or a layer of the program is called eagerly."""
        self._called: set[Site] = set()
        """Places of eager calls of models, and of the calls that lead there."""

    def on_gradient_taken(self, event: events.GradientTaken, plan: Plan) -> None:
        if event.tape is not None:
            self._gradients[event.site].append(event)
            if event.is_of_moved:
                self._note(event, _taken_by(event))

    def on_model_called(self, event: events.ModelCalled, plan: Plan) -> None:
        if event.how == "call":
            self._note_forward(event.where)
            if not event.where.context.may_be_traced:
                self._called.add(event.site)
                self._called.update(one.site for one in callers(event.where.caller) if one.site is not None)

    def on_function_entered(self, event: events.FunctionEntered, plan: Plan) -> None:
        if event.function.name == "call":
            self._note_forward(event.where)

    def _note_forward(self, where: Where) -> None:
        if not where.context.may_be_traced:
            self._forward.update(id(caller) for caller in callers(where.caller))

    def on_tensor_read(self, event: events.TensorRead, plan: Plan) -> None:
        context = event.where.context
        if context.decorated is not None and not context.guards and not context.flags:
            self._eager.add(context.decorated)

    def on_function_traced(self, event: events.FunctionTraced, plan: Plan) -> None:
        if (function := values.function_of(event.function)) is not None:
            self._wrapped.add(function.definition_site)

    def on_function_handed_over(self, event: events.FunctionHandedOver, plan: Plan) -> None:
        """Record a function that a `tf.function` passes on.

        It is traced as well, as when an unknown strategy runs it.
        """
        if event.where.context.may_be_traced:
            self._wrapped.add(event.function.definition_site)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> None:
        self._note(event, event.gradients)

    def on_state_updated(self, event: events.StateUpdated, plan: Plan) -> None:
        if event.gradient is not None and event.is_move:
            self._note(event, (event.gradient,))

    def _note(self, event: events.Event, gradients: tuple[values.Tensor, ...]) -> None:
        context = event.where.context
        if context.may_be_eager and context.decorated is not None and context.replica is None and context.loops:
            self._decorated.append((event, gradients))
        elif context.may_be_traced or context.replica is not None:
            self._traced.add(event.site)
            taken = self._taken(gradients)
            if taken is not None and taken.where.context.loops and _is_eager(taken.where):
                self._steps.append((taken, gradients))
        elif context.loops:
            self._steps.append((event, gradients))

    def _complete(self, plan: Plan) -> None:
        """Add the steps that only the whole program shows: updates without an optimizer, and steps behind a decorator
        that cannot be a compiler."""
        for update in updates(plan):
            if isinstance(update, events.GradientTaken):
                self._note(update, _taken_by(update))
        for decorated, gradients in self._decorated:
            if decorated.where.context.decorated in self._eager:
                self._steps.append((decorated, gradients))
            else:
                self._traced.add(decorated.site)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        self._complete(plan)
        told: set[tuple[Site, Site]] = set()
        fitting = fitting_loops(plan) if self._steps else frozenset()
        applied = [event for event, _ in self._steps]
        reports: dict[Report, tuple[Site | None, frozenset[Site]]] = {}
        for event, gradients in self._steps:
            taken = self._taken(gradients)
            if event.site in self._traced or taken is None or taken.tape is None or has_compiled_way(event.where, plan):
                continue
            nearest, of_step = _loops_of_step(event, taken, applied)
            if nearest is None or are_few(of_step) or of_step[-1].site in fitting:
                continue
            if (
                isinstance(event, events.GradientsApplied)
                and nearest is of_step[-1]
                and not in_every_iteration(event, nearest, applied)
            ):
                continue
            if _is_compiled(taken) and not self._calls_model(taken):
                if event.site != of_step[-1].site:
                    yield from self._half_compiled(event, taken, of_step[-1])
                continue
            losses = possible(taken.loss, taken.where)
            if not self._calls_model(taken) and any(self._may_be_compiled(loss, taken) for loss in losses):
                continue
            functions = [caller.definition for one in (event, taken) for caller in callers(one.where.caller)]
            if self._wrapped.intersection(function for function in functions if function is not None):
                continue
            moments = sorted((taken.tape.where, taken.where, event.where), key=lambda where: where.caller.depth)
            inside = [_called_in_loop(where) for where in moments]
            place = next((function for function in inside if function is not None), taken.tape.site)
            step = (of_step[-1].site, taken.where.caller.definition or place)
            if step in told and place == taken.tape.site:
                continue
            told.add(step)
            report = _report(event, taken, of_step[-1], place)
            around = frozenset(loop.site for loop in of_step[:-1])
            reports[report] = (taken.where.caller.definition, around)
        yield from _by_loop(reports)
        yield from self._assigned_beside(plan)

    def _assigned_beside(self, plan: Plan) -> Iterator[Report]:
        """Report weights that eager code assigns one by one after each compiled step: a moving average, the weights of
        a target network."""
        assigned = [
            event
            for event in self.all(events.WeightAssigned, events.WeightsUsed)
            if (isinstance(event, events.WeightAssigned) or event.are_computed) and _is_eager(event.where)
        ]
        if not assigned:
            return
        loops, compiled, eager = step_loops(plan) - fitting_loops(plan), set[Site](), set[Site]()
        for update in updates(plan):
            of_kind = eager if _is_eager(update.where) else compiled
            of_kind.update(loop.site for loop in update.where.context.loops)
        found: dict[Site, dict[Site, events.Event]] = defaultdict(dict)
        for event in assigned:
            loop = loop_around(event.where, loops & compiled - eager)
            is_one_of_all = isinstance(event, events.WeightAssigned)
            if loop is None or (is_one_of_all and loop is event.where.context.loops[-1]):
                continue
            if are_few(_up_to(event.where, loop)):
                continue
            if is_rare(event.where, loop) or not in_every_iteration(event, loop, assigned):
                continue
            if has_compiled_way(event.where, plan):
                continue
            found[loop.site].setdefault(event.site, event)
        for place, assignments in found.items():
            first, *others = assignments.values()
            yield Report(
                first.site,
                "weights are assigned eagerly after each compiled step",
                why="Python dispatches the operations of each variable one by one, and the GPU sits idle between them",
                instead="assign the weights inside the `tf.function` that trains",
                confidence=confidence(first.where),
                related=(
                    (place, "in this loop"),
                    *((other.site, "weights are assigned here, too") for other in others),
                    *chain(first.where),
                ),
            )

    def _half_compiled(self, event: events.Event, taken: events.GradientTaken, loop: Loop) -> Iterator[Report]:
        """The report about gradients of a compiled function that eager code applies."""
        functions = (caller.definition for caller in callers(event.where.caller))
        is_of_model = isinstance(event, events.GradientsApplied) and not _are_few_variables(taken.by)
        if is_of_model and self._wrapped.isdisjoint(functions) and not is_rare(event.where, loop):
            yield Report(
                event.site,
                "the gradients of a compiled function are applied eagerly",
                why="Python dispatches the operations of each update one by one, and the GPU sits idle between them",
                instead="apply the gradients inside the `tf.function` that takes them",
                confidence=confidence(event.where),
                related=((loop.site, "in this loop"), (taken.site, "the gradients are taken here")),
            )

    def _calls_model(self, taken: events.GradientTaken) -> bool:
        """Whether eager code calls a model between a tape and its gradients, so that a compiled function in between
        computes only the loss."""
        if taken.tape is None or taken.where.context.traced is not None:
            return False
        first, last = taken.tape.site, taken.site
        return any(one.path == first.path == last.path and first.node < one.node < last.node for one in self._called)

    def _may_be_compiled(self, loss: values.Value, taken: events.GradientTaken) -> bool:
        """Whether the work may be in a compiled function: where that is unknown, no model is called here."""
        if isinstance(loss, values.Tensor):
            return loss.compiled
        if not isinstance(loss, values.Unknown) or id(taken.where.caller) in self._forward:
            return False
        return not any(_calls_owner(loss.symbol, symbol_of(one)) for one in possible(taken.by, taken.where))

    def _taken(self, gradients: tuple[values.Tensor, ...]) -> events.GradientTaken | None:
        """Event in which the applied gradients were taken, for the caller that applies them."""
        for tensor in gradients:
            if tensor.gradient is not None and (taken := self._gradients.get(tensor.gradient.site)):
                moment = tensor.gradient.where
                of_caller = (one for one in reversed(taken) if one.where.caller is moment.caller)
                return next(of_caller, taken[-1])
        return None


def _report(event: events.Event, taken: events.GradientTaken, loop: Loop, place: Site) -> Report:
    """The report at a place, the function of a step or its tape, for an update in a loop."""
    assert taken.tape is not None
    is_minimized = event.site == loop.site
    updates_inside = any(caller.definition == place for caller in callers(event.where.caller))
    decorates = place != taken.tape.site and updates_inside and not is_minimized
    return Report(
        place,
        "the gradient step runs eagerly" if taken.is_of_moved else "the training step runs eagerly",
        instead=_decorated(place, event, taken) if decorates else "",
        confidence=confidence(event.where),
        related=(
            (loop.site, "called here in every step" if is_minimized else "in this loop"),
            *chain(event.where),
        ),
        fix=unsafe(
            "Decorate it with `@tf.function`: its Python code then runs only while the function is traced",
            loops.compiled,
            place,
        )
        if decorates
        else None,
        happens_at=event.site,
    )


def _by_loop(reports: dict[Report, tuple[Site | None, frozenset[Site]]]) -> Iterator[Report]:
    """One report for each loop: for the step that can be fixed, with the others beside it. `reports` has the function
    that takes the gradient, and the loops around that of the step. A function that is reported itself, or loops inside
    of it, stand for it."""
    places = {report.site for report in reports}
    innermost = {report.related[0][0] for report in reports}
    of_loop: dict[Site, list[Report]] = defaultdict(list)
    for report, (function, around) in reports.items():
        if function == report.site or (function not in places and innermost.isdisjoint(around)):
            of_loop[report.related[0][0]].append(report)
    for several in of_loop.values():
        first = min(several, key=lambda report: report.fix is None)
        others = tuple((report.site, "also run eagerly") for report in several if report is not first)
        yield replace(first, related=(*first.related, *others))


def _decorated(place: Site, *several: events.Event) -> str:
    """Help for a step that is a function already: its name, as in the calls that lead to the events."""
    ways = (caller for event in several for caller in callers(event.where.caller))
    name = next((caller.function for caller in ways if caller.definition == place), "")
    return f"decorate `{name}` with `@tf.function`, and pass its data as tensor arguments" if name else ""


def _is_eager(where: Where) -> bool:
    return not where.context.may_be_traced and where.context.replica is None


def _up_to(where: Where, loop: Loop) -> tuple[Loop, ...]:
    """The loops around a moment, from the outermost one to `loop`."""
    around = where.context.loops
    return around[: around.index(loop) + 1]


def _taken_by(event: events.GradientTaken) -> tuple[values.Tensor, ...]:
    """Gradients that a tape takes."""
    found = [one for leaf in possible(event.result, event.where) for one in leaves(leaf)]
    return tuple(one for one in found if isinstance(one, values.Tensor))


def _is_compiled(taken: events.GradientTaken) -> bool:
    """Whether a compiled function takes the gradients, or computes the whole loss."""
    losses = possible(taken.loss, taken.where)
    return taken.where.context.traced is not None or (
        bool(losses) and all(isinstance(loss, values.Tensor) and loss.compiled for loss in losses)
    )


def _are_few_variables(by: values.Value | None) -> bool:
    """Whether gradients are taken with respect to one or two variables that the program names."""
    named = by.items or () if isinstance(by, values.Items) else (by,)
    return 0 < len(named) < 3 and all(isinstance(one, values.Variable) for one in named)


def _calls_owner(loss: Symbol, variables: Symbol) -> bool:
    """Whether a loss is computed from the result of calling `model`, for `model.trainable_variables`."""
    if variables.parts[0] != "attribute" or variables.parts[-1] not in ("trainable_variables", "trainable_weights"):
        return False
    owner, seen, pending = variables.parts[1], set(), [loss.parts]
    while pending:
        parts = pending.pop()
        if parts[:2] == ("call", owner):
            return True
        for part in parts:
            inner = part.parts if isinstance(part, Symbol) else part if type(part) is tuple else ()
            if inner and id(inner) not in seen:
                seen.add(id(inner))
                pending.append(inner)
    return False


def _loops_of_step(
    applied: events.Event, taken: events.GradientTaken, steps: Iterable[events.Event]
) -> tuple[Loop | None, tuple[Loop, ...]]:
    """The innermost of the loops around a step, and those that run several steps: not the loops that end with the step,
    such as that over the moves of a game. Loops inside a step, over variables and their gradients, are neither."""
    around = {loop.site for loop in taken.where.context.loops}
    loops = [loop for loop in applied.where.context.loops if loop.site in around]
    innermost = loops[-1] if loops else None
    while len(loops) > 1 and _ends(loops[-1], applied, steps):
        loops.pop()
    return innermost, tuple(loops)


def _ends(loop: Loop, applied: events.Event, steps: Iterable[events.Event]) -> bool:
    """Whether no iteration of a loop follows one that takes a step."""
    return loop.iterations > 1 and not any(
        iteration == around.iteration and compatible(step.where.path, end)
        for step in steps
        if step.site == applied.site
        for around in step.where.context.loops
        if around.entry == loop.entry
        for iteration, end in around.continuations
    )


def _called_in_loop(where: Where) -> Site | None:
    """Function that contains a place, if a loop outside it calls it."""
    return where.caller.definition if where.caller.loops == len(where.context.loops) else None
