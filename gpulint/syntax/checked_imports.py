"""Imports that run only if TensorFlow is not release 2: behind a version check, or as the fallback of another
import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint.sources.source import Source
from gpulint.syntax.outline import Imported, dotted, imports_among
from gpulint.syntax.python_tree import python_tree

_CHECK = re.compile(rb"(?i)version|ImportError|ModuleNotFoundError|hasattr|(?:tf|tensorflow|keras)_?v?\d")
"""Matches in every file with such a check."""

_IN_BLOCK = re.compile(rb"(?m)(?:^[ \t]+|[:;][ \t]*|\\[ \t]*\r?\n[ \t]*)(?:from|import)\b")
"""An indented import."""


def may_have_checked(data: bytes) -> bool:
    """Whether a file can have an import behind a check."""
    return _IN_BLOCK.search(data) is not None and _CHECK.search(data) is not None


class CheckedImport(NamedTuple):
    """An import, and whether it is behind a check."""

    imported: Imported
    is_checked: bool


def checked_imports(source: Source) -> tuple[CheckedImport, ...]:
    """All imports of a file, including those in functions."""
    tree = python_tree(source.text)
    return tuple(_of_block(tree.body, False)) if tree is not None else ()


def _of_block(block: Sequence[ast.AST], is_checked: bool) -> Iterator[CheckedImport]:
    for node in block:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (CheckedImport(one, is_checked) for one in imports_among([node]))
        elif isinstance(node, ast.If):
            is_second = _is_second(node.test)
            yield from _of_block(node.body, is_checked or is_second in (None, False))
            yield from _of_block(node.orelse, is_checked or is_second in (None, True))
        elif isinstance(node, ast.Try):
            tried = _modules(node.body) if node.handlers else set()
            falls_back = any(_falls_back(handler, tried) for handler in node.handlers)
            yield from _of_block(node.body, is_checked or falls_back)
            yield from _of_block((*node.handlers, *node.orelse, *node.finalbody), is_checked or falls_back)
        else:
            yield from _of_block(_inner(node), is_checked)


def _falls_back(handler: ast.ExceptHandler, tried: set[str]) -> bool:
    """Whether a handler falls back to other modules, and not to the same module under another name."""
    caught = [] if handler.type is None else [handler.type]
    names = {dotted(one).rpartition(".")[2] for node in caught for one in getattr(node, "elts", [node])}
    instead = _modules(handler.body)
    return bool(tried and instead) and tried.isdisjoint(instead) and (not names or not names.isdisjoint(_CAUGHT))


def _modules(block: Sequence[ast.stmt]) -> set[str]:
    """The last components of the names that a block imports."""
    modules: set[str] = set()
    pending: list[ast.AST] = list(block)
    while pending:
        node = pending.pop()
        for one in imports_among([node]):
            modules.update([one.module] if one.module else one.names)
        pending += _inner(node)
    return {module.rpartition(".")[2] for module in modules}


def _inner(node: ast.AST) -> list[ast.AST]:
    """The statements, handlers and cases inside a statement, recursively."""
    if not isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
        return []
    return [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr)]


_CAUGHT = frozenset({"AttributeError", "ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


_NEITHER = object()


def _is_second(test: ast.expr) -> object:
    """Whether a test is true for every TensorFlow 2 (True), for none (False), or for some releases (None); `_NEITHER`
    for a test of anything else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _is_second(test.operand)
        return not inner if isinstance(inner, bool) else inner
    words = [word for node in ast.walk(test) if (word := _word(node))]
    if not any(_VERSION.search(word) for word in words):
        return _NEITHER
    numbers = [number for node in ast.walk(test) if (number := _release(node)) is not None]
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and len(numbers) == 1:
        return _holds(type(test.ops[0]), numbers[0])
    if isinstance(test, ast.Call) and dotted(test.func).endswith("startswith") and len(numbers) == 1:
        return _holds(ast.Eq, numbers[0])
    if isinstance(test, (ast.Name, ast.Attribute, ast.Call)) and (flag := _FLAG.search(words[-1])):
        return flag[1] == "2"
    return None


def _word(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


_VERSION = re.compile(r"(?i)version|^(?:[\w.]*_)?(?:tf|tensorflow|keras)_?v?\d|(?:tf|tensorflow)_?ver|^hasattr$")
"""Words in tests of the TensorFlow release."""

_FLAG = re.compile(r"(?i)(?:tf|tensorflow)_?v?([12])$")
"""Names of flags for the major release: `IS_TF_1`, `tf2`."""


def _release(node: ast.AST) -> tuple[int, ...] | None:
    """A release in a test: "2.0", 2, 1.15; not an index."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    found = re.match(r"[12](?:\.\d+)*\.?(?![\w.])", str(value))
    return tuple(int(part) for part in found[0].split(".") if part) if found else None


def _holds(operator: type[ast.cmpop], release: tuple[int, ...]) -> bool | None:
    """Result of comparing TensorFlow's version with a release, if it is the same for each TensorFlow 2; else None."""
    if release[0] == 1 and operator in _ABOVE | _BELOW | {ast.Eq, ast.NotEq}:
        return operator in _ABOVE | {ast.NotEq}
    if release == (2,) and operator in (ast.Eq, ast.NotEq):
        return operator is ast.Eq
    if not any(release[1:]) and operator in (ast.GtE, ast.Lt):
        return operator is ast.GtE
    return None


_ABOVE: frozenset[type[ast.cmpop]] = frozenset({ast.Gt, ast.GtE})
_BELOW: frozenset[type[ast.cmpop]] = frozenset({ast.Lt, ast.LtE})
