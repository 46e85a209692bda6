"""Observers are notified of a few training steps only, and must find what they would find with all of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.agent.kept import Kept, Origin
from gpulint.probe.agent.steps import Again

STEPS = 200
HERE = Origin(("train.py", 7), "MatMul", "GPU:0")


class Tensor:
    """Something that can be kept."""


class Records:
    """A writer that keeps its records."""

    def __init__(self) -> None:
        self.written: list[list[Any]] = []

    def numbered(self, place: Any) -> tuple[int, int]:
        return 0, place[1]

    def write(self, kind: str, rows: list[list[Any]]) -> None:
        self.written += rows


def left_behind(leaves: list[bool], began: int, *, each: bool) -> list[list[Any]]:
    """Records of tensors that some steps leave alive, if the observer is notified of each step, or only when it
    asks."""
    kept, held = Kept(), []
    records = Records()
    again = Again(step=0)
    for taken in range(1, STEPS + 1):
        if kept.is_looking:
            tensor = Tensor()
            kept.add(HERE, [(tensor, 64)])
            if leaves[taken % len(leaves)]:
                held.append(tensor)
        if taken == began:
            kept.begin(taken)
        if each or taken >= again.step or taken <= began:
            again = kept.stepped(taken)
            kept.write(records)  # type: ignore[arg-type]
    return records.written


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 9))
def test_tensors_that_steps_leave_behind(leaves: list[bool], began: int) -> None:
    told = left_behind(leaves, began, each=False)
    assert told == left_behind(leaves, began, each=True)
    assert told
