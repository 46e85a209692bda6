"""The folders that a file adds to `sys.path`."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

_SAME = frozenset({"Path", "abspath", "absolute", "expanduser", "fspath", "normpath", "realpath", "resolve", "str"})
"""Calls that return an equivalent of the path in their argument."""


def folders(tree: ast.Module) -> Iterator[str]:
    """Arguments of `sys.path.append` and `sys.path.insert`, relative to the folder of the file; only those built from
    constants and `__file__`, without absolute paths."""
    known: dict[str, str | None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id not in known:
                known[node.targets[0].id] = _folder(node.value, known)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in ("append", "insert") and _is_search_path(node.func.value):
                folder = _folder(node.args[-1], known)
                if folder is not None and not os.path.isabs(folder):
                    yield os.path.normpath(folder)


def _is_search_path(node: ast.expr) -> bool:
    owner = node.value if isinstance(node, ast.Attribute) and node.attr == "path" else None
    return isinstance(owner, ast.Name) and owner.id == "sys"


def _folder(node: ast.expr, known: dict[str, str | None]) -> str | None:
    """The path that an expression evaluates to, None if it is too long for a path. `__file__` is relative to its own
    folder."""
    path = _spelled(node, known)
    return path if path is not None and len(path) <= _MAX_PATH else None


_MAX_PATH = 4096
"""Joining a name with itself doubles a path: bounds its growth."""


def _spelled(node: ast.expr, known: dict[str, str | None]) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return _FILE if node.id == "__file__" else known.get(node.id)
    if isinstance(node, ast.Attribute):
        return _above(_folder(node.value, known)) if node.attr == "parent" else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _indexed(node.value, node.slice.value, known)
    if isinstance(node, ast.JoinedStr):
        pieces = [_folder(one.value if isinstance(one, ast.FormattedValue) else one, known) for one in node.values]
        spelled = [one for one in pieces if one is not None]
        return "".join(spelled) if len(spelled) == len(pieces) else None
    if isinstance(node, ast.BinOp):
        first, second = _folder(node.left, known), _folder(node.right, known)
        return os.path.join(first, second.lstrip("/")) if first is not None and second is not None else None
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = [_folder(one, known) for one in node.args]
    if name in ("getcwd", "cwd"):
        return "."
    if name == "join" and given:
        folders = [one for one in given if one is not None]
        return os.path.join(*folders) if len(folders) == len(given) and sum(map(len, folders)) <= _MAX_PATH else None
    if name == "dirname" and given:
        return _above(given[0])
    if name in _SAME:
        return given[0] if given else _folder(node.func.value, known) if isinstance(node.func, ast.Attribute) else None
    return None


def _indexed(node: ast.expr, index: object, known: dict[str, str | None]) -> str | None:
    """The folder that `os.path.split(path)[0]` or `path.parents[1]` is."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
        return _above(_folder(node.args[0], known)) if index == 0 and len(node.args) == 1 else None
    if not isinstance(node, ast.Attribute) or node.attr != "parents" or type(index) is not int or index not in range(9):
        return None
    path = _folder(node.value, known)
    for _ in range(index + 1):
        path = _above(path)
    return path


_FILE = os.path.join(".", "__file__")


def _above(path: str | None) -> str | None:
    if path is None:
        return None
    return "." if path == _FILE else os.path.join(path, os.pardir)
