"""GPU505."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import (
    Literal,
    Loop,
    Plan,
    Report,
    Rule,
    Severity,
    Symbol,
    Where,
    are_few,
    confidence,
    events,
    in_every_turn,
    is_run_by_program,
    mentions,
    rounds,
    values,
    words,
)


class FunctionInLoop(Rule):
    """tf.function made in a loop

    ## What it does
    Finds `tf.function` applied inside a loop, or in a function that a loop calls, where the result is called there.

    ## Why is this bad
    Each new `tf.function` is traced when it is first called; what was traced before is thrown away. Measured: 18 to
    20 times the time per step, twelve times as slow as not compiling at all
    (`benchmarks/experiments/function_in_loop.py`).

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
    Functions made once (before the loop, in a cached factory, when they are first needed), one for each model that the
    loop builds, and loops over a few known elements, over files, folds and runs, or of which each round is a run of its
    own: the function is called in loops of loops there.

    ## At run time
    The traces of the function.
    """

    code = "GPU505"
    name = "function-in-loop"
    severity = Severity.WARNING
    about_cost = True
    speaks_of = frozenset({"function"})
    itself = r"(?m)^[ \t]*(?:for|while)\b"
    why = "it is traced again in each round"
    instead = "make it once, before the loop"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        made = [
            event
            for event in self.all(events.FunctionTraced)
            if event.where.context.loops and event.where.context.traced is None
        ]
        if not made:
            return
        called = {  # functions, with the loops that call them in each iteration, not only in loops inside it
            (event.wrapped_at, loop.site)
            for event in self.all(events.TracedCalled)
            for index, loop in enumerate(event.where.context.loops)
            if sum(rounds(inner) != 1 for inner in event.where.context.loops[index + 1 :]) < OF_A_RUN
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
            if not in_every_turn(event, loop, made):
                continue
            if (event.site, loop.site) in called and loop.site not in builds:
                yield Report(
                    event.site,
                    "a `tf.function` is made and called in each round of a loop",
                    confidence=confidence(event.where),
                    related=((loop.site, "the loop"),),
                )


OF_A_RUN = 2
"""Loops in each other within one round that make it a whole run of training: epochs and their batches."""


def _may_be_kept(where: Where, loop: Loop) -> bool:
    """Whether a condition on the way may say that there is none yet: any but how much of something there is, and that
    it is every n-th round. A setting says no such thing where the function that makes it ends with the round."""
    is_local = where.caller.loops == len(where.context.loops)
    return len(where.context.flags) > loop.flags or any(
        literal.condition.operator not in (">", ">=", "completes")
        and not mentions(frozenset({literal}), "%")
        and not (_is_mode(literal) and is_local)
        for literal in where.path - loop.start - where.assured
    )


def _is_mode(literal: Literal) -> bool:
    """Whether a condition says that a setting is on."""
    condition = literal.condition
    is_setting = isinstance(condition.subject, Symbol) and condition.subject.parts[0] in _SETTINGS
    return condition.operator == "truth" and literal.holds and is_setting


_SETTINGS = ("attribute", "field", "parameter")


_MUCH = frozenset({"config", "experiment", "file", "files", "filename", "fold", "path", "run", "seed", "task", "trial"})
"""Words in the name of a loop's variable that say a round is a program of its own."""
