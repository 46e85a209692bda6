"""GPU506."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, together, unsafe, values
from gpulint.plugin.facts import RUNS_EAGERLY
from gpulint.plugin.fixes import calls, statements
from gpulint.plugin.queries import computes_in_loop, converts, known, left_on, may_train, may_train_or_evaluate
from gpulint.plugin.symbols import words, words_of


class _Setting(NamedTuple):
    """A setting of a model's eager mode and its place."""

    event: events.ModelCompiled | events.EagerModeSet
    place: Site
    eager: object


class DebugLeftOn(Rule):
    """Debugging switched on for the whole run

    ## What it does
    Finds `tf.config.run_functions_eagerly(True)`, `compile(run_eagerly=True)`, `model.run_eagerly = True` and
    `tf.data.experimental.enable_debug_mode()` outside any condition in a program that trains, evaluates or computes in
    a loop; and `set_log_device_placement(True)`, `enable_check_numerics()`, `enable_dump_debug_info()` and a profiler
    that is started and never stopped in a program that trains.

    ## Why is this bad
    Run eagerly, nothing is compiled: measured, `fit` takes 8 to 10 times as long, a function with a loop 34 times, a
    `map` 3.6 times (`benchmarks/experiments/eager_left_on.py`). Numeric checks take 1.3 to 2.6 times the time of a
    `fit`, dumps 3 to 6 times, the profiler 1.3 times; the profiler keeps all events in host memory and writes nothing
    until it is stopped. The placement log takes 1.5 times the time of eager calls, costs nothing in `fit`, and floods
    standard error (`benchmarks/experiments/debug_left_on.py`).

    ## Example
    ```python
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## Use instead
    ```python
    import os

    import tensorflow as tf

    if os.environ.get("DEBUG_EAGERLY"):
        tf.config.run_functions_eagerly(True)
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## What is not reported
    Calls under a condition or with a flag as argument; calls that are undone later, or in code that the analysis did
    not reach; models that are not trained afterwards, or whose own `train_step` is a `tf.function`; tests. Programs
    that neither train nor evaluate, if they compute nothing in a loop, or save, export or convert a model.

    ## Fix
    Unsafe: removes the call or the argument. Python code in functions and layers (prints, breakpoints) then runs when
    they are traced, not in every step, and what a debugging aid reported is no longer there.

    ## At run time
    The log of eager operations, and the overhead.
    """

    code = "GPU506"
    name = "debug-left-on"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset(
        {
            *("run_functions_eagerly", "experimental_run_functions_eagerly", "run_eagerly", "enable_debug_mode"),
            *("set_log_device_placement", "enable_check_numerics", "enable_dump_debug_info", "profiler"),
        }
    )
    why = "nothing is compiled: Python dispatches every operation one by one, and the GPU sits idle between them"
    instead = "remove the call, or put it behind a debug flag"
    cost = "4 to 10× slower for small models"

    def _settings(self) -> tuple[list[_Setting], dict[int, int]]:
        """All settings of eager mode, and for each model, by serial number, how many precede its last `fit`."""
        settings: list[_Setting] = []
        fitted: dict[int, int] = {}
        for event in self.all(events.ModelCompiled, events.EagerModeSet, events.ModelFitted):
            if isinstance(event, events.ModelFitted):
                fitted[event.model.serial] = len(settings)
            elif isinstance(event, events.EagerModeSet):
                settings.append(_Setting(event, event.site, known(event.value)))
            else:
                place = event.arguments.written.get("run_eagerly", event.site)
                settings.append(_Setting(event, place, known(event.arguments.get("run_eagerly", 5))))
        return settings, fitted

    def on_end(self, plan: Plan) -> Iterator[Report]:
        kinds = (may_train, may_train_or_evaluate, *(() if converts(plan) else (computes_in_loop,)))
        work = next((kind for kind in kinds if any(map(kind, plan.events))), may_train)
        for event in left_on(plan, AIDS):
            yield Report(
                event.site,
                MESSAGES.get(event.name, "a debugging aid is left on"),
                why=WHYS.get(event.name, "it takes time in every step"),
                cost=COSTS.get(event.name, ""),
                instead=STOP if ".profiler." in event.name else "",
                confidence=confidence(event.where),
                fix=unsafe(
                    f"Remove the call: {LOST.get(event.name, 'it reports nothing any more')}",
                    statements.without_statement,
                    event.site,
                ),
            )
        for event in left_on(plan, SWITCHES, work):
            yield Report(
                event.site,
                f"`{event.name.rpartition('.')[2]}` is left on",
                confidence=confidence(event.where),
                fix=unsafe(
                    "Remove it: the Python code of a `tf.function` then runs only while the function is traced",
                    statements.without_statement,
                    event.site,
                ),
            )
        settings, fitted = self._settings()
        flags = {place for _, place, eager in settings if eager is False}
        ways = [one for one, _, eager in settings if eager is not True and one.where.path]
        places: dict[int, set[Site]] = defaultdict(set)
        """Where models, by serial number, are created and fitted."""
        for setting, _, _ in settings:
            places[setting.model.serial].add(setting.model.site)
        for fit in self.all(events.ModelFitted):
            places[fit.model.serial].add(fit.site)
        of_model: dict[int, list[int]] = defaultdict(list)
        for index, (one, _, _) in enumerate(settings):
            of_model[one.model.serial].append(index)
        for index, (chosen, place, eager) in enumerate(settings):
            if eager is not True or place in flags or _is_guarded(chosen):
                continue
            own = places[chosen.model.serial]
            is_chosen = any(
                not own.isdisjoint(places[other.model.serial]) and not together(other.where, chosen.where)
                for other in ways
            )
            later = any(
                other > index and together(settings[other][0].where, chosen.where)
                for other in reversed(of_model[chosen.model.serial])
            )
            if later or is_chosen or plan.may_have_missed("run_eagerly", seen=1):
                continue
            if index < fitted.get(chosen.model.serial, 0) and not _has_compiled_step(chosen.model):
                yield Report(
                    place,
                    "the model is trained eagerly",
                    instead="remove `run_eagerly=True`, or set it only when debugging",
                    confidence=confidence(chosen.where),
                    fix=unsafe(
                        "Remove `run_eagerly=True`: the model's Python code then runs only while the model is traced",
                        calls.without_argument,
                        chosen.site,
                        "run_eagerly",
                    )
                    if isinstance(chosen, events.ModelCompiled)
                    else None,
                )


