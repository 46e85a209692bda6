"""What a project remembers: facts about definitions, and results that later projects use as long as they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.analysis.project.module_names import imported_paths, module_of
from gpulint.analysis.project.modules import Project
from gpulint.analysis.project.parsed import Parsed
from gpulint.sources.decoding import decode
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.parse import parse


def test_a_definition_is_not_confused_with_one_that_was_freed() -> None:
    project = Project([], lambda path: None)
    for number in range(200):
        text = f"def step(self):\n    self.kept_{number} = read_{number}\n"
        module = parse(Source("train.py", text.encode(), text, "utf-8"))
        (definition,) = module.body
        assert isinstance(definition, ir.FunctionDef)
        assert f"read_{number}" in project.words_of(definition)
        assert f".kept_{number}" in project.uses_of(definition).filled


class Runs:
    """Projects of one folder, one after the other, with what they have parsed."""

    def __init__(self, folder: Path, parsed: Parsed) -> None:
        self.folder = folder
        self.parsed = parsed
        self.project = self.next()

    def next(self) -> Project:
        self.project = Project([self.folder], self._read, parsed=self.parsed)
        return self.project

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    def definition(self, name: str, importer: str) -> list[tuple[str, str]]:
        """The definitions that a name in a file refers to, found by the next project."""
        module = module_of(self.next(), importer)
        assert module is not None
        return module.resolve(name)

    @staticmethod
    def _read(path: str) -> Source | None:
        try:
            return decode(path, Path(path).read_bytes())
        except OSError:
            return None


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    (tmp_path / "pyproject.toml").touch()
    return Runs(tmp_path, Parsed(1_000_000))


def test_a_result_serves_later_projects(runs: Runs) -> None:
    runs.write("helper.py", "")
    train = runs.write("train.py", "import helper\n")
    found = imported_paths(runs.next(), train)
    asked, consulted = dict(runs.project.asked), set(runs.project.consulted)
    assert imported_paths(runs.next(), train) is found
    assert (dict(runs.project.asked), set(runs.project.consulted)) == (asked, consulted)
    assert asked and train in consulted


def test_without_room_for_syntax_no_result_is_kept(runs: Runs) -> None:
    train = runs.write("train.py", "import os\n")
    small = Runs(runs.folder, Parsed())
    assert imported_paths(small.next(), train) is not imported_paths(small.next(), train)


def test_a_result_ends_with_a_text_that_it_was_computed_from(runs: Runs) -> None:
    runs.write("a.py", "def build(): pass\n")
    runs.write("b.py", "def build(): pass\n")
    runs.write("between.py", "from a import build\n")
    train = runs.write("train.py", "from between import build\n")
    other = runs.write("other.py", "import a\n")
    kept = imported_paths(runs.next(), other)
    assert runs.definition("build", train) == [(str(runs.folder / "a.py"), "build")]
    runs.write("between.py", "from b import build\n")
    assert runs.definition("build", train) == [(str(runs.folder / "b.py"), "build")]
    runs.write("train.py", "from a import build\n")
    assert runs.definition("build", train) == [(str(runs.folder / "a.py"), "build")]
    assert imported_paths(runs.next(), other) is kept


def test_a_result_ends_when_a_module_appears_moves_or_goes(runs: Runs) -> None:
    train = runs.write("train.py", "import helper\n")
    assert imported_paths(runs.next(), train) == frozenset()
    nearer = runs.write("helper.py", "")
    assert imported_paths(runs.next(), train) == {nearer}
    Path(nearer).unlink()
    assert imported_paths(runs.next(), train) == frozenset()
    (runs.folder / "helper").mkdir()
    assert imported_paths(runs.next(), train) == frozenset()
    package = runs.write("helper/__init__.py", "")
    assert imported_paths(runs.next(), train) == {package}


def test_a_file_that_comes_and_goes_beside_the_modules_changes_nothing(runs: Runs) -> None:
    runs.write("helper.py", "")
    train = runs.write("train.py", "import helper\n")
    found = imported_paths(runs.next(), train)
    runs.write("notes.txt", "")
    runs.write("unrelated.py", "")
    assert imported_paths(runs.next(), train) is found
