"""How exception handlers and blocks end: by raising, exiting or continuing."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.syntax import ir, walk


def goes_on(handler: ir.Handler) -> bool:
    """Whether the program can continue after a handler: not if every path through it raises or exits."""
    return _may_leave(handler.body) or not _ends(handler.body) or any(map(_is_no_error, _raised(handler)))


def turns_error(handler: ir.Handler) -> bool:
    """Whether a handler can end with another error than the one it caught, or by exiting."""
    is_other = (not isinstance(one, ir.Name) or one.id != handler.name for one in _raised(handler))
    return any(is_other) or any(map(_exits, walk.below(handler.body)))


def swallows(node: ir.Try) -> bool:
    """Whether the `finally` of a `try` can return or leave a loop iteration: this swallows errors."""
    return _may_leave(node.finalbody)


def _may_leave(block: ir.Block) -> bool:
    return any(isinstance(node, (ir.Return, ir.Break, ir.Continue)) for node in walk.below(block))


def _ends(block: ir.Block) -> bool:
    """Whether every path through statements raises or exits. False for a `with`, which can swallow errors."""
    return any(map(_is_end, block))


def _is_end(statement: ir.Statement) -> bool:
    if isinstance(statement, ir.If):
        return _ends(statement.body) and _ends(statement.orelse)
    if isinstance(statement, ir.Try):
        is_whole = _ends(statement.body) and all(_ends(one.body) for one in statement.handlers)
        return is_whole or _ends(statement.finalbody)
    return isinstance(statement, ir.Raise) or _exits(statement)


def _exits(node: ir.Node) -> bool:
    call = node.value if isinstance(node, ir.ExpressionStatement) else None
    called = call.function if isinstance(call, ir.Call) else None
    if isinstance(called, ir.Attribute):
        return isinstance(called.value, ir.Name) and f"{called.value.id}.{called.name}" in _EXITS
    return isinstance(called, ir.Name) and called.id in _EXITS


_EXITS = frozenset({"exit", "quit", "os._exit", "os.abort", "sys.exit"})


def _raised(handler: ir.Handler) -> Iterator[ir.Expr]:
    """The exceptions that a handler raises; a bare `raise` names none."""
    for node in walk.below(handler.body):
        if isinstance(node, ir.Raise) and node.value is not None:
            yield node.value


def _is_no_error(raised: ir.Expr) -> bool:
    """Whether an exception does not signal an error: `unittest.SkipTest`, the end of an iteration."""
    if isinstance(raised, ir.Call):
        raised = raised.function
    name = raised.id if isinstance(raised, ir.Name) else raised.name if isinstance(raised, ir.Attribute) else ""
    return "skip" in name.lower() or name in _NO_ERRORS


_NO_ERRORS = frozenset({"GeneratorExit", "StopAsyncIteration", "StopIteration"})
