"""GPU502."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.api import (
    TRAINING_WORDS,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    every_step,
    in_every_turn,
    is_rare,
    loop_around,
    round_trip,
    step_loops,
    updates,
    values,
    with_step,
)


class NumpyRoundtrip(Rule):
    """Device tensor taken through NumPy and back

    ## What it does
    Finds tensors that a step reads into NumPy, computes with, and makes a tensor of again; weights that each step gets
    with `get_weights` and sets with `set_weights`, too.

    ## Why is this bad
    The data goes from the GPU to the host and back, the host waits for the GPU before and the GPU for the host after.
    The operation in between exists in TensorFlow, and no gradient comes through. Measured on a CPU: 4 times the time
    for 16 MB, nothing for 4 kB (`benchmarks/experiments/numpy_roundtrip.py`).

    ## Example
    ```python
    import numpy as np
    import tensorflow as tf

    weights = tf.Variable(tf.ones((4,)))
    optimizer = tf.keras.optimizers.SGD()
    optimizer.build([weights])


    @tf.function
    def update(x):
        with tf.GradientTape() as tape:
            scores = x * weights
            loss = tf.reduce_sum(scores)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        return scores


    for x in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))):
        scores = update(x)
        clipped = tf.constant(np.clip(scores.numpy(), 0.0, 1.0))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    weights = tf.Variable(tf.ones((4,)))
    optimizer = tf.keras.optimizers.SGD()
    optimizer.build([weights])


    @tf.function
    def update(x):
        with tf.GradientTape() as tape:
            scores = x * weights
            loss = tf.reduce_sum(scores)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        return scores


    for x in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))):
        scores = update(x)
        clipped = tf.clip_by_value(scores, 0.0, 1.0)
    ```

    ## What is not reported
    Values that were on the host already, round trips outside training loops, and values that went through something
    else than NumPy (an environment, a solver, a random choice) or that an environment takes besides
    (`env.step(action)`).

    ## At run time
    Copies from the device and to it at that line.
    """

    code = "GPU502"
    name = "numpy-roundtrip"
    severity = Severity.WARNING
    about_cost = True
    once_a_row = True
    speaks_of = TRAINING_WORDS
    why = "the data goes to the host and back, and both sides wait"
    instead = "use the operation of TensorFlow"

    def __init__(self) -> None:
        self._made: list[tuple[events.OpCalled, tuple[Site, ...]]] = []
        self._needed: set[Site] = set()
        self._read_in: dict[Site, set[Site]] = defaultdict(set)
        self._weights: dict[str, list[events.WeightsUsed]] = defaultdict(list)

    def on_weights_used(self, event: events.WeightsUsed, plan: Plan) -> None:
        if event.where.context.loops and event.how in ("get_weights", "set_weights"):
            if event.how == "get_weights" or event.are_got:
                self._weights[event.how].append(event)

    def on_tensor_read(self, event: events.TensorRead, plan: Plan) -> None:
        self._read_in[event.site].update(loop.site for loop in event.where.context.loops)

    def on_host_value_used(self, event: events.HostValueUsed, plan: Plan) -> None:
        if event.by == "step":
            self._needed.update(event.reads)

    def on_op_called(self, event: events.OpCalled, plan: Plan) -> None:
        context = event.where.context
        if context.loops and not context.may_be_traced and not _is_of_host(event):
            if reads := tuple(dict.fromkeys(read for value in event.inputs for read in round_trip(value))):
                self._made.append((event, reads))

    def on_end(self, plan: Plan) -> Iterator[Report]:
        loops = step_loops(plan) if self._made or self._weights["set_weights"] else frozenset()
        yield from self._of_weights(plan, loops)
        for event, reads in self._made:
            loop = loop_around(event.where, loops)
            if loop is None or is_rare(event.where, loop) or not self._needed.isdisjoint(reads):
                continue
            if any(loop.site in self._read_in[read] for read in reads):
                yield Report(
                    event.site,
                    "a tensor is made again of what was read from one",
                    confidence=confidence(event.where),
                    related=tuple((read, "it is read into NumPy here") for read in reads),
                    supersedes=reads,
                )

    def _of_weights(self, plan: Plan, loops: frozenset[Site]) -> Iterator[Report]:
        steps = updates(plan) if loops else []
        given = self._weights["set_weights"]
        for event in given:
            loop = every_step(event, loops, steps, given)
            if loop is None or is_rare(event.where, loop):
                loop = with_step(event, loops, steps)
            if loop is None or not in_every_turn(event, loop, given):
                continue
            got = [
                one.site
                for one in self._weights["get_weights"]
                if any(around.site == loop.site for around in one.where.context.loops)
            ]
            if got:
                yield Report(
                    event.site,
                    "all weights go through NumPy in every step",
                    instead="`assign` the variables their new values in a `tf.function`",
                    confidence=confidence(event.where),
                    related=((got[0], "they are read into NumPy here"), (loop.site, "the step loop")),
                )


def _is_of_host(event: events.OpCalled) -> bool:
    """Whether an operator works on numbers of the host: of shapes, of what was read. `tf.range` wants them there."""
    if event.name == "tensorflow.range":
        return True
    tensors = [value for value in event.inputs if isinstance(value, values.Tensor)]
    return event.name.startswith("operator.") and all(value.shape_of or value.on_host for value in tensors)
