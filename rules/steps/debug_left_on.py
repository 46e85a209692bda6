"""GPU507."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, unsafe
from gpulint.plugin.fixes import statements
from gpulint.plugin.queries import left_on


class DebugLeftOn(Rule):
    """Debugging switched on for the whole run

    ## What it does
    Finds `set_log_device_placement(True)`, `enable_check_numerics()`, `enable_dump_debug_info()` and a profiler that is
    started and never stopped, unconditionally, in a program that trains.

    ## Why is this bad
    Measured (`benchmarks/experiments/debug_left_on.py`): numeric checks take 1.3 to 2.6 times the time of a `fit`,
    dumps 3 to 6 times, the profiler 1.3 times. The profiler keeps all events in host memory and writes nothing until it
    is stopped. The placement log takes 1.5 times the time of eager calls, costs nothing in `fit`, and floods standard
    error.

    ## Example
    ```python
    import tensorflow as tf

    tf.debugging.enable_check_numerics()
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## Use instead
    ```python
    import os

    import tensorflow as tf

    if os.environ.get("CHECK_NUMERICS"):
        tf.debugging.enable_check_numerics()
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## What is not reported
    Calls under a condition that not all training is under, or with a flag as argument; aids that are stopped or
    switched off again afterwards, or in code that the analysis did not reach; tests; programs that do not train.

    ## Fix
    Unsafe: removes the call, and with it what it reports.

    ## At run time
    The overhead.
    """

    code = "GPU507"
    name = "debug-left-on"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset(
        {"set_log_device_placement", "enable_check_numerics", "enable_dump_debug_info", "profiler"}
    )
    why = "it slows the run down, or floods its output"
    instead = "remove it, put it behind a debug flag, or stop it after some steps"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for event in left_on(plan, SWITCHES):
            yield Report(
                event.site,
                MESSAGES.get(event.name, "a debugging aid is left on"),
                confidence=confidence(event.where),
                fix=unsafe("Remove the call: it no longer reports", statements.without_statement, event.site),
            )


_DEBUGGING = "tensorflow.debugging."

SWITCHES = {
    _DEBUGGING + "set_log_device_placement": _DEBUGGING + "set_log_device_placement",
    _DEBUGGING + "enable_check_numerics": _DEBUGGING + "disable_check_numerics",
    _DEBUGGING + "experimental.enable_dump_debug_info": _DEBUGGING + "experimental.disable_dump_debug_info",
    "tensorflow.profiler.experimental.start": "tensorflow.profiler.experimental.stop",
}
"""Function that switches a debugging aid on → function that switches it off (if it is the same: with False)."""

MESSAGES = {
    _DEBUGGING + "set_log_device_placement": "the placement of every operation is logged",
    _DEBUGGING + "enable_check_numerics": "every tensor is checked for NaN and infinity",
    _DEBUGGING + "experimental.enable_dump_debug_info": "every tensor is dumped to disk",
    "tensorflow.profiler.experimental.start": "the profiler is started and never stopped",
}
