"""The fixture programs: where they are, what each is expected to show, what each claims about TensorFlow.

A program is a file `fixtures/<family>/<slug>.py` or a directory `fixtures/<family>/<slug>/` with the modules of
one small project. Its comments say what to expect:

* `# expect: GPU201` (codes separated by commas), trailing: findings that start on this row;
* `# select: ALL`, on a line of its own: the rules to run, where the default set is not meant;
* `# run: …`, on a line of its own: a claim about what happens when this file is run (see `tests.claims.claim`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"

EXPECT = re.compile(r"#\s*expect:\s*(?P<codes>GPU\d{3}(?:\s*,\s*GPU\d{3})*)\s*$")
SELECT = re.compile(r"^# select: (?P<selectors>\S+)\s*$")
RUN = re.compile(r"^# run: (?P<claim>.+?)\s*$")
DIRECTIVE = re.compile(r"#\s*(?:expect|select|run)\s*:")


class Expectation(NamedTuple):
    """A finding that gpulint must report: the module's path inside its program, the row, the code."""

    module: str
    row: int
    code: str


class ClaimLine(NamedTuple):
    """The text of a `# run:` line, with its place."""

    module: str
    row: int
    text: str


@dataclass(frozen=True, slots=True)
class Program:
    """One fixture program, its modules as text by path inside the program."""

    name: str
    modules: tuple[tuple[str, str], ...]
    expectations: frozenset[Expectation]
    claims: tuple[ClaimLine, ...]
    select: str | None

    @property
    def root(self) -> Path:
        """The directory that the modules' paths are relative to."""
        path = FIXTURES / self.name
        return path if path.is_dir() else path.parent

    @property
    def silent(self) -> bool:
        """Whether no findings are expected."""
        return not self.expectations


def read_program(path: Path) -> Program:
    """Read a program from a file or directory. Raises ValueError with the name of an unknown directive."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    root = path if path.is_dir() else path.parent
    modules = []
    expectations: set[Expectation] = set()
    claims = []
    select = None
    for file in files:
        module = file.relative_to(root).as_posix()
        text = file.read_text(encoding="utf-8")
        modules.append((module, text))
        for row, line in enumerate(text.split("\n"), start=1):
            if not DIRECTIVE.search(line):
                continue
            if expected := EXPECT.search(line):
                codes = re.split(r"\s*,\s*", expected["codes"])
                expectations.update(Expectation(module, row, code) for code in codes)
            elif selected := SELECT.match(line):
                select = selected["selectors"]
            elif claimed := RUN.match(line):
                claims.append(ClaimLine(module, row, claimed["claim"]))
            else:
                raise ValueError(f"{file}:{row}: not a directive: {line.strip()}")
    name = path.relative_to(FIXTURES).as_posix()
    return Program(name, tuple(modules), frozenset(expectations), tuple(claims), select)


def _paths() -> Iterator[Path]:
    for family in sorted(FIXTURES.iterdir()):
        if not family.is_dir():
            continue
        for path in sorted(family.iterdir()):
            if path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py"))):
                yield path


def programs() -> tuple[Program, ...]:
    """Every fixture program, in order of name."""
    return tuple(read_program(path) for path in _paths())
