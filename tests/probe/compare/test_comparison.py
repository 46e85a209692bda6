"""Differences between two runs count if they exceed the noise."""

from __future__ import annotations

import json as parser
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gpulint.cli.main import main
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Sample, Where
from gpulint.probe.compare import json, page, text
from gpulint.probe.compare.comparison import Change, Comparison, compared
from gpulint.probe.compare.words import change, headline
from gpulint.probe.expectations.expectation import Expectation, Level, Status
from gpulint.probe.measures.time_spent import StepTime, TimeSpent
from gpulint.probe.report import RunReport
from tests.probe.advice.times import spent

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "mirrored.jsonl"
LINE = Where("/p/train.py", 6)


def run(time: TimeSpent | None, peak: int = 0, *checks: Expectation, version: str = "2.21.0") -> RunReport:
    memory = [Sample(1.0, "steps", {"GPU:0": (peak, peak)})] if peak else []
    capture = Capture(tensorflow={"tensorflow": version}, logical=("CPU:0", "GPU:0"), memory=memory)
    return RunReport(capture, checks, 0, time)


def test_a_table_that_is_too_wide_has_several_lines_for_each_measure() -> None:
    before, after = run(spent({"input": 8.0})), run(spent({"input": 4.0}))
    device = "worker" * 20
    for one in (before, after):
        one.capture.memory.append(Sample(1.0, "steps", {device: (1 << 30, 1 << 30)}))
    found = text.render(compared(before, after), False, 60)
    assert "step: input\n  " in found and device[:40] in found


def check(status: Status, row: int = 6, subject: str = "slow input") -> Expectation:
    return Expectation("input-wait", status, Level.WARN, subject, "a small share", "80 %", where=LINE._replace(row=row))


def measure(comparison: Comparison, name: str) -> Change:
    return next(one for one in comparison.changes if one.name == name)


def test_a_part_that_was_not_recorded_has_not_changed() -> None:
    found = compared(run(spent({"input": 8.0}, unrecorded=4.0)), run(spent({"input": 8.0, "launch": 4.0})))
    assert {one.name: (one.before, one.verdict) for one in found.changes} == {
        "step": (0.12, "same"),
        "median step": (0.12, "same"),
        "step: input": (0.08, "same"),
        "step: launch": (None, "unknown"),
    }


def test_a_faster_step_is_reported_with_its_parts() -> None:
    before = spent({"input": 80.0, "launch": 4.0}, busy={"GPU:0": 0.01})
    after = spent({"input": 8.0, "launch": 4.0}, busy={"GPU:0": 0.3})
    found = compared(run(before, 100 << 20), run(after, 300 << 20))
    assert headline(found) == "A step takes 120 ms instead of 840 ms: 7× faster."
    verdicts = {one.name: one.verdict for one in found.changes}
    assert verdicts == {
        "step": "better",
        "median step": "better",
        "step: input": "better",
        "step: launch": "same",
        "GPU:0 busy": "better",
        "GPU:0 peak memory": "worse",
    }
    assert [one.name for one in found.regressions(0.05)] == ["GPU:0 peak memory"]
    assert not found.regressions(2.0)


def noisy(time: TimeSpent) -> TimeSpent:
    each = tuple(StepTime(one.number, one.ended, one.seconds * (1 + one.number % 5), one.parts) for one in time.each)
    return replace(time, each=each)


def test_a_difference_within_the_noise_of_the_steps_is_none() -> None:
    before, after = spent({"launch": 10.0}, 20), spent({"launch": 11.0}, 20)
    assert measure(compared(run(before), run(after)), "step").verdict == "worse"
    found = compared(run(noisy(before)), run(noisy(after)))
    assert measure(found, "step").verdict == "same"
    assert change(measure(found, "step")) == "within noise"
    assert not found.regressions(0)


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.integers(2, 60))
def test_the_other_way_round_is_the_opposite(first: float, second: float, steps: int) -> None:
    one, other = run(spent({"launch": first}, steps)), run(spent({"launch": second}, steps))
    forward, backward = measure(compared(one, other), "step"), measure(compared(other, one), "step")
    opposite = {"better": "worse", "worse": "better"}
    if abs(first - second) > 0.03 * max(first, second):
        assert opposite[forward.verdict] == backward.verdict
    same = compared(one, one)
    assert {each.verdict for each in same.changes} == {"same"}
    assert not same.regressions(0)


def test_explanations_are_no_regressions() -> None:
    before, after = spent({"input": 8.0, "launch": 1.0}), spent({"input": 1.0, "launch": 3.0})
    found = compared(run(before), run(after))
    assert measure(found, "step: launch").verdict == "worse"
    assert not found.regressions(0)


def test_checks_are_followed_where_lines_moved() -> None:
    before = run(None, 0, check(Status.WARN), check(Status.PASS, subject="copies"))
    after = run(None, 0, check(Status.PASS, row=9), check(Status.FAIL, subject="copies"), check(Status.WARN, 30, "new"))
    found = compared(before, after)
    assert [(one.check.subject, one.before, one.after, one.is_new) for one in found.verdicts] == [
        ("copies", Status.PASS, Status.FAIL, True),
        ("new", None, Status.WARN, True),
        ("slow input", Status.WARN, Status.PASS, False),
    ]
    assert not compared(before, run(None, 0, check(Status.WARN, row=9), check(Status.PASS, subject="copies"))).verdicts


def test_other_circumstances_are_reported() -> None:
    found = compared(run(None), run(None, version="2.16.1"))
    assert found.differences == ("TensorFlow: 2.21.0 before, 2.16.1 after",)
    assert headline(found) == "No steps to compare."


def test_every_form_says_the_same() -> None:
    time = spent({"launch": 10.0})
    found = compared(run(time), run(spent({"launch": 30.0}), 0, check(Status.FAIL)))
    for shown in (text.render(found, False), json.render(found), page.render(found)):
        assert "A step takes 300 ms instead of 100 ms: 3× slower." in shown
        assert "slow input" in shown
    content = parser.loads(json.render(found))
    assert content["changes"][0]["growth"] == pytest.approx(2.0)
    assert content["verdicts"][0]["after"] == "fail"


def test_a_run_is_the_same_as_itself(tmp_path: Path) -> None:
    arguments = ["probe", "--isolated", "--compare", str(CAPTURE), str(CAPTURE), "--fail-on-regression", "0"]
    done = CliRunner().invoke(main, [*arguments, "--html", str(tmp_path / "a.html")])
    assert done.exit_code == 0, done.output
    assert "worse" not in (tmp_path / "a.html").read_text(encoding="utf-8").split("<main>")[1].split("</main>")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--compare", "a", "b", "--output-format", "junit"], "--compare reports as text or json"),
        (["--fail-on-regression", "5", "a.py"], "--fail-on-regression needs --compare"),
        (["--compare", "nowhere", str(CAPTURE)], "nowhere: No such file"),
        (["--compare", str(CAPTURE), __file__], "not a gpulint capture"),
        (["--compare", str(CAPTURE), str(CAPTURE), "--replay", "c"], "name one program"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(main, ["probe", "--isolated", *arguments])
    assert done.exit_code == 2
    assert message in done.stderr and done.stderr.count("\n") == 1
