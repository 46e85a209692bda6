"""Memory: growth, imbalance, headroom, and other programs on the card."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.measures import holders, leaks, memory, memory_limits, out_of_memory
from gpulint.probe.measures.reasons import is_heavy
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.work import work

_LEAK, _HOST, _BALANCE, _HEADROOM = "mem-leak", "host-growth", "mem-balance", "mem-headroom"
_IDLE, _TAKEN, _FOREIGN = "gpu-idle-held", "mem-preallocated", "mem-foreign"
_OUT = "out-of-memory"

COMPUTED = 10
"""Products, convolutions and calls of functions from which a run without steps does more than to build a model."""

SHOWN = 3
"""Lines named as evidence."""


def check(run: Run) -> Iterator[Expectation]:
    """Every memory detector that applies."""
    capture = run.capture
    places = memory_limits.places(message for log in capture.logs.values() for message in log.messages)
    limits = {device: place.limit for device, place in places.items() if place.limit}
    yield from _out_of_memory(capture)
    yield from _growths(run, limits)
    yield from _balances(run)
    operations = capture.operations
    for device, place in places.items():
        cards = memory.cards_on(place.bus, capture.cards)
        if (
            room := memory.headroom(device, capture.memory, place.limit, cards, run.settings.probe.headroom)
        ) is not None:
            yield _of_headroom(room)
        if (idle := memory.held(device, operations, capture.memory, cards)) is not None:
            yield _of_held(idle)
        if (taken := memory.preallocation(device, capture.memory, cards)) is not None:
            yield _of_preallocation(taken)
    yield from _foreign(capture)


def _growths(run: Run, limits: dict[str, int]) -> Iterator[Expectation]:
    capture, share = run.capture, run.settings.probe.leak
    steps = sum(one.taken for one in capture.steps.values())
    machine = capture.start.get("memory", {})
    cpus = [device for device in capture.logical if device.startswith("CPU:")]
    if machine.get("CPU"):
        limits = {**limits, **dict.fromkeys(cpus, machine["CPU"])}
    since = leaks.steps_began(capture.memory)
    if since is None:
        yield from _growths_without_steps(capture, limits, cpus, share)
        return
    # Logical CPUs share one allocator and its numbers.
    growths = [one for one in leaks.leaks(capture.memory, limits, steps, share) if one.subject not in cpus[1:]]
    done = work(capture)
    for growth in growths:
        is_unused = done.steps and not done.unseen and not done.by_device[growth.subject]
        if growth.verdict == "pass" and growth.subject not in cpus and is_unused:
            reason = "no training step used it"
            yield undecided(_LEAK, Status.SKIP, f"memory of {growth.subject} over the steps", "does not grow", reason)
        elif capture.simulated and growth.subject in cpus:
            continue  # its allocator also holds the tensors of the simulated GPUs
        elif growth.verdict != "inconclusive" or (growth.samples and growth.subject not in cpus):
            yield _of_growth(growth, capture)
    if any(one.verdict in ("fail", "warn") and one.subject in cpus for one in growths):
        return  # memory kept by the CPU's allocator is host memory
    host = leaks.host_growth(capture.resident, machine.get("host"), since, steps, share)
    if host.verdict != "inconclusive" and host.limit is not None:  # short runs need not report on the host
        yield _of_host(host)


def _growths_without_steps(
    capture: Capture, limits: dict[str, int], cpus: list[str], share: float
) -> Iterator[Expectation]:
    """Memory that rises from the start of the runtime to the end, in a run that computes and does not train. A model
    that is built raises it, too, so that what holds it has to be created repeatedly, and this only warns."""
    computed = sum(count for ran, count in capture.executions.items() if is_heavy(ran.op))
    if computed + sum(one.runs for one in capture.functions.values()) < COMPUTED:
        return
    phases = frozenset(one.phase for one in capture.memory)
    for growth in leaks.leaks(capture.memory, limits, share=share, phases=phases):
        if growth.to_the_end and growth.subject not in (cpus if capture.simulated else cpus[1:]):
            held = next((one for one in holders.held(capture) if one.device == growth.subject), None)
            named = [one for one in held.holders if one.group != "other"] if held is not None else []
            if not named or not _is_repeated(named[0], capture):
                continue
            yield violated(
                _LEAK,
                f"memory of {growth.subject} over the run",
                "does not grow",
                _grown(growth),
                where=named[0].where,
                evidence=tuple(f"{_place(one.where)} holds {in_words(one.bytes)}: {one.group}" for one in named)[
                    :SHOWN
                ],
                fix="release what each iteration creates: models, results and tensors that a list keeps",
                level=Level.WARN,
            )


def _is_repeated(holder: holders.Holder, capture: Capture) -> bool:
    here = [one for one in capture.variables if one.where == holder.where and one.device == holder.device]
    return holder.group not in ("weights", "slots") or leaks.is_created_repeatedly(here)


def _place(where: Where | None) -> str:
    return where.in_short if where is not None else "library code"


def _of_growth(growth: leaks.Growth, capture: Capture) -> Expectation:
    subject, expected, observed = f"memory of {growth.subject} over the steps", "does not grow", _grown(growth)
    if growth.verdict in ("fail", "warn"):
        level = Level.ERROR if growth.verdict == "fail" else Level.WARN
        fix = "keep no tensor of a step longer than the step"
        kept = leaks.explained(growth, capture.kept)
        where = kept[0].where if kept else None
        evidence = tuple(f"{_place(one.where)} outlives its step: {leaks.each_step(one)}" for one in kept[:SHOWN])
        return violated(
            _LEAK, subject, expected, observed, code="GPU307", where=where, evidence=evidence, fix=fix, level=level
        )
    if growth.verdict == "inconclusive":
        return undecided(_LEAK, Status.INCONCLUSIVE, subject, expected, growth.reason)
    return held(_LEAK, subject, expected, observed)


def _of_host(growth: leaks.Growth) -> Expectation:
    subject = "host memory of the program over the steps"
    expected = f"grows by at most {growth.share:.0%} of the machine's memory"
    if growth.verdict == "fail":
        fix = "release what each step adds: results that are kept, histories, functions that are traced again"
        return violated(_HOST, subject, expected, _grown(growth), fix=fix, level=Level.WARN)
    return held(_HOST, subject, expected, _change(growth))


def _change(growth: leaks.Growth) -> str:
    return f"{growth.growth / 2**20:+.1f} MiB over {growth.samples} samples"


def _grown(growth: leaks.Growth) -> str:
    """What growth leads to, if it goes on."""
    told = _change(growth)
    if growth.steady and growth.per_step is not None:
        told += f", {in_words(growth.per_step)} per step"
    if growth.steady and growth.full_after is not None:
        told += f": full in {_time(growth.full_after)} at this rate"
    return told


def _time(seconds: float) -> str:
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}"
    return f"{seconds:.0f} seconds"


def _out_of_memory(capture: Capture) -> Iterator[Expectation]:
    """The error that ended the program. TensorFlow also logs failed allocations that it retries or does without."""
    expected = "every allocation succeeds"
    if (failed := out_of_memory.refused(capture)) is not None:
        told = f"{in_words(failed.size)} could not be allocated" if failed.size is not None else "an allocation failed"
        peak = max((max(one.devices.get(failed.device, (0, 0))) for one in capture.memory), default=0)
        in_use = f"; at most {in_words(peak)} was in use before" if peak else ""
        all_of_them = "the simulated GPUs together" if capture.simulated else "the device"
        subject = f"memory of {failed.device or all_of_them}"
        fix = "use a smaller batch or model, or spread it over more GPUs"
        yield violated(_OUT, subject, expected, told + in_use, where=capture.error_at, fix=fix)
    elif count := out_of_memory.retried(capture):
        told = f"{count} failed, each of which TensorFlow retries for 10 s"
        yield violated(_OUT, "memory of the GPUs", expected, told, fix="use a smaller batch", level=Level.WARN)


def _balances(run: Run) -> Iterator[Expectation]:
    total = max((card.total for card in run.capture.cards), default=0)
    for strategy in run.capture.strategies:
        balance = memory.balance(strategy, run.capture.memory, uneven=run.settings.probe.imbalance, total=total)
        if balance is None or balance.verdict == "inconclusive":
            continue
        subject = f"peak memory of the GPUs under {strategy.cls}"
        expected = f"within a factor of {balance.threshold}, or {memory.UNEVEN_SHARE:.0%} of the card"
        observed = ", ".join(f"{device}: {peak / 2**20:.0f} MiB" for device, peak in balance.peaks.items())
        if balance.verdict == "fail":
            yield violated(_BALANCE, subject, expected, observed, where=strategy.where, level=Level.WARN)
        else:
            yield held(_BALANCE, subject, expected, observed, where=strategy.where)


def _of_headroom(room: memory.Headroom) -> Expectation:
    subject, expected = (
        f"peak memory on {room.device}",
        f"at most {room.threshold:.0%} of its limit, and not mostly free on an idle GPU",
    )
    observed = f"{room.share:.0%} of {room.limit / 2**30:.1f} GiB"
    if room.utilisation is not None:
        observed += f", {room.utilisation:.0%} busy"
    if room.kinds:
        told = f"{observed}: {', '.join(room.kinds)}"
        fix = "try a larger batch" if "batch too small" in room.kinds else ""
        return violated(_HEADROOM, subject, expected, told, fix=fix, level=Level.WARN)
    if room.verdict == "inconclusive":
        return undecided(_HEADROOM, Status.INCONCLUSIVE, subject, expected, f"{observed}; {room.reason}")
    return held(_HEADROOM, subject, expected, observed)


def _of_held(idle: memory.Held) -> Expectation:
    subject, expected = f"memory of {idle.device}, on which nothing ran", "not held"
    observed = f"{idle.taken / 2**20:.0f} MiB"
    if idle.verdict == "warn":
        fix = "hide the card with CUDA_VISIBLE_DEVICES or tf.config.set_visible_devices, or use it"
        return violated(_IDLE, subject, expected, observed, fix=fix, level=Level.WARN)
    if idle.verdict == "inconclusive":
        return undecided(_IDLE, Status.INCONCLUSIVE, subject, expected, idle.reason)
    return held(_IDLE, subject, expected, observed)


def _of_preallocation(taken: memory.Preallocation) -> Expectation:
    """Information, never a violation: TensorFlow reserves memory in advance unless growth or a limit is set."""
    subject, expected = f"memory reserved for {taken.device} on its card", "for information"
    if taken.verdict == "inconclusive":
        return undecided(_TAKEN, Status.SKIP, subject, expected, taken.reason)
    observed = f"{taken.taken / 2**20:.0f} MiB, of which at most {taken.peak / 2**20:.0f} MiB was in use"
    if taken.verdict == "info":
        observed += ": reserved in advance; with memory growth TensorFlow takes only what it needs"
    return held(_TAKEN, subject, expected, observed)


def _is_cpu(device: str) -> bool:
    return device.rpartition("/")[2].startswith("CPU")


def _foreign(capture: Capture) -> Iterator[Expectation]:
    uses_gpu = any(max(sizes) for one in capture.memory for name, sizes in one.devices.items() if not _is_cpu(name))
    for other in memory.foreign(capture.cards, uses_gpu):
        if other.verdict == "warn":
            yield violated(
                _FOREIGN,
                f"other programs on {other.name} ({other.bus})",
                f"at most {other.threshold / 2**20:.0f} MiB",
                f"{other.taken / 2**20:.0f} of {other.total / 2**20:.0f} MiB",
                level=Level.WARN,
            )
