"""The nesting depth of a lowered file, which bounds recursion over it."""

from __future__ import annotations

from typing import Any

from gpulint.syntax import ir, walk

MAX_DEPTH = 1_000
"""Maximum depth of a node that `parse` accepts."""


def depth(module: ir.Module) -> int:
    """Depth of the deepest node below the module. Not recursive."""
    deepest = 0
    pending: list[tuple[Any, int]] = [(module.body, 0)]
    while pending:
        value, level = pending.pop()
        if isinstance(value, tuple):
            pending.extend([(each, level) for each in value])
        elif isinstance(value, ir.Node):
            deepest = max(deepest, level + 1)
            pending.extend([(getattr(value, name), level + 1) for name in walk.fields(value)])
    return deepest
