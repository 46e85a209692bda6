"""Operations that would fall back to the CPU on real GPUs, from a run on simulated ones."""

from __future__ import annotations

from collections import Counter

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Execution, Node
from gpulint.probe.measures.reasons import NO_KERNEL, reason


def fallbacks(capture: Capture) -> Counter[str]:
    """Operations without a GPU kernel → number of runs and graph nodes on the CPU. Excludes operations that
    TensorFlow always keeps on the host and those that the program placed there."""
    found = Counter[str]()
    placed: list[tuple[Execution | Node, int]] = [*capture.executions.items(), *capture.nodes.items()]
    for one, count in placed if capture.simulated else ():
        if reason(one, capture).startswith(NO_KERNEL):
            found[one.op] += count
    return found
