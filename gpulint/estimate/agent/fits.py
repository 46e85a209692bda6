"""What a program trains with Keras's `fit` after the step that is traced."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, NamedTuple, TypeAlias

_FITS = frozenset({"fit", "fit_generator"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_OF_KERAS = frozenset({"batch_size", "callbacks", "epochs", "steps_per_epoch", "validation_data", "validation_split"})
"""Keywords that the `fit` of other libraries does not take."""

_Row: TypeAlias = "tuple[str, int]"


class Later(NamedTuple):
    """Rows of the program's files."""

    loop: _Row | None
    """A loop around the call of `fit`, whose iterations may train a model each; None if there is none."""
    calls: tuple[_Row, ...]
    """Further calls of `fit` below it."""


def later(frame: FrameType | None, is_foreign: Callable[[str], bool]) -> Later:
    """What follows the call of `fit` that a frame runs, as far as the code of the frames around it tells."""
    loop: _Row | None = None
    calls: list[_Row] = []
    is_innermost = True
    while frame is not None:
        path, row = frame.f_code.co_filename, frame.f_lineno
        if not is_foreign(path):
            module = _tree(frame)
            fits: list[Any] = [node for node in ast.walk(module) if _is_fit(node)] if is_innermost else []
            running = next((one for one in fits if _is_at(one, row)), None)
            names = {**frame.f_globals, **frame.f_locals}
            calls += [(path, one.lineno) for one in fits if one.lineno > row and _is_of_keras(one, names)]
            around = [one for one in _loops(module, row) if running is None or _replaces(one, running)]
            if loop is None and around:
                loop = path, around[0].lineno
            is_innermost = False
        frame = frame.f_back
    return Later(loop, tuple(dict.fromkeys(calls)))


def _tree(frame: FrameType) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _is_fit(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FITS


def _is_at(node: Any, row: int) -> bool:
    return bool(node.lineno <= row <= node.end_lineno)


def _is_of_keras(call: Any, names: Mapping[str, Any]) -> bool:
    """Whether a call of `fit` trains a Keras model: by its object where the program has it already, else by the
    keywords."""
    receiver = call.func.value
    if isinstance(receiver, ast.Name) and receiver.id in names:
        return hasattr(names[receiver.id], "train_function")
    return any(keyword.arg in _OF_KERAS for keyword in call.keywords)


def _loops(module: ast.AST, row: int) -> Iterator[Any]:
    """The loops that a row is in, the outermost first, within the function that the row is in."""
    found: list[Any] = []
    pending: list[ast.AST] = [module]
    while pending:
        one = pending.pop()
        for child in ast.iter_child_nodes(one):
            if hasattr(child, "lineno") and not _is_at(child, row):
                continue
            if isinstance(child, _FUNCTIONS):
                found.clear()
            elif isinstance(child, _LOOPS):
                found.append(child)
            pending.append(child)
    yield from found


def _replaces(loop: Any, call: Any) -> bool:
    """Whether a loop assigns the object whose `fit` it calls."""
    receiver = call.func.value
    while isinstance(receiver, (ast.Attribute, ast.Subscript)):
        receiver = receiver.value
    if not isinstance(receiver, ast.Name):
        return True
    return any(
        isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id == receiver.id for one in ast.walk(loop)
    )
