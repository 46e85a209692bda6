"""What real GPUs would leave to the CPU, told from a run on simulated ones."""

from __future__ import annotations

from collections import Counter

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Execution, Node
from gpulint.probe.measures.reasons import NO_KERNEL, reason


def fallbacks(capture: Capture) -> Counter[str]:
    """Operations without a kernel for GPUs → how many of them were run, or are in graphs, on the CPU. What TensorFlow
    keeps on the host in any case is left out, and what the program itself asks to be there."""
    found = Counter[str]()
    placed: list[tuple[Execution | Node, int]] = [*capture.executions.items(), *capture.nodes.items()]
    for one, count in placed if capture.simulated else ():
        if reason(one, capture).startswith(NO_KERNEL):
            found[one.op] += count
    return found
