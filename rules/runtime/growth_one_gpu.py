"""GPU303."""

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
    together,
    unsafe,
    values,
)
from gpulint.plugin.fixes import calls, names, statements
from gpulint.plugin.queries import is_run_by_program
from gpulint.plugin.symbols import Condition, compatible, length_of, literal_of
from gpulint.plugin.words import CONFIG_WORDS


class GrowthOneGpu(Rule):
    """Memory growth on one of several GPUs

    ## What it does
    Finds memory growth set for one GPU, by a constant index or a slice (`gpus[:1]`), with no loop over all of them.

    ## Why is this bad
    As soon as two GPUs are visible TensorFlow raises "Memory growth cannot differ between GPU devices". With one GPU
    the line works: the finding is an error only in programs that name a second GPU, or have a strategy for several.

    ## Example
    ```python
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        tf.config.experimental.set_memory_growth(gpus[0], True)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    ```

    ## What is not reported
    Loops over all GPUs; programs that make only one GPU visible; `len(gpus) == 1`; growth set for several indices
    (functions that the program never calls do not count); GPUs split into logical devices (TensorFlow reads growth only
    where there are none, see GPU306); sessions with a `ConfigProto`, which replaces it; programs that the analysis did
    not complete and whose text contains more such calls than it reached.

    ## Fix
    Unsafe: puts the call into a loop over the list that the GPU was taken from. Memory then grows on all of them.

    ## At run time
    The error, or growth per GPU.
    """

    code = "GPU303"
    name = "growth-one-gpu"
    severity = Severity.ERROR
    why = "with two or more visible GPUs, TensorFlow raises ValueError: memory growth must be the same for all of them"
    instead = "set it for every GPU in a loop over `tf.config.list_physical_devices('GPU')`"
    any_of_names = CONFIG_WORDS
    in_graph_mode = True
    yields_to = ("GPU301",)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        growth = [
            (event, event.device)
            for event in self.all(events.RuntimeConfigured)
            if isinstance(event.device, values.ListedDevice) and _grows(event) and event.device.list.type in ("GPU", "")
        ]
        severity = None if self._has_several_gpus() else Severity.WARNING
        moot = [event for event in self.all(events.RuntimeConfigured, events.EnvironmentSet) if _makes_moot(event)]
        for event, device in growth:
            index = _index(device)
            if event.where.graph_mode and plan.mentions("ConfigProto"):
                continue
            others = growth
            if is_run_by_program(event.where):
                others = [one for one in others if is_run_by_program(one[0].where)]
            if index is None or any(
                _index(other) != index and together(event.where, one.where) for one, other in others
            ):
                continue
            several = frozenset({literal_of(Condition(">", length_of(device.list.symbol), 1), True)})
            is_part = device.index is not None and device.list.part is not None
            alone = is_part or not compatible(event.where.path, several)
            hidden = plan.may_have_missed("set_memory_growth", seen=1) or plan.may_have_missed(*_MOOT)
            if not alone and not hidden and not any(together(event.where, other.where) for other in moot):
                call = event.where.caller.site if device.index is None else None
                yield Report(
                    call or event.site,
                    f"memory growth is set for GPU {index} only",
                    confidence=confidence(event.where),
                    severity=severity,
                    fix=unsafe("Set it for all GPUs in a loop", _for_all, event.site) if call is None else None,
                    happens_at=event.site,
                )

    def _has_several_gpus(self) -> bool:
        """Whether the program says that it runs on several GPUs."""
        named = [event.device for event in self.all(events.DeviceNamed) if event.device is not None]
        return (
            any(event.strategy.is_multi_replica for event in self.all(events.StrategyBuilt))
            or any(device.is_gpu and (device.index or 0) > 0 for device in named)
            or any(_shows_several(event) for event in self.all(events.EnvironmentSet))
        )


def _index(device: values.ListedDevice) -> int | None:
    """Index of a GPU: also of the only one in `gpus[:1]`, None for each of several."""
    if device.index is None and device.list.part in ((None, 1), (0, 1)):
        return 0
    return device.index


def _grows(event: events.RuntimeConfigured) -> bool:
    enabled = event.arguments.get("enable", 1)
    return event.what == "memory_growth" and isinstance(enabled, values.Constant) and enabled.value is True


def _makes_moot(event: events.RuntimeConfigured | events.EnvironmentSet) -> bool:
    """Whether a setting leaves one GPU, or creates logical devices, which have memory limits of their own."""
    if isinstance(event, events.RuntimeConfigured):
        return event.what in ("visible_devices", "logical_devices")
    has_effect = event.state not in ("driver", "yes") or event.repeats
    return event.key == "CUDA_VISIBLE_DEVICES" and has_effect and not _shows_several(event)


def _shows_several(event: events.EnvironmentSet) -> bool:
    """Whether a setting of CUDA_VISIBLE_DEVICES names several GPUs."""
    mask = event.value.value if isinstance(event.value, values.Constant) else None
    return event.key == "CUDA_VISIBLE_DEVICES" and isinstance(mask, str) and "," in mask


_MOOT = ("set_visible_devices", "logical_device_configuration")
"""Names of functions that leave one GPU, or create logical devices."""


def _for_all(draft: Draft, site: Site) -> list[Edit]:
    """Put `set_memory_growth(gpus[0], True)` in a loop over `gpus`."""
    call = calls.call_around(draft, site)
    given = calls.argument(call, "device", 0)
    statement = draft.statement(call)
    if given is None or not statements.is_whole(draft, call):
        raise Refused("the call is not a statement of its own")
    gpus = calls.container(draft, given.value)
    name = names.free(draft, "gpu", "device", "each_gpu")
    start, end = draft.extent(given.value)
    return [*statements.wrapped(draft, statement, f"for {name} in {gpus}:"), draft.replace(start, end, name)]
