"""GPU101."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import (
    DEVICE_NAMES,
    DEVICE_WORDS,
    DeviceName,
    DeviceScope,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    is_test,
    statements,
    unsafe,
    values,
    words,
    words_of,
)


class HardcodedDevice(Rule):
    """Hard-coded GPU index

    ## What it does
    Finds `tf.device` with a literal GPU index in code that no `tf.distribute.Strategy` governs.

    ## Why is this bad
    Everything in the block is confined to that one GPU, whatever the machine has: seven of eight GPUs idle, and on
    a machine with none the work silently moves to the CPU (soft placement, TensorFlow 2.16 to 2.21).

    ## Example
    ```python
    import tensorflow as tf

    with tf.device("/gpu:0"):
        a = tf.random.normal((4096, 4096))
        b = tf.matmul(a, a)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    a = tf.random.normal((4096, 4096))
    b = tf.matmul(a, a)
    ```
    TensorFlow places operations on the first GPU by itself; for several GPUs, make the model in
    `strategy.scope()`.

    ## What is not reported
    CPU devices, `None`, a device chosen by a loop (however its name is written, and wherever it is kept), a flag, the
    environment, a local rank or a check of what the machine has (a `try` that catches the RuntimeError and goes on,
    too), parameters that callers give, a scope inside another one of the same device, the only GPU that the program
    leaves itself, test files, and TF1 graph-mode towers.

    ## Fix
    Unsafe: takes the `with tf.device` away. TensorFlow then places the operations, on the first GPU that it sees.

    ## At run time
    All operations of these lines run on one GPU while the others idle.
    """

    code = "GPU101"
    name = "hardcoded-device"
    severity = Severity.WARNING
    speaks_of = DEVICE_WORDS
    itself = DEVICE_NAMES
    why = "the work is confined to this one GPU, whatever the machine has"
    instead = "leave the placement to TensorFlow, or make the model in `strategy.scope()` to use every GPU"
    yields_to = ("GPU102", "GPU104", "GPU105", "GPU107", "GPU211")

    def __init__(self) -> None:
        self._of_pipelines: set[Site] = set()
        self._reports: list[Report] = []
        self._only_gpu: set[Site] = set()
        self._devices: dict[Site, set[DeviceName | None]] = {}
        self._done_in: dict[DeviceScope, set[str]] = {}
        """The operations that are called in each scope."""
        self._trains = False

    def on_op_called(self, event: events.OpCalled, plan: Plan) -> None:
        if (scope := event.where.context.device) is not None:
            self._done_in.setdefault(scope, set()).add(event.name)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> None:
        self._trains = True

    def on_device_named(self, event: events.DeviceNamed, plan: Plan) -> None:
        if event.gpus == 1:
            self._only_gpu.add(event.call)

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> None:
        self._trains = True

    def on_device_entered(self, event: events.DeviceEntered, plan: Plan) -> None:
        device = event.scope.device
        self._devices.setdefault(event.site, set()).add(device)
        if device is None or not device.is_gpu or device.index is None or event.scope.chosen:
            return
        if event.where.context.mapped is not None:  # there nothing else puts an operation on a GPU
            self._of_pipelines.add(event.site)
        if (
            is_test(event.site.path)
            or not plan.referenced.isdisjoint(PER_PROCESS)
            or event.where.context.strategy is not None
            or any(words(name) & _OF_DEVICES for name in words_of(event.where.path | plan.demanded))
            or event.where.context.catches({"RuntimeError"})
        ):
            return
        around = event.where.context.devices[:-1]
        if isinstance(event.argument, values.Constant) and not (around and around[-1].device == device):
            self._reports.append(
                Report(
                    event.site,
                    f"operations are pinned to `{event.argument.value}`",
                    confidence=confidence(event.where),
                    fix=unsafe(
                        "Take the block out of `tf.device`: TensorFlow places its operations",
                        statements.without_manager,
                        event.site,
                    ),
                )
            )

    def on_end(self, plan: Plan) -> Iterator[Report]:
        silent = self._of_pipelines | self._only_gpu | self._compared()
        return (
            report for report in self._reports if report.site not in silent and len(self._devices[report.site]) == 1
        )

    def _compared(self) -> set[Site]:
        """Where a program that trains nothing does what it does on a CPU, too: it measures the two."""
        on_cpu: set[str] = set()
        for scope, names in self._done_in.items():
            if scope.device is not None and scope.device.is_cpu:
                on_cpu |= names
        return {scope.site for scope, names in self._done_in.items() if names <= on_cpu and not self._trains}


_OF_DEVICES = frozenset({"devices", "gpu", "gpus", "placement", "cuda"})
"""Words in the conditions of who looks for the device, or asks the user for it."""

PER_PROCESS = frozenset({"hvd", "horovod", "local_rank", "LOCAL_RANK", "dali", "dali_tf", "DALIDataset"})
"""Names that say each process has one GPU of its own, which is number 0 to it: Horovod, launchers, NVIDIA DALI
(whose TensorFlow dataset has to stand in the scope of the process's GPU)."""
