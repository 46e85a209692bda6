"""GPU302."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, unsafe
from gpulint.plugin.fixes import statements
from gpulint.plugin.queries import way, way_to_start

READ_BY_DRIVER = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
READ_WITH_DEVICES = frozenset(
    {
        "TF_FORCE_GPU_ALLOW_GROWTH",
        "TF_GPU_ALLOCATOR",
        "TF_GPU_THREAD_MODE",
        "TF_GPU_THREAD_COUNT",
        "TF_FORCE_UNIFIED_MEMORY",
        "TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC",
    }
)


READ_AT_CREATION = "TensorFlow reads the variable once, when it creates the GPU devices: setting it later has no effect"


class LateVisibleDevices(Rule):
    """GPU environment variable set too late

    ## What it does
    Finds `CUDA_VISIBLE_DEVICES` set after TensorFlow has queried the driver for devices, and
    `TF_FORCE_GPU_ALLOW_GROWTH`, `TF_GPU_ALLOCATOR` and similar variables set after the GPU devices were created.

    ## Why is this bad
    The variable is read once. Set later it has no effect, and the program runs on GPUs that it meant to leave alone.

    ## Example
    ```python
    import os
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    ```

    ## Use instead
    ```python
    import os
    import tensorflow as tf

    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    gpus = tf.config.list_physical_devices("GPU")
    ```

    ## What is not reported
    Variables set after `import tensorflow` but before any device query: the driver reads them when it starts. Variables
    that an imported script sets for its own runs, if the program has set them in time.

    ## Fix
    Unsafe: moves the statement before the first device query, if both are in one function or in the module. The program
    then sees other GPUs than before.

    ## At run time
    The environment compared with the devices that are visible.
    """

    code = "GPU302"
    name = "late-visible-devices"
    severity = Severity.WARNING
    in_graph_mode = True
    is_performance = True
    why = "TensorFlow reads the variable once, when it first looks for GPUs: setting it later has no effect"
    instead = "set it before the first TensorFlow call"
    any_of_names = READ_BY_DRIVER | READ_WITH_DEVICES

    def __init__(self) -> None:
        self._chosen: set[str | None] = set()
        """Variables that the program itself sets in time."""

    def on_environment_set(self, event: events.EnvironmentSet, plan: Plan) -> Iterator[Report]:
        too_late = READ_BY_DRIVER if event.state == "driver" else READ_BY_DRIVER | READ_WITH_DEVICES
        is_late = event.state in ("driver", "maybe", "yes") and event.key in too_late
        if not is_late and event.site.path == plan.path:
            self._chosen.add(event.key)
        if is_late and not event.repeats and not (event.site.path != plan.path and event.key in self._chosen):
            yield Report(
                event.site,
                f"`{event.key}` is set after TensorFlow has read it",
                why=READ_AT_CREATION if event.key in READ_WITH_DEVICES else "",
                instead=_instead(event),
                confidence=confidence(event.where),
                related=((event.since, _CREATES if event.key in READ_WITH_DEVICES else _LOOKS),)
                if event.since is not None
                else (),
                fix=unsafe(
                    "Move this line up: TensorFlow then reads the new value",
                    statements.moved_up,
                    way(event),
                    way_to_start(plan, event.since),
                )
                if event.since is not None
                else None,
            )


def _instead(event: events.EnvironmentSet) -> str:
    """How to set a variable in time. As long as TensorFlow has only listed the GPUs, it can still hide some itself."""
    if event.since is not None and event.since.path.endswith(".ipynb"):
        return "set it in the first cell, before any TensorFlow call, and restart the kernel"
    hides = event.state == "driver" and event.key == "CUDA_VISIBLE_DEVICES"
    return "set it before the first TensorFlow call, or use `tf.config.set_visible_devices`" if hides else ""


_LOOKS = "TensorFlow looks for GPUs here"

_CREATES = "TensorFlow creates the GPU devices here"
