"""Every GPU computes something in each training step."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.expectations.metrics import is_on
from gpulint.probe.measures.number_words import counted
from gpulint.probe.measures.work import fix_of_idle, work

_ID = "gpu-idle"


def check(run: Run) -> Iterator[Expectation]:
    """The GPUs of this process, without those of strategies with several replicas, which `strategy-spread` covers."""
    capture = run.capture
    done = work(capture)
    spread = {device for one in capture.strategies if one.own_replicas > 1 for device in one.devices}
    gpus = [device for device in capture.own_devices if is_on(device, "GPU") and device not in spread]
    if not gpus or not done.steps:
        return
    subject, expected = "work of training steps on " + ", ".join(gpus), "some on each"
    idle = [device for device in gpus if not done.by_device[device]]
    busy = [f"{device}: {counted(count, 'operation')}" for device, count in sorted(done.by_device.items())]
    if not idle:
        yield held(_ID, subject, expected, ", ".join(busy))
        return
    if done.unseen:
        reason = f"no graph was recorded for {', '.join(done.unseen)}"
        yield undecided(_ID, Status.INCONCLUSIVE, subject, expected, reason)
        return
    told = f"{', '.join(idle)} idle in {done.steps} steps" + (f"; {', '.join(busy)}" if busy else "")
    nothing = len(idle) == len([device for device in capture.own_devices if is_on(device, "GPU")])
    yield violated(
        _ID,
        subject,
        expected,
        told,
        fix="leave the placement to TensorFlow: drop `tf.device` and what hides the GPU"
        if nothing
        else fix_of_idle(capture, idle),
        level=Level.ERROR if nothing else Level.WARN,
    )
