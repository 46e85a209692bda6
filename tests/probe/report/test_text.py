"""The text report begins with the answer, and fits the terminal."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gpulint.probe.advice.advice import Advice
from gpulint.probe.advice.words import gain
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Card, Node, Sample, Steps, Where
from gpulint.probe.expectations.expectation import Expectation, Level, Status
from gpulint.probe.measures.time_spent import FirstStep, PartAt, StepTime, parts_of
from gpulint.probe.report import RunReport, render
from gpulint.probe.report.layout import beside, block, columns, columns_of
from tests.probe.advice.times import spent

PIPELINE = Where("slow_input.py", 6)

ADVICE = (
    Advice(
        "input-bound",
        "GPU404",
        PIPELINE,
        "Python runs for every element, one at a time",
        "61 of 61 steps waited for it, 79.8 ms each.",
        "Pass `num_parallel_calls=tf.data.AUTOTUNE` to `map`, or use TensorFlow operations.",
        4.87,
        18.3,
    ),
    Advice(
        "launch-bound",
        None,
        Where("slow_input.py", 10),
        "a step keeps the GPU busy for 700 µs of 2.7 ms",
        "It launches 919 operations.",
        "Use a larger batch, which takes hardly longer here.",
        0.122,
        1.74,
    ),
)

CHECKS = [
    Expectation("prediction", Status.FAIL, Level.ERROR, "slow", "not slow", "confirmed", "GPU404", PIPELINE),
    Expectation("mem-headroom", Status.WARN, Level.WARN, "peak of GPU:0", "below", "95 %", fix="use a smaller batch"),
    Expectation(
        "prediction",
        Status.INCONCLUSIVE,
        Level.WARN,
        "reads",
        "not",
        "not exercised by this run",
        "GPU501",
        Where("slow_input.py", 14),
    ),
    Expectation("retrace", Status.PASS, Level.ERROR, "traces of `f`", "at most 5", "1"),
    Expectation("step-time", Status.SKIP, Level.WARN, "speed", "fast", "simulated"),
]


def report() -> RunReport:
    time = spent(
        {"input": 4.87, "launch": 0.122, "python": 0.061, "trace": 0.049, "gpu": 0.043},
        61,
        busy={"GPU:0": 0.008},
    )
    capture = Capture(
        process={"python": "3.12.1", "main": "/p/slow_input.py"},
        tensorflow={"tensorflow": "2.21.0"},
        logical=("CPU:0", "GPU:0"),
        cards=[Card(1.0, "0000:00:06.0", "NVIDIA H200", 143771 << 20, 1 << 30, 1 << 30, 0, 3)],
        memory=[Sample(1.0, "steps", {"GPU:0": (90 << 20, 182 << 20)})],
        steps={("step", PIPELINE): Steps("step", PIPELINE, 64, 5.1, 0.1)},
        nodes=Counter({Node(PIPELINE, "MatMul", "", "GPU:0", "", "float32", "step"): 7}),
        end={"status": 0, "signal": None, "reason": "exit", "seconds": 9.0},
    )
    return RunReport(capture, CHECKS, 1, time, ADVICE)


def test_the_answer_comes_first() -> None:
    lines = render("text", report(), False, width=100).splitlines()
    assert lines[0] == "slow_input.py · TensorFlow 2.21.0 · NVIDIA H200 · 64 steps, 5.1 s of training"
    assert lines[2] == "GPU:0 computed 0.8 % of the time. Training waits for its input."
    assert lines[4].startswith("  step 84.3 ms  ████████████████████████████████████████████████████████▓")
    assert lines[5] == "                input 79.8 ms (94.7 %) · launch 2.0 ms (2.4 %) · Python 1.0 ms (1.2 %)"
    first = lines.index("What to change first") + 1
    assert lines[first].startswith("  1  slow_input.py:6 Python runs for every element, one at a time")
    assert lines[first].endswith("up to 18× faster")
    assert "GPU404" in " ".join(lines[first : first + 3])
    second = next(line for line in lines if line.startswith("  2  "))
    assert second.endswith("then up to 1.7× faster")


@pytest.mark.parametrize(("input_", "told"), [(1.0, ""), (30.0, ", input 30.0 s")])
def test_what_took_long_until_the_first_step_ended_is_told(input_: float, told: str) -> None:
    traced = PartAt("trace", Where("slow_input.py", 12), 40.0, 1, "step")
    early = FirstStep(60.0 + input_, parts_of({"trace": 40.0, "input": input_}, 60.0 + input_), (traced,))
    seen = report()
    assert seen.time is not None
    text = render("text", replace(seen, time=replace(seen.time, first=early)), False)
    assert f"until the first step ended: tracing and compiling 40.0 s (slow_input.py:12){told}\n" in text
    assert "until the first step" not in render("text", seen, False)


def test_checks_are_one_line_unless_they_say_something_new() -> None:
    text = render("text", report(), False)
    assert "Checks  1 failed, 1 warning, 1 inconclusive, 1 not applicable, 1 passed (-v shows them)" in text
    assert "peak of GPU:0" in text, "a warning that no advice is about"
    assert "not slow" not in text, "the first advice says it"
    assert "traces of `f`" not in text
    assert "Not exercised by this run  slow_input.py:14 GPU501" in text
    assert "MatMul" not in text


def test_verbose_shows_every_check_and_table() -> None:
    text = render("text", report(), False, verbose=True)
    assert all(one.subject in text for one in CHECKS)
    assert "-v" not in text
    assert "MatMul" in text


def test_tables_are_shown_where_a_violation_needs_them() -> None:
    spread = Expectation("strategy-spread", Status.FAIL, Level.ERROR, "2 replicas", "work", "none")
    assert "MatMul" in render("text", replace(report(), expectations=[spread]), False)


@given(st.integers(80, 200))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for verbose in (False, True):
        for line in render("text", report(), False, width=width, verbose=verbose).splitlines():
            assert cell_len(line) <= width


WORDS = st.lists(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=30), min_size=1)


@given(WORDS, st.integers(30, 200), st.sampled_from(["", "  1  ", "Memory  "]))
def test_no_word_is_broken(words: list[str], width: int, first: str) -> None:
    lines = list(block(" ".join(words), width, first))
    assert " ".join(line[len(first) :] for line in lines).split() == " ".join(words).split()
    assert all(cell_len(line) <= width or len(line[len(first) :].split()) == 1 for line in lines)


@given(WORDS, st.text("abc", min_size=1, max_size=20), st.integers(60, 200))
def test_a_text_at_the_edge_is_on_the_first_line(words: list[str], aside: str, width: int) -> None:
    first, *_ = beside(" ".join(words), aside, width)
    assert first.endswith(f"  {aside}")


def test_a_table_that_is_too_wide_has_a_line_for_each_name() -> None:
    rows = [["name", "GPU:0", "GPU:1"], ["a" * 30, "1", "2"]]
    assert list(columns(rows, 80)) == ["name" + " " * 26 + "  GPU:0  GPU:1", "a" * 30 + "  1      2"]
    narrow = list(columns(rows, 40))
    assert narrow[0] == "name"
    assert narrow[2] == "a" * 30
    assert all(len(line) <= 40 for line in narrow)


@pytest.mark.parametrize(("terminal", "columns"), [(0, 80), (79, 80), (132, 132), (500, 200)])
def test_a_report_is_as_wide_as_the_terminal(terminal: int, columns: int) -> None:
    assert columns_of(terminal) == columns


@pytest.mark.parametrize(
    ("seconds", "speedup", "words"),
    [
        (5.0, 18.3, "up to 18× faster"),
        (5.0, 9.97, "up to 10× faster"),
        (5.0, 4.0, "up to 4× faster"),
        (5.0, 1.25, "up to 1.2× faster"),
        (0.1, 1.04, "up to 4 % faster"),
    ],
)
def test_a_gain_is_an_upper_bound(seconds: float, speedup: float, words: str) -> None:
    one = replace(ADVICE[0], seconds=seconds, speedup=speedup)
    assert gain(one, True) == words
    assert gain(one, False) == f"then {words}"


def test_the_slowest_step_says_what_it_did() -> None:
    one = report()
    assert one.time is not None
    slow = StepTime(32, 1.0, 0.9, {"checkpoint": 0.8, "launch": 0.1})
    slowed = replace(one, time=replace(one.time, each=(*one.time.each, slow)))
    assert "slowest: step 32, 900 ms (checkpoint 800 ms)" in render("text", slowed, False)


@pytest.mark.parametrize("unit", ["ms", "µs", "s", "%", "×", "MiB", "B"])
def test_a_number_stays_with_its_unit(unit: str) -> None:
    for width in range(8, 30):
        assert any(f"48.8 {unit}" in line for line in block(f"word 48.8 {unit}, 9 more", width))
