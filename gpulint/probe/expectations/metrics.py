"""The metrics of `--expect`, each defined once.

Used by the expression parser, by the check that measures them, and by docs/expectations.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gpulint.knowledge.devices import parse_device
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.agent.operation_records import EAGER_COPY
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.evidence import BACKEND, BEFORE, COPIES, EAGER_STEPS, FUNCTIONS, GRAPHS, OPERATIONS, SESSIONS
from gpulint.probe.capture.reader import MEASURED
from gpulint.probe.capture.records import Copy
from gpulint.probe.expectations.expectation import SIMULATED
from gpulint.probe.measures import memory, memory_limits
from gpulint.probe.measures.reasons import PIPELINE, is_bookkeeping, is_bound
from gpulint.probe.measures.work import work

Kind = Literal["share", "bytes", "seconds", "number"]
"""Unit of a metric."""

SHOWN = 3
"""Rows of evidence shown."""


class Measured(NamedTuple):
    """A measured value with its evidence."""

    value: float
    """A share from 0 to 1, bytes, seconds or a number."""
    evidence: tuple[str, ...] = ()


class Unknown(NamedTuple):
    """Why the run has no such value."""

    reason: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. `argument` is the placeholder in its brackets, "" for none; `optional` if it may be omitted."""

    name: str
    kind: Kind
    help: str
    measure: Callable[[Capture, str], Measured | Unknown]
    argument: Literal["", "DEVICE", "FUNCTION"] = ""
    optional: bool = False
    needs: frozenset[str] = frozenset()
    """Evidence without which it is not known."""

    def of(self, capture: Capture, argument: str) -> Measured | Unknown:
        """Value of the metric in a run, or the reason why it is unknown."""
        lost = next((f"{what} ({why})" for what, why in capture.lost if what in self.needs), "")
        return Unknown(f"not seen: {lost}") if lost else self.measure(capture, argument)

    @property
    def form(self) -> str:
        """Syntax of the metric: `memory.peak[DEVICE]`."""
        return f"{self.name}[{self.argument}]" if self.argument else self.name


def is_on(device: str, argument: str) -> bool:
    """Whether a device matches: `GPU` is any GPU, `GPU:1` that one; TensorFlow's other spellings also match."""
    here, there = parse_device(device), parse_device(argument)
    if here is None or there is None:
        return device == argument
    return (
        here.type == there.type
        and (there.index is None or here.index == there.index)
        and (not there.job or here.job == there.job)
        and (there.task is None or here.task == there.task)
    )


def most_frequent(counts: Counter[tuple[str, str]]) -> tuple[str, ...]:
    """The most frequent (what, device) pairs, as evidence."""
    return tuple(f"{count:,} × {what} on {device}" for (what, device), count in counts.most_common(SHOWN))


def _operations(capture: Capture, argument: str) -> Measured | Unknown:
    placed = _placed(capture)
    if isinstance(placed, Unknown):
        return placed
    if capture.loops:
        return Unknown(capture.loops[0].text)
    device = parse_device(argument)
    leaves_bound = device is not None and device.is_gpu
    counted: Counter[tuple[str, str]] = Counter()
    for one, count in placed.items():
        if one.device and not one.is_feed and not is_bookkeeping(one.op) and not (one.is_bound and leaves_bound):
            counted[one.op, one.device] += count
    total = counted.total()
    if not total:
        return Unknown("no op with a choice of device was observed")
    elsewhere = Counter({key: count for key, count in counted.items() if not is_on(key[1], argument)})
    there = total - elsewhere.total()
    return Measured(there / total, (f"{there} of {total} there", *most_frequent(elsewhere)))


class _Put(NamedTuple):
    """Something that ran; `is_bound`: on the host, where it has to be; `is_feed`: a strategy divides its input so."""

    op: str
    device: str
    is_bound: bool
    is_feed: bool = False


