"""GPU504."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from gpulint.plugin import Loop, Plan, Report, Rule, Severity, Site, confidence, events, possible, values
from gpulint.plugin.queries import are_few, leaves
from gpulint.plugin.symbols import Symbol, changing_in, differ_in_numbers

ONE_FUNCTION = "define the argument once, before the loop, and pass the same function in every iteration"


class RetraceRisk(Rule):
    """tf.function called with changing Python values

    ## What it does
    Finds calls of a `tf.function` in a loop with a Python number that changes, a new lambda, a function that each
    iteration defines again, or a list of changing numbers.

    ## Why is this bad
    A function is traced again for each new Python value: ten calls with ten numbers give ten traces, also with
    `reduce_retracing=True`. Measured for a small training step: 30 ms with a trace, 0.6 ms without
    (`benchmarks/experiments/retrace.py`). Memory grows with each graph.

    ## Example
    ```python
    import tensorflow as tf


    @tf.function
    def scale(x, step):
        return x * tf.cast(step, tf.float32)


    for step in range(1000):
        scale(tf.ones((8,)), step)
    ```

    ## Use instead
    ```python
    import tensorflow as tf


    @tf.function
    def scale(x, step):
        return x * tf.cast(step, tf.float32)


    for step in range(1000):
        scale(tf.ones((8,)), tf.constant(step))
    ```

    ## What is not reported
    Tensors, NumPy scalars (TensorFlow converts them to tensors), values that stay the same, truth values and other
    bounded sets (`step % 2`), functions with an `input_signature`, functions that are created together with the
    `tf.function` (GPU505).

    ## At run time
    The traces of the function.
    """

    code = "GPU504"
    name = "retrace-risk"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset({"function"})
    source_pattern = r"(?m)^[ \t]*(?:for|while)\b"
    why = "every new Python value triggers a retrace, which takes far longer than running the function"
    instead = "pass the number as a tensor, with `tf.constant`"
    cost = "about 20× slower for small models"

    def __init__(self) -> None:
        self._before: dict[tuple[object, ...], list[tuple[int, Symbol]]] = defaultdict(list)
        self._functions: dict[tuple[object, ...], list[tuple[int, values.Function]]] = defaultdict(list)

    def on_traced_called(self, event: events.TracedCalled, plan: Plan) -> Iterator[Report]:
        around = event.where.context.loops
        loops = [loop for loop in around if not loop.unrolled]
        if not loops or event.has_signature or are_few(around):
            return
        own = self._creating_loop(event, "", event.function)
        given: list[tuple[int | str, values.Value]] = [*enumerate(event.arguments.positional)]
        for key, argument in (*given, *event.arguments.keywords.items()):
            for value in possible(argument, event.where):
                loop = loops[-1]
                lambda_ = isinstance(value, values.Function) and value.name == "<lambda>"
                if lambda_ and _stands_at(value, event.arguments.sites.get(key)):
                    what, instead = "it gets a new lambda each time", ONE_FUNCTION
                elif (changed_in := self._changed_in((event.site, key), loops, value)) is not None:
                    if are_few(around[: around.index(changed_in) + 1]):
                        continue
                    (what, instead), loop = self._number(event, key, value), changed_in
                elif (made_in := self._creating_loop(event, key, value)) is not None and made_in is not own:
                    what, instead, loop = "it gets a new function each time", ONE_FUNCTION, made_in
                else:
                    continue
                is_outer = loop is not loops[-1]
                yield Report(
                    event.site,
                    f"`tf.function` retraces in every iteration{' of an outer loop' if is_outer else ''}: {what}",
                    instead=instead,
                    cost=_COST_OF_TRACE if is_outer else "",
                    confidence=confidence(event.where),
                    related=((event.wrapped_at, "`tf.function` wraps the function here"), (loop.site, "in this loop")),
                )

    def _number(self, event: events.TracedCalled, key: int | str, value: values.Value) -> tuple[str, str]:
        """Change of an argument, in words with its name, and the help."""
        site = event.arguments.sites.get(key)
        code = self.source(site) if site is not None else ""
        if not code.isidentifier():
            code = ""
        if isinstance(value, values.Items):
            what = f"`{code}` has new Python numbers each time" if code else "it gets new Python numbers each time"
            return what, f"pass the numbers of `{code}` as tensors, with `tf.constant`" if code else ""
        if code:
            return f"`{code}` is a new Python number each time", f"pass a tensor: `tf.constant({code})`"
        return "it gets a new Python number each time", ""

    def _creating_loop(self, event: events.TracedCalled, key: int | str, value: values.Value) -> Loop | None:
        """Loop in each iteration of which a nested `def` creates the passed function."""
        if not isinstance(value, values.Function) or not value.closure:
            return None
        found: Loop | None = None
        for loop in event.where.context.loops:
            before = self._functions[event.site, key, loop.site, loop.entry]
            others = [one for iteration, one in before if iteration != loop.iteration]
            before.append((loop.iteration, value))
            alike = any(one.definition is value.definition for one in others)
            if not loop.unrolled and alike and all(one is not value for one in others):
                found = loop
        return found

    def _changed_in(self, place: tuple[object, ...], loops: Sequence[Loop], value: values.Value) -> Loop | None:
        """The innermost loop in each iteration of which a value is another Python number, or has one; None if there is
        none."""
        found = [
            loops[-1] if self._differs((*place, position), loops[-1], leaf) else changing_in(leaf, loops)
            for position, leaf in enumerate(leaves(value))
        ]
        return max((loop for loop in found if loop is not None), key=loops.index, default=None)

    def _differs(self, place: tuple[object, ...], loop: Loop, value: values.Value) -> bool:
        """Whether a value is a Python number that differs from the one in the previous iteration."""
        if not isinstance(value, (values.Unknown, values.Constant)):
            return False
        before = self._before[(*place, loop.entry)]
        before.append((loop.iteration, value.symbol))
        earlier = [one for iteration, one in before if iteration != loop.iteration]
        return value.symbol not in earlier and any(differ_in_numbers(one, value.symbol) for one in earlier)


_COST_OF_TRACE = "30 ms to several seconds for each trace"


def _stands_at(function: values.Value, argument: Site | None) -> bool:
    """Whether a lambda is written where it is passed, so that each iteration creates a new one."""
    return (
        isinstance(function, values.Function) and argument is not None and function.definition.number == argument.node
    )
