"""GPU510."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from gpulint.plugin import Caller, Plan, Report, Rule, Severity, Site, Where, confidence, events
from gpulint.plugin.facts import random_operation
from gpulint.plugin.queries import callers, chain, switched
from gpulint.plugin.symbols import words, words_of
from gpulint.plugin.words import HOST_RANDOM_WORDS


class FrozenRandom(Rule):
    """Random number drawn at tracing

    ## What it does
    Finds `np.random.…` and `random.…` in a function that `tf.function` or a dataset's `map` traces.

    ## Why is this bad
    Python draws the number once, while TensorFlow records the operations. Every step, or every element of the dataset,
    then gets the same number: noise that never changes, images that are all flipped or none (measured on TensorFlow
    2.21).

    ## Example
    ```python
    import numpy as np
    import tensorflow as tf


    def augment(x):
        return x + np.random.normal()


    dataset = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).map(augment).batch(64)
    ```

    ## Use instead
    ```python
    import tensorflow as tf


    def augment(x):
        return x + tf.random.normal(())


    dataset = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).map(augment).batch(64)
    ```

    ## What is not reported
    Functions that `tf.py_function` or `tf.numpy_function` calls; functions that build or initialise something; a
    `tf.function` that is only called outside loops, or after `run_functions_eagerly(True)`; seeds; what is drawn only
    while a file does not exist.

    ## At run time
    The number of times that the line runs.
    """

    code = "GPU510"
    name = "frozen-random"
    severity = Severity.WARNING
    any_of_names = HOST_RANDOM_WORDS
    all_of_name_sets = (
        frozenset({"beta", "binomial", "choice", "choices", "gauss", "integers", "normal", "permutation", "rand"})
        | {"randint", "randn", "random", "random_sample", "randrange", "sample", "shuffle", "standard_normal"}
        | {"uniform"},
        frozenset({"function", ".filter", ".flat_map", ".interleave", ".map"}),
    )
    why = "every later call of the function uses the same random value"
    instead = "use an operation of `tf.random`, or draw the value outside the function and pass it as a tensor argument"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        calls = {event.site for event in self.all(events.TracedCalled)}
        eager: list[Where] = []
        """Moments that switched eager mode on. Python then draws a number in each call, other than in a pipeline."""
        for event in self.all(events.LibraryCalled, events.HostRandomDrawn):
            if isinstance(event, events.LibraryCalled):
                if event.name in _EAGER:
                    eager = [*eager, event.where] if switched(event) is True else []
                continue
            context, around = event.where.context, [*callers(event.where.caller)]
            if context.mapped is None and any(one.path <= event.where.path for one in eager):
                continue
            is_called_once = not context.loops and any(caller.site in calls for caller in around)
            if is_called_once and context.mapped is None:
                continue
            if words_of(event.where.path) & _EXISTS:
                continue
            if any(words(caller.function) & _ONCE for caller in _traced(around, {*calls, context.mapped})):
                continue
            traced = context.mapped or context.traced
            of_map = context.mapped is not None
            traces = (
                "this transformation traces the function once"
                if of_map
                else "`tf.function` traces the function at its first call"
            )
            yield Report(
                event.site,
                f"`{event.name.replace('numpy.', 'np.', 1)}` draws only once, while the function around it is traced",
                why="every element of the dataset gets the same random value" if of_map else "",
                instead=_instead(event.name.rpartition(".")[2], of_map),
                confidence=confidence(event.where),
                related=(*(((traced, traces),) if traced is not None else ()), *chain(event.where)),
            )


def _instead(function: str, of_map: bool) -> str:
    """How to draw in every call instead; an argument of a `tf.function` can be drawn by its caller."""
    drawn = random_operation(function)
    ways = [f"use `{drawn}`, which draws in every call"] if drawn is not None else []
    ways += [] if of_map else ["draw the value outside the `tf.function` and pass it as a tensor argument"]
    return ", or ".join(ways or ["draw it in a function that `tf.numpy_function` calls"])


def _traced(around: Sequence[Caller], places: Container[Site | None]) -> Sequence[Caller]:
    """Calls from a moment up to that of the function that is traced: all, if it is not among them. A constructor may
    make the dataset that maps it."""
    last = next((index for index, caller in enumerate(around) if caller.site in places), len(around))
    return around[: last + 1]


_EAGER = frozenset({"tensorflow.config.run_functions_eagerly", "tensorflow.config.experimental_run_functions_eagerly"})

_ONCE = frozenset({"build", "create", "init", "initialise", "initialize", "make", "reset", "setup"})
"""Words in the names of functions that prepare something once."""

_EXISTS = frozenset({"exists", "isfile", "is_file", "os.path.exists", "os.path.isfile", "tensorflow.io.gfile.exists"})
"""Functions that tell whether a file exists: what is drawn without it is saved, and drawn once on purpose."""
