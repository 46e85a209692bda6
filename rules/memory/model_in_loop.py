"""GPU305."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpulint.plugin import (
    Loop,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    Where,
    confidence,
    events,
    possible,
)
from gpulint.plugin.facts import CLEARS_SESSION, LOADS_MODEL, MAKES_GRAPH, RUNS_EAGERLY
from gpulint.plugin.queries import are_few, callers, in_every_iteration, is_sought, known, switched, symbol_of
from gpulint.plugin.symbols import Symbol, words
from gpulint.plugin.words import MODEL_WORDS


class ModelInLoop(Rule):
    """Model built in every iteration of a loop

    ## What it does
    Finds a model that a loop, or a search of Optuna, hyperopt or scikit-optimize, builds in each iteration and trains
    or uses for predictions, where nothing frees the previous one.

    ## Why is this bad
    The graphs in which a model was trained stay in memory with its variables and the optimizer's. Measured, per model
    with 8.4 MB of weights: 9.5 to 10 MB for `fit`, 3.8 to 4.7 MB for `predict`, growing linearly
    (`benchmarks/experiments/model_in_loop.py`). After `predict`, `clear_session()` or `gc.collect()` frees it; after
    `fit` neither frees more than a tenth: only a separate process, or one model for all iterations, does. Each model is
    also traced again.

    ## Example
    ```python
    import tensorflow as tf

    for trial in range(20):
        model = tf.keras.Sequential([tf.keras.layers.Dense(8 * (trial + 1)), tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    fresh = model.get_weights()
    for trial in range(20):
        model.set_weights(fresh)
        model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## What is not reported
    Loops that call `clear_session()`, also in a helper, or `gc.collect()` where nothing is trained (neither helps if
    each iteration makes a `tf.function` that trains its model); loops that run each iteration in a process or a
    `tf.Graph` of its own; loops of at most ten iterations over folds or known configurations; models that are kept on
    purpose (an ensemble in a list); models that are only called, or run eagerly; models built from the layers of one
    that outlives the loop; programs that the analysis did not complete and that call one of these functions somewhere.

    ## At run time
    How many of these models had live variables at the same time.
    """

    code = "GPU305"
    name = "model-in-loop"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset(
        {".fit(", ".fit_generator(", ".train_on_batch(", ".apply_gradients(", ".predict(", "clone_model"}
    )
    all_of_name_sets = (MODEL_WORDS,)
    why = "TensorFlow keeps each model's graphs, even after `clear_session()`: the process grows until memory runs out"
    instead = (
        "run each iteration in a separate process; or, if all models have the same architecture, create one before "
        "the loop, and reset its weights and those of its optimizer in each iteration"
    )

    def on_end(self, plan: Plan) -> Iterator[Report]:
        built = [
            event
            for event in self.all(events.ModelBuilt)
            if event.where.context.loops and event.where.context.traced is None
        ]
        library_calls = [*self.all(events.LibraryCalled)] if built else []
        is_eager = any(event.name in RUNS_EAGERLY and switched(event) is True for event in library_calls)
        if not built or is_eager or plan.may_have_missed("clear_session(", "collect(", "Process(", "Pool("):
            return
        kept_models = {id(event.model) for event in self.all(events.ModelKept)}
        kept = {_in_loop(event) for event in built if id(event.model) in kept_models}
        fits = self.all(events.ModelFitted)
        fitted = {id(event.model) for event in fits}
        graphs_of = (fitted | self._called()) - self._eager()
        cleared = _loops_around(event for event in library_calls if event.name in {*CLEARS_SESSION, MAKES_GRAPH})
        collected = _loops_around(event for event in library_calls if event.name == "gc.collect")
        in_own_function = self._trained_in_own_function()
        told: set[Site] = set()
        for event in built:
            loop = event.where.context.loops[-1]
            if _in_loop(event) in kept or id(event.model) not in graphs_of:
                continue
            if id(event.model) in fitted and not _is_fitted_beside(event, fits):
                continue
            freed = cleared if id(event.model) in fitted else cleared | collected
            is_in_function = (id(event.model), loop.site) in in_own_function
            if is_in_function:
                freed = set()
            if are_few(event.where.context.loops, FEW) or not in_every_iteration(event, loop, built):
                continue
            if (
                is_sought(event, loop, built)
                or _is_ensemble(loop, event.where)
                or any(_is_change(one.where) for one in built if one.site == event.site)
                or _is_view(event, built)
                or any(one.site in freed for one in event.where.context.loops)
            ):
                continue
            place = _in_loop(event)
            if loop.site in told and place not in told:
                continue
            told |= {loop.site, place}
            is_search = any(caller.site == loop.site for caller in callers(event.where.caller))
            is_trained = id(event.model) in fitted or is_in_function
            is_loaded = event.model.library == LOADS_MODEL
            made = "loaded" if is_loaded else "created"
            around, turn = (
                ("in this search", "trial of a search") if is_search else ("in this loop", "iteration of a loop")
            )
            yield Report(
                place,
                f"a model is {made} and used in each {turn}",
                why="" if is_trained else _KEPT,
                instead=_IN_PROCESSES if is_search else "" if is_trained else _LOAD if is_loaded else _CLEAR,
                confidence=confidence(event.where),
                related=(
                    (loop.site, around),
                    *(((event.site, f"the model is {made} here"),) if event.site != place else ()),
                ),
            )

    def _called(self) -> set[int]:
        """Models, by id, that are called in loops through a graph."""
        return {
            id(event.model)
            for event in self.all(events.ModelCalled)
            if event.where.context.loops
            and event.how != "call"
            and not (event.how == "variables" and event.where.context.traced is None)
        }

    def _trained_in_own_function(self) -> set[tuple[int, Site]]:
        """Models, by id, with the loops in which each iteration makes a `tf.function` that trains its model. Neither
        `clear_session` nor `gc.collect` frees what such a function keeps."""
        made = {
            event.site: {loop.site for loop in event.where.context.loops} for event in self.all(events.FunctionTraced)
        }
        return {
            (id(event.model), loop.site)
            for event in self.all(events.ModelCalled)
            for loop in event.model.where.context.loops
            if event.where.context.traced is not None and loop.site in made.get(event.where.context.traced, ())
        }

    def _eager(self) -> set[int]:
        """Models, by id, that Keras runs eagerly."""
        compiled = (one for one in self.all(events.ModelCompiled) if known(one.arguments.get("run_eagerly", 5)) is True)
        switched_on = (one for one in self.all(events.EagerModeSet) if known(one.value) is True)
        return {*(id(one.model) for one in compiled), *(id(one.model) for one in switched_on)}


def _loops_around(several: Iterable[events.Event]) -> set[Site]:
    return {loop.site for event in several for loop in event.where.context.loops}


def _is_view(event: events.ModelBuilt, built: Iterable[events.ModelBuilt]) -> bool:
    """Whether a model reuses the layers of one that outlives the loop, for an intermediate result or a new head."""
    part_of = event.model.part_of
    if part_of is None:
        return False
    loop = event.where.context.loops[-1].site
    inside = [one for one in built if any(around.site == loop for around in one.where.context.loops)]
    return all(one.model.symbol != part_of for one in inside)


def _is_change(where: Where) -> bool:
    """Whether a condition requires an unknown value to differ from another or to have changed, or an empty list."""
    return any(
        not literal.holds
        and (
            (condition.operator == "==" and isinstance(condition.operand, Symbol))
            or (
                condition.operator == "truth"
                and isinstance(condition.subject, Symbol)
                and condition.subject.parts[0] in ("len", "list")
            )
        )
        for literal in where.path - where.context.loops[-1].start
        for condition in (literal.condition,)
    )


def _is_ensemble(loop: Loop, where: Where) -> bool:
    """Whether a loop creates the members of an ensemble, by the names in it."""
    over = [name for option in possible(loop.iterable, where) for name in symbol_of(option).words]
    return any(words(name) & _MEMBERS for name in (*loop.names, *over))


_MEMBERS = frozenset({"ensemble", "estimator", "estimators", "member", "members"})


_KEPT = "TensorFlow keeps the graph that `predict` builds for each model: the process grows until memory runs out"

_CLEAR = "call `tf.keras.backend.clear_session()` in each iteration, or create one model before the loop"

_LOAD = (
    "load it once, before the loop, and reuse it in every iteration; "
    "if each iteration loads a different model, call `tf.keras.backend.clear_session()` in each iteration"
)

_IN_PROCESSES = "run each trial in a separate process"


def _is_fitted_beside(built: events.ModelBuilt, fits: Iterable[events.ModelFitted]) -> bool:
    """Whether a loop around the place where a model is created fits it, too, rather than only what it leaves behind."""
    around = {loop.site for loop in built.where.context.loops}
    return any(
        fit.model is built.model and any(loop.site in around for loop in fit.where.context.loops) for fit in fits
    )


FEW = 10
"""Maximum number of iterations of a loop over known elements that are too few to matter: the folds of a validation."""


def _in_loop(event: events.ModelBuilt) -> Site:
    """Call in the body of the loop that leads to the model, or in the function that a search calls."""
    loops = event.where.context.loops
    place = event.site
    for caller in callers(event.where.caller):
        if caller.site in (None, loops[-1].site) or caller.loops < len(loops):
            break
        place = caller.site
    return place
