"""The programs of `tests/mdtest`: Markdown files with Python that says what gpulint is to make of it.

A heading starts a test; its code blocks are one program. Where a heading has others below it, its blocks begin each of
their programs. A block after a line such as `` `helpers.py`: `` is that file, the others are parts of `main.py`.
`requirements.txt` and `pyproject.toml` set the TensorFlow release, which is otherwise `TARGET`. Comments say what to
expect:

* `reveal_value(x)  # revealed: 1 | 2`: what `x` stands for there, as `gpulint.analysis.queries.descriptions` words it;
  where the row is reached several times with different values, they are separated by `, then `;
* `# expect: GPU201`: findings of all rules that start on this row; none is expected on any other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from gpulint.analysis import Project, analyse
from gpulint.analysis.domain.values.base import Arguments, Unknown, Value, symbol_of
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.libraries import Libraries
from gpulint.analysis.queries.descriptions import describe
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.engine import Checker
from gpulint.linting.selection import Catalogue
from gpulint.places import Site
from gpulint.settings import LintSettings, Settings, SettingsFinder
from gpulint.sources.decoding import decode
from gpulint.sources.source import Source
from gpulint.syntax.spans import spans
from tests.checking import PACK, findings_of
from tests.programs import EXPECT

ROOT = Path(__file__).parent / "mdtest"

TARGET = "2.21"
"""The TensorFlow release that programs without requirements are for."""

_HEADING = re.compile(r"^(?P<level>#+) +(?P<title>.+?) *$")
_FILE = re.compile(r"^`(?P<name>[\w/]+\.py|requirements\.txt|pyproject\.toml)`:$")
_REVEAL = re.compile(r"reveal_value\(.*\)\s*#\s*revealed: (?P<text>.+?)\s*$")


class Case(NamedTuple):
    """A test: its name and the files of its program."""

    name: str
    files: dict[str, str]


class Heading(NamedTuple):
    """A heading, and the rows of the code blocks right below it, by file."""

    level: int
    title: str
    files: dict[str, list[str]]


def headings_of(path: Path) -> Iterator[Heading]:
    heading, name, in_code = Heading(0, path.stem, {}), "main.py", False
    for line in path.read_text(encoding="utf-8").splitlines():
        if in_code and line.startswith("```"):
            in_code, name = False, "main.py"
        elif in_code:
            assert not line.startswith(("## ", "### ")), f"{path}: a code block is not closed before {line!r}"
            heading.files.setdefault(name, []).append(line)
        elif line.startswith("```"):
            in_code = True
        elif match := _FILE.match(line):
            name = match["name"]
        elif match := _HEADING.match(line):
            yield heading
            heading = Heading(len(match["level"]), match["title"], {})
    assert not in_code, f"{path}: the last code block is not closed"
    yield heading


def cases_of(path: Path) -> Iterator[Case]:
    """The tests of a Markdown file. The rows of a file's blocks count from the first block of it."""
    around: list[Heading] = []
    headings = list(headings_of(path))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        around = [*(one for one in around if one.level < heading.level), heading]
        if heading.files and (following is None or following.level <= heading.level):
            files: defaultdict[str, str] = defaultdict(str)
            for one in around:
                for name, rows in one.files.items():
                    files[name] += "\n".join(rows) + "\n"
            yield Case(": ".join(one.title for one in around[-2:] if one.level > 1 or one is heading), dict(files))


CASES = [
    pytest.param(case, id=f"{path.relative_to(ROOT).with_suffix('')}: {case.name}")
    for path in sorted(ROOT.rglob("*.md"))
    for case in cases_of(path)
]


class Revealing(Libraries):
    """The libraries, and `reveal_value`, which records its argument."""

    def __init__(self, machine: Machine, revealed: dict[Site, list[str]]) -> None:
        super().__init__(machine)
        self._revealed = revealed

    def call_value(self, function: Value, arguments: Arguments, site: Site) -> Value:
        if type(function) is Unknown and symbol_of(function).parts[-1] == "reveal_value":
            seen = self._revealed.setdefault(site, [])
            text = describe(self._machine.choose(arguments.positional[0]))
            if text not in seen:
                seen.append(text)
        return super().call_value(function, arguments, site)


def revealed_in(files: dict[str, Source], project: Project) -> dict[tuple[str, int], str]:
    """The arguments of `reveal_value`, by file and row."""
    revealed: dict[Site, list[str]] = {}
    plan = analyse(files["main.py"], project, TARGET, libraries=lambda machine: Revealing(machine, revealed))
    plan.release()
    found = {}
    for name, source in files.items():
        of_file = {site.node: texts for site, texts in revealed.items() if site.path == source.path}
        places = spans(source, set(of_file))
        found |= {(name, places[node].row): ", then ".join(texts) for node, texts in of_file.items()}
    return found


def test_there_are_many_cases() -> None:
    assert len(CASES) >= 2100


def test_a_file_is_read_as_documented(tmp_path: Path) -> None:
    path = tmp_path / "topic.md"
    path.write_text(
        "# Topic\n\n## One\n\n```python\na = 1\n```\n\nText.\n\n`helpers.py`:\n\n```python\nb = 2\n```\n\n"
        "```python\nc = 3\n```\n\n## Two\n\nNo code.\n\n## Three\n\n```py\nd = 4\n```\n\n"
        "### Begun\n\n```py\ne = 5\n```\n\n### Begun again\n\n```py\nf = 6\n```\n"
    )
    assert list(cases_of(path)) == [
        Case("One", {"main.py": "a = 1\nc = 3\n", "helpers.py": "b = 2\n"}),
        Case("Three: Begun", {"main.py": "d = 4\ne = 5\n"}),
        Case("Three: Begun again", {"main.py": "d = 4\nf = 6\n"}),
    ]


@pytest.mark.parametrize("case", CASES)
def test_program(case: Case, tmp_path: Path) -> None:
    for name, text in case.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    rows = [(name, row, line) for name, text in case.files.items() for row, line in enumerate(text.splitlines(), 1)]

    if any("reveal_value(" in line for _, _, line in rows):
        sources = {name: decode(str(tmp_path / name), (tmp_path / name).read_bytes()) for name in case.files}
        by_path = {source.path: source for source in sources.values()}
        project = Project([tmp_path], by_path.get)
        wanted = {(name, row): match["text"] for name, row, line in rows if (match := _REVEAL.search(line))}
        assert on_deep_stack(lambda: revealed_in(sources, project)) == wanted

    expected = {
        (name, row, code.strip())
        for name, row, line in rows
        if (match := EXPECT.search(line))
        for code in match["codes"].split(",")
    }
    modules = [str(tmp_path / name) for name in case.files if name.endswith(".py")]
    settings = Settings(root=str(tmp_path), lint=LintSettings(select=("ALL",)))
    if len(modules) == len(case.files):
        settings = replace(settings, target_tensorflow=TARGET)
    findings = findings_of(Checker(SettingsFinder(settings), Catalogue(PACK)).check(modules))
    found = {(str(Path(one.span.path).relative_to(tmp_path)), one.span.row, one.code) for one in findings}
    assert found == expected