def _is_guarded(event: events.ModelCompiled | events.EagerModeSet) -> bool:
    """Whether a setting is under a condition that may be for debugging only."""
    if isinstance(event, events.EagerModeSet):
        return bool(event.where.context.guards or event.where.path)
    return any(not words(name).isdisjoint(_FINDS_ERRORS) for name in words_of(event.where.path))


def _has_compiled_step(model: values.Model) -> bool:
    """Whether the program decorates `train_step` of the model's class with `@tf.function`. It stays compiled then."""
    step = model.cls.find("train_step") if model.cls is not None else None
    return step is not None and isinstance(step[0], values.Traced)


_FINDS_ERRORS = frozenset({"debug", "debugging", "eager", "eagerly"})
"""Words in conditions for debugging."""


SWITCHES = {**{name: name for name in RUNS_EAGERLY}, "tensorflow.data.experimental.enable_debug_mode": ""}
"""Function that switches eager mode on → function that switches it off (the same with False, or none)."""


_DEBUGGING = "tensorflow.debugging."

AIDS = {
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

STOP = "call `tf.profiler.experimental.stop()` after a few steps"

LOST = {
    _DEBUGGING + "set_log_device_placement": "placements are no longer logged",
    _DEBUGGING + "enable_check_numerics": "NaN and infinity no longer raise an error",
    _DEBUGGING + "experimental.enable_dump_debug_info": "tensors are no longer dumped",
    "tensorflow.profiler.experimental.start": "nothing is profiled any more",
}

WHYS = {
    _DEBUGGING + "set_log_device_placement": "it writes to standard error for every operation, which slows eager code",
    _DEBUGGING + "enable_check_numerics": "the output of every operation is checked, in every step",
    _DEBUGGING + "experimental.enable_dump_debug_info": "every step writes its tensors to files",
    "tensorflow.profiler.experimental.start": "it keeps every event in host memory, until that memory runs out",
}

COSTS = {
    _DEBUGGING + "set_log_device_placement": "up to 1.5× slower",
    _DEBUGGING + "enable_check_numerics": "1.3 to 5× slower",
    _DEBUGGING + "experimental.enable_dump_debug_info": "3 to 6× slower",
    "tensorflow.profiler.experimental.start": "1.3 to 1.6× slower",
}
"""Measured in `benchmarks/experiments/debug_left_on.py`."""
