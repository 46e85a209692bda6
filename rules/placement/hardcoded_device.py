"""GPU101."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import (
    Caller,
    DeviceScope,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    Where,
    confidence,
    events,
    possible,
    unsafe,
    values,
)
from gpulint.plugin.facts import DeviceName, parse_device
from gpulint.plugin.fixes import calls, statements
from gpulint.plugin.queries import is_test, known, scopes_that_only_build
from gpulint.plugin.symbols import Path, words, words_of
from gpulint.plugin.words import DEVICE_NAMES, DEVICE_WORDS, STRATEGY_WORDS


class HardcodedDevice(Rule):
    """Hard-coded GPU index

    ## What it does
    Finds `tf.device` with a literal GPU index in code that is not under a `tf.distribute.Strategy`, a
    `MirroredStrategy` with exactly one literal GPU, and a silent fallback to `OneDeviceStrategy` on a literal GPU in an
    `except`.

    ## Why is this bad
    Everything in the block is confined to that one GPU: on a machine with eight, seven idle, and on a machine without
    any the work silently moves to the CPU (soft placement, TensorFlow 2.16 to 2.21). Where the block only builds Keras
    layers or models, their variables are created on that GPU, but the layers compute where the model is called: on the
    first GPU, which copies the weights in every step.

    A strategy with one GPU has one replica, and the overhead of a strategy. The fallback hides that the intended
    strategy could not be created. On a machine with one GPU there is nothing to gain.

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
    program leaves visible, test files, and TF1 graph-mode towers. A strategy whose devices the program computes or
    chooses by a flag or by what the machine has, and functions that also create other strategies, to compare them.

    ## Fix
    Unsafe: removes the `with tf.device`: TensorFlow then places the operations on the first GPU that it sees. Of a
    strategy it removes `devices`: there is then a replica on every visible GPU, and each gets a part of the batch.

    ## At run time
    All operations of these lines run on one GPU while the others idle, or there is one replica.
    """

    code = "GPU101"
    name = "hardcoded-device"
    severity = Severity.WARNING
    any_of_names = DEVICE_WORDS | STRATEGY_WORDS
    source_pattern = DEVICE_NAMES
    why = "all of this work runs on one GPU: if the machine has more, the others sit idle"
    instead = (
        "remove `tf.device`; to use every GPU, create the model inside `with tf.distribute.MirroredStrategy().scope():`"
    )
    yields_to = ("GPU102", "GPU104", "GPU105", "GPU107")

    def __init__(self) -> None:
        self._built: list[events.StrategyBuilt] = []
        self._pinned: list[tuple[Caller, Report]] = []

    def on_strategy_built(self, event: events.StrategyBuilt, plan: Plan) -> Iterator[Report]:
        if event.strategy.is_multi_replica:
            self._built.append(event)
        devices = _literal_gpus(event.strategy.devices, event)
        fell_back = any(literal.condition.operator == "handler" for literal in event.where.path)
        chosen = self._chosen(event.where) if fell_back else event.where.path
        if is_test(event.site.path) or devices is None or len(devices) != 1 or not _only_failed(chosen):
            return
        if event.strategy.kind == "mirrored" and not fell_back:
            report = Report(
                event.site,
                f"the strategy uses only one GPU, `{devices[0]}`",
                why=ONE_REPLICA,
                instead="pass no devices: the strategy then uses every visible GPU",
                confidence=confidence(event.where),
                supersedes=(event.site,),
                fix=unsafe(
                    "Remove the devices: the strategy then uses every visible GPU",
                    calls.without_argument,
                    event.site,
                    "devices",
                ),
            )
            self._pinned.append((event.where.caller, report))
        elif event.strategy.kind in ("one_device", "mirrored") and fell_back:
            yield Report(
                event.site,
                f"the program silently falls back to one GPU, `{devices[0]}`",
                why=ONE_REPLICA,
                instead="use every visible GPU: `tf.distribute.MirroredStrategy()`",
                confidence=confidence(event.where),
            )

    def _chosen(self, where: Where) -> Path:
        """Conditions of a place, without those under which the same function first tried a better strategy."""
        tried = [one.where.path for one in self._built if one.where.caller is where.caller]
        return min((where.path - path for path in tried), key=len, default=where.path)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        yield from self._strategies()
        yield from self._scopes(plan)

    def _strategies(self) -> Iterator[Report]:
        """Strategies with one GPU, except in functions that create several strategies to compare them."""
        for caller, report in self._pinned:
            if not any(one.where.caller is caller and one.site != report.site for one in self._built):
                yield report

    def _scopes(self, plan: Plan) -> Iterator[Report]:
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
                device = event.scope.device
                is_first = device is not None and device.index == 0
                yield Report(
                    event.site,
                    (
                        f"`tf.device` places these layers' weights on `{known(event.argument)}`, not their computation"
                        if builds and not is_first
                        else f"{'layers' if builds else 'operations'} are pinned to `{known(event.argument)}`"
                    ),
                    why="" if not builds else _ON_FIRST if is_first else _ON_ANOTHER,
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


def _literal_gpus(value: values.Value | None, event: events.StrategyBuilt) -> list[str] | None:
    """Literal GPU names in `devices`, None where the program chooses them or one is not a GPU."""
    found: list[str] = []
    for option in possible(value, event.where):
        items = option.items if isinstance(option, values.Items) else (option,)
        for item in items or ():
            text = item.value if isinstance(item, values.Constant) else None
            device = parse_device(text) if isinstance(text, str) else None
            if device is None or not device.is_gpu or (isinstance(item, values.Constant) and item.named):
                return None
            found.append(str(text))
    return found


def _only_failed(path: Path) -> bool:
    """Whether a place is reached by exceptions at most, and under no other condition of the program."""
    return all(literal.condition.operator in ("completes", "handler") for literal in path)


_ON_FIRST = "TensorFlow uses the first GPU anyway: `tf.device` gains nothing, and any other GPUs sit idle"

_ON_ANOTHER = (
    "the layers run where the model is called, by default on GPU 0: their weights are copied there in every step"
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

ONE_REPLICA = "there is one replica: on a machine with several GPUs, the others sit idle"
