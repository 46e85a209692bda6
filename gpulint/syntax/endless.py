"""Generators that never end."""

from __future__ import annotations

from functools import lru_cache

from gpulint.syntax import ir, walk


@lru_cache(maxsize=1024)
def is_endless(definition: ir.FunctionDef) -> bool:
    """Whether a generator yields in a `while True:` without an exit."""
    return any(
        isinstance(node, ir.While)
        and isinstance(node.test, ir.Constant)
        and bool(node.test.value)
        and any(isinstance(inner, ir.Yield) for inner in walk.below(node.body))
        and not any(isinstance(inner, (ir.Break, ir.Return)) for inner in walk.below(node.body))
        for node in definition.body
    )
