"""Which lines a failed program had reached, from the observations and the place where it ended."""

from __future__ import annotations

from collections import Counter

import pytest

from gpulint.places import Span
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Execution, Frame, ReplicaRun, SourceText, Where
from gpulint.probe.measures.reached import Reached

PATH = "/p/train.py"
TEXT = """import tensorflow as tf

def train(x):
    y = x @ x
    z = y + broken
    return z @ z

def unused(x):
    return x @ x

def helper(x):
    if x is None:
        return x @ x
    return x * 2

helper(1)
first = tf.ones(3)
train(first)
last = tf.ones(3)
"""
ROW_OF_UNUSED = 9
ROWS = {text: row for row, text in enumerate(TEXT.splitlines(), 1)}


def ended(*frames: tuple[int, str], **fields: object) -> Capture:
    places = tuple((Where(PATH, row), function) for row, function in frames)
    ran = Counter({Execution(Where(PATH, row), "MatMul", "", "GPU:0"): 1 for row in (4, 14, 17)})
    capture = Capture(sources={PATH: SourceText(1.0, "", TEXT)}, executions=ran, error_frames=places)
    for name, value in fields.items():
        setattr(capture, name, value)
    return capture


def has(capture: Capture, row: int) -> bool:
    return Reached(capture).has(Span(PATH, row, 1, row, 9))


@pytest.mark.parametrize(
    ("line", "reached"),
    [
        ("    y = x @ x", True),
        ("    return z @ z", False),
        ("        return x @ x", True),  # of a function that completed
        ("    return x @ x", False),
        ("first = tf.ones(3)", True),
        ("train(first)", True),
        ("last = tf.ones(3)", False),
    ],
)
def test_lines_below_the_failure_and_functions_without_a_trace_were_not_reached(line: str, reached: bool) -> None:
    assert has(ended((18, "<module>"), (5, "train")), ROWS[line]) is reached


def test_of_a_program_that_was_killed_it_is_where_it_was_seen_last() -> None:
    stack = (Frame(PATH, 5, "train", True), Frame(PATH, 18, "<module>", True))
    position = ((Where(PATH, 18), "<module>"), (Where(PATH, 5), "train"))
    for capture in (ended(stack=stack), ended(position=position)):
        assert [has(capture, row) for row in (4, 6, 19)] == [True, False, False]
    assert has(ended(), 19)  # unknown


def test_a_function_that_replicas_ran_was_reached_though_no_line_of_it_was_observed() -> None:
    run = ReplicaRun(Where(PATH, 18), "unused", 2, False, False, False, True, 8)
    assert not has(ended((18, "<module>")), ROW_OF_UNUSED)
    assert has(ended((18, "<module>"), runs=Counter({run: 1})), ROW_OF_UNUSED)


def test_a_module_that_was_imported_was_reached() -> None:
    assert has(ended((3, "<module>")), 4) is True
    other = Span("/p/other.py", 90, 1, 90, 9)
    assert Reached(ended((18, "<module>"))).has(other)


def test_cells_of_a_notebook_run_in_their_order() -> None:
    book = "/p/a.ipynb"
    capture = Capture(error_at=Where(book, 2, 1))
    rows = [(0, 9), (1, 2), (1, 3), (2, 1)]
    assert [Reached(capture).has(Span(book, row, 1, row, 9, cell)) for cell, row in rows] == [True, True, False, False]
