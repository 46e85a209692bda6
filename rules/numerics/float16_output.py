"""GPU602."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import (
    Draft,
    Edit,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    Where,
    confidence,
    events,
    possible,
    together,
    unsafe,
    values,
)
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import computes_in
from gpulint.plugin.words import POLICY_WORDS


class Float16Output(Rule):
    """Output layer in float16

    ## What it does
    Finds a trained model whose last layer computes in float16, because of `mixed_float16` or its own dtype.

    ## Why is this bad
    A softmax or sigmoid in float16 cannot represent small probabilities: of 1,000 classes 17 % are exactly 0, the
    gradient of a wrong but confident answer is NaN or 0, and the loss scale falls from 32,768 to 0.5 as steps are
    skipped. A value above 65,504 is infinite; near 3,000 the resolution is 2. Keras's losses compute in float32, but
    from numbers that are already rounded to float16 (`benchmarks/experiments/float16_output.py`).

    ## Example
    ```python
    import tensorflow as tf

    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(10, activation="softmax")])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(tf.zeros((64, 4)), tf.zeros((64,)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(8), tf.keras.layers.Dense(10, activation="softmax", dtype="float32")]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(tf.zeros((64, 4)), tf.zeros((64,)))
    ```

    ## What is not reported
    A last layer with `dtype="float32"` (also an `Activation`), logits that are cast to float32 before the softmax or
    the loss (a softmax in float16 that is cast afterwards is reported), `mixed_bfloat16`, layers created under another
    policy, models that are not trained.

    ## Fix
    Unsafe: adds `dtype="float32"` to the call that creates the layer, if that creates only outputs, and to the
    reshaping layers after it, which would cast to float16. The layer computes the same with more digits, but whatever
    uses the output, such as stored predictions or float16 labels, gets float32.

    ## At run time
    Losses that are NaN, a falling loss scale.
    """

    code = "GPU602"
    name = "float16-output"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = POLICY_WORDS
    why = (
        "float16 rounds large logits and loses small probabilities: losses and gradients can become 0, infinite or NaN"
    )
    instead = 'set `dtype="float32"` on the last layer'

    def on_end(self, plan: Plan) -> Iterator[Report]:
        """Report outputs in float16. A site that creates other layers, too, gets no fix: it would change them all."""
        built: dict[Site, set[int]] = defaultdict(set)
        written: set[Site] = set()
        """Places of the arguments of layers."""
        for layer_built in self.all(events.LayerBuilt):
            built[layer_built.layer.site].add(layer_built.layer.serial)
            written.update(layer_built.arguments.sites.values())
        outputs = [event for event in self.all(events.OutputTrained) if _is_in_float16(event.layer, event.where)]
        trained: dict[Site, set[int]] = defaultdict(set)
        for event in outputs:
            for layer in (event.layer, *event.through):
                trained[layer.site].add(layer.serial)
        first: dict[Site, dict[int, events.OutputTrained]] = defaultdict(dict)
        for event in outputs:
            first[event.layer.site].setdefault(event.layer.serial, event)
        for event in (event for of_site in first.values() for event in of_site.values()):
            sites = (event.layer.site, *(one.site for one in event.through))
            alone = all(built[one] <= trained[one] for one in sites)
            yield Report(
                event.layer.site,
                "the loss is computed from a float16 output",
                confidence=confidence(event.layer.where),
                related=(
                    *(
                        (origin, "the float16 policy is set here")
                        for origin in sorted(_policies(event.layer) - written)
                    ),
                    (event.site, "the loss is computed here"),
                ),
                fix=unsafe('Set `dtype="float32"`: the output becomes float32', _in_float32, *sites) if alone else None,
            )


def _is_in_float16(layer: values.Layer, where: Where) -> bool:
    policies = possible(layer.policy, layer.where)
    return (
        _gives_numbers(layer) and any(computes_in(one, "float16") for one in policies) and together(where, layer.where)
    )


def _policies(layer: values.Layer) -> set[Site]:
    """Where the names of the policies under which a layer computes in float16 are written."""
    found = [one for one in possible(layer.policy, layer.where) if computes_in(one, "float16")]
    return {one.origin for one in found if isinstance(one, values.Constant) and one.origin is not None}


def _gives_numbers(layer: values.Layer) -> bool:
    """Whether a layer computes its output: a library layer that does not only pass data on."""
    return layer.cls is None and not layer.hands_on and layer.library.rpartition(".")[2] not in _UNKNOWN


_UNKNOWN = frozenset({"Lambda", "Layer"})


def _in_float32(draft: Draft, *layers: Site) -> list[Edit]:
    return [edit for one in layers for edit in calls.with_argument(draft, one, "dtype", draft.quoted("float32"))]
