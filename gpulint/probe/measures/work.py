"""Work of each device in training steps. Initialising variables belongs to no step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.agent.graphs import PIPELINE, STEP
from gpulint.probe.capture.contents import Capture
from gpulint.probe.measures.reasons import is_free

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "XlaLaunch", "_XlaRun"})
"""Calls that remain in an executed graph: of functions compiled as a unit, on the device of the call."""


class Work(NamedTuple):
    """Operations and graph nodes by device: of training steps, or of all functions if there were no steps."""

    steps: int
    """Training steps, 0 for a program that only evaluates or predicts."""
    by_device: Counter[str]
    unseen: tuple[str, ...]
    """Functions that ran, and loops in them, whose graph was not seen: their work may be anywhere."""


def work(capture: Capture) -> Work:
    """Excludes operations that move or initialise variables, feed data or do bookkeeping."""
    steps = sum(one.taken for one in capture.steps.values())
    names = {name for name, _ in capture.steps}
    parts = (STEP,) if steps else ("", STEP)
    counts: Counter[str] = Counter()
    for node, count in capture.nodes.items():
        if node.part in parts and (node.op in CALLS or not is_free(node.op)):
            counts[node.assigned] += count
    if EAGER_STEP in names:
        for ran, count in capture.running.items():
            if ran.part != PIPELINE and not is_free(ran.op):
                counts[ran.device] += count
    functions = [one for one in capture.functions.values() if not steps or one.name in names]
    unseen = {one.name for one in functions if not one.graph}
    unseen |= {f"the loop in {one.function}" for one in capture.loops if not steps or one.function in names}
    return Work(steps, counts, tuple(sorted(unseen)))


def fix_of_idle(capture: Capture, idle: Collection[str]) -> str:
    """What gives idle GPUs work, if others have some."""
    spread = next((one for one in capture.strategies if one.own_replicas > 1), None)
    if spread is not None and set(idle) & set(spread.devices):
        return "build the model in `strategy.scope()`, and train it with `fit` or `strategy.run`"
    how = "train under `tf.distribute.MirroredStrategy`"
    if spread is not None:
        how = f"add them to the devices of `{spread.cls}`, or pass none, which takes all"
    return f"{how}, or hide these GPUs with CUDA_VISIBLE_DEVICES"
