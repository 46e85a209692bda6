"""GPU601."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, possible, together, values
from gpulint.plugin.queries import computes_in
from gpulint.plugin.symbols import words_of
from gpulint.plugin.words import POLICY_WORDS


class MissingLossScale(Rule):
    """float16 gradients of an unscaled loss

    ## What it does
    Finds a gradient under `mixed_float16`, or applied by a `LossScaleOptimizer`, in a custom training loop or
    `train_step` whose loss was not scaled with `optimizer.scale_loss`.

    ## Why is this bad
    Small gradients are zero in float16: for a loss of 0.001, 0.8 % of them vanish and the median is off by 4.5 % (0.1 %
    when scaled). With a `LossScaleOptimizer`, which `compile` wraps around every optimizer under this policy, it is
    worse: `apply_gradients` always divides by the scale, so SGD updates are 32,768 times too small
    (`benchmarks/experiments/loss_scale.py`).

    ## Example
    ```python
    import tensorflow as tf

    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1, dtype="float32")])
    optimizer = tf.keras.optimizers.Adam()


    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


    train_step(tf.zeros((64, 4)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1, dtype="float32")])
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())


    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


    train_step(tf.zeros((64, 4)))
    ```

    ## What is not reported
    `mixed_bfloat16`, which has the range of float32; paths with another policy; `Model.fit` with Keras's own
    `train_step`; gradients that no optimizer applies; programs that scale a loss by hand or with an optimizer unknown
    to gpulint.

    ## At run time
    Gradients that are zero.
    """

    code = "GPU601"
    name = "missing-loss-scale"
    severity = Severity.ERROR
    is_performance = True
    any_of_names = POLICY_WORDS
    why = "small gradients become zero in float16, which can stall training"
    instead = (
        "wrap the optimizer in a `LossScaleOptimizer`, compute `scaled = optimizer.scale_loss(loss)` inside the tape, "
        "and take the gradient of `scaled`: `apply_gradients` divides by the scale"
    )

    def _applied(self) -> dict[Site, bool]:
        """Gradients that an optimizer applies, directly or summed in a variable → whether the optimizer scales them."""
        summed: dict[int, set[Site]] = defaultdict(set)
        applied: dict[Site, bool] = {}
        for event in self.all(events.StateUpdated, events.GradientsApplied):
            if isinstance(event, events.StateUpdated):
                if event.gradient is not None and event.gradient.gradient is not None:
                    summed[event.target.serial].add(event.gradient.gradient.site)
                continue
            if (scales := _scales(event.optimizer)) is None:
                continue
            gradients = {tensor.gradient.site for tensor in event.gradients if tensor.gradient is not None}
            for site in gradients.union(*(summed[variable.serial] for variable in event.accumulators)):
                applied[site] = scales or applied.get(site, False)
        return applied

    def _scaled_by_optimizer(self, plan: Plan) -> set[Site]:
        """Calls of `minimize` that scale the loss themselves: of a `LossScaleOptimizer`, in which Keras 2 wraps the
        optimizer of a compiled model, too. Keras 3 has no `minimize`."""
        compiled = {
            optimizer.site if isinstance(optimizer, values.Optimizer) else event.model.site
            for event in self.all(events.ModelCompiled)
            for optimizer in possible(event.arguments.get("optimizer", 0), event.where)
        }
        return {
            event.site
            for event in self.all(events.GradientsApplied)
            if plan.runs_keras_3 or event.optimizer.site in compiled or _scales(event.optimizer)
        }

    def on_end(self, plan: Plan) -> Iterator[Report]:
        by_optimizer = self._scaled_by_optimizer(plan)
        taken = [event for event in self.all(events.GradientTaken) if event.tape and event.site not in by_optimizer]
        if not taken:
            return
        applied = self._applied()
        scaled = [event for event in taken if _is_scaled(event)]
        for event in taken:
            if any(one.site == event.site or not together(one.where, event.where) for one in scaled):
                continue  # this path is the one without scaling
            by_scaling_optimizer = applied.get(event.site)
            in_float16 = any(computes_in(policy, "float16") for policy in possible(event.policy, event.where))
            divided = by_scaling_optimizer and plan.runs_keras_3
            if by_scaling_optimizer is None or not (in_float16 or divided) or _may_be_scaled(event, plan):
                continue
            yield Report(
                event.site,
                _UNSCALED if divided else "the loss is not scaled before its float16 gradient is taken",
                why=_DIVIDED if divided else "",
                instead=_SCALE if divided else "" if plan.runs_keras_3 else _SCALE_BY_KERAS_2,
                confidence=confidence(event.where),
                related=tuple((origin, "the float16 policy is set here") for origin in _policies(event)),
            )


def _policies(event: events.GradientTaken) -> list[Site]:
    """Where the names of the policies under which a gradient is taken in float16 are written."""
    found = [one for one in possible(event.policy, event.where) if computes_in(one, "float16")]
    return sorted({one.origin for one in found if isinstance(one, values.Constant) and one.origin is not None})


_DIVIDED = (
    "the `LossScaleOptimizer` divides by a scale that was never applied: gradients are thousands of times too small"
)

_UNSCALED = "a `LossScaleOptimizer` is given the gradients of an unscaled loss"

_SCALE = "compute `scaled = optimizer.scale_loss(loss)` inside the tape, and take the gradient of `scaled`"

_SCALE_BY_KERAS_2 = (
    "use a `LossScaleOptimizer`: take the gradient of `optimizer.get_scaled_loss(loss)`, and apply "
    "`optimizer.get_unscaled_gradients(gradients)`"
)


def _scales(optimizer: values.Object) -> bool | None:
    """Whether an optimizer scales the loss, None if it may."""
    return isinstance(optimizer, values.Optimizer) and optimizer.scales


def _is_scaled(event: events.GradientTaken) -> bool:
    """Whether the loss is a result of `scale_loss`."""
    return any(isinstance(loss, values.Tensor) and loss.scaled for loss in possible(event.loss, event.where))


def _may_be_scaled(event: events.GradientTaken, plan: Plan) -> bool:
    """Whether the loss may have been scaled by code that is not followed."""
    if any(word.endswith("LossScaleOptimizer") for word in words_of(event.where.path)):
        return True  # the program tests the type of its optimizer
    is_known = all(isinstance(loss, values.Tensor) for loss in possible(event.loss, event.where))
    by_hand = not plan.referenced.isdisjoint(_BY_HAND)
    return by_hand or (not is_known and any(plan.mentions(name) for name in _SCALES))


_SCALES = frozenset({"scale_loss", "get_scaled_loss"})

_BY_HAND = frozenset({"loss_scale", "loss_scaling", "scale_factor", "fixed_loss_scale"})
"""Names of factors in programs that scale the loss themselves."""
