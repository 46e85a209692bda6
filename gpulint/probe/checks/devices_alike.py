"""All workers of a cluster have the same number of devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import SEVERAL_WORKERS
from gpulint.probe.cluster.worker_text import by_value
from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated

_ID = "devices-alike"
_SUBJECT, _EXPECTED = "devices of each worker", "the same number on each"


def check(run: Run) -> Iterator[Expectation]:
    """GPUs, or CPUs if no worker has any. MultiWorkerMirroredStrategy multiplies its own number of devices by the
    number of workers, and waits forever for devices that another worker lacks
    (`tensorflow/python/distribute/collective_all_reduce_strategy.py`, 2.16 and 2.21)."""
    trainers = [(task, capture) for task, capture in run.capture.trainers if capture.logical]
    if len(trainers) < 2:
        return
    kind = "GPU" if any(_counts(capture)["GPU"] for _, capture in trainers) else "CPU"
    counts = {task: f"{_counts(capture)[kind]} × {kind}" for task, capture in trainers}
    if len(set(counts.values())) == 1:
        yield held(_ID, _SUBJECT, _EXPECTED, by_value(counts))
        return
    spans = any(one.cls in SEVERAL_WORKERS for one in run.capture.strategies)
    yield violated(
        _ID,
        _SUBJECT,
        _EXPECTED,
        by_value(counts),
        fix="give each worker the same devices (CUDA_VISIBLE_DEVICES, the launcher's GPUs for each task)",
        level=Level.ERROR if spans else Level.WARN,
    )


def _counts(capture: Capture) -> Counter[str]:
    """The worker's own devices, by kind."""
    return Counter(device.partition(":")[0] for device in capture.own_devices)
