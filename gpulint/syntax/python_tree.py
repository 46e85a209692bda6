"""What Python itself makes of a text. Nothing is run."""

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


def is_python(text: str) -> bool:
    """Whether the running Python can compile a text, which takes less time than its tree."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<unknown>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
