"""GPU903."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, possible, values
from gpulint.plugin.queries import is_version_checked, known, leaves


class UntrackedVariable(Rule):
    """`tf.Variable` that Keras 3 does not train

    ## What it does
    Finds a `tf.Variable` that a Keras layer or model keeps in an attribute, alone or in a list.

    ## Why is this bad
    Keras 3 tracks only what `add_weight` creates. The variable is missing from `trainable_variables`, so that neither
    `fit` nor the usual custom loop changes it, and `save` leaves it out. There is no error (measured on TensorFlow 2.21
    with Keras 3.15). Keras 2, up to TensorFlow 2.15, trained it.

    ## Example
    ```python
    import tensorflow as tf


    class Scale(tf.keras.layers.Layer):
        def build(self, shape):
            self.factor = tf.Variable(tf.ones(shape[-1]))

        def call(self, x):
            return x * self.factor
    ```

    ## Use instead
    ```python
    import tensorflow as tf


    class Scale(tf.keras.layers.Layer):
        def build(self, shape):
            self.factor = self.add_weight(name="factor", shape=(shape[-1],), initializer="ones")

        def call(self, x):
            return x * self.factor
    ```

    ## What is not reported
    Variables with `trainable=False`, of integers, or that the program assigns to; numbers, unless they have
    `trainable=True`; variables that the program takes a gradient with respect to by name; programs that call
    `tape.watched_variables()`; classes with a `trainable_variables` of their own; `tf.Module`; programs on Keras 2. As
    this depends on the release, the rule is on by default only for files whose TensorFlow release is known.

    ## At run time
    Not visible at run time.
    """

    code = "GPU903"
    name = "untracked-variable"
    severity = Severity.ERROR
    asks_release = True
    context_insensitive = True
    any_of_names = frozenset({"Variable"})
    why = "it keeps its initial value and is not saved: Keras 3 tracks only weights that `add_weight` creates"
    instead = "create it with `self.add_weight(…)`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        if not plan.runs_keras_3 or not plan.referenced.isdisjoint(_TRACK):
            return
        built = {event.site: event for event in self.all(events.VariableBuilt)}
        handled = {event.target.site for event in self.all(events.StateUpdated)}
        for taken in self.all(events.GradientTaken):
            handled |= {one.site for one in _variables(possible(taken.by, taken.where))}
        for event in self.all(events.AttributeSet):
            if not _is_tracking(event.owner) or is_version_checked(event.where):
                continue
            for variable in _variables(possible(event.value, event.where)):
                made = built.get(variable.site)
                if made is not None and made.site not in handled and self._is_weight(made):
                    yield Report(
                        made.site,
                        f"Keras 3 does not train `self.{event.name}`",
                        confidence=confidence(event.where, made.where),
                    )

    def _is_weight(self, made: events.VariableBuilt) -> bool:
        """Whether a variable is meant to be trained."""
        trainable = made.arguments.get("trainable", 1)
        if (made.variable.dtype or "float32").startswith(_NOT_TRAINED) or made.arguments.open:
            return False
        if trainable is not None:
            return known(trainable) is True
        return not self._is_number(made.arguments.get("initial_value", 0))

    def _is_number(self, value: values.Value | None) -> bool:
        """Whether the initial value is one number, as of a setting."""
        if not isinstance(value, values.Tensor):
            return not isinstance(value, values.Items)
        return any(
            event.result.site == value.site
            and event.name in _OF_NUMBERS
            and all(isinstance(one, values.Constant) for one in event.inputs)
            for event in self.all(events.OpCalled)
        )


_TRACK = frozenset({"watched_variables", "_track_variable", "_trainable_variables", "_trainable_weights"})
"""Names by which a program makes Keras, or itself, train other variables, too."""

_NOT_TRAINED = ("int", "uint", "bool", "string")

_OF_NUMBERS = frozenset({"tensorflow.cast", "tensorflow.constant", "tensorflow.convert_to_tensor"})
"""Operations that return one number for one number."""

_LISTS = ("trainable_variables", "trainable_weights", "variables", "weights")


def _is_tracking(owner: values.Object) -> bool:
    """Whether Keras 3 itself decides which variables of a layer or model are trained."""
    cls = owner.cls
    return (
        isinstance(owner, (values.Layer, values.Model))
        and owner.is_private is False
        and owner.library.startswith("tensorflow.keras.")
        and cls is not None
        and not cls.is_open
        and "tensorflow.Module" not in cls.libraries()
        and not any(cls.find(name) for name in _LISTS)
    )


def _variables(options: Iterable[values.Value]) -> Iterator[values.Variable]:
    for option in options:
        for leaf in leaves(option):
            if isinstance(leaf, values.Variable) and leaf.library == "tensorflow.Variable":
                yield leaf
