"""Which lines of a rule run while it looks at a place, and the condition on them that decided."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

from gpulint.linting.conditions import Moment, deciding, docstrings_of_constants, explained
from gpulint.linting.rule import Rule
from gpulint.places import Site

T = TypeVar("T")


class RuleTrace:
    """Records which lines of a rule run while it looks at one of the sites, and the kinds of events that it reads."""

    def __init__(self, rule: type[Rule], sites: set[Site]) -> None:
        self.kinds: set[str] = set()
        self._sites = sites
        self._module = rule.__module__
        self._file = inspect.getsourcefile(rule) or ""
        with open(self._file, encoding="utf-8") as file:
            self._tree = ast.parse(file.read())
        self._headers = {
            node.lineno for node in ast.walk(self._tree) if isinstance(node, (ast.For, ast.While, ast.FunctionDef))
        }
        """Lines of loop headers, on which names still have the values of the iteration before."""
        self._moments: dict[CodeType, Moment] = {}
        """The last line of each function that ran with one of the sites, the latest function last."""

    def during(self, run: Callable[[], T]) -> T:
        """The result of `run`, which is traced."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            return run()
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code is Rule.all.__code__:
            self.kinds.update(kind.__name__ for kind in frame.f_locals["kinds"])
        return self._line if frame.f_code.co_filename == self._file else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if (
            event == "line"
            and frame.f_lineno not in self._headers
            and any(self._is_about(value) for value in list(frame.f_locals.values()))
        ):
            self._moments.pop(frame.f_code, None)
            self._moments[frame.f_code] = Moment.of(frame)
        return self._line

    def _is_about(self, value: object) -> bool:
        if isinstance(value, Site):
            return value in self._sites
        if isinstance(value, tuple) and len(value) < 10:
            return any(self._is_about(part) for part in value)
        return getattr(value, "site", None) in self._sites

    def decision(self) -> list[str]:
        """The condition of the rule that decided last, and what its names stand for; nothing if it never looked at the
        sites. A method that receives events decides, not what computes for it."""
        receiving = sorted(self._moments, key=lambda code: code.co_name.startswith("on_"))
        for code in reversed(receiving):
            moment = self._moments[code]
            if (found := _condition(self._tree, moment.line)) is not None:
                test, holds = deciding(*found, moment)
                where = f"{os.path.basename(self._file)}:{found[0].lineno}"
                shown = f"`{ast.unparse(test)}` is {'true' if holds else 'false'} ({where})"
                return [shown, *explained(test, moment, docstrings_of_constants(self._module))]
        return []


def _condition(tree: ast.AST, line: int) -> tuple[ast.expr, bool] | None:
    """The condition on a line, which was false if nothing ran after it, or else the one above the line, which held."""
    found: tuple[ast.expr, bool] | None = None
    for node in ast.walk(tree):  # outer nodes first
        if isinstance(node, ast.If):
            if node.test.lineno <= line <= (node.test.end_lineno or node.test.lineno):
                found = node.test, False
            elif any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in node.body):
                found = node.test, True
        elif isinstance(node, ast.comprehension) and node.ifs:
            if node.ifs[0].lineno <= line <= (node.ifs[-1].end_lineno or line):
                found = node.ifs[-1], False
        elif isinstance(node, ast.Return) and node.value is not None:
            if node.lineno <= line <= (node.end_lineno or node.lineno) and isinstance(
                node.value, (ast.BoolOp, ast.Compare, ast.UnaryOp)
            ):
                found = node.value, False
    return found
