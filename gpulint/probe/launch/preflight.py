"""Finds strategies that name GPUs this machine does not have, before the program runs.

On a machine without GPUs TensorFlow takes `MirroredStrategy(["GPU:0", "GPU:1"])` as two replicas on the CPU, and `fit`
never returns (2.15 to 2.21).
"""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Mapping

from gpulint.analysis.plan import events
from gpulint.linting.engine import Checker
from gpulint.linting.selection import Catalogue
from gpulint.probe.measures.cards import Cards
from gpulint.settings import SettingsFinder

_MAY_CONCERN = re.compile(rb"Strategy.*gpu|gpu.*Strategy", re.IGNORECASE | re.DOTALL)
_OTHER_DRIVERS = ("/dev/kfd", "/dev/dxg")
"""Device files of drivers whose GPUs NVML does not list: AMD's, and Windows' under WSL."""


def gpus_here(cards: Cards | None, environment: Mapping[str, str]) -> int | None:
    """Number of GPUs that TensorFlow can use here, or None where only TensorFlow can tell."""
    if not sys.platform.startswith("linux") or any(os.path.exists(path) for path in _OTHER_DRIVERS):
        return None
    count = len({row.bus for row in cards.sample(())}) if cards is not None else 0
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return count
    named = [part for part in visible.split(",") if part.strip()]
    return 0 if not named or named[0].strip() == "-1" else min(count, len(named))


def missing_devices(path: str, finder: SettingsFinder, gpus: int) -> list[str]:
    """One line for each strategy that names GPUs beyond the first `gpus`. Skips programs that configure their own
    devices and programs that cannot be analysed: the run decides."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        if not _MAY_CONCERN.search(data):
            return []
        checker = Checker(finder, Catalogue(()))
        plan = checker.plan(checker.load(path, data).main)
    except Exception:  # the program runs in any case, and its files are checked afterwards
        return []
    missing: dict[str, list[str]] = defaultdict(list)
    for event in plan.events:
        if isinstance(event, events.DeviceNamed) and event.device is not None and event.device.is_gpu:
            is_there = event.device.index is None or event.device.index < gpus
            if event.consumer.endswith("Strategy") and event.gpus is None and not event.device.job and not is_there:
                if event.text not in missing[event.consumer]:
                    missing[event.consumer].append(event.text)
    has = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
    return [
        f"{path}: {consumer.rpartition('.')[2]} names {', '.join(texts)}, and this machine has {has}: "
        "training under it may hang"
        for consumer, texts in missing.items()
    ]
