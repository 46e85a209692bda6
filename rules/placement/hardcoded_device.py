"""GPU101."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import DeviceScope, Plan, Report, Rule, Severity, Site, confidence, events, unsafe, values
from gpulint.plugin.facts import DeviceName
from gpulint.plugin.fixes import statements
from gpulint.plugin.queries import is_test, known, scopes_that_only_build
from gpulint.plugin.symbols import words, words_of
from gpulint.plugin.words import DEVICE_NAMES, DEVICE_WORDS


class HardcodedDevice(Rule):
    """Hard-coded GPU index

    ## What it does
    Finds `tf.device` with a literal GPU index in code that is not under a `tf.distribute.Strategy`.

    ## Why is this bad
    Everything in the block is confined to that one GPU: on a machine with eight, seven idle, and on a machine without
    any the work silently moves to the CPU (soft placement, TensorFlow 2.16 to 2.21). Where the block only builds Keras
    layers or models, their variables are created on that GPU, but the layers compute where the model is called: on the
    first GPU, which copies the weights in every step.

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
    TensorFlow places operations on the first GPU by itself. For several GPUs, create the model in `strategy.scope()`.

    ## What is not reported
    CPU devices, `None`, a device chosen by a loop (however its name is written and wherever it is kept), a flag, the
    environment, a local rank or a check of what the machine has (also a `try` that catches the RuntimeError and
    continues), parameters that callers pass, a scope inside another one of the same device, the only GPU that the
    program leaves visible, test files, and TF1 graph-mode towers.

    ## Fix
    Unsafe: removes the `with tf.device`. TensorFlow then places the operations on the first GPU that it sees.

    ## At run time
    All operations of these lines run on one GPU while the others idle.
    """

    code = "GPU101"
    name = "hardcoded-device"
    severity = Severity.WARNING
    any_of_names = DEVICE_WORDS
    source_pattern = DEVICE_NAMES
    why = "all of this work runs on one GPU, even if the machine has more"
    instead = "let TensorFlow choose the device, or create the model in `strategy.scope()` to use every GPU"
    yields_to = ("GPU102", "GPU104", "GPU105", "GPU107", "GPU211")

    def on_end(self, plan: Plan) -> Iterator[Report]:
        entered = [*self.all(events.DeviceEntered)]
        pinned = [event for event in entered if _is_pinned(event, plan)]
        if not pinned:
            return
        devices: dict[Site, set[DeviceName | None]] = defaultdict(set)
        for event in entered:
            devices[event.site].add(event.scope.device)
        silent = {event.site for event in entered if _names_gpu(event) and event.where.context.mapped is not None}
        silent |= {event.call for event in self.all(events.DeviceNamed) if event.gpus == 1}
        silent |= self._compared()
        building = scopes_that_only_build(plan)
        for event in pinned:
            if event.site not in silent and len(devices[event.site]) == 1:
                builds = event.site in building
                yield Report(
                    event.site,
                    f"{'variables of layers' if builds else 'operations'} are pinned to `{known(event.argument)}`",
                    why=_WHY_OF_LAYERS if builds else "",
                    confidence=confidence(event.where),
                    fix=unsafe(
                        "Remove `tf.device`: TensorFlow chooses the device",
                        statements.without_manager,
                        event.site,
                    ),
                )

    def _compared(self) -> set[Site]:
        """Scopes of a program that runs the same operations on a CPU and trains nothing: a benchmark of the two."""
        if any(self.all(events.GradientsApplied, events.ModelFitted)):
            return set()
        done_in: dict[DeviceScope, set[str]] = defaultdict(set)
        for event in self.all(events.OpCalled):
            if (scope := event.where.context.device) is not None:
                done_in[scope].add(event.name)
        on_cpu: set[str] = set()
        for scope, names in done_in.items():
            if scope.device is not None and scope.device.is_cpu:
                on_cpu |= names
        return {scope.site for scope, names in done_in.items() if names <= on_cpu}


_WHY_OF_LAYERS = (
    "the scope does not place their operations: they run where the model is called, by default on the first GPU"
)


def _names_gpu(event: events.DeviceEntered) -> bool:
    """Whether the program names one GPU by a number that is not chosen at run time."""
    device = event.scope.device
    return device is not None and device.is_gpu and device.index is not None and not event.scope.chosen


def _is_pinned(event: events.DeviceEntered, plan: Plan) -> bool:
    if not _names_gpu(event):
        return False
    if (
        is_test(event.site.path)
        or not plan.referenced.isdisjoint(PER_PROCESS)
        or event.where.context.strategy is not None
        or any(words(name) & _OF_DEVICES for name in words_of(event.where.path | plan.required))
        or event.where.context.catches({"RuntimeError"})
    ):
        return False
    around = event.where.context.devices[:-1]
    return isinstance(event.argument, values.Constant) and not (around and around[-1].device == event.scope.device)


_OF_DEVICES = frozenset({"devices", "gpu", "gpus", "placement", "cuda"})
"""Words in conditions of code that looks for the device, or asks the user for it."""

PER_PROCESS = frozenset({"hvd", "horovod", "local_rank", "LOCAL_RANK", "dali", "dali_tf", "DALIDataset"})
"""Names that say that each process has one GPU of its own, numbered 0: Horovod, launchers, NVIDIA DALI.

A TensorFlow dataset of DALI has to be created in the scope of the process's GPU.
"""
