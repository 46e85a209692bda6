"""GPU704."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import (
    Draft,
    Edit,
    JustifyingComment,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    unsafe,
)
from gpulint.plugin.fixes import names, statements
from gpulint.plugin.queries import is_run_by_program, trains


class HorovodUnpinned(Rule):
    """Horovod processes that share a GPU

    ## What it does
    Finds `hvd.init()` in a program that never restricts each process to one GPU.

    ## Why is this bad
    Every process sees all GPUs and uses the first: all ranks train on GPU 0, and each reserves memory on all GPUs.

    ## Example
    ```python
    import horovod.tensorflow as hvd
    import tensorflow as tf

    hvd.init()
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam())
    ```

    ## Use instead
    ```python
    import horovod.tensorflow as hvd
    import tensorflow as tf

    hvd.init()
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam())
    ```

    ## What is not reported
    Programs that set visible devices, whose code names `CUDA_VISIBLE_DEVICES`, or that use `visible_device_list`; an
    `init()` beside which a comment says that the variable is set elsewhere (listed as suppressed); functions that the
    program does not call; programs that do not train; tests.

    It is a note, because a launcher may pin the processes from outside.

    ## Fix
    Unsafe: makes the GPU of the local rank the only visible one, right after `hvd.init()`.

    ## At run time
    All ranks on GPU 0.
    """

    code = "GPU704"
    name = "horovod-unpinned"
    severity = Severity.INFO
    is_performance = True
    in_graph_mode = True
    any_of_names = frozenset({"horovod"})
    why = "unless the launcher gives each process a GPU of its own, all use the first one, and the others sit idle"
    instead = (
        "right after `hvd.init()`, add `gpus = tf.config.list_physical_devices('GPU')` and "
        "`tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')`"
    )

    def on_end(self, plan: Plan) -> Iterator[Report]:
        started = [
            event
            for event in self.all(events.LibraryCalled)
            if event.name.startswith("horovod.") and event.name.endswith(".init") and is_run_by_program(event.where)
        ]
        elsewhere = ("CUDA_VISIBLE_DEVICES", "visible_device_list", "gpu_options", "HIP_VISIBLE_DEVICES")
        if not started or plan.may_have_missed("set_visible_devices") or any(plan.mentions(word) for word in elsewhere):
            return
        if any(
            event.what == "visible_devices" and is_run_by_program(event.where)
            for event in self.all(events.RuntimeConfigured)
        ):
            return
        if not trains(plan) and not any(
            plan.mentions(word) for word in ("DistributedGradientTape", "DistributedOptimizer")
        ):
            return
        for event in started:
            yield Report(
                event.site,
                "Horovod processes are not pinned to one GPU each",
                confidence=confidence(event.where),
                unless=JustifyingComment.of_variable(event.site, "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
                fix=None
                if event.where.graph_mode
                else unsafe("Pin each process to the GPU of its local rank", _pinned, event.site),
            )


def _pinned(draft: Draft, site: Site) -> list[Edit]:
    """Make the GPU of the local rank visible right after `hvd.init()`."""
    call = draft.node(site)
    statement = draft.statement(call)
    horovod, _, init = draft.source(call).rpartition(".")
    if not statements.is_whole(draft, call) or not init.startswith("init("):
        raise Refused("the call is not a statement of its own")
    config, edits = names.spelled(draft, "tensorflow.config", statement)
    gpus = names.free(draft, "gpus", "all_gpus", "physical_gpus")
    indent = draft.indent(draft.start(statement))
    step = indent + statements.unit(draft)
    pin = (
        f"{indent}{gpus} = {config}.list_physical_devices({draft.quoted('GPU')})\n{indent}if {gpus}:\n"
        f"{step}{config}.set_visible_devices({gpus}[{horovod}.local_rank()], {draft.quoted('GPU')})\n"
    )
    return [*edits, draft.insert(statements.rows(draft, statement)[1], pin)]
