"""Memory: what grows, what is uneven, how near the limit it comes, and who else is on the card."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe import memory, memory_limits
from gpulint.probe.capture import Capture
from gpulint.probe.expectation import Expectation, Level, Run, Status, held, undecided, violated

_LEAK, _BALANCE, _HEADROOM, _IDLE, _FOREIGN = "mem-leak", "mem-balance", "mem-headroom", "gpu-idle-held", "mem-foreign"


def check(run: Run) -> Iterator[Expectation]:
    """Every detector of memory that has something to look at."""
    capture = run.capture
    places = memory_limits.places(message for log in capture.logs.values() for message in log.messages)
    limits = {device: place.limit for device, place in places.items() if place.limit}
    yield from _leaks(run, limits)
    yield from _balances(run)
    operations = capture.operations
    for device, place in places.items():
        cards = memory.cards_on(place.bus, capture.cards)
        if (
            room := memory.headroom(device, capture.memory, place.limit, cards, run.settings.probe_headroom)
        ) is not None:
            yield _of_headroom(room)
        if (idle := memory.held(device, operations, capture.memory, cards)) is not None:
            yield _of_held(idle)
    yield from _foreign(capture)


def _leaks(run: Run, limits: dict[str, int]) -> Iterator[Expectation]:
    capture = run.capture
    steps = sum(one.taken for one in capture.steps.values())
    for growth in memory.leaks(capture.memory, limits, steps, run.settings.probe_leak):
        subject, expected = f"memory of {growth.subject} over the steps", "does not grow"
        observed = f"{growth.growth / 2**20:+.1f} MiB over {growth.samples} samples"
        if growth.verdict == "fail":
            yield violated(
                _LEAK,
                subject,
                expected,
                observed,
                code="GPU307",
                fix="keep no tensor of a step longer than the step",
            )
        elif growth.verdict == "inconclusive":
            if growth.subject.startswith("CPU"):
                continue  # nobody expects a short run to say anything of the host
            yield undecided(_LEAK, Status.INCONCLUSIVE, subject, expected, growth.reason)
        else:
            yield held(_LEAK, subject, expected, observed)


def _balances(run: Run) -> Iterator[Expectation]:
    for strategy in run.capture.strategies:
        balance = memory.balance(strategy, run.capture.memory, uneven=run.settings.probe_imbalance)
        if balance is None or balance.verdict == "inconclusive":
            continue
        subject, expected = f"peaks of memory under {strategy.cls}", f"within {balance.threshold} times of each other"
        observed = ", ".join(f"{device}: {peak / 2**20:.0f} MiB" for device, peak in balance.peaks.items())
        if balance.verdict == "fail":
            yield violated(_BALANCE, subject, expected, observed, where=strategy.where, level=Level.WARN)
        else:
            yield held(_BALANCE, subject, expected, observed, where=strategy.where)


def _of_headroom(room: memory.Headroom) -> Expectation:
    subject, expected = f"peak of memory on {room.device}", f"at most {room.threshold:.0%} of its limit, and used"
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


def _foreign(capture: Capture) -> Iterator[Expectation]:
    for other in memory.foreign(capture.cards):
        if other.verdict == "warn":
            yield violated(
                _FOREIGN,
                f"other programs on {other.name} ({other.bus})",
                f"at most {other.threshold / 2**20:.0f} MiB",
                f"{other.taken / 2**20:.0f} of {other.total / 2**20:.0f} MiB",
                level=Level.WARN,
            )
