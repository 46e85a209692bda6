"""GPU502."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from gpulint.plugin import Plan, Report, Rule, Severity, Site, Where, confidence, events, possible, values
from gpulint.plugin.facts import operations
from gpulint.plugin.queries import (
    are_few,
    batch_fits,
    evaluation_loops,
    every_step,
    in_every_iteration,
    is_rare,
    loop_around,
    step_loops,
    updates,
    waits_for_person,
    with_step,
)
from gpulint.plugin.symbols import Symbol, numpy_functions, round_trip
from gpulint.plugin.words import TRAINING_WORDS

_Back: TypeAlias = events.OpCalled | events.ModelCalled | events.TracedCalled


class NumpyRoundtrip(Rule):
    """Device tensor taken through NumPy and back

    ## What it does
    Finds tensors that a step, or an iteration of an evaluation, reads into NumPy, processes there and converts to a
    tensor again or passes to a model or `tf.function`, and weights that each step reads with `get_weights` and sets
    with `set_weights`. Several conversions of one array are one finding.

    ## Why is this bad
    The data goes from the GPU to the host and back: first the host waits for the GPU, then the GPU for the host.
    TensorFlow has the operation in between, and no gradient passes through NumPy. Measured on a CPU: 4 times the time
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
    Values that were on the host already, round trips outside training and evaluation loops, in loops of at most ten
    iterations or whose iterations wait for a person (`plt.show()`), and values that were processed by something other
    than NumPy (an environment, a solver, a random choice), that are also passed to an environment (`env.step(action)`),
    or that are themselves an index of the host (the id of a decoded word).

    ## At run time
    Copies from and to the device on that line.
    """

    code = "GPU502"
    name = "numpy-roundtrip"
    severity = Severity.WARNING
    is_performance = True
    once_a_row = True
    any_of_names = TRAINING_WORDS
    why = "the data is copied to the host and back, and the GPU sits idle meanwhile"
    instead = "process it with TensorFlow operations; `tf.experimental.numpy` has most of NumPy's functions"
    cost = "at least 4× slower for large tensors"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        indices = {one.index for one in self.all(events.HostValueUsed) if one.index is not None}
        made: list[tuple[_Back, tuple[Site, ...]]] = [
            (event, reads) for event in self.all(events.OpCalled) if (reads := _reads_into(event, indices))
        ]
        made += self._passed_to_calls(indices)
        given = [
            event for event in self.all(events.WeightsUsed) if event.how == "set_weights" and _is_of_weights(event)
        ]
        if not made and not given:
            return
        loops = step_loops(plan)
        yield from self._of_weights(plan, loops, given)
        models = {event.site for event in self.all(events.ModelCalled)}
        needed_in: dict[Site, set[Site]] = defaultdict(set)
        """Loops in which an environment gets what is read, by the site of the read: an agent that acts in one loop may
        learn in another."""
        for used in self.all(events.HostValueUsed):
            if used.by == "step" and used.site not in models:
                for read in used.reads:
                    needed_in[read].update(loop.site for loop in used.where.context.loops)
        read_in: dict[Site, set[Site]] = defaultdict(set)
        for one in self.all(events.TensorRead):
            read_in[one.site].update(loop.site for loop in one.where.context.loops)
        around, steps = loops | evaluation_loops(plan), updates(plan)
        found: dict[tuple[Site, ...], dict[Site, _Back]] = {}
        for event, reads in made:
            loop = loop_around(event.where, around)
            if loop is None or any(loop.site in needed_in[read] for read in reads):
                continue
            if are_few(event.where.context.loops) or waits_for_person(
                event.where, loop, self.all(events.PersonAwaited)
            ):
                continue
            if is_rare(event.where, loop) and with_step(event, loops, steps) is None:
                continue
            if any(loop.site in read_in[read] for read in reads):
                found.setdefault(reads, {}).setdefault(event.site, event)
        for reads, back in found.items():
            first, *others = back.values()
            yield Report(
                first.site,
                "a tensor is converted to NumPy and back",
                instead=self._instead(first, reads, indices),
                confidence=confidence(first.where),
                related=(
                    *((read, "the tensor is converted to NumPy here") for read in reads),
                    *((other.site, "the tensor is converted back here, too") for other in others),
                ),
                supersedes=reads,
            )

    def _instead(self, back: _Back, reads: tuple[Site, ...], indices: Collection[Symbol]) -> str:
        """What to do instead: pass the tensor itself, or use operations for what NumPy does. "" if only the author
        knows."""
        given = back.inputs if isinstance(back, events.OpCalled) else _options(back.arguments.all(), back.where)
        arrays = [value for value in given if not set(reads).isdisjoint(_reads_of([value], indices))]
        functions = [numpy_functions(value) for value in arrays]
        if None in functions:
            return ""
        names = frozenset().union(*(one for one in functions if one is not None))
        if not names:
            calls = [self.source(read) for read in reads]
            return (
                "pass the tensor itself, without `.numpy()`" if all(one.endswith(".numpy()") for one in calls) else ""
            )
        used = " and ".join(f"`{name}`" for name in operations(names))
        return f"keep it a tensor: use {used} instead of NumPy" if used else ""

    def _passed_to_calls(self, indices: Collection[Symbol]) -> Iterator[tuple[_Back, tuple[Site, ...]]]:
        """Eager calls of models and of compiled functions with arrays that NumPy computed from a tensor of the same
        iteration, each with the reads. Not those of an inner loop, as an agent's, and not those of variables, as of a
        step count."""
        calls = [
            (event, reads)
            for event in self.all(events.ModelCalled, events.TracedCalled)
            if event.where.context.loops
            and not event.where.context.may_be_traced
            and (isinstance(event, events.TracedCalled) or event.how == "call")
            and (reads := _reads_of(_options(event.arguments.all(), event.where), indices))
        ]
        if not calls:
            return
        innermost: dict[Site, set[Site]] = defaultdict(set)
        for read in self.all(events.TensorRead):
            if read.tensor.state is None:
                innermost[read.site].add(read.where.context.loops[-1].site)
        for event, reads in calls:
            here = tuple(one for one in reads if event.where.context.loops[-1].site in innermost[one])
            if here:
                yield event, here

    def _models(self, given: Site, got: list[Site]) -> dict[str, str]:
        """Names of the models whose weights are set and read. Those of the first may be read, too, to be mixed."""
        import libcst as cst  # slow to import, and seldom needed

        calls = [call for call in map(self.node, (given, *got)) if isinstance(call, cst.Call)]
        names = [self.short(one.func.value, "") if isinstance(one.func, cst.Attribute) else "" for one in calls]
        others = sorted({*names[1:]} - {*names[:1]})
        return {"old": names[0], "new": others[0]} if len(others) == 1 and all(names) else {"old": "a", "new": "b"}

    def _of_weights(self, plan: Plan, loops: frozenset[Site], given: list[events.WeightsUsed]) -> Iterator[Report]:
        fits = batch_fits(plan)
        loops |= {loop.site for _, loop in fits}
        steps = [*updates(plan), *(event for event, _ in fits)] if loops else []
        loops -= {step.site for step in steps}  # without the loops of minimizers, which compute on the host
        found: dict[Site, dict[Site, events.WeightsUsed]] = defaultdict(dict)
        for event in given:
            loop = every_step(event, loops, steps, given)
            if loop is None or is_rare(event.where, loop):
                loop = with_step(event, loops, steps)
            if loop is None or not in_every_iteration(event, loop, given):
                continue
            found[loop.site].setdefault(event.site, event)
        for place, calls in found.items():
            got = [
                one.site
                for one in self.all(events.WeightsUsed)
                if one.how == "get_weights" and any(around.site == place for around in one.where.context.loops)
            ]
            if got:
                first, *others = calls.values()
                yield Report(
                    first.site,
                    "all weights go through NumPy in every step",
                    instead=_ASSIGN.format(**self._models(first.site, got)),
                    confidence=confidence(first.where),
                    related=(
                        (got[0], "the weights are read into NumPy here"),
                        *((other.site, "weights are set here, too") for other in others),
                        (place, "in this training loop"),
                    ),
                )


_ASSIGN = (
    "in a `tf.function`, assign to the variables: "
    "`for old, new in zip({old}.variables, {new}.variables): old.assign(…)`"
)


def _is_of_weights(event: events.WeightsUsed) -> bool:
    """Whether weights that `get_weights` returned are set in a loop."""
    return bool(event.where.context.loops) and event.are_got


def _reads_into(event: events.OpCalled, indices: Collection[Symbol]) -> tuple[Site, ...]:
    """Reads of tensors whose values are passed back into an eager operation of a loop."""
    context = event.where.context
    if not context.loops or context.may_be_traced or _is_of_host(event):
        return ()
    return _reads_of(event.inputs, indices)


def _options(given: Iterable[values.Value], where: Where) -> list[values.Value]:
    """Possible values of arguments, as of what the network that an option picked returned."""
    return [option for value in given for option in possible(value, where)]


def _reads_of(given: Iterable[values.Value], indices: Collection[Symbol]) -> tuple[Site, ...]:
    return tuple(dict.fromkeys(read for value in given for read in round_trip(value, indices)))


def _is_of_host(event: events.OpCalled) -> bool:
    """Whether an operation works on host values: shapes and values that were read.

    `tf.range` needs its arguments on the host.
    """
    if event.name == "tensorflow.range":
        return True
    tensors = [value for value in event.inputs if isinstance(value, values.Tensor)]
    return event.name.startswith("operator.") and all(value.shape_of or value.on_host for value in tensors)
