"""Facts that a project remembers about a definition are not used for another one."""

from __future__ import annotations

from gpulint.analysis.project.modules import Project
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
