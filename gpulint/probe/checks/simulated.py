"""Memory of simulated GPUs, and the checks that a simulation cannot answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.probe.expectations.expectation import SIMULATED, Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.measures.out_of_memory import refused

_MEMORY = "simulated-memory"

UNSAID = {
    "mem-balance": ("peak memory", "balanced across GPUs"),
    "mem-headroom": ("peak memory of each GPU", "used, and below its limit"),
    "gpu-idle-held": ("memory of idle GPUs", "not held"),
    "mem-foreign": ("memory of other programs", "little"),
    "input-wait": ("waiting for input", "a small share of the time"),
    "step-time": ("speed of steps, kernels and NCCL", "that of the hardware"),
}
"""Checks that a simulation cannot answer: id → subject and expectation. They are skipped."""


def check(run: Run) -> Iterator[Expectation]:
    """Estimated memory of each simulated GPU against its limit, then the skipped checks."""
    capture = run.capture
    if not capture.simulated:
        return
    peaks: dict[str, int] = defaultdict(int)
    for sample in capture.memory:
        for device, (_, peak) in sample.devices.items():
            peaks[device] = max(peaks[device], peak)
    failed = refused(capture)
    for device, limit in capture.limits.items():
        if failed is not None and failed.device == device:
            continue  # reported by `out-of-memory`
        subject = f"live tensors and variables on {device} (estimate)"
        expected = f"at most {_mib(limit)}"
        observed = f"{_mib(peaks[device])} at most"
        if peaks[device] > limit:
            fix = "use a smaller batch or model, or spread it over more GPUs"
            yield violated(_MEMORY, subject, expected, observed, fix=fix, level=Level.WARN)
        elif device in peaks:
            yield held(_MEMORY, subject, expected, observed)
    for id, (subject, expected) in UNSAID.items():
        yield undecided(id, Status.SKIP, subject, expected, SIMULATED)


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
