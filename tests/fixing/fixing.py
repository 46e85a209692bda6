"""Fixing programs in a directory, as `check --fix` does, without a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpulint.checking import Checked
from gpulint.fixing.rounds import Fixed, Fixer
from gpulint.linting.engine import Checker
from gpulint.linting.result import CheckResult
from gpulint.linting.selection import Catalogue
from gpulint.settings import LintSettings, Settings, SettingsFinder
from tests.checking import PACK, findings_of

CATALOGUE = Catalogue(PACK)


def fixed(
    paths: Sequence[Path],
    unsafe: bool = True,
    select: Sequence[str] = ("ALL",),
    given: Mapping[str, bytes] | None = None,
    checks: list[CheckResult] | None = None,
) -> Fixed:
    """What fixing some files would write; `given` are contents to start from. The first file stands in the
    directory that the settings are for. The results of all checks are added to `checks`."""
    root = str(paths[0].parent)
    finder = SettingsFinder(
        Settings(root=root, lint=LintSettings(select=tuple(select)), extension=(("md", "markdown"),))
    )

    def check(names: Sequence[str], contents: Mapping[str, bytes]) -> Checked:
        checker = Checker(finder, CATALOGUE)
        result = checker.check(names, {**(given or {}), **contents})
        findings_of(result)
        if checks is not None:
            checks.append(result)
        return Checked(result, checker.files)

    names = [str(path) for path in paths]
    return Fixer(check, lambda path: unsafe).run(check(names, {}), names)


def fixed_text(text: str | bytes, directory: Path, unsafe: bool = True, select: Sequence[str] = ("ALL",)) -> str:
    """A program after its fixes; its file is not changed."""
    path = directory / "program.py"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    outcome = fixed([path], unsafe, select)
    return outcome.after[str(path)].text if outcome.after else path.read_bytes().decode()
