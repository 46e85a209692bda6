"""Every format reports what was observed, whatever the names in it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import replace

import pytest

from gpulint.probe.advice.advice import Advice
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Execution, Strategy, Variable, Where
from gpulint.probe.expectations.expectation import Expectation, Level, Status
from gpulint.probe.measures.holders import Held, Holder
from gpulint.probe.measures.time_spent import PartAt
from gpulint.probe.report import FORMATS, RunReport, render
from tests.probe.advice.times import spent

HOSTILE = 'a<b>&"\x1b[31m\x00é[bold]\u2028'
PLACE = Where("/p/tr ain.py", 7)
BROKEN = Expectation(
    "prediction",
    Status.FAIL,
    Level.ERROR,
    "model outside",
    "inside",
    "confirmed: CPU:0 only",
    "GPU201",
    PLACE,
    ("e",),
    "move it",
)
EXPECTATIONS = [
    BROKEN,
    Expectation("retrace", Status.WARN, Level.WARN, "traces of `f`", "at most 5", "9", "GPU504", PLACE),
    Expectation("mem-leak", Status.INCONCLUSIVE, Level.WARN, "memory", "does not grow", "3 samples"),
    Expectation("scope-placement", Status.SKIP, Level.WARN, "operations under GPU:0", "on GPU:0", "no GPU here"),
    Expectation("configuration", Status.PASS, Level.ERROR, HOSTILE, HOSTILE, HOSTILE),
]


def report(**end: object) -> RunReport:
    capture = Capture(
        process={"python": "3.11.7", "main": "train.py"},
        tensorflow={"tensorflow": "2.21.0"},
        logical=("CPU:0", "CPU:1"),
        strategies=[Strategy(1, "MirroredStrategy", ("CPU:0", "CPU:1"), 2, PLACE)],
        variables=[Variable("kernel", (4, 8), "float32", 128, "CPU:0", PLACE)],
        executions=Counter({Execution(PLACE, "MatMul", "", "CPU:0"): 1234, Execution(None, HOSTILE, "", "CPU:1"): 1}),
        error=HOSTILE if end.get("status") else "",
        end={"status": 0, "signal": None, "reason": "exit", "seconds": 2.5, **end},
    )
    return RunReport(capture, EXPECTATIONS, 1)


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_has_no_control_characters(form: str) -> None:
    text = render(form, report(status=1), False)
    assert not [char for char in text if ord(char) < 32 and char != "\n"]


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(KeyError):
        render("yaml", report(), False)


def test_the_text_says_what_is_broken_and_how_it_ended() -> None:
    text = render("text", report(), False)
    assert "train.py · TensorFlow 2.21.0 · CPU:0, CPU:1 · MirroredStrategy of 2 · 2.5 s in all" in text
    assert "Checks  1 failed, 1 warning, 1 inconclusive, 1 not applicable, 1 passed (-v shows them)" in text
    violated = text[text.index("  failed") :].splitlines()[:4]
    assert [line.split() for line in violated] == [
        ["failed", "GPU201", "model", "outside", "/p/tr", "ain.py:7"],
        ["confirmed:", "CPU:0", "only"],
        ["-", "e"],
        ["Move", "it."],
    ]
    assert "1,234" not in text
    assert "1,234" in render("text", report(), False, verbose=True)
    assert "signal 9" in render("text", report(status=None, signal=9), False)
    assert "stopped (timeout)" in render("text", report(status=None, reason="timeout"), False)


def test_json_has_every_expectation_with_its_origin() -> None:
    content = json.loads(render("json", report(), False))
    assert [one["status"] for one in content["expectations"]] == ["fail", "warn", "inconclusive", "skip", "pass"]
    first = content["expectations"][0]
    assert first["origin"] == {"filename": "/p/tr ain.py", "row": 7}
    assert (first["code"], first["level"], first["fix"], first["evidence"]) == ("GPU201", "error", "move it", ["e"])
    assert content["placements"][0]["count"] in (1, 1234)


def test_sarif_has_the_violations_that_have_a_line() -> None:
    (run,) = json.loads(render("sarif", report(), False))["runs"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [("GPU201", "error"), ("GPU504", "warning")]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 7}
    assert place["artifactLocation"]["uri"].endswith("/p/tr%20ain.py")
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["GPU201", "GPU504"]


def test_junit_has_a_case_for_each_expectation() -> None:
    suite = ElementTree.fromstring(render("junit", report(), False))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (
        "6",
        "1",
        "0",
        "2",
    )
    cases = [case for case in suite if case.tag == "testcase"]
    assert [child.tag for case in cases for child in case] == ["failure", "system-out", "skipped", "skipped"]
    failed = ElementTree.fromstring(render("junit", report(status=3), False))
    assert failed.get("errors") == "1"
    assert failed[-1][0].tag == "error"


ADVICE = Advice("eager-step", "GPU508", PLACE, "Python runs 80 operations", "Of 8 steps.", "Trace it.", 3.0, 4.0)
COPY = Advice("copies", None, Where("/p/b.py", 3), "`MatMul` needs a tensor", "1 copy.", "Move it.", 1.0, 2.0)
TIME = spent(
    {"launch": 4.0, "gpu": 1.0}, 50, [PartAt("launch", PLACE, 4.0, 50, "train")], {"GPU:0": 0.2, "GPU:1": None}
)


def advised() -> RunReport:
    return replace(report(), time=TIME, advice=(ADVICE, COPY))


def test_json_has_the_time_and_the_advice() -> None:
    content = json.loads(render("json", advised(), False))
    time = content["time"]
    assert (time["seconds"], time["steps"], time["step"]["median"]) == (5.0, 50, 0.1)
    assert time["parts"] == [
        {"name": "gpu", "seconds": 1.0, "share": 0.2},
        {"name": "launch", "seconds": 4.0, "share": 0.8},
    ]
    assert time["devices"] == {
        "GPU:0": {"busy_share": 0.2, "kernels_per_step": 10.0},
        "GPU:1": {"busy_share": None, "kernels_per_step": 10.0},
    }
    assert content["advice"][0] == {
        "rank": 1,
        "cause": "eager-step",
        "code": "GPU508",
        "filename": "/p/tr ain.py",
        "row": 7,
        "text": "Python runs 80 operations",
        "evidence": "Of 8 steps.",
        "fix": "Trace it.",
        "gain": {"seconds": 3.0, "speedup": 4.0},
    }
    assert content["advice"][1]["code"] is None
    assert json.loads(render("json", report(), False))["time"] is None


def test_json_has_the_holders_of_memory() -> None:
    held = Held(
        "GPU:0", 30, 32, None, None, (Holder("GPU:0", "weights", PLACE, 20), Holder("GPU:0", "other", None, 10))
    )
    memory = json.loads(render("json", replace(report(), held=(held,)), False))["memory"]
    assert memory["holders"] == [
        {"device": "GPU:0", "group": "weights", "filename": "/p/tr ain.py", "row": 7, "bytes": 20},
        {"device": "GPU:0", "group": "other", "filename": None, "row": None, "bytes": 10},
    ]
    assert memory["devices"] == [{"device": "GPU:0", "peak": 30, "allocator": 32, "process": None}]
    text = render("text", replace(report(), held=(held,)), False)
    assert "weights 20 B (tr ain.py:7), other 10 B" not in text, "the run has no samples of GPU:0"


def test_sarif_and_junit_have_the_advice() -> None:
    (run,) = json.loads(render("sarif", advised(), False))["runs"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("GPU201", "error"),
        ("GPU504", "warning"),
        ("GPU508", "note"),
        ("copies", "note"),
    ]
    assert run["results"][2]["properties"] == {"rank": 1, "gain": {"seconds": 3.0, "speedup": 4.0}}
    suite = ElementTree.fromstring(render("junit", advised(), False))
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert properties["advice.1"].endswith("Python runs 80 operations: up to 4× faster. Of 8 steps. Trace it.")
    assert "advice.2" in properties


def test_github_has_a_command_for_each() -> None:
    lines = render("github", advised(), False).splitlines()
    assert lines[0].startswith("::notice title=gpulint probe::")
    assert [line.partition(" ")[0] for line in lines] == ["::notice", "::warning", "::warning", "::error", "::warning"]
    assert "title=gpulint (GPU508),file=/p/tr ain.py,line=7::" in lines[1]
    assert "then up to 2× faster%0A1 copy.%0Ahelp: Move it." in lines[2]
