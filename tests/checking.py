"""Checks of programs in tests. An internal error of gpulint fails the test, whatever findings it expects."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from gpulint.linting.engine import Checker
from gpulint.linting.finding import Finding
from gpulint.linting.own_codes import SYNTAX_ERROR
from gpulint.linting.pack import load
from gpulint.linting.result import CheckResult
from gpulint.linting.rule import Rule
from gpulint.linting.selection import Catalogue
from gpulint.settings import LintSettings, Settings, SettingsFinder

PACK = load(installed=False)


def findings_of(result: CheckResult) -> list[Finding]:
    """The findings of a check without internal errors."""
    assert not result.errors, "\n".join(trace for _, trace in result.errors)
    return result.findings


def codes_of(result: CheckResult) -> set[str]:
    return {finding.code for finding in findings_of(result)}


def findings_in(text: str, directory: Path, pack: Sequence[type[Rule]] = PACK) -> list[Finding]:
    """The findings of all rules in one program, which must parse."""
    path = directory / "program.py"
    path.write_text(text, encoding="utf-8")
    finder = SettingsFinder(Settings(root=str(directory), lint=LintSettings(select=("ALL",))))
    found = findings_of(Checker(finder, Catalogue(pack)).check([str(path)]))
    assert not any(one.code == SYNTAX_ERROR for one in found), found
    return found


def only_finding(code: str, text: str, directory: Path) -> Finding:
    """The only finding of a rule in one program."""
    found = [one for one in findings_in(text, directory) if one.code == code]
    assert len(found) == 1, found
    return found[0]


def codes_in(text: str, directory: Path, pack: Sequence[type[Rule]] = PACK) -> set[str]:
    return {finding.code for finding in findings_in(text, directory, pack)}


def findings_in_project(directory: Path, **files: str) -> list[Finding]:
    """The findings of the default rules in the modules of a project for a known release, which must parse."""
    for name, text in files.items():
        (directory / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    paths = [str(directory / f"{name}.py") for name in files]
    finder = SettingsFinder(Settings(root=str(directory), target_origin="requirements.txt"))
    found = findings_of(Checker(finder, Catalogue(PACK)).check(paths))
    assert not any(one.code == SYNTAX_ERROR for one in found), found
    return found


def codes_in_project(directory: Path, **files: str) -> set[str]:
    return {finding.code for finding in findings_in_project(directory, **files)}
