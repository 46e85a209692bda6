"""The first line of a report: what ran, on what, for how long."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.measures.device_words import listed
from gpulint.probe.measures.reasons import has_gpu
from gpulint.probe.measures.time_words import duration
from gpulint.probe.report import RunReport
from gpulint.probe.report.header import cards


def title(report: RunReport) -> str:
    """Title of a report: `train.py · TensorFlow 2.21.0 · NVIDIA H200 · 64 steps, 5.4 s of training`."""
    return " · ".join(filter(None, _parts(report)))


def _parts(report: RunReport) -> Iterator[str]:
    capture = report.capture
    yield os.path.basename(str(capture.process.get("main") or ""))
    version = capture.tensorflow.get("tensorflow")
    yield f"TensorFlow {version}" if version else ""
    yield _devices(report)
    yield ", ".join(dict.fromkeys(f"{one.cls} of {one.replicas}" for one in capture.strategies if one.replicas > 1))
    steps = sum(one.taken for one in capture.steps.values())
    words = [f"{steps:,} step{'' if steps == 1 else 's'}"] if steps else []
    if report.time is not None:
        words.append(f"{duration(report.time.seconds)} of training")
    elif capture.seconds:
        words.append(f"{duration(capture.seconds)} in all")
    yield ", ".join(words)


def _devices(report: RunReport) -> str:
    capture = report.capture
    return ", ".join(filter(None, [f"{len(capture.members)} workers" if capture.members else "", _hardware(capture)]))


def _hardware(capture: Capture) -> str:
    if capture.simulated:
        return f"{capture.simulated} simulated GPU{'' if capture.simulated == 1 else 's'}"
    names = Counter(card.name for card, devices in cards(capture) if devices or devices is None)
    if has_gpu(capture) and names:
        return ", ".join(f"{count} × {name}" if count > 1 else name for name, count in names.items())
    return listed(capture.own_devices)
