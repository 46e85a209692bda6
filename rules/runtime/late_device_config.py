"""GPU301."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, unsafe
from gpulint.plugin.fixes import statements
from gpulint.plugin.queries import is_test, known, way, way_to_start
from gpulint.plugin.words import CONFIG_WORDS


class LateDeviceConfig(Rule):
    """Devices configured too late

    ## What it does
    Finds memory growth, logical devices, visible devices and thread counts configured after TensorFlow's runtime is
    initialised.

    ## Why is this bad
    TensorFlow raises RuntimeError. If the usual `except RuntimeError: print(e)` catches it, the setting is ignored:
    TensorFlow reserves the memory of the whole GPU.

    ## Example
    ```python
    import tensorflow as tf

    x = tf.constant(1.0)
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    x = tf.constant(1.0)
    ```

    ## What is not reported
    Configuration before anything is computed, in a function that is called first, guarded re-configuration in tests. A
    setting that is set again to its present value: TensorFlow compares first, and accepts that at any time. Listing
    *physical* devices initialises nothing; listing *logical* ones, any tensor, dataset, optimizer or metric does (run
    on TensorFlow 2.16 and 2.21).

    ## Fix
    Unsafe: moves the statement, and those that it depends on, before the one that initialises the runtime, if both are
    in one function or in the module. The setting then takes effect.

    ## At run time
    The RuntimeError of the call.
    """

    code = "GPU301"
    name = "late-device-config"
    severity = Severity.ERROR
    in_graph_mode = True
    why = "TensorFlow raises RuntimeError; if you catch it, the setting is ignored"
    instead = (
        "move it up, before the call that initialises the runtime; other `tf.config` settings and "
        "`tf.config.list_physical_devices` may come first"
    )
    any_of_names = CONFIG_WORDS

    def __init__(self) -> None:
        self._grows_anyway = False

    def on_environment_set(self, event: events.EnvironmentSet, plan: Plan) -> None:
        self._grows_anyway = self._grows_anyway or event.key == "TF_FORCE_GPU_ALLOW_GROWTH"

    def on_runtime_configured(self, event: events.RuntimeConfigured, plan: Plan) -> Iterator[Report]:
        late = event.state == "yes" or (
            event.state == "maybe" and event.what == "memory_growth" and not self._grows_anyway
        )
        if not late or event.repeats or is_test(event.site.path) or is_test(plan.path) or _changes_nothing(event):
            return
        setting = "thread counts" if event.what == "threading" else event.what.replace("_", " ")
        verb = "are" if setting.endswith("s") else "is"
        message = f"{setting} {verb} configured after TensorFlow's runtime has been initialised"
        if event.state == "maybe":
            message = "memory growth is set after the GPU devices were created"
        yield Report(
            event.site,
            message,
            confidence=confidence(event.where),
            instead=IN_NOTEBOOK if event.site.path.endswith(".ipynb") else AFTER_LOOP if _is_in_loop(event) else "",
            related=((event.since, BEFORE if _is_in_loop(event) else FIRST),) if event.since is not None else (),
            fix=unsafe(
                "Move this call up: TensorFlow then applies the setting",
                statements.moved_up,
                way(event),
                way_to_start(plan, event.since),
            )
            if event.since is not None and not _is_in_loop(event)
            else None,
        )


def _is_in_loop(event: events.RuntimeConfigured) -> bool:
    """Whether an earlier iteration of the loop around the setting initialised the runtime, below the setting."""
    loops, since = event.where.context.loops, event.since
    is_below = since is not None and since.path == event.site.path and since.node > event.site.node
    return is_below and bool(loops) and loops[-1].iteration > 0


FIRST = "this call runs first and initialises the runtime"

BEFORE = "this call initialises the runtime, in the previous iteration"

AFTER_LOOP = "configure the GPUs in a loop of their own first, and initialise the runtime after that loop"

IN_NOTEBOOK = "configure devices in the first cell, before any other TensorFlow call, and restart the kernel"


def _changes_nothing(event: events.RuntimeConfigured) -> bool:
    """Whether the call makes CPUs visible, as they already are. TensorFlow accepts that at any time (2.16, 2.21)."""
    return event.what == "visible_devices" and known(event.arguments.get("device_type", 1)) == "CPU"
