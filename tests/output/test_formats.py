"""Each output format can be read by its reader, whatever names and messages contain."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulint.cli.main import main
from gpulint.confidence import Confidence
from gpulint.linting import pack
from gpulint.linting.finding import Finding, Related, Severity, Silenced
from gpulint.linting.result import CheckResult
from gpulint.output import formats
from gpulint.output.escapes import encodable, printable_rows
from gpulint.output.findings_schema import SCHEMAS
from gpulint.output.style import PLAIN
from gpulint.output.view import View, render
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from tests.output.readers import azure_command, github_command, old_github_command

SCHEMA = json.loads((Path(__file__).parent.parent / "schemas" / "sarif-2.1.0.json").read_text())
RULES = pack.load(installed=False)

_BITS = (
    "::error file=a,line=1::", "##vso[task.setvariable variable=x]", "##[error]", "\n", "\r", "\r\n", "\x1b[31m",
    "\x9b2J", "%", "%0A", "%25", ",", ";", "]", ":", "=", "<b>&amp;", "]]>", "<!--", '"', "'", "\\", "`", "|",
    "\u202e", "\u2028", "\u200b", "\udcff", "é", "日本", "\U0001f525", "../", " ", "\t", "#", "\x00", "\x7f", "\ufffe",
)  # fmt: skip
hostile = st.one_of(
    st.text(max_size=9),
    st.lists(st.sampled_from(_BITS), max_size=6).map("".join),
)
names = hostile.map(lambda text: text.replace("\0", "").replace("/", "-")).filter(
    lambda name: name not in ("", ".", "..")
)


def span(path: str, row: int = 3, rows: int = 0) -> Span:
    return Span(path, row, 2, row + rows, 9)


findings = st.builds(
    lambda path, severity, message, related, rows, context, why: Finding(
        "GPU101",
        "hardcoded-device",
        severity,
        span(path, rows=rows),
        message,
        why,
        "leave it",
        Confidence.INFERRED,
        tuple(Related(span(where, 7), said) for where, said in related),
        context,
        "0123456789abcdef",
        3,
    ),
    names,
    st.sampled_from(Severity),
    hostile,
    st.lists(st.tuples(names, hostile), max_size=2),
    st.integers(0, 6),
    hostile,
    hostile,
)
results = st.builds(
    lambda found, silenced, reason, faults: CheckResult(
        sorted(found, key=lambda one: (one.span.path, one.span.row)),
        [Silenced(one, reason) for one in silenced],
        [(fault, f"Traceback\n{fault}") for fault in faults],
        3,
        2,
    ),
    st.lists(findings, max_size=4),
    st.lists(findings, max_size=2),
    hostile,
    st.lists(hostile, max_size=1),
)


def shown(form: str, result: CheckResult, line: str = "with tf.device('é'):  # ##vso[x]y \x1b") -> str:
    text = render(form, result, View(PLAIN, lambda path, row, cell=None: line, lambda: RULES, 1))
    text.encode("utf-8")
    lines = text.split("\n")
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for one in lines for char in one.replace("\t", "")), form
    if form != "azure":
        assert not any(azure_command(one) or old_github_command(one) for one in lines), form
    if form != "github":
        known = ("error", "warning", "notice", "debug", "group", "add-mask", "set-output", "stop-commands")
        assert not any((command := github_command(one)) and command.name in known for one in lines), form
    return text


@given(results)
@settings(max_examples=25)
@pytest.mark.parametrize("form", ["text", "full", "concise", "grouped", "pylint"])
def test_what_people_read_has_a_fixed_number_of_lines(form: str, result: CheckResult) -> None:
    lines = shown(form, result).split("\n")
    number = len(result.findings)
    if form == "pylint":
        assert len(lines) == number + 1
    elif form == "concise":
        assert len(lines) == number + 2
    elif form == "grouped":
        assert len(lines) == number + 2 * len({one.span.path for one in result.findings}) + 2
    else:
        assert sum(line.startswith(("error[", "warning[", "info[")) for line in lines) == number


@given(results)
@settings(max_examples=25)
@pytest.mark.parametrize("form", ["json", "json-lines"])
def test_json_gives_names_and_messages_back(form: str, result: CheckResult) -> None:
    text = shown(form, result)
    read = json.loads(text) if form == "json" else [json.loads(line) for line in text.split("\n")[:-1]]
    assert [(one["filename"], one["message"], one["severity"]) for one in read] == [
        (encodable(one.span.path), encodable(one.message), one.severity.value) for one in result.findings
    ]


@given(results)
@settings(max_examples=25)
def test_sarif_keeps_to_its_schema(result: CheckResult) -> None:
    document = json.loads(shown("sarif", result))
    jsonschema.Draft4Validator(SCHEMA).validate(document)
    (run,) = document["runs"]
    located = [one["locations"][0]["physicalLocation"]["artifactLocation"] for one in run["results"]]
    everything = [*result.findings, *(one.finding for one in result.suppressed)]
    assert [(unquote_to_bytes(one["uri"]), one["uriBaseId"]) for one in located] == [
        (_bytes(one.span.path), "%SRCROOT%") for one in everything
    ]
    assert [one.get("suppressions", [{}])[0].get("kind") for one in run["results"]] == (
        [None] * len(result.findings) + ["inSource"] * len(result.suppressed)
    )
    assert run["invocations"][0]["executionSuccessful"] is not bool(result.errors)


@given(results)
@settings(max_examples=25)
def test_github_reads_one_command_a_finding(result: CheckResult) -> None:
    commands = [github_command(line) for line in shown("github", result).split("\n")[:-1]]
    levels = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
    assert len(commands) == len(result.findings)
    for command, one in zip(commands, result.findings, strict=True):
        assert command is not None and command.name == levels[one.severity]
        assert command.properties["file"] == printable_rows(one.span.path)
        assert command.data.startswith(f"{printable_rows(one.span.path)}:3:2: GPU101 {printable_rows(one.message)}")
        assert ("col" in command.properties) is (one.span.row == one.span.end_row)


@given(results)
@settings(max_examples=25)
def test_azure_reads_one_command_a_finding(result: CheckResult) -> None:
    commands = [azure_command(line) for line in shown("azure", result).split("\n")[:-1]]
    assert len(commands) == len(result.findings)
    for command, one in zip(commands, result.findings, strict=True):
        assert command is not None and command.name == "task.logissue"
        assert command.properties["sourcepath"] == printable_rows(one.span.path)
        assert (command.properties["code"], command.data) == ("GPU101", printable_rows(one.message))


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


@given(results)
@settings(max_examples=25)
def test_junit_has_a_failed_case_for_each_finding(result: CheckResult) -> None:
    root = ElementTree.fromstring(shown("junit", result))
    assert len(root.findall(".//failure")) == len(result.findings)
    assert len(root.findall(".//error")) == len(result.errors)
    for suite in root.findall("testsuite"):
        assert int(suite.get("tests", "-1")) == len(suite.findall("testcase")) > 0
        assert int(suite.get("failures", "-1")) == len(suite.findall("testcase/failure"))


def test_names_of_junit_cases_stay_when_lines_move() -> None:
    def name(finding: Finding) -> str | None:
        case = ElementTree.fromstring(shown("junit", CheckResult([finding], files=1))).find(".//testcase")
        assert case is not None
        return case.get("name")

    assert name(FOUND) == name(replace(FOUND, span=span("a.py", 99))) == "GPU101 hardcoded-device in f.g [ab]"


@given(results)
@settings(max_examples=25)
def test_gitlab_and_reviewdog_read_every_finding(result: CheckResult) -> None:
    issues = json.loads(shown("gitlab", result))
    assert [set(one) for one in issues] == [
        {"description", "check_name", "fingerprint", "severity", "location"} for _ in result.findings
    ]
    assert {one["severity"] for one in issues} <= {"info", "minor", "major", "critical", "blocker"}
    diagnostics = json.loads(shown("rdjson", result))["diagnostics"]
    assert [one["location"]["path"] for one in diagnostics] == [encodable(one.span.path) for one in result.findings]
    assert {one["severity"] for one in diagnostics} <= {"ERROR", "WARNING", "INFO"}


FOUND = Finding(
    "GPU101", "hardcoded-device", Severity.WARNING, span("a.py"), "pinned", "why", "instead",
    related=(Related(span("b.py", 5), "the strategy is created here"),), context="f.g", fingerprint="ab", noqa_row=3,
)  # fmt: skip


def test_every_format_says_what_it_is_and_renders_nothing_at_all() -> None:
    for form in formats.NAMES:
        assert formats.summary_of(form).endswith("."), form
        assert shown(form, CheckResult(files=1)) == shown(form, CheckResult(files=1))


def test_an_unknown_format_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        render("nonsense", CheckResult(), View(PLAIN, lambda path, row, cell=None: ""))


def test_sarif_has_all_rules_that_were_on_the_way_and_a_fingerprint_without_rows() -> None:
    (run,) = json.loads(shown("sarif", CheckResult([FOUND])))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.code for rule in RULES]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "GPU101"
    assert result["partialFingerprints"] == {"gpulint/v1": "ab"}
    (flow,) = result["codeFlows"]
    steps = [step["location"] for step in flow["threadFlows"][0]["locations"]]
    assert [(one["physicalLocation"]["region"]["startLine"], one["message"]["text"]) for one in steps] == [
        (5, "the strategy is created here"),
        (3, "pinned"),
    ]


def test_sarif_names_files_outside_of_the_working_directory_absolutely(tmp_path: Path) -> None:
    (run,) = json.loads(shown("sarif", CheckResult([replace(FOUND, span=span(str(tmp_path / "a b.py")))])))["runs"]
    location = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": (tmp_path / "a b.py").as_uri()}


@pytest.mark.parametrize(("code", "has_page"), [("GPU999", True), ("ACM001", False)])
def test_only_rules_that_ship_have_a_page_on_the_site(
    code: str, has_page: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = Finding(code, "small-batch", Severity.WARNING, span("a.py"), "a batch of 8", "why", "instead")
    result = CheckResult([finding], [], [], 1, 1)
    forms = ("json", "json-lines", "full", "rdjson", "sarif")
    assert [form for form in forms if "rules/small-batch/" in shown(form, result)] == []  # there is no site yet
    monkeypatch.setattr("gpulint.output.site.SITE", "https://gpulint.example/")
    assert [form for form in forms if "rules/small-batch/" in shown(form, result)] == [*forms] * has_page


def test_fixes_are_in_every_format_that_has_a_place_for_them() -> None:
    edit = Edit(Span("a.py", 3, 2, 3, 4), "é\n")
    result = CheckResult([replace(FOUND, span=span("a.py"), fix=Fix(Applicability.SAFE, "Build it there", (edit,)))])
    (finding,) = json.loads(shown("json", result))
    assert finding["fix"]["applicability"] == "safe"
    assert finding["fix"]["edits"] == [
        {"content": "é\n", "location": {"row": 3, "column": 2}, "end_location": {"row": 3, "column": 4}, "cell": None}
    ]
    document = json.loads(shown("sarif", result))
    jsonschema.Draft4Validator(SCHEMA).validate(document)
    (fix,) = document["runs"][0]["results"][0]["fixes"]
    assert fix["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == "é\n"
    (diagnostic,) = json.loads(shown("rdjson", result, "éé with x:"))["diagnostics"]
    assert diagnostic["suggestions"] == [
        {"range": {"start": {"line": 3, "column": 3}, "end": {"line": 3, "column": 6}}, "text": "é\n"}
    ]
    assert "= fix: Build it there\n" in shown("text", result)
    assert "fix (safe): Build it there" in (github_command(shown("github", result)) or ("", {}, ""))[2]


@pytest.mark.parametrize("form", formats.NAMES)
@pytest.mark.skipif(os.name != "posix", reason="file names are text elsewhere")
def test_a_file_name_that_is_no_text_is_checked_and_named(form: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path(os.fsdecode(b"::error::\xff\n.py")).write_text(
        "import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(4)\n"
    )
    result = CliRunner().invoke(main, ["check", "--output-format", form, "--output-file", "out"])
    assert (result.exit_code, result.exception.__class__) == (1, SystemExit)
    text = (tmp_path / "out").read_text(encoding="utf-8")
    assert "GPU101" in text or "hardcoded-device" in text


@given(results)
@settings(max_examples=25)
@pytest.mark.parametrize("form", sorted(SCHEMAS))
def test_findings_match_their_schema(form: str, result: CheckResult) -> None:
    jsonschema.validate(json.loads(shown(form, result)), SCHEMAS[form]())


@pytest.mark.parametrize("form", sorted(SCHEMAS))
def test_a_schema_is_printed_and_takes_nothing_else(form: str) -> None:
    schema = json.loads(CliRunner().invoke(main, ["config", "--schema", form]).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema == SCHEMAS[form]()
    assert not jsonschema.Draft7Validator(schema).is_valid([{"code": "GPU101"}])


def test_the_documentation_shows_every_format_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "output.md").read_text()
    program = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    examples = dict(re.findall(r"^## (\S+)\n.*?^```\w+\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    assert tuple(examples) == formats.NAMES and program is not None
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(program[1])
    for form, example in examples.items():
        out = CliRunner().invoke(main, ["check", "--output-format", form, "train.py"]).stdout
        if form == "sarif":
            (result,) = json.loads(example)["runs"][0]["results"]
            assert result | {"ruleIndex": 0} == json.loads(out)["runs"][0]["results"][0] | {"ruleIndex": 0}
        elif form == "json-full":
            shown, whole = json.loads(example), json.loads(out)
            (suppressed,), (silenced,) = shown["suppressed"], whole["suppressed"]
            assert suppressed.items() <= silenced.items()
            assert [one["code"] for one in whole["findings"]] == ["GPU101"]
            assert shown == {**whole, "findings": [], "suppressed": [suppressed]}
        else:
            assert out == example, form


def test_help_lists_every_format() -> None:
    text = CliRunner().invoke(main, ["check", "--help"]).stdout
    assert all(re.search(rf"\b{form}\b", text) for form in formats.NAMES)
    assert all(form in CliRunner().invoke(main, ["config", "output-format"]).stdout for form in formats.NAMES)
