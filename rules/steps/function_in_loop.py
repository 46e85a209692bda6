"""GPU505."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Loop, Plan, Report, Rule, Severity, Where, confidence, events, values
from gpulint.plugin.queries import are_few, chain, in_every_iteration, is_run_by_program, iteration_count
from gpulint.plugin.symbols import Literal, Symbol, mentions, words


class FunctionInLoop(Rule):
    """tf.function created in a loop

    ## What it does
    Finds `tf.function` applied inside a loop, or in a function that a loop calls, where the result is called there.

    ## Why is this bad
    Each new `tf.function` is traced when it is first called, and earlier traces are discarded. Measured: 18 to 20 times
    the time per step, and twelve times as slow as without compiling (`benchmarks/experiments/function_in_loop.py`).

    ## Example
    ```python
    import tensorflow as tf


    def step(x):
        return x + 1


    for x in tf.data.Dataset.range(64):
        tf.function(step)(x)
    ```

    ## Use instead
    ```python
    import tensorflow as tf


    @tf.function
    def step(x):
        return x + 1


    for x in tf.data.Dataset.range(64):
        step(x)
    ```

    ## What is not reported
    Functions created once (before the loop, in a cached factory, when they are first needed), or one for each model
    that the loop builds; loops over a few known elements, or over files, folds and runs. A loop of at most a hundred
    iterations, or of an unknown number, is taken for one over runs if two nested loops in it, such as one over epochs
    and one over batches, call the function. A new function for each epoch is reported.

    ## At run time
    The traces of the function.
    """

    code = "GPU505"
    name = "function-in-loop"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset({"function"})
    source_pattern = r"(?m)^[ \t]*(?:for|while)\b"
    why = "TensorFlow traces the function again in every iteration, and a trace takes far longer than a call"
    instead = "create the `tf.function` once, before the loop"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        made = [
            event
            for event in self.all(events.FunctionTraced)
            if event.where.context.loops and event.where.context.traced is None
        ]
        if not made:
            return
        called = {  # functions, each with a loop that calls it in every iteration, and not only in loops inside
            (event.wrapped_at, loop.site)
            for event in self.all(events.TracedCalled)
            for index, loop in enumerate(event.where.context.loops)
            if sum(iteration_count(inner) != 1 for inner in event.where.context.loops[index + 1 :]) < OF_A_RUN
            or (iteration_count(loop) or 0) > RUNS
        }
        in_each = {
            (event.wrapped_at, event.where.context.loops[-1].site)
            for event in self.all(events.TracedCalled)
            if event.where.context.loops
        }
        builds = {loop.site for event in self.all(events.ModelBuilt) for loop in event.where.context.loops}
        for event in made:
            loop = event.where.context.loops[-1]
            if are_few(event.where.context.loops) or any(words(name) & _MUCH for name in loop.names):
                continue
            if isinstance(loop.iterable, values.Tensor) and not is_run_by_program(event.where):
                continue
            if _may_be_kept(event.where, loop):
                continue
            if not in_every_iteration(event, loop, made):
                continue
            if (event.site, loop.site) in called and loop.site not in builds:
                yield Report(
                    event.site,
                    "a `tf.function` is created and called in every iteration of a loop",
                    instead=_instead(event.where, loop),
                    cost=_COST if (event.site, loop.site) in in_each else "",
                    confidence=confidence(event.where),
                    related=((loop.site, "in this loop"), *chain(event.where, loop=loop)),
                )


def _instead(where: Where, loop: Loop) -> str:
    """Where to create it instead; a function that the loop calls has to be left, too."""
    function = where.caller.function
    if not function or where.caller.loops < len(where.context.loops):
        return ""
    return f"create the `tf.function` once, outside `{function}`, and pass it what it uses as arguments"


_COST = "about 20× slower for small models"
"""Where each iteration calls the function once. One call per batch of an epoch shares the cost of tracing."""

OF_A_RUN = 2
"""Number of nested loops in one iteration that make it a whole training run: epochs and their batches."""

RUNS = 100
"""Maximum number of whole training runs that a program is taken to make in one loop."""


def _may_be_kept(where: Where, loop: Loop) -> bool:
    """Whether a condition may say that the function does not exist yet.

    Comparisons of amounts, and conditions for every n-th iteration, do not say so. Neither does a setting if the
    function that creates it returns within the iteration.
    """
    is_local = where.caller.loops == len(where.context.loops)
    return len(where.context.flags) > loop.flags or any(
        literal.condition.operator not in (">", ">=", "completes")
        and not mentions(frozenset({literal}), "%")
        and not (_is_mode(literal) and is_local)
        for literal in where.path - loop.start - where.assumed
    )


def _is_mode(literal: Literal) -> bool:
    """Whether a condition says that a setting is on."""
    condition = literal.condition
    is_setting = isinstance(condition.subject, Symbol) and condition.subject.parts[0] in _SETTINGS
    return condition.operator == "truth" and literal.holds and is_setting


_SETTINGS = ("attribute", "field", "parameter")


_MUCH = frozenset({"config", "experiment", "file", "files", "filename", "fold", "path", "run", "seed", "task", "trial"})
"""Words in the name of a loop variable that say that an iteration is a program of its own."""
