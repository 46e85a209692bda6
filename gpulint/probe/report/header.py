"""What a report begins and ends with: where the program ran, and how it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.probe.capture import Capture
from gpulint.probe.cards import on_bus
from gpulint.probe.expectation import Status
from gpulint.probe.memory_limits import places
from gpulint.probe.report import Report
from gpulint.probe.sizes import in_words


def header(capture: Capture) -> Iterator[str]:
    """TensorFlow and its devices, the driver's cards, the steps, and what could not be seen. Nothing for a placement
    log, which tells none of this."""
    version = capture.tensorflow.get("tensorflow")
    if not capture.process:
        return
    if not version:
        yield "The program did not import TensorFlow."
        return
    strategies = ", ".join(f"{one.cls} of {one.replicas}" for one in capture.strategies) or "no strategy"
    devices = ", ".join(capture.logical) or "not initialised"
    yield f"TensorFlow {version} on {devices}; {strategies}; {capture.seconds:.1f} s"
    yield from (f"the driver has {card}" for card in cards(capture))
    steps = sum(one.taken for one in capture.steps.values())
    if steps:
        seconds = sum(one.seconds for one in capture.steps.values())
        yield f"{steps} training steps, {1000 * seconds / steps:.1f} ms each"
    yield from (f"not seen: {evidence} ({reason})" for evidence, reason in capture.lost)
    yield from (f"fault of the probe: {fault}" for fault in capture.faults)


def cards(capture: Capture) -> list[str]:
    """Each card as the driver names it, with the devices of TensorFlow that are on it."""
    on = places(message for log in capture.logs.values() for message in log.messages)
    told: dict[str, str] = {}
    for card in capture.cards:
        devices = [device for device, place in on.items() if on_bus(card.bus, place.bus)]
        whose = ", ".join(devices) or "none of TensorFlow's devices"
        told[card.bus] = f"{card.name} of {in_words(card.total)} at {card.bus}: {whose}"
    return [told[bus] for bus in sorted(told)]


def verdict(report: Report) -> str:
    """One line: how many expectations were broken, and how the program ended."""
    counts = Counter(one.status for one in report.expectations)
    said = ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status]) or "nothing to check"
    ended = ending(report.capture)
    return f"{said}; {ended}" if ended else said


def ending(capture: Capture) -> str:
    """How the program ended, "" where it came to its end without a fault or nobody saw it."""
    end = capture.end
    if end.get("reason") in ("timeout", "hang"):
        return f"the program was stopped ({end['reason']})"
    if end.get("signal"):
        return f"the program was ended by signal {end['signal']}"
    if end.get("status"):
        return f"the program ended with status {end['status']}"
    return ""
