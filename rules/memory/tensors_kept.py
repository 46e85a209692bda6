"""GPU307."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from gpulint.plugin import Loop, Plan, Report, Rule, Severity, Site, Where, confidence, events, values
from gpulint.plugin.queries import (
    are_few,
    callers,
    goes_over_data,
    in_every_iteration,
    is_endless,
    is_rare,
    iterated_sources,
    known,
    loop_around,
    step_loops,
    symbol_of,
)
from gpulint.plugin.symbols import COUNTER, Literal, Symbol, length_of
from gpulint.plugin.words import TRAINING_WORDS


class TensorsKept(Rule):
    """Tensors kept in a list that grows with each step

    ## What it does
    Finds device tensors that each step of a training loop adds to a list or dict that outlives all loops.

    ## Why is this bad
    Each stays in device memory, in a block of its own, so memory grows and fragments. Measured: a batch of outputs of
    10 kB costs 10 kB per step, a bare scalar half a kilobyte (`benchmarks/experiments/tensors_kept.py`).

    ## Example
    ```python
    import tensorflow as tf

    weights = tf.Variable(tf.ones((4,)))
    optimizer = tf.keras.optimizers.SGD()
    optimizer.build([weights])


    @tf.function
    def update(x):
        with tf.GradientTape() as tape:
            outputs = x * weights
            loss = tf.reduce_sum(outputs)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        return outputs


    history = []
    for epoch in range(100):
        for x in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))):
            history.append(update(x))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    weights = tf.Variable(tf.ones((4,)))
    optimizer = tf.keras.optimizers.SGD()
    optimizer.build([weights])
    mean = tf.keras.metrics.Mean()


    @tf.function
    def update(x):
        with tf.GradientTape() as tape:
            outputs = x * weights
            loss = tf.reduce_sum(outputs)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        mean.update_state(outputs)


    history = []
    for epoch in range(100):
        for x in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))):
            update(x)
        history.append(float(mean.result()))
        mean.reset_state()
    ```

    ## What is not reported
    Single numbers, such as a loss or the PSNR of an image; lists that are created or cleared in a loop; one pass over a
    dataset, or over the samples that a test takes from one (where nothing trains, also over another collection);
    values that are tensors only on some paths; `deque(maxlen=…)`; values on the host; additions under a condition;
    tensors inside a `tf.function`; programs that the analysis did not complete and that empty a container
    somewhere.

    ## At run time
    How many of the sampled steps left tensors created on these lines alive.
    """

    code = "GPU307"
    name = "tensors-kept"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = TRAINING_WORDS
    why = "no tensor is freed while the container lives: GPU memory grows with every step until it runs out"
    instead = "add `tensor.numpy()`, a copy in host memory, or clear the container after use"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        if plan.may_have_missed(".clear(", ".pop(", ".popleft("):
            return
        kept = [*self.all(events.TensorKept)]
        loops = step_loops(plan) if kept else frozenset()
        loops |= {one.site for event in kept for one in event.where.context.loops if goes_over_data(one.iterable)}
        cleared = {id(event.container) for event in self.all(events.ContainerCleared)}
        trained = {
            event.where.context.loops[-1].site
            for event in self.all(events.GradientsApplied)
            if event.where.context.loops
        }
        for event in kept:
            reduced = event.tensor.reduced
            if reduced is not None and (reduced.is_number or reduced.how == "image"):
                continue
            container = event.container
            loop = loop_around(event.where, loops)
            if loop is None or _is_recreated(container, event.where) or id(container) in cleared:
                continue
            if are_few(event.where.context.loops) or is_rare(event.where, loop) or _is_limited(event, kept):
                continue
            if not in_every_iteration(event, loop, kept):
                continue
            trains = loop.site in trained
            if _goes_once(event.where, loop, trained) or (not trains and _is_after_an_epoch(event.where)):
                continue
            kept_in, added = self._parts(event.site)
            yield Report(
                event.site,
                f"every step adds a device tensor to {kept_in}",
                instead=f"{added}, or clear {kept_in} after use",
                confidence=confidence(event.where),
                related=((loop.site, "in this loop"), (event.tensor.site, "the tensor comes from here")),
            )

    def _parts(self, kept: Site) -> tuple[str, str]:
        """The container that a call such as `losses.append(loss)` extends, and how to add to it: `loss.numpy()`."""
        import libcst as cst  # slow to import, and seldom needed
        import libcst.matchers as m

        name = m.Name() | m.Attribute(m.Name())
        node = self.node(kept)
        if not isinstance(node, cst.Call) or not m.matches(node, m.Call(m.Attribute(name | m.Subscript(name)))):
            return "a container", _COPIES
        function = cst.ensure_type(node.func, cst.Attribute)
        last = node.args[-1].value if node.args and function.attr.value in ("append", "insert") else None
        tensor = self.short(last, "") if last is not None and m.matches(last, name | m.Call()) else ""
        copy = f"store `{tensor}.numpy()`, a copy in host memory, instead" if tensor else _COPIES
        return f"`{self.source(function.value)}`", copy


_COPIES = "store copies in host memory instead, which `.numpy()` returns"


def _goes_once(where: Where, loop: Loop, trained: Collection[Site]) -> bool:
    """Whether a loop iterates once over its data: it is the outermost one, or no loop around it trains or iterates more
    than once. `trained` are the innermost loops around updates."""
    trains = loop.site in trained
    around = where.context.loops[: where.context.loops.index(loop)]
    return _is_one_pass(loop, trains=trains) and not (
        any(trains or one.site in trained or not _is_one_pass(one, trains=False) for one in around)
    )


def _is_limited(event: events.TensorKept, kept: Sequence[events.TensorKept]) -> bool:
    """Whether the length of the container, or a counter, decides in some iteration that more is added."""
    return any(
        one.site == event.site
        and (
            literal.condition.subject in (length_of(symbol_of(one.container)), *_counted_to(event.site, kept))
            or _is_below(literal)
        )
        for one in kept
        for literal in one.where.path
    )


def _is_recreated(container: values.Items | values.Mapping, where: Where) -> bool:
    """Whether a container is created in a loop around the place, or at an unknown one."""
    if container.around is None:
        return True
    entries = {loop.entry for loop in where.context.loops}
    return any(loop.entry in entries for loop in container.around)


def _is_below(literal: Literal) -> bool:
    """Whether a condition says that a counter is below its limit."""
    counts = isinstance(literal.condition.subject, Symbol) and literal.condition.subject.parts[0] == COUNTER
    return counts and literal.condition.operator in (">", ">=") and not literal.holds


def _counted_to(site: Site, kept: Sequence[events.TensorKept]) -> list[object]:
    """Limits of counters: values compared with another number in each iteration that keeps something at a site."""
    numbers: dict[object, set[object]] = defaultdict(set)
    for event in kept:
        for literal in event.where.path if event.site == site else ():
            if literal.condition.operator in (">", ">="):
                numbers[literal.condition.subject].add(literal.condition.operand)
    return [subject for subject, found in numbers.items() if len(found) > 1]


def _is_after_an_epoch(where: Where) -> bool:
    """Whether a callback that runs at the end of an epoch keeps the tensor while it runs."""
    return any(caller.function == "on_epoch_end" for caller in callers(where.caller))


def _is_one_pass(loop: Loop, *, trains: bool) -> bool:
    """Whether a loop iterates once over a dataset or another collection, so that what it keeps is bounded.

    Elements taken from repeated data are many steps in training, and the samples of a test elsewhere.
    """
    counts = isinstance(loop.iterable, values.Items) and loop.iterable.kind == "range"
    return (
        loop.iterable is not None
        and not counts
        and not is_endless(loop.iterable)
        and not _is_repeated(loop.iterable, trains=trains)
    )


def _is_repeated(iterable: values.Value, *, trains: bool) -> bool:
    """Whether a collection repeats its data. `repeat(1)` does not."""
    names = ("repeat",) if trains else ("repeat", "take")
    last = (
        next((step for step in reversed(part.steps) if step.name in names), None)
        for part in iterated_sources(iterable)
        if isinstance(part, values.Dataset)
    )
    return any(
        step is not None and step.name == "repeat" and known(step.arguments.get("count", 0)) not in (0, 1)
        for step in last
    )
