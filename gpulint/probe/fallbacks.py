"""What real GPUs would leave to the CPU, told from a run on simulated ones."""

from __future__ import annotations

from collections import Counter

from gpulint.probe.capture import Capture
from gpulint.probe.reasons import is_bookkeeping


def fallbacks(capture: Capture) -> Counter[str]:
    """Operations without a kernel for GPUs → how many of them were run, or are in graphs, on the CPU. What TensorFlow
    keeps on the host in any case is left out, and what the program itself asks to be there."""
    lacking = {op for op, _ in capture.unsupported if not is_bookkeeping(op)}
    found = Counter[str]()
    for ran, count in capture.executions.items():
        if ran.op in lacking and ran.device.startswith("CPU") and not ran.requested.startswith("CPU"):
            found[ran.op] += count
    for node, count in capture.nodes.items():
        if node.op in lacking and node.assigned.startswith("CPU") and not node.requested.startswith("CPU"):
            found[node.op] += count
    return found
