"""The step around a gradient that is taken eagerly, as a function that can be traced."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

_TAPE = "GradientTape"
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_READS = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.Constant, ast.BinOp, ast.UnaryOp),
    *(ast.Load, ast.operator, ast.unaryop),
)
"""Kinds of nodes of expressions that read something and call nothing."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True)
class Step:
    """A candidate for the training step: a Python function with its arguments."""

    name: str
    python: Callable[..., Any]
    arguments: Sequence[Any]
    keywords: Mapping[str, Any]
    frame: FrameType
    row: int
    """Row on which the function, or the first of the statements, begins in the frame's file."""
    can_convert: bool = True
    """Whether AutoGraph can read the function's source."""


def steps_around(frame: FrameType | None, is_foreign: Callable[[str], bool]) -> Iterator[Step]:
    """Candidates, innermost first: of each function that is running, itself if it takes data, then its statements from
    the gradient tape on. The latter are what scripts and methods without arguments, as an agent's `learn(self)`, have.

    `is_foreign` tells whether a file is none of the user's.
    """
    has_user_code = False
    while frame is not None:
        yield from _whole(frame)
        if not is_foreign(frame.f_code.co_filename):
            yield from _statements(frame, needs_tape=has_user_code)
            has_user_code = True
        frame = frame.f_back


def is_data(value: Any) -> bool:
    """Whether a value is a tensor or array with at least one dimension, or has one in it. Variables are none."""
    if isinstance(value, (tuple, list)):
        return any(is_data(one) for one in value)
    if isinstance(value, dict):
        return any(is_data(one) for one in value.values())
    shape = getattr(value, "shape", None)
    if shape is None or not hasattr(value, "dtype") or hasattr(value, "assign"):
        return False
    return bool(getattr(shape, "rank", len(shape)))


def _whole(frame: FrameType) -> Iterator[Step]:
    """The function that a frame runs, with its arguments."""
    code, names = frame.f_code, frame.f_locals
    count = code.co_argcount
    python = _function_of(frame)
    if python is None or code.co_flags & 0x0C:  # takes *args or **kwargs
        return
    positional = [names[name] for name in code.co_varnames[:count] if name in names]
    keywords = code.co_varnames[count : count + code.co_kwonlyargcount]
    if hasattr(python, "__self__"):
        positional = positional[1:]
    named = {name: names[name] for name in keywords if name in names}
    if is_data([*positional, *named.values()]):
        yield Step(python.__name__, python, positional, named, frame, code.co_firstlineno)


def _function_of(frame: FrameType) -> Any:
    """The function that a frame runs, by the names that its caller could have used; None if it has none."""
    code = frame.f_code
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    places = [frame.f_globals, frame.f_back.f_locals if frame.f_back is not None else {}]
    candidates = [getattr(type(first), code.co_name, None) and getattr(first, code.co_name, None)]
    candidates += [place.get(code.co_name) for place in places]
    for one in candidates:
        plain: Any = getattr(one, "__func__", one)
        while getattr(plain, "__code__", None) is not code and hasattr(plain, "__wrapped__"):
            plain = plain.__wrapped__
        if getattr(plain, "__code__", None) is code:
            return one
    return None


def _statements(frame: FrameType, needs_tape: bool) -> Iterator[Step]:
    """The statements of a frame from the gradient tape on: all of their block, then without those that follow the
    update, then without those that follow the gradient, which often leave TensorFlow (`float(loss)`)."""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    try:
        module = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return
    found = _block(module.body, frame.f_lineno)
    if found is None or (needs_tape and not found[2]):
        return
    block, at, _ = found
    scope = {**frame.f_globals, **frame.f_locals}
    given = _Given(scope, {name for root in block for one in ast.walk(root) for name in _assigned(one)})
    block = [given.visit(one) for one in block]
    if not given.found:
        return
    applied = [number + 1 for number in range(len(block) - 1, at, -1) if _applies(block[number])]
    for end in dict.fromkeys([len(block), *applied, at + 1]):
        code = _compiled(block[:end], frame.f_code.co_filename)
        if code is not None:
            python = _runner(code, scope, tuple(given.found))
            name, row = frame.f_code.co_name, block[0].lineno
            yield Step(name, python, list(given.found.values()), {}, frame, row, can_convert=False)