def _placed(capture: Capture) -> Counter[_Put] | Unknown:
    """All operations. A function that XLA compiles counts as one. If another function has no graph, the total is
    unknown."""
    counts: Counter[_Put] = Counter()
    for ran, count in capture.executions.items():
        counts[_Put(ran.op, ran.device, is_bound(ran, capture), ran.part == PIPELINE)] += count
    for node, count in capture.nodes.items():
        counts[_Put(node.op, node.assigned, is_bound(node, capture))] += count
    for function in capture.functions.values():
        if function.jit and not function.graph:
            counts[_Put(f"`{function.name}`, compiled by XLA", function.device, False)] += 1
    unseen = [function.name for function in capture.functions.values() if not (function.jit or function.graph)]
    if counts and (sessions := dict(capture.lost).get(SESSIONS)):
        return Unknown(f"not seen: {SESSIONS} ({sessions})")
    return Unknown(_no_graph(unseen)) if unseen else counts or _logged(capture)


def _no_graph(functions: list[str]) -> str:
    return f"no graph was recorded for `{'`, `'.join(sorted(functions)[:SHOWN])}`"


def _logged(capture: Capture) -> Counter[_Put]:
    """Totals of the placement log, as a fallback: of one stream, as most lines are printed on both."""
    streams = [log.placed + log.ran for log in capture.logs.values()]
    most = max(streams, key=lambda one: one.total(), default=Counter())
    return Counter({_Put(op, device, False): count for (op, device), count in most.items()})


def _variables(capture: Capture, argument: str) -> Measured | Unknown:
    sizes: Counter[tuple[str, str]] = Counter()
    for one in capture.variables:
        sizes[one.name, one.device] += one.bytes
    if not sizes.total():
        return Unknown("no variable was seen")
    elsewhere = Counter({key: size for key, size in sizes.items() if not is_on(key[1], argument)})
    evidence = tuple(f"{name} ({size:,} bytes) on {device}" for (name, device), size in elsewhere.most_common(SHOWN))
    return Measured(1 - elsewhere.total() / sizes.total(), evidence)


def _peak(capture: Capture, argument: str) -> Measured | Unknown:
    peaks: dict[str, int] = {}
    for sample in capture.memory:
        for device, sizes in sample.devices.items():
            if not argument or is_on(device, argument):
                peaks[device] = max(peaks.get(device, 0), *sizes)
    if not peaks:
        return Unknown(f"memory is unknown for {argument}" if argument else "the memory of no device is known")
    if not any(peaks.values()):
        return Unknown("nothing was counted: oneDNN's allocator does not count tensors below 256 KiB")
    return Measured(max(peaks.values()), tuple(f"{device}: {size:,} bytes" for device, size in sorted(peaks.items())))


def _host(capture: Capture, _: str) -> Measured | Unknown:
    sizes = [size for _, size in capture.resident]
    return Measured(max(sizes)) if sizes else Unknown("the program's memory was not sampled")


def _utilisation(capture: Capture, argument: str) -> Measured | Unknown:
    messages = (message for log in capture.logs.values() for message in log.messages)
    known = {
        device: memory.utilisation(capture.memory, memory.cards_on(place.bus, capture.cards))
        for device, place in memory_limits.places(messages).items()
        if is_on(device, argument)
    }
    shares = {device: share for device, share in known.items() if share is not None}
    if not shares or len(shares) < len(known):
        return Unknown(f"{memory.UTILISATION_NEEDED} samples of the card during the steps are needed")
    return Measured(min(shares.values()), tuple(f"{device}: {share:.0%}" for device, share in shares.items()))


def _traces(capture: Capture, argument: str) -> Measured | Unknown:
    found = [one for one in capture.functions.values() if not argument or one.name == argument]
    if not capture.functions:
        return Unknown("no `tf.function` was run")
    if not found:
        return Unknown(
            f"`{argument}` was not run; these were: `{'`, `'.join(one.name for one in capture.functions.values())}`"
        )
    most = sorted(found, key=lambda one: -one.traces)
    return Measured(most[0].traces, tuple(f"`{one.name}`: {one.traces}" for one in most[:SHOWN]))


def _copies(capture: Capture, _: str) -> Measured | Unknown:
    unseen = [function.name for function in capture.functions.values() if not function.graph]
    if unseen:
        return Unknown(_no_graph(unseen))
    if not capture.functions:
        return Unknown("no `tf.function` was run")
    if capture.loops:
        return Unknown(capture.loops[0].text)
    pairs = _pairs(capture, lambda copy: copy.op != EAGER_COPY)
    return Measured(pairs.total(), _routes(pairs))


