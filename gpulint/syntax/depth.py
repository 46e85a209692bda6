"""How deep a lowered file nests, for everything that walks it recursively."""

from __future__ import annotations

from typing import Any

from gpulint.syntax import ir

MAX_DEPTH = 1_000
"""The most nodes between a module and any node of it that `parse` accepts."""


def depth(module: ir.Module) -> int:
    """The number of nodes from the module's statements down to the deepest node. Takes no stack."""
    deepest = 0
    pending: list[tuple[Any, int]] = [(module.body, 0)]
    while pending:
        value, level = pending.pop()
        if isinstance(value, tuple):
            pending.extend([(each, level) for each in value])
        elif isinstance(value, ir.Node):
            deepest = max(deepest, level + 1)
            pending.extend([(getattr(value, name), level + 1) for name in type(value).__slots__])
    return deepest
