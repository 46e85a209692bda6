"""What terminals show: colors, links, and lines that are as wide as the terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.confidence import Confidence
from gpulint.linting.finding import Finding, Related, Severity
from gpulint.linting.result import CheckResult
from gpulint.output.style import PLAIN, Style, shows_links
from gpulint.output.view import View, render
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix

SITE = "https://gpulint.example/"
PAGE = f"{SITE}rules/hardcoded-device/"
ROW = '    with tf.device("/gpu:0" if options.first else "/gpu:1"):  # ' + "the second card is free " * 9
FOUND = Finding(
    "GPU101",
    "hardcoded-device",
    Severity.WARNING,
    Span("train.py", 30, 10, 30, 60),
    "operations are pinned to `/gpu:0`, which is the first of several",
    ", ".join(["the work is confined to one GPU"] * 6),
    "remove the device scope",
    Confidence.INFERRED,
    (Related(Span("other.py", 7, 5, 7, 9), "the device is named here"),),
    cost="2× slower",
)


def shown(form: str, style: Style, finding: Finding = FOUND, row: str = ROW) -> str:
    return render(form, CheckResult([finding], files=1), View(style, lambda path, number, cell=None: row))


def visible(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\", "", text)


@pytest.mark.parametrize("form", ["text", "full"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_the_terminal_and_lose_no_word(form: str, width: int) -> None:
    out = shown(form, Style(width=width))
    wide = [line for line in out.splitlines() if len(line) > width and "http" not in line]
    assert not wide
    words = shown(form, PLAIN).split()
    beside_source = [word for word in words if word in FOUND.why or word in FOUND.message]
    assert all(word in out.split() for word in beside_source)


def test_further_lines_are_indented_as_far_as_the_text() -> None:
    lines = shown("text", Style(width=60)).splitlines()
    (why,) = [number for number, line in enumerate(lines) if "= why:" in line]
    start = lines[why].index("the work")
    assert lines[why + 1][:start].isspace() and lines[why + 1][start] != " "


def test_output_that_goes_elsewhere_has_lines_of_any_length() -> None:
    (why,) = [line for line in shown("text", PLAIN).splitlines() if "= why:" in line]
    assert why.endswith(FOUND.why)


@given(st.integers(0, 300), st.integers(1, 40), st.integers(40, 150), st.integers(0, 500))
def test_marks_stay_under_the_span_of_a_row_that_is_cut(start: int, length: int, width: int, behind: int) -> None:
    row = "." * start + "x" * length + "." * behind
    finding = replace(FOUND, span=Span("a.py", 3, start + 1, 3, start + length + 1), related=())
    lines = shown("text", Style(width=width), finding, row).splitlines()
    (place,) = [number for number, line in enumerate(lines) if line.startswith("3 |")]
    code, marks = lines[place : place + 2]
    assert len(code) <= max(width, 44) and len(marks) <= max(width, 44)
    at = [index for index, char in enumerate(marks) if char == "^"]
    assert at and code[at[0]] == "x" and set(code[at[0] : at[-1] + 1]) <= {"x", "…"}


@pytest.mark.parametrize("form", ["text", "full", "concise", "grouped"])
def test_colors_and_links_change_nothing_else(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpulint.output.site.SITE", SITE)
    out = shown(form, Style(True, True))
    assert "\x1b[1;93m" in out and f"\x1b]8;;{PAGE}\x1b\\" in out
    assert visible(out) == shown(form, PLAIN)
    assert "\x1b" not in shown(form, PLAIN)


def test_rules_without_a_page_have_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b]8" not in shown("text", Style(True, True))
    monkeypatch.setattr("gpulint.output.site.SITE", SITE)
    assert "\x1b]8" not in shown("text", Style(True, True), replace(FOUND, code="ACM001"))


def test_the_first_line_says_what_a_finding_costs() -> None:
    assert shown("text", PLAIN).splitlines()[0].endswith("which is the first of several (2× slower)")
    assert "slower" not in shown("text", PLAIN, replace(FOUND, cost=""))


@pytest.mark.parametrize("form", ["concise", "grouped"])
def test_a_line_has_the_severity_and_the_mark_of_a_fix(form: str) -> None:
    edit = Edit(Span("train.py", 30, 1, 30, 2), "")
    fixable = replace(FOUND, fix=Fix(Applicability.SAFE, "Remove it", (edit,)))
    assert "warning[GPU101] [*] operations are pinned" in shown(form, PLAIN, fixable)
    assert "error[GPU101] operations are pinned" in shown(form, PLAIN, replace(FOUND, severity=Severity.ERROR))


@pytest.mark.parametrize(
    ("environment", "is_terminal", "links"),
    [
        ({}, True, False),
        ({"VTE_VERSION": "7600"}, True, True),
        ({"VTE_VERSION": "7600"}, False, False),
        ({"TERM_PROGRAM": "vscode"}, True, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, True, False),
        ({"FORCE_HYPERLINK": "1"}, False, True),
        ({"FORCE_HYPERLINK": "0", "VTE_VERSION": "7600"}, True, False),
    ],
)
def test_links_are_for_terminals_that_show_them(environment: dict[str, str], is_terminal: bool, links: bool) -> None:
    assert shows_links(environment, is_terminal) is links