class _Given(ast.NodeTransformer):
    """Name the data that statements read from outside, such as `images` or `self.states[chosen]`."""

    def __init__(self, scope: Mapping[str, Any], assigned: Collection[str]) -> None:
        self._scope, self._assigned = scope, assigned
        self.found: dict[str, Any] = {}

    def _data(self, node: Any) -> Any:
        parts = list(ast.walk(node))
        names = {one.id for one in parts if isinstance(one, ast.Name)}
        is_read = isinstance(node.ctx, ast.Load) and all(isinstance(one, _READS) for one in parts)
        if is_read and names <= self._scope.keys() and not names & set(self._assigned):
            try:
                value = _array(eval(compile(ast.Expression(node), "", "eval"), {**self._scope}))
                is_given = not isinstance(value, list) and is_data(value)  # a list may collect results
            except Exception:  # objects of the program can raise anything
                is_given = False
            if is_given:
                name = ast.unparse(node)
                self.found[name] = value
                return ast.copy_location(ast.Name(name, ast.Load()), node)
        return self.generic_visit(node)

    visit_Name = visit_Attribute = visit_Subscript = _data


def _assigned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id


def _block(body: list[ast.stmt], row: int) -> tuple[list[ast.stmt], int, bool] | None:
    """The statements of the innermost block from the tape on that has the gradient on a row, the position of the
    latter, and whether the block opens the tape; without one, from the gradient on."""
    at = next((number for number, one in enumerate(body) if one.lineno <= row <= (one.end_lineno or 0)), None)
    if at is None:
        return None
    statement = body[at]
    inner = None
    for part in _parts(statement):
        inner = inner or _block(part, row)
    if inner is not None and (inner[2] or isinstance(statement, _FUNCTIONS)):
        return inner
    opened = next((number for number in range(at + 1) if _opens_tape(body[number])), None)
    if opened is not None:
        return body[opened:], at - opened, True
    return inner or (body[at:], 0, False)


def _parts(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement."""
    for name in ("body", "orelse", "finalbody"):
        if isinstance(part := getattr(statement, name, None), list):
            yield part
    for handler in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield handler.body


def _opens_tape(statement: ast.stmt) -> bool:
    """Whether a statement opens a tape, or assigns one that is opened by hand."""
    named = [statement] if isinstance(statement, ast.Assign) else []
    opened = [one.context_expr for one in statement.items] if isinstance(statement, (ast.With, ast.AsyncWith)) else []
    return any(
        getattr(one, "attr", getattr(one, "id", "")) == _TAPE
        for root in (*named, *opened)
        for one in ast.walk(root)
        if isinstance(one, (ast.Attribute, ast.Name))
    )


def _applies(statement: ast.stmt) -> bool:
    return any(
        isinstance(one, ast.Attribute) and one.attr in ("apply_gradients", "apply", "minimize", "assign_sub")
        for one in ast.walk(statement)
    )


def _compiled(block: Sequence[ast.stmt], filename: str) -> CodeType | None:
    """The statements as code on their own; None if they are none, such as those that contain `yield`."""
    body: list[ast.stmt] = []
    for one in block:
        if isinstance(one, ast.Return):
            body += [ast.copy_location(ast.Expr(one.value), one)] if one.value is not None else []
            break
        if _leaves(one):
            break
        body.append(one)
    try:
        return compile(ast.Module(body, []), filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def _leaves(statement: ast.AST, is_in_loop: bool = False) -> bool:
    """Whether a statement can leave the block that it is in: what follows it need not run."""
    if isinstance(statement, ast.Return) or (isinstance(statement, (ast.Break, ast.Continue)) and not is_in_loop):
        return True
    if isinstance(statement, _FUNCTIONS):
        return False
    inside = is_in_loop or isinstance(statement, _LOOPS)
    return any(_leaves(one, inside) for one in ast.iter_child_nodes(statement))


def _runner(code: CodeType, scope: Mapping[str, Any], names: Sequence[str]) -> Callable[..., Any]:
    def run(*data: Any) -> None:
        exec(code, {**scope, **dict(zip(names, data, strict=True))})

    return run


def _array(value: Any) -> Any:
    """A list of numbers, such as the actions of a batch, as the array that TensorFlow makes of it."""
    kinds = {type(one) for one in value} if isinstance(value, list) else set()
    if not kinds or not kinds <= {bool, int, float}:
        return value
    import numpy

    return numpy.array(value, "float32" if float in kinds else "int32" if int in kinds else "bool")
