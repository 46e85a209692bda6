"""GPU212."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import (
    Path,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    Where,
    confidence,
    events,
    mentions,
    values,
    words,
)


class AccumulateApplies(Rule):
    """Gradient accumulation that does not accumulate

    ## What it does
    Finds loops over micro-steps that apply the gradients of each one, and steps that take gradients every time but
    apply only those of every n-th one, without ever adding them up.

    ## Why is this bad
    The effective batch is that of one micro-step: either the optimizer steps n times too often, or n - 1 of n
    batches are computed and thrown away.

    ## Example
    ```python
    import tensorflow as tf

    weight = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD()
    ACCUMULATION_STEPS = 4


    @tf.function
    def train(dataset):
        for step, x in enumerate(dataset):
            with tf.GradientTape() as tape:
                loss = weight * tf.cast(x, tf.float32) / ACCUMULATION_STEPS
            gradient = tape.gradient(loss, weight)
            if (step + 1) % ACCUMULATION_STEPS == 0:
                optimizer.apply_gradients([(gradient, weight)])


    train(tf.data.Dataset.range(64))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    weight = tf.Variable(1.0)
    total = tf.Variable(0.0)
    optimizer = tf.keras.optimizers.SGD()
    ACCUMULATION_STEPS = 4


    @tf.function
    def train(dataset):
        for step, x in enumerate(dataset):
            with tf.GradientTape() as tape:
                loss = weight * tf.cast(x, tf.float32) / ACCUMULATION_STEPS
            total.assign_add(tape.gradient(loss, weight))
            if (step + 1) % ACCUMULATION_STEPS == 0:
                optimizer.apply_gradients([(total, weight)])
                total.assign(0.0)


    train(tf.data.Dataset.range(64))
    ```

    ## What is not reported
    Real accumulation (variables, lists, sums), and Keras's own `gradient_accumulation_steps`.

    ## At run time
    Optimizer iterations equal micro-steps.
    """

    code = "GPU212"
    name = "accumulate-applies"
    severity = Severity.ERROR
    speaks_of = frozenset({"GradientTape", "minimize"})
    itself = r"(?i)accum|micro|[\w)\]] ?% ?[\w(]"
    why = "the effective batch is that of one micro-step"
    instead = "add the gradients up and apply their sum every n-th step, or use `gradient_accumulation_steps`"

    def __init__(self) -> None:
        self._divided: set[Site] = set()
        self._suspects: dict[Site, Report] = {}
        self._accumulates: set[Site] = set()

    def on_op_called(self, event: events.OpCalled, plan: Plan) -> Iterator[Report]:
        if event.name == "operator./" and len(event.inputs) == 2 and _speaks_of_accumulation(event.inputs[1]):
            self._divided.add(event.result.site)
        return iter(())

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        for tensor in event.gradients:
            gradient = tensor.gradient
            if gradient is None or gradient.accumulated:
                self._accumulates.add(event.site)
            elif problem := self._problem(event.where, gradient):
                self._suspects.setdefault(
                    event.site,
                    Report(
                        event.site,
                        problem,
                        confidence=confidence(event.where, gradient.where),
                        related=((gradient.site, "the gradients are taken here"),),
                    ),
                )
        return iter(())

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for site, report in self._suspects.items():
            if site not in self._accumulates:
                yield report

    def _problem(self, applied: Where, gradient: values.Gradient) -> str:
        loops = applied.context.loops
        if not loops or gradient.where.context.loops != loops:
            return ""
        if applied.context.guards and applied.context.guards != gradient.where.context.guards:
            new = applied.path - gradient.where.path
            return "only the gradients of every n-th step are applied; the others are lost" if _every_nth(new) else ""
        over_micro_steps = loops[-1].iterable is not None and _speaks_of_accumulation(loops[-1].iterable)
        scaled_for = isinstance(gradient.loss, values.Tensor) and gradient.loss.site in self._divided
        if over_micro_steps or scaled_for:
            return "gradients are applied on every micro-step instead of being added up"
        return ""


def _every_nth(path: Path) -> bool:
    """Whether a condition of the path is `x % n == constant` and speaks of accumulation."""
    return any(
        literal.holds and literal.condition.operator in ("==", "truth") and mentions(frozenset({literal}), "%")
        for literal in path
    )


def _speaks_of_accumulation(value: values.Value) -> bool:
    """Whether a size or a range is named after accumulation."""
    names = value.named if isinstance(value, values.Constant) else values.symbol_of(value).words
    return any(words(name) & WORDS or "accum" in name.lower() for name in names)


WORDS = frozenset({"accumulation", "accumulate", "accum", "micro", "microsteps", "microbatches"})
