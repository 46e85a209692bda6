"""GPU604."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import (
    Draft,
    Edit,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    possible,
    unsafe,
    values,
)
from gpulint.plugin.facts import SETS_FLOATX
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import known, trains


class Float64OnGpu(Rule):
    """Training in float64

    ## What it does
    Finds `set_floatx("float64")`, a float64 policy and float64 layers in a program that trains. Off by default: some
    problems need it.

    ## Why is this bad
    Measured on a CPU: twice the time for products and convolutions, 1.6 times for a whole `fit`
    (`benchmarks/experiments/float64.py`). GPUs built for float64 (P100, V100, A100, H100) have half as many units for
    it as for float32; all others, in consumer cards and in the T4, L4 or A10, a 32nd or 64th.

    ## Example
    ```python
    import tensorflow as tf

    tf.keras.backend.set_floatx("float64")
    model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## What is not reported
    float64 arrays of NumPy, which Keras casts at no cost (measured: the same time); tests; programs that do not train.

    ## Fix
    Unsafe: writes float32 instead. Results have 7 significant digits, not 16, and operations that mix tensors with
    float64 NumPy arrays raise until these are cast as well.

    ## At run time
    The dtype of the operations.
    """

    code = "GPU604"
    name = "float64-on-gpu"
    severity = Severity.INFO
    is_performance = True
    on_by_default = False
    any_of_names = frozenset({"float64", "set_floatx", "double"})
    why = "float64 runs at half the speed of float32 on GPUs built for it, and at 1/32 or 1/64 on all others"
    instead = "train in float32, unless the computation needs double precision"
    cost = "2× slower or more"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        found = [
            (event, message)
            for event in self.all(events.LibraryCalled, events.LayerBuilt)
            if (message := _sets_double(event))
        ]
        if found and trains(plan):
            for event, message in found:
                yield Report(
                    event.site,
                    message,
                    instead=_OF_LAYER if isinstance(event, events.LayerBuilt) else "",
                    related=_elsewhere(event),
                    confidence=confidence(event.where),
                    fix=unsafe(
                        "Replace float64 with float32: numbers keep about 7 significant digits, and float64 arrays "
                        "must be cast",
                        _single,
                        event.site,
                    )
                    if not _elsewhere(event)
                    else None,
                )


_OF_LAYER = "set the layer's `dtype` to float32, or remove it, unless the computation needs double precision"


def _elsewhere(event: events.LibraryCalled | events.LayerBuilt) -> tuple[tuple[Site, str], ...]:
    """Place of a float64 that is not written in the call itself."""
    given = [value for argument in event.arguments.all() for value in possible(argument, event.where)]
    double = next((value for value in given if _is_double(value)), None)
    origin = double.origin if isinstance(double, values.Constant) else None
    is_written = any(site == origin for site in event.arguments.sites.values())
    return () if origin is None or is_written else ((origin, "float64 is set here"),)


def _sets_double(event: events.LibraryCalled | events.LayerBuilt) -> str:
    """Message for a call that selects float64, "" for any other."""
    if isinstance(event, events.LayerBuilt):
        is_double = any(_is_double(value) for value in possible(event.arguments.get("dtype"), event.where))
        return "the layer computes in float64" if is_double else ""
    is_setter = event.name in SETS_FLOATX or event.name.endswith("_policy")
    is_double = is_setter and any(_is_double(value) for value in event.arguments.all())
    return "float64 is the default dtype" if is_double else ""


def _is_double(value: values.Value) -> bool:
    if isinstance(value, values.LibraryName):
        return value.name.rpartition(".")[2] in ("float64", "double")
    return known(value) == "float64"


def _single(draft: Draft, site: Site) -> list[Edit]:
    """Write float32 for float64 in the arguments of a call."""
    call = calls.call_around(draft, site)
    for given in call.arguments:
        written = draft.source(given.value)
        for double in ("float64", "double"):
            if written.strip("\"'").rpartition(".")[2] == double:
                return [draft.rewrite(given.value, written.replace(double, "float32"))]
    raise Refused("the call does not spell out float64")
