"""Every form of the report says what was seen, whatever the names in it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Execution, Strategy, Variable, Where
from gpulint.probe.expectations.expectation import Expectation, Level, Status
from gpulint.probe.report import FORMATS, RunReport, render

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
        ["expected:", "inside;", "observed:", "confirmed:", "CPU:0", "only"],
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
    assert [child.tag for case in suite for child in case] == ["failure", "system-out", "skipped", "skipped"]
    failed = ElementTree.fromstring(render("junit", report(status=3), False))
    assert failed.get("errors") == "1"
    assert failed[-1][0].tag == "error"
