"""GPU308."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, Where, confidence, events, safe
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import callers, is_run_by_program


class PersistentTape(Rule):
    """Persistent tape used once

    ## What it does
    Finds `tf.GradientTape(persistent=True)` from which one gradient is taken.

    ## Why is this bad
    A tape frees its recording when the gradient is taken; a persistent one keeps all activations until it is deleted.
    In a loop that is when the next step's tape is bound to its name, so two steps are in memory at once: measured, 1.6
    times the peak (`benchmarks/experiments/persistent_tape.py`).

    ## Example
    ```python
    import tensorflow as tf

    weights = tf.Variable(tf.ones((4,)))
    for x in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            loss = tf.reduce_sum(x * weights)
        print(tape.gradient(loss, x))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    weights = tf.Variable(tf.ones((4,)))
    for x in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(x * weights)
        print(tape.gradient(loss, x))
    ```

    ## What is not reported
    Tapes inside a `tf.function`, where `persistent=True` costs nothing; tapes from which several gradients are taken,
    also in a loop or on another path, and tapes that are passed to other code.

    ## Fix
    Safe: removes `persistent=True`. The one gradient is the same.

    ## At run time
    Peak memory.
    """

    code = "GPU308"
    name = "persistent-tape"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset({"persistent"})
    why = "all activations stay in GPU memory until the tape is deleted, which leaves less for larger batches"
    instead = "remove `persistent=True`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        uses_of: dict[Site, list[events.GradientTaken]] = defaultdict(list)
        for event in self.all(events.GradientTaken):
            if event.tape is not None and event.tape.is_persistent:
                uses_of[event.tape.site].append(event)
        taken = {event.site for event in self.all(events.GradientTaken)}
        for tape, uses in uses_of.items():
            again = any(
                len(use.where.context.loops) > len(use.tape.where.context.loops) for use in uses if use.tape is not None
            )
            elsewhere = {site for use in uses for site in use.written} - taken
            alone = all(use.tape is not None and use.tape.is_persistent for use in uses)
            if any(use.where.context.may_be_traced for use in uses):
                continue
            if alone and len({use.site for use in uses}) == 1 and not again and not elsewhere:
                yield Report(
                    tape,
                    "the tape is persistent, but its `gradient` is called only once",
                    why="" if all(_is_eager(use.where) for use in uses) else _TRACED,
                    confidence=confidence(uses[0].where),
                    related=((uses[0].site, "`gradient` is called here"),),
                    fix=safe("Remove `persistent=True`", calls.without_argument, tape, "persistent"),
                )


def _is_eager(where: Where) -> bool:
    """Whether a place is run eagerly: in a loop of its own, by the program or, in a callback, by Keras.

    Other callers may trace it.
    """
    if where.context.loops or is_run_by_program(where):
        return True
    return any(caller.function.startswith("on_") for caller in callers(where.caller))


_TRACED = "outside a `tf.function`, all activations stay in memory until the tape is deleted"
