"""What Python's own parser makes of a text."""

from __future__ import annotations

import ast
import warnings


def python_tree(text: str) -> ast.Module | None:
    """The tree of a text, without a warning; None where the running Python cannot parse it, which says little: LibCST
    knows newer syntax, and decides."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
