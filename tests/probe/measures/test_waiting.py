"""Waiting in loops over datasets, from the states of the training thread."""

from __future__ import annotations

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Inside, Segment, Wait, Where, Work
from gpulint.probe.measures.waiting import wait_share, waits

LOOP, FIT = Where("train.py", 7), Where("train.py", 9)


def test_a_line_waits_in_python_and_inside_functions() -> None:
    waited = Work(LOOP, "input", "next", 1.0, 30)
    opened = Work(LOOP, "input", "iter", 0.5, 1)
    capture = Capture(
        segments=[
            Segment(0, 0, 4, 30, {"input": 1.5, "launch": 2.5}, 0, (waited, opened)),
            Segment(0, 4, 8, 20, {"launch": 4.0}, 0, (Work(FIT, "launch", "step", 4.0, 20),)),
            Segment(0, 8, 9, 1, {"python": 1.0}, 0, ()),
        ],
        inside=[Inside(Work(FIT, "input", "next", 3.0, 20), 4.1, 7.9)],
    )
    assert waits(capture) == {LOOP: Wait(30, 1.0, 4, 30), FIT: Wait(20, 3.0, 4, 20)}
    share = wait_share(waits(capture)[FIT])
    assert share.is_high
    assert share.share == 0.75


def test_waits_of_early_captures_are_as_recorded() -> None:
    recorded = {LOOP: Wait(100, 1.0, 4.0, 100)}
    assert waits(Capture(waits=recorded)) == recorded
