"""How busy the devices were, from the window that TensorFlow's profiler traced.

The profiler traces some steps only, and slows down the host while it does. What a device works in a step is the same in
every step: for each state of the training thread, the seconds of device work in a traced step are compared with the
seconds that a step of the whole run spent in that state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.evidence import PROFILE
from gpulint.probe.capture.records import Where
from gpulint.probe.capture.windows import StateTime, Window
from gpulint.probe.measures.time_words import percent

DEVICE_PARTS = ("gpu", "collective", "copy")
"""Activities of devices. A moment with several counts as the first of them: computing, collectives, copying."""

FEW = 5
"""Steps, in the window or outside of it, below which the share in the window counts."""

RARE = 0.01
"""Share of the window below which it does not show what the devices did in a state."""


class Busy(NamedTuple):
    """A device in the run: the share of the time in which a kernel ran, from 0 to 1, and kernels a step, None if no
    step ended in the window. Both are None if only NVML's utilisation is known."""

    device: str
    share: float | None
    kernels_per_step: float | None
    source: str
    """"tracer" or "nvml"."""


def device_shares(capture: Capture, states: Iterable[str]) -> dict[str, dict[str, float]]:
    """State of the training thread → for each of DEVICE_PARTS, the share of the state's time in which a device was at
    it, from 0 to 1. Empty if no device was traced."""
    window = capture.window
    if window is None or not window.devices:
        return {}
    return {state: dict(zip(DEVICE_PARTS, _shares(capture, window, state), strict=True)) for state in states}


def waiting_share(capture: Capture, state: str) -> float:
    """Share of the time of a state without device work in which a function waited for the next element of a
    dataset."""
    window = capture.window
    row = window.states.get(state) if window is not None else None
    if window is None or row is None or row.seconds <= RARE * window.seconds:
        return 0.0
    left = row.seconds - row.gpu - row.collective - row.copy
    return row.input / left if left > 0 else 0.0


def busy(capture: Capture, share: float) -> tuple[Busy, ...]:
    """The devices that the program uses. `share` is that of the run's time in which any device computed or took part
    in a collective."""
    window = capture.window
    if capture.simulated:
        return ()
    names = _names(capture)
    if window is None or not window.devices:
        return tuple(Busy(name, None, None, "nvml") for name in names.values()) if _utilisation(capture) else ()
    row = window.states.get("")
    at_all = row.gpu + row.collective if row is not None else 0.0
    return tuple(
        Busy(
            names[one.device],
            min(1.0, share * one.busy / at_all) if at_all else 0.0,
            one.kernels / window.steps if window.steps else None,
            "tracer",
        )
        for one in window.devices
        if one.device in names
    )


def computing_lines(capture: Capture, seconds: float) -> Iterator[tuple[Where, float, int]]:
    """Lines whose operations the devices computed, with their share of `seconds` and the number of kernels in the
    window. Operations that ran eagerly are not assigned to
    lines."""
    window = capture.window
    whole = sum(one.busy for one in window.devices) if window is not None else 0.0
    for one in window.lines if window is not None and whole else ():
        if one.where is not None:
            yield one.where, seconds * min(1.0, one.seconds / whole), one.number


def why_unknown(capture: Capture) -> str:
    """Why it is not known how busy the devices were, "" if it is."""
    window = capture.window
    if capture.simulated:
        return "the GPUs are simulated"
    if not any(device.startswith("GPU:") for device in capture.visible):
        return "no GPU"
    if window is not None and window.devices:
        return ""
    reasons = [reason for evidence, reason in capture.lost if evidence == PROFILE]
    reasons += [text for log in capture.logs.values() for text in log.messages if "CUPTI" in text]
    if not reasons:
        reasons = ["no step was traced" if window is None else "the device tracer recorded nothing"]
    if used := _utilisation(capture):
        reasons.append(f"NVML: kernels of any program ran in {percent(used)} of the time")
    return "; ".join(reasons)


def _shares(capture: Capture, window: Window, state: str) -> tuple[float, ...]:
    """The share of a state in which devices are at each of DEVICE_PARTS; at most 1 in all."""
    row = _row(window, state)
    if row is None:
        return (0.0,) * len(DEVICE_PARTS)
    shares, left = [], 1.0
    whole = _pace(capture, window, row)
    for seconds in (row.gpu, row.collective, row.copy):
        shares.append(min(left, seconds / whole))
        left -= shares[-1]
    return tuple(shares)


def _row(window: Window, state: str) -> StateTime | None:
    """The window's row of a state; that of the whole window if states were not recorded."""
    row = window.states.get(state if len(window.states) > 1 else "")
    return row if row is not None and row.seconds > RARE * window.seconds else None


def _pace(capture: Capture, window: Window, row: StateTime) -> float:
    """The seconds of a state in as many steps outside of the window as it has; those in it where they are few."""
    trained = [one for one in capture.segments if one.steps]
    steps = sum(one.steps for one in trained) - window.steps
    spent = sum(one.seconds.get(row.state, 0.0) for one in trained) - row.seconds
    return spent / steps * window.steps if min(steps, window.steps) >= FEW and spent > 0 else row.seconds


def _names(capture: Capture) -> dict[str, str]:
    """Physical GPU in the order of CUDA → name of the device that the program has on it. A card with several logical
    devices has the name of the card: the trace does not tell them apart."""
    visible = [device for device in capture.visible if device.startswith("GPU:")]
    logical = [device for device in capture.own_devices if device.startswith("GPU:")]
    return dict(zip(visible, logical if len(logical) == len(visible) else visible, strict=True))


def _utilisation(capture: Capture) -> float:
    """Mean utilisation of the cards during the steps as NVML reports it, from 0 to 1; 0 if it does not."""
    began = next((t for t, phase in capture.phases if phase == "steps"), None)
    seen = [one.utilisation for one in capture.cards if one.utilisation >= 0 and began is not None and one.t >= began]
    return sum(seen) / len(seen) / 100 if seen else 0.0
