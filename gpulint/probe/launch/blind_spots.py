"""Evidence that the agent could not collect, as its parent knows once the run is over."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.agent.forks import OTHERS
from gpulint.probe.launch.capture_tail import CaptureTail
from gpulint.probe.launch.process_tree import ProcessTree


def lost_evidence(tail: CaptureTail, tree: ProcessTree, *, by_itself: bool) -> Iterator[tuple[str, str]]:
    """Lost evidence, each with the reason. `by_itself`: the program was not stopped from outside."""
    tail.look()
    if by_itself and tail.watches and not tail.is_whole:
        yield "the end", "the program was cut short: its last second was not recorded"
    if not tail.watches and not tail.is_whole and tail.pid in tree.with_tensorflow:
        yield "tensorflow", "the program replaced itself (exec) or was ended before TensorFlow could be watched"
    others = tree.with_tensorflow - {tail.pid}
    if others and not tail.forked:
        plural = "es that it started have" if len(others) > 1 else " that it started has"
        yield OTHERS, f"{len(others)} process{plural} TensorFlow loaded, too; only the first one is watched"