def _copies_per_step(capture: Capture, _: str) -> Measured | Unknown:
    """A graph belongs to one trace, and a step runs one of them."""
    names = {name for name, _ in capture.steps}
    if (loop := _looping(capture)) is not None:
        return loop
    if EAGER_STEP in names:
        return Unknown("copies cannot be attributed to steps that run eagerly")
    functions = [one for one in capture.functions.values() if one.name in names]
    if not functions:
        return Unknown("no training step was seen")
    if unseen := [one.name for one in functions if not one.graph]:
        return Unknown(_no_graph(unseen))
    pairs = _pairs(capture, lambda copy: copy.in_step)
    return Measured(pairs.total() / sum(one.traces for one in functions), _routes(pairs))


def _pairs(capture: Capture, is_meant: Callable[[Copy], bool]) -> Counter[tuple[str, str]]:
    """(from, to) → number of copies."""
    pairs: Counter[tuple[str, str]] = Counter()
    for copy, count in capture.copies.items():
        if is_meant(copy):
            pairs[copy.source, copy.target] += count
    return pairs


def _routes(pairs: Counter[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{count} from {source} to {target}" for (source, target), count in pairs.most_common(SHOWN))


def _eager(capture: Capture, _: str) -> Measured | Unknown:
    if not capture.tensorflow:
        return Unknown("TensorFlow was not seen")
    ran = Counter[str]()
    for (_phase, op), count in capture.eager.items():
        if not is_bookkeeping(op):
            ran[op] += count
    return Measured(ran.total(), _often(ran))


def _eager_per_step(capture: Capture, _: str) -> Measured | Unknown:
    if (loop := _looping(capture)) is not None:
        return loop
    taken = capture.taken[MEASURED]
    if not taken:
        return Unknown("no training step was seen after the warm-up")
    ran = Counter[str]()
    for (phase, op), count in capture.eager.items():
        if phase == MEASURED and not is_bookkeeping(op):
            ran[op] += count
    return Measured(ran.total() / taken, _often(ran))


def _often(ran: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{count:,} × {op}" for op, count in ran.most_common(SHOWN))


def _replicas(capture: Capture, _: str) -> Measured | Unknown:
    if not capture.tensorflow:
        return Unknown("TensorFlow was not seen")
    if not capture.strategies and _began_late(capture):
        return Unknown("strategies created before watching began are unknown")
    if not capture.strategies:
        return Measured(1, ("no strategy was created",))
    most = max(capture.strategies, key=lambda one: one.replicas)
    return Measured(most.replicas, (f"{most.cls} on {', '.join(most.devices)}",))


def _steps(capture: Capture, _: str) -> Measured | Unknown:
    if not capture.tensorflow:
        return Unknown("TensorFlow was not seen")
    if _began_late(capture) and not all(function.graph for function in capture.functions.values()):
        return Unknown("a function traced before watching began may be a training step")
    return _looping(capture) or Measured(capture.taken.total())


def _looping(capture: Capture) -> Unknown | None:
    """Steps that a loop inside a function takes are not counted."""
    names = {name for name, _ in capture.steps}
    return next((Unknown(one.text) for one in capture.loops if one.function in names), None)


def _began_late(capture: Capture) -> bool:
    return any(evidence == BEFORE for evidence, _ in capture.lost)


def _step_mean(capture: Capture, _: str) -> Measured | Unknown:
    if capture.simulated:
        return Unknown(SIMULATED)
    if (loop := _looping(capture)) is not None:
        return loop
    taken = sum(one.taken for one in capture.steps.values())
    if taken < 2:
        return Unknown("fewer than two training steps were seen")
    return Measured(sum(one.seconds for one in capture.steps.values()) / taken)


def _seconds(capture: Capture, _: str) -> Measured | Unknown:
    return Measured(capture.seconds) if "seconds" in capture.end else Unknown("its end was not recorded")


def _devices(kind: str) -> Callable[[Capture, str], Measured | Unknown]:
    def count(capture: Capture, _: str) -> Measured | Unknown:
        if not capture.logical:
            return Unknown("TensorFlow's devices were not seen")
        return Measured(sum(is_on(device, kind) for device in capture.logical), (", ".join(capture.logical),))

    return count


def _idle(capture: Capture, _: str) -> Measured | Unknown:
    if not capture.logical:
        return Unknown("TensorFlow's devices were not seen")
    gpus = [device for device in capture.logical if is_on(device, "GPU")]
    if not gpus:
        return Unknown("TensorFlow has no GPU")
    done = work(capture)
    idle = [device for device in gpus if not done.by_device[device]]
    if idle and done.unseen:
        return Unknown(_no_graph(list(done.unseen)))
    if not done.steps and not done.by_device:
        return Unknown("no training step was seen")
    return Measured(len(idle), (", ".join(idle),) if idle else ())


def _of(
    kind: str, measure: Callable[[Capture, str], Measured | Unknown]
) -> Callable[[Capture, str], Measured | Unknown]:
    return lambda capture, _: measure(capture, kind)


_OPS = frozenset({OPERATIONS, SESSIONS, BACKEND})
_TRACED = _OPS | {FUNCTIONS}
_PLACED = (_TRACED | {GRAPHS}) - {SESSIONS}  # TensorFlow's log has the operations of sessions
_COPIED = _TRACED | {GRAPHS, COPIES}
_STEPPED = _TRACED | {EAGER_STEPS}
_PLACED_IN_STEPS = _PLACED | _STEPPED

METRICS = (
    Metric("ops.on", "share", "Share of operations with a choice of device.", _operations, "DEVICE", needs=_PLACED),
    Metric("ops.on_gpu", "share", "The same as `ops.on[GPU]`.", _of("GPU", _operations), needs=_PLACED),
    Metric("ops.on_cpu", "share", "The same as `ops.on[CPU]`.", _of("CPU", _operations), needs=_PLACED),
    Metric("variables.on", "share", "Share of the bytes of variables.", _variables, "DEVICE", needs=_OPS),
    Metric("variables.on_gpu", "share", "The same as `variables.on[GPU]`.", _of("GPU", _variables), needs=_OPS),
    Metric("variables.on_cpu", "share", "The same as `variables.on[CPU]`.", _of("CPU", _variables), needs=_OPS),
    Metric("memory.peak", "bytes", "Peak memory of TensorFlow on a device.", _peak, "DEVICE", optional=True),
    Metric("memory.host.peak", "bytes", "Peak memory of the program and its children.", _host),
    Metric("utilisation", "share", "Mean utilisation of the card during the steps.", _utilisation, "DEVICE"),
    Metric("traces", "number", "How often a `tf.function` was traced.", _traces, "FUNCTION", needs=_TRACED),
    Metric("traces.max", "number", "How often the function that was traced most was traced.",
           _of("", _traces), needs=_TRACED),
    Metric("copies.in_graphs", "number", "Transfers between devices in the graphs that were run.",
           _copies, needs=_COPIED),
    Metric("copies.per_step", "number", "Mean number of these transfers in a training step.",
           _copies_per_step, needs=_COPIED),
    Metric("eager_ops", "number", "Operations that ran eagerly, without bookkeeping.", _eager, needs=_OPS),
    Metric("eager_ops.per_step", "number", "The same for each training step after the warm-up.",
           _eager_per_step, needs=_STEPPED),
    Metric("replicas", "number", "Replicas of the largest strategy; 1 without one.", _replicas),
    Metric("steps", "number", "Training steps, including those of the warm-up.", _steps, needs=_STEPPED),
    Metric("step.mean", "seconds", "Mean time from one training step to the next.", _step_mean, needs=_STEPPED),
    Metric("seconds", "seconds", "How long the program ran.", _seconds),
    Metric("devices.gpu", "number", "GPUs that TensorFlow has.", _devices("GPU")),
    Metric("devices.cpu", "number", "CPUs that TensorFlow has: logical ones count.", _devices("CPU")),
    Metric("devices.gpu.idle", "number", "GPUs that did nothing in training steps.",
           _idle, needs=_PLACED_IN_STEPS),
)  # fmt: skip

BY_NAME = {metric.name: metric for metric in METRICS}
