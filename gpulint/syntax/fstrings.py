"""The parts of a format string, from either parser."""

from __future__ import annotations

from gpulint.syntax import ir


def joined(parts: list[str | ir.Expr]) -> tuple[str | ir.Expr, ...]:
    """`parts` with adjacent texts joined and empty ones dropped."""
    result: list[str | ir.Expr] = []
    for part in parts:
        if isinstance(part, str):
            if not part:
                continue
            last = result[-1] if result else None
            if isinstance(last, str):
                result[-1] = last + part
                continue
        result.append(part)
    return tuple(result)
