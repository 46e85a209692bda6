"""Gains, and what holds memory, in words."""

from __future__ import annotations

import pytest

from gpulint.probe.advice.advice import Advice, Outside
from gpulint.probe.advice.words import gain, holders, with_gain
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.holders import Held, Holder

MIB = 2**20


@pytest.mark.parametrize(
    ("cause", "seconds", "speedup", "first", "then"),
    [
        ("input-bound", 9.0, 18.4, "up to 18× faster", "then up to 18× faster"),
        ("input-bound", 3.0, 4.04, "up to 4× faster", "then up to 4× faster"),
        ("input-bound", 3.0, 2.26, "up to 2.3× faster", "then up to 2.3× faster"),
        ("input-bound", 0.5, 1.095, "up to 1.1× faster", "then up to 1.1× faster"),
        ("input-bound", 0.5, 1.09, "up to 9 % faster", "then up to 9 % faster"),
        ("input-bound", 0.001, 1.0001, "up to 1 % faster", "then up to 1 % faster"),
        ("out-of-memory", 0.0, 1.0, "needed to run", "needed to run"),
        ("retracing", 0.0, 1.0, "", ""),
    ],
)
def test_a_gain_in_words(cause: str, seconds: float, speedup: float, first: str, then: str) -> None:
    one = Advice(cause, None, None, "text", "Evidence.", "Fix.", seconds, speedup)
    assert (gain(one, True), gain(one, False)) == (first, then)


def test_a_gain_outside_training_is_one_of_the_run() -> None:
    one = Advice("repeated-calls", None, None, "text", "Evidence.", "Fix.", 12.0, 2.0, Outside("calls", 13.0, 12.0))
    assert (gain(one, True), with_gain(one, True)) == ("saves up to 12.0 s", "text: saves up to 12.0 s")
    after = Advice("input-bound", None, None, "text", "Evidence.", "Fix.", 1.0, 2.8, is_after_outside=True)
    assert gain(after, False) == "then training up to 2.8× faster"


def _held(*holders_: tuple[str, int | None, int]) -> Held:
    found = tuple(
        Holder("GPU:0", group, Where("src/train.py", row) if row else None, size * MIB) for group, row, size in holders_
    )
    return Held("GPU:0", 200 * MIB, None, None, None, found)


def test_the_largest_groups_are_named_with_the_line_of_most() -> None:
    held = _held(("gradients", None, 47), ("activations", 9, 30), ("activations", 8, 65))
    assert holders(held) == "activations 95 MiB (train.py:8), gradients 47 MiB"


def test_small_groups_are_left_out_and_four_at_most_are_named() -> None:
    assert holders(_held(("weights", None, 100), ("slots", None, 1))) == "weights 100 MiB"
    groups = ("weights", "gradients", "slots", "activations", "input")
    named = holders(_held(*((group, None, 50 - number) for number, group in enumerate(groups))))
    assert named.count(", ") == 3 and "input" not in named


def test_memory_of_unknown_holders_is_not_worded() -> None:
    assert holders(_held(("other", None, 100))) == ""
    assert holders(_held()) == ""


def test_a_line_of_a_notebook_is_named_with_its_cell() -> None:
    kept = Holder("GPU:0", "python", Where("work/train.ipynb", 3, 34), MIB)
    assert (
        holders(Held("GPU:0", MIB, None, None, None, (kept,))) == "tensors kept by Python 1 MiB (train.ipynb:cell 35:3)"
    )
